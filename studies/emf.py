"""EMF's Tables 1 and 2: SGNS, SPPMI, IMF and EMF on analogies, and EMF taught by analogies. ``python -m studies.emf``

The paper's corpus was enwik9 (124 M tokens), ours is enwiki17m; vocabularies are cut at counts that keep as many words.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import firthian as ft
from firthian.datasets import locate
from firthian.evaluate.files import Questions, read
from firthian.models.semf import split_questions
from studies.common import Study, table, timed

DIMENSION = 200
SEED = 1

#: Table 1 of the paper at mini-count 3000, Table 2 at its best lambda.
PAPER_1 = {"SPPMI, k = 1": 0.6643, "SGNS, k = 4": 0.7402, "IMF, k = 4": 0.3755, "EMF, k = 4": 0.7482}
PAPER_2 = {
    "EMF": (0.6297, 0.6297, 0.6212, 0.6221),
    "SEMF, lambda = 0.05": (0.6752, 0.7656, 0.8166, 0.8678),
    "SEMF, lambda = 0.075": (0.6906, 0.7975, 0.8470, 0.8259),
}
RATIOS = (0.1, 0.3, 0.5, 0.7)

PAGE = """# EMF, Tables 1 and 2

Share of Google's analogies solved by 3CosAdd, on questions whose words are known. {dimension} dimensions, enwiki17m, words
seen {least} times or more ({words:,}). The paper's corpus is seven times as large, so figures compare down a column.

## Table 1

{first}
## Table 2: held-out questions after teaching the others

`random` is the paper's split; in `strict` no pair of words of a question that is asked occurs in one that was taught.

{second}
The paper's:

{theirs}"""


def accuracy(vectors: Any, words: list[tuple[str, str, str, str]]) -> float:
    """Ask these questions only."""
    with tempfile.TemporaryDirectory() as folder:
        path = _write(Path(folder) / "asked.txt", words)
        facts = ft.evaluate(vectors, sets=[str(path)], resamples=10).to_dict()["analogy"]
        return float(next(iter(facts.values()))["3cosadd"])


def _write(path: Path, words: list[tuple[str, str, str, str]]) -> Path:
    path.write_text("".join(" ".join(question) + "\n" for question in words), encoding="utf-8")
    return path


def supervised(counts: Any, words: list[tuple[str, str, str, str]], ratio: float, weight: float, strict: bool) -> Any:
    """Teach one part of the questions, ask the other, with and without teaching."""
    taught, asked = split_questions(words, ratio, SEED, strict)
    with tempfile.TemporaryDirectory() as folder:
        path = _write(Path(folder) / "taught.txt", [words[number] for number in taught])
        vectors, seconds = timed(
            lambda: ft.train(counts, "semf", vector_size=DIMENSION, analogies=str(path), **{"lambda": weight})
        )
    return {"accuracy": accuracy(vectors, [words[number] for number in asked]), "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one lambda, one ratio, fewer words")
    chosen = parser.parse_args()
    study = Study("emf")
    least = 1000 if chosen.quick else 300
    counts = ft.count(str(locate("enwiki17m")), min_count=least, sample=1e-3)
    questions = read(Path(locate("google")), "analogy")
    assert isinstance(questions, Questions)
    known = counts.vocabulary
    words = [
        row
        for row in (tuple(word.lower() for word in line) for line in questions.words)
        if all(w in known for w in row)
    ]

    def plain(recipe: str, **options: Any) -> Any:
        size = {} if recipe == "sppmi" else {"vector_size": DIMENSION}
        vectors, seconds = timed(lambda: ft.train(counts, recipe, **size, **options))
        return {"accuracy": accuracy(vectors, words), "seconds": seconds}

    jobs: dict[str, Any] = {
        "SPPMI, k = 1": lambda: plain("sppmi", shift=1.0),
        "IMF, k = 4": lambda: plain("imf", shift=4.0),
        "EMF (sweeps), k = 4": lambda: plain("binomial", negative=4.0, ns_exponent=1.0),
        "EMF (AMEMF), k = 4": lambda: plain("emf-amemf", negative=4.0),
        "sgns, defaults": lambda: plain("sgns"),
    }
    first = {name: study.row(f"{least} {name}", job) for name, job in jobs.items()}
    ratios, weights = ((0.5,), (0.05,)) if chosen.quick else (RATIOS, (0.025, 0.05, 0.1, 0.2))
    second = []
    for strict in (False, True):
        for weight in (0.0, *weights):
            row = [
                study.row(
                    f"{least} semf {weight:g} {ratio:g} {strict}",
                    lambda ratio=ratio, weight=weight, strict=strict: supervised(counts, words, ratio, weight, strict),
                )["accuracy"]
                for ratio in ratios
            ]
            name = f"SEMF, lambda = {weight:g}" if weight else "EMF"
            second.append([name, "strict" if strict else "random", *(f"{value:.3f}" for value in row)])
    study.write(
        PAGE.format(
            dimension=DIMENSION,
            least=least,
            words=len(known),
            first=table(
                ["method", "ours", "paper's", "seconds"],
                [
                    [
                        name,
                        f"{row['accuracy']:.3f}",
                        f"{PAPER_1[name]:.3f}" if name in PAPER_1 else "–",
                        f"{row['seconds']:.1f}",
                    ]
                    for name, row in first.items()
                ],
            ),
            second=table(["method", "split", *(f"{ratio:.0%} taught" for ratio in ratios)], second),
            theirs=table(
                ["method", *(f"{ratio:.0%} taught" for ratio in RATIOS)],
                [[name, *(f"{value:.3f}" for value in row)] for name, row in PAPER_2.items()],
            ),
        )
    )


if __name__ == "__main__":
    main()
