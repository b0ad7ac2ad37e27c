"""State of the server: the open vectors, the counts, and background jobs."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firthian.counts.counts import Counts
from firthian.errors import FirthianError, suggest
from firthian.runtime.progress import Progress
from firthian.text.readers import Files
from firthian.texts.index import Index
from firthian.vectors.formats import open_vectors
from firthian.vectors.vectors import Vectors

Stamp = tuple[tuple[str, int, int, int], ...]

#: Files that hold vectors in folders of Firthian, model2vec, sentence-transformers and spaCy.
_FILES = (
    "vectors.json", "vectors.safetensors", "model.safetensors", "tokenizer.json", "0_StaticEmbedding/model.safetensors",
    "0_StaticEmbedding/tokenizer.json", "vocab/vectors", "vocab/key2row", "vectors", "key2row",
)  # fmt: skip

#: The most unfinished jobs; each takes a thread.
_MOST_UNFINISHED = 32

#: The most finished jobs kept; a map of 100,000 words takes about 10 MB.
_MOST_FINISHED = 12

#: The most readings of a table that are kept; one holds all its tokens.
_MOST_READINGS = 2


def folded(word: str) -> str:
    """Return a word without case and accents, for search.

    >>> folded("Király"), folded("ŁÓDŹ")
    ('kiraly', 'łodz')
    """
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


class Model:
    """Vectors at a path, reopened when they change on disk."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        #: How often the vectors were opened; responses carry it, so that the page notices changes.
        self.generation = 1
        #: Why the vectors on disk cannot be shown; empty if they are.
        self.trouble = ""
        self._lock = threading.Lock()
        self._stamp = _stamp(path)
        self._truncated = False
        self._folded: tuple[int, list[str]] = (0, [])
        #: The last readable vectors; use ``vectors()`` to access their numbers.
        self.opened = open_vectors(path)

    def vectors(self) -> Vectors:
        """Return the vectors now on disk, or the last readable ones."""
        self.refresh()
        if self._truncated:
            raise FirthianError(f"{self.name} was truncated on disk", hint="write it again; it will be reloaded")
        return self.opened

    def folded(self) -> list[str]:
        """Return the words without case and accents, in the order of the vocabulary."""
        vectors = self.vectors()
        if self._folded[0] != self.generation:
            self._folded = self.generation, list(map(folded, vectors.vocabulary.words))
        return self._folded[1]

    def refresh(self) -> None:
        """Reopen the vectors if they changed on disk."""
        stamp = _stamp(self.path)
        if stamp != self._stamp:
            with self._lock:
                if stamp != self._stamp:
                    self._reopen(stamp)

    def _reopen(self, stamp: Stamp) -> None:
        try:
            fresh = open_vectors(self.path)
            fresh.searcher  # noqa: B018 - built now, so that damage shows before the old vectors are dropped.
        except (FirthianError, OSError) as error:
            self.trouble = f"changed on disk, but cannot be read: {error}"
            # A replaced file stays valid while it is mapped. One truncated in place does not: reading it would kill the
            # process.
            before = {(name, inode): size for name, inode, size, _ in self._stamp if name.endswith(".safetensors")}
            self._truncated |= any(size < before.get((name, inode), 0) for name, inode, size, _ in stamp)
        else:
            self.opened, self.trouble, self._truncated = fresh, "", False
            self.generation += 1
        self._stamp = stamp


