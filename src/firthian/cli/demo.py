"""``firth demo``: the whole flow on a small real corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Workers


@app.command()
def demo(
    output: Annotated[str, typer.Option("-o", "--output", help="The folder for what comes out.")] = "demo",
    workers: Workers = None,
) -> None:
    """Fetch a small corpus, count it, and show what comes out."""
    from firthian.cli.demo_run import run

    run(output, workers=workers)
