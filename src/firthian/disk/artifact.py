"""The one container on disk: a folder with a JSON manifest and safetensors files that are mapped into memory.

The manifest names its kind and version and has a table of all arrays: file, type, shape and CRC-32 of each. Its own
SHA-256 seals it. Small artifacts of which there are many (segments of a corpus) are one file with the manifest in its
header. Nothing is ever pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firthian.arrays import Array
from firthian.disk.atomic import staged, write_file
from firthian.disk.opening import read_regular
from firthian.disk.schema import check_record
from firthian.disk.tensors import (
    Table,
    TableEntry,
    damage,
    read_header,
    read_tensors,
    table_of,
    write_described,
    write_tensors,
)
from firthian.errors import FirthianError, from_os_error

#: Of the container and of all that is kept in it.
VERSION = 2


@dataclass(frozen=True)
class Artifact:
    """What a folder contains: the fields of its manifest, and its arrays, mapped read-only."""

    record: dict[str, Any]
    arrays: dict[str, Array]


@dataclass(frozen=True)
class ArtifactKind:
    """A kind of artifact: what it is called, its manifest's name, which its safetensors file shares, and its fields."""

    name: str
    manifest: str
    #: The types of all fields (see ``disk/schema.py``), checked before anything is built from them.
    schema: Any = dict[str, Any]

    @property
    def tensors(self) -> str:
        """The file of all arrays that are not in files of their own."""
        return f"{Path(self.manifest).stem}.safetensors"

    def write(
        self,
        folder: Path,
        record: Mapping[str, Any],
        arrays: Mapping[str, Array],
        files: Mapping[str, Table] | None = None,
    ) -> None:
        """Write arrays and the manifest into a folder; ``files`` are the tables of safetensors files already there."""
        tables = {**(files or {}), self.tensors: write_tensors(folder / self.tensors, arrays)}
        write_manifest(folder / self.manifest, self.name, {**record, "files": tables})

    def read(self, folder: Path, verify: bool = True) -> Artifact:
        """Open a folder; ``verify=False`` trusts the bytes of its arrays, and checks all else."""
        path = folder / self.manifest
        record = read_manifest(path, self.name)
        damaged = damage(path)
        arrays: dict[str, Array] = {}
        tables = self._check(path, record)
        for name, table in tables.items():
            if Path(name).name != name or arrays.keys() & table.keys():
                raise damaged
            arrays |= read_tensors(folder / name, table, verify)
        return Artifact(record, arrays)

    def _check(self, path: Path, record: dict[str, Any]) -> dict[str, Table]:
        """Check the fields of a manifest, and take the tables of its files out."""
        tables = record.pop("files", None)
        own = {name: value for name, value in record.items() if name not in ("kind", "version")}
        try:
            check_record(tables, dict[str, dict[str, TableEntry]], "files")
            check_record(own, self.schema)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
            raise FirthianError(f"{path} is damaged ({why})", hint="make it again from its source") from error
        return tables  # type: ignore[no-any-return]

    def write_one_file(self, path: Path, record: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Write an artifact as one file, which appears whole or not at all."""
        table = table_of(arrays)
        manifest = json.dumps(_sealed(self.name, {**record, "files": {self.tensors: table}}))
        with staged(path) as staging:
            write_described(staging, arrays, table, {"manifest": manifest})

    def read_one_file(self, path: Path) -> Artifact:
        """Read an artifact that is one file."""
        header, _ = read_header(path)
        try:
            metadata = header["__metadata__"]
            record = _check(path, json.loads(metadata["manifest"]), self.name)
            table = self._check(path, record)[self.tensors]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damage(path) from error
        return Artifact(record, read_tensors(path, table, metadata=metadata))


def write_manifest(path: Path, kind: str, record: Mapping[str, Any]) -> None:
    """Write a manifest: fields with their kind, the version, and a checksum of them all."""
    write_file(path, (json.dumps(_sealed(kind, record), indent=1, ensure_ascii=False) + "\n").encode())


def read_manifest(path: Path, kind: str) -> dict[str, Any]:
    """Read a manifest, which must be of this kind, of our version, and undamaged."""
    try:
        body = json.loads(read_regular(path).decode())
    except (FileNotFoundError, NotADirectoryError):
        raise FirthianError(f"{path.parent} is not {kind} (it has no {path.name})", hint="check the path") from None
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError) as error:
        raise damage(path) from error
    return _check(path, body, kind)


def _sealed(kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = spelled({"kind": kind, "version": VERSION, **record})
    return {**body, "checksum": sha256(_canonical(body))}


def _check(path: Path, body: Any, kind: str) -> dict[str, Any]:
    if not isinstance(body, dict) or body.get("kind") != kind:
        raise FirthianError(f"{path} does not describe {kind}", hint="name another folder")
    if body.get("version") != VERSION:
        raise FirthianError(
            f"{path} was written by container version {body.get('version')}, this is version {VERSION}",
            hint="make it again, or use the release that wrote it",
        )
    checksum = body.pop("checksum", None)
    try:
        expected = sha256(_canonical(body))
    except UnicodeEncodeError:
        # JSON can spell half a character, which is not text; we never wrote that.
        expected = ""
    if checksum != expected:
        raise FirthianError(f"{path} is damaged (checksum mismatch)", hint="make it again from its source")
    return body


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(data: bytes) -> str:
    """Return the checksum of a small file."""
    return hashlib.sha256(data).hexdigest()


def printable(text: str) -> str:
    r"""Return a name that can be written: bytes that are not text are spelled out, so names stay distinct.

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
