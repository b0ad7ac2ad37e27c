"""What is learned: a classifier's weights and the rows of Phi it has moved; one learner per class, or one for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firthian.adapt.documents import Examples
from firthian.arrays import Array
from firthian.runtime.executor import Threads
from firthian.runtime.run import one_blas_thread


@dataclass(frozen=True)
class Rule:
    """How an example changes the model: the parameters of problem (1) and of its inner loop."""

    lam: float
    inner: str = "anchored"
    max_inner: int = 50
    tol: float = 1e-6
    averaged: bool = True


class MovedRows:
    """Phi as the first Phi and the rows that have moved away from it; only those are kept.

    >>> rows = MovedRows(np.eye(3, dtype=np.float32))
    >>> phi, drift = rows.take(np.array([0, 2]))
    >>> phi[1] += 1
    >>> rows.put(np.array([0, 2]), phi, drift)
    >>> rows.words.tolist(), rows.current(np.array([2]))
    ([2], array([[1., 1., 2.]], dtype=float32))
    """

    def __init__(self, base: Array) -> None:
        self.base = base
        self.slots = np.full(base.shape[0], -1, dtype=np.int32)
        self.size = 0
        self.rows = np.empty((0, base.shape[1]), dtype=base.dtype)
        self.drifts = np.empty((0, base.shape[1]), dtype=base.dtype)

    @property
    def words(self) -> Array:
        """The ids of the words that moved, in the order in which they are kept."""
        moved = np.flatnonzero(self.slots >= 0)
        return moved[np.argsort(self.slots[moved])]

    def grow(self, base: Array) -> None:
        """Take a longer first Phi."""
        self.slots = np.concatenate([self.slots, np.full(base.shape[0] - self.slots.size, -1, dtype=np.int32)])
        self.base = base

    def take(self, words: Array) -> tuple[Array, Array]:
        """Copy the rows of some words, and their drifts."""
        slots = self.slots[words]
        moved = slots >= 0
        phi = self.base[words]
        drift = np.zeros_like(phi)
        phi[moved] = self.rows[slots[moved]]
        drift[moved] = self.drifts[slots[moved]]
        return phi, drift

    def current(self, words: Array, clock: int = 0) -> Array:
        """Return the rows of some words; with a clock, their means over that many examples."""
        phi, drift = self.take(words)
        return phi - drift / np.float32(clock) if clock else phi

    def put(self, words: Array, phi: Array, drift: Array) -> None:
        """Store rows; those that have not moved are not kept."""
        fresh = words[(self.slots[words] < 0) & (phi != self.base[words]).any(axis=1)]
        if self.size + fresh.size > self.rows.shape[0]:
            room = max(2 * self.rows.shape[0], self.size + fresh.size)
            for name in ("rows", "drifts"):
                table = np.zeros((room, self.base.shape[1]), dtype=self.base.dtype)
                table[: self.size] = getattr(self, name)[: self.size]
                setattr(self, name, table)
        self.slots[fresh] = np.arange(self.size, self.size + fresh.size, dtype=np.int32)
        self.size += fresh.size
        slots = self.slots[words]
        moved = slots >= 0
        self.rows[slots[moved]] = phi[moved]
        self.drifts[slots[moved]] = drift[moved]


@dataclass
class Learner:
    """A linear classifier and its Phi: of two classes, or of several that share Phi (``w`` and ``v`` have a row a class).

    The mean of a parameter over the examples seen is ``parameter - drift / clock``.
    """

    phi: MovedRows
    w: Array
    v: Array
    w_drift: Array
    v_drift: Array
    clock: int = 0
    #: Mistakes, updates, inner steps and squared loss of each pass; each example is judged before it is learned from.
    history: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def start(cls, base: Array, one_hot: bool, classes: int = 0) -> Learner:
        """Begin with w = 0; Remark 1 of the paper says why this needs a first Phi that is not zero."""
        shape = (classes,) if classes else ()
        w = np.zeros((*shape, base.shape[1]), dtype=np.float32)
        v = np.zeros((*shape, base.shape[0] if one_hot else 0), dtype=np.float32)
        return cls(MovedRows(base), w, v, np.zeros_like(w), np.zeros_like(v))

    def mirrored(self) -> Learner:
        """Return the learner of the other one of two classes."""
        other = Learner(MovedRows(self.phi.base), -self.w, -self.v, -self.w_drift, -self.v_drift, self.clock)
        words = self.phi.words
        other.phi.put(words, *self.phi.take(words))
        other.history = [dict(entry) for entry in self.history]
        return other

    def grow(self, base: Array, classes: int = 0) -> None:
        """Make room for new words and new classes, at the ends."""
        old = self.phi.base.shape[0]
        self.phi.grow(base)
        for name in ("v", "v_drift", "w", "w_drift"):
            value = getattr(self, name)
            words = base.shape[0] - old if name.startswith("v") and value.shape[-1] else 0
            widths = [(0, 0)] * (value.ndim - 1) + [(0, words)]
            if classes:
                widths[0] = (0, classes - value.shape[0])
            setattr(self, name, np.pad(value, widths))

    def learn(self, examples: Examples, y: Array, cost: Array, rule: Rule, orders: Iterable[Array]) -> None:
        """See the examples in each of the orders; ``y`` is ±1, or the number of the class where Phi is shared."""
        from firthian.kernels import adapt as kernel

        matrix = examples.matrix
        words, columns = _used(matrix)
        phi, phi_drift = self.phi.take(words)
        one_hot = self.v.shape[-1] > 0
        v = np.ascontiguousarray(self.v[..., words]) if one_hot else self.v
        v_drift = np.ascontiguousarray(self.v_drift[..., words]) if one_hot else self.v_drift
        none = [np.zeros((0,) * a.ndim, a.dtype) for a in (phi, self.w, v)]
        drifts = [phi_drift, self.w_drift, v_drift] if rule.averaged else none
        sweep = kernel.sweep_shared if self.w.ndim == 2 else kernel.sweep
        for order in orders:
            tally = np.zeros(4)
            self.clock = sweep(
                matrix.indptr.astype(np.int64), columns, matrix.data, examples.hot, y, cost,
                float(rule.lam), order, rule.inner == "anchored", rule.max_inner, rule.tol,
                phi, self.w, v, *drifts, self.clock, tally,
            )  # fmt: skip
            self.history.append(
                {
                    "examples": int(order.size),
                    "mistakes": int(tally[kernel.MISTAKES]),
                    "updates": int(tally[kernel.UPDATES]),
                    "inner_steps": int(tally[kernel.STEPS]),
                    "squared_loss": float(tally[kernel.SQUARED_LOSS]),
                }
            )
        self.phi.put(words, phi, phi_drift)
        if one_hot:
            self.v[..., words] = v
            self.v_drift[..., words] = v_drift

    def weights(self, averaged: bool) -> tuple[Array, Array]:
        """Return w and v, or their means."""
        if averaged and self.clock:
            return self.w - self.w_drift / self.clock, self.v - self.v_drift / self.clock
        return self.w, self.v

    def embedding(self, averaged: bool) -> Array:
        """Return Phi with one row a word, or its mean."""
        phi = self.phi.base.copy()
        words = self.phi.words
        phi[words] = self.phi.current(words, self.clock if averaged else 0)
        return phi

    def word_scores(self, averaged: bool) -> tuple[Array, Array]:
        """Return what each word adds to the decision: ``Phi w`` for x, and v for its one-hot features (words × classes)."""
        w, v = self.weights(averaged)
        columns = np.atleast_2d(w).T.astype(np.float64)
        words = self.phi.words
        with one_blas_thread():
            scores = self.phi.base @ columns
            scores[words] = self.phi.current(words, self.clock if averaged else 0) @ columns
        return scores, np.atleast_2d(v).T.astype(np.float64)


def _used(matrix: Any) -> tuple[Array, Array]:
    """Return the columns that a matrix uses, and its column indices as places among these."""
    there = np.zeros(matrix.shape[1], dtype=bool)
    there[matrix.indices] = True
    places = np.cumsum(there) - 1
    return np.flatnonzero(there), places[matrix.indices]


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
