from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from firthian import FirthianError, Vectors, Vocabulary, load
from firthian.disk.artifact import read_manifest, write_manifest
from firthian.vectors.provenance import Provenance

WORDS = Vocabulary(["the", "New York", "naïve", ""], [4, 3, 2, 1])


def make(sparse: bool = False) -> Vectors:
    matrix = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    extras = {"bias": np.arange(4.0), "alive": np.array([True, False, True]), "none": np.empty((0, 2), np.float32)}
    contexts = None if sparse else matrix + 1
    return Vectors(
        scipy.sparse.csr_array(np.where(matrix > 0, matrix, 0)) if sparse else matrix,
        WORDS, contexts=contexts, extras=extras,
        provenance=Provenance(recipe="test", seed=1), state={"window": 5, "tokenizer": None},
    )  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
def test_everything_but_measurements_comes_back(tmp_path: Path, sparse: bool) -> None:
    vectors = make(sparse)
    vectors.measured = {"seconds": 3.0}
    vectors.save(tmp_path / "v")
    again = Vectors.load(tmp_path / "v", verify=True)
    assert again.vocabulary == vectors.vocabulary
    assert again.provenance == vectors.provenance
    assert again.state == vectors.state
    assert again.measured == {}
    if sparse:
        np.testing.assert_array_equal(again.matrix.toarray(), vectors.matrix.toarray())
    else:
        np.testing.assert_array_equal(again.matrix, vectors.matrix)
        np.testing.assert_array_equal(again.contexts, vectors.contexts)
        assert isinstance(again.matrix.base.base, np.memmap), "opened without reading it"
        assert again.matrix.ctypes.data % 4 == 0
    for name, array in vectors.extras.items():
        np.testing.assert_array_equal(again.extras[name], array)
        assert again.extras[name].dtype == array.dtype


def test_same_vectors_same_bytes(tmp_path: Path, folder_bytes) -> None:
    make().save(tmp_path / "a")
    make().save(tmp_path / "b")
    Vectors.load(tmp_path / "a").save(tmp_path / "c")
    assert folder_bytes(tmp_path / "a") == folder_bytes(tmp_path / "b") == folder_bytes(tmp_path / "c")
    assert set(folder_bytes(tmp_path / "a")) == {"vectors.json", "vectors.safetensors", "words.txt"}


def test_the_container_is_true_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    vectors = make()
    vectors.save(tmp_path / "v")
    tensors = load_file(tmp_path / "v" / "vectors.safetensors")
    np.testing.assert_array_equal(tensors["matrix"], vectors.matrix)
    np.testing.assert_array_equal(tensors["extras.alive"], vectors.extras["alive"])


def test_an_existing_target_is_kept_without_force(tmp_path: Path) -> None:
    make().save(tmp_path / "v")
    with pytest.raises(FirthianError, match="already exists"):
        make().save(tmp_path / "v")
    make(sparse=True).save(tmp_path / "v", force=True)
    assert scipy.sparse.issparse(load(tmp_path / "v").matrix)


def test_a_mapped_folder_can_replace_itself(tmp_path: Path) -> None:
    make().save(tmp_path / "v")
    load(tmp_path / "v").normalized().save(tmp_path / "v", force=True)
    np.testing.assert_allclose(np.linalg.norm(load(tmp_path / "v").matrix, axis=1), 1, rtol=1e-6)


def test_words_that_are_not_lines_are_refused(tmp_path: Path) -> None:
    for word, why in (("a\nb", "line break"), ("\ud800", "not valid text")):
        with pytest.raises(FirthianError, match=why):
            Vectors(np.ones((1, 1)), Vocabulary([word])).save(tmp_path / "v")
    with pytest.raises(FirthianError, match="contains a word twice"):
        Vectors(np.ones((2, 1)), Vocabulary(["a", "a"])).save(tmp_path / "v")
    with pytest.raises(FirthianError, match="cannot save the array"):
        Vectors(np.ones((1, 1)), Vocabulary(["a"]), extras={"x": np.array(["text"])}).save(tmp_path / "v")
    assert list(tmp_path.iterdir()) == []


@given(st.data())
def test_damage_is_noticed_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp() / "damage"
    shutil.rmtree(folder, ignore_errors=True)
    make(sparse=data.draw(st.booleans())).save(folder)
    path = folder / data.draw(st.sampled_from(["vectors.json", "vectors.safetensors", "words.txt"]))
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    path.write_bytes(content)
    try:
        Vectors.load(folder, verify=True)
    except FirthianError:
        return
    # Only the spelling of JSON may change unnoticed: white space, and never a value.
    assert path.name == "vectors.json" or (path.name == "vectors.safetensors" and at < 2048)


@pytest.mark.parametrize(
    "header",
    [
        b"{" * 100_000,
        b'{"matrix":' * 50_000,
        json.dumps({"matrix": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}).encode(),
        json.dumps({"matrix": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}}).encode(),
        json.dumps({"matrix": []}).encode(),
        b"[]",
    ],
)
def test_hostile_headers_are_refused(tmp_path: Path, header: bytes) -> None:
    make().save(tmp_path / "v")
    path = tmp_path / "v" / "vectors.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(FirthianError, match="damaged"):
        Vectors.load(tmp_path / "v")
    path.write_bytes((2**60).to_bytes(8, "little") + header)
    with pytest.raises(FirthianError, match="damaged"):
        Vectors.load(tmp_path / "v")


def test_sparse_parts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    vectors = make(sparse=True)
    vectors.matrix.indices[0] = 7
    vectors.save(tmp_path / "v")
    with pytest.raises(FirthianError, match="damaged"):
        Vectors.load(tmp_path / "v", verify=False)


def test_a_manifest_may_not_promise_other_shapes(tmp_path: Path) -> None:
    make().save(tmp_path / "v")
    path = tmp_path / "v" / "vectors.json"
    body = read_manifest(path, "vectors")
    del body["kind"], body["version"]
    body["shapes"]["matrix"]["shape"] = [4, 2]
    write_manifest(path, "vectors", body)
    with pytest.raises(FirthianError, match="damaged"):
        Vectors.load(tmp_path / "v")
