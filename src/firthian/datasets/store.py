"""Find, fetch and verify data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from firthian.datasets.finishing import unchanged
from firthian.datasets.registry import Dataset, find_dataset
from firthian.datasets.sources import LocalFile, Source, cache_folder, check_file, file_sha256
from firthian.disk.atomic import locked, repair, staged
from firthian.errors import FirthianError, from_os_error
from firthian.runtime.progress import Progress, Silent


@dataclass(frozen=True)
class Status:
    """Where a data set is now, and whether it is what it should be."""

    dataset: Dataset
    #: The finished file, where it is here already.
    path: Path | None
    #: How it could be had now, in order of preference.
    sources: tuple[str, ...]
    #: The result of a check: ``intact``, ``damaged``, or nothing where none was made.
    state: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the facts by name."""
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
    """Return the finished file where it is here already; without reading it."""
    for source in dataset.sources:
        if isinstance(source, LocalFile) and source.finish is None and (path := source.place()) is not None:
            return path
    cached = cache_folder() / dataset.file
    return cached if cached.is_file() else None


def locate(name: str, progress: Progress | None = None) -> Path:
    """Return the file of a data set, fetched when it must be.

    What lies in the cache was checked when it was made; a file of another size was changed since and is refused.
    """
    dataset = find_dataset(name)
    path = find_here(dataset)
    if path is None:
        (progress or Silent()).start(f"fetching {dataset.name}")
        with locked(cache_folder(make=True) / dataset.file, wait=True):
            # Another process may have made it while this one waited.
            path = find_here(dataset) or _make(dataset)
    if path.stat().st_size != dataset.size:
        raise FirthianError(
            f"{path} has {path.stat().st_size:,} bytes, not {dataset.size:,}", hint="remove it and fetch it again"
        )
    return path


def _make(dataset: Dataset) -> Path:
    """Make the finished file in the cache from the first source that is available."""
    for source in dataset.sources:
        if source.available():
            return _write(dataset, source)
    paths = [source.path for source in dataset.sources if isinstance(source, LocalFile)]
    raise FirthianError(
        f"the data set {dataset.name} is not here and cannot be downloaded",
        hint=f"put {' or '.join(paths)} into a folder and name that folder in FIRTHIAN_DATA",
    )


def _write(dataset: Dataset, source: Source) -> Path:
    folder = cache_folder(make=True)
    target = folder / dataset.file
    repair(target)
    try:
        with staged(target) as staging:
            with staging.open("wb") as file, source.open() as streams:
                for piece in (source.finish or unchanged)(streams):
                    file.write(piece)
            check_file(staging, dataset.sha256)
    except OSError as error:
        raise from_os_error(error) from error
    return target


def status(name: str) -> Status:
    """Say where a data set is and how it can be had."""
    dataset = find_dataset(name)
    usable = tuple(source.describe() for source in dataset.sources if source.available())
    return Status(dataset, find_here(dataset), usable)


def verify(name: str) -> Status:
    """Compare the checksum of a data set that is here; one that is not here has no state."""
    found = status(name)
    if found.path is None:
        return found
    intact = file_sha256(found.path) == found.dataset.sha256
    return Status(found.dataset, found.path, found.sources, "intact" if intact else "damaged")
