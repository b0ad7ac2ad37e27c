"""What vectors of PSDVec need again after training: the scale of their model, and the factor U behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.vectors.vectors import Vectors

#: Extras with x_i/x and x_j/x of every word.
ROW_SHARES, COLUMN_SHARES = "row_shares", "column_shares"


@dataclass(frozen=True)
class Scale:
    """How counts become targets and weights: part of the trained model, which later words are measured by."""

    kappa: float
    cut_root: float
    weight_power: float

    def targets(self, counts: Array, expected: Array) -> Array:
        """G = log((1 - kappa)·P(i,j) / (P(i)·P(j)) + kappa), eq. 7; ``expected`` is x_i·x_j/x."""
        return np.log((1 - self.kappa) * counts / expected + self.kappa)

    def weights(self, counts: Array) -> Array:
        """f(H) = min(sqrt(X) / C_cut, 1); the paper's square root is ``weight_power`` 0.5."""
        return np.minimum(counts**self.weight_power / self.cut_root, 1.0)


class PSDFactor:
    """Converts between vectors, which have an eigenvalue power and may be centered, and U, whose U·Uᵀ fits PMI."""

    def __init__(self, vectors: Vectors, purpose: str) -> None:
        state = vectors.state
        if "cut_root" not in state or "eigenvalues" not in vectors.extras:
            raise FirthianError(
                f"{purpose} needs vectors of the recipes psd and psd-blockwise, not {vectors.provenance.recipe}",
                hint="train with the recipe psd",
            )
        changes = [step.get("name") for step in vectors.provenance.transforms]
        if any(name != "subset" for name in changes):
            raise FirthianError(
                f"{purpose} needs vectors as they were trained; these were changed ({', '.join(map(str, changes))})",
                hint="pass the vectors that training returned",
            )
        numbers = ("kappa", "cut_root", "weight_power", "eigenvalue_power", "window")
        missing = [name for name in numbers if not isinstance(state.get(name), int | float)]
        # A subset may have lost its core.
        missing += [] if isinstance(state.get("core", ""), int | None) else ["core"]
        if missing or "center" not in vectors.extras:
            raise FirthianError(
                f"the vectors lack {', '.join(sorted(missing)) or 'their center'}, which {purpose} needs",
                hint="train them again",
            )
        self.scale = Scale(state["kappa"], state["cut_root"], state["weight_power"])
        #: The number of first words that were fitted together; None if a subset no longer has them first.
        self.core = state["core"]
        self._factors = np.asarray(vectors.extras["eigenvalues"]) ** (state["eigenvalue_power"] - 0.5)
        self._center = np.asarray(vectors.extras["center"])
        self._matrix = vectors.matrix
        #: x_i/x and x_j/x of every word; None if the vectors do not have them.
        self.shares = tuple(_column(vectors, name) for name in (ROW_SHARES, COLUMN_SHARES))

    def rows(self, words: int | None = None) -> Array:
        """Return the factor of the first words, in double precision."""
        return np.asarray((np.asarray(self._matrix[:words], dtype=np.float64) + self._center) / self._factors)

    def to_vectors(self, factor: Array) -> Array:
        """Convert rows of the factor to vectors."""
        return np.asarray((factor * self._factors - self._center).astype(np.float32))


def _column(vectors: Vectors, name: str) -> Array | None:
    """Return an extra with one number per word, or None if there is none."""
    values = vectors.extras.get(name)
    if values is None:
        return None
    if np.shape(values) != (len(vectors),):
        raise FirthianError(
            f"the vectors have {len(vectors)} words, but {name} of shape {np.shape(values)}", hint="train them again"
        )
    return np.asarray(values, dtype=np.float64)
