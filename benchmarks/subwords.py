"""How well character n-grams predict vectors, and what they do for known words. ``python -m benchmarks.subwords [PART ...]``

Parts: ``hidden`` (words hidden from the regression), ``text`` (neighbors in other text), ``removed`` (words removed from the
text), ``scores`` (test sets), ``costs``. ``--fasttext`` adds fastText to ``removed`` and ``scores``: minutes of training.
``--help-pages FOLDER`` adds other languages to ``text``: the Debian packages libreoffice-help-LANGUAGE, each unpacked in
``FOLDER/LANGUAGE``.

Figures are kept in ``results/subwords.json``, vectors in ``build/subwords``. docs/subwords.md shows both.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from benchmarks import corpora
from benchmarks.results import Results
from benchmarks.timing import FIRTH
from firthian.arrays import Array, unit_rows
from firthian.learn.subwords import SubwordOptions, _Problem, add_subwords
from firthian.runtime.run import Run
from studies.common import scores
from tools.local_data import use_local_data

FOLDER = Path(__file__).parents[1] / "build" / "subwords"

#: Bands of counts, and how many words of each are asked for their neighbors.
BANDS, ASKED = ((5, 20), (20, 100), (100, 500), (500, 10_000)), 300

#: Blends that are the same for words of every count.
BLENDS = (0, 0.5, 1, 1.5, 2)

#: Changes of the settings of the regression, by the name of the row.
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "ridge 0.07": {"ridge": 0.07},
    "ridge 0.28": {"ridge": 0.28},
    "κ 5": {"kappa": 5},
    "κ 100": {"kappa": 100},
    "n-grams 3–5": {"max_n": 5},
    "n-grams 2–6": {"min_n": 2},
    "n-grams 3–8": {"max_n": 8},
    "20 steps": {"steps": 20},
}

#: Texts; the other text is of the middle of the same corpus.
TEXTS, OTHER = {"1 M": "enwiki1m", "3 M": "enwiki3m", "17 M": "enwiki17m"}, "enwiki17m-other"

LANGUAGES = {"de": "German", "fi": "Finnish", "hu": "Hungarian", "tr": "Turkish"}

FASTTEXT = """
import fasttext, sys
settings = {"model": "skipgram", "dim": 100, "minCount": 5, "epoch": 5, "ws": 5, "neg": 5, "t": 1e-3}
# With fewer than ten threads fastText leaves a part of its matrix without random numbers.
fasttext.train_unsupervised(sys.argv[1], thread=10, verbose=0, **settings).save_model(sys.argv[2])
"""


def plain(corpus: Path) -> ft.Vectors:
    """Return vectors of a text without subwords, trained on first use."""
    target = FOLDER / corpus.stem
    if not target.exists():
        dims = ["--dim", "100", "--min-count", "5", "--workers", "2"]
        subprocess.run([*FIRTH, "train", str(corpus), "--subwords", "off", *dims, "-o", str(target)], check=True)
    return ft.Vectors.load(target)


def fasttext(corpus: Path) -> ft.Vectors:
    """Return fastText's vectors of a text, with its subwords."""
    target = FOLDER / f"{corpus.stem}.bin"
    if not target.exists():
        subprocess.run([sys.executable, "-c", FASTTEXT, str(corpus), str(target)], check=True)
    return ft.load(target)


def hidden(vectors: ft.Vectors, settings: SubwordOptions) -> dict[str, Any]:
    """Return the mean cosine of learned and composed vectors of 5 % of the words, hidden from the regression."""
    out = np.random.default_rng(5).random(len(vectors)) < 0.05
    problem = _Problem.create(vectors, settings)
    rows = problem.without(out).solve(np.asarray(vectors.matrix), settings, Run.create(1, 2))
    cosines = np.sum(unit_rows(problem.predict(rows)[out]) * unit_rows(np.asarray(vectors.matrix)[out]), axis=1)
    counts = vectors.vocabulary.counts[out]
    by_count = [round(float(cosines[(counts >= low) & (counts < high)].mean()), 4) for low, high in BANDS]
    weights = problem.weights[out]
    return {"n-grams": len(problem.table.ids), "cosine": float(weights @ cosines / weights.sum()), "by count": by_count}


