"""What the server knows: the opened vectors, the counts, and long work that runs beside the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firthian.counts.counts import Counts
from firthian.errors import FirthianError, suggest
from firthian.runtime.progress import Progress
from firthian.vectors.formats import open_vectors
from firthian.vectors.vectors import Vectors

Stamp = tuple[tuple[str, int, int, int], ...]

#: What holds vectors in a folder of ours, of model2vec, of sentence-transformers or of spaCy.
_FILES = (
    "vectors.json", "vectors.safetensors", "model.safetensors", "tokenizer.json", "0_StaticEmbedding/model.safetensors",
    "0_StaticEmbedding/tokenizer.json", "vocab/vectors", "vocab/key2row", "vectors", "key2row",
)  # fmt: skip

#: So much work may wait for its turn; each takes a thread.
_WAITING = 32

#: Finished work is remembered for so many questions; a map of 100,000 words takes some 10 MB.
_REMEMBERED = 12


class Model:
    """Vectors at a path; they are opened again when they change on disk."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        #: Counts how often the vectors were opened; answers carry it, so that the page notices.
        self.generation = 1
        #: Why the newest vectors on disk are not the ones shown; empty where they are.
        self.trouble = ""
        self._lock = threading.Lock()
        self._stamp = _stamp(path)
        self._cut_short = False
        #: The last vectors that could be read; their numbers are looked at only through ``vectors``.
        self.opened = open_vectors(path)

    def vectors(self) -> Vectors:
        """Return the vectors as they are on disk now; where these cannot be read, the last ones that could."""
        self.look()
        if self._cut_short:
            raise FirthianError(f"{self.name} was cut short on disk", hint="write it again: that will be noticed")
        return self.opened

    def look(self) -> None:
        """Open the vectors again if they changed on disk."""
        stamp = _stamp(self.path)
        if stamp != self._stamp:
            with self._lock:
                if stamp != self._stamp:
                    self._open_again(stamp)

    def _open_again(self, stamp: Stamp) -> None:
        try:
            fresh = open_vectors(self.path)
            fresh.searcher  # noqa: B018 - made now, so that damage shows before the old vectors are let go.
        except (FirthianError, OSError) as error:
            self.trouble = f"changed on disk, but cannot be read: {error}"
            # A replaced file stays as it was for those who have it open. One that was cut short in its place takes the
            # mapped numbers away: reading them would end the process.
            before = {(name, inode): size for name, inode, size, _ in self._stamp if name.endswith(".safetensors")}
            self._cut_short |= any(size < before.get((name, inode), 0) for name, inode, size, _ in stamp)
        else:
            self.opened, self.trouble, self._cut_short = fresh, "", False
            self.generation += 1
        self._stamp = stamp


def _stamp(path: Path) -> Stamp:
    """Return what changes when a file is replaced or written to."""
    files = [path / name for name in _FILES] if path.is_dir() else [path]
    stamps = []
    for file in files:
        try:
            facts = file.stat()
        except OSError:
            continue
        stamps.append((file.name, facts.st_ino, facts.st_size, facts.st_mtime_ns))
    return tuple(stamps)


@dataclass
class BackgroundJob:
    """Long work: how far it is, and its result or its error."""

    stage: str = "waiting"
    done: float = 0.0
    total: float | None = None
    result: Any = None
    error: FirthianError | None = None
    #: Whether somebody was given the error.
    told: bool = False
    finished: threading.Event = field(default_factory=threading.Event)

    def start(self, stage: str, total: float | None = None) -> None:
        """Begin a stage (as ``Progress``)."""
        self.stage, self.total, self.done = stage, total, 0.0

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Say that more is done (as ``Progress``)."""
        self.done += amount

    def to_dict(self) -> dict[str, Any]:
        """Say how far it is."""
        share = min(1.0, self.done / self.total) if self.total else None
        return {"status": "running", "stage": self.stage, "share": share}


class BackgroundJobs:
    """Runs long work one after the other in a thread; the same question is worked on once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._jobs: dict[Any, BackgroundJob] = {}

    def ask(self, key: Any, work: Callable[[Progress], Any], patience: float = 0.0) -> BackgroundJob:
        """Return the job of a key, started if it is new, after waiting up to ``patience`` seconds for its end.

        Work that failed is given once, so that whoever waits learns why; only who asks after that starts it again.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.told:
                if sum(not one.finished.is_set() for one in self._jobs.values()) >= _WAITING:
                    raise FirthianError("too much work is waiting here", hint="ask again when some of it is done")
                for old in [k for k, one in self._jobs.items() if one.finished.is_set()][:-_REMEMBERED]:
                    del self._jobs[old]
                job = self._jobs[key] = BackgroundJob()
                # A daemon: Ctrl-C must not wait for a projection.
                threading.Thread(target=self._run, args=(job, work), daemon=True).start()
        if job.finished.wait(patience):
            job.told = job.error is not None
        return job

    def _run(self, job: BackgroundJob, work: Callable[[Progress], Any]) -> None:
        try:
            with self._turn:
                job.result = work(job)
        except FirthianError as error:
            job.error = error
        except Exception as error:
            job.error = FirthianError(f"this failed: {error}", hint="see the server's log")
            raise
        finally:
            job.finished.set()


class ExplorerState:
    """All models by name, and optionally the counts they were made of."""

    def __init__(self, paths: Sequence[str | Path], counts: str | Path | None = None) -> None:
        if not paths:
            raise FirthianError("there are no vectors to explore", hint="give at least one folder or file")
        self.models: dict[str, Model] = {}
        for path in map(Path, paths):
            name = _unique(path, self.models)
            self.models[name] = Model(name, path)
        self.counts = Counts.load(counts, verify=False) if counts is not None else None
        self.jobs = BackgroundJobs()

    def model(self, name: str | None) -> Model:
        """Return a model by name; the first where none is named."""
        if not name:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise FirthianError(f"there is no model {name[:100]!r}", hint=suggest(name[:100], self.models))
        return self.models[name]

    def warm(self) -> None:
        """Prepare what the first question would wait for; what is wrong is said when it is asked."""
        with suppress(FirthianError):
            for model in self.models.values():
                vectors = model.vectors()
                vectors.vocabulary.index  # noqa: B018 - made on first use
                vectors.searcher  # noqa: B018


def _unique(path: Path, taken: dict[str, Model]) -> str:
    """Name a model by its file, or by more of its path where another has that name."""
    name = path.resolve().name or str(path)
    if name in taken:
        name = f"{path.resolve().parent.name}/{name}"
    number, plain = 2, name
    while name in taken:
        name, number = f"{plain} ({number})", number + 1
    return name
