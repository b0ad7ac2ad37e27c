"""Artifacts appear whole or not at all, and damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.disk.artifact import VERSION, ArtifactKind, read_manifest, write_manifest
from firthian.disk.atomic import check_target, new_folder, write_file
from firthian.disk.tensors import TensorWriter, read_tensors, write_tensors

THINGS = ArtifactKind("things", "counts.json")


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def artifact(path: Path, text: str = "old") -> Path:
    with new_folder(path, force=True) as folder:
        write_manifest(folder / "counts.json", "counts", {"text": text})
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
    assert read_manifest(tmp_path / "a" / "counts.json", "counts")["text"] == "old"


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
    assert read_manifest(tmp_path / "a" / "counts.json", "counts")["text"] == "old"


def test_force_replaces_only_our_own_folders(tmp_path: Path) -> None:
    artifact(tmp_path / "a")
    artifact(tmp_path / "a", "new")
    assert read_manifest(tmp_path / "a" / "counts.json", "counts")["text"] == "new"
    with pytest.raises(ft.FirthianError, match="already exists"), new_folder(tmp_path / "a"):
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
    assert read_manifest(tmp_path / "real" / "counts.json", "counts")["text"] == "old"
    assert read_manifest(tmp_path / "link" / "counts.json", "counts")["text"] == "new"


def test_a_target_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ft.FirthianError, match="is not a folder: create it first"):
        check_target(tmp_path / "missing" / "x")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"one")
    write_file(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"two"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_arrays(tmp_path: Path, size: int) -> None:
    from safetensors.numpy import load_file

    array = np.arange(size, dtype="<i4")
    table = write_tensors(tmp_path / "whole.safetensors", {"a": array})
    with TensorWriter(tmp_path, "a", "<i4") as writer:
        for piece in np.array_split(array, 3):
            writer.append(piece)
        assert writer.close() == table
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()
    assert np.array_equal(read_tensors(tmp_path / "a.safetensors", table)["a"], array)
    assert np.array_equal(load_file(tmp_path / "a.safetensors")["a"], array)


def test_the_longest_array_still_fits_its_header(tmp_path: Path) -> None:
    with TensorWriter(tmp_path, "a" * 30, "<f8") as writer:
        writer.append(np.arange(3.0))
        writer.size = 2**62
        table = writer.close()
    assert writer.path.read_bytes()[256:] == np.arange(3.0).tobytes()
    with pytest.raises(ft.FirthianError, match="is damaged"):
        read_tensors(writer.path, table)


def test_a_folder_of_arrays(tmp_path: Path) -> None:
    arrays = {"matrix": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False]), "none": np.zeros((0, 4))}
    with TensorWriter(tmp_path, "long", "<i8") as writer:
        writer.append(np.arange(5))
        THINGS.write(tmp_path, {"text": "é"}, arrays, {writer.path.name: writer.close()})
    artifact = THINGS.read(tmp_path)
    assert artifact.record == {"kind": "things", "version": VERSION, "text": "é"}
    assert artifact.arrays.keys() == {"matrix", "flags", "none", "long"}
    assert all(np.array_equal(artifact.arrays[name], array) for name, array in arrays.items())
    (tmp_path / "long.safetensors").unlink()
    with pytest.raises(ft.FirthianError, match="no such file"):
        THINGS.read(tmp_path)


@pytest.mark.parametrize("files", [[], {"../x.safetensors": {}}, {"a": [1]}, {"a": {"x": 1}, "counts.safetensors": {}}])
def test_a_table_of_files_that_makes_no_sense(tmp_path: Path, files: object) -> None:
    write_tensors(tmp_path / "counts.safetensors", {})
    write_tensors(tmp_path / "a", {})
    write_manifest(tmp_path / "counts.json", "things", {"files": files})
    with pytest.raises(ft.FirthianError, match="is damaged"):
        THINGS.read(tmp_path)


def test_an_artifact_in_one_file(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    path = tmp_path / "x"
    THINGS.write_one_file(path, {"text": "é"}, {"a": np.arange(4), "b": np.ones(3, dtype=np.float32)})
    assert names(tmp_path) == ["x"]
    artifact = THINGS.read_one_file(path)
    assert artifact.record["text"] == "é"
    assert np.array_equal(artifact.arrays["a"], np.arange(4))
    assert np.array_equal(load_file(path)["b"], np.ones(3))
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(ft.FirthianError):
            THINGS.read_one_file(path)


def test_manifests(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    write_manifest(path, "counts", {"text": "é"})
    assert read_manifest(path, "counts") == {"kind": "counts", "version": VERSION, "text": "é"}
    with pytest.raises(ft.FirthianError, match="does not describe vectors"):
        read_manifest(path, "vectors")
    with pytest.raises(ft.FirthianError, match=r"it has no none\.json"):
        read_manifest(tmp_path / "none.json", "counts")
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "text": "e"}))
    with pytest.raises(ft.FirthianError, match="checksum mismatch"):
        read_manifest(path, "counts")
    path.write_text(json.dumps({**body, "version": 1}))
    with pytest.raises(ft.FirthianError, match=r"was written by container version 1, .*: make it again"):
        read_manifest(path, "counts")
    path.write_text("[" * 100_000)
    with pytest.raises(ft.FirthianError, match="is damaged"):
        read_manifest(path, "counts")


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
