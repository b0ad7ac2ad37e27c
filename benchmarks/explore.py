"""The explorer at 400,000 words × 300 dimensions, and a t-SNE map of 10,000 × 150. ``python -m benchmarks.explore``

The server is a process of its own, as ``firth explore`` starts it, on vectors in a folder that was just written (a warm
disk). The page is usable when its files are here and the first question, the neighbors of a word, is answered.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from benchmarks.results import Results
from benchmarks.timing import FIRTH
from firthian import Vectors, Vocabulary

WORDS, DIMENSIONS = 400_000, 300
PARALLEL = 50
MAP_WORDS, MAP_DIMENSIONS, MAP_TOPICS = 10_000, 150, 200

#: What the page loads before anything can be done with it.
PAGE = (
    "/", "/map.css", "/style.css", "/main.js", "/api.js", "/complete.js", "/dom.js", "/map.js", "/state.js", "/views.js",
    "/bars.js", "/points.js", "/placing.js", "/colors.js", "/layers.js", "/takeout.js", "/api/models",
)  # fmt: skip


class Server:
    """``firth explore`` on a free port."""

    def __init__(self, folder: Path) -> None:
        self.begun = time.perf_counter()
        command = [*FIRTH, "explore", str(folder), "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = urlsplit(self.process.stdout.readline().split()[2]).port
        self.connection = self.connect()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path: str, connection: http.client.HTTPConnection | None = None, **query: Any) -> Any:
        """Return the answer; anything but success is an error here."""
        asked = connection or self.connection
        asked.request("GET", f"{path}?{urlencode(query)}" if query else path)
        answer = asked.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return json.loads(body) if path.startswith("/api/") else body

    def peak(self) -> int:
        """Return its peak memory, mapped files included."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("there is no peak of memory here")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def since(begun: float) -> float:
    return time.perf_counter() - begun


def explorer(folder: Path, repeats: int = 3) -> dict[str, Any]:
    rows = np.random.default_rng(1).standard_normal((WORDS, DIMENSIONS), dtype=np.float32)
    Vectors(rows, Vocabulary([f"word{number}" for number in range(WORDS)])).save(folder / "vectors")
    del rows
    size = sum(file.stat().st_size for file in (folder / "vectors").iterdir())
    usable, drawn, waits, peaks, rounds = [], [], [], [], []
    for _ in range(repeats):
        server = Server(folder / "vectors")
        try:
            for path in PAGE:
                server.ask(path)
            server.ask("/api/neighbors", word="word7", topn=30)
            usable.append(since(server.begun))
            server.ask("/api/map", method="pca", limit=20_000)
            drawn.append(since(server.begun))
            for number in range(PARALLEL):
                begun = time.perf_counter()
                server.ask("/api/neighbors", word=f"word{number * 7919}", topn=30)
                waits.append(since(begun))
            rounds.append(together(server))
            server.ask("/api/words", prefix="word39999")
            peaks.append(server.peak())
        finally:
            server.close()
    return {
        "words": WORDS,
        "dimensions": DIMENSIONS,
        "starts": repeats,
        "usable_s": {"best": round(min(usable), 3), "all": [round(one, 3) for one in usable]},
        "map_of_20000_drawn_s": {"best": round(min(drawn), 3), "all": [round(one, 3) for one in drawn]},
        "neighbors_ms": {
            "median": round(1000 * median(waits), 1), "best": round(1000 * min(waits), 1),
            "worst": round(1000 * max(waits), 1), "requests": len(waits),
        },
        "fifty_at_once": {
            "errors": sum(errors for errors, _ in rounds), "seconds": round(min(seconds for _, seconds in rounds), 3),
        },
        "memory_mb": {
            "file": round(size / 1e6, 1), "peak": round(max(peaks) / 1e6, 1),
            "beyond_the_file": round((max(peaks) - size) / 1e6, 1),
        },
    }  # fmt: skip


def together(server: Server) -> tuple[int, float]:
    """Ask fifty questions at once, each on a connection of its own; give the errors and the seconds of all."""

    def one(number: int) -> bool:
        connection = server.connect()
        try:
            found = server.ask("/api/neighbors", connection, word=f"word{number * 31}", topn=20)
            return len(found["neighbors"]) == 20
        except (OSError, RuntimeError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    begun = time.perf_counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        right = list(pool.map(one, range(PARALLEL)))
    return right.count(False), since(begun)


def projection() -> dict[str, Any]:
    """Time t-SNE on words of planted topics, from vectors to points, nothing kept."""
    from firthian.explore.projection import ProjectionOptions, project

    random = np.random.default_rng(2)
    centers = random.standard_normal((MAP_TOPICS, MAP_DIMENSIONS))
    rows = centers[random.integers(MAP_TOPICS, size=MAP_WORDS)]
    rows = (rows + random.standard_normal(rows.shape)).astype(np.float32)
    vectors = Vectors(rows, Vocabulary([f"word{number}" for number in range(MAP_WORDS)]))
    begun = time.perf_counter()
    project(vectors, np.arange(MAP_WORDS), ProjectionOptions("tsne"), keep=False)
    return {"words": MAP_WORDS, "dimensions": MAP_DIMENSIONS, "seconds": round(since(begun), 1)}


def main(again: bool = False) -> Results:
    results = Results("explore")
    with tempfile.TemporaryDirectory() as name:
        results.row("explorer", lambda: explorer(Path(name)), again)
    results.row("tsne", projection, again)
    return results


if __name__ == "__main__":
    print(json.dumps(main(again=True).rows, indent=1))
