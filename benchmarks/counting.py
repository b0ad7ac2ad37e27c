"""Counting beside gensim's vocabulary scan and ``vectorizers``, the memory budget, and the cost of compiling.

``python -m benchmarks.counting``. All on the first 100,000,000 bytes of enwiki70m (16.9 M tokens), in one run. Stanford GloVe's
three programs (vocab_count, cooccur, shuffle) took 22.7 s on the reference machine; they are not to be had here.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.results import Results
from benchmarks.timing import FIRTH, best, run
from firthian.datasets import locate

GLOVE_SECONDS = 22.7

#: Each script prints the seconds of the work itself, once everything is imported and compiled.
OURS = """
import sys, time
import firthian as ft
ft.count(["warm up the kernels"], min_count=1, workers=2)
for _ in range(5):
    begin = time.perf_counter()
    ft.count(sys.argv[1], sys.argv[2], window=10, weighting="harmonic", min_count=50, workers=2, force=True)
    print(time.perf_counter() - begin)
"""

GENSIM = """
import sys, time
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
for _ in range(2):
    begin = time.perf_counter()
    model = Word2Vec(min_count=50, vector_size=1)
    model.build_vocab(LineSentence(sys.argv[1]))
    print(time.perf_counter() - begin)
"""

VECTORIZERS = """
import sys, warnings
import time
warnings.simplefilter("ignore")
from vectorizers import TokenCooccurrenceVectorizer
for _ in range(2):
    begin = time.perf_counter()
    documents = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
    TokenCooccurrenceVectorizer(min_occurrences=50, window_radii=10, kernel_functions="harmonic").fit_transform(documents)
    print(time.perf_counter() - begin)
"""


def firth_count(corpus: Path, target: Path, *flags: str) -> list[str]:
    return [*FIRTH, "count", str(corpus), "-o", str(target), "--force", *flags]


def folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for item in sorted(folder.iterdir()):
        digest.update(item.name.encode() + item.read_bytes())
    return digest.hexdigest()


def speed(folder: Path, repeats: int) -> dict[str, Any]:
    corpus = locate("enwiki17m")
    flags = ("--window", "10", "--weighting", "harmonic", "--min-count", "50", "--workers", "2")
    command = firth_count(corpus, folder / "c", *flags)
    run(command)
    ours, walls = best(command, repeats)
    tenth = folder / "tenth.txt"
    with corpus.open("rb") as file:
        tenth.write_bytes(file.read(10_000_000))
    work = {
        "firth count": seconds(OURS, corpus, folder / "c"),
        "gensim vocabulary scan": seconds(GENSIM, corpus),
        "firth count, first 10 MB": seconds(OURS, tenth, folder / "t"),
        "vectorizers, first 10 MB": seconds(VECTORIZERS, tenth),
    }
    least = {name: min(found) for name, found in work.items()}
    return {
        "firth count, whole process": ours.facts() | {"walls": walls},
        "work alone": work,
        "ratios": {
            "GloVe's 22.7 s / ours, whole process": round(GLOVE_SECONDS / ours.wall, 2),
            "gensim scan / ours": round(least["gensim vocabulary scan"] / least["firth count"], 2),
            "vectorizers / ours (10 MB)": round(
                least["vectorizers, first 10 MB"] / least["firth count, first 10 MB"], 2
            ),
        },
    }


def seconds(script: str, *arguments: Path) -> list[float]:
    """Run a script that prints seconds."""
    out = run([sys.executable, "-c", script, *map(str, arguments)]).out
    return [round(float(line), 3) for line in out.split()]


def budget(folder: Path) -> dict[str, Any]:
    corpus = locate("enwiki70m")
    free = run(firth_count(corpus, folder / "free", "--min-count", "5", "--workers", "2"))
    held = run(firth_count(corpus, folder / "held", "--min-count", "5", "--workers", "2", "--memory", "1GB"))
    one = run(firth_count(corpus, folder / "one", "--min-count", "5", "--workers", "1", "--memory", "500MB"))
    hashes = {name: folder_hash(folder / name) for name in ("free", "held", "one")}
    return {
        "no budget": free.facts(),
        "1 GB": held.facts(),
        "500 MB, 1 worker": one.facts(),
        "same bytes": len(set(hashes.values())) == 1,
        "peak / budget": round(held.peak_bytes / 1e9, 3),
    }


def cold(folder: Path) -> dict[str, Any]:
    corpus = folder / "small.txt"
    corpus.write_text("a small corpus of a few words to count\n" * 50)
    cache = folder / "numba"
    command = firth_count(corpus, folder / "s")
    first = run(command, NUMBA_CACHE_DIR=str(cache))
    second = run(command, NUMBA_CACHE_DIR=str(cache))
    help_, _ = best([*FIRTH, "--help"], 5)
    return {
        "first call ever": round(first.wall, 2),
        "second call": round(second.wall, 2),
        "compiling": round(first.wall - second.wall, 2),
        "firth --help": round(help_.wall, 3),
    }


def _in_a_folder(task: Callable[[Path], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    def run_it() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as name:
            return task(Path(name))

    return run_it


#: What is measured.
PARTS = {
    "speed": _in_a_folder(lambda folder: speed(folder, 5)),
    "budget (enwiki70m, min-count 5)": _in_a_folder(budget),
    "cold": _in_a_folder(cold),
}

if __name__ == "__main__":
    found = Results("counting")
    for part, measure in PARTS.items():
        print(json.dumps(found.row(part, measure, again=True), indent=1))
