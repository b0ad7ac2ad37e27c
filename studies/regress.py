"""Embedding regression: published figures, speed beside refitting, calibration on the novels. ``python -m studies.regress``

Calibration: the gender of the novels' authors is permuted over novels, so that nothing can be found; of the tests at 5 %, 5 %
must reject, for frequent and for rare words.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import firthian as ft
from firthian.ask.alacarte import every_occurrence
from firthian.ask.all_words import WordTests
from firthian.ask.least_squares import Fit, Units, permutation_p
from firthian.ask.regress import Study as Corpus
from firthian.ask.settings import RegressSettings
from firthian.datasets import data_folder
from firthian.runtime.run import Run, one_blas_thread
from studies.common import ROOT, Study, arguments, table

#: The published figures of conText's sample: squared norms, raw and debiased, and cosines by party.
PUBLISHED = {
    "party_R, squared norm": 10.1399, "party_R, debiased": 8.6683, "gender_M, squared norm": 6.9088,
    "gender_M, debiased": 5.1547, "reform, D": 0.5949757, "reform, R": 0.4270958, "enforcement, D": 0.6059709,
    "enforcement, R": 0.5968879,
}  # fmt: skip

#: Occurrences that divide words into bands, words of each band, and null splits.
BANDS, WORDS, SPLITS = (50, 100, 300, 1000, 3000, 10**9), 40, 1000

#: Words of each band that are tested on each split, and permutations of each test.
TESTED, PERMUTATIONS = 2, 199

PAGE = """# Embedding regression: agreement, speed, calibration

## Published figures

The sample of 400 speeches that comes with the R package conText, its vectors, its transform and its settings
(`min_length=3`, `min_count=5`, `window=6`, `cluster_by="occurrence"`): `immigration ~ party + gender`, and cosines of
`immigr*` by party.

{figures}

## Speed

One core, processor seconds for the {n} occurrences of *immigration*: standard errors by the jackknife and
{permutations:,} permutations. *Refits* solves the least squares once for every occurrence left out and once for every
permutation, as conText does, in NumPy.

{speed}

## Calibration

The gender of authors, permuted {splits:,} times over {novels} novels of ELTeC (11.4 M words). On each split {tested}
words of each band of frequency are tested with {permutations_each} permutations. *Rejected* is the share with p ≤
0.05 (two standard errors in brackets); *KS* the p-value of a Kolmogorov-Smirnov test of uniform p-values.

{bands}

Correlations over all {tests:,} tests, with the logarithm of the word's frequency:

{correlations}

