"""Valid files of every kind, small, each made once: what the fuzzers start from."""

from __future__ import annotations

import functools
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.counts.rows import RowBlock, write_run
from firthian.disk.checkpoints import CheckpointFolder
from firthian.disk.tensors import write_tensors
from firthian.text.segments import tokenize_text, write_segment
from firthian.text.tokenizer import Tokenizer
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.formats import write_vectors
from firthian.vectors.provenance import Provenance
from firthian.vectors.subwords import Subwords
from firthian.vectors.vectors import Vectors
from tests.fuzz.folders import pack_folder

#: The corpus and the vocabulary that runs of the spool are of.
CORPUS, WORDS = "c" * 64, 6


def _in_folder(make: Callable[[Path], Any]) -> Any:
    with tempfile.TemporaryDirectory() as name:
        return make(Path(name))


def _both(make: Callable[[Path], None]) -> list[bytes]:
    """Pack a folder of ours, to be sealed again and not."""

    def packed(folder: Path) -> list[bytes]:
        make(folder / "x")
        return [pack_folder(folder / "x", sealed) for sealed in (True, True, False)]

    result: list[bytes] = _in_folder(packed)
    return result


@functools.cache
def texts() -> list[bytes]:
    return [
        b"the cat sat on the mat\nthe dog ate the cat's tea\n\nto be or not to be: that is the well-known question 42\n",
        "Ünïcödé naïve café – “quoted” don’t Straße ΣΊΣΥΦΟΣ Iıİi 1984 ٣٤ 北京大学 ภาษาไทย नमस्ते e\u0301 \u200d👩‍🚀\n".encode(),
        b"one\x1ftwo words\x1fthree\n" * 3 + b"no newline at the end",
        b"",
        b"new york is new york and new york was new york\n" * 4,
    ]


@functools.cache
def wiki() -> list[bytes]:
    one = b'<doc id="12" url="u" title="Tea">\nTea\n\nTea is a drink.\n</doc>\n'
    return [one, one * 3, b"\n" + one + b"\n\n" + one]


@functools.cache
def tables() -> list[bytes]:
    return [
        b'id,text,label\n1,"one, two\nthree ""quoted""",a\n2,plain text,b\n',
        b"id\ttext\tlabel\n1\tsome words\ta\n2\tother words\tb\n",
        b"text\none\n\ntwo\r\nthree\n",
    ]


def _arrow_table(missing: str | None = None) -> Any:
    import pyarrow

    texts = ["hot tea", missing, "cold tea dög", "", "hot tea"] * 3
    return pyarrow.table({"text": texts, "year": [1850, 1851, None, 1853, 1854] * 3, "label": list("abcab") * 3})


@functools.cache
def parquet_tables() -> list[bytes]:
    from pyarrow import parquet

    def make(folder: Path, **options: Any) -> bytes:
        parquet.write_table(_arrow_table(), folder / "x", row_group_size=7, **options)
        return (folder / "x").read_bytes()

    kinds: list[dict[str, Any]] = [{}, {"use_dictionary": False, "compression": "none"}, {"compression": "zstd"}]
    return [_in_folder(functools.partial(make, **options)) for options in kinds]


@functools.cache
def labeled_parquet() -> list[bytes]:
    """The tables of above, whose missing texts are refused as examples to learn from, and one with every text."""
    from pyarrow import parquet

    def make(folder: Path) -> bytes:
        parquet.write_table(_arrow_table("black tea"), folder / "x", row_group_size=7)
        return (folder / "x").read_bytes()

    return [_in_folder(make), *parquet_tables()]


@functools.cache
def arrow_files() -> list[bytes]:
    from pyarrow import feather, ipc

    def make(folder: Path) -> list[bytes]:
        table = _arrow_table()
        feather.write_feather(table, folder / "plain", compression="uncompressed")
        feather.write_feather(table, folder / "packed")
        with ipc.new_stream(folder / "stream", table.schema) as out:
            out.write_table(table)
        return [(folder / name).read_bytes() for name in ("plain", "packed", "stream")]

    result: list[bytes] = _in_folder(make)
    return result


@functools.cache
def json_lines() -> list[bytes]:
    rows = [
        {"text": "one two", "n": 1, "deep": {"a": [1, 2, {"b": None}]}},
        {"text": "dög \ud83d\ude00\n two", "n": 2.5},
    ]
    return ["\n".join(json.dumps(row) for row in rows).encode() + b"\n", b'{"text": "x"}\n\n{"text": ""}']


