"""The page of the study of IWLRLS: its tables beside the paper's, Figure 1, and which claims hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firthian.runtime.figures import COLORS, save_figure
from studies.common import SHORT, Study, score_cells, table

#: Table 2 of the paper, per cent: semantic, syntactic, total.
PAPER_2 = {
    ("one step", "tweedie, word bias"): (71.4, 47.62, 52.13),
    ("one step", "poisson"): (61.37, 43.18, 46.63),
    ("one step", "multinomial"): (73.27, 46.63, 50.65),
    ("early stop", "tweedie, word bias"): (73.98, 45.64, 51.02),
    ("early stop", "poisson"): (64.83, 43.43, 47.49),
    ("early stop", "multinomial"): (75.22, 46.05, 51.59),
    ("full", "tweedie, word bias"): (74.51, 48.20, 53.20),
    ("full", "poisson"): (66.87, 43.03, 47.56),
    ("full", "multinomial"): (76.64, 47.43, 52.98),
}
MODELS = ("tweedie, word bias", "poisson", "multinomial")

#: The rows of Tables 2 and 6 and of Figure 1: with the paper's penalty, and without the diagonal.
REGULARIZED = ", regularized"

#: Tables 3 to 6: our row, the paper's name for it, and its figures after 1, 2, ... iterations.
PAPER = {
    "Table 3: the power": [
        ("tweedie, power 1.1, weights not cut", "p = 1.1", [(66.7, 36.8, 42.48), (72.74, 43.39, 48.96)]),
        ("tweedie, weights not cut", "p = 1.25", [(72.9, 42.26, 48.09), (74.6, 45.26, 50.84)]),
        ("tweedie, power 1.5, weights not cut", "p = 1.5", [(73.0, 44.7, 50.08), (70.78, 44.68, 49.64)]),
        ("tweedie, power 1.75, weights not cut", "p = 1.75", [(63.95, 43.5, 47.38), (65.81, 40.01, 44.91)]),
        ("tweedie, power 1.9, weights not cut", "p = 1.9", [(53.2, 39.91, 42.43), (53.02, 33.6, 37.29)]),
    ],
    "Table 4: large counts": [
        ("tweedie, weights not cut", "1: unchanged", [(72.91, 42.26, 48.09), (74.6, 45.26, 50.84)]),
        ("tweedie, both biases", "2: weights truncated at 10", [(70.6, 45.51, 50.28), (71.94, 45.97, 50.9)]),
        ("tweedie, counts cut at 10", "3: counts truncated at 10", [(54.88, 44.01, 46.08), (53.82, 45.3, 46.92)]),
    ],
    "Table 5: ridge": [
        (
            "tweedie, ridge, no diagonal, weights not cut",
            "ridge 0.002, no diagonal",
            [(69.89, 44.32, 49.18), (73.98, 46.2, 51.48)],
        ),
        ("tweedie, weights not cut", "none", [(72.91, 42.26, 48.09), (74.6, 45.26, 50.84)]),
    ],
    "Table 6: biases": [
        (
            "tweedie, both biases, regularized",
            "both",
            [(73.18, 47.87, 52.67), (75.04, 45.76, 51.32), (74.25, 47.82, 52.84), (73.36, 45.87, 51.09), (73.53, 47.2, 52.2)],
        ),
        (
            "tweedie, word bias, regularized",
            "words only",
            [(71.4, 47.62, 52.13), (73.98, 45.64, 51.02), (74.51, 48.2, 53.2), (74.51, 46.24, 51.61), (75.22, 47.87, 53.06)],
        ),
    ],
}  # fmt: skip

PAGE = """# Exponential families: one step and more

Baer, Seto and Wells (2018), Figure 1 and Tables 2 to 6. Accuracy on Google's analogies by 3CosAdd, in percent, over the
questions whose words are in the vocabulary: semantic / syntactic / total. Our result comes first, the paper's in parentheses; a
dash means not run.

The paper uses text8, we use enwiki17m ({words:,} words seen at least {least} times; the paper has about 11,000). Ours has
different articles, the same number of tokens, and more and rarer words, hence more questions and more candidates for each
answer. Compare numbers within a column, and directions rather than levels. {dimension} dimensions, seed 1. Each problem is
solved by sweeps instead of 50 passes of Adagrad, so an "iteration" is two sweeps for the first least-squares problem and one
sweep over all pairs for each further one. As in the paper, Tables 2 and 6 truncate weights at 10, use a ridge of 0.002 and drop
the diagonal; Tables 3 and 5 do not truncate weights. Our first problem scales weights to at most 1 and halves the squares; the
ridge is the paper's value in Tables 2 and 6, and is scaled like the weights in Table 5, where that factor is large.

