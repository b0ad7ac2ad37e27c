"""Gaussian posteriors of words and contexts, and the learned precision of each dimension.

Automatic relevance determination (ARD): alpha_k ~ Gamma(a0, b0) is the prior precision of dimension k of every context
vector. Its posterior is Gamma(a0 + V/2, b0 + 1/2 sum_j E[c_jk²]), for each k (the thesis prints one sum over all k; see
docs/derivations/bayes.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.kernels.packing import diagonal_places, pack, packed_size, triangle, unpack
from firthian.runtime.run import Run, one_blas_thread

#: Rows of posteriors per block.
BLOCK = 512

#: The arrays of each side that updates change.
PARTS = ("means", "moments", "covariances", "log_determinants")


@dataclass(frozen=True)
class Relevance:
    """The Gamma posteriors of all precisions: one shape, and a rate for each dimension.

    >>> Relevance.start(2, 1e-3, 1e-3).update(10, np.array([10.0, 1e-4])).mean.round(-1)
    array([   0., 4760.])
    """

    shape0: float
    rate0: float
    shape: float
    rates: Array

    @classmethod
    def start(cls, dimension: int, shape0: float, rate0: float) -> Relevance:
        """Start from mean precisions of 1."""
        return cls(shape0, rate0, 1.0, np.ones(dimension))

    @property
    def mean(self) -> Array:
        """E[alpha]."""
        return self.shape / self.rates

    @property
    def mean_log(self) -> Array:
        """E[log alpha]."""
        from scipy.special import digamma

        return np.asarray(digamma(self.shape) - np.log(self.rates))

    def update(self, rows: int, squares: Array) -> Relevance:
        """Return the posterior given ``rows`` vectors with ``squares[k]`` = sum_j E[c_jk²]."""
        return Relevance(self.shape0, self.rate0, self.shape0 + rows / 2, self.rate0 + squares / 2)

    def divergence(self) -> float:
        """KL(q(alpha) || p(alpha)), summed over the dimensions."""
        from scipy.special import digamma, gammaln

        a, a0, b, b0 = self.shape, self.shape0, self.rates, self.rate0
        terms = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
        return float(np.sum(terms))


@dataclass(frozen=True)
class Moments:
    """Means and second moments: all that the update of one side needs of the other."""

    means: Array
    moments: Array


class Gaussians:
    """One Gaussian per row: means, second moments E[w wᵀ], covariances and their log-determinants.

    ``free`` coordinates have a distribution. ``fixed`` ones are always 1: they are multiplied by the other side's biases,
    so that eta = w_i·z_j with w = (u, a, 1) and z = (c, 1, b) (docs/derivations/bayes.md, section 2). Second moments are
    packed (see ``firthian.kernels.packing``) and padded, because kernels add up millions of them. With diagonal covariances
    ``moments`` holds variances instead, and second moments are computed when needed. All rows start with the same
    ``variance``: one number, or one for each free coordinate.
    """

    def __init__(
        self, means: Array, variance: float | Array, free: Array, fixed: Array, diagonal: bool, dtype: Any
    ) -> None:
        rows, size = means.shape
        self.free, self.fixed, self.diagonal = free, fixed, diagonal
        self.means = np.ascontiguousarray(means, dtype=dtype)
        self.means[:, fixed] = 1
        if diagonal:
            self.moments = np.zeros((rows, size), dtype=dtype)
            self.moments[:, free] = variance
        else:
            self.moments = np.zeros((rows, self.width), dtype=dtype)
            for start in range(0, rows, BLOCK):
                part = self.means[start : start + BLOCK]
                self.moments[start : start + BLOCK] = _outer(part, self.width)
            self.moments[:, diagonal_places(size)[free]] += variance
        stored = free.size if diagonal else packed_size(free.size)
        self.covariances = np.zeros((rows, stored), dtype=dtype)
        places = np.arange(free.size) if diagonal else diagonal_places(free.size)
        self.covariances[:, places] = variance
        self.log_determinants = np.full(rows, free.size * np.mean(np.log(variance)))

    @property
    def rows(self) -> int:
        """The number of words, or of contexts."""
        return int(self.means.shape[0])

    @property
    def moment_view(self) -> Moments:
        """The part that updates of the other side read; less to send to other machines."""
        return Moments(self.means, self.moments)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The arrays that an update of rows changes."""
        return self.means, self.moments, self.covariances, self.log_determinants

    @property
    def size(self) -> int:
        """The number of coordinates, including fixed ones."""
        return int(self.means.shape[1])

    @property
    def width(self) -> int:
        """The length of a row of packed and padded second moments."""
        return (packed_size(self.size) + 15) // 16 * 16

    def packed_moments(self, first: int, last: int) -> Array:
        """Return the packed second moments of rows ``first`` to ``last``, in float64."""
        if not self.diagonal:
            return self.moments[first:last].astype(np.float64)
        out = _outer(self.means[first:last].astype(np.float64), self.width)
        out[:, diagonal_places(self.size)] += self.moments[first:last]
        return out

    def squares(self) -> Array:
        """Return sum_i E[w_ik²] for each free coordinate k."""
        if self.diagonal:
            means = np.einsum("ik,ik->k", self.means, self.means, dtype=np.float64)
            return np.asarray(means + self.moments.sum(axis=0, dtype=np.float64))[self.free]
        places = diagonal_places(self.size)[self.free]
        return np.asarray(self.moments[:, places].sum(axis=0, dtype=np.float64))

    def weighted_sums(self, moment_weights: Array, mean_weights: Array, run: Run) -> tuple[Array, Array]:
        """Return the weighted sums of second moments and of means over all rows, in float64."""

        def mean_sum(first: int, last: int) -> Array:
            return np.asarray(mean_weights[first:last] @ self.means[first:last].astype(np.float64))

        def part(first: int, last: int) -> tuple[Array, Array]:
            if self.diagonal:
                return moment_weights[first:last] @ self.packed_moments(first, last), mean_sum(first, last)
            kind = self.moments.dtype
            moments = moment_weights[first:last].astype(kind) @ self.moments[first:last]
            return moments.astype(np.float64), mean_sum(first, last)

        moments, means = zip(*run.over_rows(part, self.rows, BLOCK, here=True), strict=True)
        return np.asarray(sum(moments)), np.asarray(sum(means))

    def divergence(self, precision: Array, log_precision: Array) -> float:
        """Return the sum of KL(q || p) over rows, p = N(0, diag(precision)^-1), given E[precision] and E[log precision]."""
        return float(
            0.5
            * (
                precision @ self.squares()
                - self.rows * (self.free.size + log_precision.sum())
                - self.log_determinants.sum()
            )
        )

    @one_blas_thread()
    def transform(self, matrix: Array, run: Run) -> None:
        """Replace w by ``matrix`` w in every row.

        The matrix must not change fixed coordinates, and must be diagonal if the covariances are.
        """
        size, inner = self.size, matrix[np.ix_(self.free, self.free)]

        def part(first: int, last: int) -> None:
            self.means[first:last] = self.means[first:last] @ matrix.T
            if self.diagonal:
                self.moments[first:last] *= np.diag(matrix) ** 2
                self.covariances[first:last] *= np.diag(inner) ** 2
            else:
                self.moments[first:last] = pack(matrix @ unpack(self.moments[first:last], size) @ matrix.T, self.width)
                covariances = unpack(self.covariances[first:last], self.free.size)
                self.covariances[first:last] = pack(inner @ covariances @ inner.T)

        run.over_rows(part, self.rows, BLOCK, updates=[self.means, self.moments, self.covariances])
        self.log_determinants += 2 * np.linalg.slogdet(inner)[1]

    @one_blas_thread()
    def keep(self, coordinates: Array) -> None:
        """Drop all but the given coordinates."""
        inside = np.flatnonzero(np.isin(self.free, coordinates))
        if self.diagonal:
            moments = np.ascontiguousarray(self.moments[:, coordinates])
            self.covariances = np.ascontiguousarray(self.covariances[:, inside])
            self.log_determinants = np.log(self.covariances, dtype=np.float64).sum(axis=1)
        else:
            chosen = _sub_triangle(self.size, coordinates)
            moments = np.zeros((self.rows, (chosen.size + 15) // 16 * 16), dtype=self.moments.dtype)
            moments[:, : chosen.size] = self.moments[:, chosen]
            self.covariances = np.ascontiguousarray(self.covariances[:, _sub_triangle(self.free.size, inside)])
            for start in range(0, self.rows, BLOCK):
                block = unpack(self.covariances[start : start + BLOCK], inside.size)
                self.log_determinants[start : start + BLOCK] = np.linalg.slogdet(block)[1]
        self.moments = moments
        self.means = np.ascontiguousarray(self.means[:, coordinates])
        position = {int(old): new for new, old in enumerate(coordinates)}
        self.free = np.array([position[int(k)] for k in self.free if int(k) in position])
        self.fixed = np.array([position[int(k)] for k in self.fixed], dtype=np.int64)


@dataclass
class VariationalState:
    """The posteriors of all factors, and the evidence lower bound after each half sweep."""

    words: Gaussians
    contexts: Gaussians
    relevance: Relevance
    dimension: int
    #: Whether the covariances come from ``calibrate``.
    calibrated: bool = False
    #: The bound after each full sweep.
    history: list[float] = field(default_factory=list)
    #: The bound at the start and after each half sweep: words, then contexts with precisions and rotation, ...
    halves: list[float] = field(default_factory=list)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name, for a checkpoint."""
        sides = {"words": self.words, "contexts": self.contexts}
        arrays = {f"{name}_{part}": getattr(side, part) for name, side in sides.items() for part in PARTS}
        return {**arrays, "rates": self.relevance.rates}

    def values(self) -> dict[str, Any]:
        """Return everything else that changes, for a checkpoint."""
        return {"shape": self.relevance.shape, "history": self.history, "halves": self.halves}

    def restore(self, arrays: Mapping[str, Array], values: Mapping[str, Any]) -> None:
        """Restore what ``arrays`` and ``values`` returned."""
        for name, side in (("words", self.words), ("contexts", self.contexts)):
            for part in PARTS:
                setattr(side, part, np.array(arrays[f"{name}_{part}"]))
        self.relevance = replace(self.relevance, shape=float(values["shape"]), rates=np.array(arrays["rates"]))
        self.history, self.halves = list(values["history"]), list(values["halves"])

    def record(self, bound: float, full: bool) -> None:
        """Record the bound after a half or a full sweep."""
        self.halves.append(bound)
        if full:
            self.history.append(bound)


def _outer(means: Array, width: int) -> Array:
    """Return the packed m mᵀ of each row."""
    rows, columns, factor = triangle(means.shape[1])
    out = np.zeros((means.shape[0], width), dtype=means.dtype)
    out[:, : factor.size] = means[:, rows] * means[:, columns] * factor
    return out


def _sub_triangle(size: int, kept: Array) -> Array:
    """Return the positions in a packed matrix of the submatrix of the coordinates ``kept``."""
    place = np.zeros((size, size), dtype=np.int64)
    rows, columns, _ = triangle(size)
    place[rows, columns] = np.arange(rows.size)
    kept_rows, kept_columns, _ = triangle(kept.size)
    return np.asarray(place[kept[kept_rows], kept[kept_columns]])


def coordinates(dimension: int, bias: str) -> tuple[int, tuple[Array, Array], tuple[Array, Array]]:
    """Return the layout of w = (u, a, 1) and z = (c, 1, b): the number of coordinates, then (free, fixed) of each side."""
    inner = np.arange(dimension)
    none = np.empty(0, dtype=np.int64)
    if bias == "none":
        return dimension, (inner, none), (inner, none)
    word = np.arange(dimension + 1)
    if bias == "row":
        return dimension + 1, (word, none), (inner, np.array([dimension]))
    context = np.append(inner, dimension + 1)
    return dimension + 2, (word, np.array([dimension + 1])), (context, np.array([dimension]))
