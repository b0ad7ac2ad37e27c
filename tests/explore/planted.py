"""Vectors with topics planted in them, a server that shows them, and questions to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from firthian import Vectors, Vocabulary
from firthian.vectors.provenance import Provenance

TOPICS = {
    "drink": "tea coffee milk juice water beer wine cocoa",
    "sky": "sun moon star cloud rain comet planet sunset",
    "music": "song violin piano guitar drum melody concert flute",
    "people": "man woman king queen boy girl prince princess",
}

#: Words that are markup; they must be shown, never run.
HOSTILE = ["<img src=x onerror=window.hacked=1>", '"><script>window.hacked=1</script>', "$x^2$ & <b>bold</b>"]


def planted(seed: int = 1, noise: float = 0.25, size: int = 16, uncertain: bool = False) -> Vectors:
    """Words of one topic point one way; royal and female words share further directions, so that analogies work."""
    random = np.random.default_rng(seed)
    centers = 1.5 * np.eye(size)[: len(TOPICS)]
    words: list[str] = []
    rows: list[Any] = []
    for center, text in zip(centers, TOPICS.values(), strict=True):
        for word in text.split():
            words.append(word)
            rows.append(center + noise * random.standard_normal(size) / np.sqrt(size))
    royal, female = np.eye(size)[-1], np.eye(size)[-2]
    for word in ("king", "queen", "prince", "princess"):
        rows[words.index(word)] += royal
    for word in ("woman", "queen", "girl", "princess"):
        rows[words.index(word)] += female
    for word in HOSTILE:
        words.append(word)
        rows.append(random.standard_normal(size))
    extras = {"variances": np.full((len(words), size), 0.002, dtype=np.float32)} if uncertain else {}
    provenance = Provenance(recipe="planted", stats={"log_precisions": [0.1, 0.5, 4.0]})
    return Vectors(
        np.array(rows), Vocabulary(words, np.arange(len(words), 0, -1) * 10), extras=extras, provenance=provenance
    )


class Served:
    """``firth explore`` in a process of its own, on a free port."""

    def __init__(self, *arguments: object, token: str | None = None) -> None:
        command = [sys.executable, "-m", "firthian", "explore", *map(str, arguments), "--no-browser", "--port", "0"]
        environment = {**os.environ, **({"FIRTHIAN_TOKEN": token} if token else {})}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if "exploring at " not in line:
            _, errors = self.process.communicate(timeout=30)
            raise AssertionError(errors.decode())
        self.url = line.split()[2]
        self.port = urlsplit(self.url).port

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)

    def get(
        self, path: str, query: Any = (), headers: dict[str, str] | None = None, method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        """Ask; give the status, the headers and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            connection.request(method, target, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def ask(self, path: str, status: int = 200, **query: Any) -> Any:
        """Ask the interface; the answer must be JSON with the expected status."""
        found, headers, body = self.get(f"/api/{path}", query)
        assert found == status, body
        assert headers["content-type"] == "application/json"
        return json.loads(body)


def save(vectors: Vectors, path: Path) -> Path:
    vectors.save(path, force=True)
    return path
