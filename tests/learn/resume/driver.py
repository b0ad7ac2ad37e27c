"""A process whose children train and are killed with SIGKILL at random moments: FOLDER LABEL MOMENTS SEED.

Children are forked from a process that has everything loaded, so that a moment is one of training, not of starting up.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from firthian.disk import atomic
from tests.conftest import folder_bytes
from tests.learn.resume.jobs import WAYS, Way, train


def child(way: Way, folder: Path, target: Path, resume: bool) -> int:
    """Start a process that trains; it ends with code 0 only when all is done."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            train(way, folder, target, resume=resume, workers=2)
            code = 0
        finally:
            os._exit(code)
    return number


def main(folder: Path, label: str, moments: int, seed: int) -> None:
    """Kill and go on, again and again; say how often a run was really cut short."""
    # Only a power cut could tell the difference, and every step is saved.
    atomic._sync = lambda path: None
    way = next(way for way in WAYS if way.label == label)
    train(way, folder, folder / "whole", workers=2)
    wanted = folder_bytes(folder / "whole")
    begun = time.perf_counter()
    os.waitpid(child(way, folder, folder / "timed", False), 0)
    duration = time.perf_counter() - begun
    assert folder_bytes(folder / "timed") == wanted
    generator = random.Random(seed)
    cut_short = 0
    for number in range(moments):
        target = folder / f"at-{number}"
        process = child(way, folder, target, False)
        time.sleep(generator.random() * duration)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        if target.exists():
            # It was over by then: the machine is quicker now than when the run was timed.
            duration *= 0.8
        else:
            cut_short += 1
        _, status = os.waitpid(child(way, folder, target, True), 0)
        if target.exists() and status:
            # It was killed between its last rename and its end: there is nothing to go on with.
            assert not target.with_name(target.name + ".partial").exists()
        assert folder_bytes(target) == wanted, f"{label}, moment {number}, seed {seed}"
        assert not target.with_name(target.name + ".partial").exists()
        shutil.rmtree(target)
    assert cut_short, f"{label}: no kill came before the end, seed {seed}"
    print(f"cut short {cut_short} of {moments}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
