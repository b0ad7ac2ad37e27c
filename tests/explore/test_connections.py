"""Long requests get an answer, and clients that say nothing do not starve others."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import socket
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from benchmarks.explore_load import run
from firthian import Vectors, Vocabulary
from firthian.explore.server.connections import MOST_CONNECTIONS
from tests.explore.planted import Served, planted, save

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None,
    reason="starlette and uvicorn are not installed (firthian[web])",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("connections")
    save(planted(), folder / "first")
    with Served(folder / "first") as server:
        yield server


def connected(served: Served) -> socket.socket:
    place = urlsplit(served.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=20)


def answer_of(client: socket.socket) -> tuple[int, int, bytes]:
    """Return the version, the status and the body of one answer, in however many packets it arrives."""
    response = HTTPResponse(client)
    response.begin()
    return response.version, response.status, response.read()


@pytest.mark.parametrize("head", ["GET /{} HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n"])
def test_a_long_request_is_refused_politely(served: Served, head: str) -> None:
    with connected(served) as client:
        client.sendall(head.format("x" * 200_000).encode())
        version, status, body = answer_of(client)
    assert (version, status) == (11, 431)
    assert body.startswith(b'{"error": "the request is too long"')


def test_what_is_no_request(served: Served) -> None:
    with connected(served) as client:
        client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 400 ")


def test_silent_clients_do_not_starve_others(served: Served) -> None:
    silent = []
    try:
        for _ in range(MOST_CONNECTIONS + 50):
            silent.append(connected(served))
            silent[-1].sendall(b"GET / HTTP/1.1\r\n")
        begin = time.monotonic()
        assert served.ask("words", prefix="su")["words"] == ["sun", "sunset"]
        assert time.monotonic() - begin < 5
        # The first ones had to make room; whether they are told by an end or a reset depends on what was still unread.
        with contextlib.suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
    finally:
        for client in silent:
            client.close()


def test_many_clients_beside_half_open_ones(tmp_path: Path) -> None:
    """A short form of ``benchmarks.explore_load``: no error, and memory stays what it is."""
    Vectors(np.eye(600, 8, dtype=np.float32) + 1, Vocabulary([f"word{n}" for n in range(600)])).save(tmp_path / "v")
    with Served(tmp_path / "v") as server:
        port, process = urlsplit(server.url).port or 0, server.process.pid
        found = asyncio.run(run(port, process, clients=50, seconds=2, think=0.2, words=600))
    assert found["failed"] == 0
    assert found["answers"] > 100
    assert found["end_mb"] < found["early_mb"] + 20


def test_a_page_is_there(served: Served, tmp_path: Path) -> None:
    with connected(served) as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            version, status, body = answer_of(client)
            assert (version, status) == (11, 200)
            assert body.startswith(b"<!doctype html>")