def markup() -> list[bytes]:
    header = (
        '<teiHeader><titleStmt><title>A</title></titleStmt><creation><date when="1860">x</date></creation></teiHeader>'
    )
    text = f'<!DOCTYPE TEI [<!ENTITY e "f">]><TEI>{header}<text><p>a<hi>b</hi>&amp;<lb break="no"/>&e;&nbsp;</p></text></TEI>'
    page = (
        '<html lang="hu"><meta charset="utf-8"><title>A</title><svg>x</svg><!-- c --><![if x]><p>b<br>&eacute;</html>'
    )
    return [text.encode(), page.encode()]


@functools.cache
def segments() -> list[bytes]:
    def make(folder: Path) -> list[bytes]:
        for number, text in enumerate(texts()):
            write_segment(folder / str(number), tokenize_text(text, Tokenizer()), "f")
        return [item.read_bytes() for item in sorted(folder.iterdir())]

    result: list[bytes] = _in_folder(make)
    return result


@functools.cache
def runs() -> list[bytes]:
    def make(target: Path) -> None:
        block = RowBlock(
            np.array([2, 0, 1, 2, 0, 1]),
            np.array([1, 5, 3, 0, 2, 0], dtype=np.int32),
            np.array([4, 2, 1, 4, 7, 2]),
        )
        folder = target.parent
        write_run(folder, (0, 1), CORPUS, iter([block])).folder.rename(target)

    return _both(make)


@functools.cache
def checkpoints() -> list[bytes]:
    def make(target: Path) -> None:
        arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.ones((3, 2), dtype=np.float32))}
        CheckpointFolder(target.parent, every=0).write("sweep", 3, arrays, {"loss": [1.0, 0.5], "random": {"state": 1}})
        (target.parent / "sweep@000000003").rename(target)

    return _both(make)


@functools.cache
def counts() -> list[bytes]:
    text = [line.decode() for line in texts()[0].split(b"\n")]

    def make(context: str) -> Callable[[Path], None]:
        return lambda target: ft.count(text, target, min_count=1, window=2, context=context) and None

    return [*_both(make("both")), *_both(make("left"))]


@functools.cache
def vectors() -> Vectors:
    words = ["the", "cat", "tea", "néé", "to"]
    matrix = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    return Vectors(matrix, Vocabulary(words, [9, 5, 4, 2, 1]), state={"tokenizer": "unicode"})


@functools.cache
def vector_folders() -> list[bytes]:
    import scipy.sparse

    dense = vectors()
    sparse = Vectors(scipy.sparse.csr_array(np.eye(5, 4, dtype=np.float32)), dense.vocabulary)
    spread = Vectors(
        dense.matrix,
        dense.vocabulary,
        contexts=dense.matrix,
        extras={"covariances": np.tile(np.eye(3, dtype=np.float32), (5, 1, 1))},
        provenance=Provenance(recipe="bayes"),
        state={"inflation": 1.5},
    )
    table = Subwords(np.array([1, 5, 9], np.uint32), np.eye(3, dtype=np.float32), buckets=16)
    composed = Vectors(dense.matrix, dense.vocabulary, subwords=table)
    small = [composed.compressed(size) for size in (3, 4, 5)]
    return [packed for one in (dense, sparse, spread, *small) for packed in _both(one.save)]


@functools.cache
def indexed() -> Path:
    """Return the folder of vectors that indexes refer to."""
    folder = Path(tempfile.mkdtemp()) / "vectors"
    vectors().save(folder)
    return folder


@functools.cache
def indexes() -> list[bytes]:
    """Indexes of a few documents, of one segment and of two."""

    def make(parts: int) -> Callable[[Path], None]:
        def write(target: Path) -> None:
            for part in range(parts):
                ft.index(indexed(), ["the cat", "tea for the cat", "née\x00 tea"], target, method="mean", add=part > 0)

        return write

    return [*_both(make(1)), *_both(make(2))]


@functools.cache
def tensors() -> tuple[bytes, dict[str, Any]]:
    def make(folder: Path) -> tuple[bytes, dict[str, Any]]:
        entries = write_tensors(
            folder / "x", {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(3, dtype=np.int8), "c": np.zeros((0, 2))}
        )
        return (folder / "x").read_bytes(), entries

    result: tuple[bytes, dict[str, Any]] = _in_folder(make)
    return result


