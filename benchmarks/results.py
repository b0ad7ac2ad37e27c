"""Figures that are kept: ``benchmarks/results/NAME.json`` has the newest of each row, ``history.jsonl`` every one."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from firthian.disk.atomic import write_file

FOLDER = Path(__file__).parent / "results"
HISTORY = Path(__file__).parents[1] / "build" / "history.jsonl"


class Results:
    """Rows of one benchmark and the machine they were measured on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = FOLDER / f"{name}.json"
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.rows: dict[str, Any] = kept.get("rows", {})
        self.about = machine()

    def row(self, key: str, measure: Callable[[], Any], again: bool = False) -> Any:
        """Return a row, measuring it if it is missing or a new measurement is requested."""
        if again or key not in self.rows:
            self.put(key, measure())
        return self.rows[key]

    def put(self, key: str, figures: Any) -> None:
        """Keep a row."""
        self.rows[key] = figures
        write_file(self.path, (json.dumps({"about": self.about, "rows": self.rows}, indent=1) + "\n").encode())
        HISTORY.parent.mkdir(parents=True, exist_ok=True)
        with HISTORY.open("a") as file:
            record = {"benchmark": self.name, "row": key, "time": int(time.time()), **self.about, "figures": figures}
            file.write(json.dumps(record) + "\n")
        print(f"{self.name}: {key}", flush=True)


def machine() -> dict[str, Any]:
    """Describe the machine and versions of a measurement."""
    return {
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("firthian", "numpy", "scipy", "numba")},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
