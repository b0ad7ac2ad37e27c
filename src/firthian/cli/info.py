"""``firth info``: describe any artefact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, say, show_json


@app.command()
def info(
    path: Annotated[str, typer.Argument(help="A folder of counts, or vectors in any format.")],
    json: Json = False,
) -> None:
    """Describe counts or vectors: size, options, where they come from."""
    from firthian.inspect import describe

    facts = describe(Path(path))
    show_json(facts) if json else say("\n".join(_lines(facts)))


def _lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    lines: list[str] = []
    for name, value in facts.items():
        if value is None or value == {}:
            continue
        if isinstance(value, dict):
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, item in enumerate(value, start=1):
                lines += [f"{indent}{name} {number}", *_lines(item, indent + "  ")]
        else:
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            if isinstance(value, list):
                shown = ", ".join(map(str, value))
            lines.append(f"{indent}{name:<18} {shown}")
    return lines