*debiased / raw* is the mean of debiased squared norms over the mean of raw ones: 0 if debiasing is right, since nothing
differs. Words that come in bursts in a few novels keep a good part of the bias; p-values do not depend on it. Tests of
one split share its labels, so the bands vary more than the standard errors say.
"""


def novels() -> str:
    folder = data_folder()
    assert folder is not None
    return str(folder / "novels" / "eltec-eng.tsv.xz")


def speeches() -> dict[str, Any]:
    """Return corpus, vectors and settings of the sample."""
    folder = data_folder()
    assert folder is not None
    place = folder / "speeches"
    return {
        "corpus": str(place / "congress.tsv.xz"), "vectors": ft.load(place / "glove-subset.txt.xz"),
        "transform": place / "transform.npy", "min_count": 5, "min_length": 3,
    }  # fmt: skip


def figures() -> dict[str, float]:
    """Compute the published figures."""
    setting = speeches()
    fitted = ft.regress(target="immigration", formula="party + gender", cluster_by="occurrence", **setting)
    found = {}
    for name, one in fitted.coefficients.items():
        found |= {f"{name}, squared norm": one.norm2, f"{name}, debiased": one.norm2_debiased}
    ratios = ft.regress(target="immigr*", formula="party", topn=200, **setting).ratios
    for word, _, _, republican, democrat in ratios:
        found |= {f"{word}, D": democrat, f"{word}, R": republican}
    return {name: found[name] for name in PUBLISHED} | {"n": fitted.n}


def speed(permutations: int) -> dict[str, Any]:
    """Time closed forms and refits on the same occurrences, and the whole command in process."""
    setting = speeches()

    def spent(task: Callable[[], Any]) -> float:
        begin = time.process_time()
        task()
        return time.process_time() - begin

    def whole() -> Any:
        return ft.regress(
            target="immigration", formula="party + gender", cluster_by="occurrence", permutations=permutations,
            workers=1, **setting,
        )  # fmt: skip

    whole()
    settings = RegressSettings(min_count=5, min_length=3)
    names = ("corpus", "vectors", "transform")
    corpus = Corpus.read(
        setting["corpus"],
        "party + gender",
        setting["vectors"],
        settings,
        Run.create(workers=1),
        transform=setting[names[2]],
    )
    word = np.array([corpus.tokens.vocabulary["immigration"]])
    found, _ = every_occurrence(corpus.tokens, word)
    means, _ = corpus.contexts.means(found)
    y = corpus.transform.apply(means)
    x = corpus.formula.design(corpus.covariates, found.documents).matrix
    every = np.arange(len(y))
    units = Units.of(y, np.ones(len(y)), x, every)

    def ours() -> Any:
        fit = Fit(units)
        return fit.estimate().se, permutation_p(fit, permutations, np.random.default_rng(1))

    def refit(rows: Any, targets: Any) -> Any:
        beta = np.linalg.solve(rows.T @ rows, rows.T @ targets)
        return np.square(beta).sum(axis=1)

    def jackknife() -> Any:
        left = np.array([refit(x[every != i], y[every != i]) for i in every])
        return np.sqrt((len(y) - 1) / len(y) * np.square(left - left.mean(axis=0)).sum(axis=0))

    def permute() -> Any:
        generator = np.random.default_rng(1)
        return [refit(x, y[generator.permutation(len(y))]) for _ in range(permutations)]

    with one_blas_thread():
        ours()
        same = float(np.abs(Fit(units).estimate().se / jackknife() - 1).max())
        seconds = {
            "closed": min(spent(lambda: Fit(units).estimate()) for _ in range(5)),
            "jackknife": spent(jackknife),
            "both": min(spent(ours) for _ in range(3)),
            "permute": spent(permute),
        }
    return {**seconds, "whole": spent(whole), "difference": same, "n": len(y), "permutations": permutations}


def null(quick: bool) -> dict[str, Any]:
    """Test words of every band on splits on which nothing differs."""
    splits = 50 if quick else SPLITS
    settings = RegressSettings(cluster_by="id", seed=1)
    place = ROOT / "build" / "studies" / "novels-100"
    if not place.exists():
        counting = {"min_count": 20, "text_column": "text"}
        ft.train(novels(), vector_size=100, counting=counting, seed=1).save(place)
    corpus = Corpus.read(novels(), "gender", str(place), settings, Run.create(seed=1))
    tests = WordTests(corpus)
    generator = np.random.default_rng(1)
    counts = corpus.tokens.vocabulary.counts
    chosen = []
    for low, high in itertools.pairwise(BANDS):
        within = np.flatnonzero((counts >= low) & (counts < high) & corpus.usable)
        chosen.append(np.sort(generator.choice(within, min(WORDS, within.size), replace=False)))
    words = np.concatenate(chosen)
    found, starts = every_occurrence(corpus.tokens, words)
    own = {int(word): slice(int(starts[at]), int(starts[at + 1])) for at, word in enumerate(words)}
    # The sums of each word by novel do not depend on the split.
    kept = {word: tests.sums(found.select(part)) for word, part in own.items()}
    truth = tests.design.copy()
    rows = []
    with one_blas_thread():
        for _ in range(splits):
            design = truth[generator.permutation(len(truth))]
            for band, pool in enumerate(chosen):
                for word in generator.choice(pool, TESTED, replace=False).tolist():
                    present, sums, sizes = kept[word]
                    units = Units.of(sums, sizes, design[present], present)
                    if np.linalg.matrix_rank(units.design) < 2 or units.sizes.size < 4:
                        continue
                    fit = Fit(units)
                    estimate, column = fit.estimate(), tests.columns[0]
                    p = permutation_p(fit, PERMUTATIONS, generator)[column]
                    raw, debiased, se = (float(v[column]) for v in (estimate.raw, estimate.debiased, estimate.se))
                    rows.append([band, float(np.log(counts[word])), float(p), raw, debiased, debiased / max(se, 1e-12)])
    return summary(np.array(rows)) | {"splits": splits, "novels": len(truth)}


def summary(rows: Any) -> dict[str, Any]:
    """Return shares rejected by band, uniformity, and correlations with frequency."""
    from scipy.stats import kstest, norm

    def of(part: Any) -> dict[str, float]:
        # Ties of permutation p-values are spread at random.
        spread = part[:, 2] - np.random.default_rng(1).random(len(part)) / (PERMUTATIONS + 1)
        return {
            "tests": len(part), "rejected": float((part[:, 2] <= 0.05).mean()), "ks": float(kstest(spread, "uniform").pvalue),
            "debiased": float(part[:, 4].mean() / part[:, 3].mean()),
        }  # fmt: skip

    def correlation(values: Any) -> float:
        return float(np.corrcoef(rows[:, 1], values)[0, 1])

    return {
        "bands": [of(rows[rows[:, 0] == band]) for band in range(len(BANDS) - 1)],
        "all": of(rows),
        "correlations": {
            "the test's statistic, as a normal score of p": correlation(
                norm.isf(rows[:, 2] - 0.5 / (PERMUTATIONS + 1))
            ),
            "debiased squared norm": correlation(rows[:, 4]),
            "raw squared norm": correlation(rows[:, 3]),
        },
    }


def name_of(band: int) -> str:
    low, high = BANDS[band], BANDS[band + 1]
    return f"{low:,} or more" if high == BANDS[-1] else f"{low:,} to {high - 1:,}"


def band_rows(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for name, one in [*((name_of(n), one) for n, one in enumerate(found["bands"])), ("all", found["all"])]:
        margin = 2 * np.sqrt(0.05 * 0.95 / one["tests"])
        rejected = f"{100 * one['rejected']:.1f} % (± {100 * margin:.1f})"
        rows.append([name, f"{one['tests']:,}", rejected, f"{one['ks']:.2f}", f"{one['debiased']:.2f}"])
    return rows


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("regress", chosen)
    permutations = 100 if chosen.quick else 1000
    published = study.row("figures", figures)
    timing = study.row("speed", lambda: speed(permutations))
    found = study.row("calibration", lambda: null(chosen.quick))

    def ratio(slow: float, fast: float) -> str:
        return f"{slow / fast:.0f}"

    seconds = [
        ["jackknife", f"{timing['closed']:.4f}", f"{timing['jackknife']:.2f}", ratio(timing["jackknife"], timing["closed"])],
        [
            "jackknife and permutations", f"{timing['both']:.3f}", f"{timing['jackknife'] + timing['permute']:.2f}",
            ratio(timing["jackknife"] + timing["permute"], timing["both"]),
        ],
        ["the whole call, with reading", f"{timing['whole']:.2f}", "", ""],
    ]  # fmt: skip
    study.write(
        PAGE.format(
            figures=table(
                ["", "published", "ours"],
                [[name, f"{value:g}", f"{published[name]:.7g}"] for name, value in PUBLISHED.items()],
            ),
            speed=table(["", "closed forms, s", "refits, s", "ratio"], seconds)
            + f"\nThe largest relative difference between the two standard errors is {timing['difference']:.0e}.",
            n=timing["n"],
            permutations=timing["permutations"],
            bands=table(["occurrences", "tests", "rejected", "KS", "debiased / raw"], band_rows(found)),
            correlations=table(["", "r"], [[name, f"{value:+.3f}"] for name, value in found["correlations"].items()]),
            splits=found["splits"],
            novels=found["novels"],
            tested=TESTED,
            permutations_each=PERMUTATIONS,
            tests=found["all"]["tests"],
        )
    )


if __name__ == "__main__":
    main()
