"""EMF's Tables 1 and 2: SGNS, SPPMI, IMF and EMF on analogies, and EMF taught by analogies. ``python -m studies.emf``

The paper's corpus is enwik9 (124 M tokens); ours are enwiki70m (Table 1) and enwiki17m (Table 2). Words are kept from the same
relative frequency on: its counts of 3000 to 6000 (Table 1) are ours of 1693 to 3387, and 1000 (Table 2) is 137.
``--quick`` runs everything on 10 MB. Saved rows are not computed again.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.datasets import locate
from firthian.datasets.word_tasks import Questions, read
from firthian.learn.likelihood.semf import fit_metric
from studies.common import Study, arguments, corpus_path, timed
from studies.emf_page import write_page

SEED = 1

#: Seeds of the splits that choose a strength, the strengths, and the taught neighbors whose displacement a word follows.
INNER_SEEDS = (101, 102, 103)
WAYS = {"metric": (0.1, 0.3, 1.0, 3.0), "spread": (0.25, 0.5, 1.0)}
NEAR, NEAR_SHARPNESS = 5, 5.0

#: Turns of AMEMF after which its vectors are tested, too.
EARLY_TURNS = (2, 5, 10)

Question = tuple[str, str, str, str]


@dataclass(frozen=True)
class Scale:
    """How large the study is."""

    #: Least counts of Table 1, beside the paper's, and the one of Table 2.
    least: dict[int, int]
    taught_least: int
    #: Least count of SEMF by AMEMF, on the corpus of Table 1.
    amemf_least: int
    dimension: int
    negatives: tuple[int, ...]
    #: Turns of AMEMF, and passes of SGD.
    turns: int
    passes: int
    ratios: tuple[float, ...]
    #: Lambdas by split.
    weights: dict[str, tuple[float, ...]]


FULL = Scale(
    {3000: 1693, 4000: 2258, 5000: 2822, 6000: 3387},
    137,
    3387,
    200,
    (2, 4, 6),
    30,
    1,
    (0.1, 0.3, 0.5, 0.7),
    {"random": (0.025, 0.05, 0.075, 0.1, 0.125), "strict": (0.025, 0.05, 0.1)},
)
QUICK = Scale({3000: 100}, 50, 100, 50, (4,), 5, 1, (0.5,), {"random": (0.05,), "strict": (0.05,)})


def split_questions(words: list[Question], ratio: float, seed: int, strict: bool) -> tuple[Any, Any]:
    """Split questions into those to teach and those to ask; return their indices.

    The paper's split is random. Its questions share word pairs (Athens Greece with twenty others), so much of what is asked
    was taught. A ``strict`` split divides the *pairs*: a question is taught if both its pairs are to be taught, asked if
    neither is, and dropped otherwise, so that no pair of an asked question was ever taught.
    """
    generator = np.random.default_rng([seed, 0x5E3F])
    if not strict:
        order = generator.permutation(len(words))
        taught = round(ratio * len(words))
        return np.sort(order[:taught]), np.sort(order[taught:])
    pairs = sorted({frozenset(pair) for a, b, c, d in words for pair in ((a, b), (c, d))}, key=sorted)
    chosen = {pairs[n] for n in generator.permutation(len(pairs))[: round(ratio * len(pairs))].tolist()}
    taught_pairs = np.array([(frozenset((a, b)) in chosen) + (frozenset((c, d)) in chosen) for a, b, c, d in words])
    return np.flatnonzero(taught_pairs == 2), np.flatnonzero(taught_pairs == 0)


class Bench:
    """Counts of the corpora, made when they are first needed, and what is done with them."""

    def __init__(self, quick: bool) -> None:
        self.scale = QUICK if quick else FULL
        #: The corpora of Tables 1 and 2.
        self.corpora = [corpus_path(quick) if quick else str(locate("enwiki70m")), corpus_path(quick)]

    @functools.cache  # noqa: B019  there is one bench
    def counts(self, least: int, table: int = 1) -> Any:
        return ft.count(self.corpora[table - 1], min_count=least, sample=1e-3)

    @functools.cache  # noqa: B019
    def questions(self, least: int, table: int = 1) -> list[Question]:
        """Google's questions whose words are all kept."""
        found = read(Path(locate("google")), "analogy")
        assert isinstance(found, Questions)
        known = self.counts(least, table).vocabulary
        rows = [tuple(word.lower() for word in line) for line in found.words]
        return [row for row in rows if all(word in known for word in row)]  # type: ignore[misc]

    def method(self, least: int, recipe: str, **options: Any) -> dict[str, Any]:
        """A cell of Table 1."""
        size = {} if recipe == "sppmi" else {"vector_size": self.scale.dimension}
        counts = self.counts(least)
        if recipe == "sgns-sgd":
            counting = {"min_count": least, "sample": 1e-3}
            task = functools.partial(ft.train, self.corpora[0], recipe, counting=counting)
        else:
            task = functools.partial(ft.train, counts, recipe)
        vectors, seconds = timed(lambda: task(**size, **options))
        return {
            **scored(vectors, self.questions(least)),
            "seconds": round(seconds, 1),
            "words": len(vectors),
            "objective": vectors.provenance.objective[-2:],
        }

    def descent(self, least: int) -> dict[str, Any]:
        """The loss of AMEMF after each turn, and the accuracy of its vectors after some."""
        rows = {}
        for turns in EARLY_TURNS:
            vectors = ft.train(
                self.counts(least), "emf-amemf", vector_size=self.scale.dimension, negative=4.0, epochs=turns
            )
            rows[str(turns)] = scored(vectors, self.questions(least))["accuracy"]
        return {"accuracy": rows, "objective": vectors.provenance.objective}

    def by_amemf(self, kind: str, weight: float) -> dict[str, Any]:
        """SEMF by AMEMF with half of the questions, on the corpus of Table 1."""
        words = self.questions(self.scale.amemf_least)
        taught, asked = ([words[n] for n in part] for part in split_questions(words, 0.5, SEED, kind == "strict"))
        vectors = self._amemf(tuple(taught) if weight else (), weight)
        return {**scored(vectors, asked), "taught": len(taught), "of taught": scored(vectors, taught)["accuracy"]}

    @functools.cache  # noqa: B019
    def _amemf(self, taught: tuple[Question, ...], weight: float) -> Any:
        counts, options = self.counts(self.scale.amemf_least), {"negative": 4.0, "epochs": self.scale.turns}
        with tempfile.TemporaryDirectory() as folder:
            if taught:
                options |= {"analogies": str(_write(Path(folder) / "taught.txt", list(taught))), "lambda": weight}
            return ft.train(counts, "emf-amemf", vector_size=self.scale.dimension, **options)

    @functools.cache  # noqa: B019
    def untaught(self) -> Any:
        return ft.train(self.counts(self.scale.taught_least, 2), "semf", vector_size=self.scale.dimension)

    def split(self, ratio: float, kind: str) -> tuple[list[Question], list[Question]]:
        """Questions to teach and to ask."""
        words = self.questions(self.scale.taught_least, 2)
        return tuple([words[n] for n in part] for part in split_questions(words, ratio, SEED, kind == "strict"))  # type: ignore[return-value]

    def plain(self, ratio: float, kind: str) -> dict[str, Any]:
        """EMF on the questions that are asked."""
        taught, asked = self.split(ratio, kind)
        return {**scored(self.untaught(), asked), "taught": len(taught), "asked": len(asked)}

    def supervised(self, ratio: float, kind: str, weight: float) -> dict[str, Any]:
        """SEMF on the questions that are asked, after the others were taught."""
        taught, asked = self.split(ratio, kind)
        vectors, seconds = timed(lambda: self.taught_vectors(taught, weight))
        return {
            **scored(vectors, asked),
            "of taught": scored(vectors, taught)["accuracy"],
            "seconds": round(seconds, 1),
        }

    def taught_vectors(self, taught: list[Question], weight: float) -> Any:
        """Train SEMF on questions."""
        counts, size = self.counts(self.scale.taught_least, 2), self.scale.dimension
        with tempfile.TemporaryDirectory() as folder:
            path = str(_write(Path(folder) / "taught.txt", taught))
            return ft.train(counts, "semf", vector_size=size, analogies=path, **{"lambda": weight})

    def metric(self, taught: list[Question], ridge: float) -> Any:
        """EMF in the metric that questions choose: what ``semf`` with ``teach=metric`` returns."""
        vectors = self.untaught()
        ids = np.array([vectors.numbers(question) for question in taught])
        return ft.Vectors(vectors.matrix @ fit_metric(vectors.matrix, ids, ridge), vectors.vocabulary)

    def spread(self, taught: list[Question], strength: float) -> Any:
        """EMF whose words move like the taught words they are near, by a share of SEMF's displacements."""
        vectors = self.untaught()
        known = np.unique([vectors.numbers(question) for question in taught])
        plain, moved = (_unit(some.matrix) for some in (vectors, self._displaced(tuple(taught))))
        cosines = plain @ plain[known].T
        near = np.argpartition(-cosines, NEAR, axis=1)[:, :NEAR]
        shares = np.exp(NEAR_SHARPNESS * np.take_along_axis(cosines, near, axis=1))
        shares /= shares.sum(axis=1, keepdims=True)
        path = np.einsum("nk,nkd->nd", shares, (moved - plain)[known][near])
        return ft.Vectors((plain + strength * path).astype(np.float32), vectors.vocabulary)

    @functools.cache  # noqa: B019
    def _displaced(self, taught: tuple[Question, ...]) -> Any:
        return self.taught_vectors(list(taught), 0.025)

    def chosen_on(self, way: str, strength: float) -> dict[str, Any]:
        """Accuracy on pairs held out of half of the pairs, for choosing a strength: no pair of a test question is used."""
        taught = self.split(0.5, "strict")[0]
        right: list[str] = []
        for seed in INNER_SEEDS:
            inner, held_out = ([taught[n] for n in part] for part in split_questions(taught, 0.6, seed, strict=True))
            vectors = getattr(self, way)(inner, strength) if strength else self.untaught()
            right.append(scored(vectors, held_out)["right"])
        return {"accuracy": "".join(right).count("1") / len("".join(right))}

    def generalized(self, way: str, ratio: float, kind: str, strength: float) -> dict[str, Any]:
        """A way to move untaught words, too, with a chosen strength, on the questions that are asked."""
        taught, asked = self.split(ratio, kind)
        return {**scored(getattr(self, way)(taught, strength), asked), "strength": strength}


