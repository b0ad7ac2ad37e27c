"""EMF's Tables 1 and 2: SGNS, SPPMI, IMF and EMF on analogies, and EMF taught by analogies. ``python -m studies.emf``

The paper's corpus is enwik9 (124 M tokens); ours are enwiki70m (Table 1) and enwiki17m (Table 2). Words are kept from the same
relative frequency on: its counts of 3000 to 6000 (Table 1) are ours of 1693 to 3387, and 1000 (Table 2) is 137. ``--quick`` runs
everything on 10 MB. Saved rows are not computed again.
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
from studies.common import Study, arguments, corpus_path, timed
from studies.emf_page import write_page

SEED = 1

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
    1693,
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
    """Counts of the corpus, made when they are first needed, and what is done with them."""

    def __init__(self, quick: bool) -> None:
        self.scale = QUICK if quick else FULL
        self.corpus = corpus_path(quick)

    @functools.cache  # noqa: B019  there is one bench
    def counts(self, least: int) -> Any:
        return ft.count(self.corpus, min_count=least, sample=1e-3)

    @functools.cache  # noqa: B019
    def questions(self, least: int) -> list[Question]:
        """Google's questions whose words are all kept."""
        found = read(Path(locate("google")), "analogy")
        assert isinstance(found, Questions)
        known = self.counts(least).vocabulary
        rows = [tuple(word.lower() for word in line) for line in found.words]
        return [row for row in rows if all(word in known for word in row)]  # type: ignore[misc]

    def method(self, least: int, recipe: str, **options: Any) -> dict[str, Any]:
        """A cell of Table 1."""
        size = {} if recipe == "sppmi" else {"vector_size": self.scale.dimension}
        counts = self.counts(least)
        if recipe == "sgns-sgd":
            task = functools.partial(ft.train, self.corpus, recipe, counting={"min_count": least, "sample": 1e-3})
        else:
            task = functools.partial(ft.train, counts, recipe)
        vectors, seconds = timed(lambda: task(**size, **options))
        questions = self.questions(least)
        return {
            "accuracy": accuracy(vectors, questions),
            "seconds": round(seconds, 1),
            "words": len(vectors),
            "questions": len(questions),
        }

    @functools.cache  # noqa: B019
    def untaught(self) -> Any:
        return ft.train(self.counts(self.scale.taught_least), "semf", vector_size=self.scale.dimension)

    def split(self, ratio: float, kind: str) -> tuple[list[Question], list[Question]]:
        """Questions to teach and to ask."""
        words = self.questions(self.scale.taught_least)
        return tuple([words[n] for n in part] for part in split_questions(words, ratio, SEED, kind == "strict"))  # type: ignore[return-value]

    def plain(self, ratio: float, kind: str) -> dict[str, Any]:
        """EMF on the questions that are asked."""
        taught, asked = self.split(ratio, kind)
        return {"accuracy": accuracy(self.untaught(), asked), "taught": len(taught), "asked": len(asked)}

    def supervised(self, ratio: float, kind: str, weight: float) -> dict[str, Any]:
        """SEMF on the questions that are asked, after the others were taught."""
        taught, asked = self.split(ratio, kind)
        with tempfile.TemporaryDirectory() as folder:
            path = _write(Path(folder) / "taught.txt", taught)
            vectors, seconds = timed(
                lambda: ft.train(
                    self.counts(self.scale.taught_least),
                    "semf",
                    vector_size=self.scale.dimension,
                    analogies=str(path),
                    **{"lambda": weight},
                )
            )
        return {
            "accuracy": accuracy(vectors, asked),
            "of taught": accuracy(vectors, taught),
            "seconds": round(seconds, 1),
        }


def accuracy(vectors: Any, words: list[Question]) -> float:
    """Ask these questions only, by 3CosAdd."""
    with tempfile.TemporaryDirectory() as folder:
        path = _write(Path(folder) / "asked.txt", words)
        facts = ft.evaluate(vectors, sets=[str(path)], resamples=10).to_dict()["analogy"]
        return float(next(iter(facts.values()))["3cosadd"])


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


def table_1_slow(study: Study, bench: Bench) -> None:
    """The methods that take minutes."""
    scale = bench.scale
    for theirs, k in sorted(scale.slow_cells(), reverse=True):
        least, negative = scale.least[theirs], float(k)
        study.row(
            f"1 {theirs} {k} EMF, AMEMF",
            functools.partial(bench.method, least, "emf-amemf", negative=negative, epochs=scale.turns),
        )
        study.row(
            f"1 {theirs} {k} SGNS",
            functools.partial(bench.method, least, "sgns-sgd", negative=k, ns_exponent=1.0, epochs=scale.passes),
        )


def table_2(study: Study, bench: Bench) -> None:
    """Compute what is missing, half and half first."""
    for ratio in sorted(bench.scale.ratios, key=lambda ratio: abs(ratio - 0.5)):
        for kind, weights in bench.scale.weights.items():
            study.row(f"2 {kind} {ratio:g} 0", functools.partial(bench.plain, ratio, kind))
            for weight in weights:
                study.row(f"2 {kind} {ratio:g} {weight:g}", functools.partial(bench.supervised, ratio, kind, weight))


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study, bench = Study.of("emf", chosen), Bench(chosen.quick)
    if not chosen.page:
        for part in (table_2, table_1, table_1_slow):
            part(study, bench)
    write_page(study, bench.scale)


if __name__ == "__main__":
    main()
