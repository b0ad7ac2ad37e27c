"""Training from raw text to saved vectors: our recipes and the other tools, in turn, on one corpus with the same cores.

``python -m benchmarks.training [--corpus enwiki3m] [--dim 100 --min-count 5] [--repeats 2] [ROW ...]``. A row is a recipe, a
tool of ``benchmarks/peers.py``, or ``plain``: ``firth train`` as it stands, also without subwords. Each is a process of its
own, timed as a whole, best of its repeats, all of them kept; a row that takes longer than ``--within`` seconds is not repeated.
Rows that were measured before are kept too; ``--again`` measures them again. ``--headline`` measures the rows of the README, in
files of their own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import firthian as ft
from benchmarks import corpora
from benchmarks.peers import PEERS
from benchmarks.results import Results
from benchmarks.timing import FIRTH, best
from firthian.learn.recipes import RECIPES, find_recipe
from firthian.learn.train import DEFAULT_RECIPE
from studies.common import SHORT, score_cells, scores, table

#: What the others are divided by.
MEASURE = "gensim skip-gram"

#: Full covariances cost the cube of the dimension: these keep their own default of 50.
SMALLER = ("bayes", "bayes-svi")

#: The default, which is the row ``plain``, and what visits every pair of words 200 times: more than an hour.
LEFT_OUT = {find_recipe(DEFAULT_RECIPE).name, "emf-amemf"}

#: What recipes that learn from vectors are given.
DENSE = "psd"

#: Seconds after which a row is not repeated: the slow ones vary little, and would take most of the hour.
WITHIN = 40.0

TITLE = "The first 3 M words of enwiki70m, 100 dimensions, words seen 5 times or more"

#: ``firth train`` with and without subwords.
PLAIN, WITHOUT = "plain", "plain, without subwords"

#: Scores of words that are rare or unknown, and the heads of their columns.
RARE = {"rw": "RW", "rw all": "RW, all"}

#: The rows of the README.
HEADLINE = (PLAIN, WITHOUT, "gensim skip-gram", "fastText skip-gram")

ROWS = (PLAIN, WITHOUT, *(recipe.name for recipe in RECIPES if recipe.name not in LEFT_OUT), *PEERS)


def commands(name: str, corpus: Path, target: Path, size: int, least: int) -> list[list[str]]:
    """Return the processes that make the vectors of a row, in order."""
    if name in PEERS:
        return [PEERS[name].command(corpus, target, size, least)]
    start = [*FIRTH, "train", "--workers", "2", "--force", "-o", str(target)]
    if name in (PLAIN, WITHOUT):
        return [[*start, str(corpus), *(["--subwords", "off"] if name == WITHOUT else [])]]
    recipe = find_recipe(name)
    if recipe.source == "vectors":
        dense = target.with_name(DENSE)
        return [*commands(DENSE, corpus, dense, size, least), [*start, str(dense), "-m", name]]
    # Those without dimensions have none to choose.
    wanted = [] if name in SMALLER or not recipe.dimension else ["--dim", str(size)]
    return [[*start, str(corpus), "-m", name, "--min-count", str(least), *wanted]]


def measure(name: str, corpus: Path, size: int, least: int, repeats: int, within: float) -> dict[str, Any]:
    """Train and score one row."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "vectors"
        steps = [best(command, repeats, within) for command in commands(name, corpus, target, size, least)]
        # Of several processes: their seconds together, the memory of the largest.
        costs = [cost.facts() for cost, _ in steps]
        facts = {key: (max if key == "peak_mb" else sum)(cost[key] for cost in costs) for key in costs[0]}
        walls = [round(sum(some), 3) for some in zip(*(walls for _, walls in steps), strict=False)]
        # The best run as a whole, which is one of those that are kept.
        facts["wall"] = min(walls)
        vectors = ft.load(target)
        shape = {"words": len(vectors), "size": vectors.vector_size}
        return {name: round(value, 3) for name, value in facts.items()} | {
            "walls": walls, **shape, "scores": scores(vectors)
        }  # fmt: skip


def main(
    corpus: str = "enwiki3m",
    size: int = 100,
    least: int = 5,
    rows: tuple[str, ...] = ROWS,
    repeats: int = 3,
    within: float = WITHIN,
    again: bool = False,
    kind: str = "training",
) -> Results:
    """Measure the rows, one after another, and keep them."""
    results = Results(f"{kind}-{Path(corpus).stem}-{size}-{least}")
    path = corpora.find(corpus)
    for name in rows:
        results.row(name, lambda name=name: measure(name, path, size, least, repeats, within), again)
    return results


def show(rows: dict[str, Any]) -> str:
    """Write the figures as a table; ratios are gensim's wall time over the row's."""
    theirs = rows.get(MEASURE, {}).get("wall")
    head = ["", "wall s (spread)", "CPU s", "peak MB", *SHORT, *RARE.values(), f"{MEASURE} / it"]
    body = []
    # Estimated times have their place in the README's table alone.
    measured = [item for item in rows.items() if not item[1].get("estimated")]
    for name, row in sorted(measured, key=lambda item: item[1]["wall"]):
        spread = f" ({min(row['walls']):.1f}–{max(row['walls']):.1f})" if len(row["walls"]) > 1 else ""
        costs = [f"{row['wall']:.1f}{spread}", f"{row['cpu']:.0f}", f"{row['peak_mb']:.0f}"]
        held = [f"{row['scores'][name]:.3f}" if name in row["scores"] else "" for name in RARE]
        ratio = f"{theirs / row['wall']:.1f}" if theirs else ""
        body.append([name, *costs, *score_cells(row["scores"]), *held, ratio])
    return table(head, body)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="enwiki3m", help=f"a path or one of {', '.join(corpora.PARTS)}")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--within", type=float, default=WITHIN, help="repeat a row only while it took fewer seconds in all"
    )
    parser.add_argument("--again", action="store_true", help="measure existing rows again")
    parser.add_argument("--headline", action="store_true", help="the rows of the README")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of: {'; '.join(ROWS)}")
    return parser.parse_args()


if __name__ == "__main__":
    given = parse()
    every, kind = (HEADLINE, "headline") if given.headline else (ROWS, "training")
    found = main(
        given.corpus, given.dim, given.min_count, tuple(given.rows) or every, given.repeats, given.within, given.again, kind
    )  # fmt: skip
    print(show(found.rows))
    print(json.dumps(found.about, indent=1))
