"""``firth explore``: a page in the browser to look at vectors."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from firthian.cli.app import app


@app.command()
def explore(
    vectors: Annotated[list[str], typer.Argument(metavar="VECTORS...", help="Folders or files of vectors.")],
    counts: Annotated[str | None, typer.Option(help="A folder of counts: shows contexts with their PMI.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes any free one.", min=0, max=65535)] = 8642,
    token: Annotated[
        str | None, typer.Option(help="Secret that visitors must know. [default: $FIRTHIAN_TOKEN]")
    ] = None,
    root_path: Annotated[str, typer.Option(help="Path under which a proxy shows the page, such as /words.")] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name that visitors may use, such as a proxy's. Repeatable.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the browser.")] = False,
) -> None:
    """Open a page in the browser, to walk from word to word. Ctrl-C ends it."""
    from firthian.explore.server.app import serve

    def ready(url: str) -> None:
        # At once, also into a pipe: whoever started us waits for the address.
        print(f"exploring at {url} (Ctrl-C ends it)", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    token = token or os.environ.get("FIRTHIAN_TOKEN") or None
    serve(
        vectors, counts=counts, host=host, port=port, token=token, root_path=root_path, allow_hosts=allow_host or (),
        ready=ready,
    )  # fmt: skip
