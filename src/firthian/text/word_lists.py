"""Lists of words that users keep in files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from firthian.errors import FirthianError, from_os_error
from firthian.text.tokenizer import composed


def word_lines(path: str | os.PathLike[str]) -> list[str]:
    """Read a file with one word a line, in its order; what follows a tab is ignored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "words.txt")
    ...     _ = file.write_text("\\ufefftea\\t12\\n\\ncoffee\\t9\\n")
    ...     word_lines(file)
    ['tea', 'coffee']
    """
    try:
        text = composed(Path(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise FirthianError(f"{path} is not UTF-8 text", hint="convert it first, e.g. with iconv") from None
    except OSError as error:
        raise from_os_error(error) from error
    words = [word for line in text.split("\n") if (word := line.partition("\t")[0].strip())]
    if not words:
        raise FirthianError(f"{path} holds no words", hint="give one word a line")
    return words


def read_words(source: str | os.PathLike[str] | Iterable[str] | None) -> frozenset[str] | None:
    """Take words from an iterable, or from a file with one word a line (what follows a tab is ignored)."""
    if source is None:
        return None
    if isinstance(source, str | os.PathLike):
        return frozenset(word_lines(source))
    try:
        return frozenset(map(composed, source))
    except (TypeError, AttributeError):
        raise FirthianError("a list of words holds something else", hint="give strings, or a file") from None