class OtherText:
    """Words of one text with their neighbors and similarities in another one, which vectors are compared with."""

    def __init__(self, vectors: ft.Vectors, other: ft.Vectors) -> None:
        index, generator = other.vocabulary.index, np.random.default_rng(3)
        rows = np.array([index.get(word, -1) for word in vectors.vocabulary.words])
        self.shared = np.flatnonzero(rows >= 0)[:30_000]
        rows = rows[self.shared]
        counts, seen = vectors.vocabulary.counts[self.shared], other.vocabulary.counts[rows] >= 20
        bands = [np.flatnonzero((counts >= low) & (counts < high) & seen) for low, high in BANDS]
        self.asked = [generator.permutation(band)[:ASKED] for band in bands]
        # Similarities with ten neighbors and 150 of the 5,000 most frequent words.
        self.drawn = generator.integers(0, min(5000, rows.size), (ASKED, 150))
        self.found = [neighbors(np.asarray(other.matrix)[rows], asked) for asked in self.asked]

    def agreement(self, matrix: Array) -> dict[str, list[float]]:
        """Return by band how many of 10 neighbors vectors share with the other text, and how similarities correlate."""
        shares, correlations = [], []
        for asked, (nearest, similar) in zip(self.asked, self.found, strict=True):
            ours, cosines = neighbors(matrix[self.shared], asked)
            shares.append(float(np.mean([np.isin(*pair).sum() for pair in zip(nearest, ours, strict=True)])))
            places = np.hstack([nearest, self.drawn[: len(asked)]])
            pairs = (
                (np.take(both, row) for both in sides) for *sides, row in zip(similar, cosines, places, strict=True)
            )
            correlations.append(float(np.mean([np.corrcoef(left, right)[0, 1] for left, right in pairs])))
        return {"shared": np.round(shares, 3).tolist(), "correlation": np.round(correlations, 4).tolist()}


def neighbors(matrix: Array, asked: Array) -> tuple[Array, Array]:
    """Return the ten nearest rows of some, and all their cosines."""
    unit = unit_rows(matrix)
    cosines = unit[asked] @ unit.T
    own = np.arange(len(asked)), asked
    cosines[own] = -9
    nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
    cosines[own] = 1
    return nearest, cosines


def in_other_text(corpus: Path, other: Path) -> dict[str, Any]:
    """Compare vectors of several blends with those of another text."""
    vectors = plain(corpus)
    judge, fitted = OtherText(vectors, plain(other)), add_subwords(vectors)
    assert fitted.subwords is not None
    learned, composed = np.asarray(vectors.matrix), fitted.subwords.compose(vectors.vocabulary.words)
    rows = {f"{blend:g}": judge.agreement(learned + np.float32(blend) * composed) for blend in BLENDS}
    rows["auto"] = judge.agreement(np.asarray(fitted.matrix))
    return {
        "words": len(vectors),
        **fitted.provenance.subwords,
        "asked": [len(band) for band in judge.asked],
        "rows": rows,
    }


