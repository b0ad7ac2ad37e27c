"""Speed of vectors beside gensim: neighbors, batches, loading text, opening a folder. ``python -m benchmarks.vectors``

Every figure is the best of several, ours and theirs in turn, in one process. A ratio above 1 means ours is faster.
Figures are kept in ``results/vectors.json``, unless ``--json`` prints them instead.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import Results
from firthian import Vectors, Vocabulary
from firthian.vectors.formats import read_vectors, write_vectors


def best(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Run the tasks in turn; give the least seconds of each."""
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def random_vectors(words: int, dimensions: int) -> Vectors:
    generator = np.random.default_rng(1)
    matrix = generator.standard_normal((words, dimensions), dtype=np.float32)
    return Vectors(matrix, Vocabulary([f"word{number}" for number in range(words)]))


def as_gensim(vectors: Vectors) -> Any:
    """Share the matrix with gensim, as a copy would not fit beside it everywhere."""
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(vectors.vector_size)
    keyed.index_to_key = vectors.vocabulary.words
    keyed.key_to_index = vectors.vocabulary.index
    keyed.vectors = vectors.matrix
    keyed.fill_norms()
    return keyed


def neighbors(words: int, repeats: int) -> dict[str, dict[str, float]]:
    vectors = random_vectors(words, 300)
    keyed = as_gensim(vectors)
    asked = [f"word{number * 7}" for number in range(512)]
    vectors.most_similar("word0")
    one = best(
        {"ours": lambda: vectors.most_similar("word5"), "gensim": lambda: keyed.most_similar("word5")}, repeats * 3
    )
    few = asked[:8]
    many = best(
        {
            "ours": lambda: vectors.most_similar_many(asked),
            "gensim": lambda: [keyed.most_similar(word) for word in few],
        },
        repeats,
    )
    many["ours"] /= len(asked)
    many["gensim"] /= len(few)
    return {"neighbors": one, "neighbors, batch": many}


def loading(words: int, repeats: int, folder: Path) -> dict[str, dict[str, float]]:
    from gensim.models import KeyedVectors

    path = folder / "vectors.txt"
    write_vectors(random_vectors(words, 50), path)
    read_vectors(path)
    return {
        "load text": best(
            {"ours": lambda: read_vectors(path), "gensim": lambda: KeyedVectors.load_word2vec_format(path)}, repeats
        )
    }


def opening(words: int, repeats: int, folder: Path) -> dict[str, dict[str, float]]:
    random_vectors(words, 300).save(folder / "vectors")
    return {"open folder": best({"ours": lambda: Vectors.load(folder / "vectors")}, repeats * 5)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results |= opening(arguments.words, arguments.repeats, folder)
        results |= neighbors(arguments.words, arguments.repeats)
        results |= loading(arguments.words, arguments.repeats, folder)
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    kept = Results("vectors")
    for what, seconds in results.items():
        kept.put(what, {name: round(value, 4) for name, value in seconds.items()})
    print(f"{arguments.words:,} words; neighbors of 300 dimensions, text of 50; seconds, best of several")
    print(f"{'':<20}{'ours':>10}{'gensim':>10}{'ratio':>8}")
    for what, seconds in results.items():
        theirs = seconds.get("gensim")
        ratio = f"{theirs / seconds['ours']:8.1f}" if theirs else " " * 8
        print(f"{what:<20}{seconds['ours']:10.4f}{theirs or float('nan'):10.4f}{ratio}")


if __name__ == "__main__":
    main()
