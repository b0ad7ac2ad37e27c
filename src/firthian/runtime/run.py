"""The context of a run: workers, memory, progress, random numbers. Only the seed can change a result."""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import CheckpointStore, Stage
from firthian.options import Seed, option_of
from firthian.runtime.executor import Executor, Part, Threads, check_workers
from firthian.runtime.memory import check_budget
from firthian.runtime.progress import Progress, Silent, usual_progress

Result = TypeVar("Result")

#: The number of rows of a task, whatever the number of workers.
BLOCK_ROWS = 1024


def check_seed(seed: int) -> int:
    """Check a seed; kernels use it as a 64-bit integer.

    >>> check_seed(7)
    7
    """
    return int(option_of("seed", Seed).check(seed, strict=True))


@dataclass(frozen=True)
class Run:
    """The context that every model and solver receives."""

    seed: int = 1
    executor: Executor = field(default_factory=Threads)
    budget: int = 0
    progress: Progress = field(default_factory=Silent)
    checkpoint: CheckpointStore = field(default_factory=CheckpointStore)

    @classmethod
    def create(
        cls,
        seed: int = 1,
        workers: int | None = None,
        memory: str | int | None = None,
        progress: Progress | None = None,
        checkpoint: CheckpointStore | None = None,
        executor: Executor | None = None,
    ) -> Run:
        """Check the settings of a user and fill in defaults; ``executor`` replaces threads."""
        return cls(
            check_seed(seed),
            executor or Threads(workers),
            check_budget(memory),
            progress or usual_progress(),
            checkpoint or CheckpointStore(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the seed: a remote task is one worker and reports no progress."""
        return Run, (self.seed, Threads(1))

    @property
    def threads(self) -> Executor:
        """Threads of this process, for work that is cheaper than sending the data to a cluster."""
        return Threads(min(self.executor.workers, check_workers(None))) if self.executor.remote else self.executor

    def generator(self, purpose: int | str, *key: int) -> np.random.Generator:
        """Return a random stream that depends only on the seed, a purpose and a key, such as the epoch.

        A purpose is a name, whose hash keys the stream. The numbers of older purposes stay, so that results do; numpy
        ignores trailing zeros there, so a number with a key must never be used without one: (1,) and (1, 0) are the same.

        >>> run = Run(seed=1)
        >>> first, second = run.generator("start").random(), run.generator("start", 0).random()
        >>> first != second, first == Run(seed=1).generator("start").random()
        (True, True)
        """
        if isinstance(purpose, int):
            return np.random.default_rng([self.seed, purpose, *key])
        name = "/".join(map(str, (self.seed, purpose, *key)))
        return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest(), "little"))

    def stage(self, name: str) -> Stage:
        """Start a loop whose steps are checkpointed, or resume it."""
        return self.checkpoint.stage(name)

    def within(self, name: str) -> Run:
        """Return the run of nested work inside the loop of that name."""
        return replace(self, checkpoint=self.checkpoint.within(name))

    def remember(self, name: str, compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """Compute arrays, or restore them from before an interruption."""
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
        block: int | Sequence[int] = BLOCK_ROWS,
        *,
        writes: Sequence[Array] = (),
        updates: Sequence[Array] = (),
        pairs: Sequence[Array] = (),
        pointers: Array | None = None,
        here: bool = False,
    ) -> list[Result]:
        """Run ``task(first, last)`` on blocks of rows, in parallel, with BLAS on one thread; return results in order.

        Arrays that a task fills in place must be declared: it writes its rows of those in ``writes``, also reads those in
        ``updates``, and writes its rows of those in ``pairs``, which begin at ``pointers``. It must not touch other rows of
        them. ``here`` keeps the work in this process, where sending the data to a cluster would cost more. ``block`` is the
        number of rows of a task, or the first rows of all tasks.
        """
        starts = range(0, rows, block) if isinstance(block, int) else block
        blocks = list(zip(starts, [*starts[1:], rows], strict=False))
        parts = [Part(array, _rows) for array in writes] + [Part(array, _rows, updates=True) for array in updates]
        if pointers is not None:
            parts += [Part(array, lambda ends: slice(pointers[ends[0]], pointers[ends[1]])) for array in pairs]
        executor = self.threads if here else self.executor
        with one_blas_thread():
            return executor.collect(lambda ends: task(*ends), blocks, parts)


def _rows(ends: tuple[int, int]) -> slice:
    return slice(*ends)


class _SharedLimit:
    """The limit on BLAS libraries with process-wide threads: the first to enter sets it, the last to leave lifts it.

    If each restored what it found, one that leaves would lift the limit for all others, or leave it in place forever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        #: Limited libraries by file, with their number of threads before.
        self._before: dict[str, tuple[Any, int]] = {}

    def enter(self, libraries: Sequence[Any]) -> None:
        """Limit the libraries; SciPy may have loaded another since the last call."""
        with self._lock:
            self._inside += 1
            for library in libraries:
                if library.filepath not in self._before:
                    self._before[library.filepath] = library, library.num_threads
                    _set_threads(library, 1)

    def leave(self) -> None:
        """Lift the limit if nobody else is inside."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._before.values():
                    _set_threads(library, threads)
                self._before.clear()


def _set_threads(library: Any, threads: int) -> None:
    """Set the threads of a library; threadpoolctl 3.8 obeys only the first thread that does so unless released."""
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(threads)
    release(force=True)


_shared_limit = _SharedLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread, so that its sums do not depend on the number of threads."""
    # The extension, not its package: that is among the modules before its library is loaded.
    shared, own = _blas_libraries("scipy.linalg._fblas" in sys.modules)
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
    """Return the loaded BLAS libraries: those with process-wide threads, and those that each thread limits for itself.

    SciPy loads another one when it is imported.
    """
    from threadpoolctl import ThreadpoolController

    loaded = [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]
    per_thread = [
        library
        for library in loaded
        if library.internal_api == "mkl" or getattr(library, "threading_layer", "") == "openmp"
    ]
    return [library for library in loaded if library not in per_thread], per_thread
