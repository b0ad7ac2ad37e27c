"""Tables and the picture of docs/scale.md, from ``results/scale.json`` and the constants fitted to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scale import SPREAD, load, results, size_of
from firthian.runtime import cost
from firthian.runtime.cost import Size, predict
from firthian.runtime.memory import show_size
from studies.common import table

Row = dict[str, Any]

#: The cluster of the forecasts: machines like the one measured, and a network of 10 Gbit/s between them.
MACHINES, CORES, NETWORK = 100, 2, 1.25e9

#: A pair in a sorted run on its way to be merged: column (4 bytes) and exact sum (8).
RUN_BYTES_PER_PAIR = 12


def show() -> str:
    """Write all tables."""
    return "\n".join(f"## {title}\n{make()}" for title, make in PARTS.values())


def _constants() -> str:
    rows = []
    for what, found in cost.constants()["costs"].items():
        for measure, unit in (("cpu", "s"), ("peak_bytes", "B"), ("disk_bytes", "B")):
            terms = ", ".join(f"{name} {value:.3g}" for name, value in found[measure].items() if value)
            rows.append(
                [what, {"cpu": "processor", "peak_bytes": "memory", "disk_bytes": "disk"}[measure], unit, terms]
            )
    return table(["", "cost", "unit", "terms"], rows)


def ratio(row: Row, measure: str) -> float:
    """Return predicted / measured."""
    found = predict(row["what"], size_of(row))
    return float({"wall": found.seconds}.get(measure, getattr(found, measure, 0.0)) / row[measure])


def _left_out() -> str:
    rows = [
        [
            row["what"], f"{row['tokens'] / 1e6:.0f} M", f"{row['words']:,}", f"{row['pairs'] / 1e6:.1f} M",
            str(row["dimension"] or ""), f"{row['cpu']:.1f}", f"{ratio(row, 'cpu'):.2f}",
            show_size(row["peak_bytes"]), f"{ratio(row, 'peak_bytes'):.2f}", f"{ratio(row, 'disk_bytes'):.2f}",
        ]
        for row in load()
        if row["left_out"] and row["what"] != "budget"
    ]  # fmt: skip
    head = [
        "",
        "tokens",
        "words",
        "pairs",
        "dim",
        "CPU s",
        "predicted / measured",
        "memory",
        "predicted / measured",
        "disk, predicted / measured",
    ]
    return table(head, rows)


def _errors() -> str:
    rows = []
    for what in cost.constants()["costs"]:
        some = [row for row in load() if row["what"] == what and not row["left_out"]]
        worst = {m: max((ratio(row, m) for row in some), key=lambda r: abs(r - 1)) for m in ("cpu", "peak_bytes")}
        rows.append([what, str(len(some)), f"{worst['cpu']:.2f}", f"{worst['peak_bytes']:.2f}"])
    return table(["", "runs", "CPU", "memory"], rows)


def _growth() -> str:
    once = cost.constants()["costs"]["count"]["cpu"]["once"]
    rows = [
        [
            f"{row['tokens'] / 1e6:.1f} M", f"{row['words']:,}", f"{row['pairs'] / 1e6:.1f} M", f"{row['wall']:.2f}",
            f"{1e6 * row['wall'] / row['tokens']:.3f}", f"{1e6 * (row['cpu'] - once) / row['tokens']:.3f}",
        ]
        for row in sorted(load(), key=lambda row: row["tokens"])
        if row["what"] == "count" and row["min_count"] == 5
    ]  # fmt: skip
    head = ["tokens", "words", "pairs", "seconds", "µs per token", "µs of CPU per token, without start-up"]
    return table(head, rows)


def _budget() -> str:
    free = {row["millions"]: row for row in load() if row["what"] == "count" and row["min_count"] == 5}
    rows = [
        [
            f"{row['tokens'] / 1e6:.1f} M", show_size(free[row["millions"]]["peak_bytes"]), show_size(row["peak_bytes"]),
            f"{row['wall'] / free[row['millions']]['wall']:.2f}",
        ]
        for row in load()
        if row["what"] == "budget"
    ]  # fmt: skip
    head = ["tokens", "peak, no budget", "peak, 500 MB", "time with / without budget"]
    return table(head, rows)


def grown(tokens: float) -> Size:
    """Return the size of an English text by its tokens: words with 5 or more occurrences, pairs with window 5.

    >>> grown(1e9).words > grown(1e7).words
    True
    """
    growth = cost.constants()["growth"]
    words, pairs = (growth[name]["factor"] * tokens ** growth[name]["exponent"] for name in ("words", "pairs"))
    return Size(tokens, words, min(pairs, words * words))


def forecast(tokens: float, words: float | None) -> list[list[str]]:
    """Predict a corpus on the cluster; ``words`` limits the vocabulary."""
    size = grown(tokens)
    if words is not None and words < size.words:
        # Pairs of the most frequent words: the same share of the possible ones at least; never more than there can be.
        size = Size(tokens, words, min(size.pairs, words * words))
    rows = []
    shard = grown(tokens / MACHINES)
    shard = Size(shard.tokens, min(shard.words, size.words), min(shard.pairs, size.words**2))
    counted = predict("count", shard, CORES)
    # A tree of merges: at each level half of the runs travel, and they grow until they are the whole.
    travel = sum(
        min(grown(tokens / n).pairs, size.words**2) * RUN_BYTES_PER_PAIR * n / 2 for n in (64, 32, 16, 8, 4, 2)
    )
    last = size.pairs * RUN_BYTES_PER_PAIR / NETWORK
    rows.append(
        [f"{tokens:.0e}", f"{size.words:,.0f}", f"{size.pairs:.2g}", "count", _time(counted.seconds),
         _time(travel / MACHINES / NETWORK + last), show_size(travel), show_size(size.pairs * 8)]
    )  # fmt: skip
    for recipe in SPREAD:
        dimension = 100 if recipe == "bayes" else 300
        whole = predict(recipe, size._replace(dimension=dimension), CORES)
        factor = size.words * dimension * 4 * (1 if recipe != "bayes" else 1 + dimension / 2)
        sent = results()["rounds"][recipe] * factor * 2
        rows.append(
            ["", "", "", f"{recipe}, {dimension}", _time(whole.seconds / MACHINES), _time(sent / NETWORK),
             show_size(sent * MACHINES), show_size(whole.peak_bytes / MACHINES + 2 * factor) + " per machine"]
        )  # fmt: skip
    return rows


def _time(seconds: float) -> str:
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def _assumptions() -> str:
    known = cost.constants()
    laws = [
        [name, f"{known['growth'][key]['factor']:.2f} *T*^{known['growth'][key]['exponent']:.3f}"]
        for key, name in (("words", "words *V* seen at least 5 times"), ("pairs", "pairs *P*, window 5"))
    ]
    rounds = [[f"rounds of `{name}`", f"{results()['rounds'][name]:.0f}"] for name in SPREAD]
    text = ["bytes of text per token", f"{known['text_bytes_per_token']:.1f}"]
    return table(["", "value"], [*laws, *rounds, text])


def _forecasts() -> str:
    rows = [line for tokens in (1e10, 1e12) for words in (400_000, None) for line in forecast(tokens, words)]
    head = ["tokens", "words", "pairs", "", "work", "network", "bytes sent", "disk or memory"]
    return table(head, rows)


#: The tables of the page, by name: what each shows.
PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "constants": ("constants", _constants),
    "left-out": ("runs left out of the fit", _left_out),
    "growth": ("growth of counting", _growth),
    "budget": ("a budget of 500 MB", _budget),
    "errors": ("the worst of the runs fitted, predicted / measured", _errors),
    "assumptions": ("assumptions of the forecasts", _assumptions),
    "forecasts": (f"{MACHINES} machines of {CORES} cores", _forecasts),
}


def plot(path: Path) -> str:
    """Draw predicted against measured: processor seconds, and memory."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), constrained_layout=True)
    kinds = list(cost.constants()["costs"])
    for axis, measure, unit, label in (
        (axes[0], "cpu", 1.0, "processor seconds"),
        (axes[1], "peak_bytes", 1e6, "peak memory, MB"),
    ):
        ends = [float("inf"), 0.0]
        for number, what in enumerate(kinds):
            for left_out, marker in ((False, "o"), (True, "X")):
                some = [row for row in load() if row["what"] == what and row["left_out"] is left_out]
                seen = [row[measure] / unit for row in some]
                said = [row[measure] * ratio(row, measure) / unit for row in some]
                name = what if marker == "o" else None
                axis.scatter(seen, said, marker=marker, s=70 if left_out else 28, color=f"C{number}", label=name,
                             edgecolor="black" if left_out else "none", zorder=3)  # fmt: skip
                ends = [min([ends[0], *seen, *said]), max([ends[1], *seen, *said])]
        line = [ends[0] * 0.8, ends[1] * 1.25]
        axis.plot(line, line, color="black", linewidth=0.8)
        axis.fill_between(line, [x * 0.7 for x in line], [x * 1.3 for x in line], color="0.9", zorder=0)
        axis.set(xscale="log", yscale="log", xlim=line, ylim=line, xlabel=f"measured, {label}", ylabel="predicted")
        axis.set_aspect("equal")
    axes[0].scatter([], [], marker="X", s=70, color="white", edgecolor="black", label="left out of the fit")
    axes[0].legend(fontsize=9, loc="upper left")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    return str(path)
