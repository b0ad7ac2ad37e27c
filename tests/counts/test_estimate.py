"""A dry run tells within a factor of two what counting will find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.counts import estimate as module
from firthian.counts.estimate import estimate


def test_a_made_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 1 << 20)
    generator = np.random.default_rng(0)
    corpus = tmp_path / "corpus.txt"
    words = (generator.zipf(1.3, (60_000, 15)) % 200_000).astype(str)
    corpus.write_text("\n".join("w" + " w".join(line) for line in words))
    guess = estimate(corpus, window=2)
    counts = ft.count(corpus, window=2)
    assert not guess.exact
    assert guess.sample_bytes < guess.text_bytes / 2
    assert guess.tokens == pytest.approx(counts.record["corpus"]["tokens"], rel=0.1)
    assert 0.5 < guess.words / len(counts.vocabulary) < 2
    assert 0.5 < guess.pairs / counts.pairs < 2


@pytest.mark.realdata
@pytest.mark.slow
def test_wikipedia(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 4 << 20)
    corpus = real_data / "corpora" / "enwiki-raw20mb.txt.xz"
    if not corpus.exists():
        pytest.skip("enwiki-raw20mb.txt.xz is not here")
    guess = estimate(corpus, window=5)
    counts = ft.count(corpus, window=5)
    assert 0.5 < guess.tokens / counts.record["corpus"]["tokens"] < 2
    assert 0.5 < guess.words / len(counts.vocabulary) < 2
    assert 0.5 < guess.pairs / counts.pairs < 2
