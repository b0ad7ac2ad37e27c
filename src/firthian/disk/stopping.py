"""Ctrl-C and SIGTERM: a step is finished and saved first; the second time it ends at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What asks a process to end: the terminal, and whoever manages processes.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal ended the work, which can go on later. Not an error, so that nothing takes it for one."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(f"signal {number}")
        self.number = int(number)

    @property
    def code(self) -> int:
        """The exit code shells know: 128 and the number of the signal."""
        return 128 + self.number


class Stop:
    """Whether the work was asked to end.

    While it is ``patient``, a signal only leaves its number in ``requested``, for the work to see at the end of a step.
    """

    def __init__(self) -> None:
        self.requested: int | None = None
        self.patient = False

    def check(self) -> None:
        """End here, where the work is saved, if that was asked for."""
        if self.requested is not None:
            raise Interrupted(self.requested)


@contextmanager
def catching_signals() -> Iterator[Stop]:
    """Turn signals into ``Interrupted``: at once, or at the end of a step while the work is patient.

    After the first signal the system's own handling is back, so that the second one ends the process whatever it does.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers.
        yield stop
        return

    def handle(number: int, frame: Any) -> None:
        stop.requested = number
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        if not stop.patient:
            raise Interrupted(number)
        # A bar hides the cursor; the second signal would leave it so.
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{cursor}firth: finishing this step to save it; once more ends at once", file=sys.stderr, flush=True)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
