"""Sparse overcomplete coding of dense vectors (Faruqui et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from firthian.arrays import Array, unit_rows
from firthian.errors import FirthianError
from firthian.learn.linalg.tall import inner, times_small
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run, one_blas_thread
from firthian.vectors.vectors import Vectors

#: Words per block.
ROWS = 256

#: Sweeps over a word's code in one epoch; the next epoch resumes from there.
SWEEPS = 8


class TrainedVectors:
    """Dense vectors trained before, scaled to length 1 so that every word has the same weight."""

    def __init__(self, vectors: Vectors, run: Run) -> None:
        if not isinstance(vectors.matrix, np.ndarray):
            raise FirthianError("these vectors are already sparse", hint="pass dense vectors, such as those of svd")
        self.points = unit_rows(vectors.matrix)


@dataclass
class SparseCoding:
    """Codes each vector by a few rows of a dictionary D: ``min 1/2 |X - A D|² + l1·|A|_1``, rows of D no longer than 1.

    ``nonnegative`` keeps codes from being negative (the paper's "B" comes from rounding such codes to 0 and 1).
    Steps alternate between codes, by coordinate descent word by word, and the dictionary, by block coordinate
    descent over its rows (Mairal et al. 2010); neither can raise the objective. The paper bounds D by a ridge and
    descends by stochastic gradients; bounding the length of each row is equivalent for a suitable ridge, with one
    fewer parameter.
    """

    l1: Annotated[float, Option("weight of the l1 norm of the codes; higher is sparser", low=0)] = 0.1
    nonnegative: Annotated[bool, Option("restrict codes to nonnegative values")] = True
    epochs: Annotated[int, Option("alternations of codes and dictionary", low=1)] = 15
    tolerance: Annotated[float, Option("relative decrease of the objective below which it stops", low=0, high=1)] = 1e-3

    def solve(self, model: TrainedVectors, dimension: int, run: Run) -> Solution:
        """Alternate between codes and dictionary."""
        import scipy.sparse

        points = model.points
        if points.shape[0] < dimension:
            raise FirthianError(f"{points.shape[0]} vectors cannot fill {dimension} rows", hint="lower `vector_size`")
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
        """Initialize with the vectors of random words."""
        generator = run.generator(0x50DE)
        alive = np.flatnonzero(points.any(axis=1))
        if alive.size < dimension:
            rows = generator.standard_normal((dimension, points.shape[1]))
        else:
            rows = points[np.sort(generator.choice(alive, dimension, replace=False))]
        return unit_rows(np.asarray(rows, dtype=np.float32))

    def _improve_codes(self, points: Array, dictionary: Array, codes: Array, run: Run) -> None:
        from firthian.kernels.regression import descend

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
    """Lower ``1/2 |X - A D|²`` over D with rows of length 1 at most; ``second`` is ``A'A``, ``first`` is ``A'X``.

    Row by row, ``d_k <- d_k + (first_k - second_k D) / second_kk``, then scaled to length 1 if it is longer.
    """
    result = dictionary.astype(np.float64)
    with one_blas_thread():
        for k in np.tile(np.flatnonzero(np.diag(second) > 0), sweeps):
            row = result[k] + (first[k] - second[k] @ result) / second[k, k]
            result[k] = row / max(1.0, float(np.sqrt(np.square(row).sum())))
    return result.astype(np.float32)
