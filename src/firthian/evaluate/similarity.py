"""Word similarity: does the vectors' order of pairs agree with people's?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.datasets.word_tasks import Pairs
from firthian.errors import FirthianError
from firthian.evaluate.ranks import RESAMPLES, bootstrap, interval, spearman, williams
from firthian.evaluate.sets import Set, open_set
from firthian.evaluate.suites import EvaluationOptions
from firthian.evaluate.words import SCORES, Lookup, score_pairs
from firthian.runtime.run import Run
from firthian.vectors.vectors import Vectors

#: The purpose of the random numbers of this suite.
_PURPOSE = 0x51

#: Fewer pairs are in perfect order by chance too often (four of them once in 24). Every resample is then in perfect
#: order too, and an interval without width would call the figure certain.
_FEWEST = 5


@dataclass(frozen=True)
class SimilarityResult:
    """What a set of pairs says about vectors. ``scores`` are the model's; ``counted`` are the pairs that took part."""

    set: Pairs
    scores: Array
    counted: Array
    covered: int
    spearman: float
    ci95: tuple[float, float] | None
    missing: list[str]
    zero_length: list[str]
    #: Resamples of the bootstrap, also where two results are compared.
    resamples: int = RESAMPLES

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON knows them."""
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
        """Test whether the other vectors are different, on the pairs that took part for both.

        ``p_value`` is Williams' test of dependent correlations, ``ci95`` the paired bootstrap interval of the
        ``difference`` (the other's correlation less this one's), by default of as many ``resamples`` as this result's.
        """
        if self.set.words != other.set.words:
            raise FirthianError("two results are of different sets", hint="compare results of one set")
        both = self.counted & other.counted
        human, one, two = self.set.scores[both], self.scores[both], other.scores[both]
        values = spearman(human, one), spearman(human, two)
        difference = values[1] - values[0]
        if math.isnan(difference):
            return {"pairs": int(both.sum()), "difference": None, "ci95": None, "p_value": None, "test": "williams"}
        drawn = self.resamples if resamples is None else resamples
        samples = bootstrap(human, [one, two], run.generator(_PURPOSE), drawn)
        ends = interval(samples[:, 1] - samples[:, 0])
        p_value = williams(*values, spearman(one, two), len(human))
        return {
            "pairs": len(human),
            "difference": difference,
            "ci95": list(ends) if ends else None,
            "p_value": None if math.isnan(p_value) else p_value,
            "test": "williams",
        }


def measure(
    vectors: Vectors, pairs: Pairs, options: EvaluationOptions, run: Run, lookup: Lookup | None = None
) -> SimilarityResult:
    """Ask one set of pairs."""
    lookup = lookup or Lookup(vectors, options.restrict_vocab)
    found = lookup.find(pairs.words, needs_length=options.score == "cosine")
    known = found.covered
    scores = np.full(len(pairs), SCORES[options.score][1])
    scores[known] = score_pairs(vectors, found.ids[known], options.score)
    counted = known if options.oov == "skip" else np.ones_like(known)
    human, model = pairs.scores[counted], scores[counted]
    value = spearman(human, model)
    ends = None
    if not math.isnan(value) and options.resamples:
        ends = interval(bootstrap(human, [model], run.generator(_PURPOSE), options.resamples)[:, 0])
        if ends and math.isclose(*ends) and len(human) < _FEWEST:
            ends = None
    return SimilarityResult(
        pairs, scores, counted, int(known.sum()), value, ends, found.missing, found.zero_length, options.resamples
    )


def suite(vectors: Vectors, options: EvaluationOptions, run: Run) -> dict[str, SimilarityResult]:
    """Ask every chosen set of pairs."""
    lookup = Lookup(vectors, options.restrict_vocab)
    return {
        pairs.name: measure(vectors, pairs, options, run, lookup)
        for pairs in options.sets.get("similarity", [])
        if isinstance(pairs, Pairs)
    }


def compare_similarity(
    one: Vectors, other: Vectors, pairs: Set, *, oov: str = "skip", score: str = "cosine", seed: int = 1
) -> dict[str, Any]:
    """Test whether two models agree with people equally well: a set's name, a file, or ``Pairs``.

    Gives ``difference`` (the other's Spearman correlation less that of the first), its paired bootstrap interval
    ``ci95``, and the ``p_value`` of Williams' test.
    """
    options = EvaluationOptions(oov=oov, score=score, resamples=0)
    run = Run(seed=seed)
    opened = open_set(pairs, "similarity")
    if not isinstance(opened, Pairs):
        raise FirthianError(f"{opened.name} is a set of analogies", hint="use compare_analogy")
    return measure(one, opened, options, run).compare(measure(other, opened, options, run), run, RESAMPLES)
