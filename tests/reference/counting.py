"""Counting, slowly and obviously: lists of tokens -> a Counter of pairs, from the semantics of docs/counting.md.

Nothing here is shared with the fast code but the definition: exact fractions instead of scaled integers, a double loop over
positions instead of an inverted index, Python integers instead of 64-bit words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

Documents = Sequence[Sequence[str]]

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def weight(weighting: str, window: int, distance: int) -> Fraction:
    """What a word at this distance counts."""
    if weighting == "flat":
        return Fraction(1)
    if weighting == "harmonic":
        exact = Fraction(1, distance)
        # Past a window of 22 there is no small common unit: weights are rounded to 2^-32.
        return exact if window <= 22 else Fraction(round(2**32 * exact), 2**32)
    return Fraction(window + 1 - distance, window)


def vocabulary(
    documents: Documents,
    min_count: int = 1,
    max_vocab: int | None = None,
    only: Iterable[str] | None = None,
    stop_words: Iterable[str] = (),
) -> dict[str, int]:
    """The words that are kept and how often each occurs, the most frequent first, ties by the word."""
    seen = Counter(token for document in documents for token in document)
    wanted = seen.keys() if only is None else set(only)
    kept = [(-n, word) for word, n in seen.items() if n >= min_count and word in wanted and word not in set(stop_words)]
    return {word: -n for n, word in sorted(kept)[:max_vocab]}


def splitmix64(value: int) -> int:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def random_number(seed: int, document: int, position: int) -> float:
    """The number from 0 to 1 that belongs to a place in the corpus."""
    bits = splitmix64((seed + _GOLDEN) & _MASK)
    bits = splitmix64(bits ^ ((document + _GOLDEN) & _MASK))
    return splitmix64(bits ^ ((position * _GOLDEN) & _MASK)) / 2**64


def keep_probability(count: int, total: int, sample: float) -> float:
    """min(1, sqrt(t/f) + t/f); 1 when sub-sampling is off."""
    if sample == 0:
        return 1.0
    ratio = sample / (count / total)
    return min(1.0, math.sqrt(ratio) + ratio)


def count(
    documents: Documents,
    words: dict[str, int],
    window: int = 5,
    weighting: str = "dynamic",
    context: str = "both",
    keep_positions: bool = False,
    sample: float = 0.0,
    sample_mode: str = "drop",
    seed: int = 1,
) -> Counter[tuple[str, str]]:
    """X[word, context word] as exact fractions (floats where expectations multiply them)."""
    total = sum(words.values())
    keep = {word: keep_probability(n, total, sample) for word, n in words.items()}
    pairs: Counter[tuple[str, str]] = Counter()
    for number, document in enumerate(documents):
        line: list[str | None] = []
        for position, token in enumerate(document):
            if token not in words:
                if keep_positions:
                    line.append(None)
            elif sample_mode == "expected" or random_number(seed, number, position) <= keep[token]:
                line.append(token)
        for i, word in enumerate(line):
            for j, other in enumerate(line):
                distance = abs(i - j)
                before, after = j < i, j > i
                wanted = {"left": before, "right": after, "both": before or after}[context]
                if word is not None and other is not None and wanted and distance <= window:
                    pairs[word, other] += weight(weighting, window, distance)
    if sample_mode == "expected":
        return Counter({(a, b): float(value) * keep[a] * keep[b] for (a, b), value in pairs.items()})
    return pairs


def join_phrases(
    documents: Documents, score: str = "npmi", threshold: float = 0.5, min_count: int = 5
) -> list[list[str]]:
    """Join adjacent words that are a phrase, greedily from the left."""
    n = Counter(token for document in documents for token in document)
    tokens = sum(n.values())
    together = Counter(pair for document in documents for pair in pairwise(document))

    def is_phrase(a: str, b: str) -> bool:
        if min(n[a], n[b], together[a, b]) < min_count:
            return False
        if score == "word2vec":
            return (together[a, b] - min_count) * tokens / (n[a] * n[b]) >= threshold
        joint = together[a, b] / tokens
        if joint >= 1:
            return True
        return math.log(together[a, b] * tokens / (n[a] * n[b])) / -math.log(joint) >= threshold

    joined: list[list[str]] = []
    for document in documents:
        rest, line = list(document), []
        while rest:
            if len(rest) > 1 and is_phrase(rest[0], rest[1]):
                line.append(f"{rest.pop(0)}_{rest.pop(0)}")
            else:
                line.append(rest.pop(0))
        joined.append(line)
    return joined
