"""Ray beside threads on this machine: counting and training, start-up apart. ``python -m benchmarks.cluster [PART ...]``

Each row is a process of its own. The clock runs from when the cluster (or the threads) is there and every kernel has been
called once, until the result is written. Writes ``benchmarks/results/cluster.json``, row by row.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.counting import folder_hash
from firthian.disk.atomic import write_file

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "cluster.json"

#: What is done: (corpus, window, times) for counting, (corpus, recipe, options) for training.
JOBS: dict[str, dict[str, Any]] = {
    "count": {"corpus": "enwiki70m", "window": 5, "min_count": 50, "times": 1},
    "count, window 15, five times": {"corpus": "enwiki70m", "window": 15, "min_count": 50, "times": 5},
    "train sgns": {"corpus": "enwiki17m", "recipe": "sgns", "min_count": 50, "vector_size": 150, "epochs": 30},
    "train psd": {"corpus": "enwiki17m", "recipe": "psd", "min_count": 50, "vector_size": 150, "iterations": 12},
}

ONE = """
import json, sys, time
from contextlib import nullcontext
import firthian as ft
from firthian.runtime.cluster import connect
from firthian.runtime.executor import Threads
job, kind, workers, corpus, target = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
head = target + "-head.txt"
with open(corpus, "rb") as source, open(head, "wb") as file:
    file.write(source.read(40_000_000))
with nullcontext(Threads(workers)) if kind == "threads" else connect(f"local:{workers}") as executor:
    # Once before, on enough text that every kernel meets the arrays it will meet: compiling is a matter of the first call ever.
    little = ft.count(head, min_count=job["min_count"], window=job.get("window", 5), cluster=executor)
    if "recipe" in job:
        counts = ft.count(corpus, target + "-counts", min_count=job["min_count"], force=True)
        options = {name: job[name] for name in ("epochs", "iterations") if name in job}
        ft.train(little, job["recipe"], vector_size=20, cluster=executor)
        begin = time.perf_counter()
        vectors = ft.train(counts, job["recipe"], vector_size=job["vector_size"], cluster=executor, **options)
        vectors.save(target, force=True)
    else:
        begin = time.perf_counter()
        for _ in range(job["times"]):
            ft.count(corpus, target, window=job["window"], min_count=job["min_count"], cluster=executor, force=True)
    print(time.perf_counter() - begin)
"""


def row(name: str, kind: str, workers: int) -> dict[str, Any]:
    """Do a job once."""
    job = JOBS[name]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out"
        command = [
            sys.executable,
            "-c",
            ONE,
            json.dumps(job),
            kind,
            str(workers),
            str(corpora.find(job["corpus"])),
            str(target),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        seconds = round(float(done.stdout.split()[-1]), 2)
        return {"job": name, "kind": kind, "workers": workers, "seconds": seconds, "bytes": folder_hash(target)[:16]}


def ratios(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Report the speedup of two workers over one, and the cost of Ray compared with threads."""
    found: dict[str, Any] = {}
    for name in JOBS:
        seconds = {(one["kind"], one["workers"]): one["seconds"] for one in rows if one["job"] == name}
        facts: dict[str, Any] = {}
        for kind in ("threads", "ray"):
            if {(kind, 1), (kind, 2)} <= seconds.keys():
                facts[f"{kind}: one worker / two"] = round(seconds[kind, 1] / seconds[kind, 2], 2)
        if {("ray", 2), ("threads", 2)} <= seconds.keys():
            facts["ray / threads, two workers"] = round(seconds["ray", 2] / seconds["threads", 2], 3)
        if facts:
            facts["same bytes"] = len({one["bytes"] for one in rows if one["job"] == name}) == 1
            found[name] = facts
    return found


def main(parts: list[str]) -> None:
    """Do what is not in the results yet; a part is JOB/KIND/WORKERS, or the beginning of one."""
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    done = {(one["job"], one["kind"], one["workers"]) for one in rows}
    for name in JOBS:
        for kind in ("threads", "ray"):
            for workers in (2, 1):
                wanted = not parts or any(f"{name}/{kind}/{workers}".startswith(part) for part in parts)
                if wanted and (name, kind, workers) not in done:
                    rows.append(row(name, kind, workers))
                    found = {"jobs": JOBS, "rows": rows, "ratios": ratios(rows)}
                    write_file(RESULTS, (json.dumps(found, indent=1) + "\n").encode())
                    print(rows[-1], flush=True)
    print(json.dumps(ratios(rows), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
