"""Tasks as bytes: closures by value, large arrays through the object store, each sent once.

A closure is pickled, with references in place of four things: large arrays (separate objects, read without a copy), arrays
that the task writes to (allocated by the worker, see ``Part``), results that stay on the cluster, and compiled kernels
(imported by name). Nothing of this touches the local disk.
"""

from __future__ import annotations

import importlib
import io
import pickle
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ray import cloudpickle

from firthian.arrays import Array
from firthian.runtime.executor import LocalHandle, Part

#: Arrays of at least this many bytes become separate objects.
LARGE = 64 * 1024

_OBJECT, _HANDLE, _PART, _KERNEL = range(4)


class RemoteHandle:
    """A result in the object store, and its inputs, from which Ray recomputes it if it is lost."""

    def __init__(self, reference: Any, read: Callable[[Any], Any], sources: Sequence[Parcel]) -> None:
        self.reference, self._read, self._sources = reference, read, sources

    def get(self) -> Any:
        """Fetch the result."""
        return self._read(self.reference)


@dataclass(frozen=True)
class Parcel:
    """A pickled object, and the remote objects it refers to."""

    data: bytes
    references: list[Any]
    handles: list[RemoteHandle]


class Store:
    """Puts arrays into the object store, read-only ones only once."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._stored: dict[int, Any] = {}

    def reference(self, array: Array) -> Any:
        """Return the remote object of an array."""
        if array.flags.writeable:
            return self._put(np.asarray(array))
        key = id(array)
        if key not in self._stored:
            self._stored[key] = self._put(np.asarray(array))
            weakref.finalize(array, self._stored.pop, key, None)
        return self._stored[key]

    def forget(self) -> None:
        """Put every array again from now on."""
        self._stored.clear()


class _Packer(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: io.BytesIO, store: Store, parts: Sequence[Part]) -> None:
        super().__init__(file, protocol=5)
        self._store = store
        self._parts = {id(part.array): number for number, part in enumerate(parts)}
        self._places: dict[int, int] = {}
        #: Everything seen stays alive until the end, so that no identity is reused.
        self.seen: list[Any] = []
        self.references: list[Any] = []

    def persistent_id(self, thing: Any) -> tuple[Any, ...] | None:
        if isinstance(thing, np.ndarray):
            if id(thing) in self._parts:
                return _PART, self._parts[id(thing)]
            if thing.nbytes >= LARGE and not thing.dtype.hasobject:
                return _OBJECT, self._place(thing, lambda: self._store.reference(thing))
        elif isinstance(thing, RemoteHandle):
            return _HANDLE, self._place(thing, lambda: thing.reference)
        elif type(thing).__module__.startswith("numba.") and hasattr(thing, "py_func"):
            return _KERNEL, thing.py_func.__module__, thing.py_func.__name__
        return None

    def _place(self, thing: Any, reference: Callable[[], Any]) -> int:
        if id(thing) not in self._places:
            self.seen.append(thing)
            self._places[id(thing)] = len(self.references)
            self.references.append(reference())
        return self._places[id(thing)]


def pack(thing: Any, store: Store, parts: Sequence[Part] = ()) -> Parcel:
    """Pickle an object; large arrays go to the store."""
    file = io.BytesIO()
    packer = _Packer(file, store, parts)
    packer.dump(thing)
    return Parcel(
        file.getvalue(), packer.references, [thing for thing in packer.seen if isinstance(thing, RemoteHandle)]
    )


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, objects: Sequence[Any], arrays: Sequence[Array]) -> None:
        super().__init__(io.BytesIO(data))
        self._objects, self._arrays = objects, arrays

    def persistent_load(self, key: tuple[Any, ...]) -> Any:
        kind, *rest = key
        if kind == _OBJECT:
            return self._objects[rest[0]]
        if kind == _HANDLE:
            return LocalHandle(self._objects[rest[0]])
        if kind == _PART:
            return self._arrays[rest[0]]
        return getattr(importlib.import_module(rest[0]), rest[1])


def unpack(data: bytes, objects: Sequence[Any], arrays: Sequence[Array] = ()) -> Any:
    """Undo ``pack``: ``objects`` are the values of its references, ``arrays`` those that the task writes to."""
    return _Unpacker(data, objects, arrays).load()