@functools.cache
def _written(format: str) -> bytes:
    def make(folder: Path) -> bytes:
        write_vectors(vectors(), folder / "x", format)
        return (folder / "x").read_bytes()

    result: bytes = _in_folder(make)
    return result


def vector_texts() -> list[bytes]:
    return [
        _written("word2vec"), _written("glove"), _written("fasttext-vec"), gzip.compress(_written("glove")),
        b"new york 0.1 1e-45 3.4028235677973366e38\n\nx 1 2 3\n", b"1 2\n3 4\n5 6\n",
    ]  # fmt: skip


def binaries() -> list[bytes]:
    plain = _written("word2vec-bin")
    return [plain, gzip.compress(plain), b"0 3\n", b"1 1\nword \0\0\x80\x3f"]


@functools.cache
def fasttext_models() -> list[bytes]:
    def make(folder: Path) -> bytes:
        some = vectors()
        rows = np.ones((3, some.vector_size), np.float32)
        some.subwords = Subwords(np.array([0, 2, 5], np.uint32), rows, low=2, high=3, buckets=7)
        write_vectors(some, folder / "x", "fasttext-bin")
        return (folder / "x").read_bytes()

    return [_in_folder(make)]


@functools.cache
def npz() -> list[bytes]:
    def make(folder: Path) -> bytes:
        np.savez_compressed(folder / "x.npz", words=np.array(["a", "b"]), matrix=np.eye(2, dtype=np.float16))
        return (folder / "x.npz").read_bytes()

    return [_written("npz"), _in_folder(make)]


def parquet() -> list[bytes]:
    return [_written("parquet")]


def vector_files() -> list[bytes]:
    return [*vector_texts(), *binaries(), *npz(), *parquet()]


@functools.cache
def test_sets() -> list[bytes]:
    return [
        b"# comment\ntea coffee 8.5\ncat dog 7\n",
        b'word1,word2,score\n"tea",coffee,8.5\ncat,dog,7\n',
        b"word1\tword2\tPOS\tscore\ntea\tcoffee\tN\t8.5\n",
        b": capital\nAthens Greece Oslo Norway\n: gram1-adverb\ncalm calmly apt aptly\n",
        b"a b c d\ne f g h\n",
    ]


@functools.cache
def chunks() -> list[bytes]:
    return [b"He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n\n. . O\n"]


@functools.cache
def labeled() -> list[bytes]:
    return [
        b"label\ttext\tsplit\ngood\ttea is good\ttrain\nbad\train\ttest\n",
        b'good,"tea, is ""good"""\nbad,rain\n',
        b"train\tgood\ttea\ntest\tbad\train\n",
        b"class,document\na,one\nb,two\n",
    ]


@functools.cache
def labeled_json() -> list[bytes]:
    rows = [{"label": "good", "text": "tea", "split": "train"}, {"label": 3, "text": "rain", "split": "test"}]
    return ["\n".join(map(json.dumps, rows)).encode()]


@functools.cache
def classifiers() -> list[bytes]:
    from firthian.adapt import PAClassifier, RPAClassifier

    documents, labels = ["good tea", "bad rain", "good cat", "bad dog"], ["g", "b", "g", "b"]
    fitted = [
        PAClassifier("random:4", passes=1).fit(documents, labels),
        RPAClassifier(vectors(), passes=1).fit(documents, labels),
        PAClassifier("onehot", passes=1).fit(documents, labels),
    ]
    return [packed for one in fitted for packed in _both(one.save)]


@functools.cache
def word_lists() -> list[bytes]:
    return [b"the\ncat\n\nde\xcc\x81j\xc3\xa0\t12\n", b"\xef\xbb\xbfone\r\ntwo\r\n"]


@functools.cache
def queries() -> list[bytes]:
    return [
        b"neighbors?word=the&topn=3", b"analogy?a=the&b=cat&c=tea&method=3cosmul", b"similarity?a=the&b=n%C3%A9%C3%A9",
        b"words?prefix=t&topn=2&model=served", b"models?", b"map?method=pca&topn=5", b"contexts?word=the",
    ]  # fmt: skip
