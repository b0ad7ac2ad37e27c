"""Run every benchmark, keep the figures in ``build/benchmarks.jsonl`` and print them. ``make bench``"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import counting, explore, training

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "build" / "benchmarks.jsonl"


def main() -> None:
    HISTORY.parent.mkdir(exist_ok=True)
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    for name, task in (("counting", counting.main), ("training", training.main), ("explore", explore.main)):
        figures = task()
        print(f"\n== {name}\n{json.dumps(figures, indent=1)}")
        with HISTORY.open("a") as file:
            file.write(json.dumps({"benchmark": name, "time": int(time.time()), **machine, "figures": figures}) + "\n")
    for script in ("vectors", "evaluation"):
        print(f"\n== {script}", flush=True)
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / f"{script}.py")], check=True)


if __name__ == "__main__":
    main()
