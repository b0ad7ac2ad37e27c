"""Text for tests: two topics that share only function words, and the beginning of a real corpus."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from firthian.datasets import data_folder

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


def wikipedia(target: Path, size: int) -> Path:
    """Write the first bytes of enwiki70m, whole documents only; skip the test where the corpus is missing."""
    folder = data_folder()
    packed = folder / "corpora" / "enwiki70m.txt.xz" if folder else None
    if packed is None or not packed.is_file():
        pytest.skip("the corpus enwiki70m is not here")
    with lzma.open(packed) as source:
        target.write_bytes(source.read(size).rpartition(b"\n")[0])
    return target
