"""Connections of the explorer: slow and half-open clients do not starve others, and long requests get an answer."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from firthian.errors import require

#: Seconds for a client to send the head of a request.
SECONDS_FOR_HEAD = 10.0

#: The maximum number of open connections; beyond it, the one that has been idle longest is closed.
MOST_CONNECTIONS = 256

#: Seconds to read on after a refusal: closing at once would make the client's system drop the answer.
_LINGER = 1.0


def connection_class(seconds: float = SECONDS_FOR_HEAD, most: int = MOST_CONNECTIONS) -> Any:
    """Return uvicorn's class of connections with limits."""
    h11 = require("h11", "web")
    base: Any = require("uvicorn.protocols.http.h11_impl", "web").H11Protocol

    class Connection(base):  # type: ignore[misc]
        """A connection with a deadline for the head of each request."""

        _deadline: Any = None
        _refused = False
        _idle_since = 0.0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._idle_since = time.monotonic()
            self._wait_for_head()
            if len(self.connections) > most:
                idle = [other for other in self.connections if other is not self and other._is_idle]
                if idle:
                    # First of all, those that have never asked anything.
                    min(idle, key=lambda other: (other.cycle is not None, other._idle_since)).transport.close()

        def connection_lost(self, error: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            super().data_received(data)
            if not self._is_idle and self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._idle_since = time.monotonic()
            if self._is_idle and not self.transport.is_closing():
                self._wait_for_head()

        @property
        def _is_idle(self) -> bool:
            return self.cycle is None or bool(self.cycle.response_complete)

        def _wait_for_head(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self.loop.call_later(seconds, self.transport.close)

        def send_400_response(self, message: str) -> None:
            error = sys.exc_info()[1]
            status = getattr(error, "error_status_hint", 400)
            answer = {"error": "the request is too long", "hint": "ask for less at once"}
            if status != 431:
                status, answer = 400, {"error": "this is not a valid request", "hint": "see /api/openapi.json"}
            body = json.dumps(answer).encode()
            headers = [
                ("content-type", "application/json"),
                ("connection", "close"),
                ("content-length", str(len(body))),
            ]
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
            self._refused = True
            self.loop.call_later(_LINGER, self.transport.close)

    return Connection
