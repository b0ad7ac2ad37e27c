"""Interrupt a run without killing a process: progress that raises after N reports."""

from __future__ import annotations


class Killed(BaseException):
    """Stands for the end of a process."""


class KillAt:
    """Progress that interrupts the run after N reports."""

    def __init__(self, reports: int) -> None:
        self.left = reports

    def start(self, stage: str, total: float | None = None) -> None:
        self.advance()

    def advance(self, amount: float = 1, note: str = "") -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed
