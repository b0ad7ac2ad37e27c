"""Embedding regression of every word in one pass over the text, with control of false discoveries."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.alacarte import every_occurrence
from firthian.ask.formula import constant_within
from firthian.ask.least_squares import Estimate, Fit, Units, permutation_p
from firthian.ask.regress import Study, TableSource
from firthian.ask.result import Result
from firthian.ask.settings import RegressSettings
from firthian.ask.targets import Occurrences
from firthian.errors import FirthianError, require
from firthian.options import listing
from firthian.runtime.figures import COLORS, plain_text
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run, one_blas_thread
from firthian.runtime.table import Column, Table
from firthian.text.tokenizer import Tokenizer
from firthian.vectors.vectors import Vectors

#: Words that are tested together; it fixes nothing but the size of a task.
_WORDS = 32

#: The factor of extra permutations, and the most permutations that may surpass a word that gets them.
_MORE, _FEW = (10, 100), 5

#: The false discovery rate that more permutations aim at.
_RATE = 0.1


@dataclass(frozen=True)
class WordRow:
    """A coefficient of one word."""

    word: str
    coefficient: str
    n: int
    clusters: int
    norm2: float
    norm2_debiased: float
    se: float
    p: float
    q: float
    nearest: list[str]


@dataclass(frozen=True, repr=False)
class WordRegressions(Result):
    """Which words are used differently, lowest p-value first."""

    title: str
    rows: Sequence[WordRow] = field(repr=False)
    notes: Sequence[str] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)

    @property
    def tables(self) -> dict[str, Table]:
        """One row per word and coefficient."""
        names = ("norm2", "norm2_debiased", "se")
        columns = (
            Column("word"), Column("coefficient"), Column("n", int), Column("clusters", int),
            *(Column(name, float, ".4f") for name in names), Column("p", float, ".2g"), Column("q", float, ".2g"),
            Column("nearest", list),
        )  # fmt: skip
        return {"words": Table(self.title, columns, [tuple(vars(row).values()) for row in self.rows])}

    def shown_tables(self) -> list[Table]:
        """Return the first words."""
        return [self.table.head(30)]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""
        return {"words": [vars(row) for row in self.rows], "notes": list(self.notes)}

    def figure(self, **options: Any) -> Any:
        """Return a volcano plot: effect against p-value, the strongest words named."""
        return volcano_plot(self.rows, self.title, **options)


def volcano_plot(rows: Sequence[WordRow], title: str, *, labels: int = 25, width: float = 7.0) -> Any:
    """Return a figure of effect against p-value, with the strongest words named."""
    figure = require("matplotlib.figure", "ask").Figure(figsize=(width, 0.75 * width), dpi=150, layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(row.coefficient for row in rows))
    for number, name in enumerate(names):
        own = [row for row in rows if row.coefficient == name]
        color = COLORS[number % len(COLORS)]
        found = np.array([row.q <= _RATE for row in own], dtype=bool)
        x, y = np.array([row.norm2_debiased for row in own]), -np.log10([row.p for row in own])
        axes.scatter(x[~found], y[~found], s=8, color=color, alpha=0.25, linewidths=0)
        axes.scatter(x[found], y[found], s=12, color=color, linewidths=0, label=plain_text(name))
    for row in sorted(rows, key=lambda row: (row.p, -row.norm2_debiased))[:labels]:
        axes.annotate(
            plain_text(row.word), (row.norm2_debiased, -np.log10(row.p)), fontsize=7, parse_math=False,
            xytext=(2, 2), textcoords="offset points",
        )  # fmt: skip
    axes.set(xlabel="squared norm of the coefficient, debiased", ylabel="-log10 p")
    axes.set_title(plain_text(title), loc="left", fontsize=11, parse_math=False)
    if any(row.q <= _RATE for row in rows):
        axes.legend(title=f"q ≤ {_RATE:g}", frameon=False)
    return figure


def benjamini_hochberg(p: Array) -> Array:
    """Return q-values: the smallest false discovery rate at which each is a discovery.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    q = np.empty(p.size)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


@listing(RegressSettings)
def regress_all(
    corpus: TableSource,
    formula: str,
    vectors: Vectors | str | os.PathLike[str],
    *,
    min_occurrences: int = 50,
    transform: Any = None,
    stop_words: Any = None,
    text_column: str | None = None,
    format: str = "auto",
    tokenizer: Tokenizer | str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> WordRegressions:
    """Regress every word seen at least ``min_occurrences`` times on covariates of its documents.

    The other arguments are those of ``regress``. The covariates must be the same within each cluster. Words with fewer
    clusters than coefficients, or in one level only, are left out and counted.
    """
    chosen = RegressSettings(**settings)
    run = Run.create(chosen.seed, workers, progress=progress or Silent())
    study = Study.read(
        corpus, formula, vectors, chosen, run, transform=transform, stop_words=stop_words, text_column=text_column,
        format=format, tokenizer=tokenizer,
    )  # fmt: skip
    if study.by_occurrence:
        raise FirthianError(
            "`cluster_by=occurrence` is for single targets", hint="use `cluster_by=document` or a column"
        )
    counts = study.tokens.vocabulary.counts
    words = np.flatnonzero((counts >= min_occurrences) & study.usable)
    if not words.size:
        raise FirthianError(f"no word occurs {min_occurrences:,} times", hint="lower `min_occurrences`")
    return WordTests(study).answer(words, min_occurrences)


@dataclass(frozen=True)
class Tested:
    """What was found for one word: occurrences, clusters, coefficients, their norms and p-values."""

    n: int
    clusters: int
    beta: Array
    estimate: Estimate
    p: Array


class WordTests:
    """The tests of many words on one design."""

    def __init__(self, study: Study) -> None:
        self.study = study
        kept, _ = study.complete
        documents = np.flatnonzero(kept)
        design = study.formula.design(study.covariates, documents)
        design.check_rank(design.matrix)
        _, numbers = np.unique(study.clusters[documents], return_inverse=True)
        if not constant_within(design.matrix, numbers):
            raise FirthianError(
                f"covariates vary within {study.cluster_name}",
                hint="choose another `cluster_by`, or test single targets",
            )
        self.names, self.columns = design.names, design.coefficients
        #: The cluster of each document, -1 for those left out, and the row of the design of each cluster.
        self.cluster = np.full(len(study.table), -1, dtype=np.int64)
        self.cluster[documents] = numbers
        self.design = np.empty((int(numbers.max()) + 1, len(self.names)))
        self.design[numbers] = design.matrix

    def answer(self, words: Array, min_occurrences: int) -> WordRegressions:
        """Test all words and collect the rows."""
        study = self.study
        found, starts = every_occurrence(study.tokens, words)
        own = {int(word): slice(int(starts[at]), int(starts[at + 1])) for at, word in enumerate(words)}
        tested: dict[int, Tested] = {}
        chosen, permutations = list(own), study.settings.permutations
        for times in (1, *_MORE):
            tested |= self.test(chosen, found, own, permutations * times)
            p = np.array([value for one in tested.values() for value in one.p])
            if not p.size:
                raise FirthianError("no word occurs in enough clusters of every level", hint="lower `min_occurrences`")
            q = benjamini_hochberg(p).reshape(len(tested), -1)
            # More permutations only where they can decide: few surpass the word, and its rate is still too high.
            few = (1 + _FEW) / (1 + permutations * times)
            chosen = [
                word
                for (word, one), some in zip(tested.items(), q, strict=True)
                if ((one.p <= few) & (some > _RATE)).any()
            ]
            if not chosen:
                break
        rows = self._rows(tested, q)
        number = self.design.shape[0]
        notes = [
            f"p: {permutations:,} permutations of covariates over the {study.cluster_name} with the word, up to "
            f"{permutations * _MORE[-1]:,} where few surpass it; {number:,} {study.cluster_name}",
            f"q: Benjamini-Hochberg over {len(rows):,} tests of words seen {min_occurrences:,} times or more",
        ]
        if left_out := words.size - len(tested):
            notes.append(f"{left_out:,} words left out: too few {study.cluster_name}, or not in every level")
        settings = {**study.describe(), "min_occurrences": min_occurrences}
        return WordRegressions(f"all words ~ {study.formula.text}", rows, [*notes, *study.remarks(number)], settings)

    def test(
        self, words: list[int], found: Occurrences, own: Mapping[int, slice], permutations: int
    ) -> dict[int, Tested]:
        """Test some words with N permutations, in parallel; those that cannot be tested are left out."""
        run = self.study.run
        run.progress.start("testing words", len(words))

        def test(block: list[int]) -> list[tuple[int, Tested | None]]:
            return [(word, self.one(word, found.select(own[word]), permutations)) for word in block]

        tested: dict[int, Tested] = {}
        with one_blas_thread():
            for results in run.threads.map(test, [words[at : at + _WORDS] for at in range(0, len(words), _WORDS)]):
                tested |= {word: one for word, one in results if one is not None}
                run.progress.advance(len(results))
        return tested

    def one(self, word: int, found: Occurrences, permutations: int) -> Tested | None:
        """Test one word; None if it occurs in too few clusters, or not in every level."""
        study, k = self.study, len(self.names)
        present, sums, sizes = self.sums(found)
        units = Units.of(sums, sizes, self.design[present], present)
        if units.sizes.size <= k + 1 or np.linalg.matrix_rank(units.design) < k:
            return None
        fit = Fit(units)
        # The generator depends on the word alone, so results do not depend on which words are tested.
        p = permutation_p(fit, permutations, study.run.generator("words", word))[self.columns]
        return Tested(int(sizes.sum()), units.sizes.size, fit.beta[self.columns], fit.estimate(), p)

    def sums(self, found: Occurrences) -> tuple[Array, Array, Array]:
        """Return the clusters with occurrences, the sums of their vectors, and how many have contexts."""
        from firthian.kernels.contexts import group_sums

        clusters = self.cluster[found.documents]
        inside = np.flatnonzero(clusters >= 0)
        present, groups = np.unique(clusters[inside], return_inverse=True)
        sums, sizes = (
            np.zeros((present.size, self.study.contexts.matrix.shape[1])),
            np.zeros(present.size, dtype=np.int64),
        )
        for first in range(0, inside.size, 4096):
            part = slice(first, first + 4096)
            means, known = self.study.contexts.means(found.select(inside[part]))
            group_sums(means, known, groups[part], sums, sizes)
        return present, self.study.transform.apply(sums), sizes

    def _rows(self, tested: Mapping[int, Tested], q: Array) -> list[WordRow]:
        """Return the rows, lowest p-value first, with the nearest words of coefficients."""
        spelled = self.study.tokens.vocabulary.words
        rows = []
        for (word, one), rates in zip(tested.items(), q, strict=True):
            nearest = self.study.nearest(one.beta, frozenset([spelled[word]]), 5) if one.p.min() < 0.05 else None
            for place, column in enumerate(self.columns):
                estimate = one.estimate
                rows.append(
                    WordRow(
                        spelled[word], self.names[column], one.n, one.clusters, float(estimate.raw[column]),
                        float(estimate.debiased[column]), float(estimate.se[column]), float(one.p[place]),
                        float(rates[place]), [] if nearest is None else [name for name, _ in nearest[place]],
                    )
                )  # fmt: skip
        return sorted(rows, key=lambda row: (row.p, -row.norm2_debiased, row.word, row.coefficient))
