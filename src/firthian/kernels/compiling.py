"""Kernels are compiled when they are first used on a machine. Whoever waits at a terminal or in a notebook is told."""

from __future__ import annotations

import functools
import sys
import time
from typing import Any

#: Seconds of compiling before it is told.
PATIENCE = 2.0


class Compiling:
    """Adds up the seconds of compiling, and tells once when they are many.

    >>> listener = Compiling(patience=0, told=print)
    >>> listener.begin(), listener.end(), listener.begin(), listener.end()
    firth: compiling for this machine, once; later runs start at once
    (None, None, None, None)
    """

    def __init__(self, patience: float = PATIENCE, told: Any = None) -> None:
        self._left, self._told = patience, told or _tell
        self._depth, self._begun = 0, 0.0

    def begin(self) -> None:
        """Note that a kernel begins to be compiled; kernels nest."""
        if not self._depth:
            self._begun = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """Note that it is compiled."""
        self._depth -= 1
        if self._depth == 0 and self._told is not None:
            self._left -= time.perf_counter() - self._begun
            if self._left <= 0:
                self._told("firth: compiling for this machine, once; later runs start at once")
                self._told = None


def _tell(line: str) -> None:
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        print(line, file=sys.stderr)


@functools.cache
def tell_compiling() -> None:
    """Tell, from now on, when numba compiles for long."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self._compiling = Compiling()

        def on_start(self, event: Any) -> None:
            self._compiling.begin()

        def on_end(self, event: Any) -> None:
            self._compiling.end()

    event.register("numba:compile", Listener())
