"""The contract between models and solvers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import Run

#: The dimension that lets the solver choose, if the recipe allows it.
AUTO = 0


@dataclass(frozen=True)
class Solution:
    """Vectors, and how they were computed."""

    #: One row per word: a dense float32 matrix, or a SciPy CSR array for sparse vectors.
    words: Any
    #: One row per context, if the model has context vectors.
    contexts: Array | None = None
    #: The objective after each iteration.
    objective: list[float] = field(default_factory=list)
    #: ``exact``, ``converged`` or ``stopped`` (at the maximum number of iterations).
    status: str = "exact"
    #: Facts for the record, such as iterations or live dimensions.
    stats: dict[str, Any] = field(default_factory=dict)
    #: Further arrays that belong to the vectors (biases, covariances, weights), by name.
    extras: dict[str, Array] = field(default_factory=dict)
    #: Scalars that methods of the vectors need again (``Vectors.state``).
    state: dict[str, Any] = field(default_factory=dict)

    def check_finite(self) -> None:
        """Raise if a vector is not finite.

        >>> Solution(np.array([[0.0, np.nan]])).check_finite()
        Traceback (most recent call last):
        ...
        firthian.errors.FirthianError: the vectors are not finite because the steps were too long: lower ...
        """
        for matrix in (self.words, self.contexts):
            values = getattr(matrix, "data", matrix) if hasattr(matrix, "toarray") else matrix
            if values is not None and not np.isfinite(values).all():
                raise FirthianError(
                    "the vectors are not finite because the steps were too long",
                    hint="lower `alpha` or `rate`, raise `damping` or `ridge`, or use the recipe's defaults",
                )


M = TypeVar("M", contravariant=True)


class Solver(Protocol[M]):
    """Fits models of type ``M``: a class, or a Protocol that lists what the solver needs of a model."""

    def solve(self, model: M, dimension: int, run: Run) -> Solution:
        """Fit the model with vectors of ``dimension`` numbers."""
        ...


def check_fit(solver: Solver[Any], model: object) -> None:
    """Raise if a model is not what its solver's signature names: a class, or a Protocol with all its members.

    >>> class HasMatrix(Protocol):
    ...     matrix: Array
    >>> class Wants:
    ...     def solve(self, model: HasMatrix, dimension: int, run: Run) -> Solution: ...
    >>> check_fit(Wants(), object())
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: the solver Wants needs a model with 'matrix', which object lacks: choose another solver
    """
    needed = get_type_hints(type(solver).solve)["model"]
    if getattr(needed, "_is_protocol", False):
        names = [name for kind in needed.__mro__ if getattr(kind, "_is_protocol", False) for name in _members(kind)]
        # The class first: a property may take long to compute.
        lacking = [name for name in names if not hasattr(type(model), name) and not hasattr(model, name)]
        what = f"a model with {lacking[0]!r}, which {type(model).__name__} lacks" if lacking else ""
    else:
        what = "" if isinstance(model, needed) else f"a {needed.__name__}, got a {type(model).__name__}"
    if what:
        raise FirthianError(f"the solver {type(solver).__name__} needs {what}", hint="choose another solver")


def _members(protocol: type) -> list[str]:
    """List the attributes and methods a Protocol declares in its own body."""
    names = {**vars(protocol).get("__annotations__", {}), **vars(protocol)}
    return [name for name in names if not name.startswith("_")]
