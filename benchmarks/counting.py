"""Counting beside gensim's vocabulary scan and ``vectorizers``, the memory budget, and the cost of compiling.

``python -m benchmarks.counting``. All on the first 100,000,000 bytes of enwiki70m (16.9 M tokens), in one run. Stanford GloVe's
three programs (vocab_count, cooccur, shuffle) took 22.7 s on the reference machine; they are not to be had here.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.timing import FIRTH, best, run
from firthian.datasets import locate

GLOVE_SECONDS = 22.7

GENSIM = """
import sys
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
model = Word2Vec(min_count=50, vector_size=1)
model.build_vocab(LineSentence(sys.argv[1]))
print(len(model.wv))
"""

VECTORIZERS = """
import sys, warnings
warnings.simplefilter("ignore")
from vectorizers import TokenCooccurrenceVectorizer
documents = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
matrix = TokenCooccurrenceVectorizer(min_occurrences=50, window_radii=10, kernel_functions="harmonic").fit_transform(documents)
print(matrix.shape, matrix.nnz)
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
    gensim, gensim_walls = best([sys.executable, "-c", GENSIM, str(corpus)], 2)
    tenth = folder / "tenth.txt"
    with corpus.open("rb") as file:
        tenth.write_bytes(file.read(10_000_000))
    ours_tenth, _ = best(firth_count(tenth, folder / "t", *flags), repeats)
    vectorizers, _ = best([sys.executable, "-c", VECTORIZERS, str(tenth)], 2)
    return {
        "firth count": ours.facts() | {"walls": walls},
        "gensim vocabulary scan": gensim.facts() | {"walls": gensim_walls},
        "firth count, first 10 MB": ours_tenth.facts(),
        "vectorizers, first 10 MB": vectorizers.facts(),
        "ratios": {
            "GloVe's 22.7 s / ours": round(GLOVE_SECONDS / ours.wall, 2),
            "gensim scan / ours": round(gensim.wall / ours.wall, 2),
            "vectorizers / ours (10 MB)": round(vectorizers.wall / ours_tenth.wall, 2),
        },
    }


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


def main() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {"speed": speed(folder, 5), "budget (enwiki70m, min-count 5)": budget(folder), "cold": cold(folder)}


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
