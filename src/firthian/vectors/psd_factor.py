"""The factor U behind PSDVec vectors: what a user gets may be bent (eigenvalue power) and centered; U·Uᵀ is what fits PMI."""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.psd.model import COLUMN_SHARES, ROW_SHARES, Scale
from firthian.vectors.vectors import Vectors


class PSDFactor:
    """Goes from the vectors a user has to the factor, and back."""

    def __init__(self, vectors: Vectors, purpose: str) -> None:
        state = vectors.state
        if "cut_root" not in state or "eigenvalues" not in vectors.extras:
            raise FirthianError(
                f"{purpose} needs vectors of the recipes psd and psd-blockwise, not {vectors.provenance.recipe}",
                hint="train with -m psd",
            )
        changes = [step.get("name") for step in vectors.provenance.transforms]
        if any(name != "subset" for name in changes):
            raise FirthianError(
                f"{purpose} needs vectors as they were trained, these were changed ({', '.join(map(str, changes))})",
                hint="give the vectors that firth train wrote",
            )
        missing = {"kappa", "weight_power", "core", "eigenvalue_power", "window"} - state.keys()
        if missing or "center" not in vectors.extras:
            raise FirthianError(
                f"the vectors lack {', '.join(sorted(missing)) or 'their center'}, which {purpose} needs",
                hint="train them again",
            )
        self.scale = Scale(state["kappa"], state["cut_root"], state["weight_power"])
        #: How many of the first words were fitted together; None where a subset no longer has them first.
        self.core = None if state["core"] is None else int(state["core"])
        power = state["eigenvalue_power"] - 0.5
        self._bend = np.asarray(vectors.extras["eigenvalues"]) ** power
        self._center = np.asarray(vectors.extras["center"])
        self._matrix = vectors.matrix
        #: x_i/x and x_j/x of every word; None where the vectors are older than these.
        self.shares = tuple(_column(vectors, name) for name in (ROW_SHARES, COLUMN_SHARES))

    def rows(self, words: int | None = None) -> Array:
        """Return the factor of the first words, in double precision."""
        factor: Array = (np.asarray(self._matrix[:words], dtype=np.float64) + self._center) / self._bend
        return factor

    def shown(self, factor: Array) -> Array:
        """Turn rows of the factor into vectors as the user has them."""
        vectors: Array = (factor * self._bend - self._center).astype(np.float32)
        return vectors


def _column(vectors: Vectors, name: str) -> Array | None:
    """Return an extra with one number a word, if there is one."""
    found = vectors.extras.get(name)
    if found is None:
        return None
    if np.shape(found) != (len(vectors),):
        raise FirthianError(
            f"the vectors have {len(vectors)} words, but {name} of shape {np.shape(found)}", hint="train them again"
        )
    return np.asarray(found, dtype=np.float64)
