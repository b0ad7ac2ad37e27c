"""Write tables into README.md, benchmarks/README.md and docs/defaults.md from ``results``. ``python -m benchmarks.tables``

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; a test says when one is not what its file holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import training
from benchmarks.results import FOLDER
from studies.common import SETS, SHORT, table

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "benchmarks" / "README.md", ROOT / "docs" / "defaults.md")

_BLOCK = re.compile(r"(<!-- table ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)

SIZES = {"enwiki3m": 3, "enwiki17m": 17, "enwiki70m": 70}

_SEVEN = dict(zip(SETS, SHORT, strict=True))

#: How rows are called.
_HEADLINE = {"plain": "`firth train`", "gensim skip-gram": "gensim 4.4 skip-gram"}
_DEFAULTS = {
    "plain": "`sgns`, the default",
    "psd": "`psd`",
    "svd": "`svd`",
    "gensim skip-gram": "gensim, 5 epochs",
    "gensim skip-gram, 20 epochs": "gensim, 20 epochs",
}


def _read(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return body


def by_size(named: dict[str, str], sets: dict[str, str]) -> str:
    """Some rows for each size of corpus, at default settings: whole seconds, the best score of a size bold."""
    body = []
    for corpus, millions in SIZES.items():
        rows = _read(f"training-{corpus}-100-5")["rows"]
        here = {row: rows[row]["scores"] for row in named if row in rows}
        best = {name: max(scores[name] for scores in here.values()) for name in sets}
        for row, scores in here.items():
            cells = [f"{scores[name]:.3f}".removeprefix("0") for name in sets]
            marked = [
                f"**{cell}**" if scores[name] == best[name] else cell for name, cell in zip(sets, cells, strict=True)
            ]
            body.append([f"{millions} M", named[row], f"{rows[row]['wall']:.0f}", *marked])
    return table(["words of text", "", "seconds", *sets.values()], body)


def cluster() -> str:
    """Ray beside threads."""
    found = _read("cluster")
    seconds = {(row["job"], row["kind"], row["workers"]): row["seconds"] for row in found["rows"]}
    body = []
    for job in dict.fromkeys(row["job"] for row in found["rows"]):
        threads, ray = ([seconds[job, kind, workers] for workers in (1, 2)] for kind in ("threads", "ray"))
        ratios = (threads[0] / threads[1], ray[0] / ray[1], ray[1] / threads[1])
        body.append([job, *(f"{value:.1f}" for value in (*threads, *ray)), *(f"{ratio:.2f}" for ratio in ratios)])
    return table(["", "threads: 1", "2", "Ray: 1", "2", "1 / 2 threads", "1 / 2 Ray workers", "Ray / threads, 2"], body)


TABLES: dict[str, Callable[[], str]] = {
    "headline": lambda: by_size(_HEADLINE, _SEVEN),
    "defaults": lambda: by_size(_DEFAULTS, {**_SEVEN, "rw": "RW"}),
    "cluster": cluster,
}


def make(name: str) -> str:
    """Give a table by its name: one of ours, or a file of the benchmark of training."""
    return TABLES[name]() if name in TABLES else training.show(_read(name)["rows"])


def filled(text: str) -> str:
    """Give a page with its tables made anew."""
    return _BLOCK.sub(lambda found: found[1] + make(found[2]) + found[3], text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))
