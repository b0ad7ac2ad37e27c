"""The page of the study of IWLRLS: its tables beside the paper's, Figure 1, and which claims hold."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from firthian.evaluate.ranks import mcnemar
from firthian.runtime.figures import COLORS, save_figure
from studies.common import Study, table

#: Names of rows of ``--small`` begin so.
SMALL_ROWS = "small/"

#: Our rows, the paper's names for them, and its figures (semantic, syntactic, total) after iteration 1, 2, ...
PAPER: dict[str, list[tuple[str, str, list[tuple[float, ...]]]]] = {
    "Table 3: the power": [
        ("power 1.1", "p = 1.1", [(66.7, 36.8, 42.48), (72.74, 43.39, 48.96)]),
        ("weights kept", "p = 1.25", [(72.9, 42.26, 48.09), (74.6, 45.26, 50.84)]),
        ("power 1.5", "p = 1.5", [(73.0, 44.7, 50.08), (70.78, 44.68, 49.64)]),
        ("power 1.75", "p = 1.75", [(63.95, 43.5, 47.38), (65.81, 40.01, 44.91)]),
        ("power 1.9", "p = 1.9", [(53.2, 39.91, 42.43), (53.02, 33.6, 37.29)]),
    ],
    "Table 4: large counts": [
        ("weights kept", "1: unchanged", [(72.91, 42.26, 48.09), (74.6, 45.26, 50.84)]),
        ("weights truncated", "2: weights truncated at 10", [(70.6, 45.51, 50.28), (71.94, 45.97, 50.9)]),
        ("counts truncated", "3: counts truncated at 10", [(54.88, 44.01, 46.08), (53.82, 45.3, 46.92)]),
    ],
    "Table 5: ridge": [
        ("ridge, no diagonal", "penalty, no diagonal", [(69.89, 44.32, 49.18), (73.98, 46.2, 51.48)]),
        ("weights kept", "none", [(72.91, 42.26, 48.09), (74.6, 45.26, 50.84)]),
    ],
    "Table 6: biases": [
        (
            "tweedie, both biases",
            "both",
            [(73.18, 47.87, 52.67), (75.04, 45.76, 51.32), (74.25, 47.82, 52.84), (73.36, 45.87, 51.09), (73.53, 47.2, 52.2)],
        ),
        (
            "tweedie, word bias",
            "words only",
            [(71.4, 47.62, 52.13), (73.98, 45.64, 51.02), (74.51, 48.2, 53.2), (74.51, 46.24, 51.61), (75.22, 47.87, 53.06)],
        ),
    ],
}  # fmt: skip

#: Table 2 of the paper: one step, early stop, full.
PAPER_2 = {
    "tweedie, word bias": [(71.4, 47.62, 52.13), (73.98, 45.64, 51.02), (74.51, 48.20, 53.20)],
    "poisson": [(61.37, 43.18, 46.63), (64.83, 43.43, 47.49), (66.87, 43.03, 47.56)],
    "multinomial": [(73.27, 46.63, 50.65), (75.22, 46.05, 51.59), (76.64, 47.43, 52.98)],
}

PAGE = """# Exponential families: one step and more

Baer, Seto and Wells (2018), Tables 1 to 6 and Figure 1. Accuracy on Google's analogies by 3CosAdd, in percent, over
the questions whose words are in the vocabulary: semantic / syntactic / total, with a 95 % interval of the total. The
paper's results are in parentheses; a dash means not run.

**Conditions.** The paper trains on text8 (17 M tokens, words seen at least 50 times, "approximately 11,000", a third
of the 19,544 questions covered), in 150 dimensions. text8 is not among our data. {text}
Compare directions rather than levels.

