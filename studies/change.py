"""Calibration and power of ``change``, on the novels. ``python -m studies.change``

Calibration: the novels are divided at random 1,000 times; a test at 5 % must reject 5 % of these splits. Power: in a random
half of the novels a share q of the occurrences of a word is replaced by another word, for 200 pairs; which of the words that
thus acquired a new use are found (``studies.change_power``). ``--quick`` takes fewer words, splits and shares.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.change import Comparison
from firthian.ask.permutation import Labels, UnitMeans
from studies.change_power import EXPOSURES, LEAST, MOST, Planted, beginnings, ours, peers
from studies.common import QUICK, Study, arguments, table

#: Occurrences that divide words into bands.
BANDS = (50, 100, 300, 1000, 3000, 10**9)

#: Planted pairs, their shares, the text of each novel in the power study in words, and how often pairs and halves are drawn.
PAIRS, SHARES, WORDS_PER_NOVEL, PLANTINGS = 200, (1.0, 0.5, 0.25, 0.1), 48_000, 3

#: The text of each novel in the comparison with skip-gram vectors, which take long to train.
WORDS_BESIDE = 12_000

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
second, a share q of the occurrences of word a was replaced by word b, for {pairs} pairs of words of about the same frequency,
spread evenly over the logarithm of the frequency from {least} to {most:,} occurrences. Only words b thus acquired a use that
they did not have: at q = 1 about half of their occurrences in the second half are new, at 0.5 a third, at 0.25 a fifth, at 0.1
an eleventh. They are what should be found, among {tested:,} words. Every other word counts as a false discovery.

`firth change` decides by itself, at a false discovery rate of 10 %. Its figures are means of plantings, each with its own
halves and pairs.

{power}
The last three columns: found of the {third} rarest pairs, of the middle ones, and of the most frequent. Novels differ in their
use of a word anyway: a new use stands out if the word is frequent, or the use is a large part of all its uses.

### Beside rankings by cosine

The other two give only a ranking by cosine distance, so they get the best threshold that keeps false discoveries at 10 %,
chosen by the answer key. The last column is what `firth change` finds when it gets its threshold in the same way. Both are
gensim's skip-gram with its usual settings (100 dimensions, window 5, 5 negative samples, 5 epochs): trained on each half and
rotated onto each other (Procrustes); or with one side of the network trained on both halves and then frozen, the other trained
on each half (the idea of TWEC and CADE). Text: the first {beside_text:,} words of each novel ({beside_tokens:,} in all).

{peers}
### Words beside planted words

A replaced word is also a new context of the words around it, so strictly speaking they, too, are used differently. How many of
them are found? Words that were not planted, by the share of replaced words in their windows in the second half, over all
plantings and all q above 0:

{exposed}
{control}

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


def cost() -> dict[str, Any]:
    """Run the command of the how-to page in its own process; return its time, processor time, memory and findings.

    Its printed answer and its report are kept in ``build/studies``.
    """
    folder = QUICK.parent / "change-novels"
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "firthian", "change", novels(), "--by", "year", "--cuts", "1880", "--unit", "id",
        "-o", str(folder), "--force",
    ]  # fmt: skip
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "COLUMNS": "118"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (folder.parent / "change-novels.txt").write_bytes(done.stdout)
    answer = json.loads((folder / "report.json").read_text())["answer"]
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
    folder.parent.mkdir(parents=True, exist_ok=True)
    comparison.vectors.save(folder)
    return comparison


def _mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _realized(rows: Sequence[dict[str, Any]]) -> str:
    """Format the mean share of false discoveries among all, and its standard error over plantings."""
    rates = np.array([row["false"] / max(row["false"] + row["found"], 1) for row in rows])
    error = f" (± {100 * rates.std(ddof=1) / np.sqrt(rates.size):.1f})" if rates.size > 1 else ""
    return f"{100 * rates.mean():.1f} %{error}"


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("change", chosen)
    quick = chosen.quick
    null = study.row(
        "calibration",
        lambda: calibrate(prepared(QUICK.parent / "novels-vectors"), 200 if quick else 1000, 40 if quick else 8),
    )
    pairs, words, plantings = (50, 2000, 2) if quick else (PAIRS, WORDS_PER_NOVEL, PLANTINGS)
    shares = [*SHARES[: 1 if quick else None], 0.0]
    books = functools.cache(lambda: beginnings(novels(), words))
    planting = functools.cache(lambda seed: Planted(books(), pairs, seed))
    beside = functools.cache(lambda: Planted(beginnings(novels(), min(words, WORDS_BESIDE)), pairs, 0))

    def wanted(key: str) -> bool:
        return not study.page or key in study.rows

    found = {
        share: [
            study.row(f"power/{share:g}/{seed}", lambda share=share, seed=seed: ours(planting(seed), share))
            for seed in range(plantings)
            if wanted(f"power/{share:g}/{seed}")
        ]
        for share in shares
    }
    others = {
        share: study.row(f"peers/{share:g}", lambda share=share: peers(beside(), share))
        for share in shares[:-1]
        if wanted(f"peers/{share:g}")
    }
    none, tokens = found.pop(0.0), found[shares[0]][0]["tokens"]
    control = (
        f"Between the halves as they are (q = 0), {sum(row['false'] for row in none):,} of "
        f"{sum(row['tested'] for row in none):,} words are found, and "
        f"{100 * np.mean([row['rejected'] for row in none]):.1f} % have a p up to 5 %."
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
        ["q", "plantings", "found", "false discoveries", "realized FDR", "rare", "middle", "frequent"],
        [
            [
                f"{share:g}",
                str(len(rows)),
                f"{_mean(rows, 'found'):.0f} of {pairs}",
                f"{_mean(rows, 'false'):.1f}",
                _realized(rows),
            ]
            + [f"{np.mean([row['thirds'][third] for row in rows]):.0f}" for third in range(3)]
            for share, rows in sorted(found.items())
        ],
    )
    rankings = table(
        ["q", "skip-gram + Procrustes", "compass", "`firth change`"],
        [
            [f"{share:g}", str(row["procrustes"]), str(row["compass"]), str(row["change"])]
            for share, row in sorted(others.items())
        ],
    )
    every = [row for rows in found.values() for row in rows]
    totals, wrong = (np.sum([row[name] for row in every], axis=0) for name in ("exposed", "exposed false"))
    exposed = table(
        ["replaced words in the window", "words", "found", "share"],
        [
            [
                f"{100 * low:g} to {100 * high:g} %" if high < 1 else f"more than {100 * low:g} %",
                f"{totals[n]:,}",
                str(wrong[n]),
                f"{100 * wrong[n] / totals[n]:.2f} %",
            ]
            for n, (low, high) in enumerate(itertools.pairwise(EXPOSURES))
            if totals[n]
        ],
    )
    used = None if quick or not wanted("cost") else study.row("cost", cost)
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
            tokens=tokens, pairs=pairs, least=LEAST, most=MOST, tested=round(_mean(every, "tested")), power=shown,
            control=control, third=pairs // 3, peers=rankings, beside_text=min(words, WORDS_BESIDE),
            beside_tokens=next(iter(others.values()))["tokens"], exposed=exposed,
            cost=f"{COST}\n{spent}" if spent else "",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
