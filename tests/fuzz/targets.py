"""The table of what is fuzzed: for each reader its valid files, and a function from bytes to nothing.

The function may raise ``FirthianError`` and nothing else; a crash, a hang, another error or much memory is a bug.
"""

from __future__ import annotations

import atexit
import bz2
import ctypes
import functools
import gzip
import lzma
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np

import firthian as ft
from firthian.adapt import load as load_classifier
from firthian.adapt.labeled import read_labeled, read_texts
from firthian.counts.counts import Counts
from firthian.counts.merging import merge
from firthian.counts.rows import finished_runs, merge_blocks
from firthian.datasets import word_tasks as evaluation
from firthian.disk.checkpoints import CheckpointFolder
from firthian.disk.tensors import read_foreign_tensors, read_tensors
from firthian.errors import FirthianError
from firthian.evaluate import chunking
from firthian.runtime.executor import Threads
from firthian.text.readers import Files
from firthian.text.segments import cut_segments, read_segment, tokenize_segment, tokenize_text
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable
from firthian.text.vocabulary import read_words
from firthian.texts.index import Index
from firthian.vectors.formats import read_vectors
from firthian.vectors.vectors import Vectors
from tests.fuzz import examples
from tests.fuzz.edits import Edit, edit_bytes, edit_json_lines
from tests.fuzz.folders import edit_folder, unpack_into


@dataclass(frozen=True)
class Target:
    """One reader: its name, its valid files, how they are spoiled, and what reads them."""

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes], None]
    edit: Edit = edit_bytes

    def try_bytes(self, data: bytes) -> str:
        """Read; say what was wrong with the input, or nothing. Any other error than ours gets out."""
        try:
            self.read(data)
        except FirthianError as error:
            said = str(error)
            assert said, "an error without a message"
            assert len(said) < 4000, f"a message of {len(said)} characters"
            return said
        return ""


