"""Write the tables of the READMEs and docs from the result files. ``python -m benchmarks.tables``

A table, or a block of command output, stands between ``<!-- table NAME -->`` and ``<!-- end -->``. A test fails if a page
differs from its results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import measured, readme, subwords_report, training
from benchmarks.measured import marked_columns, read, short, study
from studies.common import SETS, SHORT, table

ROOT = Path(__file__).parents[1]
#: Pages with tables.
PAGES = tuple(
    ROOT / name
    for name in (
        "README.md",
        "benchmarks/README.md",
        "docs/defaults.md",
        "docs/scale.md",
        "docs/texts.md",
        "docs/compress.md",
        "docs/search.md",
        "docs/subwords.md",
        "docs/derivations/bayes.md",
        "docs/derivations/exponential_family.md",
    )
)

_BLOCK = re.compile(r"(<!-- table ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)

SIZES = {"enwiki3m": 3, "enwiki17m": 17, "enwiki70m": 70}

_SEVEN = dict(zip(SETS, SHORT, strict=True))

#: How rows are called.
_HEADLINE = {
    training.PLAIN: "`firth train`",
    training.WITHOUT: "`firth train --subwords off`",
    "gensim skip-gram": "gensim 4.4 skip-gram",
    "fastText skip-gram": "fastText skip-gram",
}
DEFAULTS = {
    training.WITHOUT: "`sgns`, the default",
    "psd": "`psd`",
    "svd": "`svd`",
    "gensim skip-gram": "gensim, 5 epochs",
    "gensim skip-gram, 20 epochs": "gensim, 20 epochs",
}


def by_size(named: dict[str, str], sets: dict[str, str], kind: str = "training") -> str:
    """Some rows for each size of corpus, at default settings: whole seconds, the best score of a size bold."""
    body = []
    for corpus, millions in SIZES.items():
        rows = read(f"{kind}-{corpus}-100-5")["rows"]
        here = [row for row in named if row in rows]
        for row, cells in zip(here, marked_columns([rows[row]["scores"] for row in here], sets), strict=True):
            about = "≈ " if rows[row].get("estimated") else ""
            wall = rows[row]["wall"]
            body.append([f"{millions} M", named[row], f"{about}{wall:.{int(wall < 10)}f}", *cells])
    return table(["words of text", "", "seconds", *sets.values()], body)


def semf() -> str:
    """What teaching analogies gains, on questions that were held out and on those that were taught."""
    rows, body = study("emf"), []
    for split, name in (("random", "random, as in the paper"), ("strict", "strict: no pair in common")):
        before, after = rows[f"2 {split} 0.5 0"], rows[f"2 {split} 0.5 0.05"]
        body.append([name, *(short(value) for value in (before["accuracy"], after["accuracy"], after["of taught"]))])
    return table(["split", "`emf`", "`semf`, held-out questions", "`semf`, taught questions"], body)


def coverage() -> str:
    """How many intervals hold the truth, on data drawn from the Bayesian model."""
    body = []
    for key, row in study("bayes").items():
        if key.startswith("coverage/") and "three times" not in key:
            shares = [short(row[kind]) for kind in ("raw", "calibrated")]
            body.append([key.removeprefix("coverage/"), f"{row['events']:g}", str(row["true"]), str(row["d"]), *shares])
    return table(["", "events a pair", "true k", "d", "covered before", "calibrated"], body)


TABLES: dict[str, Callable[[], str]] = {
    "headline": lambda: by_size(_HEADLINE, {**_SEVEN, **training.RARE}, "headline"),
    "defaults": lambda: by_size(DEFAULTS, {**_SEVEN, "rw": training.RARE["rw"]}),
    "semf": semf,
    "coverage": coverage,
    **measured.TABLES,
    **subwords_report.TABLES,
}


def make(name: str) -> str:
    """Return a table by its name: one of ours, what commands of the README printed, or a file of the benchmark of training."""
    if name.startswith("readme "):
        return readme.block(name.removeprefix("readme "))
    return TABLES[name]() if name in TABLES else training.show(read(name)["rows"])


def filled(text: str) -> str:
    """Return the text of a page with its tables rebuilt from the results."""
    return _BLOCK.sub(lambda match: match[1] + make(match[2]) + match[3], text)


def write() -> None:
    """Rewrite the tables of all pages."""
    for page in PAGES:
        page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    write()
