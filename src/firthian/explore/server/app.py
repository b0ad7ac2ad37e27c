"""The web application: the files of the page, the JSON API, its OpenAPI description, and the server."""

from __future__ import annotations

import hashlib
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from firthian._version import __version__
from firthian.errors import FirthianError, UnknownWordError, require
from firthian.explore.server import api, questions
from firthian.explore.server.api import Pending
from firthian.explore.server.connections import connection_class
from firthian.explore.server.parameters import is_required, read_parameters, schema
from firthian.explore.server.security import Gate, Hosts, check_binding, refuse
from firthian.explore.server.state import ExplorerState
from firthian.options import declared

log = logging.getLogger("firthian.explore")

#: The handler of each path.
HANDLERS = {**api.HANDLERS, **questions.HANDLERS}

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: Longer heads of requests are refused, since they are held in memory.
_LONGEST_REQUEST = 64 * 2**10


def make_app(
    state: ExplorerState,
    *,
    hosts: Hosts | None = None,
    token: str | None = None,
    root_path: str = "",
    framed: bool = False,
) -> Any:
    """Build the ASGI application; ``framed`` allows pages of this machine, such as notebooks, to show it in a frame."""
    require("starlette", "web")
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.routing import Route

    description = openapi()
    routes = [Route(path, _answering(state, handler)) for path, handler in HANDLERS.items()]
    routes.append(Route("/api/openapi.json", lambda request: _json(description)))
    routes += [Route(f"/{name}", _serving(data, kind)) for name, (data, kind) in page_files().items()]
    index, kind = page_files()["index.html"]
    routes.append(Route("/", _serving(index, kind)))

    async def on_http_error(request: Any, error: Any) -> Any:
        return refuse(error.status_code, "not found", "see /api/openapi.json")

    async def on_any_error(request: Any, error: Exception) -> Any:
        return refuse(500, "internal server error", "see the server's log")

    app = Starlette(routes=routes, exception_handlers={HTTPException: on_http_error, Exception: on_any_error})
    app.router.redirect_slashes = False
    return Gate(
        GZipMiddleware(app, minimum_size=2048, compresslevel=4), hosts or Hosts("127.0.0.1"), token, root_path, framed
    )


def page_files() -> dict[str, tuple[bytes, str]]:
    """Return the files of the page by name; only these are served, whatever the requested path."""
    folder = resources.files("firthian.explore") / "page"
    return {
        file.name: (file.read_bytes(), _TYPES[Path(file.name).suffix])
        for file in folder.iterdir()
        if Path(file.name).suffix in _TYPES
    }


def _serving(data: bytes, kind: str) -> Any:
    from starlette.responses import Response

    tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'

    def serve(request: Any) -> Any:
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    return serve


def _answering(state: ExplorerState, handler: Callable[..., Any]) -> Any:
    options = declared(handler)

    def answer(request: Any) -> Any:
        try:
            result = handler(state, **read_parameters(options, request.query_params.multi_items()))
        except UnknownWordError as error:
            return refuse(404, error.message, error.hint)
        except FirthianError as error:
            return refuse(400, error.message, error.hint)
        return _json(result.job.to_dict(), 202) if isinstance(result, Pending) else _json(result)

    return answer


def _json(value: Any, status: int = 200) -> Any:
    from starlette.responses import Response

    # Strict JSON: NaN would be a bug of ours and must not reach the page.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = text.encode("utf-8", "replace")
    return Response(data, status, {"Cache-Control": "no-store"}, "application/json")


def serve(
    paths: Sequence[str],
    *,
    counts: str | Sequence[str] | None = None,
    corpus: Sequence[str] = (),
    index: str | None = None,
    table: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8642,
    token: str | None = None,
    root_path: str = "",
    allow_hosts: Iterable[str] = (),
    ready: Any = None,
) -> None:
    """Serve until interrupted; ``ready(url)`` is called when the page can be opened. Port 0 picks a free one."""
    server, bound = _prepare(paths, counts, corpus, index, table, host, port, token, root_path, allow_hosts, ready)
    server.run(sockets=[bound])


