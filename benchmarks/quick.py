"""A watch on speed that takes minutes: instructions of kernels, and CPU time beside other tools. ``make bench-quick``

Ratios of CPU time in one process, the least of several runs in turn, vary little on a busy machine; seconds do not.
``results/quick.json`` keeps every run under ``history``, newest last. ``--kernels`` leaves out the other tools.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora
from benchmarks.peers import PEERS
from benchmarks.results import Results
from benchmarks.timing import FIRTH, run

ROOT = Path(__file__).parents[1]

#: A kernel may execute this many times the instructions of the run before.
MOST_GROWTH = 1.1

#: Words, pairs of each, and runs of a comparison in this process.
WORDS, EACH, RUNS = 4000, 100, 5


def instructions() -> dict[str, Any]:
    """Count instructions in another process, whose code is compiled for a fixed processor."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.instructions"], check=True, cwd=ROOT, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def grown(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return which kernels execute more instructions than before; other versions of the compiler say nothing.

    >>> grown({"versions": "1", "counts": {"scan": 100}}, {"versions": "1", "counts": {"scan": 111, "new": 5}})
    ['scan: 100 -> 111 instructions']
    """
    if before["versions"] != now["versions"]:
        return []
    return [
        f"{name}: {before['counts'][name]} -> {number} instructions"
        for name, number in now["counts"].items()
        if number > MOST_GROWTH * before["counts"].get(name, number)
    ]


def against_numpy() -> dict[str, float]:
    """Return how many times the CPU time of our kernels plain numpy and SciPy take."""
    import scipy.sparse

    from firthian.learn.likelihood.families import Binomial
    from firthian.learn.likelihood.losses import Expanded
    from firthian.learn.likelihood.model import Side
    from firthian.learn.likelihood.pairs import SeenPairs
    from firthian.learn.linalg.operators import SparseOperator
    from firthian.runtime.run import Run, one_blas_thread

    random, here = np.random.default_rng(1), Run.create(workers=1)
    columns = np.sort(random.integers(0, WORDS, (WORDS, EACH)), axis=1).astype(np.int32).ravel()
    x = random.integers(1, 9, columns.size).astype(np.float32)
    indptr = np.arange(WORDS + 1) * EACH
    left, right = random.standard_normal((2, WORDS, 100), dtype=np.float32) / 4
    none, share = np.zeros(WORDS), np.full(WORDS, 1 / WORDS)
    pairs = SeenPairs(indptr, columns, x)
    side = Side(Binomial(), pairs, left, none, 6 * pairs.events, right, none, share, learns_bias=False)
    matrix = scipy.sparse.csr_array((x, columns, indptr), shape=(WORDS, WORDS))
    operator, block = SparseOperator.of(matrix), right[:, :32].copy()

    def slopes() -> None:
        for first in range(0, WORDS, 256):
            part = slice(first * EACH, (first + 256) * EACH)
            rows = right[columns[part]].reshape(-1, EACH, 100)
            s = np.einsum("npk,nk->np", rows, left[first : first + 256])
            rho = side.left_share[first : first + 256, np.newaxis].astype(np.float32) * np.float32(1 / WORDS)
            counts = x[part].reshape(-1, EACH)
            slope = (counts + rho) / (1 + np.exp(-s)) - counts
            np.einsum("np,npk->nk", slope, rows)

    ours = {
        "half a sweep, numpy": lambda: Expanded().gradient(side, here, 1, value=False),
        "sparse product, SciPy": lambda: operator.times(block, here),
    }
    theirs: dict[str, Callable[[], Any]] = {
        "half a sweep, numpy": slopes,
        "sparse product, SciPy": lambda: matrix @ block,
    }
    with one_blas_thread():
        return {name: least(theirs[name], RUNS) / least(call, RUNS) for name, call in ours.items()}


def least(call: Callable[[], Any], runs: int) -> float:
    """Return the least CPU time of several calls after a first."""
    call()
    times = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def against_tools() -> dict[str, float]:
    """Return how many times the CPU time of ``firth train`` other tools take, from 1 M words to saved vectors."""
    text = corpora.find("enwiki1m")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "vectors"
        command = [*FIRTH, "train", str(text), "--workers", "2", "--dim", "100", "--min-count", "5", "-o", str(target)]
        own = min(run([*command, "--force"]).cpu for _ in range(3))
        tools = ("gensim skip-gram", "fastText skip-gram")
        return {name: run(PEERS[name].command(text, target.with_name("peer"), 100, 5)).cpu / own for name in tools}


def main() -> None:
    """Measure, keep, and fail if a kernel has grown."""
    results = Results("quick")
    history: list[dict[str, Any]] = results.rows.get("history", [])
    now = {"date": time.strftime("%Y-%m-%d"), **instructions()}
    ratios = against_numpy() | ({} if "--kernels" in sys.argv[1:] else against_tools())
    now["ratios"] = {name: round(ratio, 2) for name, ratio in ratios.items()}
    results.put("history", [*history, now])
    print(json.dumps(now, indent=1))
    found = grown(history[-1], now) if history else []
    if found:
        raise SystemExit("more instructions than in the last run: " + ", ".join(found))


if __name__ == "__main__":
    main()
