"""Progress of long work: a bar with the remaining time on a terminal or in a notebook, nothing when output is piped."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol


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


#: Seconds between two updates of a notebook's output.
_PAUSE = 0.2


class NotebookBar:
    """A line of HTML in the output of a notebook's cell, rewritten as work progresses."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._stage, self._note = "", ""
        self._total: float | None = None
        self._done = self._begun = self._shown = 0.0

    def start(self, stage: str, total: float | None = None) -> None:
        """Start a stage; it replaces the one before."""
        self._stage, self._total, self._note = stage, total, ""
        self._done, self._begun = 0.0, time.monotonic()
        self._show()

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Report more units done."""
        self._done += amount
        self._note = note or self._note
        if time.monotonic() - self._shown > _PAUSE or (self._total is not None and self._done >= self._total):
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        seconds = self._shown - self._begun
        left = f", {seconds * (self._total / self._done - 1):.0f} s left" if self._total and self._done else ""
        share = f' value="{min(1.0, self._done / self._total):.3f}"' if self._total else ""
        line = (
            f"<div>{escape(self._stage)} <progress{share}></progress> {seconds:.0f} s{left} {escape(self._note)}</div>"
        )
        if self._handle is None:
            self._handle = self._display({"text/html": line, "text/plain": self._stage}, raw=True, display_id=True)
        else:
            self._handle.update({"text/html": line, "text/plain": self._stage}, raw=True)


def usual_progress() -> Progress:
    """Return a bar in a notebook, and a silent reporter elsewhere: what a function uses that was passed none."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not getattr(shell, "kernel", None):
        return Silent()
    from IPython.display import display

    return NotebookBar(display)


@contextmanager
def on_terminal() -> Iterator[Progress]:
    """Yield a bar if standard error is a terminal, else a silent reporter."""
    if sys.stderr.isatty():
        with Bar() as bar:
            yield bar
    else:
        yield Silent()
