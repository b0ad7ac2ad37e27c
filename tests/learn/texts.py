"""A corpus with a known answer: two topics that share only function words."""

from __future__ import annotations

import numpy as np

#: Which topic each word belongs to; the words both share belong to a third.
TOPIC = {f"{letter}{n}": number for number, letter in enumerate("abx") for n in range(40)}


def two_topics(documents: int = 60, words: int = 10, length: int = 30, seed: int = 0) -> list[str]:
    """Documents of one topic each, a fifth of their tokens from the shared words."""
    rng = np.random.default_rng(seed)
    texts = []
    for number in range(documents):
        letter = "ab"[number % 2]
        shared = rng.random(length) < 0.2
        picks = rng.integers(0, words, length)
        texts.append(" ".join(f"x{n % 3}" if s else f"{letter}{n}" for n, s in zip(picks, shared, strict=True)))
    return texts
