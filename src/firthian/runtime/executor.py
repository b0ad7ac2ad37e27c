"""Parallel tasks with results in order, on the threads of this process or on a cluster.

A task is a pure function of its item and of arrays it only reads. Results never depend on the number of workers, because
work is divided by the data alone and results come in the order of the items. Where a task fills part of a large array, the
call declares it (``Part``): threads write straight into the array, a cluster sends the part back.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from firthian.arrays import Array
from firthian.options import Workers, option_of

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True)
class Part:
    """An array that tasks write to in place: each ``array[where(item)]``, which no other task reads or writes.

    With ``updates`` a task also reads the previous contents of its part; without, they are undefined.
    """

    array: Array
    where: Callable[[Any], Any]
    updates: bool = False


class Handle(Protocol[Value]):
    """A result that stays where it was computed until someone needs it."""

    def get(self) -> Value:
        """Return the result, or raise the error of the task."""
        ...


@dataclass(frozen=True)
class LocalHandle(Generic[Value]):
    """A result in the memory of this process.

    >>> LocalHandle(3).get()
    3
    """

    value: Value

    def get(self) -> Value:
        """Return the result."""
        return self.value


class Executor(Protocol):
    """Runs tasks and returns their results in the order of the items."""

    workers: int
    #: Whether workers share neither memory nor disk with this process.
    remote: bool

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``task(item)`` for each item, in order, with a bounded number of tasks in flight."""
        ...

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Return ``task(item)`` for all items; ``parts`` declares what the tasks write in place."""
        ...

    def map_handles(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Handle[Any], ...]]:
        """Run tasks that return ``pieces`` results each, and leave these where they are; items may contain handles."""
        ...


class Threads:
    """Threads of this process; the kernels release the interpreter lock, so they run in parallel.

    >>> list(Threads(2).map(lambda n: n * n, range(5)))
    [0, 1, 4, 9, 16]
    """

    remote = False

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``task(item)`` for each item, in order, reading at most a few items ahead."""
        if self.workers == 1:
            yield from map(task, items)
            return
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="firthian")
        try:
            submitted = ahead((pool.submit(task, item) for item in items), self.workers + 2)
            yield from (future.result() for future in submitted)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Return all results; tasks write straight into the arrays. Each worker takes the next item when it is free."""
        if self.workers == 1 or len(items) < 2:
            return [task(item) for item in items]
        results: list[Any] = [None] * len(items)
        coming, lock = iter(range(len(items))), threading.Lock()
        failed: dict[int, BaseException] = {}

        def work() -> None:
            while not failed:
                with lock:
                    number = next(coming, None)
                if number is None:
                    return
                try:
                    results[number] = task(items[number])
                except BaseException as error:
                    failed[number] = error

        # This thread works, too.
        with ThreadPoolExecutor(self.workers - 1, thread_name_prefix="firthian") as pool:
            for _ in range(min(self.workers, len(items)) - 1):
                pool.submit(work)
            work()
        if failed:
            raise failed[min(failed)]
        return results

    def map_handles(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Handle[Any], ...]]:
        """Yield the results in memory."""
        for results in self.map(task, items):
            yield tuple(LocalHandle(result) for result in results)


def ahead(submitted: Iterable[Item], number: int) -> Iterator[Item]:
    """Yield tasks in order, with ``number`` of them submitted before the first is yielded.

    >>> list(ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    waiting: deque[Item] = deque()
    for task in submitted:
        waiting.append(task)
        if len(waiting) >= number:
            yield waiting.popleft()
    yield from waiting


def limit_workers(executor: Executor, workers: int) -> Executor:
    """Return fewer threads for tasks that need much memory each; workers of a cluster have memory of their own."""
    return executor if executor.remote or executor.workers <= workers else Threads(max(1, workers))


def constant(array: Array) -> Array:
    """Return a read-only view of an array that is no longer written to; a cluster sends it only once."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def check_workers(workers: int | None) -> int:
    """Check the number of workers; None means every core of this machine."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(option_of("workers", Workers).check(workers, strict=True))
