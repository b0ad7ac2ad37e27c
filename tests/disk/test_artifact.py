"""Artifacts appear whole or not at all, and damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.disk.artifact import (
    ArrayWriter,
    check_target,
    new_folder,
    read_array,
    read_manifest,
    write_array,
    write_file,
    write_manifest,
)


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def artifact(path: Path, text: str = "old") -> Path:
    with new_folder(path, force=True) as folder:
        write_manifest(folder / "counts.json", "counts", 1, {"text": text})
    return path


def test_a_folder_appears_only_at_the_end(tmp_path: Path) -> None:
    with new_folder(tmp_path / "new") as folder:
        (folder / "x").write_text("x")
        assert not (tmp_path / "new").exists()
    assert names(tmp_path) == ["new"]
    assert names(tmp_path / "new") == ["x"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    def write() -> None:
        with new_folder(tmp_path / "new") as folder:
            (folder / "x").write_text("x")
            raise error

    with pytest.raises(ft.FirthianError if error is OSError else error):
        write()
    assert names(tmp_path) == []


def test_the_old_one_stays_when_writing_the_new_one_fails(tmp_path: Path) -> None:
    artifact(tmp_path / "a")

    def write() -> None:
        with new_folder(tmp_path / "a", force=True) as folder:
            (folder / "x").write_text("x")
            raise OSError(28, "No space left on device")

    with pytest.raises(ft.FirthianError, match="disk is full"):
        write()
    assert names(tmp_path) == ["a"]
    assert read_manifest(tmp_path / "a" / "counts.json", "counts", 1)["text"] == "old"


def test_the_old_one_stays_when_the_last_rename_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact(tmp_path / "a")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if ".new-" in self.name:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ft.FirthianError, match="Input/output error"), new_folder(tmp_path / "a", force=True):
        pass
    assert names(tmp_path) == ["a"]
    assert read_manifest(tmp_path / "a" / "counts.json", "counts", 1)["text"] == "old"


def test_force_replaces_only_our_own_folders(tmp_path: Path) -> None:
    artifact(tmp_path / "a")
    artifact(tmp_path / "a", "new")
    assert read_manifest(tmp_path / "a" / "counts.json", "counts", 1)["text"] == "new"
    with pytest.raises(ft.FirthianError, match="exists already"), new_folder(tmp_path / "a"):
        pass

    (tmp_path / "empty").mkdir()
    artifact(tmp_path / "empty")

    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")
    (theirs / "model.json").write_text('{"layers": 3}')
    with pytest.raises(ft.FirthianError, match="Firthian did not write"):
        artifact(theirs)
    assert names(theirs) == ["model.json", "thesis.tex"]

    file = tmp_path / "essay.txt"
    file.write_text("mine")
    with pytest.raises(ft.FirthianError, match="is a file"):
        artifact(file)
    assert file.read_text() == "mine"
    assert names(tmp_path) == ["a", "empty", "essay.txt", "theirs"]


def test_a_link_is_replaced_and_not_what_it_points_to(tmp_path: Path) -> None:
    artifact(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    artifact(tmp_path / "link", "new")
    assert read_manifest(tmp_path / "real" / "counts.json", "counts", 1)["text"] == "old"
    assert read_manifest(tmp_path / "link" / "counts.json", "counts", 1)["text"] == "new"


def test_a_target_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ft.FirthianError, match="is not a folder: make it first"):
        check_target(tmp_path / "missing" / "x")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"one")
    write_file(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"two"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_arrays(tmp_path: Path, size: int) -> None:
    array = np.arange(size, dtype="<i4")
    entry = write_array(tmp_path / "a.npy", array)
    with ArrayWriter(tmp_path / "b.npy", "<i4") as writer:
        for piece in np.array_split(array, 3):
            writer.append(piece)
        assert writer.close() == entry
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    for name in ("a", "b"):
        assert np.array_equal(read_array(tmp_path / f"{name}.npy", entry), array)
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), array)


def test_manifests(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    write_manifest(path, "counts", 1, {"text": "é"})
    assert read_manifest(path, "counts", 1) == {"kind": "counts", "version": 1, "text": "é"}
    with pytest.raises(ft.FirthianError, match="has version 1, this program reads version 2"):
        read_manifest(path, "counts", 2)
    with pytest.raises(ft.FirthianError, match="does not describe vectors"):
        read_manifest(path, "vectors", 1)
    with pytest.raises(ft.FirthianError, match="holds no"):
        read_manifest(tmp_path / "none.json", "counts", 1)
    body = json.loads(path.read_text())
    body["text"] = "e"
    path.write_text(json.dumps(body))
    with pytest.raises(ft.FirthianError, match="checksum does not fit"):
        read_manifest(path, "counts", 1)
    path.write_text("[" * 100_000)
    with pytest.raises(ft.FirthianError, match="is damaged"):
        read_manifest(path, "counts", 1)


def test_every_flipped_byte_of_counts_is_noticed(tmp_path: Path) -> None:
    ft.count(["to be or not to be"] * 9, tmp_path / "c", min_count=1, weighting="harmonic", window=3)
    ft.Counts.load(tmp_path / "c")
    generator = np.random.default_rng(0)
    for file in sorted((tmp_path / "c").iterdir()):
        good = file.read_bytes()
        places = generator.integers(0, len(good), 25).tolist()
        for place in [0, len(good) - 1, *places]:
            data = bytearray(good)
            data[place] ^= int(generator.integers(1, 256))
            file.write_bytes(data)
            if _same_meaning(file, good, bytes(data)):
                continue
            with pytest.raises(ft.FirthianError):
                ft.Counts.load(tmp_path / "c")
        for cut in (0, len(good) // 2, len(good) - 1):
            file.write_bytes(good[:cut])
            if not _same_meaning(file, good, good[:cut]):
                with pytest.raises(ft.FirthianError):
                    ft.Counts.load(tmp_path / "c")
        file.unlink()
        with pytest.raises(ft.FirthianError):
            ft.Counts.load(tmp_path / "c")
        file.write_bytes(good)
    ft.Counts.load(tmp_path / "c")


def _same_meaning(file: Path, one: bytes, two: bytes) -> bool:
    """White space in JSON says nothing."""
    try:
        return file.suffix == ".json" and bool(json.loads(one) == json.loads(two))
    except ValueError:
        return False
