"""Run every benchmark, print the figures and keep them (``benchmarks/results``, ``build/history.jsonl``). ``make bench``

Rows that were measured before are measured again, so that all ratios are of one run. The pages that show them are rewritten.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks import counting, explore, picture, tables, training
from benchmarks.results import Results

ROOT = Path(__file__).parents[1]


def main() -> None:
    results = Results("counting")
    for name, task in counting.PARTS.items():
        print(json.dumps(results.row(name, task, again=True), indent=1))
    trained = training.main(again=True)
    print(training.show(trained.rows))
    picture.draw(trained.rows, training.TITLE, ROOT / "docs" / "images" / "speed-quality.png")
    print(json.dumps(explore.main(again=True).rows, indent=1))
    for script in ("vectors", "evaluation"):
        print(f"\n== {script}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{script}"], check=True, cwd=ROOT)
    tables.write()


if __name__ == "__main__":
    main()