@functools.cache
def _scratch(_process: int) -> Path:
    """A folder of this process, in memory where the system has such a place."""
    memory = Path("/dev/shm")
    place = tempfile.mkdtemp(prefix="firthian-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)


def scratch() -> Path:
    """Return the folder for this process's inputs."""
    return _scratch(os.getpid())


@contextmanager
def _temporary_files_in_scratch() -> Iterator[None]:
    """Counts that nobody asked to keep go there, too, while a target runs."""
    before, tempfile.tempdir = tempfile.tempdir, str(scratch())
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _file(data: bytes, name: str) -> Iterator[Path]:
    path = scratch() / name
    path.write_bytes(data)
    yield path


@contextmanager
def _folder(data: bytes, manifest: str) -> Iterator[Path]:
    path = scratch() / "folder"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    unpack_into(path, data, manifest)
    yield path


# Corpora: from bytes to tokens.


def _corpus(name: str, format: str = "auto", column: str | None = None) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with _file(data, name) as path:
            corpus = Files([str(path)], format, column)
            corpus.size()
            for segment in cut_segments(corpus, segment_bytes=4096):
                tokenize_segment(segment, Tokenizer(), False, strict=len(data) % 2 == 1)

    return read


def _tokens(tokenizer: str, tokenized: bool = False) -> Callable[[bytes], None]:
    @functools.cache
    def tokenizers() -> list[Tokenizer]:
        return [Tokenizer(tokenizer, case, numbers) for case in (False, True) for numbers in (False, True)]

    def read(data: bytes) -> None:
        segment = tokenize_text(data, tokenizers()[len(data) % 4], tokenized)
        types = segment.types()
        assert len(set(types)) == len(types)
        assert segment.ids.size == 0 or (segment.ids.min() >= 0 and segment.ids.max() < len(types))
        assert np.array_equal(np.bincount(segment.ids, minlength=len(types)), segment.counts)
        assert np.array_equal(TypeTable.of_words(types).look_up(segment), np.arange(len(types)))

    return read


def _count(**settings: object) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with _file(data, "corpus.txt") as path, _temporary_files_in_scratch():
            counts = ft.count(str(path), min_count=1, workers=1, **settings)
            assert counts.total >= 0

    return read


def _segment(data: bytes) -> None:
    with _file(data, "segment.safetensors") as path:
        read_segment(path)


def _runs(data: bytes) -> None:
    with _folder(data, "run.json") as path:
        place = path.with_name("runs")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path.rename(place / "run-0000000-0000001")
        runs = finished_runs(place, examples.CORPUS, examples.WORDS)
        if runs:
            sizes = np.sum([np.diff(run.pointers) for run in runs], axis=0)
            list(merge_blocks(list(runs), sizes, examples.WORDS, Threads(1)))


# What we wrote ourselves.


def _checkpoint(data: bytes) -> None:
    with _folder(data, "state.json") as path:
        place = path.with_name("steps")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path.rename(place / "sweep@3")
        (place / "sweep@²").mkdir()
        states = CheckpointFolder(place)
        state = states.read("sweep")
        # A damaged state is no error: it is as if it had never been saved, and the user is told.
        assert (state is None) == bool(states.damaged)


def _counts(data: bytes) -> None:
    with _folder(data, "counts.json") as path, _temporary_files_in_scratch():
        counts = Counts.load(path)
        words = counts.vocabulary.words
        if words:
            counts[words[0], words[-1]]
        counts.strongest_pairs(3, 0.0)
        counts.to_scipy().sum()
        merge([counts, counts], workers=1)


def _use(vectors: Vectors) -> None:
    words = vectors.vocabulary.words
    if len(words) and vectors.vector_size:
        vectors.most_similar(words[0], topn=2)
        vectors.document_vector(words[-1], missing="skip")


def _vectors(name: str, format: str | None = None) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with _file(data, name) as path:
            _use(read_vectors(path, format, duplicates="first" if len(data) % 2 else "error"))

    return read


def _vectors_folder(data: bytes) -> None:
    with _folder(data, "vectors.json") as path:
        vectors = Vectors.load(path, verify=len(data) % 2 == 0)
        _use(vectors)
        if vectors.vocabulary.words and vectors.extras:
            vectors.uncertainty(vectors.vocabulary.words[0])


def _index(data: bytes) -> None:
    with _folder(data, "index.json") as path:
        index = Index.load(path, examples.indexed(), verify=len(data) % 2 == 0)
        for method in ("hybrid", "vectors", "words"):
            index.search("tea cat", method=method)
        index.dedupe()


def _safetensors(data: bytes) -> None:
    with _file(data, "x.safetensors") as path:
        read_foreign_tensors(path)
        read_tensors(path, examples.tensors()[1])


def _classifier(data: bytes) -> None:
    with _folder(data, "model.json") as path:
        classifier = load_classifier(path)
        classifier.predict(["good tea", "", "unknown \ud800"])


# Files of users.


def _pairs(data: bytes) -> None:
    with _file(data, "pairs.txt") as path:
        evaluation.read(path, (None, "similarity", "analogy")[len(data) % 3])


def _chunks(data: bytes) -> None:
    with _file(data, "chunks.txt") as path:
        for sentence in chunking.read_sentences(path):
            chunking.chunk_spans(sentence.chunks)


def _labeled(name: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        with _file(data, name) as path:
            given = {"label_column": "class", "text_column": "document"} if data.startswith(b"class") else {}
            read_labeled(str(path), **given).part("train", "test")

    return read


def _texts(data: bytes) -> None:
    with _file(data, ("texts.txt", "texts.csv", "texts.jsonl")[len(data) % 3]) as path:
        read_texts(str(path))


def _word_list(data: bytes) -> None:
    with _file(data, "words.txt") as path:
        read_words(path)


@functools.cache
def _served() -> object:
    from firthian.explore.server.state import ExplorerState

    place = scratch() / "served"
    examples.vectors().save(place)
    return ExplorerState([place])


def _query(data: bytes) -> None:
    from firthian.explore.server.api import HANDLERS
    from firthian.explore.server.app import _json
    from firthian.explore.server.parameters import read_parameters
    from firthian.options import declared

    path, _, query = data.decode("latin-1").partition("?")
    for place, handler in HANDLERS.items():
        # Maps and evaluations start work of minutes; their parameters are read all the same.
        if place.strip("/").endswith(path.strip("/")):
            values = read_parameters(declared(handler), parse_qsl(query, keep_blank_values=True))
            if place not in ("/api/map", "/api/evaluation"):
                _json(handler(_served(), **values))


def _xz_alone(data: bytes) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_ALONE)


def _zstandard(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "lzma": _xz_alone, "zst": _zstandard
}  # fmt: skip


def _compressed(name: str) -> Target:
    compress = _COMPRESSIONS[name]
    return Target(
        f"corpus.{name}", lambda: [compress(text) for text in examples.texts()], _corpus(f"corpus.txt.{name}")
    )


TARGETS: tuple[Target, ...] = (
    Target("corpus.lines", examples.texts, _corpus("corpus.txt", "lines")),
    Target("corpus.files", examples.texts, _corpus("corpus.txt", "files")),
    Target("corpus.wiki", examples.wiki, _corpus("corpus.txt", "wiki")),
    Target("corpus.csv", examples.tables, _corpus("corpus.csv")),
    Target("corpus.tsv", examples.tables, _corpus("corpus.tsv", column="2")),
    Target("corpus.jsonl", examples.json_lines, _corpus("corpus.jsonl"), edit_json_lines),
    Target("corpus.tei", examples.markup, _corpus("corpus.tei")),
    Target("corpus.html", examples.markup, _corpus("corpus.html")),
    Target("corpus.parquet", examples.parquet_tables, _corpus("corpus.parquet")),
    Target("corpus.arrow", examples.arrow_files, _corpus("corpus.arrow")),
    Target("labeled.parquet", examples.labeled_parquet, _labeled("x.parquet")),
    *map(_compressed, _COMPRESSIONS),
    Target("tokens.unicode", examples.texts, _tokens("unicode")),
    Target("tokens.whitespace", examples.texts, _tokens("whitespace")),
    Target("tokens.icu", examples.texts, _tokens("icu")),
    Target("tokens.ready", examples.texts, _tokens("unicode", tokenized=True)),
    Target("count", examples.texts, _count()),
    Target(
        "phrases", examples.texts, _count(phrases="npmi", phrase_min_count=1, phrase_passes=2, phrase_threshold=0.1)
    ),
    Target("spool.segment", examples.segments, _segment),
    Target("spool.run", examples.runs, _runs, edit_folder),
    Target("checkpoint", examples.checkpoints, _checkpoint, edit_folder),
    Target("counts", examples.counts, _counts, edit_folder),
    Target("vectors.folder", examples.vector_folders, _vectors_folder, edit_folder),
    Target("index", examples.indexes, _index, edit_folder),
    Target("vectors.safetensors", lambda: [examples.tensors()[0]], _safetensors),
    Target("vectors.any", examples.vector_files, _vectors("vectors")),
    Target("vectors.word2vec", examples.vector_texts, _vectors("v.txt", "word2vec")),
    Target("vectors.glove", examples.vector_texts, _vectors("v.txt", "glove")),
    Target("vectors.fasttext", examples.vector_texts, _vectors("v.vec", "fasttext-vec")),
    Target("vectors.binary", examples.binaries, _vectors("v.bin", "word2vec-bin")),
    Target("vectors.fasttext-bin", examples.fasttext_models, _vectors("v.bin", "fasttext-bin")),
    Target("vectors.npz", examples.npz, _vectors("v.npz", "npz")),
    Target("vectors.parquet", examples.parquet, _vectors("v.parquet", "parquet")),
    Target("evaluate.sets", examples.test_sets, _pairs),
    Target("evaluate.chunks", examples.chunks, _chunks),
    Target("labeled.tsv", examples.labeled, _labeled("x.tsv")),
    Target("labeled.csv", examples.labeled, _labeled("x.csv")),
    Target("labeled.jsonl", examples.labeled_json, _labeled("x.jsonl"), edit_json_lines),
    Target("labeled.texts", examples.tables, _texts),
    Target("classifier", examples.classifiers, _classifier, edit_folder),
    Target("words", examples.word_lists, _word_list),
    Target("server", examples.queries, _query),
)


def _broken(data: bytes) -> None:
    """Fail in every way there is, to see that it is noticed."""
    if data == b"1":
        ctypes.string_at(0)
    elif data == b"2":
        while True:
            pass
    elif data == b"3":
        bytearray(1 << 40)
    elif data == b"4":
        raise ValueError("not one of ours")


BROKEN = Target("broken", lambda: [b"0"], _broken, lambda data, draws: str(int(draws.where * 5)).encode())


def find_target(name: str) -> Target:
    """Find a target by name."""
    return next(target for target in (*TARGETS, BROKEN) if target.name == name)
