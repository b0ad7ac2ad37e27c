"""Artifacts on disk: folders that appear whole or not at all, arrays with checksums, JSON that knows its kind.

A folder is written under a temporary name beside its target and renamed at the end. Nothing is ever pickled.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import math
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from firthian.arrays import Array
from firthian.disk.locks import locked
from firthian.errors import FirthianError, from_os_error

#: Files by which a folder is known as ours; only such a folder may be replaced by ``--force``.
MANIFESTS = ("counts.json", "vectors.json", "model.json", "report.json", "firthian.json")


def check_target(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Say early, before any work, whether ``target`` may be written."""
    path = Path(target)
    if path.exists() or path.is_symlink():
        if not force:
            raise FirthianError(f"{path} exists already", hint="choose another name or add --force")
        if path.is_dir() and any(path.iterdir()) and kind_of(path) is None:
            raise FirthianError(
                f"{path} is a folder that Firthian did not write",
                hint="--force replaces only Firthian's own folders",
            )
    check_parent(path)
    return path


def check_parent(path: Path) -> None:
    """Check whether anything may be written where ``path`` is to be."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FirthianError(f"{parent} is not a folder", hint="make it first")
    if not os.access(parent, os.W_OK):
        raise FirthianError(f"{parent} cannot be written to", hint="choose a place you may write to")


def check_folder(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Say early whether a folder may be written at ``target``; it never takes the place of a file."""
    path = check_target(target, force)
    if path.exists() and not path.is_dir():
        raise FirthianError(f"{path} is a file, not a folder", hint="choose another name")
    return path


def check_file(target: str | os.PathLike[str], force: bool = False) -> Path:
    """Say early whether a file may be written at ``target``; it never takes the place of a folder."""
    if Path(target).is_dir():
        raise FirthianError(f"{target} is a folder", hint="give the name of a file")
    return check_target(target, force)


def check_not_source(target: str | os.PathLike[str], source: Any) -> None:
    """Say early when what is read would be replaced by what is made of it."""
    if isinstance(source, str | os.PathLike) and Path(target).resolve() == Path(source).resolve():
        raise FirthianError(f"{target} is what is read", hint="choose another name for the result")


def kind_of(folder: Path) -> str | None:
    """Say what a folder of ours holds; None where we did not write it: other programs, too, call their files model.json."""
    for name in MANIFESTS:
        try:
            body = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(body, dict) and {"kind", "version", "checksum"} <= body.keys():
            return str(body["kind"])
    return None


