"""What the recipe ``svd`` reaches with its own defaults on a real corpus."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import firthian as ft
from firthian.datasets import data_folder
from tests.learn.texts import wikipedia

#: The first part of the corpus that is read: 17 million tokens.
BYTES = 100_000_000


@pytest.mark.slow
@pytest.mark.realdata
def test_svd_on_men(tmp_path):
    corpus = wikipedia(tmp_path / "enwiki17m.txt", BYTES)
    folder = data_folder()
    vectors = ft.train(corpus, "svd", vector_size=150, counting={"min_count": 50})
    matrix = vectors.matrix / np.maximum(np.linalg.norm(vectors.matrix, axis=1, keepdims=True), 1e-12)
    ours, people = [], []
    for line in (folder / "eval" / "similarity" / "men.txt").read_text().splitlines():
        one, two, score = line.split()
        if one in vectors.vocabulary and two in vectors.vocabulary:
            ours.append(matrix[vectors.vocabulary[one]] @ matrix[vectors.vocabulary[two]])
            people.append(float(score))
    assert len(people) > 2000
    assert scipy.stats.spearmanr(ours, people).statistic >= 0.70
