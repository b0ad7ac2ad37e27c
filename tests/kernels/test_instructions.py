"""Kernels do not execute more instructions than in the last run that is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import instructions, quick
from benchmarks.measured import read

ROOT = Path(__file__).parents[2]


def counted(*names: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.instructions", *names], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_growth_is_noticed():
    before = {"versions": {"numba": "1"}, "counts": {"scan": 1000, "sweep": 1000}}
    now = {"versions": {"numba": "1"}, "counts": {"scan": 1090, "sweep": 1101}}
    assert quick.grown(before, now) == ["sweep: 1000 -> 1101 instructions"]
    assert quick.grown({**before, "versions": {"numba": "0"}}, now) == []


@pytest.mark.slow
def test_counts_are_repeatable_and_have_not_grown():
    reason = instructions.available()
    if reason:
        pytest.skip(reason)
    now = counted()
    assert counted("product")["counts"]["product"] == pytest.approx(now["counts"]["product"], rel=0.02)
    before = read("quick")["rows"]["history"][-1]
    if before["versions"] != now["versions"]:
        pytest.skip(f"counted with {before['versions']}")
    assert quick.grown(before, now) == []
