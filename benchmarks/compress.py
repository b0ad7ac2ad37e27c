"""Size and quality of compressed vectors. ``python -m benchmarks.compress VECTORS [--only sizes|scores|speed] [--folder KEPT]``

Every row is the same vectors at another size: bytes on disk, seconds to open and to search, and what each evaluation set loses.
Figures are kept in ``results/compress.json``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import firthian as ft
from benchmarks.results import Results
from tools.local_data import use_local_data

#: Settings by row; the first row is the original.
ROWS: dict[str, dict[str, Any]] = {
    "float32": {},
    "152": {"bytes": 152},
    "120": {"bytes": 120},
    "100": {"bytes": 100},
    "83": {"bytes": 83},
    "64": {"bytes": 64},
    "40": {"bytes": 40},
    "20": {"bytes": 20},
    "102, 100 dimensions": {"bytes": 102, "dim": 100},
}


def scores(vectors: ft.Vectors) -> dict[str, float]:
    """Return the score of each set: Spearman's correlation, or the share of analogies by 3CosAdd."""
    found = ft.evaluate(vectors, suite="similarity,analogy").to_dict()
    similarity = {name: figures["spearman"] for name, figures in found["similarity"].items()}
    return similarity | {name: figures["3cosadd"] for name, figures in found["analogy"].items()}


def speed(folder: Path) -> dict[str, Any]:
    """Open vectors, and search in them."""
    opening = []
    for _ in range(5):
        begin = time.perf_counter()
        vectors = ft.Vectors.load(folder)
        opening.append(time.perf_counter() - begin)
    words = vectors.vocabulary.words[1000:1050]
    vectors.most_similar(words[0])
    seconds, cpu = [], time.process_time()
    for word in words:
        begin = time.perf_counter()
        vectors.most_similar(word)
        seconds.append(time.perf_counter() - begin)
    cpu = (time.process_time() - cpu) / len(words)
    return {"open": min(opening), "neighbors": min(seconds), "neighbors cpu": cpu}


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--only", choices=("sizes", "scores", "speed"), action="append")
    parser.add_argument("--folder", type=Path, help="where the compressed vectors are kept")
    asked = parser.parse_args()
    use_local_data()
    results, parts = Results("compress"), asked.only or ("sizes", "scores", "speed")
    original = ft.Vectors.load(asked.vectors)
    whole = ft.Vectors(original.matrix, original.vocabulary, state=original.state)
    with tempfile.TemporaryDirectory() as name:
        for row, settings in ROWS.items():
            folder = (asked.folder or Path(name)) / row
            figures = dict(results.rows.get(row, {}))
            if not folder.exists():
                begin = time.perf_counter()
                small = whole.compressed(**settings) if settings else whole
                figures |= {"words": len(whole), "seconds": time.perf_counter() - begin}
                figures["notes"] = small.provenance.transforms[-1] if settings else {}
                small.save(folder)
                figures["bytes"] = sum(item.stat().st_size for item in folder.iterdir())
            if "scores" in parts:
                figures["scores"] = scores(ft.Vectors.load(folder))
            if "speed" in parts:
                figures |= speed(folder)
            results.put(row, figures)


if __name__ == "__main__":
    main()
