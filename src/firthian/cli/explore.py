"""``firth explore``: a web page for exploring vectors."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from firthian.cli.app import app


@app.command()
def explore(
    vectors: Annotated[list[str], typer.Argument(metavar="VECTORS...", help="Vectors folders or files.")],
    counts: Annotated[
        str | None, typer.Option(help="Counts folder; adds the contexts of words with their PMI.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than localhost, it needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 picks a free one.", min=0, max=65535)] = 8642,
    token: Annotated[str | None, typer.Option(help="Secret that clients must send. [default: $FIRTHIAN_TOKEN]")] = None,
    root_path: Annotated[str, typer.Option(help="Path prefix behind a proxy, such as /words.")] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Additional host name to accept, such as a proxy's. Repeatable.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the browser.")] = False,
) -> None:
    """Explore vectors in the browser. Stop with Ctrl-C."""
    from firthian.explore.server.app import serve

    def ready(url: str) -> None:
        # Flush, also into a pipe: the calling process waits for the address.
        print(f"exploring at {url} (stop with Ctrl-C)", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    token = token or os.environ.get("FIRTHIAN_TOKEN") or None
    serve(
        vectors, counts=counts, host=host, port=port, token=token, root_path=root_path, allow_hosts=allow_host or (),
        ready=ready,
    )  # fmt: skip
