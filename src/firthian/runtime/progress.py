"""Progress of long work: a bar with the remaining time on a terminal, nothing when output is piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receives the stage of long work, how far it is, and a note such as the objective."""

    def start(self, stage: str, total: float | None = None) -> None:
        """Start a stage of ``total`` units; None if the total is unknown."""
        ...

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Report ``amount`` more units done."""
        ...


class Silent:
    """Ignores all reports."""

    def start(self, stage: str, total: float | None = None) -> None:
        """Ignore a stage."""

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Ignore progress."""


class Bar:
    """A rich progress bar on standard error, one line per stage."""

    def __init__(self) -> None:
        from rich import progress as rich
        from rich.console import Console

        # Stages and notes quote names of the user, in which brackets are not markup.
        stage, note = (
            rich.TextColumn(form, markup=False) for form in ("{task.description:<22}", "{task.fields[note]}")
        )
        times = (rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn())
        columns = (stage, rich.BarColumn(), rich.TaskProgressColumn(), *times, note)
        self._bar = rich.Progress(*columns, console=Console(stderr=True))
        self._task: rich.TaskID | None = None

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._bar.stop()

    def _finish(self) -> None:
        if self._task is not None:
            task = self._bar.tasks[-1]
            self._bar.update(self._task, total=task.completed or 1, completed=task.completed or 1)

    def start(self, stage: str, total: float | None = None) -> None:
        """Start a stage; the previous one is complete."""
        self._finish()
        self._task = self._bar.add_task(stage, total=total, note="")

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Report more units done."""
        if self._task is not None:
            self._bar.advance(self._task, amount)
            if note:
                self._bar.update(self._task, note=note)


@contextmanager
def on_terminal() -> Iterator[Progress]:
    """Yield a bar if standard error is a terminal, else a silent reporter."""
    if sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Silent()
