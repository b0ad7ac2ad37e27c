"""The learned state: classifier weights and the rows of Phi that moved; one learner per class, or one for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firthian.adapt.documents import Examples
from firthian.arrays import Array
from firthian.runtime.executor import Threads
from firthian.runtime.run import one_blas_thread

#: anchored: the minimum of problem (1); walking: Algorithm 1 as printed; phi-first: the same with the step of Phi first.
INNER = ("anchored", "walking", "phi-first")


@dataclass(frozen=True)
class Rule:
    """The update rule: parameters of problem (1) and of its inner loop."""

    lam: float
    inner: str = "anchored"
    max_inner: int = 50
    tol: float = 1e-6
    averaged: bool = True


class MovedRows:
    """Phi, stored as the initial Phi and the rows that have moved away from it.

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
        """The ids of the words that moved, in storage order."""
        moved = np.flatnonzero(self.slots >= 0)
        return moved[np.argsort(self.slots[moved])]

    def grow(self, base: Array) -> None:
        """Extend the initial Phi."""
        self.slots = np.concatenate([self.slots, np.full(base.shape[0] - self.slots.size, -1, dtype=np.int32)])
        self.base = base

    def take(self, words: Array) -> tuple[Array, Array]:
        """Copy the rows of words, and their drifts."""
        slots = self.slots[words]
        moved = slots >= 0
        phi = self.base[words]
        drift = np.zeros_like(phi)
        phi[moved] = self.rows[slots[moved]]
        drift[moved] = self.drifts[slots[moved]]
        return phi, drift

    def current(self, words: Array, clock: int = 0) -> Array:
        """Return the rows of words; with a clock, their averages over that many examples."""
        phi, drift = self.take(words)
        return phi - drift / np.float32(clock) if clock else phi

    def put(self, words: Array, phi: Array, drift: Array) -> None:
        """Store the rows that have moved."""
        new = words[(self.slots[words] < 0) & (phi != self.base[words]).any(axis=1)]
        if self.size + new.size > self.rows.shape[0]:
            room = max(2 * self.rows.shape[0], self.size + new.size)
            for name in ("rows", "drifts"):
                table = np.zeros((room, self.base.shape[1]), dtype=self.base.dtype)
                table[: self.size] = getattr(self, name)[: self.size]
                setattr(self, name, table)
        self.slots[new] = np.arange(self.size, self.size + new.size, dtype=np.int32)
        self.size += new.size
        slots = self.slots[words]
        moved = slots >= 0
        self.rows[slots[moved]] = phi[moved]
        self.drifts[slots[moved]] = drift[moved]


@dataclass
class Learner:
    """A linear classifier and its Phi: for two classes, or for several that share Phi (``w``, ``v``: one row per class).

    The average of a parameter over the examples seen is ``parameter - drift / clock``.
    """

    phi: MovedRows
    w: Array
    v: Array
    w_drift: Array
    v_drift: Array
    clock: int = 0
    #: Mistakes, updates, inner steps and squared loss of each pass, counted before each update.
    history: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def start(cls, base: Array, one_hot: bool, classes: int = 0) -> Learner:
        """Start from w = 0, which needs a nonzero initial Phi (Remark 1 of the paper)."""
        shape = (classes,) if classes else ()
        w = np.zeros((*shape, base.shape[1]), dtype=np.float32)
        v = np.zeros((*shape, base.shape[0] if one_hot else 0), dtype=np.float32)
        return cls(MovedRows(base), w, v, np.zeros_like(w), np.zeros_like(v))

    def mirrored(self) -> Learner:
        """Return the learner of the other of two classes."""
        other = Learner(MovedRows(self.phi.base), -self.w, -self.v, -self.w_drift, -self.v_drift, self.clock)
        words = self.phi.words
        other.phi.put(words, *self.phi.take(words))
        other.history = [dict(entry) for entry in self.history]
        return other

    def grow(self, base: Array, classes: int = 0) -> None:
        """Append new words and new classes."""
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
        """Pass over the examples in each of the orders; ``y`` is the class number, 0 or 1 unless Phi is shared."""
        from firthian.kernels import adapt as kernel

        matrix = examples.matrix
        words, columns = _used_columns(matrix)
        phi, phi_drift = self.phi.take(words)
        one_hot = self.v.shape[-1] > 0
        weights = [np.atleast_2d(array) for array in (self.w, self.v, self.w_drift, self.v_drift)]
        w, v, w_drift, v_drift = weights
        if one_hot:
            v, v_drift = np.ascontiguousarray(v[:, words]), np.ascontiguousarray(v_drift[:, words])
        drifts: tuple[Array, ...] = (phi_drift, w_drift, v_drift)
        if not rule.averaged:
            drifts = tuple(np.zeros((0, 0), drift.dtype) for drift in drifts)
        data = (matrix.indptr.astype(np.int64), columns, matrix.data, examples.hot, y.astype(np.int64), cost)
        settings = (INNER.index(rule.inner), float(rule.lam), rule.max_inner, rule.tol)
        for order in orders:
            tally = np.zeros(4)
            self.clock = kernel.sweep(data, order, settings, (phi, w, v), drifts, self.clock, tally)
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
            weights[1][:, words] = v
            weights[3][:, words] = v_drift

    def weights(self, averaged: bool) -> tuple[Array, Array]:
        """Return w and v, or their averages."""
        if averaged and self.clock:
            return self.w - self.w_drift / self.clock, self.v - self.v_drift / self.clock
        return self.w, self.v

    def embedding(self, averaged: bool) -> Array:
        """Return Phi with one row per word, or its average."""
        phi = self.phi.base.copy()
        words = self.phi.words
        phi[words] = self.phi.current(words, self.clock if averaged else 0)
        return phi

    def word_scores(self, averaged: bool) -> tuple[Array, Array]:
        """Return each word's contribution to the decision: ``Phi w`` for x, and v for one-hot features (words × classes)."""
        w, v = self.weights(averaged)
        columns = np.atleast_2d(w).T.astype(np.float64)
        words = self.phi.words
        with one_blas_thread():
            scores = self.phi.base @ columns
            scores[words] = self.phi.current(words, self.clock if averaged else 0) @ columns
        return scores, np.atleast_2d(v).T.astype(np.float64)


