"""Least squares of vectors on covariates, from sums over units, with errors by cluster in closed form.

A *unit* is all occurrences that share a row of the design and a cluster: with the sum of their vectors and their number,
everything below is exact. A *cluster* is what is resampled: an occurrence, a document, an author.

Symbols: y_i the vector of an occurrence, x_i its row of the design X, β = (XᵀX)⁻¹XᵀY, e_i = y_i - βᵀx_i. X is replaced by
an orthonormal basis Q of its columns, X = QR, since years and their interactions would cost half the digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firthian.arrays import Array

#: Numbers in flight in a block of permutations or clusters; fixed, so that the order of sums is.
_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Units:
    """Sums of vectors, numbers of occurrences, rows of the design, and clusters 0, 1, … of units in ascending order."""

    sums: Array
    sizes: Array
    design: Array
    clusters: Array

    @classmethod
    def of(cls, sums: Array, sizes: Array, design: Array, clusters: Array) -> Units:
        """Sort units by cluster and number the clusters; units without occurrences are left out."""
        used = np.flatnonzero(sizes > 0)
        _, numbers = np.unique(clusters[used], return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        chosen = used[order]
        return cls(sums[chosen].astype(np.float64), sizes[chosen].astype(np.float64), design[chosen], numbers[order])

    @property
    def clusters_number(self) -> int:
        """The number of clusters."""
        return int(self.clusters[-1]) + 1 if self.clusters.size else 0

    def merged(self) -> Units:
        """Return one unit per cluster, where the design is constant within clusters."""
        if self.clusters_number == self.clusters.size:
            return self
        starts = np.flatnonzero(np.diff(self.clusters, prepend=-1))
        return Units(
            np.add.reduceat(self.sums, starts), np.add.reduceat(self.sizes, starts), self.design[starts],
            np.arange(starts.size),
        )  # fmt: skip

    def blocks(self, numbers_per_unit: int) -> Iterator[tuple[slice, Array]]:
        """Yield slices of units made of whole clusters, and where the clusters begin in the slice."""
        starts = np.flatnonzero(np.diff(self.clusters, prepend=-1))
        ends = np.append(starts[1:], self.clusters.size)
        step = max(1, _BLOCK_NUMBERS // max(1, numbers_per_unit))
        first = 0
        while first < starts.size:
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + step, side="right")))
            yield slice(int(starts[first]), int(ends[last - 1])), starts[first:last] - starts[first]
            first = last


@dataclass(frozen=True)
class Estimate:
    """Squared norms of coefficients: raw, debiased, their jackknife standard errors."""

    raw: Array
    bias: Array
    se: Array

    @property
    def debiased(self) -> Array:
        """The squared norms without what sampling error adds on average."""
        return self.raw - self.bias


class Fit:
    """Least squares of the vectors of units on their design.

    >>> units = Units.of(np.array([[1.0], [3.0], [5.0]]), np.ones(3), np.array([[1.0, 0], [1, 0], [1, 1]]), np.arange(3))
    >>> Fit(units).beta.round(6).tolist()
    [[2.0], [3.0]]
    """

    def __init__(self, units: Units) -> None:
        self.units = units
        weights = np.sqrt(units.sizes)[:, None]
        # X = QR with QᵀWQ = I, W the sizes of the units.
        _, self.r = np.linalg.qr(weights * units.design)
        self.q: Array = np.linalg.solve(self.r.T, units.design.T).T
        #: β in the basis Q: QᵀY.
        self.rotated: Array = self.q.T @ units.sums

    @cached_property
    def back(self) -> Array:
        """R⁻¹, which turns coefficients of Q into those of X."""
        return np.asarray(np.linalg.inv(self.r))

    @cached_property
    def beta(self) -> Array:
        """The coefficients, a row per column of the design."""
        return np.asarray(self.back @ self.rotated)

    def residuals(self, part: slice) -> Array:
        """Return the sums of the residuals of some units: Σ e_i."""
        units = self.units
        return np.asarray(units.sums[part] - units.sizes[part, None] * (self.q[part] @ self.rotated))

    def estimate(self) -> Estimate:
        """Return squared norms, the bias of each, and the jackknife over clusters in closed form.

        The bias is the trace of the cluster-robust covariance that is unbiased where occurrences are alike (CR2; Bell and
        McCaffrey 2002). Where every occurrence is a cluster it is HC1, as in conText.
        """
        units, beta = self.units, self.beta
        k = beta.shape[0]
        raw = np.einsum("jd,jd->j", beta, beta)
        trace, norms = self._by_unit(raw) if units.clusters_number == units.sizes.size else self._by_cluster(raw)
        c, n = norms.shape[0], units.sizes.sum()
        se = np.sqrt((c - 1) / c * np.square(norms - norms.mean(axis=0)).sum(axis=0))
        return Estimate(raw, trace * n / max(n - k, 1) if n == c else trace, se)

    def _by_unit(self, raw: Array) -> tuple[Array, Array]:
        """Return the traces, and the squared norms without each unit, where every unit is a cluster."""
        traces, norms = np.zeros(raw.size), []
        single = bool((self.units.sizes == 1).all())
        for first, last in blocks_of(self.units.sizes.size, self.beta.shape[1]):
            part = slice(first, last)
            residuals, leverage = self.residuals(part), self.q[part] @ self.back.T
            squares = np.einsum("ud,ud->u", residuals, residuals)
            # β₍₋ᵢ₎ = β - (XᵀX)⁻¹ x_i e_iᵀ / (1 - h_i); a unit that alone carries a level changes nothing.
            rest = 1 - self.units.sizes[part] * np.einsum("uk,uk->u", self.q[part], self.q[part])
            inverse = np.divide(1, rest, out=np.zeros_like(rest), where=rest > 1e-10)
            scaled = leverage * inverse[:, None]
            traces += np.square(leverage).T @ (squares if single else squares * inverse)
            norms.append(raw - 2 * scaled * (residuals @ self.beta.T) + np.square(scaled) * squares[:, None])
        return traces, np.concatenate(norms)

    def _by_cluster(self, raw: Array) -> tuple[Array, Array]:
        """Return the traces, and the squared norms without each cluster."""
        units, beta = self.units, self.beta
        k, d = beta.shape
        trace = np.zeros(k)
        without: list[Array] = []
        for part, starts in units.blocks(k * d):
            # Z_c = Σ x_i e_iᵀ and N_c = Σ x_i x_iᵀ over a cluster, in the basis Q.
            q, sizes = self.q[part], units.sizes[part]
            scores = np.add.reduceat(q[:, :, None] * self.residuals(part)[:, None, :], starts)
            grams = np.add.reduceat(sizes[:, None, None] * q[:, :, None] * q[:, None, :], starts)
            # (I - N_c)^-½ Z_c has the covariance that Z_c would have without the fit.
            values, axes = np.linalg.eigh(np.eye(k) - grams)
            roots = np.where(values > 1e-10, 1 / np.sqrt(np.maximum(values, 1e-10)), 0.0)
            moved = self.back @ (axes * roots[:, None, :]) @ axes.transpose(0, 2, 1) @ scores
            trace += np.einsum("cjd,cjd->j", moved, moved)
            # β₍₋c₎ = β - (XᵀX)⁻¹ (I - N_c (XᵀX)⁻¹)⁻¹ Z_c
            change = self.back @ _left_out(np.eye(k) - grams, scores)
            without.append(raw - 2 * np.einsum("jd,cjd->cj", beta, change) + np.einsum("cjd,cjd->cj", change, change))
        return trace, np.concatenate(without)


def _left_out(matrices: Array, scores: Array) -> Array:
    """Solve for every cluster; without a cluster that alone carries a level the solution is that of least norm."""
    try:
        solved = np.linalg.solve(matrices, scores)
    except np.linalg.LinAlgError:
        solved = np.full_like(scores, np.nan)
    bad = np.linalg.cond(matrices) > 1e12
    if bad.any():
        solved[bad] = np.linalg.pinv(matrices[bad], rcond=1e-10) @ scores[bad]
    return np.asarray(solved)


def blocks_of(number: int, numbers_each: int) -> list[tuple[int, int]]:
    """Divide permutations into blocks that fit the cache, whatever the workers."""
    step = max(1, _BLOCK_NUMBERS // max(1, numbers_each))
    return [(first, min(first + step, number)) for first in range(0, number, step)]


class PermutationStatistic:
    """The ratio ‖β_j‖² / tr Var(β_j) of coefficients when the rows of the design are permuted over units.

    The ratio, not the norm: a permutation that puts few occurrences into a group has a large norm by chance. Units are
    clusters, the variance is the robust one. Everything follows from the Gram matrix of the units' sums if these are fewer
    than twice the dimensions.
    """

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        sums = fit.units.sums
        self.gram = sums @ sums.T if sums.shape[0] <= 2 * sums.shape[1] else None
        self.squares: Array = np.einsum("ud,ud->u", sums, sums)
        #: Numbers that a permutation needs at once.
        self.numbers_each = sums.shape[0] * fit.q.shape[1] * 4

    def __call__(self, orders: Array) -> Array:
        """Return a row of ratios for each permutation, a row of unit numbers."""
        units, back, sums = self.fit.units, self.fit.back, self.fit.units.sums
        p = self.fit.q[orders]
        b, u, k = p.shape
        pt = np.ascontiguousarray(p.transpose(0, 2, 1))
        inverse = np.linalg.inv(pt @ (units.sizes[:, None] * p))
        if self.gram is not None:
            crossed = (pt.reshape(b * k, u) @ self.gram).reshape(b, k, u)
            fitted = inverse @ crossed
            products = fitted @ p @ inverse
        else:
            coefficients = inverse @ (pt.reshape(b * k, u) @ sums).reshape(b, k, -1)
            fitted = (coefficients.reshape(b * k, -1) @ sums.T).reshape(b, k, u)
            products = coefficients @ coefficients.transpose(0, 2, 1)
        # ‖r_u‖² = ‖s_u‖² - 2 n_u s_u·f_u + n_u² ‖f_u‖², f_u = βᵀx_u
        f_s = np.einsum("bku,bku->bu", pt, fitted)
        f_f = np.einsum("bku,bku->bu", pt, products @ pt)
        squares = np.maximum(self.squares - 2 * units.sizes * f_s + np.square(units.sizes) * f_f, 0.0)
        leverage = back @ (inverse @ pt)
        variance = np.einsum("bju,bu->bj", np.square(leverage), squares)
        norms = np.einsum("jk,bkl,jl->bj", back, products, back)
        return np.asarray(norms / np.maximum(variance, 1e-12 * np.abs(norms) + 1e-300))


def permutation_p(fit: Fit, permutations: int, generator: np.random.Generator) -> Array:
    """Return p-values by random permutations of clusters, of which each has one row of the design."""
    statistic = PermutationStatistic(fit)
    units = fit.units.sizes.size
    observed = statistic(np.arange(units)[None])[0]
    above = np.zeros(observed.size)
    for first, last in blocks_of(permutations, statistic.numbers_each):
        orders = generator.permuted(np.tile(np.arange(units), (last - first, 1)), axis=1)
        above += (statistic(orders) >= observed * (1 - 1e-9)).sum(axis=0)
    return np.asarray((1 + above) / (1 + permutations))


def sign_flip_p(fit: Fit, permutations: int, generator: np.random.Generator) -> Array:
    """Return p-values by random signs of the clusters' scores, where covariates vary within clusters.

    The score of a coefficient is Σ x̃_i ẽ_iᵀ, where x̃ is its column without what the others explain, and ẽ the residuals
    of the regression without it (Hemerik, Goeman and Finos 2020).
    """
    units = fit.units
    design, k = units.design, units.design.shape[1]
    starts = np.flatnonzero(np.diff(units.clusters, prepend=-1))
    totals, scores = [], []
    for place in range(k):
        others = Units(units.sums, units.sizes, np.delete(design, place, axis=1), units.clusters)
        column = design[:, place]
        if k > 1:
            reduced = Fit(others)
            column = column - reduced.q @ (reduced.q.T @ (units.sizes * column))
            rest = reduced.residuals(slice(None))
        else:
            rest = units.sums
        score = np.add.reduceat(column[:, None] * rest, starts)
        scores.append(score)
        totals.append(float(np.square(score.sum(axis=0)).sum()))
    above = np.zeros(k)
    for first, last in blocks_of(permutations, starts.size + units.sums.shape[1]):
        signs = generator.integers(0, 2, (last - first, starts.size)) * 2.0 - 1.0
        for place, score in enumerate(scores):
            flipped = np.square(signs @ score).sum(axis=1)
            above[place] += int((flipped >= totals[place] * (1 - 1e-9)).sum())
    return np.asarray((1 + above) / (1 + permutations))


def bootstrap_norms(fit: Fit, resamples: int, generator: np.random.Generator) -> Array:
    """Return the squared norms of coefficients of resampled clusters; resamples that lack a level are left out."""
    units = fit.units
    c, k, d = units.clusters_number, units.design.shape[1], units.sums.shape[1]
    starts = np.flatnonzero(np.diff(units.clusters, prepend=-1))
    grams = np.add.reduceat(units.sizes[:, None, None] * fit.q[:, :, None] * fit.q[:, None, :], starts).reshape(c, -1)
    norms = []
    for first, last in blocks_of(resamples, c + k * d):
        weights = generator.multinomial(c, np.full(c, 1 / c), last - first).astype(np.float64)
        crossed = np.zeros((last - first, k * d))
        for part, inner in units.blocks(k * d):
            block = np.add.reduceat(fit.q[part][:, :, None] * units.sums[part][:, None, :], inner)
            some = units.clusters[part][inner]
            crossed += weights[:, some] @ block.reshape(some.size, -1)
        matrices = (weights @ grams).reshape(-1, k, k)
        usable = np.linalg.cond(matrices) < 1e8
        solved = fit.back @ np.linalg.solve(matrices[usable], crossed.reshape(-1, k, d)[usable])
        norms.append(np.einsum("bjd,bjd->bj", solved, solved))
    return np.concatenate(norms)