def _stamp(path: Path) -> Stamp:
    """Return file facts that change when a file is replaced or written to."""
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
    """A job in a thread: its progress, and its result or error."""

    stage: str = "waiting"
    done: float = 0.0
    total: float | None = None
    result: Any = None
    error: FirthianError | None = None
    #: Whether the error was returned to a client.
    reported: bool = False
    finished: threading.Event = field(default_factory=threading.Event)

    def start(self, stage: str, total: float | None = None) -> None:
        """Start a stage (see ``Progress``)."""
        self.stage, self.total, self.done = stage, total, 0.0

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Record progress (see ``Progress``)."""
        self.done += amount

    def to_dict(self) -> dict[str, Any]:
        """Return the progress for JSON."""
        share = min(1.0, self.done / self.total) if self.total else None
        return {"status": "running", "stage": self.stage, "share": share}


class BackgroundJobs:
    """Runs jobs one after another in threads; each key at most once at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._jobs: dict[Any, BackgroundJob] = {}

    def ask(self, key: Any, work: Callable[[Progress], Any], patience: float = 0.0) -> BackgroundJob:
        """Return the job of a key, started if new, after waiting up to ``patience`` seconds for it.

        A failed job is returned once, with its error; a later request starts it again.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.reported:
                if sum(not one.finished.is_set() for one in self._jobs.values()) >= _MOST_UNFINISHED:
                    raise FirthianError("too many jobs are waiting", hint="try again later")
                for old in [k for k, one in self._jobs.items() if one.finished.is_set()][:-_MOST_FINISHED]:
                    del self._jobs[old]
                job = self._jobs[key] = BackgroundJob()
                # A daemon thread, so that Ctrl-C does not wait for a projection.
                threading.Thread(target=self._run, args=(job, work), daemon=True).start()
        if job.finished.wait(patience):
            job.reported = job.error is not None
        return job

    def _run(self, job: BackgroundJob, work: Callable[[Progress], Any]) -> None:
        try:
            with self._turn:
                job.result = work(job)
        except FirthianError as error:
            job.error = error
        except Exception as error:
            job.error = FirthianError(f"the job failed: {error}", hint="see the server's log")
            raise
        finally:
            job.finished.set()


class AskedTable:
    """A table of texts to ask questions about, and the last readings of it."""

    def __init__(self, path: str | Path) -> None:
        from firthian.ask.corpus import read_table

        self.texts = read_table(path)
        #: The names of the columns besides the text.
        self.columns = list(self.texts.columns)
        self._kept: dict[Any, Any] = {}

    def reading(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return what was read for a key; only jobs, which run one at a time, may call this."""
        found = self._kept.pop(key) if key in self._kept else read()
        # The one used last is dropped last.
        self._kept[key] = found
        for old in list(self._kept)[:-_MOST_READINGS]:
            del self._kept[old]
        return found


class ExplorerState:
    """All models by name, and optionally the counts they were trained on, their corpus, an index of documents, and a table."""

    def __init__(
        self,
        paths: Sequence[str | Path],
        counts: str | Path | Sequence[str | Path] | None = None,
        corpus: Sequence[str] = (),
        index: str | Path | None = None,
        table: str | Path | None = None,
    ) -> None:
        if not paths:
            raise FirthianError("there are no vectors to explore", hint="pass at least one folder or file")
        self.models: dict[str, Model] = {}
        for path in map(Path, paths):
            name = _unique(path, self.models)
            self.models[name] = Model(name, path)
        given = [counts] if isinstance(counts, str | Path) else list(counts or ())
        if len(given) not in (0, 1, len(self.models)):
            message = f"{len(given)} counts folders for {len(self.models)} models"
            raise FirthianError(message, hint="pass `counts` once for all, or once per model, in the same order")
        opened = [(_unique(Path(path), {}), Counts.load(path)) for path in given]
        #: The counts of each model, by its name, with the name of their folder.
        self.counts = dict(zip(self.models, opened * (len(self.models) if len(opened) == 1 else 1), strict=False))
        #: Files with the text, for examples.
        self.corpus = list(corpus)
        if self.corpus:
            Files(self.corpus)
        #: Documents to search.
        self.index = None if index is None else Index.load(index)
        #: Texts with columns, for questions about them.
        self.table = None if table is None else AskedTable(table)
        #: Words selected on the map, for the notebook that shows it; None if none does.
        self.selected: list[str] | None = None
        self.jobs = BackgroundJobs()

    def model(self, name: str | None) -> Model:
        """Return a model by name, by default the first."""
        if not name:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise FirthianError(f"unknown model {name[:100]!r}", hint=suggest(name[:100], self.models))
        return self.models[name]

    def warm(self) -> None:
        """Build indexes before the first request; errors are reported by that request."""
        with suppress(FirthianError):
            for model in self.models.values():
                vectors = model.vectors()
                vectors.vocabulary.index  # noqa: B018 - built on first use
                vectors.searcher  # noqa: B018


def _unique(path: Path, taken: dict[str, Model]) -> str:
    """Return a unique model name: its file name, with the parent folder or a number if taken."""
    name = path.resolve().name or str(path)
    if name in taken:
        name = f"{path.resolve().parent.name}/{name}"
    number, plain = 2, name
    while name in taken:
        name, number = f"{plain} ({number})", number + 1
    return name
