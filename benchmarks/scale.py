"""What counting and training cost, by tokens, words, pairs and dimensions: measured, fitted, checked on runs left out.

``python -m benchmarks.scale measure [WHAT ...]`` adds the runs that ``results/scale.json`` lacks (WHAT: ``count``, ``budget``,
``rounds`` or a recipe); ``fit`` writes the constants to ``src/firthian/runtime/cost.json``; ``show`` prints the tables of
docs/scale.md; ``plot`` draws its picture.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora
from benchmarks.timing import FIRTH, run
from firthian.counts.counts import Counts
from firthian.disk.atomic import write_file
from firthian.runtime.cost import CONSTANTS, TERMS, Size

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "scale.json"
#: Parts of the corpus and their counts; safe to delete.
WORK = ROOT / "build" / "scale"
PLOT = ROOT / "docs" / "images" / "scale.png"

Row = dict[str, Any]

#: Bytes of the corpus that hold about a million tokens.
MILLION = 5_900_000

#: (millions of tokens, least count, whether the run is left out of the fit).
COUNTED = (
    (1, 5, False), (2, 5, False), (4, 5, False), (9, 5, False), (17, 5, False), (35, 5, True), (70, 5, False),
    (4, 1, False), (17, 1, False), (17, 50, False), (35, 20, True), (70, 2, False), (70, 20, False), (70, 1, True),
)  # fmt: skip

#: Peak memory with a budget of 500 MB, for a growing corpus.
BUDGETED = (1, 4, 17, 70)

#: (millions of tokens, least count, dimensions, whether the run is left out of the fit).
TRAINED = (
    (1, 5, 50, False), (1, 5, 150, False), (4, 5, 50, False), (4, 20, 150, False), (17, 50, 50, False),
    (17, 20, 100, False), (9, 10, 100, True), (70, 50, 100, True), (70, 1, 50, False),
)  # fmt: skip
#: Recipes whose passes take long: smaller runs.
TRAINED_LONG = (
    (1, 5, 50, False), (1, 5, 150, False), (4, 5, 50, False), (4, 20, 100, False), (9, 50, 50, False), (9, 20, 75, True),
)  # fmt: skip
#: Covariances cost the square and the cube of the dimension: fewer of them.
TRAINED_BAYES = (
    (1, 5, 20, False), (1, 5, 60, False), (4, 5, 20, False), (4, 20, 40, False), (9, 50, 20, False), (9, 20, 40, True),
)  # fmt: skip
#: ``(70, 1, ...)`` has more than 400,000 words.
PLANS = {"psd": TRAINED, "svd": TRAINED, "sgns": (*TRAINED_LONG, (70, 1, 50, False)), "bayes": TRAINED_BAYES}
RECIPES = ("psd", "sgns", "svd", "tweedie", "bayes", "glove")

#: Recipes whose work is cut by rows, so that it can be spread over machines; glove's is not.
SPREAD = ("psd", "sgns", "svd", "tweedie", "bayes")

#: Recipes that like wide windows are trained on counts made that way.
WIDE = ("tweedie", "glove")


_COUNTING = {
    "cpu": ("once", "token", "word", "pair"),
    "peak_bytes": ("once", "token", "word", "pair"),
    "disk_bytes": ("word", "pair"),
}
_VECTORS = {
    "cpu": ("once", "pair", "pair_dim", "word_dim", "word_dim2"),
    "peak_bytes": ("once", "pair", "word", "word_dim"),
    "disk_bytes": ("word", "word_dim"),
}
_COVARIANCES = {
    "cpu": ("once", "pair_dim", "pair_dim2", "word_dim3"),
    "peak_bytes": ("once", "pair", "word_dim", "word_dim2"),
    "disk_bytes": ("word", "word_dim", "word_dim2"),
}

#: The terms of processor seconds, memory and disk, for counting and each measured recipe.
FEATURES: dict[str, dict[str, tuple[str, ...]]] = {
    "count": _COUNTING,
    "psd": _VECTORS,
    "sgns": _VECTORS,
    "svd": _VECTORS,
    "tweedie": _VECTORS,
    "glove": _VECTORS,
    "bayes": _COVARIANCES,
}


def plan(what: str) -> Iterator[Row]:
    """List the runs of one kind, as the settings that tell one from another."""
    if what == "count":
        for millions, least, left_out in COUNTED:
            yield {"what": what, "millions": millions, "min_count": least, "dimension": 0, "left_out": left_out}
    elif what == "budget":
        for millions in BUDGETED:
            yield {"what": what, "millions": millions, "min_count": 5, "dimension": 0, "left_out": True}
    elif what in RECIPES:
        for millions, least, dimension, left_out in PLANS.get(what, TRAINED_LONG):
            yield {"what": what, "millions": millions, "min_count": least, "dimension": dimension, "left_out": left_out}


def results() -> dict[str, Any]:
    """Read what was measured so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": [], "rounds": {}}


def load() -> list[Row]:
    """Read the runs that were measured so far."""
    rows: list[Row] = results()["rows"]
    return rows


def _keep(known: dict[str, Any]) -> None:
    write_file(RESULTS, (json.dumps(known, indent=1) + "\n").encode())


def measure(kinds: list[str]) -> None:
    """Make the runs that are missing, and keep each as soon as it is made."""
    known = results()
    rows = known["rows"]
    WORK.mkdir(parents=True, exist_ok=True)
    if "rounds" in kinds:
        known["rounds"] = rounds()
        _keep(known)
    for what in kinds:
        for wanted in plan(what):
            if not any(all(row.get(key) == value for key, value in wanted.items()) for row in rows):
                rows.append(wanted | _measure(wanted, WORK))
                print(json.dumps(rows[-1]), flush=True)
                _keep(known)


