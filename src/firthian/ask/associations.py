"""The statistics of word association tests, from the cosines of target and attribute words."""

from __future__ import annotations

import math
from itertools import combinations, islice

import numpy as np

from firthian.arrays import Array

#: Partitions that are enumerated; of more, a sample is drawn.
EXACT = 200_000

#: Partitions are compared in batches of this many.
_BATCH = 8192


def weat(cosines: Array, first: int, positive: int) -> float:
    """Return WEAT's effect size d from the cosines of targets (rows) and attributes (columns), each in two lists.

    s(w) = mean cos(w, A) - mean cos(w, B);  d = (mean s(X) - mean s(Y)) / std s(X u Y)  (Caliskan et al. 2017)
    """
    scores = cosines[:, :positive].mean(axis=1) - cosines[:, positive:].mean(axis=1)
    return standardized(scores, first)


def standardized(scores: Array, first: int) -> float:
    """Return the difference of the means of two groups in standard deviations of all scores; 0 if all are equal."""
    spread = float(scores.std())
    difference = float(scores[:first].mean() - scores[first:].mean())
    return difference / spread if spread > 1e-12 else 0.0


def partition_p(
    scores: Array, first: int, permutations: int, generator: np.random.Generator, two_sided: bool = False
) -> tuple[float, str]:
    """Return the share of divisions of scores into groups of the same sizes whose difference is as large, and how.

    The difference of means grows with the sum of the first group, so sums are compared.

    >>> partition_p(np.array([3.0, 2.0, 1.0, 0.0]), 2, 99, np.random.default_rng(1))
    (0.16666666666666666, 'all 6 divisions')
    """
    number = scores.size
    center = scores.mean() * first
    observed = float(scores[:first].sum() - center)
    tolerance = 1e-9 * max(1e-300, float(np.abs(scores).sum()))

    def as_large(sums: Array) -> int:
        deviations = np.abs(sums - center) if two_sided else sums - center
        return int(np.count_nonzero(deviations >= (abs(observed) if two_sided else observed) - tolerance))

    total = math.comb(number, first)
    if total <= EXACT:
        chosen, found = combinations(range(number), first), 0
        while batch := list(islice(chosen, _BATCH)):
            found += as_large(scores[np.array(batch)].sum(axis=1))
        return found / total, f"all {total:,} divisions"
    found = 1
    for begin in range(0, permutations, _BATCH):
        rows = np.tile(scores, (min(_BATCH, permutations - begin), 1))
        found += as_large(generator.permuted(rows, axis=1)[:, :first].sum(axis=1))
    return found / (permutations + 1), f"{permutations:,} random divisions"


def resampled(
    cosines: Array,
    sizes: tuple[int, ...],
    attribute_sizes: tuple[int, ...],
    resamples: int,
    generator: np.random.Generator,
) -> Array:
    """Return the effect sizes of tests whose words are drawn again, with replacement, from each list."""

    def draw(lists: tuple[int, ...]) -> Array:
        starts = np.cumsum([0, *lists[:-1]])
        return np.concatenate([at + generator.integers(0, n, n) for at, n in zip(starts, lists, strict=True)])

    effects = np.empty(resamples)
    for number in range(resamples):
        some = cosines[np.ix_(draw(sizes), draw(attribute_sizes))]
        effects[number] = effect(some, sizes, attribute_sizes)
    return effects


def effect(cosines: Array, sizes: tuple[int, ...], attribute_sizes: tuple[int, ...]) -> float:
    """Return the effect size: WEAT's of two lists of targets, the single-category one of one list."""
    if len(sizes) == 2:
        return weat(cosines, sizes[0], attribute_sizes[0])
    # One word gives the SC-WEAT of the paper; more are taken together.
    return standardized(cosines.mean(axis=0), attribute_sizes[0])


def norm_distance(targets: Array, first: int, attributes: Array) -> float:
    """Return the relative norm distance of attributes from the centroids of two lists of unit vectors (Garg et al. 2018)."""
    one, two = targets[:first].mean(axis=0), targets[first:].mean(axis=0)
    return float((np.linalg.norm(attributes - one, axis=1) - np.linalg.norm(attributes - two, axis=1)).mean())


def mean_cosine_distance(cosines: Array, attribute_sizes: tuple[int, ...]) -> float:
    """Return the mean over targets and attribute lists of the mean cosine distance (MAC, Manzini et al. 2019)."""
    parts = np.split(cosines, np.cumsum(attribute_sizes)[:-1], axis=1)
    return float(np.mean([1 - part.mean(axis=1) for part in parts]))