**Method.** As in the paper, the first least-squares problem is solved to the end (until a sweep of alternating least
squares lowers the objective by less than 0.5 %), and truncation and penalty hold in every iteration. The paper's
penalty of 0.002 beside h·e² is our `ridge=0.001` beside h·e²/2. Each further iteration is one Fisher scoring sweep
over all pairs, seen or not, where the paper solves each problem by Adagrad. "words only" and "multinomial" have no
context bias. The row "Adagrad" is the paper's own solver: 50 passes, batches of 512, rate 0.1, textbook accumulators,
the penalty; from the second iteration on it visits the seen pairs and as many drawn unseen ones, because all V² of
them, 50 times, take hours here.

{found}{small}"""

#: What was found at one size.
FOUND = """## Table 1: the empty cells

The binomial model of SGNS after one iteration (weighted least squares on shifted PMI), stopped early by held-out
pairs, and as the recipe `sgns`, with the tests against `sgns`.

{binomial}
## Table 2: iterations

"full" is the iteration with the best total, as in the paper, so it is chosen on the test questions; so is "early
stop", the best one before it.

{steps}
## Figure 1

![Accuracy after each iteration]({figure})

{options}
## The first iteration, solved in three ways

{first}
{power}
## Which claims hold

Judged on the text and at the size above. Tests are McNemar's on the same questions, two-sided, at the 5 % level,
without correction for their number.

{claims}"""

SMALL = """## At a smaller size

{text} Everything was run here.

{found}"""


def write_page(study: Study) -> None:
    """Write the page from the saved rows; missing ones appear as a dash."""
    rows = {name: row for name, row in study.rows.items() if not name.startswith(SMALL_ROWS)}
    small = {name.removeprefix(SMALL_ROWS): row for name, row in study.rows.items() if name not in rows}
    below = ""
    if small:
        found = _found(small, study.picture("figure1_small")).replace("\n## ", "\n### ")
        below = "\n" + SMALL.format(text=_text(small["text"]), found="#" + found)
    study.write(PAGE.format(text=_text(rows["text"]), found=_found(rows, study.picture("figure1")), small=below))


def _found(rows: dict[str, Any], figure: Path) -> str:
    """Write the tables, the figure and the verdicts of one size."""
    names = ("tweedie, both biases", *PAPER_2)
    figure_1({name: rows[name] for name in names if name in rows}, figure)
    auto = rows.get("power auto")
    power = (
        f"`power=auto`, by the likelihood with P(0), chooses p = {auto['power']:.2f} (dispersion {auto['dispersion']:.2f}): "
        f"{_cell(auto)}.\n"
        if auto
        else ""
    )
    return FOUND.format(
        binomial=_binomial(rows),
        steps=_table_2(rows),
        figure=figure.name,
        options="\n".join(f"## {title}\n\n{_table(rows, lines)}" for title, lines in PAPER.items()),
        first=_first(rows),
        power=power,
        claims=claims(rows),
    )


def _text(facts: dict[str, Any]) -> str:
    scale = facts["scale"]
    part = f"the first {scale['bytes'] // 10**6} MB of enwiki17m" if scale["bytes"] else "enwiki17m"
    size = "the paper's size" if not scale["bytes"] and scale["dimension"] == 150 else "less than the paper's"
    return (
        f"Ours is {part}, other articles of the English Wikipedia: {facts['tokens'] / 1e6:.1f} M tokens of the "
        f"{facts['words']:,} most frequent words (seen at least {facts['least']} times), {facts['questions']:,} of "
        f"{facts['of']:,} questions covered, {scale['dimension']} dimensions: {size}."
    )


def _interval(share: float, number: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval in percent."""
    z = 1.96
    center, spread = share + z * z / (2 * number), z * math.sqrt(share * (1 - share) / number + z * z / (4 * number**2))
    return 100 * (center - spread) / (1 + z * z / number), 100 * (center + spread) / (1 + z * z / number)


