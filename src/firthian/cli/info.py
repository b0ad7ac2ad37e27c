"""``firth info``: describe any artifact."""

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
    from firthian.cli.inspect import describe

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
            if isinstance(value, list):
                shown = ", ".join(f"{item:.10g}" if isinstance(item, float) else str(item) for item in value)
            else:
                shown = _one(value)
            lines.append(f"{indent}{name:<18} {shown}")
    return lines


def _one(value: object) -> str:
    if isinstance(value, float):
        # The last digits of a sum are rounding's; --json has them all.
        return f"{value:,.10g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
