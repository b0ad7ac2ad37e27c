"""Errors say what, where and what to do, in one line."""

from __future__ import annotations

import errno

import pytest

from firthian.errors import FirthianError, UnknownWordError, from_os_error, require, suggest


def test_an_error_is_one_sentence() -> None:
    assert str(FirthianError("x is empty", hint="fill it")) == "x is empty: fill it"
    assert str(FirthianError("x is empty")) == "x is empty"
    assert isinstance(UnknownWordError("w"), KeyError)
    assert str(UnknownWordError("w", "h")) == "w: h"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.ENOENT])
def test_system_errors_have_a_remedy(code: int) -> None:
    known = from_os_error(OSError(code, "system text", "file.npy"))
    assert known.message.startswith("file.npy: ")
    assert known.hint


def test_an_unknown_system_error_keeps_its_text() -> None:
    assert str(from_os_error(OSError(errno.EIO, "Input/output error"))) == "Input/output error"


def test_suggestions() -> None:
    assert suggest("harmnic", ["flat", "harmonic"]) == "did you mean harmonic?"
    assert suggest("zzz", ["flat", "harmonic"]) == "choose from: flat, harmonic"
    assert suggest("zzz", [str(number) for number in range(100)]) == ""


def test_a_missing_extra_names_its_remedy() -> None:
    with pytest.raises(FirthianError, match=r"pip install 'firthian\[web\]'"):
        require("no_such_package.part", "web")
    assert require("json", "web").dumps([]) == "[]"
