"""The type of a numpy array, named once."""

from __future__ import annotations

from typing import Any

import numpy as np

#: An array of any shape and type.
Array = np.ndarray[Any, np.dtype[Any]]
