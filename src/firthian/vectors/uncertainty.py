"""Vectors with uncertainty: credible intervals, kernels between posteriors, words the model is unsure about.

The vectors are posterior means; their extras have ``covariances`` (packed, one row per word; see
``firthian.kernels.packing``) or ``variances``. ``state["inflation"]``, if set, multiplies every covariance (calibration:
docs/derivations/bayes.md, section 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.kernels.packing import diagonal_places, packed_size, unpack

if TYPE_CHECKING:
    from firthian.vectors.matrix import WordMatrix
    from firthian.vectors.vectors import Vectors

#: Bytes of covariances that are unpacked together.
_BLOCK_BYTES = 64_000_000

#: Words that may come first in an analogy: the best by their means. The probability of others is negligible.
_CANDIDATES = 200

#: 20,000 draws distinguish probabilities that differ by a percent.
_MOST_DRAWS = 20_000
_DRAWS_AT_ONCE = 250

SCORES = ("cosine", "cosine-of-means", "product-kernel")


class CosineEstimate(NamedTuple):
    """The posterior median of a cosine, and its central credible interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Neighbor:
    """A similar word and its score; for the score ``cosine``, its credible interval and the cosine of the means, too."""

    word: str
    score: float
    low: float | None = None
    high: float | None = None
    cosine_of_means: float | None = None


@dataclass(frozen=True)
class WordUncertainty:
    """How uncertain the model is about a word."""

    word: str
    count: int
    #: The sum of the variances, and the log of the determinant of the covariance.
    trace: float
    log_determinant: float
    #: (sum of eigenvalues)² / sum of squares: the number of directions that share the uncertainty.
    effective_dimensions: float
    #: sqrt(trace) over the length of the vector: the relative error of the vector.
    relative: float
    #: log of the trace minus its average for words of this count; None if not computed.
    excess: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Answer:
    """A word that completes an analogy, its score by the means, and the probability that it comes first."""

    word: str
    score: float
    probability: float


def has_uncertainty(vectors: WordMatrix) -> bool:
    """Return whether the vectors have covariances or variances."""
    return "covariances" in vectors.extras or "variances" in vectors.extras


def covariances(vectors: Vectors, numbers: Sequence[int] | Array) -> Array:
    """Return the covariance matrices of words, (n, d, d) in float64, inflated by ``state["inflation"]`` if set."""
    _require(vectors)
    rows, d = np.asarray(numbers, dtype=np.int64), vectors.vector_size
    if "covariances" in vectors.extras:
        stored = vectors.extras["covariances"]
        whole = np.asarray(stored[rows], dtype=np.float64) if stored.ndim == 3 else unpack(np.asarray(stored[rows]), d)
        return _inflated(vectors, whole)
    out = np.zeros((rows.size, d, d))
    out[:, np.arange(d), np.arange(d)] = variances(vectors, rows)
    return out


def variances(vectors: Vectors, numbers: Sequence[int] | Array | slice) -> Array:
    """Return the variances of words, (n, d) in float64, inflated by ``state["inflation"]`` if set."""
    _require(vectors)
    rows = numbers if isinstance(numbers, slice) else np.asarray(numbers, dtype=np.int64)
    d = vectors.vector_size
    if "variances" in vectors.extras:
        result = vectors.extras["variances"][rows]
    elif vectors.extras["covariances"].ndim == 3:
        result = np.diagonal(vectors.extras["covariances"][rows], axis1=1, axis2=2)
    else:
        result = vectors.extras["covariances"][rows][:, diagonal_places(d)]
    return _inflated(vectors, np.asarray(result, dtype=np.float64))


def _inflated(vectors: Vectors, values: Array) -> Array:
    values = values * _inflation(vectors)
    if not np.isfinite(values).all():
        raise FirthianError("the covariances of the vectors are not finite", hint="train the vectors again")
    return values


def similarity_estimate(vectors: Vectors, first: str, second: str, level: float = 0.9) -> CosineEstimate:
    """Return the posterior median of the cosine of two words, and its central credible interval.

    It is computed from the moments of both vectors, on the atanh scale, so that it stays within -1 and 1. Noise turns vectors
    away from each other: an uncertain word has a lower median than the cosine of the means. A word with itself has 1, 1, 1.
    """
    found = _estimates(vectors, vectors.vocabulary[first], np.array([vectors.vocabulary[second]]), level)
    return CosineEstimate(*(float(part[0]) for part in found))


def similarity_interval(vectors: Vectors, first: str, second: str, level: float = 0.9) -> tuple[float, float]:
    """Return the central credible interval of the cosine of two words."""
    return similarity_estimate(vectors, first, second, level)[1:]