def _cell(row: dict[str, Any] | None, paper: tuple[float, ...] | None = None) -> str:
    ours = "–"
    if row:
        low, high = _interval(row["total"], row["questions"])
        ours = " / ".join(f"{100 * row[name]:.1f}" for name in ("semantic", "syntactic", "total"))
        ours += f" [{low:.1f}, {high:.1f}]"
    return ours + (f" ({' / '.join(f'{value:.1f}' for value in paper)})" if paper else "")


def paired(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """Return the difference of the totals in points, the second less the first, and McNemar's p-value."""
    first, second = (
        np.unpackbits(np.frombuffer(bytes.fromhex(row["hits"]), dtype=np.uint8))[: row["questions"]]
        for row in (one, other)
    )
    p = mcnemar(int((first & ~second & 1).sum()), int((second & ~first & 1).sum()))
    return 100 * (other["total"] - one["total"]), p


def _best(rows: list[dict[str, Any]]) -> int:
    return max(range(len(rows)), key=lambda number: rows[number]["total"])


def _table_2(rows: dict[str, Any]) -> str:
    lines = []
    for model, paper in PAPER_2.items():
        found = rows.get(model)
        places = [0, 0, 0]
        if found:
            full = _best(found)
            places = [0, 1 + _best(found[1:full]) if full > 1 else min(full, 1), full]
        for step, at, theirs in zip(("one step", "early stop", "full"), places, paper, strict=True):
            label = f"{step} (iteration {at + 1})" if found else step
            lines.append([model, label, _cell(found[at] if found else None, theirs)])
    return table(["model", "step", "semantic / syntactic / total"], lines)


def _table(rows: dict[str, Any], lines: list[tuple[str, str, list[tuple[float, ...]]]]) -> str:
    width = max(len(paper) for _, _, paper in lines)
    cells = []
    for name, shown, paper in lines:
        ours = [*rows.get(name, []), *[None] * width]
        cells.append([shown, *(_cell(ours[number], paper[number]) for number in range(width))])
    return table(["", *(f"iteration {number + 1}" for number in range(width))], cells)


def _binomial(rows: dict[str, Any]) -> str:
    full, early, steps = rows.get("binomial, sgns"), rows.get("binomial, early stop"), rows.get("binomial", [])
    found = [("one iteration", steps[0] if steps else None)]
    found += [(f"{row['iteration']} iterations", row) for row in steps[1:]]
    label = f"early stop, held-out pairs (iteration {early['stopped_at']})" if early else "early stop"
    lines = []
    for name, row in [*found, (label, early), ("`sgns`", full)]:
        verdict = "–"
        if row and full and row is not full:
            points, p = paired(full, row)
            verdict = f"{points:+.1f} (p = {p:.2g})"
        lines.append([name, _cell(row), verdict])
    return table(["binomial", "semantic / syntactic / total", "against `sgns`"], lines)


def _first(rows: dict[str, Any]) -> str:
    lines = []
    for name, label in (
        ("tweedie, word bias", "alternating least squares, converged"),
        ("two sweeps", "two short sweeps (the recipe's default)"),
        ("Adagrad", "Adagrad, 50 passes (the paper's solver)"),
    ):
        found = [*rows.get(name, []), None, None, None]
        lines.append([label, *(_cell(row) for row in found[:3])])
    return table(["tweedie, word bias, regularized", "iteration 1", "iteration 2", "iteration 3"], lines)


def claims(rows: dict[str, Any]) -> str:
    """Judge the paper's claims, skipping what was not run."""
    lines = []

    def judge(claim: str, worse: dict[str, Any], better: dict[str, Any], more: str = "") -> None:
        points, p = paired(worse, better)
        clear = "holds" if points > 0 else "does not hold"
        if p >= 0.05:
            clear = "no significant difference here"
        lines.append(f"* {claim}: **{clear}** ({points:+.1f} points, p = {p:.2g}{more}).")

    gaps = []
    for model in (*PAPER_2, "Adagrad"):
        if model in rows:
            found = rows[model]
            full = _best(found)
            last = f"; best after {full + 1} of {len(found)}, a choice on the test questions"
            judge(f"More iterations than one improve {model}", found[0], found[max(full, 1)], last)
            gaps.append(100 * (found[full]["total"] - found[0]["total"]))
    if gaps:
        verdict = "holds" if max(gaps) <= 2.5 else "does not hold"
        lines.append(
            f"* One step is within one or two points of the full likelihood: **{verdict}** "
            f"({min(gaps):.1f} to {max(gaps):.1f} points behind)."
        )
    powers = [(p, rows[name]) for name, p, _ in PAPER["Table 3: the power"] if name in rows]
    if len(powers) == 5:
        for step, (when, theirs) in enumerate((("one iteration", "p = 1.5"), ("two iterations", "p = 1.25"))):
            ranked = sorted(powers, key=lambda pair: pair[1][step]["total"], reverse=True)
            top = ranked[0][0]
            rival = ranked[1][1] if top == theirs else ranked[0][1]
            points, p = paired(rival[step], dict(powers)[theirs][step])
            verdict = "no significant difference here" if p >= 0.05 else "holds" if top == theirs else "does not hold"
            lines.append(
                f"* After {when} the best power is {theirs}: **{verdict}** "
                f"(best here {top}; {points:+.1f} points against the best other power, p = {p:.2g})."
            )
        judge(
            "High powers are worse (1.9 against 1.25, two iterations)",
            dict(powers)["p = 1.9"][1],
            dict(powers)["p = 1.25"][1],
        )
    for claim, worse, better, step in (
        ("Truncating weights is slightly better than not (one iteration)", "weights kept", "weights truncated", 0),
        (
            "Truncating counts is worse than truncating weights (one iteration)",
            "counts truncated",
            "weights truncated",
            0,
        ),
        ("A penalty and no diagonal improve the plain model (two iterations)", "weights kept", "ridge, no diagonal", 1),
    ):
        if worse in rows and better in rows:
            judge(claim, rows[worse][step], rows[better][step])
    for claim, first, second in (
        ("One bias is slightly better than two", "tweedie, both biases", "tweedie, word bias"),
        ("The multinomial model is better than Poisson", "poisson", "multinomial"),
    ):
        if first in rows and second in rows:
            judge(f"{claim} (best iterations)", rows[first][_best(rows[first])], rows[second][_best(rows[second])])
    if "Adagrad" in rows and "tweedie, word bias" in rows:
        judge(
            "(ours) Converged least squares is better than Adagrad after one iteration",
            rows["Adagrad"][0],
            rows["tweedie, word bias"][0],
        )
    if "two sweeps" in rows and "tweedie, word bias" in rows:
        judge(
            "(ours) Two short sweeps are better than converged least squares after one iteration",
            rows["tweedie, word bias"][0],
            rows["two sweeps"][0],
        )
    lines.append("* The levels of the paper's tables: **cannot be tried here**, because text8 is not among our data.")
    return "\n".join(lines) + "\n"


def figure_1(rows: dict[str, Any], path: Any) -> None:
    """Draw accuracy against iterations: semantic, syntactic, total."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.4), dpi=120, sharex=True, layout="constrained")
    for axis, (kind, title) in zip(
        axes, (("semantic", "Semantic"), ("syntactic", "Syntactic"), ("total", "Total")), strict=True
    ):
        for (name, found), color, marker in zip(rows.items(), COLORS, "os^D", strict=False):
            numbers = [row["iteration"] for row in found]
            axis.plot(
                numbers,
                [100 * row[kind] for row in found],
                color=color,
                marker=marker,
                markersize=4,
                label=name,
            )
        axis.set_title(title)
        axis.set_xlabel("iterations")
        axis.grid(alpha=0.3)
        axis.xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_ylabel("percent correct")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    save_figure(figure, path, force=True)
    pyplot.close(figure)
