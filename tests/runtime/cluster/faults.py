"""A run on two Ray nodes of this machine that loses workers, nodes or objects: ``python -m tests.runtime.cluster.faults``.

Arguments: what is lost (worker, node, object), what is done (count, or a recipe), a folder. It fails where nothing was lost,
or where the bytes are not those of a run with threads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import firthian as ft
from firthian.counts import streams
from firthian.runtime.cluster import _quiet
from firthian.runtime.cluster.executor import RayExecutor
from firthian.runtime.progress import Silent
from firthian.text import files, readers
from tests.conftest import folder_bytes

#: Recipes with options that make them short.
OPTIONS: dict[str, dict[str, Any]] = {"sgns": {"epochs": 3}, "bayes": {"epochs": 3}, "psd": {"iterations": 3}}

#: When harm is done: the stage of the work, and which of its calls to the cluster.
MOMENTS = {
    "count": [("reading text", 0), ("counting windows", 0), ("counting windows", 1), ("merging", 0)],
    "sgns": [("sweeps", 1), ("sweeps", 4)],
    "bayes": [("variational sweeps", 1), ("variational sweeps", 4)],
    "psd": [("factorizing", 1), ("factorizing", 4)],
}

Harm = Callable[[Any, Path, Any], Any]

#: Seconds to wait for something that must happen.
PATIENCE = 100


class Stage(Silent):
    """Knows which stage the run is in."""

    name = ""

    def start(self, name: str, *_: Any) -> None:
        self.name = name


class Harmed(RayExecutor):
    """Its calls at certain moments meet with harm: ``harm(executor, marker, task)`` gives what is called instead."""

    def __init__(self, harm: Harm, moments: list[tuple[str, int]], folder: Path) -> None:
        super().__init__()
        self.stage, self.calls = Stage(), dict.fromkeys(dict(moments), 0)
        self._harm, self._moments, self._folder = harm, moments, folder

    def map(self, task: Any, items: Any) -> Any:
        return super().map(self._harmed(task), items)

    def collect(self, task: Any, items: Any, parts: Any = ()) -> Any:
        return super().collect(self._harmed(task), items, parts)

    def map_handles(self, task: Any, items: Any, pieces: int) -> Any:
        return super().map_handles(self._harmed(task), items, pieces)

    def _harmed(self, task: Any) -> Any:
        stage = self.stage.name
        if stage not in self.calls:
            return task
        moment = (stage, self.calls[stage])
        self.calls[stage] += 1
        return self._harm(self, self._folder / f"{stage}-{moment[1]}", task) if moment in self._moments else task


def claim(marker: Path) -> bool:
    """Return whether this is the first call."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def kill_worker(_: Any, marker: Path, task: Any) -> Any:
    """``kill -9`` the worker that is first done with its work, before it hands it in."""

    def dies(item: Any) -> Any:
        result = task(item)
        if claim(marker):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return dies


def kill_node(cluster: Any) -> Harm:
    """``kill -9`` the second raylet and all that is on it, when a worker there is in the midst of its work."""
    (node,) = cluster.worker_nodes
    doomed = node.node_id

    def harm(_: Any, marker: Path, task: Any) -> Any:
        if node not in cluster.worker_nodes:
            return task

        def kill() -> None:
            wait_for(marker)
            cluster.remove_node(node, allow_graceful=False)

        threading.Thread(target=kill, daemon=True).start()

        def waits(item: Any) -> Any:
            if ray.get_runtime_context().get_node_id() == doomed:
                marker.touch()
                time.sleep(PATIENCE)
            wait_for(marker)
            return task(item)

        return waits

    return harm


@ray.remote(num_cpus=0)
class Owner:
    """Puts arrays into the store of its node, and answers for them."""

    def put(self, array: Any) -> Any:
        return [ray.put(array)]


def lose_objects(cluster: Any) -> Harm:
    """Move the arrays that were sent to be used again to the second node, and ``kill -9`` it: they are lost for good."""
    (node,) = cluster.worker_nodes

    def harm(executor: Any, marker: Path, task: Any) -> Any:
        store, there = executor._store, NodeAffinitySchedulingStrategy(node.node_id, soft=False)
        owner = Owner.options(scheduling_strategy=there).remote()
        assert store._stored
        for key, reference in store._stored.items():
            store._stored[key] = ray.get(owner.put.remote(ray.get(reference)))[0]
        cluster.remove_node(node, allow_graceful=False)
        forget = store.forget
        store.forget = lambda: (forget(), marker.touch())
        return task

    return harm


def wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)


def two_nodes() -> Any:
    """Start a cluster of two raylets with one processor each, and join it."""
    from ray.cluster_utils import Cluster

    quiet = _quiet()
    node = {"num_cpus": 1, "object_store_memory": 200_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    cluster.wait_for_nodes(PATIENCE)
    ray.init(address=cluster.address, **quiet)
    return cluster


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
    files.SHARD_BYTES = readers.SHARD_BYTES = 150_000
    streams.GROUP_TOKENS = 100_000
    corpus = text(folder / "text.txt")
    wanted = do(job, corpus, folder / "wanted", workers=2)
    cluster = two_nodes()
    harm = {"worker": kill_worker, "node": kill_node(cluster), "object": lose_objects(cluster)}[lost]
    # There is one node to lose: when what lies on it is needed.
    moments = MOMENTS[job] if lost == "worker" else MOMENTS[job][-2:-1]
    markers = folder / "markers"
    markers.mkdir()
    executor = Harmed(harm, moments, markers)
    assert executor.workers == 2
    found = do(job, corpus, folder / "found", cluster=executor, progress=executor.stage)
    assert {f"{stage}-{call}" for stage, call in moments} <= {path.name for path in markers.iterdir()}
    assert bool(cluster.worker_nodes) == (lost == "worker")
    assert found == wanted
    ray.shutdown()
    cluster.shutdown()
    print("same bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
