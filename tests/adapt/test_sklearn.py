"""scikit-learn's own tests of estimators."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("sklearn")
from sklearn.utils.estimator_checks import estimator_checks_generator

from firthian.adapt import PAClassifier, RPAClassifier

NO_INTERCEPT = {
    "check_class_weight_classifiers": "the model has no intercept, as in the paper: planes through the origin cannot put "
    "nine tenths of a cloud around it on one side, whatever the weights"
}

ESTIMATORS = (RPAClassifier(), RPAClassifier(multi_class="shared", one_hot=1.0), PAClassifier(), PAClassifier("onehot"))


def checks() -> list[Any]:
    """Pairs of an estimator and a check; scikit-learn 1.6 gives pytest's own function a generator, which it refuses."""
    return [
        pair
        for estimator in ESTIMATORS
        for pair in estimator_checks_generator(estimator, expected_failed_checks=NO_INTERCEPT, mark="xfail")
    ]


def name_of(value: Any) -> str:
    """Name an estimator by its parameters, a check by its function."""
    return value.func.__name__ if hasattr(value, "func") else repr(value)


@pytest.mark.parametrize(("estimator", "check"), checks(), ids=name_of)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        # Some checks are skipped with a warning where a package (pandas, array-api) is absent.
        warnings.simplefilter("ignore")
        check(estimator)
