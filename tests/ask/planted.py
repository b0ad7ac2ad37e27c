"""A corpus in which two groups use a word in different planted contexts, and vectors with no structure of their own."""

from __future__ import annotations

import numpy as np

from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

RIVER = [f"river{n}" for n in range(8)]
HOUSE = [f"house{n}" for n in range(8)]
OTHER = [f"word{n}" for n in range(40)]


def documents(seed: int, number: int = 60, share: float = 1.0) -> dict[str, list[str]]:
    """Group a uses *bank* beside rivers; a ``share`` of group b beside houses. *Same* is used alike by both."""
    generator = np.random.default_rng(seed)
    columns: dict[str, list[str]] = {"text": [], "group": [], "author": [], "sex": []}
    for n in range(number):
        group = "ab"[n % 2]
        sentences = []
        for _ in range(int(generator.integers(1, 6))):
            near = HOUSE if group == "b" and generator.random() < share else RIVER
            for target, company in (("bank", near), ("same", RIVER + HOUSE)):
                left, right = generator.choice(company, 2), generator.choice(OTHER, 2)
                sentences.append(f"{right[0]} {left[0]} {target} {left[1]} {right[1]}.")
        columns["text"].append(" ".join(sentences))
        columns["group"].append(group)
        columns["author"].append(f"author{n // 3}")
        columns["sex"].append("FM"[int(generator.integers(2))])
    return columns


def vectors(dimension: int = 20) -> Vectors:
    words = [*RIVER, *HOUSE, *OTHER, "bank", "same"]
    matrix = np.random.default_rng(0).normal(size=(len(words), dimension)).astype(np.float32)
    matrix[: len(RIVER)] += 1.0
    matrix[len(RIVER) : len(RIVER) + len(HOUSE)] -= 1.0
    return Vectors(matrix, Vocabulary(words))