def _measure(wanted: Row, folder: Path) -> Row:
    corpus = _part(wanted["millions"], folder)
    least = str(wanted["min_count"])
    counting = [*FIRTH, "count", str(corpus), "--min-count", least, "--workers", "2", "--force"]
    if wanted["what"] in ("count", "budget"):
        target = folder / "counted"
        limit = ["--memory", "500MB"] if wanted["what"] == "budget" else []
        cost = run([*counting, *limit, "-o", str(target)])
        counts = Counts.load(target, verify=False)
    else:
        wide = wanted["what"] in WIDE
        source = folder / f"{wanted['millions']}-{least}-{wide}"
        if not source.exists():
            run([*counting, *(["--window", "10", "--weighting", "harmonic"] if wide else []), "-o", str(source)])
        counts, target = Counts.load(source, verify=False), folder / "trained"
        command = [*FIRTH, "train", str(source), "-m", wanted["what"], "--dim", str(wanted["dimension"])]
        cost = run([*command, "--workers", "2", "--force", "-o", str(target)])
    return {
        "tokens": counts.record["corpus"]["tokens"],
        "text_bytes": counts.record["corpus"]["text_bytes"],
        "words": len(counts.vocabulary),
        "pairs": counts.pairs,
        "wall": round(cost.wall, 3),
        "cpu": round(cost.cpu, 3),
        "peak_bytes": cost.peak_bytes,
        "disk_bytes": sum(item.stat().st_size for item in target.iterdir()),
    }


def rounds() -> dict[str, float]:
    """Return how often a recipe at its defaults needs the whole factor: products by the sparse matrix, and half sweeps.

    A product by fewer columns than the factor has counts as that part of one.
    """
    import firthian as ft
    from firthian.learn.linalg.operators import SparseOperator
    from firthian.learn.recipes import find_recipe

    counts = ft.count(_part(1, WORK), workers=2)
    times, dimension, found = SparseOperator.times, 50, {}
    for recipe in SPREAD:
        columns: list[int] = []

        def counted(self: Any, dense: Any, run: Any, columns: list[int] = columns) -> Any:
            columns.append(dense.shape[1])
            return times(self, dense, run)

        usual = {option.name: option.default for option in find_recipe(recipe).options}
        SparseOperator.times = counted  # type: ignore[method-assign]
        try:
            ft.train(counts, recipe, vector_size=dimension, workers=2)
        finally:
            SparseOperator.times = times  # type: ignore[method-assign]
        found[recipe] = round(sum(columns) / dimension + 2 * usual.get("epochs", 0), 1)
    return found


def _part(millions: int, folder: Path) -> Path:
    """Return the beginning of enwiki70m, up to the end of a line."""
    whole, path = corpora.find("enwiki70m"), folder / f"{millions}.txt"
    if millions == 70:
        return whole
    if not path.exists():
        with whole.open("rb") as file:
            write_file(path, file.read(millions * MILLION) + file.readline())
    return path


def size_of(row: Row) -> Size:
    """Return the sizes of a run."""
    return Size(row["tokens"], row["words"], row["pairs"], row["dimension"])


def fit() -> dict[str, Any]:
    """Fit processor seconds, memory and disk of every kind by least squares of relative errors, no constant below 0."""
    from scipy.optimize import nnls

    rows = [row for row in load() if row["what"] != "budget"]
    costs: dict[str, Any] = {}
    for what in dict.fromkeys(row["what"] for row in rows):
        some = [row for row in rows if row["what"] == what]
        used = [row for row in some if not row["left_out"]]
        costs[what] = {}
        for measure, names in FEATURES[what].items():
            design = np.array([[TERMS[name](size_of(row)) for name in names] for row in used])
            seen = np.array([row[measure] for row in used], dtype=np.float64)
            scale = design.max(axis=0)
            found, _ = nnls(design / scale / seen[:, None], np.ones(len(used)))
            costs[what][measure] = {
                name: float(f"{value:.4g}") for name, value in zip(names, found / scale, strict=True)
            }
        costs[what]["parallel"] = round(float(np.median([row["cpu"] / row["wall"] for row in some])) / 2, 3)
    growth = {}
    plain = [row for row in rows if row["what"] == "count" and row["min_count"] == 5 and not row["left_out"]]
    for name in ("words", "pairs"):
        # Heaps: what is new grows as a power of what was read.
        slope, start = np.polyfit(np.log([r["tokens"] for r in plain]), np.log([r[name] for r in plain]), 1)
        growth[name] = {"factor": float(f"{np.exp(start):.4g}"), "exponent": round(float(slope), 4)}
    per_token = float(np.mean([row["text_bytes"] / row["tokens"] for row in plain]))
    constants = {"costs": costs, "growth": growth, "text_bytes_per_token": round(per_token, 3)}
    CONSTANTS.write_text(json.dumps(constants, indent=1) + "\n")
    return constants


def main() -> None:
    """Do what is asked."""
    verb, *rest = sys.argv[1:] or ["show"]
    if verb == "measure":
        measure(rest or ["rounds", "count", "budget", *RECIPES])
    elif verb == "fit":
        print(json.dumps(fit(), indent=1))
    else:
        from benchmarks import scale_report

        print(scale_report.plot(PLOT) if verb == "plot" else scale_report.show())


if __name__ == "__main__":
    main()
