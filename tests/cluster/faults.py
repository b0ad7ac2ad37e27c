"""A run on two Ray nodes of this machine that loses a worker, a node or objects on the way: ``python -m tests.cluster.faults``.

Arguments: what is lost (worker, node, object), what is done (count, or a recipe), a folder. It fails where the bytes are not
those of a run with threads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.corpus import readers, shards
from firthian.progress import Silent
from tests.conftest import folder_bytes

#: Recipes with options that make them short.
OPTIONS: dict[str, dict[str, Any]] = {"sgns": {"epochs": 3}, "bayes": {"epochs": 3}, "psd": {"iterations": 3}}


#: Where the harm is done: the stages of the work that go to the cluster.
STAGES = ("reading text", "counting windows", "sweeps", "variational sweeps", "factorising")


class DoesHarm(Silent):
    """Does harm, beside the work, when a stage has made its first step; once for each stage."""

    def __init__(self, harm: Any, stages: tuple[str, ...]) -> None:
        self.harm, self.waiting, self.ready = harm, list(stages), False
        self.threads: list[threading.Thread] = []

    def start(self, name: str, *_: Any) -> None:
        self.ready = name in self.waiting
        if self.ready:
            self.waiting.remove(name)

    def advance(self, *_: Any) -> None:
        if self.ready:
            self.ready = False
            self.threads.append(threading.Thread(target=self.harm))
            self.threads[-1].start()

    def finish(self) -> None:
        """Wait for the harm that is on its way."""
        for thread in self.threads:
            thread.join()


def two_nodes() -> Any:
    """Start a cluster of two raylets with one processor each, and join it."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "object_store_memory": 200_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    return cluster


def kill_worker(cluster: Any) -> None:
    """``kill -9`` the processes that work for us just now, and only those."""
    raylets = {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}
    for _ in range(500):
        killed = 0
        for entry in Path("/proc").iterdir():
            try:
                title = (entry / "cmdline").read_bytes().split(b"\0")[0]
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent in raylets and title in (b"ray::_work", b"ray::_make"):
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
        if killed:
            print(f"killed {killed} workers", flush=True)
            return
        time.sleep(0.01)
    print("no worker was at work", flush=True)


def kill_node(cluster: Any) -> None:
    """``kill -9`` the second raylet and all that is on it; another one takes its place."""
    second = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    for node in second:
        cluster.remove_node(node, allow_graceful=False)
        print("killed a node", flush=True)
    cluster.add_node(num_cpus=1, object_store_memory=200_000_000)


def lose_objects(executor: Any) -> None:
    """Delete all arrays that were sent to the cluster to be used again."""
    from ray._private.internal_api import free

    references = list(executor._store._known.values())
    free(references, local_only=False)
    print(f"lost {len(references)} objects", flush=True)


def text(path: Path) -> Path:
    rng = np.random.default_rng(3)
    words = np.array([f"w{number}" for number in range(1500)])
    shares = 1 / np.arange(3, 1503)
    lines = [" ".join(rng.choice(words, size=30, p=shares / shares.sum())) for _ in range(12_000)]
    path.write_text("\n".join(lines) + "\n")
    return path


def do(job: str, corpus: Path, target: Path, **how: Any) -> dict[str, bytes]:
    if job == "count":
        ft.count(corpus, target, window=10, min_count=1, **how)
    else:
        vectors = ft.train(
            corpus, job, vector_size=20, counting={"min_count": 1, "window": 5, "sample": 0.0}, **OPTIONS[job], **how
        )
        vectors.save(target)
    return folder_bytes(target)


def main(lost: str, job: str, folder: Path) -> None:
    shards.SHARD_BYTES = readers.SHARD_BYTES = 150_000
    corpus = text(folder / "text.txt")
    wanted = do(job, corpus, folder / "wanted", workers=2)
    cluster = two_nodes()
    from firthian.cluster.executor import RayExecutor

    executor = RayExecutor()
    assert executor.workers == 2
    harm = {
        "worker": lambda: kill_worker(cluster),
        "node": lambda: kill_node(cluster),
        "object": lambda: lose_objects(executor),
    }[lost]
    progress = DoesHarm(harm, STAGES[:2] if job == "count" else STAGES[2:])
    found = do(job, corpus, folder / "found", cluster=executor, progress=progress)
    progress.finish()
    assert progress.threads
    assert found == wanted
    print("same bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
