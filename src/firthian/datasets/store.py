"""Find, fetch and verify data sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from firthian.datasets.finishing import unchanged
from firthian.datasets.registry import Dataset, find_dataset
from firthian.datasets.sources import LocalFile, Source, cache_folder, check_file, file_sha256
from firthian.disk.atomic import repair, staged
from firthian.disk.locks import locked
from firthian.errors import FirthianError, os_errors
from firthian.runtime.progress import Progress, usual_progress


@dataclass(frozen=True)
class Status:
    """Where a data set is, and whether it is intact."""

    dataset: Dataset
    #: The finished file, or None if it is not on this machine.
    path: Path | None
    #: Usable sources, in order of preference.
    sources: tuple[str, ...]
    #: The result of verification: ``intact``, ``damaged``, or empty if not verified.
    state: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return {
            "name": self.dataset.name,
            "kind": self.dataset.kind,
            "what": self.dataset.what,
            "license": self.dataset.license,
            "bytes": self.dataset.size,
            "sha256": self.dataset.sha256,
            "path": str(self.path) if self.path else None,
            "sources": list(self.sources),
            **({"state": self.state} if self.state else {}),
        }


def find_here(dataset: Dataset) -> Path | None:
    """Return the finished file if it is on this machine, without reading it."""
    for source in dataset.sources:
        if isinstance(source, LocalFile) and source.finish is None and (path := source.place()) is not None:
            return path
    cached = cache_folder() / dataset.file
    return cached if cached.is_file() else None


def locate(name: str, progress: Progress | None = None) -> Path:
    """Return the file of a data set, fetched if necessary.

    Files are verified when they enter the cache; after that, only their size is checked.
    """
    dataset = find_dataset(name)
    path = find_here(dataset)
    if path is None:
        (progress or usual_progress()).start(f"fetching {dataset.name}")
        with locked(cache_folder(make=True) / dataset.file, wait=True):
            # Another process may have created it while this one waited.
            path = find_here(dataset) or _make(dataset)
    if path.stat().st_size != dataset.size:
        raise FirthianError(
            f"{path} has {path.stat().st_size:,} bytes, not {dataset.size:,}", hint="remove it and fetch it again"
        )
    return path


def _make(dataset: Dataset) -> Path:
    """Build the finished file in the cache from the first available source."""
    for source in dataset.sources:
        if source.available():
            return _write(dataset, source)
    paths = [source.path for source in dataset.sources if isinstance(source, LocalFile)]
    raise FirthianError(
        f"the data set {dataset.name} is not on this machine and cannot be downloaded",
        hint=f"put {' or '.join(paths)} in a folder and set FIRTHIAN_DATA to it",
    )


def _write(dataset: Dataset, source: Source) -> Path:
    folder = cache_folder(make=True)
    target = folder / dataset.file
    repair(target)
    with os_errors(), staged(target) as staging:
        with staging.open("wb") as file, source.open() as streams:
            for piece in (source.finish or unchanged)(streams):
                file.write(piece)
        check_file(staging, dataset.sha256)
    return target


def status(name: str) -> Status:
    """Return where a data set is and how to get it."""
    dataset = find_dataset(name)
    usable = tuple(source.describe() for source in dataset.sources if source.available())
    return Status(dataset, find_here(dataset), usable)


def verify(name: str) -> Status:
    """Return the status with the result of a checksum test, if the data set is on this machine."""
    current = status(name)
    if current.path is None:
        return current
    intact = file_sha256(current.path) == current.dataset.sha256
    return replace(current, state="intact" if intact else "damaged")
