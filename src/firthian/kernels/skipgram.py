"""Skip-gram and CBOW with negative sampling on a stream of ids: drawing samples, and gradient steps on them.

A sample is a pair (word, context) with a label. In arrays a context j with label 1 is written j, with label 0 as ~j.
Random numbers are keyed by (seed, epoch, position in the epoch), so they do not depend on how the stream is split.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.prefetch import fetch_row
from firthian.kernels.selection import counter_random, mix
from firthian.kernels.windows import DOCUMENT_END

#: Samples that parameters are prefetched ahead; without this, much of the time is spent waiting for memory.
AHEAD = 4

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

#: Larger logits have probability 1 in single precision.
LARGEST_LOGIT = np.float32(30)

#: Probabilities multiplied before taking a logarithm: e^-30 to this power is still a normal double.
_FACTORS = 16


#: How windows and noise are drawn: ``(reaches, before, after, bounds, aliases, negative)``; the window reaches distance d
#: with the probability that ``reaches[d - 1]`` bounds, to the left if ``before`` and to the right if ``after``.
Drawing = tuple[Array, bool, bool, Array, Array, int]

#: The tokens ``stream[first:last]`` of an epoch: ``(stream, first, last, position of the first in the epoch, seed, epoch)``.
Span = tuple[Array, int, int, int, np.uint64, np.uint64]


@njit(cache=True, nogil=True)
def alias_table(weights: Array, bounds: Array, aliases: Array) -> None:
    """Build a table for drawing from a distribution in constant time (Walker's alias method, in Vose's form).

    Slot s yields its own number with probability ``bounds[s] / 2^32`` and otherwise ``aliases[s]``.
    """
    size = weights.size
    share = weights * (size / weights.sum())
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls = larges = 0
    for slot in range(size):
        bounds[slot] = 2**32
        aliases[slot] = slot
        if share[slot] < 1:
            small[smalls] = slot
            smalls += 1
        else:
            large[larges] = slot
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        bounds[poor] = np.uint64(share[poor] * 4294967296.0)
        aliases[poor] = rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            larges -= 1
            small[smalls] = rich
            smalls += 1


@njit(cache=True, nogil=True, inline="always")
def _noise(bits: np.uint64, bounds: Array, aliases: Array) -> int:
    slot = ((bits & _LOW) * np.uint64(bounds.size)) >> _HALF
    return np.int64(slot) if (bits >> _HALF) < bounds[slot] else np.int64(aliases[slot])


@njit(cache=True, nogil=True, inline="always")
def _reach(bits: np.uint64, reaches: Array) -> int:
    """Draw how far the window reaches."""
    distance = 0
    while distance < reaches.size and bits <= reaches[distance]:
        distance += 1
    return distance


@njit(cache=True, nogil=True, inline="always")
def _neighbors(stream: Array, t: int, reach: int, before: bool, after: bool, near: Array) -> int:
    """Write the words within reach of position t to ``near``, nearest first, left before right; return their number."""
    count = 0
    for side in range(2):
        if not (before if side == 0 else after):
            continue
        for distance in range(1, reach + 1):
            s = t - distance if side == 0 else t + distance
            if s < 0 or s >= stream.size or stream[s] == DOCUMENT_END:
                break
            if stream[s] >= 0:
                near[count] = stream[s]
                count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _likelihood(logit: np.float32, label: bool) -> np.float32:
    """Return sigma(logit) of an observed pair, sigma(-logit) of noise."""
    signed = logit if label else -logit
    signed = min(max(signed, -LARGEST_LOGIT), LARGEST_LOGIT)
    return np.float32(1) / (np.float32(1) + np.exp(-signed))


@njit(cache=True, nogil=True)
def draw_samples(span: Span, drawing: Drawing, parts: int, raw: Array, samples: Array, starts: Array) -> int:
    """Draw the samples of ``stream[first:last]``, sorted into cells; return the number of pairs.

    Each neighbor within reach is a pair, and brings ``negative`` noise samples; noise that equals the neighbor
    is dropped, as in word2vec. ``position`` is the position of ``stream[first]`` in the epoch. Cell (p, q) holds
    the words with number mod ``parts`` (a power of two) = p and the contexts with q; its samples start at
    ``starts[p * parts + q]``. ``raw`` is a buffer of the same size as ``samples``.
    """
    stream, first, last, position, seed, epoch = span
    reaches, before, after, bounds, aliases, negative = drawing
    mask = parts - 1
    near = np.empty(2 * reaches.size, np.int32)
    starts[:] = 0
    drawn = pairs = 0
    for t in range(first, last):
        word = stream[t]
        if word < 0:
            continue
        bits = counter_random(seed, epoch, np.uint64(position + t - first))
        reach = _reach(bits, reaches)
        row = (word & mask) * parts + 1
        for n in range(_neighbors(stream, t, reach, before, after, near)):
            context = near[n]
            raw[drawn, 0], raw[drawn, 1] = word, context
            starts[row + (context & mask)] += 1
            drawn += 1
            pairs += 1
            for _ in range(negative):
                bits += _GOLDEN
                other = _noise(mix(bits), bounds, aliases)
                if other == context:
                    continue
                raw[drawn, 0], raw[drawn, 1] = word, ~other
                starts[row + (other & mask)] += 1
                drawn += 1
    for cell in range(1, parts * parts + 1):
        starts[cell] += starts[cell - 1]
    fill = starts[:-1].copy()
    for n in range(drawn):
        word, context = raw[n, 0], raw[n, 1]
        other = context if context >= 0 else ~context
        cell = (word & mask) * parts + (other & mask)
        at = fill[cell]
        samples[at, 0], samples[at, 1] = word, context
        fill[cell] = at + 1
    return pairs


# Reassociation lets the compiler sum a dot product in SIMD lanes, always in the same order.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def logistic_steps(samples: Array, starts: Array, cell: int, words: Array, contexts: Array, alpha: np.float32) -> float:
    """Take a gradient step on each sample of a cell, block by block; return the sum of -log sigma(±u·c) before each step.

    ``draw_samples`` filled ``samples[block]`` and ``starts[block]``. With y the label, the step is
    alpha·(y - sigma(u·c)) times c for u and times u for c.
    """
    width = words.shape[1]
    flat_words, flat_contexts = words.reshape(-1), contexts.reshape(-1)
    loss = 0.0
    product = 1.0
    factors = 0
    for block in range(samples.shape[0]):
        end = starts[block, cell + 1]
        for n in range(starts[block, cell], end):
            soon = min(n + AHEAD, end - 1)
            coming = np.int64(samples[block, soon, 1])
            fetch_row(flat_words, np.int64(samples[block, soon, 0]), width)
            fetch_row(flat_contexts, coming if coming >= 0 else ~coming, width)
            context = samples[block, n, 1]
            label = context >= 0
            u, c = words[np.uint64(samples[block, n, 0])], contexts[np.uint64(context if label else ~context)]
            logit = np.float32(0)
            for k in range(width):
                logit += u[k] * c[k]
            chance = _likelihood(logit, label)
            step = alpha * (np.float32(1) - chance)
            if not label:
                step = -step
            for k in range(width):
                u_k, c_k = u[k], c[k]
                u[k] = u_k + step * c_k
                c[k] = c_k + step * u_k
            product *= chance
            factors += 1
            if factors == _FACTORS:
                loss -= np.log(product)
                product, factors = 1.0, 0
    return loss - np.log(product)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def cbow_steps(span: Span, drawing: Drawing, words: Array, contexts: Array, alpha: np.float32) -> tuple[float, int]:
    """Predict each word of ``stream[first:last]`` from the mean h of its neighbors' vectors u, position by position.

    The step of c is alpha·(y - sigma(h·c))·h. Each neighbor gets the full step of h, as in word2vec: the gradient
    times the number of neighbors. Return the sum of -log sigma(±h·c) before each step, and the number of positions.
    """
    stream, first, last, position, seed, epoch = span
    reaches, before, after, bounds, aliases, negative = drawing
    width = words.shape[1]
    near = np.empty(2 * reaches.size, np.int32)
    mean, error = np.empty(width, np.float32), np.empty(width, np.float32)
    loss = 0.0
    positions = 0
    for t in range(first, last):
        word = stream[t]
        if word < 0:
            continue
        bits = counter_random(seed, epoch, np.uint64(position + t - first))
        reach = _reach(bits, reaches)
        neighbors = _neighbors(stream, t, reach, before, after, near)
        if neighbors == 0:
            continue
        positions += 1
        mean[:] = 0
        error[:] = 0
        for n in range(neighbors):
            u = words[np.uint64(near[n])]
            for k in range(width):
                mean[k] += u[k]
        share = np.float32(1) / np.float32(neighbors)
        for k in range(width):
            mean[k] *= share
        for n in range(negative + 1):
            label = n == 0
            other = np.int64(word)
            if not label:
                bits += _GOLDEN
                other = _noise(mix(bits), bounds, aliases)
                if other == word:
                    continue
            c = contexts[np.uint64(other)]
            logit = np.float32(0)
            for k in range(width):
                logit += mean[k] * c[k]
            chance = _likelihood(logit, label)
            step = alpha * (np.float32(1) - chance)
            if not label:
                step = -step
            for k in range(width):
                c_k = c[k]
                error[k] += step * c_k
                c[k] = c_k + step * mean[k]
            loss -= np.log(np.float64(chance))
        for n in range(neighbors):
            u = words[np.uint64(near[n])]
            for k in range(width):
                u[k] += error[k]
    return loss, positions
