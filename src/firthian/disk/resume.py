"""``NAME.partial`` beside a target: unfinished work that a later run can resume, protected from accidental overwriting.

``job.json`` describes the run, so only the same run resumes it. The result is written to ``result/`` and noted in
``finished.json`` before it moves to the target.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firthian.disk.artifact import read_manifest, sha256, write_manifest
from firthian.disk.atomic import check_folder, check_parent, remove, repair, replace
from firthian.disk.locks import check_name, locked
from firthian.disk.opening import read_regular
from firthian.errors import BudgetError, FirthianError, from_os_error, os_errors

KIND = "unfinished work"

JOB, DATA, CORPUS, FINISHED = "job.json", "data.json", "corpus.json", "finished.json"

#: Written before any work is done.
_NOTES = frozenset({JOB, DATA, CORPUS})


class OtherRunError(FirthianError):
    """The unfinished work belongs to another run; it is left alone."""


class PartialFolder:
    """The unfinished work on a target, which will be a folder with this manifest."""

    def __init__(self, target: Path, manifest: str) -> None:
        check_name(target)
        self.target, self.manifest = target, manifest
        self.folder = target.absolute().with_name(target.name + ".partial")
        self.result = self.folder / "result"

    @contextmanager
    def opened(self, job: Mapping[str, Any], resume: bool, force: bool) -> Iterator[None]:
        """Open the folder for this job and no other process; after an error it stays only if work would be lost."""
        check_parent(self.target)
        with locked(self.target):
            repair(self.target)
            with os_errors():
                resumed = self._open(job, resume, force)
            try:
                yield
            except (FirthianError, OSError) as error:
                # A full disk, too little memory, or a wrong option of a resumed run can be fixed without losing the work
                # so far. Other errors of a first attempt would only occur again.
                kept = ((resumed or is_of_system(error)) and holds_work(self.folder)) or self.finished
                if not kept:
                    remove(self.folder)
                if not isinstance(error, OSError):
                    raise
                told = from_os_error(error)
                if kept:
                    told = FirthianError(told.message, hint=f"{told.hint}; then continue with `resume`")
                raise told from error

    def _open(self, job: Mapping[str, Any], resume: bool, force: bool) -> bool:
        """Return whether there is work to resume; otherwise make a new folder. One that is not ours is never removed."""
        if not (resume and self._expected is not None and self._hash(self.target) == self._expected):
            check_folder(self.target, force)
        if self.folder.exists() or self.folder.is_symlink():
            if not _is_ours(self.folder):
                raise FirthianError(
                    f"{self.folder} is in the way, and Firthian did not write it",
                    hint="rename it, or choose another name for the result",
                )
            if (self.folder / JOB).exists():
                if resume:
                    self.compare(JOB, job)
                    for leftover in list(self.folder.rglob(".*.new-*")):
                        remove(leftover)
                    return True
                if not force:
                    raise FirthianError(
                        f"{self.folder} contains an unfinished run",
                        hint="continue with `resume` or start over with `force`",
                    )
        remove(self.folder)
        self.folder.mkdir()
        try:
            self.note(JOB, job)
        except BaseException:
            remove(self.folder)
            raise
        return False

    def note(self, name: str, record: Mapping[str, Any]) -> None:
        """Write down what the work depends on."""
        write_manifest(self.folder / name, KIND, record)

    def noted(self, name: str) -> dict[str, Any]:
        """Return what ``note`` wrote."""
        record = read_manifest(self.folder / name, KIND)
        del record["kind"], record["version"]
        return record

    def compare(self, name: str, record: Mapping[str, Any]) -> None:
        """Raise if a note differs from this record, and name the first difference."""
        try:
            before = _flat(self.noted(name))
        except FirthianError as error:
            raise OtherRunError(error.message, "start over with `force`") from error
        after = _flat(json.loads(json.dumps(record)))
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                raise OtherRunError(
                    f"{self.folder} was begun with {key.replace('.', ' ')} {_shown(before.get(key))}, "
                    f"not {_shown(after.get(key))}",
                    hint="pass the same, or start over with `force`",
                )

    @property
    def finished(self) -> bool:
        """Whether the result is complete, at the target or on its way."""
        expected = self._expected
        return expected is not None and expected in map(self._hash, (self.result, self.target))

    def new_result(self) -> Path:
        """Return an empty folder for the result."""
        remove(self.result)
        self.result.mkdir()
        return self.result

    def deliver(self, force: bool) -> None:
        """Move the result to the target, replacing any old folder, then clean up."""
        if self.result.exists():
            if not self.finished:
                self.note(FINISHED, {"sha256": self._hash(self.result)})
            replace(self.result, self.target, force)
        # Renamed first, so that the next run removes the rest if this one is killed here.
        trash = self.folder.with_name(f".{self.target.name}.new-trash")
        self.folder.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)

    @property
    def _expected(self) -> str | None:
        """The checksum of the complete result's manifest, if there is one."""
        try:
            return str(self.noted(FINISHED)["sha256"])
        except (FirthianError, KeyError):
            return None

    def _hash(self, folder: Path) -> str | None:
        try:
            return sha256(read_regular(folder / self.manifest))
        except (OSError, FirthianError):
            return None


def is_of_system(error: Exception) -> bool:
    """Return whether an error is one of the machine, such as a full disk or too little memory, not of the input."""
    return isinstance(error, OSError | BudgetError) or isinstance(error.__cause__, OSError)


def holds_work(folder: Path) -> bool:
    """Return whether a folder contains more than notes."""
    return any(item.is_file() and item.name not in _NOTES and item.name[:1] != "." for item in folder.rglob("*"))


def _is_ours(folder: Path) -> bool:
    """Recognize our folders by their note; an empty folder counts as ours."""
    if not folder.is_dir() or folder.is_symlink():
        return False
    try:
        note = json.loads(read_regular(folder / JOB))
    except FileNotFoundError:
        # A run that was killed before the note was complete leaves at most a part of it.
        return not any(not item.name.startswith(f".{JOB}.new-") for item in folder.iterdir())
    except (OSError, FirthianError, ValueError, RecursionError):
        # Damaged: comparing it will say so.
        return True
    return isinstance(note, dict) and {"kind", "checksum"} <= note.keys()


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a record by their paths."""
    leaves: dict[str, Any] = {}
    for key, value in record.items():
        leaves |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return leaves


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
