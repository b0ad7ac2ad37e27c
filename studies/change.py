"""Calibration and power of ``change``, on the novels. ``python -m studies.change``

Calibration: the novels are divided at random 1,000 times; a test at 5 % must reject 5 % of these splits. Power: in a random
half of the novels a share q of the occurrences of a word is replaced by another word, for 200 pairs; which of the words that
thus acquired a new use are found, beside the same by skip-gram vectors of each half, aligned by Procrustes or by a compass.
``--quick`` takes fewer words, splits and shares.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.arrays import Array, unit_rows
from firthian.ask.change import Comparison
from firthian.ask.corpus import TextTable, read_table
from firthian.ask.permutation import Labels, UnitMeans
from firthian.text.tokenizer import Tokenizer
from studies.common import QUICK, Study, arguments, table

#: Occurrences that divide words into bands.
BANDS = (50, 100, 300, 1000, 3000, 10**9)

#: Planted pairs, their shares, the text of each novel in the power study in words, and the least occurrences of its words.
PAIRS, SHARES, WORDS_PER_NOVEL, LEAST = 200, (1.0, 0.5, 0.25, 0.1), 12_000, 30

#: The critical distance of two samples of 1,000 by Kolmogorov and Smirnov, at 5 %.
CRITICAL = 1.358 * np.sqrt(2 / 1000)

PAGE = """# Is a change real? Calibration and power of change

`firth change` tests every word by permuting documents between slices. This study asks two questions of the 99 English novels of
ELTeC (1840–1920; a unit is a novel): does a test at 5 % reject 5 % when nothing changed, and does it find what did?

## Calibration

The labels of the novels were permuted {splits:,} times, and each of these splits was tested against {splits:,} other
permutations, for {words:,} words, a sample of those that occur at least 50 times. *KS* is the share of words for which the
Kolmogorov-Smirnov test at 5 % tells the p-values of the splits from uniform ones.

{calibration}
Between the debiased distance and the logarithm of the frequency the mean correlation over the splits is {r:+.3f}; the mean of
its absolute value is {absolute:.3f}.

## Power

Text: the first {text:,} words of each novel ({tokens:,} in all). The novels were divided in two halves at random. In the
second, a share q of the occurrences of word a was replaced by word b, for {pairs} pairs of words of like frequency, spread
evenly over the logarithm of the frequency from {least} occurrences on. Found are words b among {tested:,} words; every other
word is a false discovery, a and the neighbors of both included.

`firth change` decides by itself, at a false discovery rate of 10 %. The other two give only a ranking by cosine distance, so
they get the best threshold that keeps false discoveries at 10 %, chosen by the answer key. Both are gensim's skip-gram with its
usual settings (100 dimensions, window 5, 5 negative samples, 5 epochs): trained on each half and rotated onto each other
(Procrustes); or with one side of the network trained on both halves and then frozen, the other trained on each half (the idea
of TWEC and CADE).

{power}
*Answer key* is what `firth change` finds if it, too, gets its threshold from the answer key. The realized FDR counts every
other word as a false discovery. That is strict: {swapped} words are in a pair, so the contexts of many other words really
differ between the halves, the more the greater q. {control}

{cost}"""


COST = """## Time and memory