def most_similar(
    vectors: Vectors, word: str, topn: int = 10, score: str = "cosine", level: float = 0.9
) -> list[Neighbor]:
    """Return the most similar words by the posterior median of the cosine, with intervals at ``level``.

    The score ``cosine-of-means`` ignores the uncertainty; ``product-kernel`` is ``product_kernel``.
    """
    _require(vectors)
    number, words = vectors.vocabulary[word], vectors.vocabulary.words
    if score not in SCORES:
        raise FirthianError(f"`score` must be one of {', '.join(SCORES)}, got {score!r}", hint="the default is cosine")
    if score == "product-kernel":
        values = product_kernel(vectors, np.full(len(vectors), number), np.arange(len(vectors)))
    else:
        cosines = _cosines(vectors, number)
        # every median is the cosine of the means times the shrinkage of both words
        values = cosines * _shrinkage(vectors) if score == "cosine" else cosines.copy()
    values[number] = -np.inf
    best = np.argsort(-values, kind="stable")[: max(0, min(topn, len(vectors) - 1))]
    if score != "cosine":
        return [Neighbor(words[k], float(values[k])) for k in best]
    found = _estimates(vectors, number, best, level)
    order = np.argsort(-found[0], kind="stable")
    return [Neighbor(words[best[k]], *(float(part[k]) for part in (*found, cosines[best]))) for k in order]


