"""Training from raw text to saved vectors, beside gensim's skip-gram, in one run on the same corpus.

``python -m benchmarks.training [RECIPE ...]``. Wall and CPU seconds, peak memory and the seven scores of each. gensim gets its
documented settings for this job and as many workers as there are cores.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import firthian as ft
from benchmarks.timing import FIRTH, best
from firthian.datasets import locate
from studies.common import SHORT, score_cells, scores, table

RECIPES = ("psd", "sgns", "svd", "glove")

GENSIM = """
import sys
from gensim.models import Word2Vec
settings = {"window": 5, "negative": 5, "sg": 1, "epochs": 5, "sample": 1e-3, "workers": 2, "seed": 1}
model = Word2Vec(corpus_file=sys.argv[1], vector_size=150, min_count=50, **settings)
model.wv.save_word2vec_format(sys.argv[2], binary=True)
"""


def main(recipes: tuple[str, ...] = RECIPES, repeats: int = 2, with_gensim: bool = True) -> dict[str, Any]:
    corpus = locate("enwiki17m")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for recipe in recipes:
            target = folder / recipe
            command = [*FIRTH, "train", str(corpus), "-m", recipe, "--dim", "150", "--min-count", "50"]
            cost, walls = best([*command, "--workers", "2", "--force", "-o", str(target)], repeats)
            found[recipe] = cost.facts() | {"walls": walls, "scores": scores(ft.load(target))}
        if with_gensim:
            target = folder / "gensim.bin"
            cost, walls = best([sys.executable, "-c", GENSIM, str(corpus), str(target)], 1)
            found["gensim skip-gram"] = cost.facts() | {"walls": walls, "scores": scores(ft.load(target))}
            for row in found.values():
                row["gensim / it"] = round(cost.wall / row["wall"], 1)
    return found


def show(found: dict[str, Any]) -> str:
    """Write the figures as a table."""
    head = ["", "wall s", "CPU s", "peak MB", *SHORT, "gensim's wall / its"]
    rows = [
        [
            name,
            f"{row['wall']:.1f}",
            f"{row['cpu']:.0f}",
            f"{row['peak_mb']:.0f}",
            *score_cells(row["scores"]),
            f"{row.get('gensim / it', '')}",
        ]
        for name, row in found.items()
    ]
    return table(head, rows)


if __name__ == "__main__":
    result = main(tuple(sys.argv[1:]) or RECIPES)
    print(show(result))
    print(json.dumps(result, indent=1))
