"""Ctrl-C and SIGTERM: the first lets the current step finish and be saved, the second ends the process."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Requests to end: from the terminal, and from process managers.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal ended the work, which can be resumed. Not an ``Exception``, so that nothing handles it as an error."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(f"signal {number}")
        self.number = int(number)

    @property
    def code(self) -> int:
        """The exit code that shells use: 128 plus the number of the signal."""
        return 128 + self.number


class Stop:
    """Whether the work was asked to end.

    While it is ``patient``, a signal only sets ``requested``, for the work to check at the end of a step.
    """

    def __init__(self) -> None:
        self.requested: int | None = None
        self.patient = False

    def check(self) -> None:
        """Raise if the work was asked to end; call it when the work is saved."""
        if self.requested is not None:
            raise Interrupted(self.requested)


@contextmanager
def catching_signals() -> Iterator[Stop]:
    """Turn signals into ``Interrupted``: at once, or at the end of a step while the work is patient.

    After the first signal the system's own handling is restored, so that the second one always ends the process.
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
        # Progress bars hide the cursor, and the second signal would leave it hidden.
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{cursor}firth: saving this step; press again to stop at once", file=sys.stderr, flush=True)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
