"""Subwords: vectors of character n-grams, from which the vector of any word is composed.

A word is written ``<word>``; its n-grams are all runs of ``low`` to ``high`` characters, repeated ones included, except the
marks alone. An n-gram is known by its bucket: fastText's 32-bit FNV-1a hash of its UTF-8 bytes, modulo ``buckets``. The
table is sparse: ``ids`` are the buckets that have a vector, sorted, and ``rows`` their vectors; all other buckets are zeros.

    composed(word) = scale · (sum of the rows of its n-grams) / n ** power,    n = number of its n-grams, known or not

``power`` is 0.5 for tables that we fit and 1.0 (the mean) for those of fastText, so both formats are exact:

* reading a fastText model: ``Subwords(ids, rows, low=minn, high=maxn, buckets=bucket, power=1.0)``;
* writing one: bucket b has ``row(b)``; a known word has the input row that makes the mean of it and its n-grams its vector;
  an unknown one then has our direction, and our length times ``n ** (power - 1)``.

``blend`` and ``fade`` say how much of the composed vector is in the vectors of known words: matrix = learned + a · composed,
a = blend · √(fade / (count + fade)), or the blend itself without a fade. What needs the learned vectors again subtracts this
share (``Vectors.learned``). Tables from elsewhere have a blend of 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.runtime.run import Run

#: fastText's number of buckets.
BUCKETS = 2_000_000

#: Longest n-gram; a file could ask for any.
_LONGEST = 100

#: Words that are composed together.
_BATCH = 8192

#: Characters of one word; longer ones are composed of their first characters.
_MOST_CHARACTERS = 10_000


@dataclass(frozen=True, eq=False)
class Subwords:
    """A table of n-gram vectors.

    >>> table = Subwords(np.array([1, 5], np.uint32), np.eye(2, dtype=np.float32), low=3, high=3, buckets=8)
    >>> table.split("tea")
    ['<te', 'tea', 'ea>']
    >>> table.compose(["tea"]).shape
    (1, 2)
    """

    ids: Array
    #: float32 or codes, or float16 times ``scale``.
    rows: Any
    low: int = 3
    high: int = 6
    buckets: int = BUCKETS
    power: float = 0.5
    scale: float = 1.0
    blend: float = 0.0
    fade: float = 0.0
    #: Variance of the difference between learned and composed vectors, by dimension, measured on hidden words.
    variance: Array | None = None

    def __post_init__(self) -> None:
        numbers = (self.power, self.scale, self.blend, self.fade)
        whole = (self.low, self.high, self.buckets)
        if (
            not all(type(value) is int for value in whole)
            or not all(isinstance(value, int | float) and math.isfinite(value) for value in numbers)
            or not 1 <= self.low <= self.high <= _LONGEST
            or self.fade < 0
            or not 1 <= self.buckets <= 2**32
            or self.ids.dtype != np.uint32
            or self.rows.dtype not in (np.float16, np.float32)
            or self.rows.ndim != 2
            or self.ids.shape != self.rows.shape[:1]
            or (self.variance is not None and self.variance.shape != self.rows.shape[1:])
            or (self.ids.size and (int(self.ids[-1]) >= self.buckets or not (self.ids[1:] > self.ids[:-1]).all()))
        ):
            raise ValueError("the parts of a table of n-grams do not fit each other")

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def nbytes(self) -> int:
        """The size of the table."""
        return int(self.ids.nbytes + self.rows.nbytes)

    def split(self, word: str) -> list[str]:
        """Return the n-grams of a word, by first character, then by length."""
        text = f"<{word[:_MOST_CHARACTERS]}>"
        return [
            text[first : first + n]
            for first in range(len(text))
            for n in range(self.low, min(self.high, len(text) - first) + 1)
            if n > 1 or 0 < first < len(text) - 1
        ]

    def hashed(self, words: Sequence[str]) -> tuple[Array, Array]:
        """Return the buckets of the n-grams of all words, and where those of each word begin."""
        from firthian.kernels.subwords import count_ngrams, hash_ngrams

        # Half a surrogate pair is not text, but a string may hold it.
        coded = [f"<{word[:_MOST_CHARACTERS]}>".encode("utf-8", "surrogatepass") for word in words]
        pool = np.frombuffer(b"".join(coded), np.uint8)
        starts, indptr = np.zeros(len(coded) + 1, np.int64), np.zeros(len(coded) + 1, np.int64)
        np.cumsum([len(item) for item in coded], out=starts[1:])
        count_ngrams(pool, starts, self.low, self.high, indptr[1:])
        np.cumsum(indptr, out=indptr)
        buckets = np.empty(indptr[-1], np.uint32)
        hash_ngrams(pool, starts, self.low, self.high, self.buckets, indptr, buckets)
        return buckets, indptr

    def places(self, buckets: Array) -> Array:
        """Return the row of each bucket, -1 for those without one."""
        if not len(self):
            return np.full(buckets.size, -1, np.int64)
        found = np.minimum(np.searchsorted(self.ids, buckets), len(self) - 1)
        return np.where(self.ids[found] == buckets, found, -1)

    def compose(self, words: Sequence[str]) -> Array:
        """Return the composed vectors of words; zeros for a word none of whose n-grams is known."""
        from firthian.kernels.subwords import compose

        out = np.zeros((len(words), self.rows.shape[1]), np.float32)
        for first in range(0, len(words), _BATCH):
            buckets, indptr = self.hashed(words[first : first + _BATCH])
            places = self.places(buckets)
            used, local = np.unique(places, return_inverse=True)
            unknown = int(used.size > 0 and used[0] < 0)
            table = self.rows[used[unknown:]].astype(np.float32)
            scales = self.scale / np.maximum(np.diff(indptr), 1) ** self.power
            compose(indptr, local - unknown, table, scales.astype(np.float32), out[first : first + _BATCH])
        return out

    def blended(self, words: Sequence[str], counts: Array) -> Array:
        """Return the share of the n-grams in the vectors of known words."""
        fading = np.sqrt(self.fade / (counts + self.fade)) if self.fade else np.ones(len(words))
        return (self.blend * fading).astype(np.float32)[:, np.newaxis] * self.compose(words)

    def parts(self, word: str) -> list[tuple[str, float]]:
        """Return the known n-grams of a word with their shares in its vector, largest first; the shares sum to 1.

        The share of an n-gram is the projection of its vector on the composed one, relative to that one's length.
        """
        buckets, _ = self.hashed([word])
        places = self.places(buckets)
        known = np.flatnonzero(places >= 0)
        rows = self.rows[places[known]].astype(np.float64)
        total = rows.sum(axis=0)
        shares = rows @ total / max(float(total @ total), 1e-300)
        ngrams = self.split(word)
        added: dict[str, float] = {}
        for place, share in zip(known.tolist(), shares.tolist(), strict=True):
            added[ngrams[place]] = added.get(ngrams[place], 0.0) + share
        return sorted(added.items(), key=lambda item: (-item[1], item[0]))

    def rotated(self, rotation: Array) -> Subwords:
        """Return the table for vectors that are multiplied by a matrix from the right."""
        rows = (np.asarray(self.rows, np.float32) * np.float32(self.scale)) @ rotation
        return replace(self, rows=rows.astype(np.float32), scale=1.0, variance=None)

    def record(self) -> dict[str, Any]:
        """Return the scalars, as JSON values."""
        return {name: getattr(self, name) for name in _SCALARS}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name."""
        named = {"ids": self.ids, "rows": self.rows, "variance": self.variance}
        return {name: array for name, array in named.items() if array is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], arrays: Mapping[str, Array], dimension: int) -> Subwords:
        """Check and take what a file holds; raise ValueError if it cannot be a table for vectors of that dimension."""
        record = {"fade": 0.0, **record}
        if set(record) != set(_SCALARS) or not {"ids", "rows"} <= set(arrays) <= {"ids", "rows", "variance"}:
            raise ValueError("these are not the parts of a table of n-grams")
        table = cls(arrays["ids"], arrays["rows"], variance=arrays.get("variance"), **record)
        if table.rows.shape[1] != dimension:
            raise ValueError("a table of n-grams has other dimensions than the vectors")
        return table


