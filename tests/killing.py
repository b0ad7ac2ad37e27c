"""The end of a process, without a process: a progress that raises after so many reports."""

from __future__ import annotations


class Killed(BaseException):
    """Stands for the end of a process."""


class KillAt:
    """A progress that ends the process after so many reports."""

    def __init__(self, reports: int) -> None:
        self.left = reports

    def start(self, stage: str, total: float | None = None) -> None:
        self.advance()

    def advance(self, amount: float = 1, note: str = "") -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed
