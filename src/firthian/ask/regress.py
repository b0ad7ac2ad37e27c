"""Embedding regression: do documents of different kinds use a word differently? (Rodriguez, Spirling and Stewart 2023)

Every occurrence of a target has a vector, à la carte; these are regressed on covariates of their documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.alacarte import Contexts, Transform, learn_transform, load_transform
from firthian.ask.corpus import Covariate, TextTable, read_table
from firthian.ask.formula import Design, Formula, constant_within, drop_missing
from firthian.ask.least_squares import Fit, Units, bootstrap_norms, permutation_p, sign_flip_p
from firthian.ask.regression import Cell, Coefficient, Regression, Sentence
from firthian.ask.settings import DOCUMENT, OCCURRENCE, RegressSettings
from firthian.ask.targets import Occurrences, find_target, parse_target
from firthian.ask.tokens import TokenTable, best_places, sentence_of, tokenize_table, words_to_drop
from firthian.errors import FirthianError
from firthian.options import listing
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run, one_blas_thread
from firthian.text.tokenizer import Tokenizer
from firthian.text.vocabulary import read_words
from firthian.vectors.documents import tokenizer_of
from firthian.vectors.formats import open_vectors
from firthian.vectors.rows import scale_to_unit
from firthian.vectors.search import Search
from firthian.vectors.vectors import Vectors

TableSource = str | os.PathLike[str] | Mapping[str, Iterable[Any]] | TextTable

#: Words nearest to a vector are sought among those seen at least so often.
_CANDIDATES_FROM = 5

#: Fewer clusters than this make every test rough.
_FEW = 20


@dataclass
class Study:
    """A corpus, vectors and a formula, read and checked: what one target and all words share."""

    settings: RegressSettings
    run: Run
    table: TextTable
    tokenizer: Tokenizer
    tokens: TokenTable
    dropped: Array
    usable: Array
    contexts: Contexts
    transform: Transform
    formula: Formula
    covariates: dict[str, Covariate]

    @classmethod
    def read(
        cls,
        corpus: TableSource,
        formula: str,
        vectors: Vectors | str | os.PathLike[str],
        settings: RegressSettings,
        run: Run,
        *,
        transform: Any = None,
        stop_words: Any = None,
        text_column: str | None = None,
        format: str = "auto",
        tokenizer: Tokenizer | str | None = None,
    ) -> Study:
        """Read everything; raise before slow work where something does not fit."""
        parsed = Formula.parse(formula)
        stops = read_words(stop_words) or frozenset()
        table = read_table(corpus, text_column, format)
        covariates = parsed.covariates(table)
        if settings.cluster_by not in (DOCUMENT, OCCURRENCE) or settings.cluster_by in table.columns:
            table.covariate(settings.cluster_by)
        opened = vectors if isinstance(vectors, Vectors) else open_vectors(vectors)
        given = None
        if transform is not None and not (isinstance(transform, str) and transform == "none"):
            given = load_transform(transform, opened.vector_size)
        splitter = tokenizer if isinstance(tokenizer, Tokenizer) else tokenizer_of(opened, tokenizer)
        run.progress.start("reading text", None)
        tokens = tokenize_table(table, splitter, run.threads)
        dropped = words_to_drop(tokens.vocabulary, settings.min_length, stops)
        usable = ~dropped & (tokens.vocabulary.counts >= settings.min_count)
        dropped = ~usable if settings.close_gaps else dropped
        tokens = tokens.without(dropped)
        contexts = Contexts.of(tokens, opened, usable, settings.window, run.threads)
        if given is None:
            run.progress.start("learning transform", None)
            given = Transform(None, "none") if transform is not None else learn_transform(contexts)
        return cls(
            settings, run, table, splitter, tokens, dropped, usable, contexts, given, parsed, covariates,
        )  # fmt: skip

    @cached_property
    def clusters(self) -> Array:
        """The cluster of each document; -1 where its column has no value."""
        name = self.settings.cluster_by
        if name in (DOCUMENT, OCCURRENCE) and name not in self.table.columns:
            return np.arange(len(self.table))
        return self.table.covariate(name).codes

    @property
    def by_occurrence(self) -> bool:
        """Whether every occurrence is its own cluster."""
        return self.settings.cluster_by == OCCURRENCE and OCCURRENCE not in self.table.columns

    @property
    def cluster_name(self) -> str:
        """What clusters are, for people."""
        name = self.settings.cluster_by
        return f"{name}s" if name in (DOCUMENT, OCCURRENCE) and name not in self.table.columns else f"groups by {name}"

    @cached_property
    def complete(self) -> tuple[Array, list[str]]:
        """Which documents have all covariates and a cluster, and notes on the others."""
        columns = list(self.covariates.values())
        if self.settings.cluster_by in self.table.columns:
            columns.append(self.table.covariate(self.settings.cluster_by))
        unique = {covariate.name: covariate for covariate in columns}
        kept, notes = drop_missing(unique.values(), np.arange(len(self.table)))
        if notes and self.settings.missing == "refuse":
            raise FirthianError(f"missing values: {', '.join(notes)}", hint="fill them in, or use `missing=drop`")
        dropped = int((~kept).sum())
        if dropped == len(self.table):
            raise FirthianError(f"no document has all covariates: {', '.join(notes)}", hint="check the columns")
        told = [f"{dropped:,} of {len(self.table):,} documents dropped: {', '.join(notes)}"] if dropped else []
        return kept, told

    @cached_property
    def search(self) -> tuple[Search, Array]:
        """A search over the vectors of words of the corpus, and their ids."""
        counts = self.tokens.vocabulary.counts
        least = max(_CANDIDATES_FROM, self.settings.min_count)
        known = self.contexts.known
        candidates = known[counts[known] >= least]
        if not candidates.size:
            candidates = known
        words = [self.tokens.vocabulary.words[word] for word in candidates]
        return Search(self.contexts.matrix[self.contexts.rows[candidates]], words), candidates

    def nearest(self, vectors: Array, without: frozenset[str], topn: int) -> list[list[tuple[str, float]]]:
        """Return the words nearest to each vector, without those of the target."""
        search, candidates = self.search
        words = self.tokens.vocabulary.words
        excluded = [place for place, word in enumerate(candidates) if words[word] in without]
        unit = scale_to_unit(vectors).astype(np.float32)
        found = search.nearest(unit, topn, [excluded] * len(unit))
        return [[(words[candidates[place]], float(score)) for place, score in some] for some in found]

    def cosines(self, vectors: Array, words: Sequence[str]) -> Array:
        """Return the cosine of each vector with each of some words of the corpus."""
        rows = self.contexts.matrix[self.contexts.rows[[self.tokens.vocabulary.index[word] for word in words]]]
        return np.asarray(scale_to_unit(vectors) @ scale_to_unit(rows.astype(np.float64)).T)

    def describe(self) -> dict[str, Any]:
        """Return the settings for the record."""
        return {
            "corpus": self.table.source, "formula": self.formula.text, "transform": self.transform.source,
            "tokenizer": self.tokenizer.name, **self.settings.as_dict(),
        }  # fmt: skip

    def remarks(self, clusters: int) -> list[str]:
        """Return notes that every answer has."""
        notes = [*self.complete[1], f"transform: {self.transform.source}"]
        if self.contexts.coverage < 0.8:
            notes.append(f"only {self.contexts.coverage:.0%} of the tokens have a vector")
        if clusters < _FEW:
            notes.append(f"only {clusters} {self.cluster_name}: p-values and intervals are rough")
        if self.by_occurrence:
            notes.append("occurrences in one document are not independent: p-values by occurrence are too small")
        return notes


@listing(RegressSettings)
@one_blas_thread()
def regress(
    corpus: TableSource,
    target: str | Sequence[str],
    formula: str,
    vectors: Vectors | str | os.PathLike[str],
    *,
    transform: Any = None,
    stop_words: Any = None,
    text_column: str | None = None,
    format: str = "auto",
    tokenizer: Tokenizer | str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Regression:
    """Regress the vectors of a target's occurrences on covariates of their documents.

    ``corpus`` is a table with a text in one column: a file, a data frame or a dictionary of columns. ``target`` is a word, a
    phrase, a pattern such as ``immigr*``, or a list of these. ``formula`` combines columns, as in ``party * gender + year``.
    ``transform`` is the à la carte matrix (an array or a file of numpy) that belongs to the vectors; without one it is
    learned from the corpus, and with ``"none"`` vectors are means of context vectors.

    >>> import firthian as ft
    >>> texts = ["hot tea please", "a cup of hot tea", "cold tea again", "very cold tea"] * 5
    >>> vectors = ft.Vectors(np.eye(2), ft.Vocabulary(["hot", "cold"]))
    >>> party = ["R", "R", "D", "D"] * 5
    >>> result = ft.regress({"text": texts, "party": party}, "tea", "party", vectors, transform="none", permutations=99)
    >>> result.coefficients["party_R"].nearest[0][0], result.coefficients["party_R"].p
    ('hot', 0.01)
    """
    chosen = RegressSettings(**settings)
    run = Run.create(chosen.seed, workers, progress=progress or Silent())
    study = Study.read(
        corpus, formula, vectors, chosen, run, transform=transform, stop_words=stop_words, text_column=text_column,
        format=format, tokenizer=tokenizer,
    )  # fmt: skip
    return answer(study, target)


def answer(study: Study, target: str | Sequence[str]) -> Regression:
    """Answer for one target."""
    found = find_target(study.tokens, parse_target(target, study.tokenizer), study.usable)
    kept, _ = study.complete
    everywhere = len(found)
    found = found.select(kept[found.documents])
    if not len(found):
        raise FirthianError(
            f"the target occurs {everywhere:,} times, but only in documents that lack a covariate",
            hint="fill in the missing values",
        )
    groups = np.arange(len(found)) if study.by_occurrence else found.documents
    number = len(found) if study.by_occurrence else len(study.table)
    documents = found.documents if study.by_occurrence else np.arange(number)
    sums, sizes, have = study.contexts.sums(found, groups, number)
    rows = np.flatnonzero(sizes)
    if rows.size == 0:
        raise FirthianError("no occurrence of the target has a known word near it", hint="widen `window`")
    sums, sizes, documents = study.transform.apply(sums[rows]), sizes[rows], documents[rows]
    design = study.formula.design(study.covariates, documents)
    fit, p, how = fit_and_test(study, sums, sizes, documents, design)
    estimate = fit.estimate()
    intervals = _intervals(study, fit, estimate.bias, estimate.debiased, estimate.se)
    columns = design.coefficients
    nearest = study.nearest(fit.beta[columns], found.words, study.settings.topn)
    coefficients = {
        design.names[column]: Coefficient(
            design.names[column], float(estimate.raw[column]), float(estimate.debiased[column]),
            float(estimate.se[column]), intervals[column], float(p[column]), words,
        )
        for column, words in zip(columns, nearest, strict=True)
    }  # fmt: skip
    cells, ratios = _cells(study, found.select(have), sums, sizes, documents)
    occurrences = int(sizes.sum())
    notes = [how]
    notes += [f"se: jackknife over {fit.units.clusters_number:,} {study.cluster_name}"]
    if everywhere > len(found):
        notes.append(f"{everywhere - len(found):,} of {everywhere:,} occurrences are in dropped documents")
    if alone := int((~have).sum()):
        notes.append(f"{alone:,} occurrences left out: no known word near them")
    notes += study.remarks(fit.units.clusters_number)
    spelled = target if isinstance(target, str) else ", ".join(target)
    return Regression(
        title=f"{spelled} ~ {study.formula.text}",
        n=occurrences,
        documents=int(np.unique(documents).size),
        clusters=fit.units.clusters_number,
        coefficients=coefficients,
        cells=cells,
        ratios=ratios,
        notes=notes,
        settings={"target": spelled, **study.describe()},
    )


def fit_and_test(study: Study, sums: Array, sizes: Array, documents: Array, design: Design) -> tuple[Fit, Array, str]:
    """Fit and return p-values, and how they were computed; raise if there are too few clusters."""
    clusters = np.arange(sizes.size) if study.by_occurrence else study.clusters[documents]
    units = Units.of(sums, sizes, design.matrix, clusters)
    number, k = units.clusters_number, len(design.names)
    if number <= k:
        times = f"{int(sizes.sum()):,} occurrences" if sizes.sum() > 1 else "1 occurrence"
        raise FirthianError(
            f"{k} coefficients cannot be estimated from {times} in {number} {study.cluster_name}",
            hint="simplify the formula, or choose a more frequent target",
        )
    design.check_rank(units.design)
    generator = study.run.generator("regress")
    permutations = study.settings.permutations
    if constant_within(units.design, units.clusters):
        fit = Fit(units.merged())
        p = permutation_p(fit, permutations, generator)
        return fit, p, f"p: {permutations:,} permutations of covariates over {number:,} {study.cluster_name}"
    fit = Fit(units)
    p = sign_flip_p(fit, permutations, generator)
    how = f"p: {permutations:,} random signs of {number:,} {study.cluster_name}, within which covariates vary"
    return fit, p, how


def _intervals(study: Study, fit: Fit, bias: Array, debiased: Array, se: Array) -> list[tuple[float, float]]:
    """Return 95 % intervals of the debiased squared norms."""
    low, high = debiased - 1.96 * se, debiased + 1.96 * se
    if study.settings.bootstrap:
        norms = bootstrap_norms(fit, study.settings.bootstrap, study.run.generator("bootstrap"))
        # A resample of the data is as far from the estimate as the estimate is from the truth: the bias is there twice.
        ends = np.quantile(norms - 2 * bias, (0.025, 0.975), axis=0)
        low, high = np.minimum(ends[0], debiased), np.maximum(ends[1], debiased)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _cells(
    study: Study, found: Occurrences, sums: Array, sizes: Array, documents: Array
) -> tuple[list[Cell], list[tuple[str, str, str, float, float]]]:
    """Return the mean vector of each level with its nearest words and sentences, and cosines of pairs of levels."""
    groups = [
        (covariate, levels)
        for covariate in {one.name: one for one in study.covariates.values()}.values()
        for levels in [_levels(covariate, documents)]
    ]
    named = [(name, chosen) for _, levels in groups for name, chosen in levels]
    vectors = np.stack([sums[chosen].sum(axis=0) / sizes[chosen].sum() for _, chosen in named])
    settings = study.settings
    nearest = study.nearest(vectors, found.words, settings.topn)
    members = np.zeros((len(named), len(study.table)), dtype=bool)
    for place, (_, chosen) in enumerate(named):
        members[place, documents[chosen]] = True
    sentences = _sentences(study, found, vectors, members) if settings.sentences else [[] for _ in named]
    cells = [
        Cell(name, int(sizes[chosen].sum()), int(np.unique(documents[chosen]).size), words, some)
        for (name, chosen), words, some in zip(named, nearest, sentences, strict=True)
    ]
    ratios: list[tuple[str, str, str, float, float]] = []
    first = 0
    for _, levels in groups:
        for place in range(first + 1, first + len(levels)):
            words = list(dict.fromkeys(word for pair in (nearest[first], nearest[place]) for word, _ in pair))
            before, after = study.cosines(vectors[[first, place]], words)
            rows = [
                (word, cells[place].name, cells[first].name, float(b), float(a))
                for word, a, b in zip(words, before, after, strict=True)
            ]
            ratios += sorted(rows, key=lambda row: -row[3] / row[4] if row[4] > 0 else -np.inf)
        first += len(levels)
    return cells, ratios


def _levels(covariate: Covariate, documents: Array) -> list[tuple[str, Array]]:
    """Return the levels of a factor, or the lowest and the highest third of numbers, and which units are in each."""
    codes = covariate.codes[documents]
    used = np.unique(codes)
    if covariate.numbers is None or used.size <= 3:
        return [(f"{covariate.name}_{covariate.levels[code]}", np.flatnonzero(codes == code)) for code in used]
    values = covariate.numbers[documents]
    low, high = np.quantile(values, (1 / 3, 2 / 3))
    return [
        (f"{covariate.name} ≤ {low:.6g}", np.flatnonzero(values <= low)),
        (f"{covariate.name} ≥ {high:.6g}", np.flatnonzero(values >= high)),
    ]


def _sentences(study: Study, found: Occurrences, vectors: Array, members: Array) -> list[list[Sentence]]:
    """Return for each cell the sentences of its own whose occurrences are nearest to its mean vector."""
    unit = scale_to_unit(vectors)
    scores = np.empty((len(vectors), len(found)))
    for part, means, _ in study.contexts.blocks(found):
        cosines = unit @ scale_to_unit(study.transform.apply(means)).T
        scores[:, part] = np.where(members[:, found.documents[part]], cosines, -np.inf)
    result = []
    for row in scores:
        places = best_places(row, found.documents, study.settings.sentences)
        result.append(
            [
                Sentence(
                    f"line {study.table.lines[document]}",
                    sentence_of(
                        study.table, study.tokens, study.dropped, study.tokenizer, document, int(found.positions[place])
                    ),
                    float(row[place]),
                )
                for place in places
                for document in [int(found.documents[place])]
            ]
        )
    return result
