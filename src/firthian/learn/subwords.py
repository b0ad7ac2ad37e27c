"""Subwords for any dense vectors: the vectors of words, regressed on their character n-grams.

S has a row per word and a column per n-gram: how often the word has it, over √n, where n is the number of its n-grams. With u
the learned vector of a word, c its count and ω = c/(c + κ) its weight,

    G = argmin Σ ω |u - S G|² + Σ μ√f |g|²

by conjugate gradients on the normal equations, a block of columns at a time. The penalty of an n-gram is μ√f, where f is the
number of times that words have it. A word then has the vector u + a·S G, an unknown word S G.

    a = blend·√(fade/(c + fade)):    spelling helps rare words the most

The blend of rare words is relative to the lengths of u and S G. It falls with the cube root of the tokens from 3 M on, and
where words that are hidden from the regression are badly predicted. docs/subwords.md has the measurements on other text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array, offsets, unit_rows
from firthian.errors import FirthianError
from firthian.options import Option, check_all, declared
from firthian.runtime.run import Run, one_blas_thread
from firthian.vectors.subwords import Subwords, fit_rows
from firthian.vectors.uncertainty import has_uncertainty
from firthian.vectors.vectors import Vectors

#: ``--subwords``: with a table of n-grams, without, or with one if spelling predicts vectors.
CHOICES = ("on", "off", "auto")

#: Fewer words do not say whether spelling predicts their vectors.
_FEWEST_WORDS = 1000

#: The share of words that are hidden from the regression, and the columns that stand for all of their vectors there.
_HIDDEN, _SKETCH = 0.05, 16

#: The mean cosine of hidden words from which ``auto`` keeps the n-grams, and from which it blends them in as elsewhere.
_LEAST, _ENOUGH = 0.05, 0.25

#: |a·S G| : |u| of rare words, in text of at most _TOKENS tokens.
_SHARE, _TOKENS = 0.85, 3e6

#: ``fade=auto``, in text of at least _TOKENS tokens; proportionally less in shorter text.
_FADE = 300.0

#: Rows of n-grams per word that are stored, in half precision: as many bytes as the vectors.
_ROWS_PER_WORD = 2


@dataclass(frozen=True)
class SubwordOptions:
    """Settings of the regression on n-grams."""

    min_n: Annotated[int, Option("shortest n-gram, in characters", low=1, high=20)] = 3
    max_n: Annotated[int, Option("longest n-gram, in characters", low=1, high=20)] = 6
    ridge: Annotated[float, Option("penalty mu on an n-gram of one word", low=1e-6)] = 0.14
    kappa: Annotated[float, Option("count at which a word weighs half", low=0)] = 30.0
    blend: Annotated[float | str, Option("share of n-grams in rare words", low=0, high=100, words=("auto",))] = "auto"
    fade: Annotated[
        float | str, Option("count from which less is blended in; 0: all alike", low=0, words=("auto",))
    ] = "auto"
    steps: Annotated[int, Option("steps of conjugate gradients", low=1, high=1000)] = 4

    @classmethod
    def create(cls, given: dict[str, Any]) -> SubwordOptions:
        """Check the settings a user passed."""
        settings = cls(**check_all("subwords", declared(cls), given))
        if settings.min_n > settings.max_n:
            raise FirthianError(
                f"`min_n` must be at most `max_n`, got {settings.min_n} and {settings.max_n}", hint="3 and 6 are usual"
            )
        return settings


def add_subwords(vectors: Vectors, *, seed: int = 1, workers: int | None = None, **options: Any) -> Vectors:
    """Return vectors with a table of n-grams, so that every word has a vector; blends it into those of known words.

    Options: ``min_n`` and ``max_n`` (characters), ``ridge``, ``kappa``, ``blend`` (a number, or ``auto``),
    ``fade`` and ``steps``.
    """
    return fit(vectors, "on", Run.create(seed, workers), SubwordOptions.create(options))


def check_choice(choice: str) -> str:
    """Check ``subwords`` as a user passed it."""
    return str(Option("auto keeps them where they help", choices=CHOICES, name="subwords", kind=str).check(choice))


def fit(vectors: Vectors, choice: str, run: Run, options: SubwordOptions | None = None) -> Vectors:
    """Return vectors with subwords; with ``auto`` the same vectors if the words are few or their spelling predicts nothing."""
    settings = options or SubwordOptions()
    few = len(vectors) < _FEWEST_WORDS or not vectors.vocabulary.counts.any()
    if choice == "off" or (choice == "auto" and (few or not isinstance(vectors.matrix, np.ndarray))):
        return vectors
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError("subwords need dense vectors, these are sparse", hint="omit `subwords`, or train svd")
    if not len(vectors):
        raise FirthianError("subwords need at least one word", hint="train on more text")
    run.progress.start("fitting subwords")
    learned = vectors.learned
    problem = _Problem.create(vectors, settings)
    chosen = run.remember("subwords choice", lambda: _choose(vectors, learned, problem, settings, run))
    agreement = float(chosen["agreement"])
    if choice == "auto" and agreement < _LEAST:
        return vectors
    rows = run.remember("subwords table", lambda: {"rows": problem.solve(learned, settings, run)})["rows"]
    blend = settings.blend
    if blend == "auto":
        # The posterior of a word is its own: its intervals would not be those of a blend.
        blend = 0.0 if has_uncertainty(vectors) else _blend(vectors, learned, problem.predict(rows), agreement)
    fade = settings.fade
    if fade == "auto":
        fade = round(_FADE * min(1.0, float(vectors.vocabulary.counts.sum()) / _TOKENS), 1)
    subwords = _stored(problem, rows, len(vectors))
    subwords = replace(subwords, blend=round(float(blend), 2), fade=float(fade), variance=chosen.get("variance"))
    matrix = learned
    if subwords.blend:
        matrix = learned + subwords.blended(vectors.vocabulary.words, vectors.vocabulary.counts)
    notes = {name: getattr(settings, name) for name in ("min_n", "max_n", "ridge", "kappa")}
    notes |= {"blend": subwords.blend, "fade": subwords.fade, "agreement": round(agreement, 4)}
    return Vectors(
        matrix,
        vectors.vocabulary,
        contexts=vectors.contexts,
        extras=vectors.extras,
        provenance=replace(vectors.provenance, subwords=notes),
        state=vectors.state,
        subwords=subwords,
    )


@dataclass(frozen=True)
class _Problem:
    """S as the n-grams of each word: columns of the table that occur in at least two words."""

    table: Subwords
    indptr: Array
    places: Array
    #: 1/√n and ω of each word.
    scales: Array
    weights: Array

    @classmethod
    def create(cls, vectors: Vectors, settings: SubwordOptions) -> _Problem:
        """Hash the n-grams of all words and keep those of two words or more."""
        from firthian.kernels.subwords import word_frequencies

        dimension = vectors.vector_size
        empty = Subwords(
            np.zeros(0, np.uint32), np.zeros((0, dimension), np.float32), low=settings.min_n, high=settings.max_n
        )
        buckets, indptr = empty.hashed(vectors.vocabulary.words)
        number = np.diff(indptr)
        is_shared = word_frequencies(indptr, buckets, empty.buckets) >= 2
        ids = np.flatnonzero(is_shared)
        shared = is_shared[buckets]
        kept = offsets(shared)[indptr]
        places = (np.cumsum(is_shared, dtype=np.int32) - 1)[buckets[shared]]
        counts = vectors.vocabulary.counts.astype(np.float64)
        # Vectors from elsewhere may have no counts: then all words weigh the same.
        weights = counts / (counts + settings.kappa) if counts.any() else np.ones(number.size)
        table = replace(empty, ids=ids.astype(np.uint32), rows=np.zeros((ids.size, dimension), np.float32))
        scales = 1 / np.sqrt(np.maximum(number, 1))
        return cls(table, kept, places, scales.astype(np.float32), weights.astype(np.float32))

    def without(self, hidden: Array) -> _Problem:
        """Return the problem that does not see some words."""
        return replace(self, weights=np.where(hidden, np.float32(0), self.weights))

    def solve(self, targets: Array, settings: SubwordOptions, run: Run) -> Array:
        """Return G."""
        incidence = self.indptr, self.places, self.scales
        ridges = settings.ridge * np.sqrt(np.bincount(self.places, minlength=self.table.ids.size))
        return fit_rows(incidence, self.weights, targets, self.table.ids.size, ridges, settings.steps, run)

    def predict(self, rows: Array) -> Array:
        """Return S G for all words."""
        from firthian.kernels.subwords import compose

        out = np.empty((self.scales.size, rows.shape[1]), np.float32)
        compose(self.indptr, self.places, rows, self.scales, out)
        return out


def _blend(vectors: Vectors, learned: Array, composed: Array, agreement: float) -> float:
    """Return the blend of rare words."""
    tokens = float(vectors.vocabulary.counts.sum()) or _TOKENS
    share = _SHARE * min(1.0, _TOKENS / tokens) ** (1 / 3) * min(1.0, max(0.0, agreement) / _ENOUGH)
    lengths = [float(np.sqrt(np.einsum("ij,ij->i", rows, rows)).mean()) for rows in (learned, composed)]
    return float(share * lengths[0] / max(lengths[1], 1e-30))


def _choose(
    vectors: Vectors, learned: Array, problem: _Problem, settings: SubwordOptions, run: Run
) -> dict[str, Array]:
    """Hide words; return how well their vectors are predicted and, for vectors with uncertainty, how far off they are."""
    generator = run.generator("subwords")
    hidden = np.zeros(len(vectors), dtype=bool)
    hidden[generator.permutation(len(vectors))[: max(1, int(_HIDDEN * len(vectors)))]] = True
    whole = has_uncertainty(vectors)
    targets = learned
    if not whole and vectors.vector_size > _SKETCH:
        # The regression is linear: the prediction of projected vectors is the projection of predicted ones.
        mixing = generator.normal(size=(vectors.vector_size, _SKETCH)).astype(np.float32)
        with one_blas_thread():
            targets = learned @ mixing
    predicted = problem.predict(problem.without(hidden).solve(targets, settings, run))[hidden]
    truth, weights = np.ascontiguousarray(targets[hidden]), problem.weights[hidden].astype(np.float64)
    cosines = np.einsum("ij,ij->i", unit_rows(predicted), unit_rows(truth))
    mean = float(weights @ cosines) / max(float(weights.sum()), 1e-30)
    # Few hidden words agree by chance: two standard errors less.
    result = {"agreement": np.array(mean - 2 * float(cosines.std()) / np.sqrt(cosines.size))}
    if whole:
        result["variance"] = np.mean((truth - predicted).astype(np.float64) ** 2, axis=0).astype(np.float32)
    return result


def _stored(problem: _Problem, rows: Array, words: int) -> Subwords:
    """Return the table to keep: the strongest rows, in half precision, relative to the largest number."""
    frequency = np.bincount(problem.places, minlength=len(rows))
    strength = np.einsum("ij,ij->i", rows, rows) * frequency
    order = np.argsort(-strength, kind="stable")[: _ROWS_PER_WORD * words]
    kept = np.sort(order[strength[order] > 0])
    # 2^10 leaves room above, and 2^24 steps below.
    scale = float(np.abs(rows).max(initial=0)) / 1024 or 1.0
    half = (rows[kept] / np.float32(scale)).astype(np.float16)
    return replace(problem.table, ids=problem.table.ids[kept], rows=half, scale=scale)
