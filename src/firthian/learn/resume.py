"""Training that may be interrupted: everything unfinished lies in ``NAME.partial`` beside the target.

| in the folder | what |
|---|---|
| ``job.json`` | recipe, options, seed and versions: a run goes on only with the same ones |
| ``data.json`` | what the counts, the text or the vectors were |
| ``counts/``, ``tokens/`` | the corpus, counted or tokenized |
| ``steps/`` | states of loops (``firthian.disk.checkpoints``) |
| ``result/``, ``finished.json`` | the vectors, on their way to the target |
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firthian.counts.counting import CountingContext, CountJob, run_job
from firthian.counts.counts import COUNTS, Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import printable, read_manifest, sha256, write_manifest
from firthian.disk.atomic import check_folder, check_parent, locked, repair, replace
from firthian.disk.checkpoints import EVERY, OnDisk
from firthian.disk.partial import JOB, OtherRunError, holds_work, open_partial, partial_of
from firthian.disk.stopping import Stop
from firthian.disk.tensors import crc32
from firthian.errors import FirthianError, from_os_error
from firthian.text.files import can_be_read_again
from firthian.text.readers import Corpus, Files
from firthian.text.remote import is_url
from firthian.text.segments import cut_segments
from firthian.text.shards import corpus_checksum
from firthian.vectors.vectors import Vectors

KIND = "unfinished training"

_DATA, _CORPUS, _FINISHED = "data.json", "corpus.json", "finished.json"


class Unfinished:
    """The folder of a run that may be interrupted."""

    def __init__(self, target: Path, every: float = EVERY, stop: Stop | None = None) -> None:
        if not every >= 0:
            raise FirthianError(f"steps cannot be saved every {every:g} seconds", hint="0 saves every step")
        self.target = target
        self.folder = partial_of(target)
        self.steps = OnDisk(self.folder / "steps", every, stop)

    @contextmanager
    def held(self, job: Mapping[str, Any], resume: bool, force: bool) -> Iterator[None]:
        """Open the folder for one process, for this job; after an error it stays only where work would be lost."""
        check_parent(self.target)
        with locked(self.target):
            repair(self.target)
            found = self._open(job, resume, force)
            try:
                yield
            except (FirthianError, OSError) as error:
                # A full disk, or a flag that this attempt got wrong, can be mended without losing what was done. Where all
                # was done in this attempt, other errors would only come again.
                to_be_kept = (found or _is_of_system(error)) and holds_work(self.folder)
                if not (to_be_kept or self.finished):
                    shutil.rmtree(self.folder, ignore_errors=True)
                if isinstance(error, OSError):
                    raise from_os_error(error) from error
                raise

    def _open(self, job: Mapping[str, Any], resume: bool, force: bool) -> bool:
        """Return whether there is work to go on with."""
        if not (resume and self._wanted is not None and _hash_of(self.target) == self._wanted):
            check_folder(self.target, force)
        if open_partial(self.folder, resume, force):
            self._compare(JOB, job)
            return True
        try:
            write_manifest(self.folder / JOB, KIND, dict(job))
        except OSError as error:
            raise from_os_error(error) from error
        return False

    def _compare(self, name: str, now: Mapping[str, Any]) -> None:
        """Refuse to go on with something else than was begun, and name the difference."""
        try:
            begun = read_manifest(self.folder / name, KIND)
        except FirthianError as error:
            raise OtherRunError(error.message, "start anew with --force") from error
        for field in ("kind", "version"):
            del begun[field]
        before, after = _flat(begun), _flat(json.loads(json.dumps(dict(now))))
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                raise OtherRunError(
                    f"{self.folder} was begun with {key.replace('.', ' ')} {_shown(before.get(key))}, "
                    f"not {_shown(after.get(key))}",
                    hint="give the same, or start anew with --force",
                )

    def check_data(self, data: Counts | Tokens | Vectors) -> None:
        """Remember what is learned from; refuse anything else when going on."""
        now = {"data": fingerprint(data)}
        if (self.folder / _DATA).exists():
            self._compare(_DATA, now)
        else:
            write_manifest(self.folder / _DATA, KIND, now)

    def counts(self, job: CountJob, how: CountingContext) -> Counts:
        """Count a corpus, go on with it, or take the counts that are there if the corpus is still the same."""
        folder, note = self.folder / "counts", self.folder / _CORPUS
        if (folder / COUNTS.manifest).exists():
            known = read_manifest(note, KIND)["files"] if note.exists() else None
            same = known is not None and known == stamps(job.corpus)
            wanted = _corpus_of(folder)
            if not same and wanted is not None and digest(job.corpus) != wanted:
                raise OtherRunError(
                    f"the corpus is not the one {self.folder} was begun with",
                    hint="give the same, or start anew with --force",
                )
            try:
                return Counts.load(folder)
            except FirthianError:
                # Damaged: they are counted again, and steps that were learned from them stay good.
                shutil.rmtree(folder, ignore_errors=True)
        write_manifest(note, KIND, {"files": stamps(job.corpus)})
        run_job(job, folder, how, resume=True)
        return Counts.load(folder, verify=False)

    def tokens(self, job: CountJob, how: CountingContext) -> Tokens:
        """Tokenize a corpus; segments that are there are used."""
        return Tokens.read(job, how, self.folder / "tokens")

    @property
    def _wanted(self) -> str | None:
        """The checksum of the vectors that are complete, if any are."""
        try:
            return str(read_manifest(self.folder / _FINISHED, KIND)["sha256"])
        except (FirthianError, KeyError):
            return None

    @property
    def finished(self) -> bool:
        """Whether the vectors are complete, at the target or about to get there."""
        wanted = self._wanted
        return wanted is not None and wanted in map(_hash_of, (self.folder / "result", self.target))

    def deliver(self, vectors: Vectors | None, force: bool) -> None:
        """Write the vectors, or those of an earlier attempt; what was at the target goes only when they are complete."""
        result = self.folder / "result"
        if vectors is not None:
            vectors.save(result, force=True)
            write_manifest(self.folder / _FINISHED, KIND, {"sha256": _hash_of(result)})
        if result.exists():
            replace(result, self.target, force)
        # Under this name the next run removes what is left of it, should this one be killed here.
        trash = self.folder.with_name(f".{self.target.name}.new-{os.getpid()}")
        self.folder.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)


def _is_of_system(error: BaseException) -> bool:
    return isinstance(error, OSError) or isinstance(error.__cause__, OSError)


def _hash_of(folder: Path) -> str | None:
    try:
        return sha256((folder / "vectors.json").read_bytes())
    except OSError:
        return None


def _corpus_of(folder: Path) -> str | None:
    """Return the checksum of the corpus that counts are of, unless even that is damaged."""
    try:
        return str(read_manifest(folder / COUNTS.manifest, COUNTS.name)["record"]["corpus"]["sha256"])
    except (FirthianError, KeyError, TypeError):
        return None


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a record by their paths."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def stamps(corpus: Corpus) -> list[list[Any]] | None:
    """Return how a corpus is read, and path, size and time of each file; None where it is not made of files that stay."""
    if not isinstance(corpus, Files) or not all(map(can_be_read_again, corpus.files)):
        return None
    if any(map(is_url, corpus.files)):
        return None
    found = [(Path(file).absolute(), Path(file).stat()) for file in corpus.files]
    files = [[printable(str(path)), state.st_size, state.st_mtime_ns] for path, state in found]
    return [[corpus.format, corpus.text_column], *files]


def digest(corpus: Corpus) -> str:
    """Return the hash of a corpus's text, as counting does."""
    digests: list[bytes] = []
    for _ in cut_segments(corpus, digests):
        pass
    return corpus_checksum(digests)


def fingerprint(data: Counts | Tokens | Vectors) -> dict[str, Any]:
    """Tell one source of vectors from another."""
    words = sha256("\n".join(data.vocabulary.words).encode("utf-8", "surrogatepass"))
    if isinstance(data, Tokens):
        return {"words": words, "text": data.spool.sha256, "counts": crc32(data.vocabulary.counts)}
    if isinstance(data, Counts):
        arrays = {"indptr": data.indptr, "indices": data.indices, "values": data.values}
    elif hasattr(data.matrix, "indptr"):
        arrays = {"indptr": data.matrix.indptr, "indices": data.matrix.indices, "values": data.matrix.data}
    else:
        arrays = {"matrix": data.matrix}
    return {"words": words, **{name: [list(array.shape), crc32(array)] for name, array in arrays.items()}}
