"""Diagonal covariances on 70 M tokens: the times of the stages, with 100 dimensions."""

from __future__ import annotations

import time
from typing import Any

import firthian as ft
from firthian.datasets import locate
from studies.bayes_data import Data
from studies.common import Study

ROW = "diagonal/70 M tokens, 100 dimensions"
DEFAULT_SWEEPS = 8


class Clock:
    """A progress that notes when stages begin and sweeps end."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.marks: list[tuple[str, float]] = []

    def start(self, stage: str, total: float | None = None) -> None:
        """Note the beginning of a stage."""
        self.marks.append((stage, time.perf_counter() - self.begin))

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Note the end of a sweep."""
        if note.startswith("bound"):
            self.marks.append(("sweep", time.perf_counter() - self.begin))


def stages(marks: list[tuple[str, float]], end: float) -> dict[str, Any]:
    """Give the seconds of counting, of the start, of each sweep, and of what follows (the bound and calibration)."""
    at = dict(marks)
    ends = [seconds for name, seconds in marks if name == "sweep"]
    begins = [at["variational sweeps"], *ends[:-1]]
    return {
        "counting": at["training bayes"],
        "start": at["variational sweeps"] - at["training bayes"],
        "sweeps": [last - first for first, last in zip(begins, ends, strict=True)],
        "after": end - ends[-1],
    }


def compute(study: Study, data: Data, sweeps: int = DEFAULT_SWEEPS) -> None:
    """Train, where the larger corpus is here; it takes a while."""

    def train() -> dict[str, Any]:
        clock = Clock()
        vectors = ft.train(
            str(locate("enwiki70m")), "bayes", vector_size=100, covariance="diagonal", epochs=sweeps, progress=clock,
            counting={"min_count": 50},
        )  # fmt: skip
        found = stages(clock.marks, time.perf_counter() - clock.begin)
        return {**found, "words": len(vectors), "peak_bytes": vectors.measured["peak_bytes"]}

    if not data.quick:
        study.row(ROW, train)


def page(study: Study) -> str:
    """Write this part of the page."""
    row = study.rows.get(ROW)
    if row is None:
        return "Not measured.\n"
    sweep = sum(row["sweeps"]) / len(row["sweeps"])
    total = row["counting"] + row["start"] + DEFAULT_SWEEPS * sweep + row["after"]
    done = (
        f"{len(row['sweeps'])} sweeps were timed; the recipe's {DEFAULT_SWEEPS} take"
        if len(row["sweeps"]) < DEFAULT_SWEEPS
        else "All took"
    )
    return (
        f"{row['words']:,} words: counting {row['counting']:.0f} s, start {row['start']:.0f} s, {sweep:.0f} s a sweep, "
        f"{row['after']:.0f} s for the last bound and calibration, {row['peak_bytes'] / 1e9:.1f} GB, on 2 cores. {done} "
        f"{total / 60:.0f} minutes.\n"
    )
