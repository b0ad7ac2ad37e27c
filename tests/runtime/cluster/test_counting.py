"""Shards counted remotely give the bytes of one machine, wherever the text is cut, and wherever it lies."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian.counts import streams
from firthian.errors import FirthianError
from firthian.runtime.executor import Threads
from firthian.text import files, readers, spool
from firthian.text.files import chunks_between
from firthian.text.readers import Files
from firthian.text.segments import cut_segments


class Remote(Threads):
    """Threads that pretend to share nothing, so that counting takes the path of a cluster."""

    remote = True


def cut_into(monkeypatch: pytest.MonkeyPatch, bytes_: int) -> None:
    for module in (files, readers):
        monkeypatch.setattr(module, "SHARD_BYTES", bytes_)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several kinds, the last line of one unfinished, one line longer than a shard."""
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(40)] + ["é", "don't"]
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(4):
        lines = [" ".join(rng.choice(words, size=rng.integers(0, 12))) for _ in range(60)]
        (corpus / f"{number}.txt").write_text("\n".join(lines))
    (corpus / "4.txt").write_text(" ".join(rng.choice(words, size=300)) + "\nend\n")
    with gzip.open(corpus / "5.txt.gz", "wt") as file:
        file.write("packed text w1 w2\n" * 30)
    (corpus / "6.tsv").write_text("text\tother\n" + "w3 w4 w5\tx\n" * 50)
    return tmp_path


OPTIONS: list[dict[str, Any]] = [
    {},
    {"window": 30, "context": "left", "weighting": "harmonic"},
    {"sample": 0.05, "min_count": 3, "keep_positions": True},
    {"phrases": "npmi", "window": 2},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    ("shard_bytes", "group_tokens", "workers"), [(300, 100, 3), (300, 1 << 20, 3), (2000, 100, 1), (1 << 20, 100, 2)]
)
def test_same_bytes(folder, folder_bytes, monkeypatch, options, shard_bytes, group_tokens, workers):
    cut_into(monkeypatch, shard_bytes)
    monkeypatch.setattr(streams, "RANGE_PAIRS", 50)
    monkeypatch.setattr(streams, "GROUPS_AT_ONCE", 3)
    monkeypatch.setattr(streams, "GROUP_TOKENS", group_tokens)
    monkeypatch.setattr(spool, "TABLES_PER_TASK", 2)
    options = {"min_count": 1, **options}
    ft.count(folder / "corpus", folder / "here", **options)
    ft.count(folder / "corpus", folder / "remote", cluster=Remote(workers), **options)
    assert folder_bytes(folder / "here") == folder_bytes(folder / "remote")
    assert not list(folder.glob("*.partial"))


def test_documents_are_read_here_and_tokenized_there(folder, folder_bytes):
    documents = ["a b c", "", "b c d e"] * 20
    ft.count(documents, folder / "here", min_count=1)
    ft.count(documents, folder / "remote", min_count=1, cluster=Remote(2))
    assert folder_bytes(folder / "here") == folder_bytes(folder / "remote")


def test_training_on_text_whose_segments_lie_elsewhere(folder):
    here = ft.train(folder / "corpus", "sgns-sgd", vector_size=4, epochs=1, counting={"min_count": 1})
    there = ft.train(
        folder / "corpus", "sgns-sgd", vector_size=4, epochs=1, counting={"min_count": 1}, cluster=Remote(2)
    )
    assert here.matrix.tobytes() == there.matrix.tobytes()


@settings(max_examples=200)
@given(
    st.lists(st.text(alphabet="ab \n", max_size=30), max_size=6).map("".join),
    st.lists(st.integers(0, 80), max_size=4),
)
def test_every_line_belongs_to_one_range(tmp_path, text, cuts):
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    ends = [0, *sorted(cuts), None]
    parts = [b"".join(chunks_between(str(path), a, b)) for a, b in pairwise(ends)]
    assert b"".join(parts) == text.encode()
    for part in parts[:-1]:
        assert part == b"" or part.endswith(b"\n") or text.encode().endswith(part)


def test_shards_follow_from_the_files_alone(folder, monkeypatch):
    cut_into(monkeypatch, 1000)
    corpus = Files([str(folder / "corpus")])
    found = corpus.shards()
    assert [name for shard in found for name in shard.files if shard.begin == 0] == corpus.files
    assert len(found) > 3
    text = b"".join(part.text for part in cut_segments(corpus))
    assert text == b"".join(piece.text for piece in corpus.pieces())


def test_an_error_in_a_later_shard_names_the_line(tmp_path, monkeypatch):
    cut_into(monkeypatch, 40)
    lines = [b"some plain words"] * 30
    lines[20] = b"a \xff byte"
    path = tmp_path / "text.txt"
    path.write_bytes(b"\n".join(lines) + b"\n")
    for how in ({}, {"cluster": Remote(2)}):
        with pytest.raises(FirthianError, match=r"text\.txt, line 21: a byte is not UTF-8"):
            ft.count(path, tmp_path / "out", min_count=1, strict=True, **how)
    assert [item.name for item in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_urls(folder, folder_bytes, monkeypatch, scheme):
    fsspec = pytest.importorskip("fsspec")
    cut_into(monkeypatch, 500)
    source = folder / "corpus"
    url = f"file://{source}"
    if scheme == "memory":
        url = "memory://corpus"
        system = fsspec.filesystem("memory")
        for path in source.iterdir():
            system.pipe(f"/corpus/{path.name}", path.read_bytes())
    ft.count(source, folder / "path", min_count=1)
    ft.count(url, folder / "url", min_count=1)
    ft.count(
        [f"{url}/{path.name}" for path in sorted(source.iterdir())], folder / "urls", min_count=1, cluster=Remote(2)
    )
    assert folder_bytes(folder / "path") == folder_bytes(folder / "url") == folder_bytes(folder / "urls")


def test_urls_that_lead_nowhere(tmp_path):
    pytest.importorskip("fsspec")
    for url, message in ((f"file://{tmp_path}/none", "does not exist"), ("nosuch://a/b", "cannot be read")):
        with pytest.raises(FirthianError, match=message):
            ft.count(url, tmp_path / "out")


def test_a_text_that_begins_with_a_url_is_a_text():
    counts = ft.count(["https://a.b/c is a place", "this is a text"], min_count=1)
    assert "place" in counts.vocabulary


def test_on_a_cluster(folder, folder_bytes, monkeypatch, ray_cluster):
    cut_into(monkeypatch, 1000)
    for number, options in enumerate(OPTIONS):
        options = {"min_count": 1, **options}
        ft.count(folder / "corpus", folder / f"here{number}", **options)
        ft.count(folder / "corpus", folder / f"there{number}", cluster=ray_cluster, **options)
        assert folder_bytes(folder / f"here{number}") == folder_bytes(folder / f"there{number}")
