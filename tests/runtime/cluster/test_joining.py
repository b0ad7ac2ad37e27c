"""Joining a cluster that runs already, in all three ways: ``auto``, ``ray://HOST:PORT`` and ``HOST:PORT``."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PATIENCE = 120

#: Ray asks for the token of ``~/.ray`` if there happens to be one, and a client of an address sends none by itself.
TOKEN = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}


def free_ports(number: int) -> list[int]:
    """Ports below those that Ray gives its workers."""
    found = []
    for port in range(7000, 9900):
        with socket.socket() as place:
            if place.connect_ex(("127.0.0.1", port)):
                found.append(port)
        if len(found) == number:
            return found
    raise RuntimeError("no free ports")


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """The head of a cluster, as ``ray start`` makes it: its port, and that of clients."""
    pytest.importorskip("ray")
    port, clients = free_ports(2)
    command = [
        str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--num-cpus=2", "--disable-usage-stats",
        f"--port={port}", f"--ray-client-server-port={clients}", "--include-dashboard=false",
        "--object-store-memory=200000000",
    ]  # fmt: skip
    log = tmp_path_factory.mktemp("head") / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True, env=TOKEN)
    until = time.monotonic() + PATIENCE
    while "Ray runtime started" not in log.read_text() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    if "Ray runtime started" not in log.read_text():
        pytest.skip(f"no head of a cluster starts here: {log.read_text()[-300:]}")
    yield port, clients
    # Its own children end with it; a group of its own leaves other clusters of this machine alone.
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(PATIENCE)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    words = [f"w{number}" for number in range(60)]
    path.write_text("\n".join(" ".join(rng.choice(words, size=12)) for _ in range(400)))
    return path


def train(corpus: Path, target: Path, *more: str) -> bytes:
    command = [
        sys.executable,
        "-m",
        "firthian",
        "train",
        str(corpus),
        "-m",
        "sgns",
        "--dim",
        "6",
        "-o",
        str(target),
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=TOKEN)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return (target / "vectors.safetensors").read_bytes()


@pytest.mark.cluster
@pytest.mark.parametrize("form", ["auto", "ray://127.0.0.1:{clients}", "127.0.0.1:{port}"])
def test_same_bytes_on_a_cluster_that_was_there(head, corpus, tmp_path, form):
    port, clients = head
    joined = train(corpus, tmp_path / "there", "--cluster", form.format(port=port, clients=clients))
    assert joined == train(corpus, tmp_path / "here")


@pytest.mark.cluster
@pytest.mark.parametrize("form", ["ray://127.0.0.1:{clients}", "127.0.0.1:{port}"])
def test_a_missing_token_is_reported(head, corpus, tmp_path, form):
    port, clients = head
    address = form.format(port=port, clients=clients)
    command = [sys.executable, "-m", "firthian", "train", str(corpus), "-o", str(tmp_path / "v"), "--cluster", address]
    disabled = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=disabled)
    assert done.returncode == 2
    # Ray itself may have written before.
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"firth: cannot join the Ray cluster at {address}")
    assert last.endswith("if it requires a token, set RAY_AUTH_MODE=token")
