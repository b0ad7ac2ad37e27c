"""Errors a user can fix: what is wrong, where, and the remedy."""

from __future__ import annotations

import errno
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from types import ModuleType

#: A message may quote what a file holds, and a file may hold anything.
_LONGEST = 1000


def _shortened(text: str) -> str:
    """Leave the middle of a very long text out."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 300]} … {text[-300:]}"


#: An option in a message: `name` or `name=value`.
_OPTION = re.compile(r"`([A-Za-z][a-z0-9_]*)(?:=([^`\s]*))?`")


def _as_argument(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


class FirthianError(Exception):
    """A mistake the user can fix: one line that says what is wrong and where, and a hint that says what to do.

    Options stand between backquotes under their Python names, as in ```min_count``` or ```memory=4GB```. Python users
    see them so; the command line renders them as flags.

    >>> raise FirthianError("corpus.txt is empty", hint="lower `min_count`")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: corpus.txt is empty: lower min_count
    """

    def __init__(self, message: str, hint: str = "") -> None:
        message, hint = _shortened(message), _shortened(hint)
        super().__init__(message, hint)
        self.message, self.hint = self.render(_as_argument)

    def render(self, option: Callable[[str, str | None], str]) -> tuple[str, str]:
        """Return message and hint, each option as ``option(name, value)`` spells it."""
        message, hint = (_OPTION.sub(lambda match: option(match[1], match[2]), text) for text in self.args)
        return message, hint

    def __str__(self) -> str:
        return f"{self.message}: {self.hint}" if self.hint else self.message


class BudgetError(FirthianError):
    """The memory budget is too small: the same work may succeed with a larger one."""


class UnknownWordError(FirthianError, KeyError):
    """A word that the vocabulary does not hold; also a ``KeyError``, as for any mapping."""


_REMEDIES = {
    errno.ENOSPC: ("the disk is full", "free some space or write to another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or write to another disk"),
    errno.EFBIG: ("the file would be larger than the system allows", "raise the limit or write elsewhere"),
    errno.EACCES: ("permission denied", "choose a place you may read and write"),
    errno.EPERM: ("operation not permitted", "choose a place you may read and write"),
    errno.EROFS: ("the file system is read-only", "choose a place you may write to"),
    errno.ENOENT: ("no such file or folder", "check the path"),
    errno.ENOTDIR: ("a part of the path is not a folder", "check the path"),
    errno.EISDIR: ("it is a folder", "pass a file"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter name"),
}


def from_os_error(error: OSError) -> FirthianError:
    """Turn an operating system error into a sentence with a remedy.

    >>> str(from_os_error(OSError(errno.ENOSPC, "No space left on device", "x.npy")))
    'x.npy: the disk is full: free some space or write to another disk'
    """
    what, hint = _REMEDIES.get(error.errno or 0, (error.strerror or str(error), ""))
    where = f"{error.filename}: " if error.filename else ""
    return FirthianError(f"{where}{what}", hint)


@contextmanager
def os_errors(path: str = "") -> Iterator[None]:
    """Raise operating system errors as sentences with a remedy; ``path`` is named where the system names no file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or path or None
        raise from_os_error(error) from error


def suggest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """Name the closest known spellings, as the second half of an error message.

    >>> suggest("harmnic", ["flat", "harmonic", "dynamic"])
    'did you mean harmonic?'
    """
    known = list(known)
    close = get_close_matches(name, known, n=limit, cutoff=0.6)
    if close:
        return f"did you mean {', '.join(close)}?"
    return f"choose from: {', '.join(known)}" if len(known) <= 40 else ""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional library, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        package = module.partition(".")[0]
        raise FirthianError(f"this needs the package {package}", hint=f"pip install 'firthian[{extra}]'") from None