def _unit(matrix: Any) -> Any:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def scored(vectors: Any, words: list[Question]) -> dict[str, Any]:
    """Ask questions by 3CosAdd: accuracy, which answers are right, and a number for each question's answer pair."""
    answers = vectors.analogy_many([question[:3] for question in words])
    right = [bool(found) and found[0][0] == question[3] for question, found in zip(words, answers, strict=True)]
    pairs: dict[tuple[str, ...], int] = {}
    numbers = [pairs.setdefault(question[2:], len(pairs)) for question in words]
    return {
        "accuracy": sum(right) / max(1, len(right)),
        "questions": len(right),
        "right": "".join("01"[one] for one in right),
        "pairs": " ".join(map(str, numbers)),
    }


def _write(path: Path, words: list[Question]) -> Path:
    path.write_text("".join(" ".join(question) + "\n" for question in words), encoding="utf-8")
    return path


def table_1(study: Study, bench: Bench) -> None:
    """Compute what is missing, quick methods first."""
    scale = bench.scale
    for theirs, least in scale.least.items():
        study.row(f"1 {theirs} 1 SPPMI", functools.partial(bench.method, least, "sppmi", shift=1.0))
        for k in scale.negatives:
            study.row(f"1 {theirs} {k} IMF", functools.partial(bench.method, least, "imf", shift=float(k)))
            # P_D is the unigram distribution, and vectors are those of the words, all fitted alike, as in the paper
            options = {"negative": float(k), "ns_exponent": 1.0, "combine": "u", "prior_events": 0.0}
            study.row(f"1 {theirs} {k} EMF, sweeps", functools.partial(bench.method, least, "emf", **options))
            options = {"negative": float(k), "epochs": scale.turns}
            study.row(f"1 {theirs} {k} EMF, AMEMF", functools.partial(bench.method, least, "emf-amemf", **options))
    study.row("1 turns", functools.partial(bench.descent, list(scale.least.values())[-1]))