The novels of 1840–1880 against those of 1881–1920: all words that occur at least 50 times, 1,000 permutations; tokenizing and
training included.
"""


def novels() -> str:
    """Return the path of the novels."""
    path = Path(os.environ.get("FIRTHIAN_DATA", "../shared/data")) / "novels" / "eltec-eng.tsv.xz"
    if not path.exists():
        raise SystemExit(f"{path} does not exist: put the novels there, or set FIRTHIAN_DATA")
    return str(path)


def calibrate(comparison: Comparison, splits: int, step: int) -> dict[str, Any]:
    """Test random splits of the units; return rejections and correlations."""
    words = comparison.testable(BANDS[0])[::step]
    units = comparison.slices.unit_slices
    labels = Labels(units, 2, splits, comparison.run)
    observed = np.random.default_rng(2026).permuted(np.tile(units, (splits, 1)), axis=1).astype(np.int8)
    _ = comparison.images

    def some(first: int, last: int) -> list[tuple[Array, Array]]:
        found = []
        for present, *rest in comparison.means(words[first:last]):
            means = UnitMeans(*rest)
            distance, expected = means.distances(observed[:, present], 2)
            with np.errstate(invalid="ignore", divide="ignore"):
                statistic = distance / expected
            others = np.sort(means.statistics(labels.round(0)[:, present], 2))
            others = others[~np.isnan(others)]
            above = others.size - np.searchsorted(others, statistic * (1 - 1e-4))
            p = np.where(np.isnan(statistic), np.nan, (1 + above) / (1 + others.size))
            found.append((p, distance - expected))
        return found

    parts = [pair for part in comparison.run.over_rows(some, words.size, 16, here=True) for pair in part]
    p, debiased = (np.array([part[which] for part in parts]) for which in range(2))
    # A word in a few novels has a statistic for few splits.
    tested = np.isfinite(p).mean(axis=1) > 0.9
    words, p, debiased = words[tested], p[tested], debiased[tested]
    counts = comparison.text.vocabulary.counts[words]
    rows = []
    for low, high in itertools.pairwise(BANDS):
        inside = (counts >= low) & (counts < high)
        if not inside.any():
            continue
        kept = p[inside]
        far = [_distance_from_uniform(row[~np.isnan(row)]) > CRITICAL * np.sqrt(1000 / splits) for row in kept]
        rejected = {
            str(level): float(np.nanmean(np.where(np.isnan(kept), np.nan, kept <= level)))
            for level in (0.01, 0.05, 0.1)
        }
        rows.append({"low": low, "high": high, "words": int(inside.sum()), **rejected, "ks": float(np.mean(far))})
    log = np.log(counts)
    defined = ~np.isnan(debiased)
    r = [float(np.corrcoef(debiased[defined[:, n], n], log[defined[:, n]])[0, 1]) for n in range(splits)]
    return {
        "bands": rows,
        "r": float(np.mean(r)),
        "absolute": float(np.mean(np.abs(r))),
        "words": int(words.size),
        "splits": splits,
    }


def _distance_from_uniform(p: Array) -> float:
    """Return the largest distance of the empirical distribution from the uniform one."""
    ordered = np.sort(p)
    ranks = np.arange(1, p.size + 1) / p.size
    return float(max((ranks - ordered).max(), (ordered - ranks + 1 / p.size).max()))


class Planted:
    """The beginnings of the novels as tokens, in two halves, with planted changes in the second."""

    def __init__(self, words_per_novel: int, pairs: int) -> None:
        whole, tokenizer = read_table(novels()), Tokenizer()
        books: dict[str, list[list[str]]] = {}
        sizes: dict[str, int] = {}
        for row, book in enumerate(whole.columns["id"]):
            if sizes.get(book, 0) < words_per_novel:
                books.setdefault(book, []).append(tokenizer.tokens(whole.text(row)))
                sizes[book] = sizes.get(book, 0) + len(books[book][-1])
        generator = np.random.default_rng(7)
        self.books = [(book, books[book]) for book in sorted(books)]
        self.second = generator.permutation(len(self.books)) % 2 == 1
        counts: dict[str, int] = {}
        for _, lines in self.books:
            for line in lines:
                for word in line:
                    counts[word] = counts.get(word, 0) + 1
        self.tokens = sum(counts.values())
        frequent = sorted(
            (word for word in counts if 2 * LEAST <= counts[word] <= 3000), key=lambda word: (counts[word], word)
        )
        logs = np.log([counts[word] for word in frequent])
        free = np.ones(len(frequent), dtype=bool)
        self.pairs: list[tuple[str, str]] = []
        for goal in np.linspace(logs[0], logs[-1], pairs):
            near = [n for n in np.argsort(np.abs(logs - goal), kind="stable") if free[n]][:40]
            a, b = generator.choice(near, 2, replace=False)
            free[[a, b]] = False
            self.pairs.append((frequent[a], frequent[b]))

    def halves(self, share: float) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
        """Return the lines of both halves with their books."""
        generator, swap = np.random.default_rng(11), dict(self.pairs)
        found: tuple[list[Any], list[Any]] = ([], [])
        for (book, lines), second in zip(self.books, self.second, strict=True):
            for line in lines:
                changed = line
                if second:
                    changed = [swap[word] if word in swap and generator.random() < share else word for word in line]
                found[int(second)].append((book, changed))
        return found


def tables(halves: Sequence[Sequence[tuple[str, list[str]]]]) -> Iterator[TextTable]:
    """Yield each half as a table."""
    for half in halves:
        yield TextTable.of({"text": [" ".join(line) for _, line in half], "id": [book for book, _ in half]})


def power(planted: Planted, share: float) -> dict[str, Any]:
    """Return what each method finds."""
    halves = planted.halves(share)
    comparison = Comparison(*tables(halves), unit="id", vector_size=100)
    result = comparison.ask(min_occurrences=LEAST, topn=0)
    b = {second for _, second in planted.pairs}
    ranking = [word.word for word in result.words]
    clearest = sorted(result.words, key=lambda word: (word.test.p, -word.test.distance / word.test.expected))
    found = result.changed()
    right = sum(word in b for word in found)
    row = {
        "tested": len(ranking), "tokens": planted.tokens, "found": right, "fdr": 1 - right / max(len(found), 1),
        "answer key": best([word.word for word in clearest], b),
    }  # fmt: skip
    sentences = [[line for _, line in half] for half in halves]
    for name, distances in (("procrustes", procrustes(sentences)), ("compass", compass(sentences))):
        row[name] = best(sorted((word for word in ranking if word in distances), key=lambda word: -distances[word]), b)
    return row


def untouched(planted: Planted) -> dict[str, Any]:
    """Return what the test finds between the halves as they are."""
    result = Comparison(*tables(planted.halves(0.0)), unit="id", vector_size=100).ask(min_occurrences=LEAST, topn=0)
    p = np.array([word.test.p for word in result.words])
    return {"tested": len(p), "found": len(result.changed()), "rejected": float(np.mean(p <= 0.05))}


def best(ranking: Sequence[str], right: set[str], rate: float = 0.1) -> int:
    """Return how many right words the longest beginning of a ranking has, with at most this rate of wrong ones."""
    hits = np.cumsum([word in right for word in ranking])
    wrong = 1 - hits / np.arange(1, len(ranking) + 1)
    kept = np.flatnonzero(wrong <= rate)
    return int(hits[kept[-1]]) if kept.size else 0


def _skip_gram(sentences: Sequence[list[str]], **settings: Any) -> Any:
    from gensim.models import Word2Vec

    usual = {"vector_size": 100, "window": 5, "negative": 5, "sg": 1, "epochs": 5, "sample": 1e-3, "min_count": 5}
    return Word2Vec(sentences, **{**usual, "workers": 2, "seed": 1, **settings})


def procrustes(sentences: Sequence[list[list[str]]]) -> dict[str, float]:
    """Return the cosine distances of words between skip-gram vectors of each half, rotated onto each other."""
    first, second = (_skip_gram(half).wv for half in sentences)
    one, other = (ft.Vectors(part.vectors, ft.Vocabulary(part.index_to_key)) for part in (first, second))
    return dict(other.align_to(one, topn=len(one)).moved)


def compass(sentences: Sequence[list[list[str]]]) -> dict[str, float]:
    """Return the cosine distances of output vectors, trained on each half against input vectors of both, which are frozen."""
    both = _skip_gram([line for half in sentences for line in half])
    sides = []
    for half in sentences:
        model = _skip_gram([["a"]], min_count=1)
        model.reset_from(both)
        model.wv.vectors = both.wv.vectors.copy()
        model.syn1neg = both.syn1neg.copy()
        model.wv.vectors_lockf = np.zeros(len(both.wv), dtype=np.float32)
        model.train(half, total_examples=len(half), epochs=5)
        sides.append(unit_rows(model.syn1neg))
    cosines = np.einsum("ij,ij->i", *sides)
    return dict(zip(both.wv.index_to_key, (1 - cosines).tolist(), strict=True))


def cost() -> dict[str, Any]:
    """Run the command of the page in its own process; return its time, processor time, memory and findings."""
    import json

    command = [
        sys.executable, "-m", "firthian", "change", novels(), "--by", "year", "--cuts", "1880", "--unit", "id", "--json",
    ]  # fmt: skip
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    return {
        "wall": time.perf_counter() - begin,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": after.ru_maxrss * 1024, "words": len(answer["words"]),
        "changed": sum(word["q"] <= 0.1 for word in answer["words"]),
    }  # fmt: skip


def prepared(folder: Path) -> Comparison:
    """Return the novels with a cut at 1880; their vectors are kept."""
    settings = {"by": "year", "cuts": [1880], "unit": "id"}
    if (folder / "vectors.json").exists():
        return Comparison(novels(), vectors=str(folder), **settings)
    comparison = Comparison(novels(), **settings)
    comparison.vectors.save(folder)
    return comparison


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("change", chosen)
    quick = chosen.quick
    null = study.row(
        "calibration",
        lambda: calibrate(prepared(QUICK.parent / "novels-vectors"), 200 if quick else 1000, 40 if quick else 4),
    )
    pairs, words = (50, 2000) if quick else (PAIRS, WORDS_PER_NOVEL)
    planted: list[Planted] = []

    def planting() -> Planted:
        if not planted:
            planted.append(Planted(words, pairs))
        return planted[0]

    rows = {}
    for share in SHARES[: 1 if quick else None]:
        key = f"power/{share:g}"
        if not chosen.page or key in study.rows:
            rows[share] = study.row(key, lambda share=share: power(planting(), share))
    control = ""
    if not chosen.page or "power/0" in study.rows:
        none = study.row("power/0", lambda: untouched(planting()))
        control = (
            f"Between the halves as they are (q = 0), {none['found']:,} of {none['tested']:,} words are found, and "
            f"{100 * none['rejected']:.1f} % have a p up to 5 %."
        )
    bands = table(
        ["occurrences", "words", "rejected at 1 %", "at 5 %", "at 10 %", "KS"],
        [
            [
                f"{row['low']:,}–{row['high'] - 1:,}" if row["high"] < 10**9 else f"{row['low']:,} and more",
                f"{row['words']:,}",
            ]
            + [f"{100 * row[name]:.1f} %" for name in ("0.01", "0.05", "0.1", "ks")]
            for row in null["bands"]
        ],
    )
    shown = table(
        ["q", "found by `firth change`", "realized FDR", "answer key", "skip-gram + Procrustes", "compass"],
        [
            [f"{share:g}", str(row["found"]), f"{100 * row['fdr']:.1f} %"]
            + [str(row[name]) for name in ("answer key", "procrustes", "compass")]
            for share, row in sorted(rows.items())
        ],
    )
    one = next(iter(rows.values()))
    used = None if quick or (chosen.page and "cost" not in study.rows) else study.row("cost", cost)
    spent = (
        ""
        if used is None
        else table(
            ["words", "changed at FDR 10 %", "seconds", "processor seconds", "memory"],
            [
                [
                    f"{used['words']:,}",
                    f"{used['changed']:,}",
                    f"{used['wall']:.0f}",
                    f"{used['cpu']:.0f}",
                    f"{used['bytes'] / 1e9:.1f} GB",
                ]
            ],
        )
    )
    study.write(
        PAGE.format(
            splits=null["splits"], words=null["words"], calibration=bands, r=null["r"], absolute=null["absolute"], text=words,
            tokens=one["tokens"], pairs=pairs, least=2 * LEAST, tested=one["tested"], power=shown, control=control,
            cost=f"{COST}\n{spent}" if spent else "",
            swapped=f"{2 * pairs:,}",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
