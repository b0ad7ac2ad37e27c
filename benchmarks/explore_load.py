"""The explorer under load: many clients for minutes, half-open ones beside them. ``python -m benchmarks.explore_load``

Clients ask one question after another over one connection each, of the kinds a person at the page asks. Latencies are as the
clients see them, on the loopback of the same machine, which the clients themselves keep busy.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.explore import DIMENSIONS, WORDS, Server
from benchmarks.results import Results
from firthian import Vectors, Vocabulary

#: Connections that send half a request and wait.
HALF_OPEN = 100


def question(source: random.Random, words: int) -> str:
    """Return a path with a query: most often neighbors or completions, as while typing."""
    first, second, third = (f"word{source.randrange(words)}" for _ in range(3))
    return source.choice(
        [
            f"/api/neighbors?word={first}&topn=10", f"/api/neighbors?word={first}&topn=10", f"/api/words?prefix={first[:6]}",
            f"/api/words?prefix={first[:5]}", f"/api/similarity?a={first}&b={second}",
            f"/api/analogy?a={first}&b={second}&c={third}",
            "/", "/main.js", "/api/models",
        ]
    )  # fmt: skip


#: What a client meets on a connection that was closed.
CLOSED = (ConnectionError, asyncio.IncompleteReadError)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: str) -> bool:
    """Send a request; return whether the answer is one."""
    writer.write(request.encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200")


async def client(port: int, number: int, until: float, think: float, words: int, found: list[float]) -> int:
    """Ask until the time is over; note the seconds of each answer, and return how many failed."""
    source, failed = random.Random(number), 0
    await asyncio.sleep(source.random() * think)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while time.monotonic() < until:
            begun, request = time.monotonic(), f"GET {question(source, words)} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try:
                try:
                    ok = await ask(reader, writer, request)
                except CLOSED:
                    # The server may have closed it while it was idle: like a browser, ask again.
                    writer.close()
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    ok = await ask(reader, writer, request)
                failed += not ok
            except (OSError, EOFError, ValueError):
                failed += 1
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found.append(time.monotonic() - begun)
            await asyncio.sleep(think * 2 * source.random())
    finally:
        writer.close()
    return failed


async def half_open(port: int, until: float) -> None:
    """Send half a request, again whenever the server gives up on it."""
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/words?prefix=a HTTP/1.1\r\n")
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(reader.read(1), max(0.1, until - time.monotonic()))
        writer.close()


def anonymous(process: int) -> int:
    """Return the anonymous memory of a process, in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("anonymous memory is not known here")


async def run(port: int, process: int, clients: int, seconds: float, think: float, words: int) -> dict[str, Any]:
    """Run all clients; return latencies, failures and memory after a tenth of the time and at the end."""
    until = time.monotonic() + seconds
    found: list[float] = []
    tasks = [asyncio.create_task(client(port, number, until, think, words, found)) for number in range(clients)]
    waiting = [asyncio.create_task(half_open(port, until)) for _ in range(HALF_OPEN)]
    await asyncio.sleep(seconds / 10)
    early = anonymous(process)
    failed = sum(await asyncio.gather(*tasks))
    await asyncio.gather(*waiting)
    p50, p99 = np.percentile(found, (50, 99))
    return {
        "clients": clients, "half_open": HALF_OPEN, "seconds": seconds, "think_seconds": think, "answers": len(found),
        "failed": failed, "p50_ms": round(1000 * p50, 1), "p99_ms": round(1000 * p99, 1),
        "slowest_ms": round(1000 * max(found), 1), "early_mb": round(early / 1e6, 1),
        "end_mb": round(anonymous(process) / 1e6, 1),
    }  # fmt: skip


def main() -> None:
    """Start the explorer on random vectors, load it, and write down what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--think", type=float, default=5.0, help="mean seconds between an answer and the next question")
    parser.add_argument("--words", type=int, default=WORDS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.random.default_rng(1).standard_normal((asked.words, DIMENSIONS), dtype=np.float32)
        Vectors(rows, Vocabulary([f"word{number}" for number in range(asked.words)])).save(folder / "vectors")
        del rows
        server = Server(folder / "vectors")
        try:
            server.ask("/api/neighbors", word="word1")
            row = asyncio.run(
                run(server.port or 0, server.process.pid, asked.clients, asked.seconds, asked.think, asked.words)
            )
        finally:
            server.close()
    row |= {"words": asked.words, "dimensions": DIMENSIONS, "cpus": os.cpu_count()}
    print(json.dumps(row))
    if asked.words == WORDS:
        Results("explore-load").put("load", row)


if __name__ == "__main__":
    main()
