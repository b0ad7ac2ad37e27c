"""Write beside, then rename: files and folders that appear whole or not at all, one writer at a time."""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from firthian.disk.locks import check_name, locked
from firthian.disk.opening import read_regular
from firthian.errors import FirthianError, os_errors

#: Files that mark a folder as ours; ``force`` replaces only such folders.
MANIFESTS = ("counts.json", "vectors.json", "model.json", "report.json", "index.json", "firthian.json")


def check_target(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Raise before any work if ``target`` may not be written."""
    path = Path(target)
    check_name(path)
    if path.exists() or path.is_symlink():
        if path.exists() and not (path.is_file() or path.is_dir()):
            # A device or a pipe: never replaced, not even with `force`.
            raise FirthianError(f"{path} is not a regular file", hint="choose another name")
        if not force:
            raise FirthianError(f"{path} already exists", hint="choose another name or add `force`")
        if path.is_dir() and any(path.iterdir()) and kind_of(path) is None:
            raise FirthianError(
                f"{path} is a folder that Firthian did not write", hint="`force` replaces only Firthian's own folders"
            )
    check_parent(path)
    return path


def check_parent(path: Path) -> None:
    """Raise if the folder that will contain ``path`` is missing or not writable."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FirthianError(f"{parent} is not a folder", hint="create it first")
    if not os.access(parent, os.W_OK):
        raise FirthianError(f"{parent} is not writable", hint="choose a folder you may write to")


def check_folder(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Raise before any work if a folder may not be written at ``target``; it never replaces a file."""
    path = check_target(target, force)
    if path.exists() and not path.is_dir():
        raise FirthianError(f"{path} is a file, not a folder", hint="choose another name")
    return path


def check_file(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Raise before any work if a file may not be written at ``target``; it never replaces a folder."""
    if Path(target).is_dir():
        raise FirthianError(f"{target} is a folder", hint="name a file")
    return check_target(target, force)


def check_not_source(target: str | os.PathLike[str], source: Any) -> None:
    """Raise before any work if the result would replace its own source."""
    check_name(Path(target))
    if isinstance(source, str | os.PathLike) and os.path.realpath(target) == os.path.realpath(source):
        raise FirthianError(f"{target} is both source and target", hint="choose another name for the result")


def kind_of(folder: Path) -> str | None:
    """Return what a folder of ours contains; None if we did not write it: other programs have a model.json, too."""
    return next((kind for name in MANIFESTS if (kind := manifest_kind(folder / name)) is not None), None)


def manifest_kind(path: Path) -> str | None:
    """Return the kind that a manifest names; None if it is none of ours."""
    try:
        body = json.loads(read_regular(path))
    except (OSError, FirthianError, ValueError, RecursionError):
        return None
    return str(body["kind"]) if isinstance(body, dict) and {"kind", "version", "checksum"} <= body.keys() else None


def is_counts_folder(path: Any) -> bool:
    """Return whether a path is a folder of counts."""
    return isinstance(path, str | os.PathLike) and (Path(path) / "counts.json").is_file()


@contextmanager
def staged(target: Path, force: bool = True, sync: bool = False, suffix: str = "") -> Iterator[Path]:
    """Yield an unused name beside ``target``; what is written there takes its place at the end, or vanishes on an error.

    With ``sync`` the data is on the disk itself before it takes the name.
    """
    staging = _beside(target, "new", suffix)
    try:
        yield staging
        if sync:
            for path in (*(staging.iterdir() if staging.is_dir() else ()), staging):
                _sync(path)
        replace(staging, target, force)
        if sync:
            _sync(target.absolute().parent)
    finally:
        remove(staging)


@contextmanager
def new_file(target: str | os.PathLike[str], force: bool = False) -> Iterator[BinaryIO]:
    """Yield an open file to fill; it takes the name ``target`` at the end, or vanishes after an error."""
    path = check_target(target, force)
    with os_errors(), staged(path, force) as staging, staging.open("wb") as file:
        yield file


@contextmanager
def new_folder(target: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes the name ``target`` at the end, or vanishes after an error."""
    path = check_folder(target, force)
    with locked(path):
        repair(path)
        check_folder(target, force)
        with os_errors(), staged(path, force) as staging:
            staging.mkdir()
            yield staging


def write_file(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with staged(path) as staging:
        staging.write_bytes(data)


def replace(staging: Path, target: Path, force: bool) -> None:
    """Rename ``staging`` to ``target``; an old target makes way only when the new one is complete."""
    if target.exists() or target.is_symlink():
        (check_folder if staging.is_dir() else check_target)(target, force)
        if staging.is_dir() or target.is_dir():
            old = _beside(target, "old")
            try:
                target.rename(old)
            except PermissionError as error:
                # Windows renames no folder of which a file is open, as those of loaded vectors are.
                raise FirthianError(
                    f"{target} is in use and cannot be replaced", hint="close what has it open, or choose another name"
                ) from error
            try:
                staging.rename(target)
            except OSError:
                old.rename(target)
                raise
            remove(old)
            return
    staging.replace(target) if staging.is_file() else staging.rename(target)


def repair(target: Path) -> None:
    """Finish or undo what a killed process left beside a target, whose lock must be held."""
    place, name = target.absolute().parent, glob.escape(target.name)
    for old in place.glob(f".{name}.old-*"):
        if target.exists() or target.is_symlink():
            remove(old)
        else:
            old.rename(target)
    for new in place.glob(f".{name}.new-*"):
        remove(new)


def remove(path: Path) -> None:
    """Remove a file or a folder with all it contains, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _beside(target: Path, role: str, suffix: str = "") -> Path:
    # Not to be guessed: in a folder that others may write to, a link could wait under this name.
    return target.absolute().with_name(f".{target.name}.{role}-{os.getpid()}-{secrets.token_hex(4)}{suffix}")


def _sync(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk itself."""
    windows = os.name == "nt"
    if windows and path.is_dir():
        # Windows opens no folders, and keeps their names itself.
        return
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
