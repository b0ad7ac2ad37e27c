"""Numbers that a caller gives: as Python's own, which JSON knows, whatever library they come from."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from firthian.errors import FirthianError


def whole(name: str, value: Any, hint: str) -> int:
    """Return a whole number as an ``int``; numpy's are welcome, texts and fractions are not.

    >>> import numpy as np
    >>> whole("window", np.int64(5), "5 is usual")
    5
    >>> whole("window", 2.5, "5 is usual")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: window must be a whole number, got 2.5: 5 is usual
    """
    try:
        return operator.index(value)
    except TypeError:
        raise FirthianError(f"{name} must be a whole number, got {value!r}", hint) from None


def yes_or_no(name: str, value: Any) -> bool:
    """Return a choice of two as a ``bool``; numpy's are welcome, and 0 and 1.

    >>> import numpy as np
    >>> yes_or_no("strict", np.bool_(True))
    True
    """
    # A bool of numpy's is equal to Python's, but JSON does not know it.
    if not isinstance(value, str) and np.ndim(value) == 0 and value in (True, False):
        return bool(value)
    raise FirthianError(f"{name} must be True or False, got {value!r}", hint="give one of them")


def real(name: str, value: Any, hint: str) -> float:
    """Return a number as a ``float``; numpy's are welcome, texts are not.

    >>> real("sample", 0, "1e-3 is usual")
    0.0
    """
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise FirthianError(f"{name} must be a number, got {value!r}", hint)
