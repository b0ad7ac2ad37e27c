"""The page of the study of EMF: Tables 1 and 2 beside the paper's, a picture, and which claims hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from firthian.runtime.figures import COLORS, save_figure
from studies.common import Study, table

#: Table 1 of the paper, per cent: (k, method) -> figures at least counts of 3000, 4000, 5000, 6000.
PAPER_1 = {
    (1, "SPPMI"): (66.43, 66.43, 60.86, 61.94),
    (2, "SGNS"): (73.73, 75.66, 70.43, 69.78),
    (2, "IMF"): (54.05, 57.38, 55.14, 55.22),
    (2, "EMF"): (75.18, 76.02, 70.57, 71.08),
    (4, "SGNS"): (74.02, 75.02, 71.71, 71.64),
    (4, "IMF"): (37.55, 40.91, 34.43, 38.06),
    (4, "EMF"): (74.82, 75.57, 68.57, 71.64),
    (6, "SGNS"): (74.82, 77.38, 72.86, 72.39),
    (6, "IMF"): (31.69, 30.41, 31.86, 31.72),
    (6, "EMF"): (75.04, 75.57, 71.14, 71.64),
}
COLUMNS = (3000, 4000, 5000, 6000)

#: Ours, and the paper's method each stands beside.
METHODS = {"SGNS": "SGNS", "IMF": "IMF", "EMF, sweeps": "EMF", "EMF, AMEMF": "EMF"}

#: Table 2 of the paper, per cent: lambda -> figures at 10, 30, 50, 70 % for training.
PAPER_2 = {
    0.0: (62.97, 62.97, 62.12, 62.21),
    0.025: (64.92, 70.50, 74.69, 79.55),
    0.05: (67.52, 76.56, 81.66, 86.78),
    0.075: (69.06, 79.75, 84.70, 82.59),
    0.1: (70.82, 80.53, 76.12, 77.46),
    0.125: (71.95, 79.50, 72.04, 57.59),
}
RATIOS = (0.1, 0.3, 0.5, 0.7)

#: Resamples of an interval.
RESAMPLES = 2000

PAGE = """# Explicit matrix factorization

Li, Xu, Tian, Jiang, Zhong and Chen (2015), Tables 1 and 2. Accuracy on Google's analogies by 3CosAdd, in percent, over
the questions whose words are in the vocabulary. Our result comes first, the paper's in parentheses; a dash means not run.
Intervals in brackets have a level of 95 %. They come from a bootstrap over the answer pairs: questions with the same pair stand
or fall together, so resampling single questions would make intervals too narrow.

## Table 1: methods

The paper uses enwik9 (124 M tokens of Wikipedia with markup), we use enwiki70m (70 M tokens of plain text). The minimum
counts correspond to the same relative frequency, so that vocabularies have similar sizes:
{words}.
Compare numbers within a column. {dimension} dimensions, dynamic windows of 5, sub-sampling 1e-3, seed 1.

