"""Run a command as a process of its own: wall and CPU seconds, peak anonymous memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FIRTH = (sys.executable, "-m", "firthian")


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak_bytes: int
    out: str

    def facts(self) -> dict[str, float]:
        return {"wall": round(self.wall, 3), "cpu": round(self.cpu, 3), "peak_mb": round(self.peak_bytes / 1e6, 1)}


def run(command: list[str], **environment: str) -> Cost:
    """Run once; fail loudly."""
    # Into files: a pipe that nobody reads fills up, and the process would wait forever.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        before = os.times()
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=errors, env={**os.environ, **environment})
        peak = 0
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            peak = max(peak, _anonymous(status))
            time.sleep(0.01)
        wall = time.perf_counter() - begin
        after = os.times()
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{errors.read()}")
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return Cost(wall, cpu, peak, out.read())


def best(
    command: list[str], repeats: int, within: float = float("inf"), **environment: str
) -> tuple[Cost, list[float]]:
    """Run several times, but not again once ``within`` seconds have gone; give the quickest and every wall time."""
    costs = [run(command, **environment)]
    while len(costs) < repeats and sum(cost.wall for cost in costs) < within:
        costs.append(run(command, **environment))
    return min(costs, key=lambda cost: cost.wall), [round(cost.wall, 3) for cost in costs]


def _anonymous(status: Path) -> int:
    try:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError):
        pass
    return 0
