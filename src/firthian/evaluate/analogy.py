"""Analogies, a : b = c : ?, by 3CosAdd and 3CosMul.

The cosines of all question words with a block of candidates are one matrix product; both answers to every question
follow from three rows of it. Blocks run in parallel, and their winners are merged in vocabulary order, so ties go to the
more frequent word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.datasets.word_tasks import Questions
from firthian.errors import FirthianError
from firthian.evaluate.ranks import mcnemar
from firthian.evaluate.run import EvaluationJob
from firthian.evaluate.sets import Set, open_set
from firthian.evaluate.words import Lookup
from firthian.runtime.run import Run, one_blas_thread
from firthian.vectors.search import EPSILON, cosines_to_unit
from firthian.vectors.vectors import Vectors

#: The two methods, in column order.
METHODS = ("3cosadd", "3cosmul")

#: Candidates per block: its cosines with a thousand words fit the processor's cache.
BLOCK_WORDS = 1024


@dataclass(frozen=True)
class AnalogyResult:
    """The result of a set of questions.

    ``answers`` are word ids by 3CosAdd and 3CosMul (-1 for questions not covered), ``correct`` whether they are right,
    ``known`` and ``counted`` which questions are covered and which count.
    """

    set: Questions
    answers: Array
    correct: Array
    known: Array
    counted: Array
    missing: list[str]
    zero_length: list[str]

    def part(self, chosen: Array) -> dict[str, Any]:
        """Return the accuracy on a subset of the questions."""
        counted = int((chosen & self.counted).sum())
        right = self.correct[chosen & self.counted].sum(axis=0)
        facts: dict[str, Any] = {
            method: float(right[column] / counted) if counted else None for column, method in enumerate(METHODS)
        }
        return facts | {"questions": int(chosen.sum()), "covered": int((chosen & self.known).sum())}

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        questions = self.set
        facts = self.part(np.ones(len(questions), dtype=bool))
        facts |= {name: self.part(chosen) for name, chosen in self._halves()}
        facts["sections"] = {
            section: self.part(questions.section_of == number) for number, section in enumerate(questions.sections)
        }
        facts["missing"] = self.missing
        if self.zero_length:
            facts["zero_length"] = self.zero_length
        return facts

    def _halves(self) -> Iterator[tuple[str, Array]]:
        """Yield the semantic and the syntactic questions, if the set distinguishes them."""
        for name, is_semantic in (("semantic", True), ("syntactic", False)):
            sections = [number for number, kind in enumerate(self.set.semantic) if kind is is_semantic]
            if sections:
                yield name, np.isin(self.set.section_of, sections)

    def compare(self, other: AnalogyResult, run: Run) -> dict[str, Any]:
        """Compare with other vectors on the questions that count for both, by McNemar's exact test.

        The semantic and syntactic halves of a set, if any, are tested too.
        """
        if self.set.words != other.set.words:
            raise FirthianError("cannot compare results of different sets", hint="use one set for both")
        both = self.counted & other.counted
        facts = self._tests(other, both)
        # A half that is the whole set adds nothing.
        return facts | {name: self._tests(other, both & half) for name, half in self._halves() if not half.all()}

    def _tests(self, other: AnalogyResult, both: Array) -> dict[str, Any]:
        """Test each method on a subset of the questions."""
        facts: dict[str, Any] = {"questions": int(both.sum())}
        for column, method in enumerate(METHODS):
            one, two = self.correct[both, column], other.correct[both, column]
            only_one, only_two = int((one & ~two).sum()), int((two & ~one).sum())
            facts[method] = {
                "difference": (only_two - only_one) / len(one) if len(one) else None,
                "p_value": mcnemar(only_one, only_two) if len(one) else None,
                "test": "mcnemar",
            }
        return facts


def answer(vectors: Vectors, ids: Array, lookup: Lookup, run: Run, epsilon: float = EPSILON) -> Array:
    """Return the best answers to questions (rows of a, b, c) by 3CosAdd and 3CosMul, -1 if there are no candidates.

    The question's own words are excluded. Following Levy and Goldberg, cosines are shifted to 0..1 for 3CosMul unless the
    vectors have no negative value.
    """
    from firthian.kernels.analogies import best_answers

    matrix, lengths = vectors.matrix, lookup.lengths
    candidates = np.flatnonzero(lengths[: lookup.words] > 0)
    position = np.full(len(vectors), -1, dtype=np.int64)
    position[candidates] = np.arange(candidates.size)
    asked, rows = np.unique(ids, return_inverse=True)
    rows = np.ascontiguousarray(rows.reshape(ids.shape))
    scale, offset = cosines_to_unit(matrix)
    cosines_of = _cosines(matrix, lengths, asked)

    def task(first: int) -> tuple[Array, Array]:
        block = candidates[first : first + BLOCK_WORDS]
        cosines = cosines_of(block)
        inverse = 1 / (np.float32(scale) * cosines + np.float32(offset) + np.float32(epsilon))
        best, where = np.empty((len(ids), 2), dtype=np.float32), np.empty((len(ids), 2), dtype=np.int64)
        best_answers((cosines, inverse), rows, position[ids] - first, scale, offset, best, where)
        return best, np.where(where >= 0, block[where], -1)

    winners = np.full((len(ids), 2), -1, dtype=np.int64)
    scores = np.full((len(ids), 2), -np.inf, dtype=np.float32)
    starts = range(0, candidates.size, BLOCK_WORDS)
    with one_blas_thread():
        for best, words in run.executor.map(task, starts):
            better = best > scores
            winners[better], scores[better] = words[better], best[better]
            run.progress.advance()
    return winners


def _cosines(matrix: Any, lengths: Array, asked: Array) -> Callable[[Array], Array]:
    """Return a function: rows of candidates -> their cosines with the question words, float32."""
    unit = 1 / lengths[asked]
    if isinstance(matrix, np.ndarray):
        questions = (matrix[asked] * unit[:, None]).astype(np.float32)

        def dense(block: Array) -> Array:
            product: Array = questions @ (matrix[block] / lengths[block][:, None]).astype(np.float32).T
            return product

        return dense

    from firthian.kernels.analogies import sparse_products

    columns = matrix[asked].tocsc()
    values = (columns.data * unit[columns.indices]).astype(np.float32)

    def sparse(block: Array) -> Array:
        product = np.empty((asked.size, block.size), dtype=np.float32)
        rows, asked_columns = (matrix.indptr, matrix.indices, matrix.data), (columns.indptr, columns.indices, values)
        sparse_products(rows, block, asked_columns, product)
        cosines: Array = (product / lengths[block]).astype(np.float32)
        return cosines

    return sparse


def measure(
    vectors: Vectors, questions: Questions, job: EvaluationJob, run: Run, lookup: Lookup | None = None
) -> AnalogyResult:
    """Evaluate one set of questions."""
    lookup = lookup or Lookup(vectors, job.restrict_vocab)
    rows = lookup.find(questions.words)
    known = rows.covered
    answers = np.full((len(questions), 2), -1, dtype=np.int64)
    if known.any():
        run.progress.start(f"analogies {questions.name}", -(-lookup.words // BLOCK_WORDS))
        answers[known] = answer(vectors, rows.ids[known, :3], lookup, run)
    correct = known[:, None] & (answers == rows.ids[:, 3:])
    counted = known if job.oov != "zero" else np.ones_like(known)
    return AnalogyResult(questions, answers, correct, known, counted, rows.missing, rows.zero_length)


def suite(vectors: Vectors, job: EvaluationJob, run: Run) -> dict[str, AnalogyResult]:
    """Evaluate every chosen set of questions."""
    lookup = Lookup(vectors, job.restrict_vocab)
    return {
        questions.name: measure(vectors, questions, job, run, lookup)
        for questions in job.sets.get("analogy", [])
        if isinstance(questions, Questions)
    }


def compare_analogy(one: Vectors, other: Vectors, questions: Set, *, oov: str = "skip") -> dict[str, Any]:
    """Test whether two models solve analogies equally well, by McNemar's exact test for each method."""
    job, run = EvaluationJob(oov=oov), Run.create()
    opened = open_set(questions, "analogy")
    if not isinstance(opened, Questions):
        raise FirthianError(f"expected analogies, but {opened.name} is a set of pairs", hint="use compare_similarity")
    return measure(one, opened, job, run).compare(measure(other, opened, job, run), run)
