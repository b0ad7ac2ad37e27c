"""Training that may be interrupted: all unfinished work is in ``NAME.partial`` beside the target.

| in the folder | what |
|---|---|
| ``job.json`` | recipe, options, seed and versions: only a run with the same ones resumes |
| ``data.json`` | what the counts, the text or the vectors were |
| ``counting/``, ``counts/``, ``tokens/`` | the corpus while it is counted, counted, or tokenized |
| ``steps/`` | checkpoints of loops (``firthian.disk.checkpoints``) |
| ``result/``, ``finished.json`` | the vectors, on their way to the target |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.counts.counting import CountingContext, CountJob, count_into
from firthian.counts.counts import COUNTS, Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import printable, read_manifest, sha256
from firthian.disk.atomic import remove, staged
from firthian.disk.checkpoints import EVERY, CheckpointFolder
from firthian.disk.resume import CORPUS, DATA, OtherRunError, PartialFolder
from firthian.disk.stopping import Stop
from firthian.disk.tensors import crc32
from firthian.errors import FirthianError
from firthian.text.files import can_be_read_again, corpus_checksum, is_url
from firthian.text.readers import Corpus, Files
from firthian.text.segments import cut_segments
from firthian.vectors.store import VECTORS, write_vectors
from firthian.vectors.vectors import Vectors


class PartialTraining(PartialFolder):
    """The unfinished work on vectors."""

    def __init__(self, target: Path, every: float | None = None, stop: Stop | None = None) -> None:
        super().__init__(target, VECTORS.manifest)
        every = EVERY if every is None else every
        if not every >= 0:
            raise FirthianError(f"`checkpoint_every` must be at least 0, got {every:g}", hint="0 saves every step")
        self.steps = CheckpointFolder(self.folder / "steps", every, stop)

    def check_data(self, data: Counts | Tokens | Vectors) -> None:
        """Note what is learned from; when resuming, raise if it differs."""
        record = {"data": fingerprint(data)}
        if (self.folder / DATA).exists():
            self.compare(DATA, record)
        else:
            self.note(DATA, record)

    def counts(self, job: CountJob, context: CountingContext) -> Counts:
        """Count a corpus, resume counting, or open the counts of an earlier attempt if the corpus is still the same."""
        counts, work = self.folder / "counts", self.folder / "counting"
        if counts.exists():
            self._check_corpus(job.corpus, counts)
            try:
                return Counts.load(counts)
            except FirthianError:
                # Damaged: they are counted again, and checkpoints of learning from them stay valid.
                remove(counts)
        self.note(CORPUS, {"files": stamps(job.corpus)})
        with staged(counts) as staging:
            staging.mkdir()
            count_into(job, work, staging, context)
        remove(work)
        return Counts.load(counts, verify=False)

    def _check_corpus(self, corpus: Corpus, counts: Path) -> None:
        """Raise if a corpus is not the one that was counted; its text is read only if its files may have changed."""
        known = self.noted(CORPUS)["files"] if (self.folder / CORPUS).exists() else None
        if known is not None and known == stamps(corpus):
            return
        try:
            expected = str(read_manifest(counts / COUNTS.manifest, COUNTS.name)["record"]["corpus"]["sha256"])
        except (FirthianError, KeyError, TypeError):
            # Damaged: the corpus is counted again.
            return
        if digest(corpus) != expected:
            message = f"the corpus is not the one {self.folder} was begun with"
            raise OtherRunError(message, hint="pass the same, or start over with `force`")

    def tokens(self, job: CountJob, context: CountingContext) -> Tokens:
        """Tokenize a corpus; segments of an earlier attempt are used."""
        return Tokens.read(job, context, self.folder / "tokens")

    def finish(self, vectors: Vectors | None, force: bool) -> None:
        """Write the vectors, or those of an earlier attempt, to the target."""
        if vectors is not None:
            write_vectors(vectors, self.new_result())
        self.deliver(force)


def stamps(corpus: Corpus) -> list[list[Any]] | None:
    """Return how a corpus is read, and path, size and time of each file; None if it is not made of permanent files."""
    if not isinstance(corpus, Files) or not all(map(can_be_read_again, corpus.files)):
        return None
    if any(map(is_url, corpus.files)):
        return None
    states = [(Path(file).absolute(), Path(file).stat()) for file in corpus.files]
    files = [[printable(str(path)), state.st_size, state.st_mtime_ns] for path, state in states]
    return [[corpus.format, corpus.columns.text, corpus.columns.describe()], *files]


def digest(corpus: Corpus) -> str:
    """Return the checksum of a corpus's text, as counting computes it."""
    digests: list[bytes] = []
    for _ in cut_segments(corpus, digests):
        pass
    return corpus_checksum(digests)


def fingerprint(data: Counts | Tokens | Vectors) -> dict[str, Any]:
    """Return what distinguishes one source of vectors from another."""
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
