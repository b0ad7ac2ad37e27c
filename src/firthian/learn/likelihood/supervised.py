"""Sweeps for EMF with analogies: a question's gradient is shared by the words whose vectors it combines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood import steps, unseen
from firthian.learn.likelihood.alternating import Alternating, solution, started, sweep
from firthian.learn.likelihood.model import Side
from firthian.learn.likelihood.unseen import Gradient
from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class Supervised(Alternating):
    """``Alternating`` for models with ``analogies``; for others it is the same as ``Alternating``."""

    requires: ClassVar[tuple[str, ...]] = ("side", "start", "stats")

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        if not hasattr(model, "analogies"):
            return super().solve(model, dimension, run)
        model.check_memory(dimension, run)
        if self.unseen == "exact":
            unseen.check_dense(model.words, dimension, run)
        factors = started(model, dimension, run)
        treatment = WithAnalogies(unseen.choose(self.unseen, self.sampled_zeros), model, factors)
        # by the counts of the corpus: the model's own pairs are those of the questions
        damping = self.damping_for(model.model)
        rule = steps.choose("damped", damping, self.prior_events)
        objective = sweep(model, factors, treatment, rule, self.epochs_for(model), self.ridge, run)
        stats = {"unseen": self.unseen, "damping": damping}
        return solution(model, factors, objective, self.combine, stats, self.center)


class WithAnalogies:
    """Adds to the gradient of the words what the questions say."""

    def __init__(self, treatment: unseen.Unseen, model: Any, factors: Any) -> None:
        self.treatment, self.model, self.factors = treatment, model, factors

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Return the gradient of one side; the contexts' side has the questions among its pairs already."""
        gradient = self.treatment.gradient(side, run, turn, value)
        if side.left is not self.factors.words:
            return gradient
        extra = self.treatment.gradient(self.model.analogies(self.factors), run, turn, value)
        vectors, curvature = gradient.vectors, gradient.curvature.copy()
        a, b, c = self.model.taught.ids[:, :3].T
        # d(u_b - u_a + u_c): the questions in their order, so that sums do not depend on the workers
        np.add.at(vectors, b, extra.vectors)
        np.subtract.at(vectors, a, extra.vectors)
        np.add.at(vectors, c, extra.vectors)
        for ids in (a, b, c):
            np.add.at(curvature, ids, extra.curvature)
        return replace(gradient, vectors=vectors, curvature=curvature)

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Return the losses of the contexts' side, which are those of the whole problem."""
        return self.treatment.losses(side, run, turn, active)
