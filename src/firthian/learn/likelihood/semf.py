"""Supervised explicit matrix factorization: analogies that are known help to find the vectors (Li et al. 2015, eq. 14).

A question a : b = c : d says that u_b - u_a + u_c is a second vector of the word d, so the counts of d should be likely
under it too: L = L(X, U C') + lambda · sum L(X_d, (u_b - u_a + u_c) C'). Each question is one more row of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.likelihood.model import ExponentialFamily, Factors, SeenPairs, Side, binomial
from firthian.runtime.memory import Problem, show_size
from firthian.runtime.run import Run

#: The weight of an analogy beside a word's own counts.
DEFAULT_LAMBDA = 0.05


@dataclass(frozen=True)
class Taught:
    """Questions as word ids (rows of a, b, c, d), and how many were left out because a word is unknown."""

    ids: Array
    unknown: int


class SupervisedEMF:
    """EMF and lambda times the likelihood of analogies. Solvers use ``side`` and ``analogies``."""

    def __init__(self, model: ExponentialFamily, taught: Taught, weight: float) -> None:
        self.model, self.taught, self.weight = model, taught, weight
        self.bias, self.family, self.words, self.start = model.bias, model.family, model.words, model.start
        answers = taught.ids[:, 3]
        self.shares = weight * model.negative * model.row_sums[answers]
        draws = weight * model.row_sums[answers] * (1 + model.negative)
        #: Draws behind the questions a word is in; three words move for each, so each question counts three times.
        self.more_events = np.bincount(taught.ids[:, :3].ravel(), np.repeat(3 * draws, 3), minlength=model.words)

    @cached_property
    def pairs(self) -> SeenPairs:
        """The counts of the answers, weighted: one row a question."""
        return _rows(self.model.pairs, self.taught.ids[:, 3], self.weight)

    @cached_property
    def transposed(self) -> SeenPairs:
        """The columns of the counts and of the questions."""
        return _transposed(self.model.pairs, self.pairs, self.words)

    def check_memory(self, dimension: int, run: Run) -> None:
        """Say before the work when the questions do not fit the budget: each brings all the pairs of its answer."""
        from firthian.learn.recipes import find_recipe

        own = self.model.pairs.values.size
        asked = int(np.diff(self.model.pairs.indptr)[self.taught.ids[:, 3]].sum())
        needed = find_recipe("semf").memory.needed(Problem(self.words, own + asked, dimension))
        if 0 < run.budget < needed:
            raise FirthianError(
                f"{len(self.taught.ids):,} analogies bring {asked:,} pairs to the {own:,} that were counted, which together "
                f"need about {show_size(needed)} of memory, more than the budget of {show_size(run.budget)}",
                hint=f"give fewer analogies, or --memory {show_size(needed * 1.05).replace(' ', '')}",
            )

    def stats(self) -> dict[str, Any]:
        """Return facts for the record."""
        return {**self.model.stats(), "analogies": len(self.taught.ids), "unknown_analogies": self.taught.unknown}

    def combined(self, factors: Factors) -> Array:
        """Return u_b - u_a + u_c of each question."""
        a, b, c = self.taught.ids[:, :3].T
        vectors: Array = factors.words[b] - factors.words[a] + factors.words[c]
        return vectors

    def analogies(self, factors: Factors) -> Side:
        """Return the rows of the questions as a half problem of their own."""
        side = self.model.side("words", factors)
        zeros = np.zeros(len(self.taught.ids))
        return replace(side, pairs=self.pairs, left=self.combined(factors), left_bias=zeros, left_share=self.shares)

    def side(self, which: str, factors: Factors) -> Side:
        """Return the half problem of ``words`` (without the questions) or ``contexts`` (with them)."""
        side = self.model.side(which, factors)
        if which == "words":
            return replace(side, more_events=self.more_events)
        return replace(
            side,
            pairs=self.transposed,
            right=np.concatenate([factors.words, self.combined(factors)]),
            right_bias=np.zeros(self.words + len(self.shares)),
            right_share=np.concatenate([side.right_share, self.shares]),
        )


def semf(
    counts: Counts,
    run: Run,
    analogies: str = "",
    negative: float = 6.0,
    ns_exponent: float = 0.6,
    truncate_counts: float | str = "none",
    diagonal: bool = True,
    **more: float,
) -> SupervisedEMF | ExponentialFamily:
    """EMF taught by the questions in a file; without one it is EMF. ``more`` holds lambda, a word Python keeps for itself."""
    weight = more.pop("lambda", DEFAULT_LAMBDA)
    if more:
        raise TypeError(f"semf has no options {sorted(more)}")
    model = binomial(counts, run, negative, ns_exponent, truncate_counts, diagonal)
    if not analogies:
        return model
    return SupervisedEMF(model, read_analogies(Path(analogies), counts), weight)


def read_analogies(path: Path, counts: Counts) -> Taught:
    """Read questions; those with a word that is not in the vocabulary are counted, not used."""
    from firthian.datasets.word_tasks import Questions, read

    questions = read(path, "analogy")
    if not isinstance(questions, Questions):
        raise FirthianError(f"{path} holds no analogies", hint="a question is four words, as: man king woman queen")
    known = []
    for words in questions.words:
        found = [word.lower() if counts.vocabulary.lowercase else word for word in words]
        if all(word in counts.vocabulary for word in found):
            known.append([counts.vocabulary[word] for word in found])
    if not known:
        raise FirthianError(f"no question in {path} has four known words", hint="lower --min-count")
    return Taught(np.array(known, dtype=np.int64), len(questions) - len(known))


def split_questions(
    words: list[tuple[str, str, str, str]], ratio: float, seed: int, strict: bool
) -> tuple[Array, Array]:
    """Divide questions into those to teach and those to ask; give their numbers.

    The paper's split is random. Its questions share word pairs (Athens Greece with twenty others), so much of what is asked
    was taught. With ``strict`` the *pairs* are divided: a question is taught if both its pairs are to be taught, asked if
    neither is, and left out otherwise, so that no pair of an asked question was ever taught.
    """
    generator = np.random.default_rng([seed, 0x5E3F])
    if not strict:
        order = generator.permutation(len(words))
        cut = round(ratio * len(words))
        return np.sort(order[:cut]), np.sort(order[cut:])
    pairs = sorted({frozenset(pair) for a, b, c, d in words for pair in ((a, b), (c, d))}, key=sorted)
    chosen = set(generator.permutation(len(pairs))[: round(ratio * len(pairs))].tolist())
    taught = {pair for number, pair in enumerate(pairs) if number in chosen}
    sides = np.array([(frozenset((a, b)) in taught) + (frozenset((c, d)) in taught) for a, b, c, d in words])
    return np.flatnonzero(sides == 2), np.flatnonzero(sides == 0)


def _rows(pairs: SeenPairs, rows: Array, weight: float) -> SeenPairs:
    """Return some rows, again and again where asked, their counts times a weight."""
    sizes = np.diff(pairs.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(pairs.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return replace(
        pairs, indptr=indptr, indices=pairs.indices[places], values=np.float32(weight) * pairs.values[places]
    )


def _transposed(pairs: SeenPairs, more: SeenPairs, words: int) -> SeenPairs:
    """Return the columns of two matrices above each other."""
    import scipy.sparse

    matrix = scipy.sparse.vstack(
        [
            scipy.sparse.csr_array((part.values, part.indices, part.indptr), shape=(part.rows, words))
            for part in (pairs, more)
        ]
    ).tocsc()
    return replace(
        pairs,
        indptr=matrix.indptr.astype(np.int64, copy=False),
        indices=matrix.indices.astype(np.int32, copy=False),
        values=matrix.data.astype(np.float32, copy=False),
    )
