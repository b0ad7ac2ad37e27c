"""What lies under a name in a folder is a regular file, or an error at once; locks hold on systems without fcntl."""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.disk.atomic import staged
from firthian.disk.locks import locked
from firthian.disk.opening import map_npy, open_regular, read_regular


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("make", [pipe, endless, huge])
def test_nothing_but_files_of_the_expected_size(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "x")
    with pytest.raises(ft.FirthianError, match=r"not a regular file|at most"):
        read_regular(tmp_path / "x")


def test_links_to_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"tea")
    (tmp_path / "y").symlink_to("x")
    with open_regular(tmp_path / "y") as file:
        assert file.read() == b"tea"
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


def test_a_lock_writes_to_no_other_file(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / ".x.lock").symlink_to(precious)
    with pytest.raises(ft.FirthianError), locked(tmp_path / "x"):
        pass
    assert precious.read_text() == "keep me"


def test_names_of_unfinished_files_cannot_be_guessed(tmp_path: Path) -> None:
    names = set()
    for _ in range(3):
        with staged(tmp_path / "x") as staging:
            names.add(staging.name)
            staging.write_text("x")
    assert len(names) == 3


def test_only_arrays_are_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    assert map_npy(tmp_path / "a.npy").tolist() == [[1, 0], [0, 1]]
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    whole = (tmp_path / "a.npy").read_bytes()
    header = whole[:128].replace(b"(2, 2), }", b"(1048576, 1048576), }")[:128]
    for name, data in {"short": whole[:-1], "huge": header, "deep": header[:10] + b"(" * 200, "none": b""}.items():
        (tmp_path / name).write_bytes(data)
    assert [map_npy(tmp_path / name) for name in ("o.npy", "short", "huge", "deep", "none")] == [None] * 5
    with pytest.raises(ft.FirthianError, match="is not a regular file"):
        map_npy(Path("/dev/zero"))


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide fcntl, and put msvcrt's locks in its place."""
    held: dict[tuple[int, int], int] = {}

    def locking(handle: int, mode: int, size: int) -> None:
        status = os.fstat(handle)
        if held.setdefault((status.st_dev, status.st_ino), handle) != handle:
            raise OSError(13, "Permission denied")

    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name == "fcntl":
            raise ImportError(name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    module = types.ModuleType("msvcrt")
    module.locking, module.LK_NBLCK = locking, 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", module)
    monkeypatch.setattr(builtins, "__import__", without)


@pytest.mark.usefixtures("windows")
def test_locks_without_fcntl(tmp_path: Path) -> None:
    busy = pytest.raises(ft.FirthianError, match="being written by another process")
    with locked(tmp_path / "x"), busy, locked(tmp_path / "x"):
        pass
    assert not list(tmp_path.iterdir())
