"""Which words changed between slices of a corpus, and how: tested by permuting documents, with error control.

Context vectors are learned once, on all slices. The contexts of a word in a unit (a document, a book) are added up as the
slope of SGNS's loss, so the difference of two means is one Newton step between the slices' vectors. Means are compared in
the coordinates of ``firthian.ask.coordinates``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.all_words import benjamini_hochberg
from firthian.ask.change_result import ChangedWord, ChangeResult, SliceOfWord
from firthian.ask.coordinates import LEAST_UNITS, SATURATION, Moments, unit_means
from firthian.ask.occurrences import Occurrences
from firthian.ask.permutation import Labels, UnitMeans, WordTest, test_word
from firthian.ask.rows import RowProblem
from firthian.ask.slices import slices_of
from firthian.counts.settings import CountSettings
from firthian.errors import FirthianError, suggest
from firthian.options import Option, declared
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run
from firthian.vectors.vectors import Vectors

#: Words whose units give the coordinates.
SAMPLED_WORDS = 1500

#: Words of a task.
BLOCK = 16

MinOccurrences = Annotated[int, Option("minimum occurrences of a word that is tested", low=2)]
Permutations = Annotated[int, Option("permutations; small p-values take up to 20 times as many", low=19, high=10**6)]
FalseDiscoveryRate = Annotated[float, Option("share of false discoveries to accept", low=0, below=1)]
Topn = Annotated[int, Option("words to describe by neighbors and contexts", low=0)]


def can_measure(vectors: Vectors) -> bool:
    """Return whether ``change`` can measure with these vectors: those of SGNS, with their context vectors."""
    contexts = vectors.contexts
    fitting = contexts is not None and contexts.shape == vectors.matrix.shape and not vectors.provenance.transforms
    return fitting and vectors.provenance.stats.get("family") == "binomial"


@dataclass(frozen=True)
class _Space:
    """Vectors to measure with: u of the words, c of the contexts, their images, and the noise of SGNS."""

    vectors: Vectors
    words: Array
    contexts: Array
    negative: float
    noise: Array

    @classmethod
    def of(cls, vectors: Vectors, frequencies: Array) -> _Space:
        """Take what SGNS learned; raise if the vectors are of another kind."""
        stats, options = vectors.provenance.stats, vectors.provenance.options
        contexts = vectors.contexts
        if contexts is None or not can_measure(vectors):
            raise FirthianError(
                "change needs vectors of the recipe sgns with their context vectors",
                hint="train them: firth train CORPUS -m sgns -o VECTORS; or omit `vectors`",
            )
        contexts = np.ascontiguousarray(contexts, dtype=np.float32)
        factor = np.float32(stats.get("context_factor", 0.0))
        noise = frequencies ** float(options.get("ns_exponent", 1.0)) * (frequencies > 0)
        words = np.ascontiguousarray(vectors.learned - factor * contexts)
        return cls(vectors, words, contexts, float(options.get("negative", 5.0)), noise / max(noise.sum(), 1e-300))

    def to_words(self, word: int, vector: Array) -> Array:
        """Return a vector u of a word as a word vector of the recipe: a share of c added, the mean subtracted."""
        moved = self.vectors.matrix[word] + vector - self.words[word]
        return np.asarray(moved, dtype=np.float32)


class Comparison:
    """A corpus that has been read, divided and embedded, ready for questions about its words.

    ``ft.change`` makes one and asks it once. Keep one to ask about single words without reading the corpus again.

    >>> import firthian as ft
    >>> old = ["the mouse ate the cheese at night"] * 40
    >>> new = ["click the mouse beside the screen"] * 40
    >>> comparison = ft.Comparison(old, new, counting={"min_count": 1, "sample": 0}, vector_size=3)
    >>> comparison.slices.names, comparison.occurrences("mouse")
    (['slice 1', 'slice 2'], [40, 40])
    """

    def __init__(
        self,
        *corpora: Any,
        by: str | None = None,
        cuts: Sequence[float] | None = None,
        unit: str | None = None,
        vectors: Vectors | str | os.PathLike[str] | None = None,
        vector_size: int | None = None,
        missing: str = "drop",
        format: str = "auto",
        text_column: str | None = None,
        counting: Mapping[str, Any] | None = None,
        seed: int = 1,
        workers: int | None = None,
        memory: str | int | None = None,
        progress: Progress | None = None,
    ) -> None:
        from firthian.learn.recipes import find_recipe
        from firthian.learn.train import TrainingPlan, learn
        from firthian.vectors.formats import open_vectors

        self.run = Run.create(seed, workers, memory, progress)
        if not corpora:
            raise FirthianError("no corpus", hint="pass a table and `by`, or a corpus per slice")
        slices = slices_of(corpora, by, cuts, unit, missing, format, text_column)
        self.slices = slices.bundled(self.run.generator("change: bundles"))
        settings = {"seed": seed, **find_recipe("sgns").counting}
        if vectors is not None:
            vectors = vectors if isinstance(vectors, Vectors) else open_vectors(vectors)
            stored = vectors.provenance.counts.get("options", {})
            settings |= {name: stored[name] for name in ("window", "weighting", "context", "sample") if name in stored}
            settings |= {name: vectors.state[name] for name in _TOKENIZING if name in vectors.state}
            _Space.of(vectors, np.ones(len(vectors)))
        settings |= dict(counting or {})
        self.text = Occurrences.read(self.slices, settings, None if vectors is None else vectors.vocabulary, self.run)
        filled = np.isin(np.arange(len(slices.names)), self.slices.unit_slices[self.text.has_words()])
        if not filled.all():
            raise FirthianError(
                f"the slice {slices.names[int(np.argmin(filled))]} contains no words of the vocabulary",
                hint="leave it out, or choose other slices",
            )
        if vectors is None:
            counts = self.text.count(self.run)
            plan = TrainingPlan.create(counts, "sgns", {}, vector_size, seed)
            vectors = learn(plan, self.run, counts=counts)
        elif vector_size is not None:
            raise FirthianError("`vector_size` has no effect on given vectors", hint="omit it")
        self.vectors = vectors
        self.space = _Space.of(vectors, self.text.frequencies())

    def occurrences(self, word: str) -> list[int]:
        """Return how often a word occurs in each slice, after sub-sampling."""
        units = self.text.units_of(self.vectors.vocabulary[word]).astype(np.float64)
        sums = np.bincount(self.slices.unit_slices, weights=units, minlength=len(self.slices.names))
        return [round(float(number)) for number in sums]

    @cached_property
    def images(self) -> tuple[Array, Array]:
        """The context vectors in coordinates that make distances of units comparable, and the shift of each unit."""
        frequent = np.flatnonzero(self.text.vocabulary.counts >= 2 * LEAST_UNITS)
        chosen = frequent[np.linspace(0, frequent.size - 1, min(SAMPLED_WORDS, frequent.size)).astype(np.int64)]
        units, dimension = self.slices.unit_slices.size, self.space.contexts.shape[1]

        def add(first: int, last: int) -> Moments:
            found = Moments.of(units, dimension)
            for scores, mass in zip(*self._scores(chosen[first:last], self.space.contexts), strict=True):
                found.add(scores, mass)
            return found

        parts = self.run.over_rows(add, chosen.size, BLOCK, here=True)
        if not any(part.centers for part in parts):
            raise FirthianError(
                f"no word occurs in {LEAST_UNITS} of the {self.slices.unit}",
                hint="use more documents, or a finer `unit`",
            )
        axes, shifts = Moments.joined(parts).coordinates()
        images = np.ascontiguousarray((self.space.contexts @ axes).astype(np.float32))
        return images, (shifts @ axes).astype(np.float32)

    def means(self, words: Array) -> list[tuple[Array, Array, Array]]:
        """Return, for each word, the units where it occurs, its mean image in each, and their weights."""
        images, shifts = self.images
        found = []
        for scores, mass in zip(*self._scores(words, images), strict=True):
            present = np.flatnonzero(mass > 0)
            means, weights = unit_means(scores[present], mass[present])
            found.append((present, means - shifts[present], weights))
        return found

    def _scores(self, words: Array, images: Array) -> tuple[Array, Array]:
        return self.text.scores(words, self.space.words[words], self.space.contexts, images)

    def testable(self, min_occurrences: int) -> Array:
        """Return the words that occur at least so often in the corpus."""
        return np.flatnonzero(self.text.vocabulary.counts >= min_occurrences)

    def test(self, words: Array, permutations: int) -> list[WordTest | None]:
        """Test words, each by itself."""
        labels = Labels(self.slices.unit_slices, len(self.slices.names), permutations, self.run)
        _ = self.images
        self.run.progress.start("testing words", int(words.size))

        def some(first: int, last: int) -> list[WordTest | None]:
            found = [
                test_word(UnitMeans(means, weights), present, labels) if present.size >= 4 else None
                for present, means, weights in self.means(words[first:last])
            ]
            self.run.progress.advance(last - first)
            return found

        return [test for part in self.run.over_rows(some, words.size, BLOCK, here=True) for test in part]

    def describe(self, word: int, topn: int = 10) -> tuple[list[SliceOfWord], list[tuple[str, float, float, float]]]:
        """Return a word's slices with its vector and neighbors there, and its contexts with their shares of the change.

        A context is (word, share of the distance between the first and the last slice that have the word, its rate in the
        first, its rate in the last).
        """
        names, slices = self.slices.names, self.slices.unit_slices
        mass = self._scores(np.array([word]), self.images[0])[1][0]
        present = mass > 0
        factors = np.where(present, 1 / (1 + mass / SATURATION), 0.0)
        sums = self.text.contexts(word, len(names), factors.astype(np.float64))
        pooled = sums.sum(axis=0)
        problem = RowProblem(
            self.space.contexts, self.space.noise, self.space.negative, self.space.words[word], pooled / pooled.sum()
        )
        vector = problem.solve(pooled, SATURATION)
        problem = RowProblem(self.space.contexts, self.space.noise, self.space.negative, vector, pooled / pooled.sum())
        occurrences = self.text.units_of(word)
        found = []
        for number, name in enumerate(names):
            inside = slices == number
            row = vector if not sums[number].any() else problem.solve(sums[number], SATURATION)
            moved = self.space.to_words(word, row)
            near = [other for other, _ in self.vectors.most_similar(moved, topn=topn + 1)]
            near = [other for other in near if other != self.vectors.vocabulary.words[word]][:topn]
            found.append(SliceOfWord(name, int(occurrences[inside].sum()), int((present & inside).sum()), near, moved))
        return found, self._contexts(word, sums)

    def _contexts(self, word: int, sums: Array) -> list[tuple[str, float, float, float]]:
        there = np.flatnonzero(sums.any(axis=1))
        if there.size < 2:
            return []
        first, last = (sums[number] / sums[number].sum() for number in (there[0], there[-1]))
        used = np.flatnonzero(first + last)
        slopes = 1 / (1 + np.exp((self.space.contexts[used] @ self.space.words[word]).astype(np.float64)))
        terms = ((last - first)[used] * slopes)[:, None] * self.images[0][used]
        difference = terms.sum(axis=0)
        shares = terms @ difference / max(float(difference @ difference), 1e-300)
        order = np.argsort(-shares, kind="stable")
        words = self.vectors.vocabulary.words
        return [
            (words[used[at]], float(shares[at]), float(first[used[at]]), float(last[used[at]]))
            for at in order
            if shares[at] > 0
        ]

    def ask(
        self,
        words: Iterable[str] | None = None,
        min_occurrences: MinOccurrences = 50,
        permutations: Permutations = 1000,
        fdr: FalseDiscoveryRate = 0.1,
        topn: Topn = 20,
    ) -> ChangeResult:
        """Test words, by default all that are frequent enough, and describe the ``topn`` that changed most clearly."""
        checked = _checked(min_occurrences=min_occurrences, permutations=permutations, fdr=fdr, topn=topn)
        vocabulary, missing = self.vectors.vocabulary, list[str]()
        if words is None:
            ids = self.testable(checked["min_occurrences"])
            if not ids.size:
                raise FirthianError(
                    f"no word occurs {checked['min_occurrences']:,} times", hint="lower `min_occurrences`"
                )
        else:
            named = list(dict.fromkeys([words] if isinstance(words, str) else words))
            missing = [
                word for word in named if word not in vocabulary or not self.text.vocabulary.counts[vocabulary[word]]
            ]
            ids = np.array([vocabulary[word] for word in named if word not in missing], dtype=np.int64)
            if not ids.size:
                shown = missing[0] if missing else ""
                raise FirthianError(
                    f"none of the words occurs in the corpus: {', '.join(missing[:5])}" if missing else "no words",
                    hint=suggest(shown, vocabulary.words[:20000]) if missing else "pass at least one",
                )
        tests = self.test(ids, checked["permutations"])
        kept = [(int(word), test) for word, test in zip(ids, tests, strict=True) if test is not None]
        if not kept:
            only = vocabulary.words[ids[0]] if ids.size == 1 else "every word"
            counts = f" ({', '.join(map(str, self.occurrences(only)))} occurrences by slice)" if ids.size == 1 else ""
            raise FirthianError(
                f"{only} occurs in fewer than two of the {self.slices.unit} of a slice{counts}",
                hint="use more documents, a finer `unit`, or fewer `cuts`",
            )
        q = benjamini_hochberg(np.array([test.p for _, test in kept]))
        order = sorted(range(len(kept)), key=lambda n: _rank(kept[n], bool(q[n] <= checked["fdr"])))
        described = min(checked["topn"], len(kept)) if words is None else len(kept)
        self.run.progress.start("describing words", described)
        chosen = self.run.threads.collect(lambda n: self._describe(kept[n][0]), order[:described])
        answers = []
        for place, n in enumerate(order):
            word, test = kept[n]
            parts, contexts = chosen[place] if place < described else ([], [])
            answers.append(
                ChangedWord(
                    vocabulary.words[word], int(self.text.vocabulary.counts[word]), test, float(q[n]), parts, contexts
                )
            )
        untested = len(ids) - len(kept)
        return ChangeResult.create(
            self.slices, answers, self.vectors, {**checked, **self._settings()}, missing, untested
        )

    def _describe(self, word: int) -> Any:
        from firthian.runtime.run import one_blas_thread

        with one_blas_thread():
            found = self.describe(word)
        self.run.progress.advance(1)
        return found

    def _settings(self) -> dict[str, Any]:
        options = self.text.options
        return {
            "window": options.window, "weighting": options.weighting, "sample": options.sample,
            "vector_size": self.vectors.vector_size, "seed": self.run.seed,
            "units": self.slices.unit, "slices": self.slices.names,
        }  # fmt: skip


def _checked(**given: Any) -> dict[str, Any]:
    """Return the options of a question, checked."""
    return {name: option.check(given[name], strict=True) for name, option in declared(Comparison.ask).items()}


#: What decides how text becomes words, in the state of vectors.
_TOKENIZING = ("tokenizer", "keep_case", "fold_numbers")


def _rank(item: tuple[int, WordTest], changed: bool) -> tuple[float, ...]:
    """Return a key that sorts changed words by what their distance is at least, others by p."""
    word, test = item
    least = test.distance - test.expected - 2 * test.se
    return (0, -least, word) if changed else (1, test.p, -test.distance / test.expected, word)


def change(
    *corpora: Any,
    by: str | None = None,
    cuts: Sequence[float] | None = None,
    unit: str | None = None,
    words: Iterable[str] | None = None,
    vectors: Vectors | str | os.PathLike[str] | None = None,
    min_occurrences: MinOccurrences = 50,
    permutations: Permutations = 1000,
    fdr: FalseDiscoveryRate = 0.1,
    topn: Topn = 20,
    **settings: Any,
) -> ChangeResult:
    """Find the words that are used differently in slices of a corpus.

    ``corpora`` is a table (a path, a data frame, a dictionary of columns) with the column ``by``, whose numbers are divided at
    ``cuts``; or a corpus per slice. p-values come from permuting documents between the slices, or whole groups of them, by the
    column ``unit`` (such as an author); q-values are Benjamini-Hochberg over the words asked about. ``vectors`` are vectors of
    the recipe ``sgns`` to measure with; without, they are trained on all slices together. ``settings`` are those of
    ``Comparison`` and of ``count``.

    >>> import firthian as ft
    >>> old = ["the mouse ate the cheese in the night", "a cat saw the mouse in the barn"] * 20
    >>> new = ["click the mouse beside the screen", "the mouse and the keyboard of the computer"] * 20
    >>> settings = {"counting": {"min_count": 1, "sample": 0}, "vector_size": 3}
    >>> result = ft.change({"old": old, "new": new}, words=["mouse", "the"], **settings)
    >>> result["mouse"].q < 0.1
    True
    """
    own = signature(Comparison).parameters
    known = [*own, *declared(CountSettings)]
    for name in settings:
        if name not in known:
            raise FirthianError(f"change has no option {name!r}", hint=suggest(name, known))
    # Before the corpus is read.
    _checked(min_occurrences=min_occurrences, permutations=permutations, fdr=fdr, topn=topn)
    # Settings of counting need no dictionary of their own.
    counted = {name: settings.pop(name) for name in list(settings) if name not in own}
    settings["counting"] = {**counted, **(settings.get("counting") or {})}
    comparison = Comparison(*corpora, by=by, cuts=cuts, unit=unit, vectors=vectors, **settings)
    return comparison.ask(words, min_occurrences, permutations, fdr, topn)