def removed(corpus: Path, train: Callable[[Path], ft.Vectors]) -> dict[str, float]:
    """Remove words from a text; compare the composed vector of each with the one that the full text gives."""
    full = train(corpus)
    counts, words = plain(corpus).vocabulary.counts, plain(corpus).vocabulary.words
    some = np.flatnonzero((counts >= 20) & (counts <= 200))
    out = {words[k] for k in np.random.default_rng(21).permutation(some)[: some.size // 20]}
    target = FOLDER / f"{corpus.stem}-removed.txt"
    if not target.exists():
        lines = corpus.read_text().splitlines()
        target.write_text("".join(" ".join(word for word in line.split() if word not in out) + "\n" for line in lines))
    less = train(target)
    known = [word for word in less.vocabulary.words if word in full.vocabulary.index]
    asked = sorted(word for word in out if word in full.vocabulary.index)
    ours, theirs = (unit_rows(vectors[asked]) @ unit_rows(vectors[known]).T for vectors in (less, full))
    pairs = zip(np.argsort(-ours)[:, :10], np.argsort(-theirs)[:, :10], strict=True)
    return {"words": len(asked), "shared": float(np.mean([np.isin(*pair).sum() for pair in pairs]))}


def blended(**settings: Any) -> Callable[[Path], ft.Vectors]:
    """Return a training with subwords."""
    return lambda corpus: add_subwords(plain(corpus), **settings)


def costs(vectors: ft.Vectors) -> dict[str, Any]:
    """Measure the fit, and composed lookups on one core, of words that are not known."""
    begin, cpu = time.perf_counter(), time.process_time()
    fitted = add_subwords(vectors, workers=2)
    found = {"fit": time.perf_counter() - begin, "fit cpu": time.process_time() - cpu}
    assert fitted.subwords is not None
    words = [f"{word}{end}" for end in ("est", "ingly", "ville", "able", "ments") for word in vectors.vocabulary.words]
    words = (words * 50)[:1_000_000]
    begin = time.perf_counter()
    fitted.subwords.compose(words)
    found["a million lookups"] = time.perf_counter() - begin
    found |= {"table bytes": fitted.subwords.nbytes, "vector bytes": int(np.asarray(vectors.matrix).nbytes)}
    return found


def help_pages(folder: Path, language: str) -> list[Path]:
    """Write the sentences of LibreOffice's help pages as two texts, of every other page; return their paths."""
    parts = [FOLDER / f"{language}-{half}.txt" for half in ("one", "other")]
    if not all(part.exists() for part in parts):
        seen: set[str] = set()
        pages = []
        for path in sorted((folder / language).rglob("*.html")):
            text = re.sub(r"(?s)<(script|style|head).*?</\1>", " ", path.read_text(errors="replace"))
            lines = [" ".join(line.split()) for line in html.unescape(re.sub(r"<[^>]+>", "\n", text)).splitlines()]
            fresh = [line for line in dict.fromkeys(lines) if len(line) > 40 and line not in seen]
            seen.update(fresh)
            if fresh:
                pages.append(" ".join(fresh) + "\n")
        for number, part in enumerate(parts):
            part.write_text("".join(pages[number::2]))
    return parts


def main() -> None:
    """Measure what is missing, or all of the named parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="hidden, text, removed, scores or costs")
    parser.add_argument("--fasttext", action="store_true", help="train fastText, too")
    parser.add_argument("--help-pages", type=Path, help="folder of unpacked packages libreoffice-help-LANGUAGE")
    parser.add_argument("--again", action="store_true", help="measure existing rows again")
    given = parser.parse_args()
    use_local_data()
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = Results("subwords")

    def row(name: str, measure: Callable[[], Any]) -> None:
        if not given.parts or name.split("/")[0] in given.parts:
            results.row(name, measure, given.again)

    small = corpora.find("enwiki3m")
    for name, change in CHANGES.items():
        row(f"hidden/{name}", lambda change=change: hidden(plain(small), SubwordOptions.create(change)))
    for name, text in TEXTS.items():
        row(f"text/{name}", lambda text=text: in_other_text(corpora.find(text), corpora.find(OTHER)))
    for language, name in LANGUAGES.items() if given.help_pages else ():
        row(f"text/{name}", lambda language=language: in_other_text(*help_pages(given.help_pages, language)))
    for name, settings in {"auto": {}, "1": {"blend": 1, "fade": 0}, "2": {"blend": 2, "fade": 0}}.items():
        row(f"removed/{name}", lambda settings=settings: removed(small, blended(**settings)))
        for size, text in (("3 M", "enwiki3m"), ("17 M", "enwiki17m")):
            row(
                f"scores/{size}/{name}",
                lambda settings=settings, text=text: scores(blended(**settings)(corpora.find(text))),
            )
    for size, text in (("3 M", "enwiki3m"), ("17 M", "enwiki17m")):
        row(f"scores/{size}/off", lambda text=text: scores(plain(corpora.find(text))))
        row(f"costs/{size}", lambda text=text: costs(plain(corpora.find(text))))
    if given.fasttext:
        row("removed/fastText", lambda: removed(small, fasttext))
        row("scores/3 M/fastText", lambda: scores(fasttext(small)))
        row("scores/17 M/fastText", lambda: scores(fasttext(corpora.find("enwiki17m"))))


if __name__ == "__main__":
    main()
