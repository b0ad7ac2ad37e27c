"""Brown clusters (Brown et al. 1992), and their bit strings as features of words (Turian et al. 2010)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.solver import Solution
from firthian.learn.spectral.association import two_sides
from firthian.options import Option
from firthian.runtime.run import Run

#: Words clustered between two progress reports.
WORDS_AT_ONCE = 256


class Brown:
    """A tree of word classes from counts of neighboring words.

    The most frequent words start as classes of their own. Each further word adds a class, and then the two classes
    whose merger loses the least mutual information between neighboring classes are merged. Finally the classes
    are merged into one binary tree. A word's bit string is the path from the root to its class; its vector
    has a 1 for each of its prefixes of the lengths ``prefixes``, so similarity grows with the length of the common
    path. The paper counts neighbors at distance 1; wider directional windows work too.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        classes: Annotated[int, Option("number of classes", low=1)] = 256,
        prefixes: Annotated[str, Option("prefix lengths that become features")] = "4,6,10,20",
    ) -> None:
        self.counts, self.run = counts, run
        self.classes = min(classes, len(counts.vocabulary))
        self.prefixes = read_prefixes(prefixes)

    def clusters(self) -> tuple[Array, list[str]]:
        """Return the class of each word and the bit string of each class."""
        from firthian.kernels.brown import build_tree, cluster_words

        # Row: the word before; column: the word after.
        _, forward = two_sides(self.counts)
        backward = forward.T.tocsr()
        words, slots = forward.shape[0], self.classes + 1
        word_totals = np.stack([matrix.astype(np.float64) @ np.ones(words) for matrix in (forward, backward)])
        table, entropic, cost, corners = np.zeros((4, slots, slots))
        totals, joint = np.zeros((2, slots)), np.zeros((2, slots, slots))
        state = (table, entropic, totals, np.zeros(slots, dtype=np.bool_), cost, corners, joint)
        class_of = np.full(words, -1, dtype=np.int64)
        rows = (_arrays(forward), _arrays(backward), word_totals)
        self.run.progress.start("clustering words", words)
        stage = self.run.stage("clusters")
        changing: dict[str, Array] = {f"state{number}": array for number, array in enumerate((class_of, *state))}
        done = stage.resume(changing).step
        self.run.progress.advance(done)
        for first in range(done, words, WORDS_AT_ONCE):
            last = min(first + WORDS_AT_ONCE, words)
            cluster_words(*rows, first, last, class_of, state)
            self.run.progress.advance(last - first)
            stage.save(last, changing)
        merges = np.empty((self.classes - 1, 2), dtype=np.int64)
        build_tree(state, merges)
        # The kernel's slots have a gap; number the classes by their first word.
        used, place = np.unique(class_of, return_index=True)
        used = used[np.argsort(place, kind="stable")]
        number = np.empty(slots, dtype=np.int64)
        number[used] = np.arange(used.size)
        bits = bit_strings(merges, slots)
        return number[class_of], [bits[slot] for slot in used]

    def features(self) -> tuple[Any, Array, list[str]]:
        """Return a SciPy CSR array with a column per prefix, the class of each word, and the bit string of each class."""
        import scipy.sparse

        classes, bits = self.clusters()
        columns: dict[tuple[int, str], int] = {}
        rows = [
            [columns.setdefault((length, path[:length]), len(columns)) for length in self.prefixes] for path in bits
        ]
        table = np.sort(np.asarray(rows, dtype=np.int32), axis=1)
        width = len(self.prefixes)
        indices = table[classes].ravel()
        indptr = np.arange(0, indices.size + 1, width)
        values = np.ones(indices.size, dtype=np.float32)
        matrix = scipy.sparse.csr_array((values, indices, indptr), shape=(classes.size, len(columns)))
        return matrix, classes, bits


def bit_strings(merges: Array, slots: int) -> list[str]:
    """Return each slot's path from the root: the last merge sets the first bit, 0 for the class that kept its number.

    >>> bit_strings(np.array([[0, 2], [1, 0]]), 3)
    ['10', '0', '11']
    """
    members = [[slot] for slot in range(slots)]
    paths = [""] * slots
    for kept, gone in merges:
        for bit, which in (("0", kept), ("1", gone)):
            for slot in members[which]:
                paths[slot] = bit + paths[slot]
        members[kept] = members[kept] + members[gone]
    return paths


def read_prefixes(text: str) -> list[int]:
    """Parse lengths such as ``4,6,10,20``."""
    try:
        lengths = sorted({int(part) for part in str(text).split(",")})
    except ValueError:
        lengths = [0]
    if lengths[0] < 1:
        raise FirthianError(
            f"`prefixes` must be lengths of at least 1, got {text!r}", hint="use a list such as 4,6,10,20"
        )
    return lengths


def _arrays(matrix: Any) -> tuple[Array, Array, Array]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)


class Clusters:
    """Takes a model's one-hot features as vectors, with the class of each word beside them as ``classes``."""

    def solve(self, model: Brown, dimension: int, run: Run) -> Solution:
        """Cluster, and return the features."""
        matrix, classes, bits = model.features()
        extras = {"classes": np.asarray(classes, dtype=np.int32)}
        return Solution(matrix, stats={"classes": len(bits), "bit_strings": bits}, extras=extras)
