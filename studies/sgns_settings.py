"""Are the settings of ``sgns`` an accident of the corpus they were chosen on? ``python -m studies.sgns_settings``

They were chosen on enwiki17m, the first 100 MB of enwiki70m. Here they and their neighbours are tried on another 100 MB of
it, bytes 200 to 300 million: other articles, the same seven sets. ``--quick`` takes 10 MB of each.
"""

from __future__ import annotations

import argparse
import functools
import lzma
from itertools import combinations
from pathlib import Path
from typing import Any

import firthian as ft
from firthian.datasets import locate
from firthian.storage import write_file
from studies.common import HELD_OUT, QUICK, SETS, SHORT, Study, corpus_path, score_cells, scores, table, timed

OTHER_BEGIN = 200_000_000

#: What is changed.
VARIANTS: dict[str, dict[str, Any]] = {
    "defaults (negative 6, ns_exponent .6, damping .1, 6 epochs)": {},
    "negative 5": {"negative": 5.0},
    "ns_exponent .75": {"ns_exponent": 0.75},
    "negative 5, ns_exponent .75": {"negative": 5.0, "ns_exponent": 0.75},
    "damping .05": {"damping": 0.05},
    "damping .2": {"damping": 0.2},
    "4 epochs": {"epochs": 4},
    "8 epochs": {"epochs": 8},
}

PAGE = """# Settings of sgns on two corpora

The settings of `sgns` were chosen by looking at the seven sets on enwiki17m. To see whether they are an accident of that text,
the same is done on other articles: bytes 200 to 300 million of enwiki70m ({other} words seen {least} times or more; enwiki17m
has {first}). {dimension} dimensions; Spearman's correlation, 3CosAdd / 3CosMul. `mean` is that of the seven (3CosAdd); RW, rare
words, is a set on which nothing was chosen.

## enwiki17m

{chosen}
## The other articles

{held}
## What follows

{claims}"""


def other_corpus(quick: bool) -> str:
    """Cut the other articles out of enwiki70m, from a beginning of a line on."""
    size = 10_000_000 if quick else 100_000_000
    part = QUICK.parent / f"enwiki-other-{size // 1_000_000}mb.txt"
    if not part.exists():
        source = Path(locate("enwiki70m"))
        with lzma.open(source) if source.suffix == ".xz" else source.open("rb") as file:
            file.seek(OTHER_BEGIN)
            file.readline()
            text = file.read(size)
        part.parent.mkdir(parents=True, exist_ok=True)
        write_file(part, text)
    return str(part)


def mean(found: dict[str, float]) -> float:
    """Give the mean of the seven scores."""
    return sum(found[name] for name in SETS) / len(SETS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 MB of each corpus, into build/studies/quick")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no row after so long; run it again to go on")
    chosen = parser.parse_args()
    study = Study("sgns_settings", chosen.quick, chosen.seconds)
    least, dimension = (20, 50) if chosen.quick else (50, 150)
    where = {"enwiki17m": corpus_path, "other": other_corpus}

    @functools.cache
    def counts(name: str) -> Any:
        return ft.count(where[name](chosen.quick), min_count=least, sample=1e-3)

    def trained(name: str, options: dict[str, Any]) -> dict[str, Any]:
        data = counts(name)
        vectors, seconds = timed(lambda: ft.train(data, "sgns", vector_size=dimension, **options))
        return {"scores": scores(vectors), "seconds": round(seconds, 1), "words": len(vectors)}

    rows = {
        name: {
            variant: study.row(f"{name}: {variant}", functools.partial(trained, name, options))
            for variant, options in VARIANTS.items()
        }
        for name in ("other", "enwiki17m")
    }
    words = {name: f"{next(iter(found.values()))['words']:,}" for name, found in rows.items()}
    tables = {name: _table(found) for name, found in rows.items()}
    study.write(
        PAGE.format(
            least=least,
            dimension=dimension,
            first=words["enwiki17m"],
            other=words["other"],
            chosen=tables["enwiki17m"],
            held=tables["other"],
            claims=claims(rows),
        )
    )


def _table(found: dict[str, Any]) -> str:
    lines = [
        [name, *score_cells(row["scores"]), f"{mean(row['scores']):.4f}", f"{row['scores'][HELD_OUT[0]]:.3f}"]
        for name, row in found.items()
    ]
    return table(["", *SHORT, "mean", "RW"], lines)


def claims(rows: dict[str, dict[str, Any]]) -> str:
    """Say, from the figures, whether the ranking is the same."""
    means = {name: {variant: mean(row["scores"]) for variant, row in found.items()} for name, found in rows.items()}
    here, there = means["enwiki17m"], means["other"]
    pairs = list(combinations(VARIANTS, 2))
    agree = sum((here[a] - here[b]) * (there[a] - there[b]) > 0 for a, b in pairs)
    order = {name: sorted(found, key=found.__getitem__, reverse=True) for name, found in means.items()}
    default = next(iter(VARIANTS))
    lines = [
        f"* {agree} of {len(pairs)} pairs of settings are in the same order on both corpora, by the mean of the seven.",
        f"* Best on enwiki17m: {order['enwiki17m'][0]}; best on the other articles: {order['other'][0]}.",
        f"* The defaults are number {order['enwiki17m'].index(default) + 1} of {len(VARIANTS)} on enwiki17m, "
        f"{max(here.values()) - here[default]:.4f} below the best, and number {order['other'].index(default) + 1} on the other "
        f"articles, {max(there.values()) - there[default]:.4f} below the best.",
    ]
    for variant in list(VARIANTS)[1:]:
        wins = [
            sum(found[variant]["scores"][name] > found[default]["scores"][name] for name in SETS)
            for found in (rows["enwiki17m"], rows["other"])
        ]
        lines.append(f"* {variant}: better than the defaults on {wins[0]} of 7 sets here, {wins[1]} of 7 there.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
