"""A bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import io
import sys

import pytest

from firthian.runtime.progress import Bar, Silent, on_terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with on_terminal() as progress:
        assert isinstance(progress, Bar)
        progress.start("reading text", 10)
        progress.advance(4)
        progress.start("training", None)
        progress.advance(1, note="objective 3.2")
    shown = screen.getvalue()
    assert "reading text" in shown
    assert "training" in shown
    assert "objective 3.2" in shown


def test_brackets_in_a_name_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with on_terminal() as progress:
        progress.start("reading [bold]", 10)
        progress.advance(4, note="[/red]")
    assert "reading [bold]" in screen.getvalue()
    assert "[/red]" in screen.getvalue()


def test_nothing_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with on_terminal() as progress:
        assert isinstance(progress, Silent)
        progress.start("reading text", 10)
        progress.advance(4)
    assert pipe.getvalue() == ""
