"""The block-diagonal schedule: stochastic steps in parallel, with the same result for any number of workers.

Words and contexts are divided into a fixed number of parts, number n in part n mod 16. A step on the pair (i, j)
changes only word i and context j, so the cells (part of i, part of j) = (p, p + shift) of one round share no parameters
and can run in parallel, in any order. Sixteen rounds, one for each shift, visit all cells. Nothing is averaged,
no gradient is stale, and a cell's parameters fit the cache of one core.
(Gemulla, Nijkamp, Haas and Sismanis 2011 use the same stratification across machines.) Here the steps stay in one process,
even on a cluster: all parameters would have to be sent sixteen times for a few steps on each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from firthian.arrays import Array
from firthian.learn.solver import Solution
from firthian.runtime.run import Run
from firthian.vectors.transform import combine

Result = TypeVar("Result")

#: Parts of the words and of the contexts, a power of two; also the maximum number of busy workers.
PARTS = 16

#: Rows of parameters are padded to a multiple of this, 64 bytes, so that vector instructions leave no remainder.
LANES = 16


def over_cells(run: Run, task: Callable[[int, int], Result], shifts: Iterable[int]) -> list[Result]:
    """Call ``task(p, q)`` for every cell of the rounds in ``shifts``; return the results in the order of the schedule."""
    results: list[Result] = []
    for shift in shifts:
        cells = [(part, (part + shift) % PARTS) for part in range(PARTS)]
        results += run.threads.map(lambda cell: task(*cell), cells)
    return results


def padded(dimension: int) -> int:
    """Return the padded length of a row of parameters; the padding is zero and stays zero.

    >>> padded(100), padded(128)
    (112, 128)
    """
    return -(-dimension // LANES) * LANES


def small_start(generator: np.random.Generator, rows: int, dimension: int) -> Array:
    """Draw from uniform(-0.5, 0.5) / dimension, as word2vec and GloVe do, in padded rows."""
    start = np.zeros((rows, padded(dimension)), dtype=np.float32)
    start[:, :dimension] = (generator.random((rows, dimension), dtype=np.float32) - np.float32(0.5)) / dimension
    return start


def unpadded(
    words: Array,
    contexts: Array,
    dimension: int,
    mode: str,
    objective: list[float],
    stats: dict[str, Any],
    **extras: Array,
) -> Solution:
    """Return parameters without their padding as a solution that stopped after all epochs, combined by ``mode``."""
    words, contexts = words[:, :dimension], contexts[:, :dimension]
    combined = np.ascontiguousarray(combine(words, contexts, mode))
    return Solution(combined, np.ascontiguousarray(contexts), objective, "stopped", stats, extras)
