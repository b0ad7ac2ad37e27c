"""The executor of a Ray cluster: tasks go to the workers, results come back in the order of the items.

A worker, a node or an object may be lost at any time. Ray calls the task again, and makes a lost result again from what
it was made of; what this process sent is sent again. Tasks are pure, so nobody can tell from the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import ray

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.cluster.shipping import KeptThere, Parcel, Store, pack, unpack
from firthian.runtime.executor import Kept, Part
from firthian.runtime.run import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The items of a call are dealt out to so many groups for each worker: more balance better, fewer cost less.
GROUPS_A_WORKER = 3

#: How often Ray may start a task again after its worker or node died, and how often we send lost arrays again.
MOST_RETRIES, MOST_ATTEMPTS = 20, 5


@dataclass(frozen=True)
class _Blank:
    """What a worker must know to make an array that tasks write to."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    where: Callable[[Any], Any]


class RayExecutor:
    """Runs tasks on the cluster that this process has joined."""

    apart = True

    def __init__(self, workers: int | None = None) -> None:
        there = int(ray.cluster_resources().get("CPU", 0))
        if there < 1:
            raise FirthianError(
                "the cluster has no processors", hint="start a worker node with ray start --address=HOST:PORT"
            )
        self.workers = min(workers or there, there)
        # Where fewer workers are asked for than there are, no more tasks may be under way; else one may wait for each.
        self._in_flight = self.workers if self.workers < there else 2 * self.workers
        self._store = Store(ray.put)

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in order; so many tasks are in flight as the workers can do with."""
        call = _Call(self._store, task)
        waiting: deque[tuple[Item, Any]] = deque()
        for item in items:
            waiting.append((item, call.submit([item])))
            if len(waiting) >= self._in_flight:
                yield call.results(*_first(waiting))[0]
        while waiting:
            yield call.results(*_first(waiting))[0]

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Deal the items out to groups, one task each, and put everything in its place as it comes."""
        groups = min(len(items), GROUPS_A_WORKER * self.workers)
        call = _Call(self._store, task, parts)
        results: list[Any] = [None] * len(items)
        coming = iter(range(groups))
        waiting: dict[Any, int] = {}
        while True:
            while len(waiting) < self._in_flight and (group := next(coming, None)) is not None:
                waiting[call.submit(items[group::groups])] = group
            if not waiting:
                return results
            done, _ = ray.wait(list(waiting), num_returns=1)
            group = waiting.pop(done[0])
            results[group::groups] = call.results(items[group::groups], done[0])

    def keep(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Kept[Any], ...]]:
        """Yield the handles of results, in order, each item's once its task is done."""
        call = _Call(self._store, task)
        waiting: deque[tuple[KeptThere, ...]] = deque()

        def first() -> tuple[Kept[Any], ...]:
            kept = waiting.popleft()
            ray.wait([kept[0].reference], num_returns=1, fetch_local=False)
            return kept

        for item in items:
            waiting.append(call.submit_pieces(item, pieces))
            if len(waiting) >= self._in_flight:
                yield first()
        while waiting:
            yield first()


def _first(waiting: deque[tuple[Item, Any]]) -> tuple[list[Item], Any]:
    item, reference = waiting.popleft()
    return [item], reference


class _Call:
    """One task with all it refers to, sent once for all items."""

    def __init__(self, store: Store, task: Callable[[Any], Any], parts: Sequence[Part] = ()) -> None:
        self._store, self._task, self._parts = store, task, parts
        self._parcel = self._send()

    def _send(self) -> Parcel:
        blanks = []
        for part in self._parts:
            if not part.array.flags.c_contiguous:
                raise ValueError("an array that tasks write to must be contiguous")
            blanks.append(_Blank(part.array.shape, part.array.dtype, part.where))
        head = pack(blanks, self._store)
        body = pack(self._task, self._store, self._parts)
        data = ray.put((head.data, len(head.references), body.data))
        return Parcel(b"", [data, *head.references, *body.references], [*head.kept, *body.kept])

    def submit(self, items: Sequence[Any]) -> Any:
        """Start a task for a group of items."""
        before = [[part.array[part.where(item)] if part.updates else None for item in items] for part in self._parts]
        own = pack((list(items), before), self._store)
        return _work.remote(own.data, len(own.references), *own.references, *self._parcel.references)

    def submit_pieces(self, item: Any, pieces: int) -> tuple[KeptThere, ...]:
        """Start a task whose results are to be kept, each an object of its own."""
        own = pack(item, self._store)
        call = _make.options(num_returns=pieces)
        found = call.remote(own.data, len(own.references), *own.references, *self._parcel.references)
        return tuple(KeptThere(one, _fetch, [own, self._parcel]) for one in ([found] if pieces == 1 else found))

    def results(self, items: Sequence[Any], reference: Any) -> list[Any]:
        """Wait for a group's results; what it wrote is put in its place."""
        for attempt in range(MOST_ATTEMPTS):
            try:
                results, written = _fetch(reference)
                break
            except ray.exceptions.ObjectLostError:
                if attempt + 1 == MOST_ATTEMPTS:
                    raise
                self._store.forget()
                self._parcel = self._send()
                reference = self.submit(items)
        for part, pieces in zip(self._parts, written, strict=True):
            for item, piece in zip(items, pieces, strict=True):
                part.array[part.where(item)] = piece
        return list(results)


def _fetch(reference: Any) -> Any:
    """Get an object; the error of a task is raised as the task raised it."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, FirthianError | OSError | ray.exceptions.ObjectLostError):
            raise cause from None
        raise


def _open(
    parcel: tuple[bytes, int, bytes], objects: Sequence[Any]
) -> tuple[Callable[[Any], Any], list[_Blank], list[Array]]:
    head, number, body = parcel
    blanks = unpack(head, objects[:number])
    # Only the pages that are written to take memory.
    arrays = [np.empty(blank.shape, blank.dtype) for blank in blanks]
    return unpack(body, objects[number:], arrays), blanks, arrays


@ray.remote(num_cpus=1, max_retries=MOST_RETRIES)
def _work(own: bytes, number: int, *objects: Any) -> tuple[list[Any], list[list[Array]]]:
    items, before = unpack(own, objects[:number])
    task, blanks, arrays = _open(objects[number], objects[number + 1 :])
    for blank, array, pieces in zip(blanks, arrays, before, strict=True):
        for item, piece in zip(items, pieces, strict=True):
            if piece is not None:
                array[blank.where(item)] = piece
    with one_blas_thread():
        results = [task(item) for item in items]
    return results, [[array[blank.where(item)] for item in items] for blank, array in zip(blanks, arrays, strict=True)]


@ray.remote(num_cpus=1, max_retries=MOST_RETRIES)
def _make(own: bytes, number: int, *objects: Any) -> Any:
    item = unpack(own, objects[:number])
    task, _, _ = _open(objects[number], objects[number + 1 :])
    with one_blas_thread():
        pieces = task(item)
    return pieces if len(pieces) > 1 else pieces[0]
