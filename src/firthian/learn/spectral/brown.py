"""Brown clusters (Brown et al. 1992), and their bit strings as features of words (Turian et al. 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.weighting import two_sides
from firthian.runtime.run import Run

#: Words clustered between two reports of progress.
WORDS_AT_ONCE = 256


class Brown:
    """A tree of word classes from counts of neighboring words.

    The most frequent words begin as classes of their own; each further word becomes one more class, and the two classes
    are merged whose merging costs the least mutual information between neighboring classes. In the end the classes
    themselves are merged to one binary tree. A word's bit string is the way from the root to its class; its vector
    has a 1 for each of its prefixes of the lengths ``prefixes``, so two words are as similar as their ways are long in
    common. The paper counts neighbors at distance 1; wider directional windows work too.
    """

    def __init__(self, counts: Counts, run: Run, classes: int = 256, prefixes: str = "4,6,10,20") -> None:
        self.counts, self.run = counts, run
        self.classes = min(classes, len(counts.vocabulary))
        self.prefixes = read_prefixes(prefixes)

    def clusters(self) -> tuple[Array, list[str]]:
        """Return the class of each word and the bit string of each class."""
        from firthian.kernels.brown import build_tree, take_in

        # Row: the word before; column: the word after.
        _, forward = two_sides(self.counts, "brown")
        backward = forward.T.tocsr()
        words, slots = forward.shape[0], self.classes + 1
        word_totals = np.stack([matrix.astype(np.float64) @ np.ones(words) for matrix in (forward, backward)])
        table, entropic, cost, corners = np.zeros((4, slots, slots))
        totals, joint = np.zeros((2, slots)), np.zeros((2, slots, slots))
        state = (table, entropic, totals, np.zeros(slots, dtype=np.bool_), cost, corners, joint)
        class_of = np.full(words, -1, dtype=np.int64)
        rows = (*_arrays(forward), *_arrays(backward), word_totals)
        self.run.progress.start("clustering words", words)
        stage = self.run.stage("clusters")
        changing: dict[str, Array] = {f"state{number}": array for number, array in enumerate((class_of, *state))}
        saved = stage.restore()
        done = 0
        if saved is not None:
            done = saved.step
            for name, array in changing.items():
                array[...] = saved.arrays[name]
            self.run.progress.advance(done)
        for first in range(done, words, WORDS_AT_ONCE):
            last = min(first + WORDS_AT_ONCE, words)
            take_in(*rows, first, last, class_of, *state)
            self.run.progress.advance(last - first)
            stage.save(last, changing)
        merges = np.empty((self.classes - 1, 2), dtype=np.int64)
        build_tree(*state, merges)
        # The kernel's slots have a gap; number the classes by their first word.
        taken, place = np.unique(class_of, return_index=True)
        taken = taken[np.argsort(place, kind="stable")]
        number = np.empty(slots, dtype=np.int64)
        number[taken] = np.arange(taken.size)
        bits = bit_strings(merges, slots)
        return number[class_of], [bits[slot] for slot in taken]

    def features(self) -> tuple[Any, Array, list[str]]:
        """Return a SciPy CSR array with a column for each prefix, the class of each word, and each class's bit string."""
        import scipy.sparse

        classes, bits = self.clusters()
        columns: dict[tuple[int, str], int] = {}
        rows = [[columns.setdefault((length, way[:length]), len(columns)) for length in self.prefixes] for way in bits]
        table = np.sort(np.asarray(rows, dtype=np.int32), axis=1)
        width = len(self.prefixes)
        indices = table[classes].ravel()
        indptr = np.arange(0, indices.size + 1, width)
        values = np.ones(indices.size, dtype=np.float32)
        matrix = scipy.sparse.csr_array((values, indices, indptr), shape=(classes.size, len(columns)))
        return matrix, classes, bits


def bit_strings(merges: Array, slots: int) -> list[str]:
    """Return each slot's way from the root: the last merge decides the first bit, 0 for the class that kept its number.

    >>> bit_strings(np.array([[0, 2], [1, 0]]), 3)
    ['10', '0', '11']
    """
    members = [[slot] for slot in range(slots)]
    ways = [""] * slots
    for kept, gone in merges:
        for bit, which in (("0", kept), ("1", gone)):
            for slot in members[which]:
                ways[slot] = bit + ways[slot]
        members[kept] = members[kept] + members[gone]
    return ways


def read_prefixes(text: str) -> list[int]:
    """Read lengths such as ``4,6,10,20``."""
    try:
        lengths = sorted({int(part) for part in str(text).split(",")})
    except ValueError:
        lengths = [0]
    if lengths[0] < 1:
        raise FirthianError(f"prefixes must be lengths of at least 1, got {text!r}", hint="write them as 4,6,10,20")
    return lengths


def _arrays(matrix: Any) -> tuple[Array, Array, Array]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
