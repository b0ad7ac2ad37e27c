"""Build an index in segments, each saved when it is complete, or add documents to one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from firthian.disk.artifact import sha256, write_manifest
from firthian.disk.atomic import check_folder, check_not_source, staged
from firthian.disk.locks import locked
from firthian.disk.resume import PartialFolder
from firthian.disk.stopping import Stop
from firthian.disk.tensors import Table, read_tensors, write_tensors
from firthian.errors import FirthianError, os_errors
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run
from firthian.text.readers import Corpus, open_corpus
from firthian.texts.encoder import Encoder
from firthian.texts.files import Texts
from firthian.texts.fitting import TooShortError
from firthian.texts.index import INDEX, Index, read_record, vectors_fingerprint
from firthian.texts.segment import build_segment, named
from firthian.texts.store import is_encoder, parts

#: Documents and characters of a segment.
SEGMENT_DOCUMENTS, SEGMENT_CHARACTERS = 100_000, 100_000_000

#: The folder of an encoder that belongs to the index alone.
OWN = "encoder"

#: Spans for each dimension from which ``spans`` finds more than ``sif`` (postings of 20 Newsgroups, its training part).
_SPANS = 24

#: A line longer than this is cut into documents, so that memory stays bounded.
_LONGEST = 10_000_000


def index(
    vectors: str | os.PathLike[str],
    texts: str | os.PathLike[str] | Iterable[Any] | Corpus,
    path: str | os.PathLike[str],
    *,
    format: str = "auto",
    text_column: str | None = None,
    where: Any = None,
    sql: str | None = None,
    method: str = "auto",
    workers: int | None = None,
    add: bool = False,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Index:
    """Index documents, one per line, row or item, for ``Index.search``; the folder ``path`` appears when it is complete.

    ``vectors`` is a folder or file of vectors, which the index refers to, or of an encoder. ``method`` is one of the encoder's;
    ``auto`` is ``spans``, or ``sif`` for texts that are too few or too short for it. With ``add`` the documents come after
    those of an existing index. ``resume`` continues an interrupted run. The other arguments are those of ``firthian.count``
    and ``firthian.Encoder``. ``record["reading"]`` of the result counts rows that are no documents.
    """
    target, place = Path(path), Path(vectors)
    check_not_source(target, place)
    if not place.exists():
        raise FirthianError(f"{place} does not exist", hint="check the path")
    documents = Texts(open_corpus(texts, format, text_column, where, sql), _LONGEST)
    run = Run.create(workers=workers, progress=progress)
    if add:
        return _add(target, documents, place, run)
    if not resume:
        check_folder(target, force)
    # A saved encoder is used as it is.
    auto = method == "auto"
    encoder = Encoder.load(place) if is_encoder(place) else Encoder(place, "spans" if auto else method, workers=workers)
    job = {"vectors": vectors_fingerprint(place), "encoder": encoder.options}
    partial = PartialFolder(target, INDEX.manifest)
    with partial.opened(job, resume, force):
        if not partial.finished:
            _build(partial, documents, encoder, auto, place, target, run, progress or Silent(), stop or Stop())
        partial.deliver(force)
    return Index.load(target)


def _build(
    partial: PartialFolder,
    documents: Texts,
    encoder: Encoder,
    auto: bool,
    place: Path,
    target: Path,
    run: Run,
    progress: Progress,
    stop: Stop,
) -> None:
    """Write the segments that are not there yet, then the whole index."""
    tables: dict[str, Table] = {}
    progress.start("indexing")
    for number, block in enumerate(_blocks(documents)):
        if number == 0 and not encoder.fitted:
            # What texts have in common is learned from the first segment, so that a resumed run learns the same.
            encoder = _fitted(encoder, block, auto)
        name, digest = f"segment-{number}.safetensors", _digest(block)
        table = _noted(partial, name, digest)
        if table is None:
            table = write_tensors(partial.folder / name, named(build_segment(block, encoder, run), number))
            partial.note(f"{name}.json", {"table": table, "texts": digest})
        tables[name] = table
        stop.check()
    if not tables:
        raise FirthianError("there are no documents to index", hint="pass one document per line")
    result = partial.new_result()
    with os_errors():
        for name in tables:
            os.link(partial.folder / name, result / name)
    described, arrays = ({}, {}) if is_encoder(place) else parts(encoder)
    made = {"path": _relative(place, target), "sha256": vectors_fingerprint(place)}
    if described and encoder.method.topics:
        # Its words have other vectors than those given.
        encoder.save(result / OWN)
        described, arrays = {}, {}
        made = {"path": OWN, "sha256": vectors_fingerprint(result / OWN), "source": made["sha256"]}
    record = {
        "vectors": made,
        "encoder": described,
        "segments": len(tables),
        "reading": documents.facts(),
    }
    INDEX.write(result, record, arrays, tables)


def _fitted(encoder: Encoder, texts: list[str], auto: bool) -> Encoder:
    """Return an encoder that has learned from texts; where they have too few spans for its method, ``auto`` takes another."""
    try:
        encoder.fit(texts)
        if not auto or encoder.samples >= _SPANS * encoder.vectors.vector_size:
            return encoder
    except TooShortError:
        if not auto:
            raise
    return Encoder(encoder.vectors, "sif", workers=encoder.executor.workers).fit(texts)


def _noted(partial: PartialFolder, name: str, digest: str) -> Table | None:
    """Return the table of a segment that an interrupted run completed; None if there is none, or of other texts."""
    try:
        note = partial.noted(f"{name}.json")
        if note["texts"] != digest:
            return None
        read_tensors(partial.folder / name, note["table"])
        table: Table = note["table"]
        return table
    except (FirthianError, KeyError, TypeError):
        return None


def _add(target: Path, documents: Texts, place: Path, run: Run) -> Index:
    """Write further segments beside those of an index; its manifest names them when all are complete."""
    with locked(target), os_errors():
        moved = None if is_encoder(target / OWN) else place
        existing = Index.load(target, moved)
        record = read_record(target)
        if record["vectors"].get("source") not in (None, vectors_fingerprint(place)):
            raise FirthianError(f"the vectors at {place} are not those that made {target}", hint="pass those")
        tables, number = record["files"], record["segments"]
        for block in _blocks(documents):
            arrays = named(build_segment(block, existing.encoder, run), number)
            name = f"segment-{number}.safetensors"
            with staged(target / name) as staging:
                tables[name] = write_tensors(staging, arrays)
            number += 1
        if number == record["segments"]:
            raise FirthianError("there are no documents to add", hint="pass one document per line")
        before = existing.record["reading"]
        reading = {name: value + before.get(name, 0) for name, value in documents.facts().items()}
        body = {key: value for key, value in record.items() if key not in ("kind", "version")}
        changed = {"files": tables, "segments": number, "reading": reading}
        write_manifest(target / INDEX.manifest, INDEX.name, {**body, **changed})
    return Index.load(target, moved)


def _relative(place: Path, target: Path) -> str:
    """Return the path of the vectors as seen from the index, so that both can move together."""
    return os.path.relpath(place.absolute(), target.absolute())


def _digest(block: list[str]) -> str:
    return sha256("\n".join(block).encode("utf-8", "surrogatepass"))


def _blocks(documents: Iterable[str]) -> Iterator[list[str]]:
    """Yield the documents of each segment; blocks depend on the documents alone."""
    block: list[str] = []
    size = 0
    for text in documents:
        if block and (len(block) == SEGMENT_DOCUMENTS or size + len(text) > SEGMENT_CHARACTERS):
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text)
    if block:
        yield block
