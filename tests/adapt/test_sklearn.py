"""scikit-learn's own tests of estimators."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("sklearn")
from sklearn.utils.estimator_checks import parametrize_with_checks

from firthian.adapt import PAClassifier, RPAClassifier

NO_INTERCEPT = {
    "check_class_weight_classifiers": "the model has no intercept, as in the paper: planes through the origin cannot put "
    "nine tenths of a cloud around it on one side, whatever the weights"
}


@parametrize_with_checks(
    [RPAClassifier(), RPAClassifier(multi_class="shared", one_hot=1.0), PAClassifier(), PAClassifier("onehot")],
    expected_failed_checks=lambda estimator: NO_INTERCEPT,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        # Some checks are skipped with a warning where a package (pandas, array-api) is absent.
        warnings.simplefilter("ignore")
        check(estimator)
