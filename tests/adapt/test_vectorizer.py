"""``TextVectorizer`` in scikit-learn: its own checks, pipelines, column transformers, names of columns, cloning."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from firthian import Encoder, Vectors, Vocabulary
from firthian.adapt import TextVectorizer

WORDS = ["tea", "milk", "cup", "goal", "ball", "team", "the"]
VECTORS = Vectors(np.random.default_rng(1).normal(size=(7, 4)), Vocabulary(WORDS, [5, 4, 3, 5, 4, 3, 20]))
TEXTS = [
    *["the tea, the milk, a cup of tea with milk", "a cup of tea and milk and tea and milk", "tea milk cup " * 3] * 4,
    *[
        "the goal, the ball, the team, a goal, a ball",
        "a ball in the goal of the team of the ball",
        "team ball goal " * 3,
    ]
    * 4,
]
LABELS = ["tea"] * 12 + ["goal"] * 12


#: Those of scikit-learn's checks that pass no matrix of numbers; it leaves them to estimators of texts themselves.
CHECKS = (
    "check_estimator_cloneable", "check_estimator_repr", "check_no_attributes_set_in_init", "check_get_params_invariance",
    "check_set_params", "check_parameters_default_constructible", "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order", "check_valid_tag_types", "check_estimator_tags_renamed",
)  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learn_checks(name: str) -> None:
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("TextVectorizer", TextVectorizer(VECTORS) if "default" not in name else TextVectorizer())


def test_is_the_encoder():
    made = TextVectorizer(VECTORS, method="sif", smoothing=0.01, components=2, normalize=True, n_jobs=2).fit(TEXTS)
    encoder = Encoder(VECTORS, "sif", smoothing=0.01, components=2, normalize=True).fit(TEXTS)
    np.testing.assert_array_equal(made.transform(TEXTS), encoder.encode(TEXTS))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).transform(TEXTS), encoder.encode(TEXTS))
    copied = clone(made)
    assert {name: value for name, value in copied.get_params().items() if name != "vectors"} == {
        name: value for name, value in made.get_params().items() if name != "vectors"
    }
    with pytest.raises(NotFittedError):
        copied.transform(TEXTS)
    np.testing.assert_array_equal(copied.fit(TEXTS).transform(TEXTS), encoder.encode(TEXTS))


def test_in_a_pipeline_and_a_search(tmp_path):
    VECTORS.save(tmp_path / "vectors")
    steps = make_pipeline(TextVectorizer(str(tmp_path / "vectors"), normalize=True), LogisticRegression())
    search = GridSearchCV(steps, {"textvectorizer__method": ["mean", "spans", "topics"]}, cv=2).fit(TEXTS, LABELS)
    assert search.predict(["tea with milk", "the ball"]).tolist() == ["tea", "goal"]


def test_in_a_column_transformer_with_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"review": TEXTS, "stars": np.arange(24.0)}, index=np.arange(24) + 100)
    columns = ColumnTransformer([("text", TextVectorizer(VECTORS), "review")], remainder="passthrough")
    table = columns.set_output(transform="pandas").fit_transform(frame)
    assert list(table.columns) == [*(f"text__textvectorizer{n}" for n in range(4)), "remainder__stars"]
    assert table.index.tolist() == frame.index.tolist()
    expected = TextVectorizer(VECTORS).fit_transform(TEXTS)
    np.testing.assert_array_equal(table.iloc[:, :4], expected)
    named = ColumnTransformer([("text", TextVectorizer(VECTORS), ["review"])]).fit_transform(frame)
    np.testing.assert_array_equal(named, expected)
    with pytest.raises(ValueError, match=r"a table of shape \(24, 2\)"):
        TextVectorizer(VECTORS).fit(frame)
    frame.loc[103, "review"] = None
    with pytest.raises(ValueError, match="text 4 is missing"):
        TextVectorizer(VECTORS).fit(frame["review"])


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"method": "spam"}, TEXTS, "must be one of"),
        ({"n_jobs": 0}, TEXTS, "workers"),
        ({"vectors": None}, TEXTS, "is missing"),
        ({"vectors": "nowhere"}, TEXTS, "nowhere does not exist"),
        ({}, "one text", "expected a list of texts"),
        ({}, [], "there are no texts"),
        ({}, 3, "expected texts, got a int"),
    ],
)
def test_refuses_mistakes_as_value_errors(options, texts, message):
    with pytest.raises(ValueError, match=message):
        TextVectorizer(**{"vectors": VECTORS, **options}).fit(texts)
