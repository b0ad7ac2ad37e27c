"""Run a target on many spoiled files, in a process of its own: it may crash, hang or eat memory, and we shall know by which.

``python -m tests.fuzz.driver [TARGET ...] --inputs 100000`` prints a line of JSON for each target. Inputs follow from the
seed, the target and their number alone, so a number is enough to see one again.
"""

from __future__ import annotations

import argparse
import json
import mmap
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from tests.fuzz.edits import spoiled

#: Limits for one input: seconds of processor time (wall time means little on a busy machine), seconds of wall time, and
#: memory beyond what the process holds once everything is loaded and compiled.
WORK_EACH, SECONDS_EACH = 10.0, 300.0
MEMORY = 512 << 20

#: Stop testing a target after this many failures.
ENOUGH = 20

ROOT = Path(__file__).parents[2]


def input_of(target: Any, seeds: list[bytes], seed: int, number: int) -> bytes:
    """Make one input."""
    return spoiled(random.Random(f"{seed} {target.name} {number}"), seeds, target.edit)


def run(name: str, inputs: int, seed: int = 1, memory: int = MEMORY, work: float = WORK_EACH) -> dict[str, Any]:
    """Run a target in separate processes; if one dies, another continues after the input that killed it."""
    begin = time.perf_counter()
    failures: list[dict[str, Any]] = []
    slowest, grown, first = 0.0, 0, 0
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        while first < inputs and len(failures) < ENOUGH:
            command = [sys.executable, "-m", "tests.fuzz.driver", name, "--child", file.name]
            command += ["--inputs", str(inputs), "--first", str(first), "--seed", str(seed), "--memory", str(memory)]
            command += ["--work", str(work)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode == 0:
                result = json.loads(done.stdout.splitlines()[-1])
                failures += result["failures"]
                slowest, grown = max(slowest, result["slowest"]), max(grown, result["grown"])
                break
            number = int.from_bytes(Path(file.name).read_bytes(), "little")
            said = signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr[-2000:]
            failures.append({"number": number, "error": "hang" if said in ("SIGALRM", "SIGPROF") else said})
            first = number + 1
    return {
        "target": name, "inputs": inputs, "seed": seed, "seconds": round(time.perf_counter() - begin, 1),
        "slowest": round(slowest, 3), "grown_mb": round(grown / 2**20, 1), "failures": failures,
    }  # fmt: skip


def _child(name: str, inputs: int, first: int, seed: int, memory: int, work: float, progress: str) -> dict[str, Any]:
    from tests.fuzz.targets import find_target

    target = find_target(name)
    seeds = target.seeds()
    for data in seeds:
        target.try_bytes(data)
    # As in the tests: a warning is something nobody thought of.
    warnings.simplefilter("error")
    limit = _status("VmData") + memory
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    start = _status("VmHWM")
    failures: list[dict[str, Any]] = []
    slowest = 0.0
    with Path(progress).open("r+b") as file, mmap.mmap(file.fileno(), 8) as place:
        for number in range(first, inputs):
            place[:] = number.to_bytes(8, "little")
            data = input_of(target, seeds, seed, number)
            begin = time.process_time()
            # The system ends the process, whatever it is doing: a handler would wait for the end of a kernel.
            signal.setitimer(signal.ITIMER_PROF, work)
            signal.setitimer(signal.ITIMER_REAL, SECONDS_EACH)
            try:
                target.try_bytes(data)
            except Exception as error:
                trace = traceback.format_exception(error, limit=-4)
                failures.append({"number": number, "error": "".join(trace)[-3000:]})
                if len(failures) >= ENOUGH:
                    break
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            slowest = max(slowest, time.process_time() - begin)
    return {"failures": failures, "slowest": slowest, "grown": _status("VmHWM") - start}


def _status(field: str) -> int:
    """Read how much memory this process has, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Run some targets, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=int, default=MEMORY)
    parser.add_argument("--work", type=float, default=WORK_EACH)
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        [name] = asked.targets
        how = (asked.inputs, asked.first, asked.seed, asked.memory, asked.work)
        print(json.dumps(_child(name, *how, asked.child)))
        return
    from tests.fuzz.targets import TARGETS

    for name in asked.targets or [target.name for target in TARGETS]:
        print(json.dumps(run(name, asked.inputs, asked.seed, asked.memory)), flush=True)


if __name__ == "__main__":
    main()
