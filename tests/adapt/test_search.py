"""Cross-validation: the right parameters win, folds are fair, what is held out stays unseen."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
from firthian.adapt import PAClassifier, RPAClassifier, search_parameters
from firthian.adapt.checks import ParameterError
from firthian.adapt.search import stratified_folds


def test_folds_have_the_mixture_of_the_whole():
    codes = np.repeat([0, 1, 2], [50, 30, 7])
    parts = stratified_folds(codes, ["a", "b", "c"], 5, 1)
    for fold in range(5):
        sizes = np.bincount(codes[parts == fold], minlength=3)
        assert abs(sizes - np.array([10, 6, 1.4])).max() <= 1
    assert (parts != stratified_folds(codes, ["a", "b", "c"], 5, 2)).any()


@pytest.mark.parametrize("race", [True, False])
def test_the_useful_setting_wins(three_topics, race):
    texts, labels, _, _ = three_topics
    found = search_parameters(
        RPAClassifier("random:10"), texts, labels, {"C": [1e-9, 0.1], "lam": [0.01, 100.0], "passes": [1, 3]},
        folds=5, race=race, workers=1,
    )  # fmt: skip
    assert found.best["C"] == 0.1
    assert found.accuracy > 0.9
    assert len(found.table) == 8
    done = [row["folds"] for row in found.table]
    assert all(folds == 5 for folds in done) or race
    assert max(done) == 5


def test_workers_change_nothing_and_all_folds_are_judged(two_topics):
    texts, labels, _, _ = two_topics
    runs = [
        search_parameters(
            PAClassifier("onehot"), texts, labels, {"C": [1e-3, 1.0], "passes": [1, 2]}, folds=4, workers=n
        )
        for n in (1, 3)
    ]
    assert runs[0] == runs[1]


def test_noise_is_judged_as_noise():
    # Labels that have nothing to do with the texts: if held-out labels leaked, the accuracy would be high.
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in random.integers(0, 400, 12)) for _ in range(200)]
    labels = random.choice(["a", "b"], 200).tolist()
    found = search_parameters(RPAClassifier("random:20"), texts, labels, {"C": [0.1], "passes": [5]}, folds=5)
    assert 0.35 < found.accuracy < 0.65
    assert RPAClassifier("random:20", C=0.1).fit(texts, labels).score(texts, labels) > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_the_winner_of_a_race_has_seen_every_fold(seed):
    # On noise, the order of the settings changes from round to round.
    random = np.random.default_rng(seed)
    texts = [" ".join(f"w{n}" for n in random.integers(0, 60, 6)) for _ in range(60)]
    labels = random.choice(["a", "b"], 60).tolist()
    grid = {"C": [10.0**k for k in range(-4, 4)], "passes": [1, 2]}
    found = search_parameters(PAClassifier("onehot"), texts, labels, grid, folds=6)
    best = max(row["accuracy"] for row in found.table if row["folds"] == 6)
    assert found.accuracy == best


def test_representation_can_be_searched(two_topics):
    texts, labels, _, _ = two_topics
    grid = {"weighting": ["binary", "tfidf"], "one_hot": [0.0, 1.0], "passes": [1]}
    assert set(search_parameters(RPAClassifier("random:5"), texts, labels, grid, folds=3).best) == set(grid)


def test_the_estimator_is_left_alone(two_topics):
    texts, labels, _, _ = two_topics
    estimator = PAClassifier("onehot")
    search_parameters(estimator, texts, labels, {"C": [0.5]}, folds=3)
    assert vars(estimator) == vars(PAClassifier("onehot"))


@pytest.mark.parametrize(
    ("labels", "grid", "folds", "says"),
    [
        (["a", "a", "a", "b"], {"C": [1.0]}, 2, "label 'b' has one example"),
        (["a", "a", "b", "b"], {"C": [1.0]}, 1, "1 folds for 4 examples"),
        (["a", "a", "b", "b"], {"C": [1.0]}, 5, "5 folds for 4 examples"),
        (["a", "a", "b", "b"], {"min_count": [1]}, 2, "min_count cannot be searched"),
        (["a", "a", "b", "b"], {"C": []}, 2, "no value for C"),
        (["a", "a", "b", "b"], {"C": 5}, 2, "needs a list of values for C, got 5"),
        (["a", "a", "b", "b"], {"C": [0.0]}, 2, "C must be larger"),
        (["a", "a", "b", "b"], {"passes": [0, 5]}, 2, "passes must be an integer of at least 1, got 0"),
        (["a", "a", "b", "b"], {"passes": [2.5]}, 2, "passes must be an integer of at least 1, got 2.5"),
        (["a", "a", "a", "a"], {"C": [1.0]}, 2, "only one class, 'a'"),
    ],
)
def test_what_cannot_be_searched(labels, grid, folds, says):
    with pytest.raises(ParameterError, match=says):
        search_parameters(PAClassifier("onehot"), ["x y", "x z", "y z", "z w"], labels, grid, folds=folds)


def test_a_number_of_passes_named_twice_is_tried_once(two_topics):
    found = search_parameters(PAClassifier("onehot"), two_topics[0], two_topics[1], {"passes": [5, 1, 5]}, folds=2)
    assert [row["passes"] for row in found.table] == [1, 5]
