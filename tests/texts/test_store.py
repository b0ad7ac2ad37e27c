"""Encoders are saved beside their vectors; damaged and replaced parts are reported in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from firthian import Encoder, FirthianError, Vectors, Vocabulary
from firthian.texts.store import is_encoder

TEXTS = ["tea cup", "coffee mug tea", "mug"]


@pytest.fixture
def encoder() -> Encoder:
    vectors = Vectors(
        np.random.default_rng(1).normal(size=(4, 5)), Vocabulary(["tea", "cup", "mug", "coffee"], [9, 5, 2, 1])
    )
    return Encoder(vectors, "sif", smoothing=0.01, normalize=True).fit(TEXTS)


def test_a_saved_encoder_encodes_the_same(encoder, tmp_path, folder_bytes):
    encoder.save(tmp_path / "encoder")
    again = Encoder.load(tmp_path / "encoder")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    assert (again.options, again.fitted) == (encoder.options, True)
    assert is_encoder(tmp_path / "encoder")
    assert not is_encoder(tmp_path)
    again.save(tmp_path / "again")
    assert folder_bytes(tmp_path / "again") == folder_bytes(tmp_path / "encoder")
    np.testing.assert_array_equal(Vectors.load(tmp_path / "encoder").matrix, encoder.vectors.matrix)


def test_refuses_damage_and_other_vectors(encoder, tmp_path):
    encoder.save(tmp_path / "encoder")
    folder = tmp_path / "encoder"
    with pytest.raises(FirthianError, match="already exists"):
        encoder.save(folder)
    other = Encoder(encoder.vectors.subset(3), "mean")
    other.save(tmp_path / "other")
    kept = (folder / "vectors.json").read_bytes()
    (folder / "vectors.json").write_bytes((tmp_path / "other" / "vectors.json").read_bytes())
    with pytest.raises(FirthianError, match="are not those of its encoder: fit and save it again"):
        Encoder.load(folder)
    (folder / "vectors.json").write_bytes(kept)
    tensors = (folder / "encoder.safetensors").read_bytes()
    for damaged in (tensors[:-1], tensors[:-1] + bytes([tensors[-1] ^ 1]), b""):
        (folder / "encoder.safetensors").write_bytes(damaged)
        with pytest.raises(FirthianError, match="is damaged"):
            Encoder.load(folder)
    (folder / "encoder.safetensors").write_bytes(tensors)
    record = json.loads((folder / "encoder.json").read_text())
    (folder / "encoder.json").write_text(json.dumps({**record, "fitted": False}))
    with pytest.raises(FirthianError, match="checksum"):
        Encoder.load(folder)
    with pytest.raises(FirthianError, match=r"no encoder\.json"):
        Encoder.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.ones(3)},
        {"weights": -np.ones(4)},
        {"center": np.full(5, np.nan, np.float32)},
        {"map": np.ones((4, 5), np.float32)},
        {"map": np.ones(5, np.float32)},
        {"map": np.ones((5, 5))},
    ],
)
def test_refuses_arrays_that_do_not_fit(encoder, tmp_path, change):
    from firthian.texts.store import ENCODER

    encoder.save(tmp_path / "encoder")
    artifact = ENCODER.read(tmp_path / "encoder")
    arrays = {name: np.array(array) for name, array in artifact.arrays.items()}
    ENCODER.write(tmp_path / "encoder", artifact.record, arrays | change)
    with pytest.raises(FirthianError, match="is damaged"):
        Encoder.load(tmp_path / "encoder")