## Table 2: iterations

"full" is the iteration with the best total, as in the paper, so it is chosen on the test questions. So is the paper's "early
stop", the best iteration between the first and that one. "held out" stops where the fit on a held-out 2 % of the seen pairs and
on unseen cells is best, without looking at the test questions.

{steps}
## Figure 1

![Accuracy after each iteration]({figure})

{options}
## All families

Scores on the seven sets (Spearman correlation; 3CosAdd / 3CosMul). `tweedie` uses harmonic windows of 10, the others dynamic
windows of 5 with subsampling. Times are for training, with other jobs running.

{families}
## Which claims hold

{claims}"""


def write_page(study: Study, trained: Iterable[str], least: int, dimension: int, words: int) -> None:
    """Write the page from the saved rows; missing ones appear as a dash."""
    rows = study.rows
    figure = study.picture("figure1")
    names = ("tweedie, both biases", *(model + REGULARIZED for model in MODELS))
    figure_1({name: rows[name] for name in names if name in rows}, figure)
    study.write(
        PAGE.format(
            words=words,
            least=least,
            dimension=dimension,
            steps=table_2(rows),
            figure=figure.name,
            options="\n".join(f"## {title}\n\n{_table(rows, lines)}" for title, lines in PAPER.items()),
            families=families(rows, trained),
            claims=claims(rows),
        )
    )


def best(rows: list[dict[str, Any]]) -> int:
    """Return the index of the iteration with the best total."""
    return max(range(len(rows)), key=lambda number: rows[number]["scores"]["google"])


def chosen_rows(rows: dict[str, Any], model: str) -> dict[str, tuple[dict[str, Any], int]]:
    """Return the scores of one step, early stop and full, as the paper defines them, with the iteration."""
    found = rows[model + REGULARIZED]
    full = best(found)
    early = 1 + best(found[1:full]) if full > 1 else min(full, 1)
    return {
        name: (found[at]["scores"], at + 1) for name, at in (("one step", 0), ("early stop", early), ("full", full))
    }


def table_2(rows: dict[str, Any]) -> str:
    """Ours beside theirs."""
    lines = []
    for model in MODELS:
        if model + REGULARIZED in rows:
            for step, (found, iteration) in chosen_rows(rows, model).items():
                lines.append([model, f"{step} (iteration {iteration})", _three(found, PAPER_2[step, model])])
        else:
            lines += [[model, step, _three(None, PAPER_2[step, model])] for step in ("one step", "early stop", "full")]
        held = rows.get(f"{model}{REGULARIZED}, stopped by held-out pairs")
        if held:
            lines.append([model, f"held out (iteration {held['stats']['stopped_at']})", _three(held["scores"], None)])
    return table(["model", "step", "semantic / syntactic / total"], lines)


def _three(found: dict[str, float] | None, paper: tuple[float, ...] | None) -> str:
    ours = " / ".join(f"{100 * found[name]:.1f}" for name in ("semantic", "syntactic", "google")) if found else "–"
    return ours + (f" ({' / '.join(f'{value:.1f}' for value in paper)})" if paper else "")


def _table(rows: dict[str, Any], lines: list[tuple[str, str, list[tuple[float, ...]]]]) -> str:
    width = max(max(len(paper) for _, _, paper in lines), 2)
    cells = []
    for name, shown, paper in lines:
        ours = [row["scores"] for row in rows.get(name, [])] + [None] * width
        theirs = [*paper, *[None] * width]
        cells.append([shown, *(_three(ours[number], theirs[number]) for number in range(width))])
    return table(["", *(f"iteration {number + 1}" for number in range(width))], cells)


def families(rows: dict[str, Any], trained: Iterable[str]) -> str:
    """Every family once more, on seven sets."""
    lines = []
    for name in ("tweedie, both biases", *MODELS, "negative-binomial"):
        found = rows.get(name, [])
        for at in sorted({0, min(3, len(found) - 1), len(found) - 1} if found else ()):
            row = found[at]
            lines.append([f"{name}, iteration {at + 1}", *score_cells(row["scores"]), f"{row['seconds']:.0f}"])
    for name in trained:
        if name not in rows:
            continue
        row = rows[name]
        label = f"{name}: p = {row['stats']['power']:g}" if "power" in row["stats"] else name
        lines.append([label, *score_cells(row["scores"]), f"{row['seconds']:.0f}"])
    return table(["", *SHORT, "seconds"], lines)


def claims(rows: dict[str, Any]) -> str:
    """Compare the paper's claims with the scores, skipping what was not run."""

    def total(name: str, iteration: int) -> float:
        return 100 * float(rows[name][min(iteration, len(rows[name])) - 1]["scores"]["google"])

    def holds(value: bool) -> str:
        return "holds" if value else "does not hold"

    lines, gains = [], []
    for model in MODELS:
        if model + REGULARIZED in rows:
            steps, number = chosen_rows(rows, model), len(rows[model + REGULARIZED])
            one, full = (100 * steps[name][0]["google"] for name in ("one step", "full"))
            gains.append(full - one)
            last = steps["full"][1]
            rising = ", still rising" if last == number else ""
            lines.append(
                f"* More iterations than one improve {model}: {holds(full > one)} ({one:.1f} to {full:.1f}, best after "
                f"{last} of {number}{rising})."
            )
    if gains:
        lines.append(
            f"* One step is within one or two points of the full likelihood: {holds(max(gains) <= 2.5)} "
            f"({min(gains):.1f} to {max(gains):.1f} points behind)."
        )
    powers = {p: [total(name, step) for step in (1, 2)] for name, p, _ in PAPER["Table 3: the power"] if name in rows}
    if len(powers) == len(PAPER["Table 3: the power"]):
        for step, (when, theirs) in enumerate((("one iteration", "p = 1.5"), ("two iterations", "p = 1.25"))):
            top = max(powers, key=lambda p: powers[p][step])
            lines.append(f"* After {when} the best power is {top} (paper: {theirs}).")
        low, high = (
            max(powers[p][1] for p in part) for part in (("p = 1.1", "p = 1.25", "p = 1.5"), ("p = 1.75", "p = 1.9"))
        )
        lines.append(
            f"* High powers are worse: {holds(high < low)} (after two iterations {high:.1f} versus {low:.1f})."
        )
    names = [name for name, _, _ in PAPER["Table 4: large counts"]]
    if all(name in rows for name in names):
        kept, cut, counts = (total(name, 1) for name in names)
        lines.append(
            f"* Truncating weights is slightly better than not, and truncating counts is worse: {holds(cut >= kept > counts)} "
            f"(after one iteration {cut:.1f}, {kept:.1f}, {counts:.1f})."
        )
    penalized, plain = (PAPER["Table 5: ridge"][place][0] for place in (0, 1))
    if penalized in rows and plain in rows:
        with_it, without = total(penalized, 2), total(plain, 2)
        lines.append(
            f"* A ridge and no diagonal improve the plain model: {holds(with_it > without)} "
            f"({without:.1f} to {with_it:.1f} after two iterations; paper 50.8 to 51.5)."
        )
    for claim, first, second in (
        ("One bias is slightly better than two", "tweedie, word bias", "tweedie, both biases"),
        ("The multinomial model is better than Poisson", "multinomial", "poisson"),
    ):
        both = [rows.get(name + REGULARIZED) for name in (first, second)]
        if all(both):
            pairs = [[row["scores"]["google"] for row in pair] for pair in zip(*both, strict=False)]
            ahead = sum(one > other for one, other in pairs)
            best_of = [100 * max(column) for column in zip(*pairs, strict=True)]
            clear = "no clear difference" if 0 < ahead < len(pairs) else holds(ahead > 0)
            lines.append(
                f"* {claim}: {clear} (ahead after {ahead} of {len(pairs)} iterations, at best {best_of[0]:.1f} versus "
                f"{best_of[1]:.1f})."
            )
    return "\n".join(lines) + "\n"


def figure_1(rows: dict[str, Any], path: Any) -> None:
    """Draw accuracy against iterations: semantic, syntactic, total."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.4), dpi=120, sharex=True, layout="constrained")
    for axis, (kind, title) in zip(
        axes, (("semantic", "Semantic"), ("syntactic", "Syntactic"), ("google", "Total")), strict=True
    ):
        for (name, found), color, marker in zip(rows.items(), COLORS, "os^D", strict=False):
            numbers = [row["iteration"] for row in found]
            axis.plot(
                numbers,
                [100 * row["scores"][kind] for row in found],
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