def table_1_sgns(study: Study, bench: Bench) -> None:
    """SGNS, which takes minutes per cell."""
    scale = bench.scale
    for k in sorted(scale.negatives, key=lambda k: abs(k - 4)):
        for theirs, least in reversed(scale.least.items()):
            options = {"negative": k, "ns_exponent": 1.0, "epochs": scale.passes}
            study.row(f"1 {theirs} {k} SGNS", functools.partial(bench.method, least, "sgns-sgd", **options))


def table_2(study: Study, bench: Bench) -> None:
    """Compute what is missing, half and half first."""
    for ratio in sorted(bench.scale.ratios, key=lambda ratio: abs(ratio - 0.5)):
        for kind, weights in bench.scale.weights.items():
            study.row(f"2 {kind} {ratio:g} 0", functools.partial(bench.plain, ratio, kind))
            for weight in weights:
                study.row(f"2 {kind} {ratio:g} {weight:g}", functools.partial(bench.supervised, ratio, kind, weight))


def generalization(study: Study, bench: Bench) -> None:
    """Ways to move words that were not taught; each strength is chosen on held-out pairs."""
    study.row("3 chosen 0", functools.partial(bench.chosen_on, "metric", 0.0))
    for way, strengths in WAYS.items():
        found = {
            strength: study.row(f"3 chosen {way} {strength:g}", functools.partial(bench.chosen_on, way, strength))
            for strength in strengths
        }
        best = max(found, key=lambda strength: found[strength]["accuracy"])
        for kind in bench.scale.weights:
            for ratio in bench.scale.ratios if way == "metric" else (0.5,):
                key, task = f"3 {kind} {ratio:g} {way}", functools.partial(bench.generalized, way, ratio, kind, best)
                study.row(key, task)


def semf_by_amemf(study: Study, bench: Bench) -> None:
    """SEMF by the paper's algorithm."""
    for kind in bench.scale.weights:
        for weight in (0.0, 0.05):
            study.row(f"4 {kind} {weight:g}", functools.partial(bench.by_amemf, kind, weight))


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("emf", chosen)
    if not chosen.page:
        bench = Bench(chosen.quick)
        for part in (generalization, table_2, table_1, semf_by_amemf, table_1_sgns):
            part(study, bench)
    write_page(study, QUICK if chosen.quick else FULL)


if __name__ == "__main__":
    main()
