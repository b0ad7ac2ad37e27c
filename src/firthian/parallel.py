"""Work in parallel, results in order: the seam behind which threads run here and a cluster runs elsewhere.

A task is a pure function of its arguments. Its result never depends on how many workers there are, because
tasks are cut by the data alone and results are taken in the order of the tasks.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from firthian.errors import FirthianError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs tasks and gives their results in the order of the tasks."""

    workers: int

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``task(item)`` for each item, in order; only a bounded number of tasks is in flight."""
        ...


class Threads:
    """Threads of this process; the kernels release the interpreter lock, so they run side by side.

    >>> list(Threads(2).map(lambda n: n * n, range(5)))
    [0, 1, 4, 9, 16]
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``task(item)`` for each item, in order, reading at most a few items ahead."""
        if self.workers == 1:
            yield from map(task, items)
            return
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="firthian")
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(task, item))
                if len(waiting) > self.workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def check_workers(workers: int | None) -> int:
    """Give the number of workers, every core of this machine where none is named."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise FirthianError(f"workers must be at least 1, got {workers}", hint="leave it out to use every core")
    return workers
