"""Sparse overcomplete coding of given vectors (Faruqui et al. 2015)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.linalg.tall import inner, times_small
from firthian.learn.solver import Solution
from firthian.learn.spectral.factorization import unit_rows
from firthian.runtime.run import Run, one_blas_thread

#: Words coded at a time.
ROWS = 256

#: Sweeps over a word's code in one epoch; epochs go on from where the last one stopped.
SWEEPS = 8


class SparseCoding:
    """Writes each given vector x as few rows of a dictionary D: ``min 1/2 |X - A D|² + l1·|A|_1``, rows of D at most 1 long.

    ``nonnegative`` keeps codes from being negative (the paper's "B" comes from rounding such codes to 0 and 1).
    Codes and dictionary are improved in turn: codes by coordinate descent, word by word; the dictionary by block
    coordinate descent over its rows (Mairal et al. 2010). Both only ever lower the objective. The paper bounds D by a
    ridge and descends by stochastic gradients; a bound on each row's length is the same for a suitable ridge, and has
    one number less to choose.
    """

    requires: ClassVar[tuple[str, ...]] = ("points",)

    def __init__(self, l1: float = 0.1, nonnegative: bool = True, epochs: int = 15, tolerance: float = 1e-3) -> None:
        self.l1, self.nonnegative, self.epochs, self.tolerance = l1, nonnegative, epochs, tolerance

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Improve codes and dictionary in turn."""
        import scipy.sparse

        points = model.points
        if points.shape[0] < dimension:
            raise FirthianError(f"{points.shape[0]} vectors cannot fill {dimension} rows", hint="give a smaller --dim")
        dictionary = self._start(points, dimension, run)
        codes = np.zeros((points.shape[0], dimension), dtype=np.float32)
        objective: list[float] = []
        stage = run.stage("coding")
        state = stage.restore()
        if state is not None:
            dictionary, codes[...] = np.array(state.arrays["dictionary"]), state.arrays["codes"]
            objective += state.values["objective"]
            run.progress.advance(len(objective))
        while not (settled := self._settled(objective)) and len(objective) < self.epochs:
            self._improve_codes(points, dictionary, codes, run)
            second, first = inner(codes, codes, run), inner(codes, points, run)
            dictionary = improve_dictionary(dictionary, second, first)
            objective.append(self._objective(points, dictionary, codes, run))
            run.progress.advance(1, f"objective {objective[-1]:.4g}")
            stage.save(len(objective), {"dictionary": dictionary, "codes": codes}, objective=objective)
        status = "converged" if settled else "stopped"
        self._improve_codes(points, dictionary, codes, run)
        objective.append(self._objective(points, dictionary, codes, run))
        sparse = scipy.sparse.csr_array(codes)
        stats = {"density": float(sparse.nnz / max(1, codes.size)), "dead": int((~codes.any(axis=0)).sum())}
        return Solution(sparse, objective=objective, status=status, stats=stats, extras={"dictionary": dictionary})

    def _settled(self, objective: list[float]) -> bool:
        return len(objective) > 1 and objective[-2] - objective[-1] <= self.tolerance * objective[-2]

    def _start(self, points: Array, dimension: int, run: Run) -> Array:
        """Start from randomly chosen words."""
        generator = run.generator(0x50DE)
        alive = np.flatnonzero(points.any(axis=1))
        if alive.size < dimension:
            rows = generator.standard_normal((dimension, points.shape[1]))
        else:
            rows = points[np.sort(generator.choice(alive, dimension, replace=False))]
        return unit_rows(np.asarray(rows, dtype=np.float32))

    def _improve_codes(self, points: Array, dictionary: Array, codes: Array, run: Run) -> None:
        from firthian.kernels.lasso import descend

        gram = inner(dictionary.T, dictionary.T, run).astype(np.float32)
        turned = np.ascontiguousarray(dictionary.T)
        l1, nonnegative = self.l1, self.nonnegative

        def improve(first: int, last: int) -> None:
            products = points[first:last] @ turned
            descend(gram, products, codes[first:last], l1, nonnegative, SWEEPS, 1e-5)

        run.over_rows(improve, points.shape[0], ROWS, updates=[codes])

    def _objective(self, points: Array, dictionary: Array, codes: Array, run: Run) -> float:
        rest = points - times_small(codes, dictionary, run)
        return float(0.5 * np.square(rest, dtype=np.float64).sum() + self.l1 * np.abs(codes, dtype=np.float64).sum())


def improve_dictionary(dictionary: Array, second: Array, first: Array, sweeps: int = 2) -> Array:
    """Lower ``1/2 |X - A D|²`` over D with rows at most 1 long; ``second`` is ``A'A``, ``first`` is ``A'X``.

    Row by row, ``d_k <- d_k + (first_k - second_k D) / second_kk``, then shortened to length 1 where it is longer.
    """
    result = dictionary.astype(np.float64)
    with one_blas_thread():
        for k in np.tile(np.flatnonzero(np.diag(second) > 0), sweeps):
            row = result[k] + (first[k] - second[k] @ result) / second[k, k]
            result[k] = row / max(1.0, float(np.sqrt(np.square(row).sum())))
    return result.astype(np.float32)
