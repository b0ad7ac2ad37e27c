"""A matrix with a row per word, its vocabulary and what belongs to it: construction, look-up, arrays."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.lookup import find_rows, look_up
from firthian.vectors.provenance import Provenance
from firthian.vectors.rows import StoredRows, as_float32
from firthian.vectors.search import Search
from firthian.vectors.subwords import Subwords


class WordMatrix(StoredRows):
    """The part of ``Vectors`` that everything else builds on: arrays, words, and the vectors of words."""

    def __init__(
        self,
        matrix: Any,
        vocabulary: Vocabulary,
        *,
        contexts: Any = None,
        extras: dict[str, Array] | None = None,
        provenance: Provenance | None = None,
        state: Mapping[str, Any] | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        matrix = as_float32(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != len(vocabulary):
            raise FirthianError(f"shape {matrix.shape} for {len(vocabulary)} words", hint="pass one row per word")
        self.matrix = matrix
        self.vocabulary = vocabulary
        self.contexts = None if contexts is None else as_float32(contexts)
        self.extras = dict(extras or {})
        self.provenance = provenance or Provenance()
        self.state: dict[str, Any] = dict(state or {})
        self.subwords = subwords
        #: Seconds and memory of training, in the process that trained; never saved.
        self.measured: dict[str, Any] = {}
        #: Unknown words that were looked up, and those whose vector was composed, with how often; never saved.
        self.missed: Counter[str] = Counter()
        self.composed: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        recipe = f", {self.provenance.recipe}" if self.provenance.recipe else ""
        sparse = ", sparse" if hasattr(self.stored, "tocsr") else ""
        return f"<Vectors: {len(self):,} words × {self.vector_size:,} dimensions{sparse}{recipe}>"

    def __getstate__(self) -> dict[str, Any]:
        # The searcher has threads, which cannot be copied or pickled; it is built again on demand, as are decoded rows.
        return {name: value for name, value in self.__dict__.items() if name not in ("searcher", "_decoded")}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy all but the words and arrays, which are large and never changed here (scikit-learn clones estimators)."""
        kept = {id(part): part for part in (self.stored, self.vocabulary, self.contexts, self.subwords)}
        kept |= {id(part): part for part in self.extras.values()}
        copied = type(self).__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__getstate__(), {**kept, **memo}))
        return copied

    def __getitem__(self, words: str | Sequence[str]) -> Array:
        rows = look_up(self, words, "compose").vectors
        return rows.reshape(-1) if isinstance(words, str) else rows

    @property
    def vector_size(self) -> int:
        """The number of dimensions."""
        return int(self.stored.shape[1])

    @cached_property
    def searcher(self) -> Search:
        """The search over all rows, built on first use."""
        return Search(self.stored, self.vocabulary.words)

    @property
    def learned(self) -> Any:
        """The matrix as the recipe learned it: without the share of the n-grams that ``subwords`` added."""
        if self.subwords is None or not self.subwords.blend:
            return self.matrix
        return self.matrix - self.subwords.blended(self.vocabulary.words, self.vocabulary.counts)

    def numbers(self, words: Iterable[str], missing: str = "error") -> list[int]:
        """Return the row of each word; an unknown one raises, is left out (``skip``) or is -1 (``zero``)."""
        return find_rows(self, words, missing)[1]
