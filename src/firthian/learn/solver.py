"""What a solver is, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import Run

#: The dimension that asks a solver to choose it, where the recipe says that it can.
AUTO = 0


@dataclass(frozen=True)
class Solution:
    """What a solver found: a value, with the way it was reached."""

    #: One row a word: a dense float32 matrix, or a SciPy CSR array for sparse vectors.
    words: Any
    #: One row a context, where the model has such vectors.
    contexts: Array | None = None
    #: The real objective after each iteration.
    objective: list[float] = field(default_factory=list)
    #: ``exact``, ``converged`` or ``stopped`` (at the number of iterations asked for).
    status: str = "exact"
    #: Facts worth keeping: numbers of iterations, live dimensions, what was clipped.
    stats: dict[str, Any] = field(default_factory=dict)
    #: Further arrays that belong to the vectors (biases, covariances, weights), by name.
    extras: dict[str, Array] = field(default_factory=dict)
    #: Scalars that methods of the vectors need again (``Vectors.state``).
    state: dict[str, Any] = field(default_factory=dict)

    def check_finite(self) -> None:
        """Refuse vectors that are no numbers: nobody could use them, and a file of them is found out late.

        >>> Solution(np.array([[0.0, np.nan]])).check_finite()
        Traceback (most recent call last):
        ...
        firthian.errors.FirthianError: the vectors are not finite, so the steps were too long: lower alpha ...
        """
        for matrix in (self.words, self.contexts):
            values = getattr(matrix, "data", matrix) if hasattr(matrix, "toarray") else matrix
            if values is not None and not np.isfinite(values).all():
                raise FirthianError(
                    "the vectors are not finite, so the steps were too long",
                    hint="lower alpha or rate, raise damping or ridge, whichever the recipe has, or take its defaults",
                )


M = TypeVar("M", contravariant=True)


class Solver(Protocol[M]):
    """Fits models of kind ``M``: a Protocol that names what the solver needs of them."""

    def solve(self, model: M, dimension: int, run: Run) -> Solution:
        """Fit the model with vectors of ``dimension`` numbers."""
        ...


def check_fit(solver: Solver[Any], model: object) -> None:
    """Raise if a model lacks an attribute that its solver's Protocol names.

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
    protocols = [kind for kind in getattr(needed, "__mro__", ()) if getattr(kind, "_is_protocol", False)]
    for name in (name for protocol in protocols for name in _members(protocol)):
        # The class first: a property may take long to compute.
        if not hasattr(type(model), name) and not hasattr(model, name):
            raise FirthianError(
                f"the solver {type(solver).__name__} needs a model with {name!r}, which {type(model).__name__} lacks",
                hint="choose another solver",
            )


def _members(protocol: type) -> list[str]:
    """List the attributes and methods a Protocol declares in its own body."""
    return [
        name for name in {**vars(protocol).get("__annotations__", {}), **vars(protocol)} if not name.startswith("_")
    ]
