"""What verbs write: never over what they read, never under a name that says something else, nothing left when interrupted."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import firthian as ft
from firthian.cli.app import _can_resume, _resuming
from firthian.vectors.formats import write_vectors

Firth = Callable[..., Any]

TEXT = ["the cat sat on the mat", "the dog sat on the log"] * 9


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with counts and vectors, whose files must stay."""
    counts = ft.count(TEXT, tmp_path / "counts", min_count=1)
    ft.train(counts, "psd", vector_size=2, workers=1).save(tmp_path / "v")
    ft.train(counts, "svd", vector_size=2, workers=1).save(tmp_path / "svd")
    return tmp_path


def test_no_verb_replaces_what_it_reads(firth: Firth, place: Path) -> None:
    assert firth("convert", place / "v", place / "v.txt").code == 0
    firth("convert", place / "v.txt", place / "v.txt", "--force").complains("is both source and target", "another name")
    firth("convert", place / "v", place / "x" / ".." / "v", "--force").complains("is both source and target")
    firth("merge", place / "counts", place / "counts", "-o", place / "counts", "--force").complains(
        "is both source and target"
    )
    for target in ("v", "counts"):
        firth("add", place / "v", place / "counts", "-o", place / target, "--force").complains(
            "is both source and target"
        )


def test_devices_and_pipes_are_never_replaced(firth: Firth, place: Path) -> None:
    os.mkfifo(place / "pipe.html")
    device = place / "null.html"
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    (place / "corpus.txt").write_text("\n".join(TEXT))
    for target in filter(Path.exists, (place / "pipe.html", device)):
        kind = target.stat().st_mode
        for command in (
            ("convert", place / "v", target, "--to", "word2vec"),
            ("map", place / "v", "-o", target),
            ("evaluate", place / "v", "--html", target),
            ("count", place / "corpus.txt", "-o", target),
            ("train", place / "counts", "-o", target),
            ("merge", place / "counts", place / "counts", "-o", target),
        ):
            result = firth(*command, "--force")
            result.complains("is not a regular file", "another name")
            assert "force" not in result.err
            assert target.stat().st_mode == kind


def test_targets_without_a_name_are_refused(firth: Firth, place: Path) -> None:
    (place / "corpus.txt").write_text("\n".join(TEXT))
    for target in ("/", f"{place}/.."):
        for command in (
            ("count", place / "corpus.txt"),
            ("train", place / "counts"),
            ("merge", *[place / "counts"] * 2),
        ):
            firth(*command, "-o", target, "--force").complains("cannot be an output", "name a new file")


def test_a_link_to_itself_is_replaced_or_refused(firth: Firth, place: Path) -> None:
    (place / "loop").symlink_to("loop")
    firth("train", place / "counts", "-o", place / "loop").complains("already exists")
    assert firth("train", place / "counts", "-o", place / "loop", "--force", "--dim", "2").code == 0
    (place / "again").symlink_to("again")
    assert firth("merge", place / "counts", place / "counts", "-o", place / "again", "--force").code == 0


def test_counts_are_not_converted(firth: Firth, place: Path) -> None:
    firth("convert", place / "counts", place / "o2").complains("holds counts, not vectors", "firth train")


def test_nothing_is_written_plain_under_the_name_of_a_compressed_file(firth: Firth, place: Path) -> None:
    for flags in ((), ("--to", "word2vec")):
        firth("convert", place / "v", place / "v.txt.gz", *flags).complains("a compressed file", "drop .gz")
    with pytest.raises(ft.FirthianError, match=r"drop \.xz"):
        write_vectors(ft.Vectors.load(place / "v"), place / "v.vec.xz", "fasttext-vec")


@pytest.fixture
def ended() -> Iterator[Callable[..., None]]:
    """Ask this process to end, in place of some work; a verb that does not see to it fails the test."""

    def refuse(number: int, frame: Any) -> None:
        raise AssertionError("the signal would have ended the process")

    before = signal.signal(signal.SIGTERM, refuse)
    yield lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)


def test_a_signal_leaves_nothing_of_adapt(
    firth: Firth, tmp_path: Path, ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tsv").write_text("drink\ttea with milk\nsky\tmoon and sun\n" * 9)
    monkeypatch.setattr("firthian.adapt.store.write", ended)
    assert firth("adapt", tmp_path / "a.tsv", "-v", "random:5", "-o", tmp_path / "m").code == 143
    assert [item.name for item in tmp_path.iterdir()] == ["a.tsv"]


def test_a_signal_leaves_nothing_of_compare(
    firth: Firth, place: Path, ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "pairs.txt").write_text("the cat 5\nthe dog 3\nsat on 1\n")
    before = set(place.iterdir())
    monkeypatch.setattr("firthian.compare.comparison.learn", ended)
    command = ("compare", place / "counts", "-m", "svd", "--dim", "2", "--sets", place / "pairs.txt")
    assert firth(*command, "-o", place / "report").code == 143
    assert set(place.iterdir()) == before


def test_a_signal_leaves_nothing_of_merge(
    firth: Firth, place: Path, ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(place.iterdir())
    monkeypatch.setattr("firthian.counts.merging.write_counts", ended)
    assert firth("merge", place / "counts", place / "counts", "-o", place / "both").code == 143
    assert set(place.iterdir()) == before


def test_the_command_that_goes_on() -> None:
    assert _resuming(["train", "x", "-o", "v"]) == "firth train x -o v --resume"
    assert _resuming(["count", "-o", "c", "--", "--resume"]) == "firth count -o c --resume -- --resume"
    assert _can_resume(["train", "x", "-o", "v"])
    assert _can_resume(["count", "-o", "c", "--", "--dry-run"])
    assert not _can_resume(["train", "x", "--dry-run"])
    assert not _can_resume(["train", "x", "--stream=s"])


def test_a_stream_says_early_that_it_has_no_place(firth: Firth, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("\n".join(TEXT))
    command = ("train", tmp_path / "x.txt", "-m", "bayes-svi", "--dim", "2", "--min-count", "1", "-o", tmp_path / "v")
    firth(*command, "--stream", tmp_path / "none" / "s").complains("none is not a folder", "create it first")
    done = firth(*command, "--stream", tmp_path / "s", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["seconds"] > 0
    assert facts["peak_bytes"] > 0
