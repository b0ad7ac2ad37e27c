"""Several classes: one learner for each against the rest, each with a Phi of its own, or one learner with a shared Phi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from firthian.adapt.examples import Examples
from firthian.adapt.learner import Learner, Rule
from firthian.arrays import Array
from firthian.runtime.executor import Threads

#: ovr: one against the rest, as in the paper; shared: one Phi for all classes, which the paper leaves for later.
MULTI_CLASS = ("ovr", "shared")


class Ensemble:
    """The learners of ``classes`` classes, which are numbers here."""

    def __init__(self, base: Array, classes: int, one_hot: bool, multi_class: str = "ovr") -> None:
        self.base = base
        self.classes = classes
        self.one_hot = one_hot
        self.multi_class = multi_class
        #: Word scores by whether they are means; they are asked for at every prediction and change only by learning.
        self._scores: dict[bool, tuple[Array, Array]] = {}
        if multi_class == "shared":
            self.learners = [Learner.start(base, one_hot, classes)]
        else:
            self.learners = [Learner.start(base, one_hot) for _ in range(1 if classes == 2 else classes)]

    def grow_words(self, base: Array) -> None:
        """Take a longer first Phi."""
        self._scores.clear()
        self.base = base
        for learner in self.learners:
            learner.grow(base)

    def grow_classes(self, places: Sequence[int], classes: int) -> None:
        """Make room for more classes; the old class ``k`` becomes the class ``places[k]``."""
        self._scores.clear()
        if self.multi_class == "shared":
            learner = self.learners[0]
            learner.grow(self.base, classes)
            order = np.full(classes, -1)
            order[list(places)] = np.arange(self.classes)
            order[order < 0] = np.arange(self.classes, classes)
            for name in ("w", "v", "w_drift", "v_drift"):
                setattr(learner, name, np.ascontiguousarray(getattr(learner, name)[order]))
        else:
            old = self.learners
            if self.classes == 2 and classes > 2:
                # Two classes have one learner; that of the other class is its mirror image, exactly.
                old = [self.learners[0].mirrored(), self.learners[0]]
            self.learners = [Learner.start(self.base, self.one_hot) for _ in range(1 if classes == 2 else classes)]
            if len(old) > 1:
                for learner, place in zip(old, places, strict=True):
                    self.learners[place] = learner
        self.classes = classes

    def learn(
        self,
        examples: Examples,
        codes: Array,
        cost: float,
        weights: Mapping[int, float] | str | None,
        rule: Rule,
        orders: Sequence[Array],
        workers: int | None = 1,
    ) -> None:
        """Learn from examples of the classes ``codes``; ``weights`` multiply C, by class or by inverse frequency.

        ``workers`` learners learn side by side; None are as many as there are cores.
        """
        self._scores.clear()
        if self.multi_class == "shared":
            factors = class_factors(codes, self.classes, weights)
            self.learners[0].learn(examples, codes.astype(np.int64), cost * factors, rule, orders)
            return

        def task(number: int) -> None:
            mine = codes == (1 if self.classes == 2 else number)
            # Against the rest there are two classes, and these are what is to be balanced.
            shown = mine.astype(np.int64) if weights == "balanced" else codes
            factors = class_factors(shown, 2 if weights == "balanced" else self.classes, weights)
            self.learners[number].learn(examples, np.where(mine, 1.0, -1.0), cost * factors, rule, orders)

        for _ in Threads(workers).map(task, range(len(self.learners))):
            pass

    def decide(self, examples: Examples, averaged: bool) -> Array:
        """Return the score of each class (documents × classes), or one score where there are two classes."""
        scores, hot_scores = self.word_scores(averaged)
        decision = examples.matrix @ scores
        if self.one_hot:
            decision = decision + examples.hot[:, None] * (examples.matrix @ hot_scores)
        if self.classes == 2:
            return np.asarray(decision[:, 0])
        return np.asarray(decision)

    def word_scores(self, averaged: bool) -> tuple[Array, Array]:
        """Return what a word adds to each class's score: through its vector, and through its one-hot feature."""
        if averaged not in self._scores:
            parts = [learner.word_scores(averaged) for learner in self.learners]
            scores, hot = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
            if self.multi_class == "shared" and self.classes == 2:
                scores, hot = scores[:, 1:] - scores[:, :1], hot[:, 1:] - hot[:, :1]
            self._scores[averaged] = scores, hot
        return self._scores[averaged]


def class_factors(codes: Array, classes: int, weights: Mapping[int, float] | str | None) -> Array:
    """Return, for each example, what C is multiplied by.

    >>> class_factors(np.array([0, 0, 0, 1]), 2, "balanced").round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    table = np.ones(classes)
    if weights == "balanced":
        found = np.bincount(codes, minlength=classes)
        table = codes.size / (classes * np.maximum(found, 1))
    elif isinstance(weights, Mapping):
        for code, weight in weights.items():
            table[code] = weight
    factors: Array = table[codes]
    return factors


def predict_codes(decision: Array) -> Array:
    """Return the class of each row of scores; a score of zero, as of an empty document, falls to the first class."""
    if decision.ndim == 1:
        return np.asarray(decision > 0, dtype=np.int64)
    return np.asarray(np.argmax(decision, axis=1))
