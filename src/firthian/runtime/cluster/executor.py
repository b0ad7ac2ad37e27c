"""The executor of a Ray cluster: tasks go to the workers, results come back in the order of the items.

A worker, a node or an object may be lost at any time. Ray then runs the task again and recomputes lost results from
their inputs; this process sends its arrays again. Tasks are pure, so the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import ray

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.cluster.shipping import Parcel, RemoteHandle, Store, pack, unpack
from firthian.runtime.executor import Handle, Part, ahead
from firthian.runtime.run import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Groups of items per worker in a call: more balance better, fewer cost less.
GROUPS_PER_WORKER = 3

#: How often Ray may rerun a task whose worker or node died, and how often we send lost arrays.
MOST_RETRIES, MOST_ATTEMPTS = 20, 5


@dataclass(frozen=True)
class _Blank:
    """What a worker needs to allocate an array that tasks write to."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    where: Callable[[Any], Any]


class RayExecutor:
    """Runs tasks on the Ray cluster that this process has joined."""

    remote = True

    def __init__(self, workers: int | None = None) -> None:
        processors = int(ray.cluster_resources().get("CPU", 0))
        if processors < 1:
            raise FirthianError(
                "the cluster has no processors", hint="start a worker node with ray start --address=HOST:PORT"
            )
        self.workers = min(workers or processors, processors)
        # With a limit on workers no more tasks may run; otherwise one more may wait for each worker.
        self._in_flight = self.workers if self.workers < processors else 2 * self.workers
        self._store = Store(ray.put)

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield results in order, with enough tasks in flight to keep the workers busy."""
        call = _Call(self._store, task)
        for item, reference in ahead(((item, call.submit([item])) for item in items), self._in_flight):
            yield call.results([item], reference)[0]

    def collect(
        self, task: Callable[[Item], Result], items: Sequence[Item], parts: Sequence[Part] = ()
    ) -> list[Result]:
        """Distribute the items over groups, one task each, and store results as they arrive."""
        groups = min(len(items), GROUPS_PER_WORKER * self.workers)
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

    def map_handles(
        self, task: Callable[[Item], tuple[Any, ...]], items: Iterable[Item], pieces: int
    ) -> Iterator[tuple[Handle[Any], ...]]:
        """Yield handles of the results in order, each once its task is done."""
        call = _Call(self._store, task)
        for handles in ahead((call.submit_pieces(item, pieces) for item in items), self._in_flight):
            ray.wait([handles[0].reference], num_returns=1, fetch_local=False)
            yield handles


class _Call:
    """A task with all it refers to, sent once for all items."""

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
        return Parcel(b"", [data, *head.references, *body.references], [*head.handles, *body.handles])

    def submit(self, items: Sequence[Any]) -> Any:
        """Start a task for a group of items."""
        before = [[part.array[part.where(item)] if part.updates else None for item in items] for part in self._parts]
        own = pack((list(items), before), self._store)
        return _work.remote(own.data, len(own.references), *own.references, *self._parcel.references)

    def submit_pieces(self, item: Any, pieces: int) -> tuple[RemoteHandle, ...]:
        """Start a task whose results stay on the cluster, each a separate object."""
        own = pack(item, self._store)
        call = _make.options(num_returns=pieces)
        references = call.remote(own.data, len(own.references), *own.references, *self._parcel.references)
        if pieces == 1:
            references = [references]
        return tuple(RemoteHandle(reference, _fetch, [own, self._parcel]) for reference in references)

    def results(self, items: Sequence[Any], reference: Any) -> list[Any]:
        """Wait for the results of a group, and copy what it wrote into the arrays."""
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
    """Return an object; raise the error of a task as the task raised it."""
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
    # Only pages that are written to use memory.
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
