"""``firth explore``: a web page for exploring vectors."""

from __future__ import annotations

import os

import typer

from firthian.cli.app import app


@app.command()
def explore(
    vectors: list[str] = typer.Argument(..., metavar="VECTORS...", help="Vectors folders or files."),
    counts: str | None = typer.Option(None, help="Counts folder; adds the contexts of words with their PMI."),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; other than localhost, it needs --token."),
    port: int = typer.Option(8642, help="Port; 0 picks a free one.", min=0, max=65535),
    token: str | None = typer.Option(None, help="Secret that clients must send. [default: $FIRTHIAN_TOKEN]"),
    root_path: str = typer.Option("", help="Path prefix behind a proxy, such as /words."),
    allow_host: list[str] | None = typer.Option(None, help="Another host name to accept; repeatable."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Do not open the browser."),
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
