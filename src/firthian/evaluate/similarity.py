"""Word similarity: rank correlation between the vectors' similarities and human ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.datasets.word_tasks import Pairs
from firthian.errors import FirthianError
from firthian.evaluate.ranks import RESAMPLES, bootstrap, interval, spearman, williams
from firthian.evaluate.run import EvaluationJob
from firthian.evaluate.sets import Set, open_set
from firthian.evaluate.words import SCORES, Lookup, score_pairs, with_composed
from firthian.runtime.run import Run
from firthian.vectors.vectors import Vectors

#: The purpose of this suite's random numbers.
_PURPOSE = 0x51

#: Fewer pairs are often in perfect order by chance (four of them once in 24). Then every resample is too, and the
#: interval would have no width.
_FEWEST = 5


@dataclass(frozen=True)
class SimilarityResult:
    """The result of a set of pairs. ``scores`` are the model's; ``counted`` are the pairs that count."""

    set: Pairs
    scores: Array
    counted: Array
    covered: int
    spearman: float
    ci95: tuple[float, float] | None
    missing: list[str]
    zero_length: list[str]
    #: Bootstrap resamples, also for comparisons.
    resamples: int = RESAMPLES

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        facts: dict[str, Any] = {
            "spearman": None if math.isnan(self.spearman) else self.spearman,
            "ci95": list(self.ci95) if self.ci95 else None,
            "pairs": len(self.set),
            "covered": self.covered,
            "missing": self.missing,
        }
        if self.zero_length:
            facts["zero_length"] = self.zero_length
        return facts

    def compare(self, other: SimilarityResult, run: Run, resamples: int | None = None) -> dict[str, Any]:
        """Compare with other vectors on the pairs that count for both.

        ``p_value`` is Williams' test of dependent correlations, ``ci95`` the paired bootstrap interval of the
        ``difference`` (the other's correlation minus this one's); ``resamples`` defaults to this result's.
        """
        if self.set.words != other.set.words:
            raise FirthianError("cannot compare results of different sets", hint="use one set for both")
        both = self.counted & other.counted
        human, one, two = self.set.scores[both], self.scores[both], other.scores[both]
        values = spearman(human, one), spearman(human, two)
        difference = values[1] - values[0]
        facts: dict[str, Any] = {
            "pairs": len(human),
            "difference": None,
            "ci95": None,
            "p_value": None,
            "test": "williams",
        }
        if math.isnan(difference):
            return facts
        resamples = self.resamples if resamples is None else resamples
        samples = bootstrap(human, [one, two], run.generator(_PURPOSE), resamples)
        ends = interval(samples[:, 1] - samples[:, 0])
        p_value = williams(*values, spearman(one, two), len(human))
        facts |= {"difference": difference, "ci95": list(ends) if ends else None}
        return facts | {"p_value": None if math.isnan(p_value) else p_value}


def measure(
    vectors: Vectors, pairs: Pairs, job: EvaluationJob, run: Run, lookup: Lookup | None = None
) -> SimilarityResult:
    """Evaluate one set of pairs."""
    if job.oov == "subwords":
        vectors, lookup = with_composed(vectors, [word for pair in pairs.words for word in pair]), None
    lookup = lookup or Lookup(vectors, job.restrict_vocab)
    rows = lookup.find(pairs.words, needs_length=job.score == "cosine")
    known = rows.covered
    scores = np.full(len(pairs), SCORES[job.score][1])
    scores[known] = score_pairs(vectors, rows.ids[known], job.score)
    counted = known if job.oov != "zero" else np.ones_like(known)
    human, model = pairs.scores[counted], scores[counted]
    value = spearman(human, model)
    ends = None
    if not math.isnan(value) and job.resamples:
        ends = interval(bootstrap(human, [model], run.generator(_PURPOSE), job.resamples)[:, 0])
        if ends and math.isclose(*ends) and len(human) < _FEWEST:
            ends = None
    return SimilarityResult(
        pairs, scores, counted, int(known.sum()), value, ends, rows.missing, rows.zero_length, job.resamples
    )


def suite(vectors: Vectors, job: EvaluationJob, run: Run) -> dict[str, SimilarityResult]:
    """Evaluate every chosen set of pairs."""
    lookup = Lookup(vectors, job.restrict_vocab)
    return {
        pairs.name: measure(vectors, pairs, job, run, lookup)
        for pairs in job.sets.get("similarity", [])
        if isinstance(pairs, Pairs)
    }


def compare_similarity(
    one: Vectors, other: Vectors, pairs: Set, *, oov: str = "skip", score: str = "cosine", seed: int = 1
) -> dict[str, Any]:
    """Test whether two models agree equally well with human ratings: a set's name, a file, or ``Pairs``.

    Returns the ``difference`` (the other's Spearman correlation minus the first's), its paired bootstrap interval
    ``ci95``, and the ``p_value`` of Williams' test.
    """
    job = EvaluationJob(oov=oov, score=score, resamples=0)
    run = Run(seed=seed)
    opened = open_set(pairs, "similarity")
    if not isinstance(opened, Pairs):
        raise FirthianError(f"expected pairs, but {opened.name} is a set of analogies", hint="use compare_analogy")
    return measure(one, opened, job, run).compare(measure(other, opened, job, run), run, RESAMPLES)
