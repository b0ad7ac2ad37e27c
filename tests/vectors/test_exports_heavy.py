"""Exports in libraries too large for every run (make test-heavy installs them)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firthian import Vectors, Vocabulary
from firthian.vectors.formats import write_vectors

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

WORDS = ["the", "tea", "cup", "milk's", "well-known", "a", "σας", "zero", "New York"]
TEXTS = ["Tea, THE cup of milk’s tea", "zebra", "", "ΣΑΣ a well‑known a", "zero New York"]


@pytest.fixture
def vectors() -> Vectors:
    matrix = np.random.default_rng(1).normal(size=(len(WORDS), 7)).astype(np.float32)
    matrix[WORDS.index("zero")] = 0
    return Vectors(matrix, Vocabulary(WORDS, np.arange(len(WORDS), 0, -1)))


@pytest.mark.parametrize("format", ["sentence-transformers", "model2vec"])
def test_sentence_transformers_encodes_as_document_vector(format: str, vectors: Vectors, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    write_vectors(vectors, tmp_path / "v", format)
    model = library.SentenceTransformer(str(tmp_path / "v"), device="cpu")
    expected = np.array([vectors.document_vector(text) for text in TEXTS])
    np.testing.assert_allclose(model.encode(TEXTS), expected, rtol=1e-5, atol=1e-6)
    # What it saves again is the same model.
    model.save(str(tmp_path / "again"))
    again = library.SentenceTransformer(str(tmp_path / "again"), device="cpu")
    np.testing.assert_array_equal(again.encode(TEXTS), model.encode(TEXTS))


def test_tensorboard_reads_the_projector_files(vectors: Vectors, tmp_path: Path) -> None:
    plugin = pytest.importorskip("tensorboard.plugins.projector.projector_plugin")
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    vectors.to_projector(tmp_path / "v")
    config_path = tmp_path / "v" / "projector_config.pbtxt"
    (table,) = text_format.Parse(config_path.read_text(), ProjectorConfig()).embeddings
    path = plugin._rel_to_abs_asset_path(table.tensor_path, str(config_path))
    np.testing.assert_array_equal(plugin._read_tensor_tsv_file(path), vectors.matrix)
    metadata = Path(plugin._rel_to_abs_asset_path(table.metadata_path, str(config_path)))
    assert len(metadata.read_text("utf-8").splitlines()) == len(vectors) + 1


def test_embedding_atlas_takes_the_file(vectors: Vectors, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("embedding_atlas")
    from click.testing import CliRunner
    from embedding_atlas import cli

    served = {}
    monkeypatch.setattr(cli, "make_server", lambda source, **_: served.update(source=source))
    monkeypatch.setattr(cli.uvicorn, "run", lambda *_, **__: None)
    vectors.to_atlas(tmp_path / "v.parquet")
    arguments = [str(tmp_path / "v.parquet"), "--text", "word", "--x", "x", "--y", "y"]
    outcome = CliRunner().invoke(cli.main, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    table = served["source"].dataset
    assert table["word"].tolist() == WORDS
    np.testing.assert_array_equal(np.stack(table["vector"]), vectors.matrix)
    assert np.isfinite(table[["x", "y"]].to_numpy()).all()
