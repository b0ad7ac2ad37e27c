"""Diagonal covariances on 70 M tokens: the times of the stages, with 100 dimensions."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import firthian as ft
from firthian.datasets import locate
from studies.bayes_data import Data, figures, figures_line
from studies.common import Study

ROW = "diagonal/70 M tokens, 100 dimensions"


class Clock:
    """A progress that notes when stages begin and sweeps end: seconds, and processor seconds."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.marks: list[tuple[str, float, float]] = []

    def start(self, stage: str, total: float | None = None) -> None:
        """Note the beginning of a stage."""
        self.mark(stage)

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Note the end of a sweep."""
        if note.startswith("bound"):
            self.mark("sweep")

    def mark(self, what: str) -> None:
        """Note what happens now."""
        self.marks.append((what, time.perf_counter() - self.begin, time.process_time()))


def stages(marks: list[tuple[str, float, float]], after: float) -> dict[str, Any]:
    """Return the seconds of counting, of the start, of each sweep (processor seconds too), and of what follows."""
    at = {name: seconds for name, seconds, _ in marks}
    first = next(k for k, mark in enumerate(marks) if mark[0] == "variational sweeps")
    steps = [marks[first], *(mark for mark in marks if mark[0] == "sweep")]
    return {
        "counting": at["training bayes"],
        "start": at["variational sweeps"] - at["training bayes"],
        "sweeps": [new[1] - old[1] for old, new in pairwise(steps)],
        "cpu_sweeps": [new[2] - old[2] for old, new in pairwise(steps)],
        "after": after,
    }


def compute(study: Study, data: Data) -> None:
    """Train, where the larger corpus is here; it takes a while."""

    def train() -> dict[str, Any]:
        clock = Clock()
        vectors = ft.train(
            str(locate("enwiki70m")), "bayes", vector_size=100, covariance="diagonal", progress=clock,
            counting={"min_count": 50},
        )  # fmt: skip
        found = stages(clock.marks, time.perf_counter() - clock.begin - clock.marks[-2][1])
        return {**found, "words": len(vectors), "peak_bytes": vectors.measured["peak_bytes"], **figures(vectors)}

    if not data.quick:
        study.row(ROW, train)


def page(study: Study) -> str:
    """Write this part of the page."""
    row = study.rows.get(ROW)
    if row is None:
        return "Not measured.\n"
    total = row["counting"] + row["start"] + sum(row["sweeps"]) + row["after"]
    cpu = sum(row["cpu_sweeps"]) / len(row["cpu_sweeps"])
    quickest, slowest = min(row["sweeps"]), max(row["sweeps"])
    return (
        f"{row['words']:,} words: counting {row['counting']:.0f} s, start {row['start']:.0f} s, then {quickest:.0f} to "
        f"{slowest:.0f} s for each of {len(row['sweeps'])} sweeps ({cpu:.0f} s of processor time), the last bound and "
        f"calibration {row['after']:.0f} s: {total / 60:.0f} minutes in all, while chunking ran beside it at low priority. "
        f"Peak {row['peak_bytes'] / 1e9:.1f} GB. {figures_line(row)}.\n"
    )