def start(paths: Sequence[str], *, counts: str | None = None, selected: list[str], ready: Any = None) -> Any:
    """Serve in a thread, to pages of notebooks on this machine, until the result's ``should_exit`` is set.

    ``selected`` receives the words that are selected on the map.
    """
    server, bound = _prepare(paths, counts, (), None, None, "127.0.0.1", 0, None, "", (), ready, selected)
    threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True).start()
    return server


def _prepare(
    paths: Sequence[str],
    counts: str | Sequence[str] | None,
    corpus: Sequence[str],
    index: str | None,
    table: str | None,
    host: str,
    port: int,
    token: str | None,
    root_path: str,
    allow_hosts: Iterable[str],
    ready: Any,
    selected: list[str] | None = None,
) -> tuple[Any, socket.socket]:
    """Open the models and bind the port; return the server, which does not run yet, and its socket."""
    uvicorn = require("uvicorn", "web")
    check_binding(host, token)
    root_path = check_root_path(root_path)
    state = ExplorerState(paths, counts, corpus, index, table)
    state.selected = selected
    app = make_app(state, hosts=Hosts(host, allow_hosts), token=token, root_path=root_path, framed=selected is not None)
    bound = _bind(host, port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, http=connection_class(), ws="none", lifespan="off",
        h11_max_incomplete_event_size=_LONGEST_REQUEST, limit_concurrency=500, timeout_keep_alive=10,
    )  # fmt: skip
    server = uvicorn.Server(config)
    threading.Thread(target=state.warm, daemon=True).start()
    if ready is not None:
        name = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host
        ready(f"http://{name}:{bound.getsockname()[1]}/" + (f"?token={quote(token, safe='')}" if token else ""))
    return server, bound


def check_root_path(path: str) -> str:
    """Return a proxy's path without its trailing slash.

    >>> check_root_path("/words/")
    '/words'
    """
    path = path.rstrip("/")
    if path and (not path.startswith("/") or "//" in path or not path.isascii() or any(c in path for c in "?#% ")):
        raise FirthianError(f"`root_path` must be a path, got {path!r}", hint="for example /words")
    return path


def _bind(host: str, port: int) -> socket.socket:
    """Bind the port before a browser is opened."""
    bound: socket.socket | None = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Explicitly TCP: only then does asyncio set TCP_NODELAY, which saves 40 ms per response.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # Connections now queue up, even before the server accepts them.
        bound.listen(128)
    except (OSError, OverflowError) as error:
        if bound is not None:
            bound.close()
        hint = "choose another `port` (0 picks a free one)"
        raise FirthianError(f"cannot listen on {host}, port {port} ({error})", hint) from None
    return bound


_TEXTS = {"error": {"type": "string"}, "hint": {"type": "string"}}
_ERROR_SCHEMA = {"type": "object", "required": ["error", "hint"], "properties": _TEXTS}
_ERROR = {"description": "An error and a hint.", "content": {"application/json": {"schema": _ERROR_SCHEMA}}}

#: Requests that may answer 202 while a job runs.
_SLOW = ("/api/map", "/api/evaluation", "/api/change", "/api/regress")


def openapi() -> dict[str, Any]:
    """Return the OpenAPI description of every path."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Firthian explorer", "version": __version__},
        "paths": {path: {"get": _operation(path, handler)} for path, handler in HANDLERS.items()},
    }


def _operation(path: str, handler: Callable[..., Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "200": {"description": "The result.", "content": {"application/json": {"schema": {"type": "object"}}}},
        "400": _ERROR,
        "404": _ERROR,
    }
    if path in _SLOW:
        answers["202"] = {"description": "The job is running; ask again. Has its stage and the fraction done."}
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": is_required(option),
            "description": option.help,
            "schema": schema(option),
        }
        for name, option in declared(handler).items()
    ]
    return {
        "operationId": handler.__name__, "summary": handler.__doc__, "parameters": parameters, "responses": answers
    }  # fmt: skip
