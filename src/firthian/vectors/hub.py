"""Vectors on the Hugging Face hub: pushed with a model card, loaded from one commit, every byte checked.

The address ``hf://OWNER/NAME@COMMIT#sha256=…`` names the vectors for good: a branch may move, a commit does not. The checksum
covers all files but the card, as one would print them with ``sha256sum``; it guards against a hub that lies.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firthian._version import __version__
from firthian.disk.opening import open_regular
from firthian.errors import FirthianError, require
from firthian.vectors.cards import model_card

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

SCHEME = "hf://"

_ADDRESS = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([^#\s]+))?(?:#sha256=([0-9a-f]{64}))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")

#: Files that are fetched: no program and no pickle, whatever else a repository has.
_SUFFIXES = (".json", ".safetensors", ".txt")


def is_address(path: Any) -> bool:
    """Return whether a path is an address of the hub."""
    return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(SCHEME)


def fetch(address: str) -> Path:
    """Download the vectors at an address, unless they are in the hub's cache; return their folder.

    The commit must be named. The error for an address without one names the current commit.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise FirthianError(f"{address} is not an address on the hub", hint="write hf://OWNER/NAME@COMMIT")
    name, revision, digest = match.groups()
    hub = require("huggingface_hub", "hub")
    with _errors(name):
        if revision is None or not _COMMIT.fullmatch(revision):
            commit = hub.HfApi().repo_info(name, revision=revision).sha
            raise FirthianError(f"{address} may change", hint=f"name its commit: hf://{name}@{commit}")
        folder = Path(
            hub.snapshot_download(
                name, revision=revision, allow_patterns=[f"*{suffix}" for suffix in _SUFFIXES],
                library_name="firthian", library_version=__version__,
            )
        )  # fmt: skip
    found = checksum(folder)
    if digest is not None and found != digest:
        raise FirthianError(
            f"{address} has other bytes: their checksum is {found}", hint="do not use them, or ask the owner"
        )
    return folder


def push(
    vectors: Vectors,
    repository: str,
    *,
    private: bool = False,
    force: bool = False,
    **card: Any,
) -> str:
    """Upload vectors with their model card; return the address that loads them again.

    ``repository`` is OWNER/NAME. One that has files is refused, unless ``force`` replaces them by a new commit. ``card``
    are options of ``model_card``. The token is the one that the hub's own tools use.
    """
    match = _ADDRESS.fullmatch(SCHEME + repository.removeprefix(SCHEME))
    if match is None or match[2] or match[3]:
        raise FirthianError(f"{repository} is not the name of a repository", hint="write OWNER/NAME")
    name = match[1]
    hub = require("huggingface_hub", "hub")
    api = hub.HfApi(library_name="firthian", library_version=__version__)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vectors"
        vectors.save(folder)
        text = model_card(vectors, **card).replace('ft.load("FOLDER")', f'ft.load("{SCHEME}{name}@COMMIT")')
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")
        digest = checksum(folder)
        with _errors(name):
            api.create_repo(name, private=private, exist_ok=True)
            if not force and set(api.list_repo_files(name)) - {".gitattributes"}:
                raise FirthianError(f"{name} already has files", hint="choose another name or add `force`")
            commit = api.upload_folder(
                repo_id=name, folder_path=folder, commit_message=f"Word vectors, by Firthian {__version__}",
                delete_patterns=["*"] if force else None,
            )  # fmt: skip
    return f"{SCHEME}{name}@{commit.oid}#sha256={digest}"


def checksum(folder: Path) -> str:
    """Return one checksum of all files of a folder but the card: that of the lines ``sha256sum`` prints, by name."""
    lines = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.suffix in _SUFFIXES and path.is_file():
            with open_regular(path) as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Raise what the hub or the network refuses as one line."""
    errors = require("huggingface_hub.errors", "hub")
    # The bases are an error of the system and that of the network library, whichever this version of the client uses;
    # failed uploads are a RuntimeError.
    known = (*errors.HfHubHTTPError.__bases__, errors.HFValidationError, RuntimeError)
    try:
        yield
    except errors.RepositoryNotFoundError as error:
        hint = "check the name; for a private one, set $HF_TOKEN"
        raise FirthianError(f"there is no repository {name} on the hub", hint=hint) from error
    except errors.RevisionNotFoundError as error:
        raise FirthianError(f"{name} has no such commit", hint="check the commit") from error
    except known as error:
        told = " ".join(str(error).split())[:200] or type(error).__name__
        raise FirthianError(f"the hub refused {name} or cannot be reached ({told})", hint="try again later") from error
