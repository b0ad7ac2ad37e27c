"""A killed worker, a killed node, a lost object: the run continues and ends with the same bytes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("ray")


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("lost", "job"),
    [
        ("worker", "count"),
        ("worker", "sgns"),
        ("worker", "bayes"),
        ("node", "count"),
        ("node", "psd"),
        ("object", "sgns"),
    ],
)
def test_the_run_goes_on(lost, job, tmp_path):
    command = [sys.executable, "-m", "tests.runtime.cluster.faults", lost, job, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same bytes" in done.stdout
