"""``NAME.partial`` beside a target: unfinished work, which no mistake of a later attempt may take away."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from firthian.errors import FirthianError, from_os_error

#: Says what the work is; a run goes on only with the same.
JOB = "job.json"

#: What is written before any work is done.
_NOTES = frozenset({JOB, "data.json", "corpus.json"})

#: Fields by which the notes of counting, and of training, are known.
_FIELDS = ({"job", "segment_bytes"}, {"kind", "checksum"})


class OtherRunError(FirthianError):
    """The unfinished work is that of another run; it is left alone."""


def partial_of(target: Path) -> Path:
    """Name the folder of a target's unfinished work."""
    return target.absolute().with_name(target.name + ".partial")


def open_partial(folder: Path, resume: bool, force: bool) -> bool:
    """Return whether there is work to go on with; where there is none, make the folder anew.

    A folder that we did not write is never removed, whatever is asked for.
    """
    if folder.exists() or folder.is_symlink():
        if not _is_ours(folder):
            raise FirthianError(
                f"{folder} is in the way, and Firthian did not write it",
                hint="rename it, or choose another name for the result",
            )
        if resume and (folder / JOB).exists():
            return True
        if not (resume or force) and (folder / JOB).exists():
            raise FirthianError(
                f"{folder} holds an unfinished run", hint="go on with --resume or start anew with --force"
            )
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    except OSError as error:
        raise from_os_error(error) from error
    return False


def _is_ours(folder: Path) -> bool:
    """Tell our folders by their note; one without any file is nobody's."""
    if not folder.is_dir() or folder.is_symlink():
        return False
    try:
        note = json.loads((folder / JOB).read_bytes())
    except FileNotFoundError:
        # Killed before the note was whole, a run leaves at most a beginning of it.
        return not any(not item.name.startswith(f".{JOB}.new-") for item in folder.iterdir())
    except (OSError, ValueError, RecursionError):
        # Damaged: whoever goes on is told so.
        return True
    return isinstance(note, dict) and any(fields <= note.keys() for fields in _FIELDS)


def holds_work(folder: Path) -> bool:
    """Return whether more than notes lies in a folder."""
    return any(item.is_file() and item.name not in _NOTES and item.name[:1] != "." for item in folder.rglob("*"))
