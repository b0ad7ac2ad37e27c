"""The page of the study of EMF: Tables 1 and 2 beside the paper's, a picture, and which claims hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

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

PAGE = """# Explicit matrix factorization

Li, Xu, Tian, Jiang, Zhong and Chen (2015), Tables 1 and 2. Accuracy on Google's analogies by 3CosAdd, in percent, over
the questions whose words are in the vocabulary. Our result comes first, the paper's in parentheses; a dash means not run.

The paper uses enwik9 (124 M tokens of Wikipedia with markup), we use enwiki17m (17 M tokens of plain text). The minimum
counts correspond to the same relative frequency, so that vocabularies have similar sizes:
{words}.
Compare numbers within a column. {dimension} dimensions, dynamic windows of 5, sub-sampling 1e-3, seed 1.

## Table 1: methods

SGNS is word2vec's stochastic algorithm (`sgns-sgd`, passes: {passes}), IMF the SVD of shifted positive PMI, EMF the same
objective as SGNS, solved by sweeps (`emf`, Firthian's own solver, six sweeps) and by the paper's algorithm (`emf-amemf`,
{turns} turns, with a step of one over each row's Lipschitz bound; the paper's constant step is specific to its counts). The
noise distribution is the unigram distribution, as in the paper. The slow methods were run for the last column and for k = 4 in
the first.

{first}
{time}

## Table 2: held-out questions after training on the others

Words seen at least {taught_least} times (1,000 in the paper), `semf` with its defaults: its noise distribution is flatter than
the unigram distribution, and six damped sweeps replace the paper's 100 turns of AMEMF. Some questions are used for training,
the others for testing. `random` is the paper's split. Because questions share pairs of words, most test pairs also occur in
training questions. `strict` splits the pairs: a question is tested only if neither of its pairs was used in training.
{asked}

{second}
![Held-out accuracy against lambda]({figure})

## Which claims hold

{claims}"""


def write_page(study: Study, scale: Any) -> None:
    """Write the page from the saved rows."""
    rows = study.rows
    figure = study.picture("table2")
    draw(rows, scale, figure)
    sizes = ";\n".join(
        f"{theirs:,} there is {least} here ({row['words']:,} words, {row['questions']:,} questions)"
        for theirs, least in scale.least.items()
        if (row := rows.get(f"1 {theirs} 1 SPPMI"))
    )
    ratio = scale.ratios[-1 if len(scale.ratios) < 3 else 2]
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
            asked=asked,
            second=second_table(rows, scale),
            figure=figure.name,
            claims=claims(rows, scale),
        )
    )


def first_table(rows: dict[str, Any], scale: Any) -> str:
    """k and method down, least counts across."""
    cells = []
    for k, method in [(1, "SPPMI"), *((k, method) for k in scale.negatives for method in METHODS)]:
        paper = PAPER_1[k, METHODS.get(method, method)]
        row = [str(k), method]
        for theirs in scale.least:
            known = rows.get(f"1 {theirs} {k} {method}")
            ours = f"{100 * known['accuracy']:.1f}" if known else "–"
            row.append(f"{ours} ({paper[COLUMNS.index(theirs)]:.1f})")
        cells.append(row)
    return table(["k", "method", *(str(theirs) for theirs in scale.least)], cells)


def times(rows: dict[str, Any], scale: Any) -> str:
    """Seconds of each method in the last column, k = 4."""
    theirs = list(scale.least)[-1]
    found = {method: rows.get(f"1 {theirs} 4 {method}") for method in METHODS}
    parts = [f"{method} {row['seconds']:.0f}" for method, row in found.items() if row]
    return f"Seconds at {theirs} and k = 4, with other jobs running: {', '.join(parts)}."


def second_table(rows: dict[str, Any], scale: Any) -> str:
    """Lambda down, ratios across."""
    cells = []
    for kind, weights in scale.weights.items():
        for weight in (0.0, *weights):
            row = ["SEMF" if weight else "EMF", f"{weight:g}" if weight else "", kind]
            for ratio in scale.ratios:
                known = rows.get(f"2 {kind} {ratio:g} {weight:g}")
                ours = f"{100 * known['accuracy']:.1f}" if known else "–"
                paper = PAPER_2[weight][RATIOS.index(ratio)]
                row.append(f"{ours} ({paper:.1f})" if kind == "random" else ours)
            cells.append(row)
    return table(["method", "lambda", "split", *(f"{ratio:.0%} for training" for ratio in scale.ratios)], cells)


def claims(rows: dict[str, Any], scale: Any) -> str:
    """Compare the paper's claims with the scores, skipping what was not run."""
    found = {key: 100 * row["accuracy"] for key, row in rows.items()}
    cells = [f"1 {theirs} {k}" for theirs in scale.least for k in scale.negatives]
    lines = []
    for method in ("EMF, AMEMF", "EMF, sweeps"):
        gains = [
            found[f"{cell} {method}"] - found[f"{cell} SGNS"]
            for cell in cells
            if f"{cell} SGNS" in found and f"{cell} {method}" in found
        ]
        if gains:
            lines.append(
                f"* {method} compared with SGNS: ahead in {sum(gain > 0 for gain in gains)} of {len(gains)} cells, by "
                f"{sum(gains) / len(gains):+.1f} points on average (paper: EMF ahead in 7 of 12, tied in one)."
            )
    distances = [
        found[f"{cell} EMF, sweeps"] - found[f"{cell} IMF"] for cell in cells if f"{cell} EMF, sweeps" in found
    ]
    if distances:
        verdict = "holds" if min(distances) > 5 else "does not hold everywhere"
        lines.append(f"* IMF is well below EMF: {verdict} (smallest difference {min(distances):.1f} points).")
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
    ratio = scale.ratios[-1 if len(scale.ratios) < 3 else 2]
    for kind in scale.weights:
        top, weight = best[kind, ratio]
        if top >= 0:
            plain = found[f"2 {kind} {ratio:g} 0"]
            lines.append(
                f"* At {ratio:.0%}, {kind} split: EMF {plain:.1f}, SEMF {top:.1f} with lambda {weight:g}, "
                f"{top - plain:+.1f} points (paper, random split: 62.1 to 84.7)."
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
