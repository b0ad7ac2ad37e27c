"""Random sparse matrices, the same with every SciPy: the arguments of its own generator changed their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse


def random_csr(shape: tuple[int, int], density: float, rng: np.random.Generator, dtype: Any = np.float32) -> Any:
    """Return uniform numbers at random places, in compressed rows."""
    return scipy.sparse.csr_array(np.where(rng.random(shape) < density, rng.random(shape), 0).astype(dtype))