@contextmanager
def new_folder(target: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Return an empty folder to fill; it takes the name ``target`` at the end, or vanishes after an error."""
    path = check_folder(target, force)
    staging = path.absolute().with_name(f".{path.name}.new-{os.getpid()}")
    with locked(path):
        mend(path)
        check_folder(target, force)
        try:
            staging.mkdir()
            yield staging
            replace(staging, path, force)
        except OSError as error:
            raise from_os_error(error) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def mend(target: Path) -> None:
    """Put right what a killed process left half done beside a target, whose lock must be held."""
    place, name = target.absolute().parent, target.name
    for old in place.glob(f".{glob.escape(name)}.old-*"):
        if not (target.exists() or target.is_symlink()):
            old.rename(target)
        else:
            _remove(old)
    for new in place.glob(f".{glob.escape(name)}.new-*"):
        _remove(new)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def replace(staging: Path, target: Path, force: bool) -> None:
    """Rename ``staging`` to ``target``; an old target makes way only when the new one is complete."""
    if not (target.exists() or target.is_symlink()):
        staging.rename(target)
        return
    (check_folder if staging.is_dir() else check_target)(target, force)
    old = target.absolute().with_name(f".{target.name}.old-{os.getpid()}")
    target.rename(old)
    try:
        staging.rename(target)
    except OSError:
        old.rename(target)
        raise
    _remove(old)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    staging = path.with_name(f".{path.name}.new-{os.getpid()}")
    try:
        staging.write_bytes(data)
        staging.replace(path)
    finally:
        staging.unlink(missing_ok=True)


def printable(text: str) -> str:
    r"""Return a name that can be written: bytes of it that are no text are spelled out, so that names stay distinct.

    >>> printable("caf\udce9.txt") == r"caf\udce9.txt"
    True
    """
    return text.encode("utf-8", "backslashreplace").decode()


def spelled(value: Any) -> Any:
    r"""Make all names in a record printable.

    >>> spelled({"files": ["caf\udce9", 3]}) == {"files": [r"caf\udce9", 3]}
    True
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {spelled(key): spelled(item) for key, item in value.items()}
    return [spelled(item) for item in value] if isinstance(value, list | tuple) else value


def sha256(data: bytes) -> str:
    """Return the checksum of a small file."""
    return hashlib.sha256(data).hexdigest()


def crc32(array: Array) -> int:
    """Return the checksum of an array's bytes: it need not resist forgery, only notice damage, and at memory's speed."""
    return zlib.crc32(_bytes_of(array)) if array.size else 0


def _bytes_of(array: Array) -> memoryview:
    return memoryview(np.ascontiguousarray(array).data).cast("B")


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the first bytes of a ``.npy``, as numpy writes them; it pads them, so that a length has room to grow."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


class ArrayWriter:
    """Writes a one-dimensional ``.npy`` piece by piece, its length known only at the end."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._crc = 0
        self._file: BinaryIO = path.open("wb")
        self._file.write(_header(self.dtype, (0,)))

    def append(self, piece: Array) -> None:
        """Write the next piece, converted to the array's type."""
        data = np.ascontiguousarray(piece, dtype=self.dtype)
        if data.size:
            view = _bytes_of(data)
            self._file.write(view)
            self._crc = zlib.crc32(view, self._crc)
            self.size += data.size

    def close(self) -> dict[str, Any]:
        """Write the header; give what the manifest says of this array."""
        self._file.seek(0)
        self._file.write(_header(self.dtype, (self.size,)))
        self._file.close()
        return {"dtype": self.dtype.str, "shape": [self.size], "crc32": self._crc}

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def write_array(path: Path, array: Array) -> dict[str, Any]:
    """Write one array as ``.npy``; give what the manifest says of it."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "crc32": crc32(array)}


def read_array(path: Path, entry: dict[str, Any], verify: bool = True) -> Array:
    """Map an array of the manifest; its header, and on request its bytes, must be what the manifest says.

    The header is compared and never parsed: a file that someone tampered with cannot make us read anything else.
    """
    damaged = FirthianError(f"{path} is damaged", hint="make it again from its source")
    try:
        dtype, shape = np.dtype(entry["dtype"]), tuple(map(int, entry["shape"]))
        header = _header(dtype, shape)
        with path.open("rb") as file:
            found, size = file.read(len(header)), os.fstat(file.fileno()).st_size
        wanted = len(header) + dtype.itemsize * math.prod(shape)
        # Items of no bytes would let a shape say anything.
        if dtype.hasobject or not dtype.itemsize or (found, size) != (header, wanted):
            raise damaged
        # Nothing cannot be mapped.
        array: Array = (
            np.memmap(path, dtype, "r", offset=len(header), shape=shape) if math.prod(shape) else np.empty(shape, dtype)
        )
        if verify and crc32(array) != entry["crc32"]:
            raise damaged
    except (ValueError, KeyError, TypeError) as error:
        raise damaged from error
    except OSError as error:
        raise from_os_error(error) from error
    return array


def rows_fit(indptr: Array, indices: Array, rows: int, columns: int) -> bool:
    """Return whether compressed rows hold together; kernels trust them, and would read and write beyond their arrays.

    >>> rows_fit(np.array([0, 1, 3]), np.array([2, 0, 1]), 2, 3), rows_fit(np.array([0, 1, 3]), np.array([2, 0, 3]), 2, 3)
    (True, False)
    """
    return (
        indptr.shape == (rows + 1,)
        and indptr.dtype.kind == indices.dtype.kind == "i"
        and indptr[0] == 0
        and indices.shape == (int(indptr[-1]),)
        and bool(np.all(indptr[1:] >= indptr[:-1]))
        and (indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < columns))
    )


def rows_ascend(indptr: Array, indices: Array, step: int = 1 << 22) -> bool:
    """Return whether the columns of each row ascend, each there once; ``rows_fit`` must hold.

    >>> rows_ascend(np.array([0, 2, 3]), np.array([0, 2, 1])), rows_ascend(np.array([0, 2, 3]), np.array([2, 2, 1]))
    (True, False)
    """
    for first in range(0, indices.size - 1, step):
        piece = indices[first : first + step + 1]
        # Only where a row begins may a column be no larger than the one before.
        falls = np.flatnonzero(piece[1:] <= piece[:-1]) + (first + 1)
        places = np.minimum(np.searchsorted(indptr, falls), indptr.size - 1)
        if not np.array_equal(indptr[places], falls):
            return False
    return True


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def write_manifest(path: Path, kind: str, version: int, record: dict[str, Any]) -> None:
    """Write the JSON that describes a folder, with its kind, its version and a checksum of itself."""
    body: dict[str, Any] = spelled({"kind": kind, "version": version, **record})
    body["checksum"] = sha256(_canonical(body))
    write_file(path, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode())


def read_manifest(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read the JSON of a folder; it must be of this kind, of a version we know, and undamaged."""
    try:
        body = json.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise FirthianError(f"{path.parent} is not {kind} (it holds no {path.name})", hint="check the path") from None
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError) as error:
        raise FirthianError(f"{path} is damaged", hint="make it again from its source") from error
    if not isinstance(body, dict) or body.get("kind") != kind:
        raise FirthianError(f"{path} does not describe {kind}", hint="give another folder")
    if body.get("version") != version:
        raise FirthianError(
            f"{path} has version {body.get('version')}, this program reads version {version}",
            hint="make it again, or use the release that wrote it",
        )
    checksum = body.pop("checksum", None)
    try:
        found = sha256(_canonical(body))
    except UnicodeEncodeError:
        # JSON can spell half a character, which is no text; we never wrote that.
        found = ""
    if checksum != found:
        raise FirthianError(f"{path} is damaged (its checksum does not fit)", hint="make it again from its source")
    return body