def _used_columns(matrix: Any) -> tuple[Array, Array]:
    """Return the nonempty columns of a matrix, and its column indices renumbered among them."""
    is_used = np.zeros(matrix.shape[1], dtype=bool)
    is_used[matrix.indices] = True
    numbers = np.cumsum(is_used) - 1
    return np.flatnonzero(is_used), numbers[matrix.indices]


#: ovr: one against the rest, as in the paper; shared: one Phi for all classes, future work in the paper.
MULTI_CLASS = ("ovr", "shared")


class Ensemble:
    """The learners of all classes; classes are numbers here."""

    def __init__(self, base: Array, classes: int, one_hot: bool, multi_class: str = "ovr") -> None:
        self.base = base
        self.classes = classes
        self.one_hot = one_hot
        self.multi_class = multi_class
        #: Cache of word scores, keyed by ``averaged``: every prediction needs them, only learning changes them.
        self._scores: dict[bool, tuple[Array, Array]] = {}
        if multi_class == "shared":
            self.learners = [Learner.start(base, one_hot, classes)]
        else:
            self.learners = [Learner.start(base, one_hot) for _ in range(1 if classes == 2 else classes)]

    def grow_words(self, base: Array) -> None:
        """Extend the initial Phi."""
        self._scores.clear()
        self.base = base
        for learner in self.learners:
            learner.grow(base)

    def grow_classes(self, places: Sequence[int], classes: int) -> None:
        """Add classes; the old class ``k`` becomes class ``places[k]``."""
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
                # Two classes share one learner; the other class's is its exact mirror image.
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
        """Learn from examples of the classes ``codes``; ``weights`` are factors of C by class, or ``balanced``.

        Up to ``workers`` learners run in parallel; None means one per core.
        """
        self._scores.clear()
        if self.multi_class == "shared":
            factors = class_factors(codes, self.classes, weights)
            self.learners[0].learn(examples, codes, cost * factors, rule, orders)
            return

        def task(number: int) -> None:
            mine = codes == (1 if self.classes == 2 else number)
            # One against the rest is a problem of two classes; balance those.
            balanced = mine.astype(np.int64) if weights == "balanced" else codes
            factors = class_factors(balanced, 2 if weights == "balanced" else self.classes, weights)
            self.learners[number].learn(examples, mine, cost * factors, rule, orders)

        for _ in Threads(workers).map(task, range(len(self.learners))):
            pass

    def decide(self, examples: Examples, averaged: bool) -> Array:
        """Return the score of each class (documents × classes), or one score if there are two classes."""
        scores, hot_scores = self.word_scores(averaged)
        decision = examples.matrix @ scores
        if self.one_hot:
            decision = decision + examples.hot[:, None] * (examples.matrix @ hot_scores)
        if self.classes == 2:
            return np.asarray(decision[:, 0])
        return np.asarray(decision)

    def word_scores(self, averaged: bool) -> tuple[Array, Array]:
        """Return each word's contribution to the class scores: by its vector, and by its one-hot feature."""
        if averaged not in self._scores:
            parts = [learner.word_scores(averaged) for learner in self.learners]
            scores, hot = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
            if self.multi_class == "shared" and self.classes == 2:
                scores, hot = scores[:, 1:] - scores[:, :1], hot[:, 1:] - hot[:, :1]
            self._scores[averaged] = scores, hot
        return self._scores[averaged]


def class_factors(codes: Array, classes: int, weights: Mapping[int, float] | str | None) -> Array:
    """Return the factor of C for each example.

    >>> class_factors(np.array([0, 0, 0, 1]), 2, "balanced").round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    table = np.ones(classes)
    if weights == "balanced":
        sizes = np.bincount(codes, minlength=classes)
        table = codes.size / (classes * np.maximum(sizes, 1))
    elif isinstance(weights, Mapping):
        for code, weight in weights.items():
            table[code] = weight
    factors: Array = table[codes]
    return factors


def predict_codes(decision: Array) -> Array:
    """Return the class of each row of scores; a score of zero, as of an empty document, means the first class."""
    if decision.ndim == 1:
        return np.asarray(decision > 0, dtype=np.int64)
    return np.asarray(np.argmax(decision, axis=1))
