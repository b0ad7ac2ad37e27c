"""Work in parallel, results in order: the seam behind which threads run here and a cluster runs elsewhere.

A task is a pure function of its item and of arrays it only reads. Its result never depends on how many workers there are,
because tasks are cut by the data alone and results are taken in the order of the items. Where a task fills a part of a
large array, the call says which (``Part``): threads write straight into it, a cluster sends the part back.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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

    ``updates`` says that a task also reads what was in its part before; else it may find anything there.
    """

    array: Array
    where: Callable[[Any], Any]
    updates: bool = False


class Kept(Protocol[Value]):
    """A result that stays where it was made until someone needs it."""

    def get(self) -> Value:
        """Return the result, or raise the error that the task ended with."""
        ...


@dataclass(frozen=True)
class Here(Generic[Value]):
    """A result in the memory of this process.

    >>> Here(3).get()
    3
    """

    value: Value

    def get(self) -> Value:
        """Return it."""
        return self.value


class Executor(Protocol):
    """Runs tasks and gives their results in the order of the items."""

    workers: int
    #: Whether the workers share neither memory nor disk with this process.
    apart: bool

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``task(item)`` for each item, in order; only a bounded number of tasks is in flight."""
        ...

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Return ``task(item)`` for all items; what the tasks write in place is declared by ``parts``."""
        ...

    def keep(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Kept[Any], ...]]:
        """Call tasks that give ``pieces`` results each; they stay where they were made. Items may hold kept results."""
        ...


class Threads:
    """Threads of this process; the kernels release the interpreter lock, so they run side by side.

    >>> list(Threads(2).map(lambda n: n * n, range(5)))
    [0, 1, 4, 9, 16]
    """

    apart = False

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

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Return all results; the tasks write straight into the arrays."""
        return list(self.map(task, items))

    def keep(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Kept[Any], ...]]:
        """Keep the results in memory."""
        for results in self.map(task, items):
            yield tuple(Here(result) for result in results)


def at_most(executor: Executor, workers: int) -> Executor:
    """Return fewer threads for tasks that take much memory each; the workers of a cluster have memories of their own."""
    return executor if executor.apart or executor.workers <= workers else Threads(max(1, workers))


def constant(array: Array) -> Array:
    """Return a view that cannot be written to. Whoever calls this promises that nobody writes to the array itself.

    A cluster sends such an array once and finds it there again.
    """
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