_SCALARS = ("low", "high", "buckets", "power", "scale", "blend", "fade")


def fit_rows(
    incidence: tuple[Array, Array, Array],
    weights: Array,
    targets: Array,
    size: int,
    ridge: float | Array,
    steps: int,
    run: Run,
) -> Array:
    """Return ``size`` rows G that minimize Σ weight·|target - scale·(sum of the rows of its places)|² + Σ ridge·|row|².

    ``incidence`` is where the places of each word begin, the places, and the scale of each word. Conjugate gradients, for
    each column, preconditioned by the diagonal of the normal equations: frequent places weigh the most there. A block of
    columns is one task.
    """
    from firthian.kernels.subwords import COLUMNS, add_multiples, arrange, column_products, sum_rows

    indptr, places, scales = incidence
    out = np.zeros((size, targets.shape[1]), np.float32)
    order = _by_first_ngrams(indptr, places)
    starts, ngrams = np.empty_like(indptr), np.empty(places.size, np.int32)
    word_starts, words = np.zeros(size + 1, np.int64), np.empty(places.size, np.int32)
    numbers = arrange(order, indptr, places, (starts, ngrams), (word_starts, words))
    once, twice = (weights * scales)[order], (weights * scales**2)[order]
    none, ones = np.empty(0, np.float32), np.ones(size, np.float32)
    ridges = np.empty(size, np.float32)
    ridges[numbers] = ridge
    diagonal = np.bincount(ngrams, np.repeat(twice, np.diff(starts)), minlength=size) + ridges
    inverse = (1 / diagonal).astype(np.float32)

    def block(first: int) -> None:
        columns = slice(first, min(first + COLUMNS, targets.shape[1]))
        sums = np.zeros((len(targets), COLUMNS), np.float32)
        sums[:, : columns.stop - first] = targets[order, columns] * once[:, np.newaxis]
        # the normal equations: residual = Sᵀ ω u, image = Sᵀ ω S direction + mu·direction
        residual, image = np.empty((size, COLUMNS), np.float32), np.empty((size, COLUMNS), np.float32)
        sum_rows(word_starts, words, none, sums, none, residual, residual)
        result, direction = np.zeros_like(residual), inverse[:, np.newaxis] * residual
        square = column_products(residual, residual, inverse)
        for _ in range(steps):
            sum_rows(starts, ngrams, twice, direction, none, sums, sums)
            sum_rows(word_starts, words, none, sums, ridges, direction, image)
            length = square / np.maximum(column_products(direction, image, ones), 1e-30)
            add_multiples(length.astype(np.float32), direction, ones, result, result)
            add_multiples(-length.astype(np.float32), image, ones, residual, residual)
            before, square = square, column_products(residual, residual, inverse)
            ratio = square / np.maximum(before, 1e-30)
            add_multiples(ratio.astype(np.float32), direction, inverse, residual, direction)
        out[:, columns] = result[numbers, : columns.stop - first]

    for _ in run.threads.map(block, range(0, targets.shape[1], COLUMNS)):
        pass
    return out


def _by_first_ngrams(indptr: Array, places: Array) -> Array:
    """Return an order of the words in which those that begin alike are neighbors."""
    number = np.diff(indptr)
    keys = [np.append(places, -1)[np.where(number > k, indptr[:-1] + k, places.size)] for k in range(3)]
    return np.lexsort(keys[::-1])
