"""Plots of the Bayesian study show what they should."""

from __future__ import annotations

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary

pytest.importorskip("matplotlib")

from studies import bayes_plots as plots

PNG = b"\x89PNG"


def test_bounds_and_relevance(tmp_path):
    path = plots.plot_bounds({"d = 2": [-5, -3, -2.5], "d = 10": [-4, -2, -1]}, tmp_path / "bounds.png")
    assert path.read_bytes()[:4] == PNG
    path = plots.plot_bound_by_dimension({"seed 1": {2: -9.0, 10: -3.0, 20: -3.5}}, tmp_path / "by.png", marked=10)
    assert path.read_bytes()[:4] == PNG
    path = plots.plot_relevance({"10": [0.1, 0.2, 6.5], "$a_{$": [0.1, 0.3]}, tmp_path / "hinton.png")
    assert path.read_bytes()[:4] == PNG


def test_a_gap_separates_live_from_switched_off_dimensions():
    assert plots._widest_gap(np.array([-2.0, -1.0, 6.5, 6.6])) == -1.0
    assert plots._widest_gap(np.array([-2.0, -1.0])) == -1.0


def test_ellipses_of_any_dimension(tmp_path):
    for d in (1, 2, 5):
        extras = {"variances": np.full((3, d), 0.1, dtype=np.float32)}
        matrix = np.random.default_rng(d).standard_normal((3, d)).astype(np.float32)
        # words are not formulas
        vectors = Vectors(matrix, Vocabulary(["a", "b", "$a_{$"]), extras=extras)
        path = plots.plot_ellipses(vectors, ["a", "b", "$a_{$"], tmp_path / f"{d}.png")
        assert path.read_bytes()[:4] == PNG
    with pytest.raises(FirthianError, match="a map needs at least two words, got 1"):
        plots.plot_ellipses(vectors, ["a"], tmp_path / "x.png")
    with pytest.raises(FirthianError, match="is not a folder"):
        plots.plot_bounds({"a": [1.0]}, tmp_path / "no" / "x.png")
