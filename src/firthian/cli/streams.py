"""Standard input and output as a command finds them: closed, of another encoding, or a terminal that words could steer."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from firthian.runtime.table import visible


class VisibleOutput:
    """Text output that escapes control characters: words and labels come from files, and could steer a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, in which only ends of lines and tabs remain as they are."""
        if not text.isprintable():
            text = "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
        return int(self._stream.write(text))


@contextmanager
def prepared_streams() -> Iterator[None]:
    """Open standard streams that were closed, and make output accept and show any text, while a command runs."""
    _open_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Words of other scripts, or odd file names, on a terminal that cannot show them. In the locale C, which is strict in
        # another way, odd file names pass as they are where the encoding is UTF-8.
        name = codecs.lookup(sys.stdout.encoding).name
        if sys.stdout.errors == "strict" or (sys.stdout.errors == "surrogateescape" and name != "utf-8"):
            sys.stdout.reconfigure(errors="backslashreplace")
    before = sys.stdout
    shown: Any = VisibleOutput(before)
    sys.stdout = shown
    try:
        yield
    finally:
        # Other code may have replaced it, or given it up.
        if sys.stdout is shown:
            sys.stdout = before


def _open_closed() -> None:
    """Open the null device in place of standard streams that are closed: the next file would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
