"""How work is run: workers, memory, progress, randomness. Only the seed can change a result."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import Checkpoint, Nowhere, Stage
from firthian.options import Seed, option_of
from firthian.runtime.executor import Executor, Part, Threads, check_workers
from firthian.runtime.memory import check_budget
from firthian.runtime.progress import Progress, Silent

Result = TypeVar("Result")

#: Rows are worked on in blocks of this size, whatever the number of workers.
BLOCK_ROWS = 1024


def check_seed(seed: int) -> int:
    """Check a seed; kernels hold it as a whole number of 64 bits.

    >>> check_seed(7)
    7
    """
    return int(option_of("seed", Seed).check(seed, strict=True))


@dataclass(frozen=True)
class Run:
    """What every model and solver is handed."""

    seed: int = 1
    executor: Executor = field(default_factory=Threads)
    budget: int = 0
    progress: Progress = field(default_factory=Silent)
    checkpoint: Checkpoint = field(default_factory=Nowhere)

    @classmethod
    def create(
        cls,
        seed: int = 1,
        workers: int | None = None,
        memory: str | int | None = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        executor: Executor | None = None,
    ) -> Run:
        """Check what the user said and fill in the rest; ``executor`` is for work elsewhere than in threads."""
        return cls(
            check_seed(seed),
            executor or Threads(workers),
            check_budget(memory),
            progress or Silent(),
            checkpoint or Nowhere(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere only the seed matters: whoever works there is one worker and tells nobody."""
        return Run, (self.seed, Threads(1))

    @property
    def threads(self) -> Executor:
        """Threads of this process, for work that is less than sending the data away."""
        return Threads(min(self.executor.workers, check_workers(None))) if self.executor.apart else self.executor

    def generator(self, *purpose: int) -> np.random.Generator:
        """Return random numbers that belong to the seed and a purpose alone."""
        return np.random.default_rng([self.seed, *purpose])

    def stage(self, name: str) -> Stage:
        """Begin a loop whose steps are saved from time to time, or find it again."""
        return self.checkpoint.stage(name)

    def within(self, name: str) -> Run:
        """Return the run of what happens inside the loop of that name."""
        return replace(self, checkpoint=self.checkpoint.within(name))

    def remember(self, name: str, compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """Compute arrays, or take them as they were computed before the run was interrupted."""
        stage = self.stage(name)
        state = stage.restore()
        if state is not None:
            return {part: np.array(array) for part, array in state.arrays.items()}
        arrays = compute()
        stage.save(1, arrays)
        return arrays

    def over_rows(
        self,
        task: Callable[[int, int], Result],
        rows: int,
        block: int = BLOCK_ROWS,
        *,
        writes: Sequence[Array] = (),
        updates: Sequence[Array] = (),
        pairs: Sequence[Array] = (),
        pointers: Array | None = None,
        here: bool = False,
    ) -> list[Result]:
        """Call ``task(first, last)`` for blocks of rows, in parallel, BLAS on one thread; give the results in order.

        A task that fills arrays in place names them: its rows of those in ``writes``; of those in ``updates``, which it
        reads before; and of those in ``pairs``, whose rows begin at ``pointers``. It may read and write no other rows of
        them. ``here`` keeps the work in this process: it is less than sending the data away, or needs this process.
        """
        blocks = [(first, min(first + block, rows)) for first in range(0, rows, block)]
        parts = [Part(array, _rows) for array in writes] + [Part(array, _rows, updates=True) for array in updates]
        if pointers is not None:
            parts += [Part(array, lambda ends: slice(pointers[ends[0]], pointers[ends[1]])) for array in pairs]
        executor = self.threads if here else self.executor
        with one_blas_thread():
            return executor.collect(lambda ends: task(*ends), blocks, parts)


def _rows(ends: tuple[int, int]) -> slice:
    return slice(*ends)


class _SharedLimit:
    """The limit on BLAS libraries whose threads belong to the process: the first who wants it sets it, the last lifts it.

    If each put back what it found, one who leaves would lift the limit for all, or leave it behind for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        #: Libraries that are limited, by their files, and how many threads each had before.
        self._before: dict[str, tuple[Any, int]] = {}

    def enter(self, libraries: Sequence[Any]) -> None:
        """Limit the libraries; SciPy may have brought one since somebody else did."""
        with self._lock:
            self._inside += 1
            for library in libraries:
                if library.filepath not in self._before:
                    self._before[library.filepath] = library, library.num_threads
                    _set_threads(library, 1)

    def leave(self) -> None:
        """Lift the limit where nobody else wants it."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._before.values():
                    _set_threads(library, threads)
                self._before.clear()


def _set_threads(library: Any, threads: int) -> None:
    """Set the threads of a library, whoever did so last: threadpoolctl 3.8 ignores all but the first to do it."""
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)


_shared_limit = _SharedLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread, so that its sums do not depend on how many threads there are."""
    shared, own = _blas_libraries("scipy.linalg" in sys.modules)
    before = [library.num_threads for library in own]
    _shared_limit.enter(shared)
    try:
        for library in own:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in zip(own, before, strict=True):
            library.set_num_threads(threads)
        _shared_limit.leave()


@functools.cache
def _blas_libraries(with_scipy: bool) -> tuple[list[Any], list[Any]]:
    """Find the loaded BLAS libraries once: those with threads of the process, and those that each thread limits for itself.

    SciPy brings another one when it is imported.
    """
    from threadpoolctl import ThreadpoolController

    found = [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]
    own = [one for one in found if one.internal_api == "mkl" or getattr(one, "threading_layer", "") == "openmp"]
    return [library for library in found if library not in own], own
