"""Folders as bytes, so that they can be fuzzed like files: packed, spoiled, unpacked, and sealed again.

A folder of ours carries checksums. They reveal damage, but an attacker can recompute them. ``seal`` does what an attacker
would: headers, sizes and checksums fit what the manifest says, so that only the checks behind them stand.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from pathlib import Path
from typing import Any

from firthian.disk.artifact import _canonical
from firthian.disk.tensors import _header, _order
from tests.fuzz.edits import Draws, edit_bytes, edit_json

Files = dict[str, bytes]

_ENTRY = re.compile(rb"([a-z_0-9-]{1,30}\.[a-z]{2,12})\0([0-9]{1,7})\0")

#: Arrays that a sealed manifest may ask for; larger ones need no more checks than these.
_LARGEST_ARRAY = 1 << 16

_SAFETENSORS = {
    "F64": 8, "F32": 4, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1
}  # fmt: skip


def pack(files: Files, sealed: bool) -> bytes:
    """Put files one after another, each with its name and size; the first byte says whether to seal them."""
    parts = [b"%s\0%d\0" % (name.encode(), len(data)) + data for name, data in sorted(files.items())]
    return (b"S" if sealed else b"R") + b"".join(parts)


def pack_folder(folder: Path, sealed: bool) -> bytes:
    """Pack a folder."""
    return pack({item.name: item.read_bytes() for item in folder.iterdir() if item.is_file()}, sealed)


def unpack(data: bytes) -> tuple[Files, bool]:
    """Take files apart again, as far as they can be."""
    files: Files = {}
    at = 1
    while match := _ENTRY.match(data, at):
        end = match.end() + int(match[2])
        files[match[1].decode()] = data[match.end() : end]
        at = end
    return files, data[:1] == b"S"


def unpack_into(folder: Path, data: bytes, manifest: str) -> None:
    """Fill an empty folder with what is packed, sealed where that is asked for."""
    files, sealed = unpack(data)
    if sealed and manifest in files:
        files = seal(files, manifest)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def edit_folder(data: bytes, draws: Draws) -> bytes:
    """Spoil one file of a packed folder; manifests most often value by value."""
    files, sealed = unpack(data)
    if not files or draws.number % 31 == 0:
        return edit_bytes(data, draws)
    name = sorted(files)[int(draws.much * 0.999 * len(files))]
    number = draws.number // 4
    if name.endswith(".json") and draws.number % 4:
        files[name] = edit_json(files[name], draws._replace(number=number))
    elif name.endswith(".safetensors") and draws.number % 4:
        # The header is compared with the manifest: the numbers behind it are worth more.
        at = 8 + int.from_bytes(files[name][:8], "little")
        files[name] = files[name][:at] + edit_bytes(files[name][at:], draws._replace(number=number))
    else:
        files[name] = edit_bytes(files[name], draws._replace(number=number))
    return pack(files, sealed)


def seal(files: Files, manifest: str) -> Files:
    """Make headers and checksums fit the manifest; a manifest that makes no sense stays as it is."""
    try:
        body = json.loads(files[manifest])
        for name, table in body["files"].items():
            if name in files:
                files[name] = _tensors(files[name], table)
        words = files.get("words.txt", b"")
        if isinstance(body.get("words"), dict):
            body["words"]["sha256"] = hashlib.sha256(words).hexdigest()
        body.pop("checksum", None)
        body["checksum"] = hashlib.sha256(_canonical(body)).hexdigest()
        return files | {manifest: json.dumps(body).encode()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError, OverflowError):
        return files


def _fitted(data: bytes, size: int) -> bytes:
    return (data * (size // max(1, len(data)) + 1))[:size] if data else bytes(size)


def _tensors(data: bytes, table: dict[str, Any]) -> bytes:
    """Write a file again, with types and shapes as its table says; put the checksums into the table."""
    length = 8 + int.from_bytes(data[:8], "little")
    old = json.loads(data[8:length])
    content = b""
    for name in _order(table):
        size = _SAFETENSORS[table[name]["dtype"]] * math.prod(map(int, table[name]["shape"]))
        if not 0 <= size <= _LARGEST_ARRAY:
            raise ValueError
        begin, end = old[name]["data_offsets"] if name in old else (0, 0)
        part = _fitted(data[length + begin : length + end], size)
        table[name]["crc32"] = zlib.crc32(part) if size else 0
        content += part
    return _header(table) + content