def product_kernel(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the log of the probability product kernel of pairs of rows (Jebara et al. 2004), as the thesis proposes it.

    K(i, j) = integral of q_i q_j = N(0; m_i - m_j, S_i + S_j).
    """
    _require(vectors)
    out = np.empty(len(left))
    for part in _blocks(len(left), vectors.vector_size):
        one, two = left[part], right[part]
        gap = vectors.matrix[one].astype(np.float64) - vectors.matrix[two]
        if "covariances" in vectors.extras:
            try:
                factor = np.linalg.cholesky(covariances(vectors, one) + covariances(vectors, two))
            except np.linalg.LinAlgError:
                raise FirthianError(
                    "a covariance of the vectors is not positive definite", hint="train the vectors again"
                ) from None
            distance = (np.linalg.solve(factor, gap[:, :, None])[:, :, 0] ** 2).sum(axis=1)
            log_determinant = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        else:
            both = variances(vectors, one) + variances(vectors, two)
            if not (both > 0).all():
                raise FirthianError("a variance of the vectors is not positive", hint="train the vectors again")
            distance, log_determinant = (gap**2 / both).sum(axis=1), np.log(both).sum(axis=1)
        # log N(0; δ, S) = -½ (δᵀ S⁻¹ δ + log |S| + d log 2π)
        out[part] = -0.5 * (distance + log_determinant + vectors.vector_size * np.log(2 * np.pi))
    return out


def uncertainty(vectors: Vectors, word: str) -> WordUncertainty:
    """Return how uncertain the model is about a word."""
    number = vectors.vocabulary[word]
    values = np.maximum(np.linalg.eigvalsh(covariances(vectors, [number])[0]), 1e-300)
    trace = float(values.sum())
    return WordUncertainty(
        word,
        int(vectors.vocabulary.counts[number]),
        trace,
        float(np.log(values).sum()),
        # Relative to the largest, so that squares of tiny values are not 0.
        float(np.sum(values / values[-1]) ** 2 / np.sum((values / values[-1]) ** 2)),
        float(np.sqrt(trace) / max(np.linalg.norm(vectors.matrix[number]), 1e-30)),
    )


def uncertainties(vectors: Vectors) -> dict[str, Array]:
    """Return the fields of ``uncertainty`` for every word, as arrays by name, for tables and other tools."""
    _require(vectors)
    parts = []
    for part in _blocks(len(vectors), vectors.vector_size):
        rows = np.arange(part.start, part.stop)
        spread = covariances(vectors, rows)
        trace = np.trace(spread, axis1=1, axis2=2)
        lengths = np.maximum(np.linalg.norm(vectors.matrix[rows].astype(np.float64), axis=1), 1e-30)
        # The squares of the eigenvalues add up to the squares of all entries.
        parts.append(
            {
                "trace": trace,
                "log_determinant": np.linalg.slogdet(spread)[1],
                "effective_dimensions": trace**2 / np.maximum(np.sum(spread**2, axis=(1, 2)), 1e-300),
                "relative": np.sqrt(trace) / lengths,
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def least_certain(
    vectors: Vectors, topn: int = 20, min_count: int = 0, at_equal_count: bool = False
) -> list[WordUncertainty]:
    """Return the most uncertain words among those that occur at least ``min_count`` times.

    The trace depends closely on the count of a word. ``at_equal_count`` ranks by the residual of its logarithm from a cubic
    in the log count: words that are uncertain for other reasons than being rare.
    """
    if not len(vectors):
        raise FirthianError("the vectors have no words", hint="pass other vectors")
    traces = _traces(vectors)
    counts = np.maximum(vectors.vocabulary.counts, 1)
    lengths = np.maximum(np.linalg.norm(vectors.matrix, axis=1), 1e-30)
    excess = residual(np.log(counts), np.log(np.maximum(traces, 1e-300)))
    chosen = np.flatnonzero(vectors.vocabulary.counts >= min_count)
    if chosen.size == 0:
        raise FirthianError(
            f"no word occurs {min_count} times", hint=f"the most frequent one occurs {int(counts.max())} times"
        )
    rank = excess if at_equal_count else np.sqrt(traces) / lengths
    best = chosen[np.argsort(-rank[chosen], kind="stable")[: max(0, topn)]]
    words = vectors.vocabulary.words
    return [
        WordUncertainty(**{**uncertainty(vectors, words[k]).to_dict(), "excess": float(excess[k])})
        for k in best
    ]  # fmt: skip


def analogy(vectors: Vectors, a: str, b: str, c: str, topn: int = 10, draws: int = 500, seed: int = 1) -> list[Answer]:
    """Complete ``a : b :: c : ?`` by 3CosAdd; return each answer with the probability that it comes first.

    The probability is the share of ``draws`` from the posteriors in which the answer wins; its standard error is at most
    1/(2·sqrt(draws)). Answers are ordered by probability, then by the score of the means.
    """
    _require(vectors)
    if not 1 <= draws <= _MOST_DRAWS:
        raise FirthianError(f"`draws` must be from 1 to {_MOST_DRAWS:,}, got {draws}", hint="500 is typical")
    question = [vectors.vocabulary[word] for word in (a, b, c)]
    unit = vectors.matrix / np.maximum(np.linalg.norm(vectors.matrix, axis=1, keepdims=True), 1e-30)
    scores = unit @ (unit[question[1]] - unit[question[0]] + unit[question[2]])
    scores[question] = -np.inf
    best = np.argsort(-scores, kind="stable")[: min(_CANDIDATES, len(vectors) - len(set(question)))]
    if not best.size:
        return []
    # A word that occurs twice in the question is the same in every draw.
    rows, place = np.unique(question, return_inverse=True)
    wins = np.zeros(best.size, dtype=np.int64)
    for sampled in _draws(vectors, np.concatenate([rows, best]), draws, np.random.default_rng([seed, 9])):
        sampled /= np.maximum(np.linalg.norm(sampled, axis=2, keepdims=True), 1e-30)
        target = sampled[place[1]] - sampled[place[0]] + sampled[place[2]]
        first = np.einsum("wnd,nd->nw", sampled[rows.size :], target).argmax(axis=1)
        wins += np.bincount(first, minlength=best.size)
    order = np.lexsort((np.arange(best.size), -wins))[: max(0, topn)]
    words = vectors.vocabulary.words
    return [Answer(words[best[k]], float(scores[best[k]]), float(wins[k] / draws)) for k in order]


def _draws(vectors: Vectors, rows: Array, number: int, random: np.random.Generator) -> Iterator[Array]:
    """Yield draws from the posteriors of words in pieces of shape (words, draws, d)."""
    values, basis = np.linalg.eigh(covariances(vectors, rows))
    roots = (basis * np.sqrt(np.maximum(values, 0))[:, None, :]).transpose(0, 2, 1)
    means = vectors.matrix[rows].astype(np.float64)[:, None, :]
    for start in range(0, number, _DRAWS_AT_ONCE):
        now = min(_DRAWS_AT_ONCE, number - start)
        yield means + random.standard_normal((rows.size, now, vectors.vector_size)) @ roots


def _cosines(vectors: Vectors, number: int) -> Array:
    matrix = vectors.matrix
    lengths = np.maximum(np.linalg.norm(matrix, axis=1), 1e-30)
    return np.asarray(matrix @ matrix[number] / (lengths * lengths[number]), dtype=np.float64)


def check_level(level: float) -> None:
    """Raise if the level of an interval is not between 0 and 1."""
    if not 0 < level < 1:
        raise FirthianError(f"`level` must be between 0 and 1, got {level}", hint="0.9 is typical")


def _traces(vectors: Vectors) -> Array:
    return np.concatenate([variances(vectors, part).sum(axis=1) for part in _blocks(len(vectors), vectors.vector_size)])


def _shrinkage(vectors: Vectors) -> Array:
    """Return |m| / sqrt(|m|² + tr S) of every word."""
    squares = np.square(vectors.matrix, dtype=np.float64).sum(axis=1)
    return np.asarray(np.sqrt(squares / np.maximum(squares + _traces(vectors), 1e-300)))


def _estimates(vectors: Vectors, number: int, others: Array, level: float) -> tuple[Array, Array, Array]:
    """Return medians and the ends of intervals of the cosines of a word with others."""
    from statistics import NormalDist

    check_level(level)
    _require(vectors)
    quantile, first = NormalDist().inv_cdf((1 + level) / 2), vectors.matrix[number].astype(np.float64)
    own = covariances(vectors, [number])
    median, low, high = np.ones((3, len(others)))
    for part in _blocks(len(others), vectors.vector_size):
        rows = others[part]
        middle, variance = _cosine_moments(
            first[np.newaxis], own, vectors.matrix[rows].astype(np.float64), covariances(vectors, rows)
        )
        inside = np.clip(middle, -1 + 1e-12, 1 - 1e-12)
        reach = quantile * np.sqrt(variance) / (1 - inside**2)
        differs = rows != number
        for ends, shift in ((median, 0), (low, -reach), (high, reach)):
            ends[part] = np.where(differs, np.tanh(np.arctanh(inside) + shift), 1)
    return median, low, high


def _cosine_moments(m: Array, s: Array, n: Array, t: Array) -> tuple[Array, Array]:
    """Return mean and variance of the cosine of u ~ N(m, s) and v ~ N(n, t), each row of m and s with each of n and t.

    cos = p/sqrt(a·b) with p = u·v, a = u·u, b = v·v, whose means and covariances are known. Its expansion about their means
    remains accurate when noise is as large as the vectors, and when these point the same way; the delta method on u and v
    ignores the length of the noise (docs/bayes.md).
    """
    into, back = np.einsum("nab,nb->na", s, n), np.einsum("nab,nb->na", t, m)
    own, other = np.einsum("nab,nb->na", s, m), np.einsum("nab,nb->na", t, n)
    p = np.einsum("na,na->n", m, n)
    a = np.einsum("na,na->n", m, m) + np.trace(s, axis1=1, axis2=2)
    b = np.einsum("na,na->n", n, n) + np.trace(t, axis1=1, axis2=2)
    a, b = np.maximum(a, 1e-300), np.maximum(b, 1e-300)
    cosine = p / np.sqrt(a * b)
    # Var p = n'Sn + m'Tm + tr ST, Var a = 4 m'Sm + 2 tr SS, Cov(p, a) = 2 n'Sm, and the same for b
    var_p = np.einsum("na,na->n", into, n) + np.einsum("na,na->n", back, m) + np.einsum("nab,nab->n", s, t)
    var_a = 4 * np.einsum("na,na->n", own, m) + 2 * np.einsum("nab,nab->n", s, s)
    var_b = 4 * np.einsum("na,na->n", other, n) + 2 * np.einsum("nab,nab->n", t, t)
    cov_a, cov_b = 2 * np.einsum("na,na->n", own, n), 2 * np.einsum("na,na->n", other, m)
    variance = var_p / (a * b) + cosine**2 / 4 * (var_a / a**2 + var_b / b**2)
    variance -= cosine / np.sqrt(a * b) * (cov_a / a + cov_b / b)
    return cosine, np.maximum(variance, 0)


def _blocks(number: int, dimension: int) -> Iterator[slice]:
    """Yield runs of rows whose covariances take at most ``_BLOCK_BYTES``."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, dimension) ** 2))
    return (slice(start, min(start + step, number)) for start in range(0, number, step))


def residual(x: Array, y: Array) -> Array:
    """Return the residuals of y from a cubic in x, fitted by least squares."""
    spread = x.std()
    if spread == 0:
        return np.asarray(y - y.mean())
    basis = np.vander((x - x.mean()) / spread, min(4, np.unique(x).size))
    return np.asarray(y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0])


def _inflation(vectors: Vectors) -> float:
    factor = vectors.state.get("inflation", 1.0)
    return float(factor) if isinstance(factor, int | float) and factor > 0 else 1.0


def _require(vectors: Vectors) -> None:
    if not has_uncertainty(vectors):
        raise FirthianError("these vectors have no uncertainty", hint="train with the recipe bayes")
    words, d = vectors.matrix.shape
    fitting = {"covariances": ((words, d, d), (words, packed_size(d))), "variances": ((words, d),)}
    for name, shapes in fitting.items():
        stored = vectors.extras.get(name)
        if stored is not None and stored.shape not in shapes:
            raise FirthianError(
                f"{name} of shape {stored.shape} do not fit {words} words of {d} dimensions",
                hint="train them again",
            )
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError("sparse vectors cannot have uncertainty", hint="train them again")
