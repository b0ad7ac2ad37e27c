"""``sgns`` with 200,000 words on 70 M tokens: time, memory, and scores beside the exact solver on the words both have.

``python -m benchmarks.large_vocabulary [--folder FOLDER] [STEP ...]``. Every step is a process of its own; steps that are in
``benchmarks/results/large_vocabulary.json`` are not run again. ``--folder`` keeps counts and vectors.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import firthian as ft
from benchmarks.timing import FIRTH, run
from firthian.datasets import locate
from firthian.disk.atomic import write_file
from firthian.evaluate import compare_analogy, compare_similarity, open_set
from studies.common import SETS, SHORT, score_cells, scores, table

RESULTS = Path(__file__).parent / "results" / "large_vocabulary.json"

#: Words, and what their vectors are trained with. The exact solver visits V² pairs in every sweep, so it gets fewer words.
LARGE, SMALL = 200_000, 25_000
DIMENSION = 200
COUNTS = {"count 200k": LARGE, "count 25k": SMALL}
TRAINED = {
    "expanded 200k": ("count 200k", "expanded"),
    "exact 25k": ("count 25k", "exact"),
    "expanded 25k": ("count 25k", "expanded"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", help="all that are not known yet, unless named")
    parser.add_argument("--folder", default="build/large_vocabulary")
    parser.add_argument("--corpus", default="")
    chosen = parser.parse_args()
    folder = Path(chosen.folder)
    folder.mkdir(parents=True, exist_ok=True)
    corpus = chosen.corpus or str(locate("enwiki70m"))
    for name in chosen.steps or [*COUNTS, *TRAINED]:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        if name in known:
            continue
        target = _place(folder, name)
        found = run([*FIRTH, *_command(name, corpus, folder), "--workers", "2", "--force", "-o", str(target)]).facts()
        if name in TRAINED:
            found |= judged(target)
        write_file(RESULTS, (json.dumps(known | {name: found}, indent=1) + "\n").encode())
        print(f"{name}: {found}", flush=True)
    known = json.loads(RESULTS.read_text())
    if all((_place(folder, name)).exists() for name in ("expanded 200k", "exact 25k")) and "differences" not in known:
        known["differences"] = differences(folder)
        write_file(RESULTS, (json.dumps(known, indent=1) + "\n").encode())
    print(show(json.loads(RESULTS.read_text())))


def _command(name: str, corpus: str, folder: Path) -> list[str]:
    if name in COUNTS:
        return ["count", corpus, "--max-vocab", str(COUNTS[name]), "--min-count", "2", "--sample", "1e-3"]
    counts, unseen = TRAINED[name]
    options = ["-m", "sgns", "--dim", str(DIMENSION), "--memory", "12GB", "--set", f"unseen={unseen}"]
    return ["train", str(_place(folder, counts)), *options]


def _place(folder: Path, name: str) -> Path:
    return folder / name.replace(" ", "-")


def judged(target: Path) -> dict[str, Any]:
    """Evaluate on all words, and on the most frequent ones, which are those of the smaller vocabulary."""
    vectors = ft.load(target)
    facts = {"words": len(vectors), "pairs": vectors.provenance.stats["pairs"], "scores": scores(vectors)}
    return facts | {"scores of the first 25k": scores(vectors.subset(SMALL))} if len(vectors) > SMALL else facts


def differences(folder: Path) -> dict[str, Any]:
    """Test what 200,000 words gain or lose on the words both have, against the exact solver: paired, set by set."""
    exact, large = (ft.load(_place(folder, name)) for name in ("exact 25k", "expanded 200k"))
    large = large.subset(exact.vocabulary.words)
    found = {name: compare_similarity(exact, large, open_set(name, "similarity")) for name in SETS[:5]}
    for name in SETS[5:]:
        found[name] = compare_analogy(exact, large, open_set(name, "analogy"))["3cosadd"]
    return {name: {"difference": row["difference"], "p_value": row["p_value"]} for name, row in found.items()}


def show(found: dict[str, Any]) -> str:
    """Write the figures as a table."""
    rows = []
    for name, (counts, _) in TRAINED.items():
        if name not in found:
            continue
        row = found[name]
        times = [f"{found[counts]['wall']:.0f}", f"{row['wall']:.0f}", f"{row['peak_mb'] / 1000:.1f}"]
        named = {"scores": name, "scores of the first 25k": f"{name}, the first 25k words"}
        rows += [[label, *times, *score_cells(row[kind])] for kind, label in named.items() if kind in row]
    return table(["", "counting s", "training s", "peak GB", *SHORT], rows) + f"\n{os.cpu_count()} cores\n"


if __name__ == "__main__":
    main()
