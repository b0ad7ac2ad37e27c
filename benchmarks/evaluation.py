"""How long analogies take, ours beside gensim's, on the same vectors in one run.

Run it as ``python -m benchmarks.evaluation [VECTORS]``; it writes ``results/evaluation.json``. Without
vectors, made ones are used that know every word of the questions (18,000 words, 300 dimensions), so that each of the 27,544
questions is answered by both.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import firthian as ft
from benchmarks.results import Results
from firthian.datasets.word_tasks import Questions
from firthian.errors import require
from firthian.evaluate.sets import open_set
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

WORDS, SIZE = 18_000, 300


def planted_vectors(sets: list[Questions]) -> Vectors:
    """Make vectors of every word of the questions, and of enough others, in which each section is one direction."""
    random = np.random.default_rng(1)
    words = sorted({word.lower() for asked in sets for item in asked.words for word in item})
    words += [f"other{number}" for number in range(WORDS - len(words))]
    words = [words[place] for place in random.permutation(len(words))]
    index = {word: number for number, word in enumerate(words)}
    matrix = random.normal(size=(len(words), SIZE))
    for asked in sets:
        directions = random.normal(size=(len(asked.sections), SIZE))
        for section, (a, b, _, _) in zip(asked.section_of, asked.words, strict=True):
            matrix[index[b.lower()]] = matrix[index[a.lower()]] + directions[section]
    matrix += 0.7 * random.normal(size=matrix.shape)
    return Vectors(matrix.astype(np.float32), Vocabulary(words))


def ours(vectors: Vectors, sets: list[Questions]) -> tuple[float, dict[str, float], int]:
    begin = time.perf_counter()
    facts = ft.evaluate(vectors, "analogy", sets).to_dict()["analogy"]
    seconds = time.perf_counter() - begin
    covered = sum(found["covered"] for found in facts.values())
    return seconds, {name: found["3cosadd"] for name, found in facts.items()}, covered


def gensim(vectors: Vectors, sets: list[Questions], folder: Path) -> tuple[float, dict[str, float]]:
    keyedvectors = require("gensim.models.keyedvectors", "bench")
    theirs = keyedvectors.KeyedVectors(vectors.vector_size)
    theirs.add_vectors(vectors.vocabulary.words, vectors.matrix)
    for asked in sets:
        lines = [": all", *(" ".join(item) for item in asked.words)]
        (folder / asked.name).write_text("\n".join(lines) + "\n")
    begin = time.perf_counter()
    found = {asked.name: theirs.evaluate_word_analogies(str(folder / asked.name))[0] for asked in sets}
    return time.perf_counter() - begin, found


def main(arguments: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    sets = [opened for name in ("google", "msr") if isinstance(opened := open_set(name), Questions)]
    vectors = ft.load(arguments[0]) if arguments else planted_vectors(sets)
    # The first call compiles; it is not what is measured.
    ours(vectors, sets)
    seconds, found, covered = ours(vectors, sets)
    with tempfile.TemporaryDirectory() as folder:
        their_seconds, their_found = gensim(vectors, sets, Path(folder))
    report = {
        "words": len(vectors),
        "size": vectors.vector_size,
        "questions": sum(map(len, sets)),
        "covered": covered,
        "cores": len(os.sched_getaffinity(0)),
        "firthian_seconds": round(seconds, 2),
        "gensim_seconds": round(their_seconds, 2),
        "times_faster": round(their_seconds / seconds, 1),
        "firthian_3cosadd": found,
        "gensim_3cosadd": their_found,
    }
    Results("evaluation").put("analogies", report)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
