"""How work is run: workers, memory, progress, randomness. Only the seed can change a result."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from firthian.checkpoints import Checkpoint, Nowhere, Stage
from firthian.checks import whole
from firthian.errors import FirthianError
from firthian.memory import check_budget
from firthian.parallel import Array, Executor, Part, Threads, check_workers
from firthian.progress import Progress, Silent

Result = TypeVar("Result")

#: Rows are worked on in blocks of this size, whatever the number of workers.
BLOCK_ROWS = 1024


def check_seed(seed: int) -> int:
    """Check a seed; kernels hold it as a whole number of 64 bits.

    >>> check_seed(7)
    7
    """
    seed = whole("seed", seed, hint="1 will do")
    if not 0 <= seed < 2**63:
        raise FirthianError(f"seed must be from 0 to 2^63 - 1, got {seed}", hint="1 will do")
    return seed


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
        """Give random numbers that belong to the seed and a purpose alone."""
        return np.random.default_rng([self.seed, *purpose])

    def stage(self, name: str) -> Stage:
        """Begin a loop whose steps are saved from time to time, or find it again."""
        return self.checkpoint.stage(name)

    def within(self, name: str) -> Run:
        """Give the run of what happens inside the loop of that name."""
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread, so that its sums do not depend on how many threads there are."""
    with _blas_libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _blas_libraries(with_scipy: bool) -> Any:
    """Find the loaded BLAS libraries once; SciPy brings another one when it is imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
