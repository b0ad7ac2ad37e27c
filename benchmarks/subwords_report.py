"""Tables of docs/subwords.md, from the results of ``benchmarks.subwords`` and of the benchmark of training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import training
from benchmarks.measured import marked, marked_columns, read
from studies.common import SETS, SHORT, table

#: Bands of counts, as the tables call them.
BANDS = ("5–19 times", "20–99", "100–499", "500 or more")

BLENDS = {"0": "0", "0.5": "0.5", "1": "1", "1.5": "1.5", "2": "2", "auto": "`auto`"}

#: Texts of Wikipedia; the others are help pages in a language each.
ENGLISH = ("1 M", "3 M", "17 M")


def hidden() -> str:
    """How well words that were hidden from the regression are predicted."""
    rows = {key.partition("/")[2]: row for key, row in read("subwords")["rows"].items() if key.startswith("hidden/")}
    cells = marked_columns([dict(enumerate([row["cosine"], *row["by count"]])) for row in rows.values()], range(5))
    body = [[name, f"{row['n-grams']:,}", *some] for (name, row), some in zip(rows.items(), cells, strict=True)]
    return table(["", "n-grams", "all", *BANDS], body)


def english(measure: str) -> str:
    """Agreement of blends with vectors of other text, by band."""
    body = []
    for text in ENGLISH:
        rows = read("subwords")["rows"][f"text/{text}"]["rows"]
        for number, band in enumerate(BANDS):
            values = [rows[blend][measure][number] for blend in BLENDS]
            body.append([text, band, *marked(values, places=2 if measure == "shared" else 3)])
    return table(["words of text", "seen", *BLENDS.values()], body)


def languages() -> str:
    """Agreement of blends with vectors of other text in several languages, over the bands with 100 words or more."""
    body = []
    for key, row in read("subwords")["rows"].items():
        language = key.partition("/")[2]
        if key.startswith("text/") and language not in ENGLISH:
            bands = [number for number, asked in enumerate(row["asked"]) if asked >= 100]
            values = [float(np.mean([row["rows"][blend]["correlation"][band] for band in bands])) for blend in BLENDS]
            body.append([language, f"{row['words']:,}", *marked(values)])
    return table(["", "words", *BLENDS.values()], body)


def scores() -> str:
    """Scores on test sets of other blends, beside the tools that were trained on the same text."""
    sets = {**dict(zip(SETS, SHORT, strict=True)), **training.RARE}
    body = []
    for text, name in (("3 M", "enwiki3m"), ("17 M", "enwiki17m")):
        trained, own = (read(file)["rows"] for file in (f"headline-{name}-100-5", "subwords"))
        rows = {
            "`--subwords off`": trained[training.WITHOUT]["scores"],
            "the default": trained[training.PLAIN]["scores"],
            "`blend=1`, `fade=0`": own[f"scores/{text}/1"],
            "`blend=2`, `fade=0`": own[f"scores/{text}/2"],
        }
        # It takes many minutes and may not have been run.
        if "fastText skip-gram" in trained:
            rows["fastText skip-gram"] = trained["fastText skip-gram"]["scores"]
        cells = marked_columns(list(rows.values()), sets)
        body += [[text, row, *some] for row, some in zip(rows, cells, strict=True)]
    return table(["words of text", "", *sets.values()], body)


def removed() -> str:
    """Shared neighbors of words that were removed from the text."""
    rows = {"auto": "the default", "1": "`blend=1`, `fade=0`", "2": "`blend=2`, `fade=0`", "fastText": "fastText"}
    own = read("subwords")["rows"]
    body = [[name, f"{own[f'removed/{key}']['shared']:.2f}"] for key, name in rows.items() if f"removed/{key}" in own]
    return table(["", "neighbors of 10"], body)


def costs() -> str:
    """Seconds of the fit, and of lookups."""
    body = []
    for text in ("3 M", "17 M"):
        row = read("subwords")["rows"][f"costs/{text}"]
        times = [f"{row[name]:.1f}" for name in ("fit", "fit cpu", "a million lookups")]
        body.append([text, *times, *(f"{row[name] / 1e6:.0f}" for name in ("table bytes", "vector bytes"))])
    head = [
        "words of text",
        "fit, seconds",
        "processor seconds",
        "a million lookups, seconds",
        "n-grams, MB",
        "vectors, MB",
    ]
    return table(head, body)


TABLES: dict[str, Callable[[], str]] = {
    "subwords hidden": hidden,
    "subwords shared": lambda: english("shared"),
    "subwords correlation": lambda: english("correlation"),
    "subwords languages": languages,
    "subwords scores": scores,
    "subwords removed": removed,
    "subwords costs": costs,
}