SGNS is word2vec's stochastic algorithm (`sgns-sgd`, passes: {passes}), IMF the SVD of shifted positive PMI, EMF the same
objective as SGNS, solved by sweeps (`emf`, Firthian's own solver, stopped early) and by the paper's algorithm with its inner
loops run until convergence (`emf-amemf`, {turns} turns; the paper takes 200). The noise distribution is the unigram
distribution, as in the paper.

{first}
{time}

{turns_text}

## Table 2: held-out questions after training on the others

enwiki17m (17 M tokens), words seen at least {taught_least} times (1,000 in the paper), `semf` with its defaults: its noise
distribution is flatter than the unigram distribution, and six damped sweeps replace the paper's 100 turns of AMEMF. Some
questions are used for training, the others for testing. `random` is the paper's split. Because questions share pairs
of words, most test pairs also occur in training questions. `strict` splits the pairs: a question is tested only if neither of
its pairs was used in training.
{asked}

{second}
![Held-out accuracy against lambda]({figure})

{amemf}
## Words that were not taught

On the strict split the paper's objective loses: it moves the words of the training questions, and the others stay where they
were. Two ways to move all words were tried. Their strengths were chosen on pairs held out of the training pairs at 50 % (three
splits), which no test question contains.

* **Metric** (`semf` with `teach=metric`): the likelihood of the counts is the same for U A and C A⁻ᵀ with any matrix A, and so
  is the paper's second term. Cosines do depend on A. So plain EMF is fitted, and A is chosen by the training questions: it
  minimizes the cross-entropy of their answers plus a ridge on A - I.
* **Spread**: each word follows the mean displacement of its five nearest training words, which SEMF moved (lambda 0.025).
  This is smoothness over the graph of neighbors. It is not part of the package.

{chosen}

{general}
Within-relation whitening and a linear regression of the displacements on the vectors gained at most +0.3 and +0.5 points on the
strict split at 50 %, whatever their strength.

## Which claims hold

{claims}"""


def write_page(study: Study, scale: Any) -> None:
    """Write the page from the saved rows."""
    rows = study.rows
    figure = study.picture("table2")
    draw(rows, scale, figure)
    sizes = ";\n".join(
        f"{theirs:,} there is {least:,} here ({row['words']:,} words, {row['questions']:,} questions)"
        for theirs, least in scale.least.items()
        if (row := rows.get(f"1 {theirs} 1 SPPMI"))
    )
    ratio = _middle(scale)
    asked = " ".join(
        f"At {ratio:.0%} the {kind} split has {row['taught']:,} training and {row['asked']:,} test questions."
        for kind in scale.weights
        if (row := rows.get(f"2 {kind} {ratio:g} 0"))
    )
    study.write(
        PAGE.format(
            words=sizes,
            dimension=scale.dimension,
            taught_least=scale.taught_least,
            passes=scale.passes,
            turns=scale.turns,
            first=first_table(rows, scale),
            time=times(rows, scale),
            turns_text=turns(rows, scale),
            asked=asked,
            second=second_table(rows, scale),
            figure=figure.name,
            amemf=amemf_table(rows, scale),
            chosen=chosen_strengths(rows),
            general=general_table(rows, scale),
            claims=claims(rows, scale),
        )
    )


def _middle(scale: Any) -> float:
    """The share for training that is discussed: 50 %."""
    return float(scale.ratios[-1 if len(scale.ratios) < 3 else 2])


def resampled(row: dict[str, Any], other: dict[str, Any] | None = None) -> tuple[float, float]:
    """Return a 95 % interval of an accuracy, or of its difference to another's on the same questions, in points."""
    pairs = np.array(row["pairs"].split(), dtype=int)
    right, rest = (np.frombuffer((one or {"right": ""})["right"].encode(), np.uint8) - 48.0 for one in (row, other))
    gains = np.bincount(pairs, right - rest if other else right)
    sizes = np.bincount(pairs)
    chosen = np.random.default_rng(7).integers(0, sizes.size, (RESAMPLES, sizes.size))
    values = 100 * gains[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def figure_of(row: dict[str, Any] | None) -> str:
    """Format an accuracy, with its interval if the answers are known."""
    if not row:
        return "–"
    value = f"{100 * row['accuracy']:.1f}"
    return value + (" [{:.0f}, {:.0f}]".format(*resampled(row)) if "right" in row else "")


def difference(row: dict[str, Any], other: dict[str, Any]) -> str:
    """Format the difference of two accuracies on the same questions, with its interval."""
    low, high = resampled(row, other)
    return f"{100 * (row['accuracy'] - other['accuracy']):+.1f} [{low:+.1f}, {high:+.1f}]"


def first_table(rows: dict[str, Any], scale: Any) -> str:
    """k and method down, least counts across."""
    cells = []
    for k, method in [(1, "SPPMI"), *((k, method) for k in scale.negatives for method in METHODS)]:
        paper = PAPER_1[k, METHODS.get(method, method)]
        row = [str(k), method]
        row += [
            f"{figure_of(rows.get(f'1 {theirs} {k} {method}'))} ({paper[COLUMNS.index(theirs)]:.1f})"
            for theirs in scale.least
        ]
        cells.append(row)
    return table(["k", "method", *(str(theirs) for theirs in scale.least)], cells)


def times(rows: dict[str, Any], scale: Any) -> str:
    """Seconds of each method in the last column, k = 4."""
    theirs = list(scale.least)[-1]
    found = {method: rows.get(f"1 {theirs} 4 {method}") for method in METHODS}
    parts = [f"{method} {row['seconds']:.0f}" for method, row in found.items() if row]
    missing = [cell for cell in _cells(scale) if f"{cell} SGNS" not in rows]
    note = f" SGNS takes minutes per cell; {len(missing)} cells were not run." if missing else ""
    return f"Seconds at {theirs} and k = 4, with other jobs running: {', '.join(parts)}.{note}"


def _cells(scale: Any) -> list[str]:
    """The beginnings of the keys of Table 1's cells."""
    return [f"1 {theirs} {k}" for theirs in scale.least for k in scale.negatives]


def turns(rows: dict[str, Any], scale: Any) -> str:
    """How AMEMF approaches its minimum."""
    theirs = list(scale.least)[-1]
    early, last = rows.get("1 turns"), rows.get(f"1 {theirs} 4 EMF, AMEMF")
    if not early or not last:
        return ""
    scores = ", ".join(f"{100 * value:.1f} after {number}" for number, value in early["accuracy"].items())
    before, end = last["objective"]
    fall = early["objective"][-1] / end - 1
    return (
        f"At {theirs} and k = 4 the accuracy of AMEMF is {scores} and {100 * last['accuracy']:.1f} after {scale.turns} turns.\n"
        f"The loss after {len(early['objective'])} turns is {fall:.1e} above the last one, and the last turn lowers it by "
        f"{before / end - 1:.0e} of itself.\nTests compare single inner loops with thousands of gradient steps, on planted "
        "counts and on text: they reach the same loss."
    )


def second_table(rows: dict[str, Any], scale: Any) -> str:
    """Lambda down, ratios across."""
    cells = []
    for kind, weights in scale.weights.items():
        for weight in (0.0, *weights):
            row = ["SEMF" if weight else "EMF", f"{weight:g}" if weight else "", kind]
            for ratio in scale.ratios:
                ours = figure_of(rows.get(f"2 {kind} {ratio:g} {weight:g}"))
                paper = PAPER_2[weight][RATIOS.index(ratio)]
                row.append(f"{ours} ({paper:.1f})" if kind == "random" else ours)
            cells.append(row)
    return table(["method", "lambda", "split", *(f"{ratio:.0%} for training" for ratio in scale.ratios)], cells)


def amemf_table(rows: dict[str, Any], scale: Any) -> str:
    """SEMF by AMEMF."""
    known = {key.split()[1]: row for key, row in rows.items() if key.startswith("4 ") and key.endswith(" 0")}
    if not known:
        return ""
    cells = [
        [
            kind,
            weight if weight != "0" else "",
            figure_of(row),
            f"{100 * row['of taught']:.1f}",
            difference(row, known[kind]) if weight != "0" else "",
        ]
        for key, row in rows.items()
        if key.startswith("4 ")
        for _, kind, weight in [key.split()]
        if kind in known
    ]
    return (
        "### SEMF by AMEMF\n\n"
        f"The paper solves eq. 14 by AMEMF, too: `emf-amemf` with `analogies`, {scale.turns} turns, k = 4, half of the "
        f"questions\nfor training, on enwiki70m with words seen at least {scale.amemf_least:,} times (the last column of "
        "Table 1).\n\n"
        + table(["split", "lambda", "held-out questions", "training questions", "held-out, compared with EMF"], cells)
        + "\n"
    )


def chosen_strengths(rows: dict[str, Any]) -> str:
    """Accuracy on held-out pairs by strength."""
    found = {
        key.removeprefix("3 chosen "): f"{100 * row['accuracy']:.1f}"
        for key, row in rows.items()
        if key.startswith("3 chosen")
    }
    parts = [
        f"{label} " + ", ".join(f"{value} with {key.split()[1]}" for key, value in found.items() if key.startswith(way))
        for way, label in (("metric", "metric (ridge)"), ("spread", "spread (share of the displacement)"))
    ]
    return f"Held-out pairs: EMF {found.get('0', '–')}; {'; '.join(parts)}."


def general_table(rows: dict[str, Any], scale: Any) -> str:
    """Ways to move untaught words, compared with EMF on the same questions."""
    cells = []
    for kind in scale.weights:
        for way in ("metric", "spread"):
            row = [kind, way]
            for ratio in scale.ratios:
                known, plain = rows.get(f"3 {kind} {ratio:g} {way}"), rows.get(f"2 {kind} {ratio:g} 0")
                if known and plain:
                    row.append(f"{100 * known['accuracy']:.1f}, {difference(known, plain)}")
                else:
                    row.append("–")
            cells.append(row)
    head = [f"{ratio:.0%}: accuracy, compared with EMF" for ratio in scale.ratios]
    return table(["split", "way", *head], cells)


def claims(rows: dict[str, Any], scale: Any) -> str:
    """Compare the paper's claims with the scores, skipping what was not run."""
    found = {key: 100 * row["accuracy"] for key, row in rows.items() if isinstance(row.get("accuracy"), float)}
    cells, lines = _cells(scale), []
    for method in ("EMF, AMEMF", "EMF, sweeps"):
        known = [cell for cell in cells if f"{cell} SGNS" in found and f"{cell} {method}" in found]
        gains = [found[f"{cell} {method}"] - found[f"{cell} SGNS"] for cell in known]
        ends = [resampled(rows[f"{cell} {method}"], rows[f"{cell} SGNS"]) for cell in known]
        if gains:
            lines.append(
                f"* {method} compared with SGNS: ahead in {sum(gain > 0 for gain in gains)} of {len(gains)} cells, by "
                f"{sum(gains) / len(gains):+.1f} points on average; the interval of the difference is above 0 in "
                f"{sum(low > 0 for low, _ in ends)} and below 0 in {sum(high < 0 for _, high in ends)} "
                "(paper: EMF ahead in 7 of 12, tied in one)."
            )
    for method in ("EMF, AMEMF", "EMF, sweeps"):
        distances = [
            found[f"{cell} {method}"] - found[f"{cell} IMF"]
            for cell in cells
            if f"{cell} {method}" in found and f"{cell} IMF" in found
        ]
        if distances:
            verdict = "holds" if min(distances) > 5 else "does not hold everywhere"
            lines.append(
                f"* IMF is well below EMF ({method[5:]}): {verdict} (smallest difference {min(distances):.1f} points)."
            )
    steps = [
        found[f"1 {theirs} {k} IMF"] - found[f"1 {theirs} {more} IMF"]
        for theirs in scale.least
        for k, more in pairwise(scale.negatives)
        if f"1 {theirs} {more} IMF" in found
    ]
    if steps:
        lines.append(f"* IMF falls as k grows: {'holds' if min(steps) > 0 else 'does not hold'}.")
    best = {
        (kind, ratio): max((found.get(f"2 {kind} {ratio:g} {weight:g}", -1.0), weight) for weight in weights)
        for kind, weights in scale.weights.items()
        for ratio in scale.ratios
    }
    ratio = _middle(scale)
    for kind in scale.weights:
        top, weight = best[kind, ratio]
        if top >= 0:
            plain = found[f"2 {kind} {ratio:g} 0"]
            lines.append(
                f"* At {ratio:.0%}, {kind} split: EMF {plain:.1f}, SEMF {top:.1f} with lambda {weight:g}, "
                f"{top - plain:+.1f} points (paper, random split: 62.1 to 84.7)."
            )
    gains = [
        difference(rows[key], rows[f"2 strict {ratio:g} 0"])
        for ratio in scale.ratios
        if (key := f"3 strict {ratio:g} metric") in rows
    ]
    if gains:
        lines.append(
            f"* What is learned carries over to pairs that were not taught: does not hold for eq. 14; with a taught metric the "
            f"differences to EMF are {', '.join(gains)} points."
        )
    untaught = [found[key] for ratio in scale.ratios if (key := f"2 random {ratio:g} 0") in found]
    if len(untaught) > 1:
        verdict = "holds" if max(untaught) - min(untaught) < 2 else "does not hold"
        lines.append(
            f"* EMF without training questions scores the same on any random part of the questions: {verdict} "
            f"({min(untaught):.1f} to {max(untaught):.1f})."
        )
    for kind in scale.weights:
        values = [best[kind, ratio][0] for ratio in scale.ratios]
        if len(values) > 1 and min(values) >= 0:
            verdict = "holds" if all(a < b for a, b in pairwise(values)) else "does not hold"
            lines.append(f"* Accuracy grows with the share used for training, {kind} split: {verdict}.")
    return "\n".join(lines) + "\n"


def draw(rows: dict[str, Any], scale: Any, path: Any) -> None:
    """Held-out accuracy against lambda, a line for each ratio, a panel for each split."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), dpi=120, sharey=True, layout="constrained")
    for axis, (kind, weights) in zip(axes, scale.weights.items(), strict=True):
        for ratio, color, marker in zip(scale.ratios, COLORS, "os^D", strict=False):
            numbers = [weight for weight in (0.0, *weights) if f"2 {kind} {ratio:g} {weight:g}" in rows]
            if not numbers:
                continue
            values = [100 * rows[f"2 {kind} {ratio:g} {weight:g}"]["accuracy"] for weight in numbers]
            axis.plot(numbers, values, color=color, marker=marker, markersize=4, label=f"{ratio:.0%} for training")
        axis.set_title(f"{kind} split")
        axis.set_xlabel("lambda (0 is EMF)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("percent correct, held out")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    save_figure(figure, path, force=True)
    pyplot.close(figure)
