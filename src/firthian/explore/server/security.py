"""Access control: requests must come from our own page, name a known host, carry the token if set, and be short.

Other web pages must not read a server on the user's machine. Browsers enforce this, except if a hostile name is made to
point here (DNS rebinding); so the Host header must be a known name of this server.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable, Iterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from firthian.errors import FirthianError

#: The longest accepted query, in bytes.
LONGEST_QUERY = 8192

_COOKIE = "firthian_token"

#: The page may load, run and request our own files only.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def framed_headers() -> dict[str, str]:
    """Return the headers of a page that notebooks on this machine may show in a frame."""
    local = "http://localhost:* http://127.0.0.1:* https://localhost:* vscode-webview:"
    headers = {name: value for name, value in HEADERS.items() if name != "X-Frame-Options"}
    policy = headers["Content-Security-Policy"].replace("frame-ancestors 'none'", f"frame-ancestors {local}")
    return {**headers, "Content-Security-Policy": policy, "Cross-Origin-Resource-Policy": "cross-origin"}


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_binding(host: str, token: str | None) -> None:
    """Raise if the server would be reachable from other machines without a token."""
    if token is not None and not (8 <= len(token) <= 200 and token.isascii() and token.isprintable()):
        raise FirthianError("`token` must be 8 to 200 printable ASCII characters", hint="choose another one")
    if not is_loopback(host) and token is None:
        raise FirthianError(f"{host} is open to others, and no token is set", hint="pass `token`, or omit `host`")


class Hosts:
    """The host names of this server."""

    def __init__(self, host: str, more: Iterable[str] = ()) -> None:
        self.names = {"localhost", host.lower(), *(name.lower() for name in more)}
        # DNS rebinding needs a name; a page served from an address of ours is ours.
        self.any_address = not is_loopback(host)
        if self.any_address:
            self.names.add(socket.gethostname().lower())

    def allow(self, header: str) -> bool:
        """Return whether a Host header names this server, on any port, since ports may be forwarded."""
        name = header.strip().lower()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.any_address or address.is_loopback


class Gate:
    """ASGI middleware: strips the proxy's path, checks Host, origin, length and token, and adds security headers."""

    def __init__(
        self, app: Any, hosts: Hosts, token: str | None = None, root_path: str = "", framed: bool = False
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.token = token
        self.root_path = root_path
        self.headers = framed_headers() if framed else HEADERS

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            # Web sockets are not supported; close them.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.lower().encode(), value.encode()) for name, value in self.headers.items()),
                ]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None and self.root_path and scope["path"].startswith(self.root_path + "/"):
            # Some proxies strip their prefix, some keep it.
            scope = {**scope, "path": scope["path"].removeprefix(self.root_path)}
        if refusal is None:
            await self.app(scope, receive, with_headers)
        else:
            await refusal(scope, receive, with_headers)

    def _refusal(self, scope: Any) -> Any:
        from starlette.responses import RedirectResponse

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self.hosts.allow(headers.get("host", "")):
            return refuse(403, "unknown host name", "open the address that firth explore printed")
        if "/api/" in scope["path"] and (
            headers.get("sec-fetch-site") == "cross-site" or not self._own_page(headers.get("origin"))
        ):
            return refuse(403, "requests from other pages are not allowed", "open the explorer's own page")
        if len(scope["query_string"]) > LONGEST_QUERY or len(scope["path"]) > LONGEST_QUERY:
            return refuse(414, "the query is too long", f"use at most {LONGEST_QUERY} bytes")
        if scope["method"] not in ("GET", "HEAD"):
            return refuse(405, f"{scope['method'][:20]} is not supported", "use GET")
        if self.token is None:
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if self._is_token(query.pop("token", [""])[0]):
            # Move the secret from the URL, which people copy, to a cookie that no script can read.
            rest = f"?{urlencode(query, doseq=True)}" if query else ""
            answer = RedirectResponse(f"{self.root_path}/{rest}" if self.root_path else f"/{rest}", 303)
            answer.set_cookie(_COOKIE, self.token, httponly=True, samesite="strict", path=self.root_path or "/")
            return answer
        scheme, _, given = headers.get("authorization", "").partition(" ")
        shown = [given.strip()] if scheme.lower() == "bearer" else []
        if any(map(self._is_token, (*shown, *_cookies(headers.get("cookie", ""))))):
            return None
        return refuse(401, "the token is missing or wrong", "open the address with ?token=… that firth explore printed")

    def _own_page(self, origin: str | None) -> bool:
        """Return whether a request comes from our own page, or names no origin."""
        return origin is None or self.hosts.allow(origin.partition("://")[2])

    def _is_token(self, given: str) -> bool:
        assert self.token is not None
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _cookies(header: str) -> Iterator[str]:
    """Yield the values of cookies with our name.

    A browser sends the cookies of all ports of a machine together. Those of other programs may be malformed, which would
    break parsing the header as a whole; those of other explorers have the same name.

    >>> list(_cookies('prefs={"a":1}; firthian_token=secret; firthian_token="s\\\\073t"'))
    ['secret', 's;t']
    """
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == _COOKIE:
            yield SimpleCookie().value_decode(value)[0]


def refuse(status: int, error: str, hint: str) -> Any:
    """Build an error response with a hint."""
    from starlette.responses import JSONResponse

    headers = {"Allow": "GET, HEAD"} if status == 405 else {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": error, "hint": hint}, status, headers)
