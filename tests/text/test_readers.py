"""Every source gives the same documents, and every damaged one is named."""

from __future__ import annotations

import bz2
import csv
import errno
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import firthian as ft
from firthian.errors import FirthianError
from firthian.text import files, readers
from firthian.text.files import text_bytes
from firthian.text.readers import Documents, Files, open_corpus
from firthian.text.segments import cut_segments, tokenize_segment

TEXT = "The cat sat.\nThe dög ran.\n\nAn end without newline"


def documents(paths: list[Path] | Path, format: str = "auto", column: str | None = None) -> list[str]:
    """What the flow sees: lines."""
    several = paths if isinstance(paths, list) else [paths]
    pieces = Files([str(path) for path in several], format, column).pieces()
    text = b"".join(piece.text for piece in pieces).decode("utf-8", "surrogateescape")
    assert text.endswith("\n")
    return text[:-1].split("\n")


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("suffix", ["right", "wrong"])
def test_compressed_files(tmp_path: Path, kind: str, suffix: str) -> None:
    path = tmp_path / ("corpus.txt." + kind if suffix == "right" else "corpus.txt")
    path.write_bytes(COMPRESS[kind](TEXT.encode()))
    assert documents(path) == TEXT.split("\n")


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed_files_in_several_parts(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(COMPRESS[kind](b"one\n") + COMPRESS[kind](b"two\n"))
    assert documents(path) == ["one", "two"]


@pytest.mark.parametrize("kind", COMPRESS)
def test_cut_off_files(tmp_path: Path, kind: str) -> None:
    whole = COMPRESS[kind](os.urandom(50_000).hex().encode())
    path = tmp_path / "corpus.txt"
    for size in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        with pytest.raises(ft.FirthianError, match=r"corpus.txt is (truncated or )?damaged"):
            documents(path)


@pytest.mark.parametrize("kind", COMPRESS)
def test_damaged_files(tmp_path: Path, kind: str) -> None:
    if kind == "lzma":
        pytest.skip("the old format has no checksum")
    whole = bytearray(
        COMPRESS[kind](TEXT.encode() * 2000)
        if kind != "zst"
        else zstandard.ZstdCompressor(write_checksum=True).compress(os.urandom(9000).hex().encode())
    )
    whole[len(whole) // 2] ^= 0x55
    path = tmp_path / "corpus.txt"
    path.write_bytes(whole)
    with pytest.raises(ft.FirthianError, match=r"corpus.txt is (truncated or )?damaged"):
        documents(path)


def test_sizes_of_text_in_compressed_files(tmp_path: Path) -> None:
    data = os.urandom(300_000).hex().encode()
    for kind, pack in COMPRESS.items():
        path = tmp_path / f"corpus.{kind}"
        path.write_bytes(pack(data))
        assert text_bytes([str(path)]) == pytest.approx(len(data), rel=0.05), kind
    plain = tmp_path / "plain.txt"
    plain.write_bytes(data)
    assert text_bytes([str(plain)]) == len(data)


def test_several_files_and_folders_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a/.hidden", ".git/x", "run.partial/x", "a.txt"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert documents(tmp_path / "tree") == ["a.txt", "a/b/c.txt", "a/z.txt", "b.txt"]
    assert documents([tmp_path / "tree/b.txt", tmp_path / "tree/a"]) == ["b.txt", "a/b/c.txt", "a/z.txt"]


def test_linked_folders_are_read_once(tmp_path: Path) -> None:
    for name in ("tree/a/one.txt", "elsewhere/two.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name, target in (("tree/other", "elsewhere"), ("tree/zero", "elsewhere"), ("tree/a/up", "tree")):
        (tmp_path / name).symlink_to(tmp_path / target)
    assert Files([str(tmp_path / "tree")]).files == [
        str(tmp_path / name) for name in ("tree/a/one.txt", "tree/other/two.txt")
    ]


def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree" / "closed").mkdir(parents=True)
    for name in ("tree/a.txt", "tree/closed/b.txt"):
        (tmp_path / name).write_text(name)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(ft.FirthianError, match="closed: permission denied: choose a place you may read"):
        Files([str(tmp_path / "tree")])


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbfFirst line\r\nsecond line\r\n")
    counts = ft.count(path, min_count=1, tokenizer="whitespace")
    assert set(counts.vocabulary) == {"first", "second", "line"}
    assert counts.record["corpus"]["documents"] == 2


def test_a_file_can_be_a_document(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("one\ntwo\n")
    (tmp_path / "2.txt").write_text("three\nfour")
    assert documents(tmp_path, "files") == ["one two ", "three four"]
    assert ft.count(tmp_path, format="files", min_count=1)["one", "two"] == 1.0


def test_wikipedia(tmp_path: Path) -> None:
    path = tmp_path / "wiki_00"
    path.write_text(
        '<doc id="1" url="u" title="A">\nA\n\nFirst text.\nMore.\n</doc>\n<doc id="2" title="B">\nSecond.\n</doc>\n'
    )
    assert documents(path) == ["A First text. More. ", "Second. "]
    assert documents(path, "lines")[0].startswith("<doc")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<doc id="1">\nx\n', "line 1: <doc> is never closed"),
        ('<doc id="1">\nx\n<doc id="2">\n', "line 3: <doc> inside <doc>"),
        ('<doc id="1">\nx\n</doc>\n\nstray\n', "line 5: text outside <doc>"),
    ],
)
def test_wikipedia_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wiki_00"
    path.write_text(text)
    with pytest.raises(ft.FirthianError, match=message):
        documents(path)


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    buffer = io.StringIO()
    rows = [["id", "comment"], ["1", 'He said "hi, you"'], ["2", "two\nlines"], ["3", ""]]
    csv.writer(buffer).writerows(rows)
    path.write_text(buffer.getvalue(), newline="")
    assert documents(path, column="comment") == ['He said "hi, you"', "two lines", ""]
    assert documents(path, column="2") == ["comment", 'He said "hi, you"', "two lines", ""]
    with pytest.raises(ft.FirthianError, match=r"no column 'text'.*'id', 'comment'"):
        documents(path)
    with pytest.raises(ft.FirthianError, match=r"no column '9': set text_column to one of '1', '2'"):
        documents(path, column="9")


def test_csv_that_is_not_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('text\nfine\n"never closed\n')
    with pytest.raises(ft.FirthianError, match=r"x.csv, line 3: "):
        documents(path)


def test_tsv(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('label\ttext\r\npos\t"good" it is\r\n\nneg\tbad\n')
    assert documents(path) == ['"good" it is', "bad"]
    assert documents(path, column="1") == ["label", "pos", "", "neg"]
    with pytest.raises(ft.FirthianError, match="line 3: only 1 columns"):
        documents(_written(tmp_path / "y.tsv", "label\ttext\na\tb\nc\n"))


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_json_lines(tmp_path: Path) -> None:
    lines = [{"text": "one\ntwo", "n": 1}, {"n": 2, "text": "dög"}]
    path = _written(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert documents(path) == ["one two", "dög"]
    packed = tmp_path / "y.ndjson.gz"
    packed.write_bytes(gzip.compress(b'{"body": "z"}\n'))
    assert documents(packed, column="body") == ["z"]
    with pytest.raises(ft.FirthianError, match=r"x.jsonl has no column 'body'.*'text', 'n'"):
        documents(path, column="body")
    with pytest.raises(ft.FirthianError, match="line 2: not JSON"):
        documents(_written(tmp_path / "bad.jsonl", '{"text": "a"}\nnonsense\n'))
    with pytest.raises(ft.FirthianError, match=r"line 1: expected text in the column 'text', got int"):
        documents(_written(tmp_path / "worse.jsonl", '{"text": 3}\n'))
    with pytest.raises(ft.FirthianError, match=r"line 1: not a JSON object"):
        documents(_written(tmp_path / "list.jsonl", "[3]\n"))


def test_a_column_of_what_has_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "posts.txt").write_text('{"body": "tea with milk"}\n')
    with pytest.raises(ft.FirthianError, match=r"posts.txt is read as lines: set format to one of csv, tsv"):
        Files([str(tmp_path / "posts.txt")], text_column="body")
    with pytest.raises(ft.FirthianError, match="- is read as lines"):
        Files(["-"], text_column="body")
    Files([str(tmp_path / "posts.txt")], "jsonl", "body")
    (tmp_path / "more.jsonl").write_text('{"body": "tea"}\n')
    Files([str(tmp_path)], text_column="body")


def test_a_lone_surrogate_in_json_is_replaced(tmp_path: Path) -> None:
    counts = ft.count(_written(tmp_path / "x.jsonl", '{"text": "a\\ud800 b"}\n'), min_count=1)
    assert set(counts.vocabulary) == {"a", "b"}


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "firthian", "count", "-", "-o", str(tmp_path / "c"), "--min-count", "1"]
    for data in (b"to be or\nnot to be", gzip.compress(b"to be or\nnot to be")):
        subprocess.run([*command, "--force"], input=data, check=True, stdout=subprocess.DEVNULL)
        counts = ft.Counts.load(tmp_path / "c")
        assert counts.record["corpus"]["documents"] == 2
        assert counts["to", "be"] == 2.0
    with pytest.raises(ft.FirthianError, match="named twice"):
        Files(["-", "-"])


def test_a_pipe_loses_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "to be or not to be\n" * 1000
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    assert ft.count(pipe, min_count=1).record["corpus"]["tokens"] == 6000


def test_documents_from_python() -> None:
    class Stream:
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield "to be"
            yield "or not"

    assert ft.count(Stream(), min_count=1).record["corpus"]["documents"] == 2
    assert ft.count(("to be", "or not"), min_count=1).record["corpus"]["tokens"] == 4
    with pytest.raises(ft.FirthianError, match="one-shot iterator"):
        ft.count(text for text in ["a", "b"])
    with pytest.raises(ft.FirthianError, match="document 2 is a list"):
        ft.count(["a text", ["a", "list"]])
    with pytest.raises(ft.FirthianError, match="document 1 is neither"):
        ft.count([b"bytes"])
    with pytest.raises(ft.FirthianError, match="document 2 is neither"):
        ft.count([["a"], ["b", 3]])
    with pytest.raises(ft.FirthianError, match="document 1 is neither"):
        ft.count([1, 2])
    with pytest.raises(ft.FirthianError, match="no words in"):
        ft.count([])
    with pytest.raises(ft.FirthianError, match="expected a corpus, got a NoneType: pass a path"):
        ft.count(None)


def test_what_cannot_be_a_corpus() -> None:
    with pytest.raises(ft.FirthianError, match="expected a corpus, got a int: pass a path"):
        ft.count(3)


def test_strings_are_paths_when_they_exist(tmp_path: Path) -> None:
    path = _written(tmp_path / "a.txt", "x")
    assert isinstance(open_corpus(str(path)), Files)
    assert isinstance(open_corpus([str(path)]), Files)
    assert isinstance(open_corpus(["some text"]), Documents)
    with pytest.raises(ft.FirthianError, match="does not exist"):
        open_corpus([Path("missing.txt")])


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8 need a Linux file system")
def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(path, "wb") as file:
        file.write(b"to be or not to be")
    assert ft.count(tmp_path, min_count=1).record["corpus"]["names"] == [r"caf\udce9.txt"]


def first_bad_place(paths: list[Path], format: str, segment_bytes: int, column: str | None = None) -> str:
    parts = list(cut_segments(Files([str(path) for path in paths], format, column), segment_bytes=segment_bytes))
    with pytest.raises(ft.FirthianError) as caught:
        [tokenize_segment(part, ft.Tokenizer(), False, True) for part in parts]
    return caught.value.message


@pytest.mark.parametrize("segment_bytes", [16, 33, 50, 1000])
@pytest.mark.parametrize("line", [1, 2, 7, 20])
def test_strict_names_file_and_line(tmp_path: Path, segment_bytes: int, line: int) -> None:
    lines = [b"some good words %d" % number for number in range(1, 21)]
    good = tmp_path / "good.txt"
    good.write_bytes(b"\n".join(lines))
    lines[line - 1] = b"some b\xffd words"
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\n".join(lines))
    wanted = f"{bad}, line {line}: a byte is not UTF-8"
    for format in ("lines", "files"):
        assert first_bad_place([good, bad, good], format, segment_bytes) == wanted
    table = tmp_path / "bad.csv"
    table.write_bytes(b'id,text\n1,"two\nlines"\n' + b"".join(b'2,"%s\nx"\n' % item for item in lines))
    assert first_bad_place([table], "csv", segment_bytes) == f"{table}, line {2 * line + 2}: a byte is not UTF-8"
    wiki = tmp_path / "bad.wiki"
    wiki.write_bytes(b"<doc id='0'>\n\nx\n</doc>\n<doc id='1'>\n" + b"\n".join(lines) + b"\n</doc>\n")
    assert first_bad_place([wiki], "wiki", segment_bytes) == f"{wiki}, line {line + 5}: a byte is not UTF-8"


def test_strict_names_the_file_when_a_segment_ends_in_the_one_before(tmp_path: Path) -> None:
    first, second = tmp_path / "1.txt", tmp_path / "2.txt"
    first.write_bytes(b"one\ntwo\nthree \xff")
    second.write_bytes(b"x" * 100)
    assert first_bad_place([first, second], "lines", 20).startswith(f"{first}, line 3")


@pytest.mark.realdata
def test_wikipedia_as_it_is(real_data: Path) -> None:
    path = real_data / "corpora" / "enwiki-raw20mb.txt.xz"
    if not path.exists():
        pytest.skip("enwiki-raw20mb.txt.xz is not here")
    counts = ft.count(path, window=2, min_count=50)
    found = counts.record["corpus"]
    assert found["undecodable_bytes"] == 0
    assert found["tokens"] > 2_000_000
    assert found["documents"] > 100
    assert counts.vocabulary["the"] == 0
    assert "</doc>" not in counts.vocabulary


def test_a_large_file_that_changes_between_its_ranges_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file cut into ranges is one text only if nothing writes to it from the first range to the last."""
    monkeypatch.setattr(files, "SHARD_BYTES", 1000)
    monkeypatch.setattr(readers, "SHARD_BYTES", 1000)
    path = tmp_path / "large.txt"
    path.write_bytes(b"old text of the file\n" * 200)
    corpus = Files([str(path)])
    parts = corpus.shards()
    assert parts is not None
    assert len(parts) == 5
    assert b"".join(piece.text for part in parts for piece in corpus.pieces(part)) == path.read_bytes()
    # A machine with a copy of the file has the same size, and another time.
    os.utime(path, (1, 1))
    assert sum(len(piece.text) for part in parts for piece in corpus.pieces(part.without_time())) == 4200
    for part in parts:
        with pytest.raises(FirthianError, match="changed while it was read"):
            list(corpus.pieces(part))
    with path.open("ab") as file:
        file.write(b"more\n")
    with pytest.raises(FirthianError, match="changed while it was read"):
        list(corpus.pieces(parts[0].without_time()))


def test_a_byte_order_mark_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "wiki"
    path.write_bytes(b'\xef\xbb\xbf<doc id="1">\nhello there\n</doc>\n')
    assert b"".join(piece.text for piece in Files([str(path)]).pieces()) == b"hello there \n"
