"""Skip-gram and CBOW with negative sampling, slowly: plain integers for the random numbers, double precision for the steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

GOLDEN, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def mix(value: int) -> int:
    """The finalizer of splitmix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def counter_random(seed: int, epoch: int, position: int) -> int:
    """The 64 bits of a place."""
    return mix(mix(mix((seed + GOLDEN) & MASK) ^ ((epoch + GOLDEN) & MASK)) ^ (position * GOLDEN & MASK))


def probabilities(bounds: Array, aliases: Array) -> Array:
    """The distribution an alias table stands for."""
    kept = bounds.astype(np.float64) / 2**32
    result = kept.copy()
    for slot, alias in enumerate(aliases):
        result[alias] += 1 - kept[slot]
    return result / len(bounds)


def noise(bits: int, bounds: Array, aliases: Array) -> int:
    """A draw from an alias table: low half for the slot, high half for the choice."""
    slot = (bits & 0xFFFFFFFF) * len(bounds) >> 32
    return slot if bits >> 32 < int(bounds[slot]) else int(aliases[slot])


def windows(
    stream: list[int],
    first: int,
    last: int,
    position: int,
    seed: int,
    epoch: int,
    reaches: Array,
    before: bool,
    after: bool,
) -> Iterator[tuple[int, list[int], int]]:
    """Each word of ``stream[first:last]`` with its neighbors, those before first, nearest first; and its random bits."""
    for t in range(first, last):
        if stream[t] < 0:
            continue
        bits = counter_random(seed, epoch, position + t - first)
        reach = next((d for d, bound in enumerate(reaches) if bits > int(bound)), len(reaches))
        near: list[int] = []
        for wanted, side in ((before, stream[max(0, t - reach) : t][::-1]), (after, stream[t + 1 : t + 1 + reach])):
            if wanted:
                inside = side[: side.index(-1)] if -1 in side else side
                near += [word for word in inside if word >= 0]
        yield stream[t], near, bits


def samples(stream: list[int], *where: Any, bounds: Array, aliases: Array, negative: int) -> list[tuple[int, int]]:
    """All samples in order; noise is written as ~context."""
    drawn = []
    for word, near, start in windows(stream, *where):
        bits = start
        for context in near:
            drawn.append((word, context))
            for _ in range(negative):
                bits = (bits + GOLDEN) & MASK
                other = noise(mix(bits), bounds, aliases)
                if other != context:
                    drawn.append((word, ~other))
    return drawn


def loss(u: Array, c: Array, label: int) -> float:
    """-log sigma(u·c) of a seen pair, -log sigma(-u·c) of noise."""
    return float(np.logaddexp(0, -(u @ c) if label else u @ c))


def step(u: Array, c: Array, label: int, alpha: float) -> tuple[Array, Array]:
    """Minus alpha times the gradient of the loss, for u and for c."""
    error = alpha * (label - 1 / (1 + np.exp(-(u @ c))))
    return error * c, error * u


def skip_gram(drawn: list[tuple[int, int]], words: Array, contexts: Array, alpha: float) -> float:
    """Steps on samples in order."""
    total = 0.0
    for word, coded in drawn:
        label, context = int(coded >= 0), max(coded, ~coded)
        total += loss(words[word], contexts[context], label)
        for_u, for_c = step(words[word], contexts[context], label, alpha)
        words[word] += for_u
        contexts[context] += for_c
    return total


def cbow(
    stream: list[int],
    *where: Any,
    bounds: Array,
    aliases: Array,
    negative: int,
    words: Array,
    contexts: Array,
    alpha: float,
) -> tuple[float, int]:
    """Steps on positions in order; every neighbor gets all that the mean gets."""
    total, positions = 0.0, 0
    for word, near, start in windows(stream, *where):
        if not near:
            continue
        positions += 1
        bits = start
        targets = [(word, 1)]
        for _ in range(negative):
            bits = (bits + GOLDEN) & MASK
            other = noise(mix(bits), bounds, aliases)
            if other != word:
                targets.append((other, 0))
        mean = words[near].mean(axis=0)
        error = np.zeros_like(mean)
        for target, label in targets:
            total += loss(mean, contexts[target], label)
            for_mean, for_context = step(mean, contexts[target], label, alpha)
            error += for_mean
            contexts[target] += for_context
        for neighbor in near:
            words[neighbor] += error
    return total, positions
