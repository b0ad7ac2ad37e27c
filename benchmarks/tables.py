"""Write measured figures into the READMEs and docs, from the files of results. ``python -m benchmarks.tables``

A table, or a block of what commands printed, stands between ``<!-- table NAME -->`` and ``<!-- end -->``. Figures inside
sentences are those of ``figures.py``. A test says when a page is not what the files hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import figures, measured, readme, training
from benchmarks.measured import read, short
from studies.common import SETS, SHORT, table

ROOT = Path(__file__).parents[1]
PAGES = tuple(ROOT / name for name in ("README.md", *figures.PAGES))

_BLOCK = re.compile(r"(<!-- table ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)

SIZES = {"enwiki3m": 3, "enwiki17m": 17, "enwiki70m": 70}

_SEVEN = dict(zip(SETS, SHORT, strict=True))

#: How rows are called.
_HEADLINE = {"plain": "`firth train`", "gensim skip-gram": "gensim 4.4 skip-gram"}
DEFAULTS = {
    "plain": "`sgns`, the default",
    "psd": "`psd`",
    "svd": "`svd`",
    "gensim skip-gram": "gensim, 5 epochs",
    "gensim skip-gram, 20 epochs": "gensim, 20 epochs",
}


def by_size(named: dict[str, str], sets: dict[str, str]) -> str:
    """Some rows for each size of corpus, at default settings: whole seconds, the best score of a size bold."""
    body = []
    for corpus, millions in SIZES.items():
        rows = read(f"training-{corpus}-100-5")["rows"]
        here = {row: rows[row]["scores"] for row in named if row in rows}
        best = {name: max(scores[name] for scores in here.values()) for name in sets}
        for row, scores in here.items():
            cells = [short(scores[name]) for name in sets]
            marked = [
                f"**{cell}**" if scores[name] == best[name] else cell for name, cell in zip(sets, cells, strict=True)
            ]
            body.append([f"{millions} M", named[row], f"{rows[row]['wall']:.0f}", *marked])
    return table(["words of text", "", "seconds", *sets.values()], body)


def ahead() -> str:
    """Where gensim has a higher score than the default recipe, in words."""
    sets = {**_SEVEN, "rw": "RW"}
    found: dict[str, list[str]] = {}
    for corpus, millions in SIZES.items():
        rows = read(f"training-{corpus}-100-5")["rows"]
        theirs = [rows[name]["scores"] for name in DEFAULTS if name.startswith("gensim") and name in rows]
        for name, title in sets.items():
            if max(scores[name] for scores in theirs) > rows["plain"]["scores"][name]:
                found.setdefault(title, []).append(f"{millions} M")
    places = "; ".join(f"{title} ({', '.join(sizes)})" for title, sizes in found.items())
    smaller, gensim = figures.study("sgns_settings")["prior/enwiki70m/1000"]["weighted"], theirs[0]
    behind = ", ".join(title for name, title in sets.items() if gensim[name] > smaller[name])
    more = f"(RW {short(smaller['rw'])}; [study](studies/sgns_settings.md#rare-words))"
    scores = " ".join(short(smaller[name]) for name in SETS)
    return (
        f"gensim's best is ahead of `sgns` on these sets: {places or 'none'}. With 100 dimensions, 6 sweeps and words alone\n"
        f"`sgns` has on 70 M words {scores} {more}; there gensim is ahead on these: {behind or 'none'}.\n"
    )


def semf() -> str:
    """What teaching analogies gains, on questions that were held out and on those that were taught."""
    rows, body = figures.study("emf"), []
    for split, name in (("random", "random, as in the paper"), ("strict", "strict: no pair in common")):
        before, after = rows[f"2 {split} 0.5 0"], rows[f"2 {split} 0.5 0.05"]
        body.append([name, *(short(value) for value in (before["accuracy"], after["accuracy"], after["of taught"]))])
    return table(["split", "`emf`", "`semf`, held-out questions", "`semf`, taught questions"], body)


def coverage() -> str:
    """How many intervals hold the truth, on data drawn from the Bayesian model."""
    body = []
    for key, row in figures.study("bayes").items():
        if key.startswith("coverage/") and "three times" not in key:
            shares = [short(row[kind]) for kind in ("raw", "calibrated")]
            body.append([key.removeprefix("coverage/"), f"{row['events']:g}", str(row["true"]), str(row["d"]), *shares])
    return table(["", "events a pair", "true k", "d", "covered before", "calibrated"], body)


TABLES: dict[str, Callable[[], str]] = {
    "headline": lambda: by_size(_HEADLINE, _SEVEN),
    "defaults": lambda: by_size(DEFAULTS, {**_SEVEN, "rw": "RW"}),
    "defaults-ahead": ahead,
    "semf": semf,
    "coverage": coverage,
    **measured.TABLES,
}


def make(name: str) -> str:
    """Give a table by its name: one of ours, what commands of the README printed, or a file of the benchmark of training."""
    if name.startswith("readme "):
        return readme.block(name.removeprefix("readme "))
    return TABLES[name]() if name in TABLES else training.show(read(name)["rows"])


def filled(page: Path, text: str) -> str:
    """Give the text of a page with its tables and figures made anew."""
    return figures.filled(page, _BLOCK.sub(lambda found: found[1] + make(found[2]) + found[3], text))


def write() -> None:
    """Write all pages anew."""
    for page in PAGES:
        page.write_text(filled(page, page.read_text()))


if __name__ == "__main__":
    write()
