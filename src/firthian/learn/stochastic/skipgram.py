"""Skip-gram and CBOW with negative sampling, on the text itself (Mikolov, Sutskever, Chen, Corrado and Dean 2013).

Skip-gram's stretches of text become samples (word, context, label), sorted into the cells of ``cells.py``.
So it runs on all cores, every step uses the latest parameters, and the result is the same for any number of workers.
The price: samples are shuffled within a stretch of about 10^5 tokens; writing and reading them takes about a fifth of
the time; and a word's vector moves after each sample, not after all samples of a pair. With the same settings on 17 M
tokens, MEN and Google analogies are within 0.01 of gensim's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from firthian.arrays import Array
from firthian.counts.streams import probability_bounds
from firthian.counts.tokens import Tokens
from firthian.errors import FirthianError
from firthian.learn.recipe import Combine, Smoothing
from firthian.learn.solver import Solution
from firthian.learn.stochastic.cells import PARTS, over_cells, padded, small_start, unpadded
from firthian.options import Option
from firthian.runtime.run import Run

#: Maximum samples of a stretch (8 bytes each, twice), which determines its tokens.
STRETCH_SAMPLES = 1 << 23

#: Small texts are split into about this many stretches of at least this many tokens, so that the rate falls smoothly.
SMOOTH_STRETCHES, LEAST_TOKENS = 64, 1024

#: The objective is computed with windows and noise of an epoch that is never trained.
OBJECTIVE_EPOCH = 1 << 62

#: More than the stretches of any epoch; it makes one number of an epoch and a stretch.
_MOST_STRETCHES = 10**9


@dataclass(frozen=True)
class Stretch:
    """The tokens ``stream[first:last]`` with the text around them, at a position of an epoch."""

    stream: Array
    first: int
    last: int
    epoch: int
    position: int

    @property
    def tokens(self) -> int:
        """The number of words."""
        return int(np.count_nonzero(self.stream[self.first : self.last] >= 0))


class SkipGram:
    """``-log sigma(u_i·c_j) - sum_n log sigma(-u_i·c_n)`` over pairs (i, j) of neighbors, with noise words n.

    The noise is the unigram distribution to the power ``ns_exponent``; each pair draws ``negative`` noise words, new ones
    in each epoch. The window reaches distance d with a probability equal to the weight of d in counting: with
    ``dynamic`` weighting this is word2vec's uniform draw of the window.

    ``cbow`` predicts a word from the mean h of its neighbors' vectors: ``-log sigma(h·c_i) - sum_n log sigma(-h·c_n)``.
    A step touches a whole window of words, so no two parts of the text are independent and it runs on one core; it
    takes about a third of skip-gram's CPU time.
    """

    def __init__(
        self,
        tokens: Tokens,
        run: Run,
        cbow: Annotated[bool, Option("predict a word from the mean of its neighbors (CBOW)")] = False,
        negative: Annotated[int, Option("noise words per pair", low=0, high=1000)] = 5,
        ns_exponent: Smoothing = 0.75,
    ) -> None:
        from firthian.kernels.skipgram import alias_table

        options = tokens.options
        self.tokens, self.run, self.cbow = tokens, run, cbow
        words = len(tokens.vocabulary)
        self.shape = (words, words)
        weights, _ = options.integer_weights()
        before, after = options.sides()
        bounds, aliases = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.int32)
        alias_table(tokens.vocabulary.counts.astype(np.float64) ** ns_exponent, bounds, aliases)
        #: Arguments of the kernels that draw windows and noise.
        reaches = probability_bounds(weights / weights[0])
        self.drawing = (reaches, before.size > 0, after.size > 0, bounds, aliases, negative)
        keep = options.keep_probabilities(tokens.vocabulary.counts)
        #: The expected number of tokens per epoch.
        self.epoch_tokens = float(np.sum(tokens.vocabulary.counts * keep))
        self.most_samples = 2 * options.window * (1 + negative)
        self._buffers: tuple[Array, Array, Array] | None = None

    def stretch_tokens(self, epochs: int) -> int:
        """Return the maximum number of tokens in a stretch."""
        smooth = max(LEAST_TOKENS, int(self.epoch_tokens * epochs / SMOOTH_STRETCHES))
        return max(1, min(STRETCH_SAMPLES // self.most_samples, smooth))

    def stretches(self, epoch: int, epochs: int) -> Iterator[Stretch]:
        """Yield the stretches of an epoch; their boundaries depend on neither workers nor memory."""
        length = self.stretch_tokens(epochs)
        position = 0
        for group in self.tokens.groups(epoch):
            begin, end = group.core
            for first in range(begin, end, length):
                last = min(first + length, end)
                yield Stretch(group.stream, first, last, epoch, position)
                position += last - first

    def descend(self, stretch: Stretch, words: Array, contexts: Array, alpha: float) -> tuple[float, int]:
        """Take the steps of a stretch; return the summed loss before each step, and its number of pairs (CBOW: words)."""
        from firthian.kernels import skipgram as kernel

        seed, epoch, rate = np.uint64(self.run.seed), np.uint64(stretch.epoch), np.float32(alpha)
        if self.cbow:
            span = (stretch.stream, stretch.first, stretch.last, stretch.position, seed, epoch)
            loss, positions = kernel.cbow_steps(span, self.drawing, words, contexts, rate)
            return float(loss), int(positions)
        length = stretch.last - stretch.first
        block = -(-length // PARTS)
        raw, samples, starts = self._make_buffers(block)

        def draw(part: int) -> int:
            offset = min(part * block, length)
            first, last = stretch.first + offset, stretch.first + min(offset + block, length)
            span = (stretch.stream, first, last, stretch.position + offset, seed, epoch)
            return int(kernel.draw_samples(span, self.drawing, PARTS, raw[part], samples[part], starts[part]))

        def step(part: int, other: int) -> float:
            return float(kernel.logistic_steps(samples, starts, part * PARTS + other, words, contexts, rate))

        pairs = sum(self.run.threads.map(draw, range(PARTS)))
        shifts = self.run.generator("rounds", stretch.epoch, stretch.position).permutation(PARTS).tolist()
        return math.fsum(over_cells(self.run, step, shifts)), pairs

    def excerpt(self, stretch: Stretch) -> Array:
        """Return the start of a stretch; those of all stretches of an epoch add up to about one stretch."""
        length = stretch.last - stretch.first
        share = math.ceil(length * min(1.0, length / self.epoch_tokens))
        return stretch.stream[stretch.first : stretch.first + share].copy()

    def objective(self, excerpts: list[Array], words: Array, contexts: Array) -> float:
        """Return the mean loss over the pairs of excerpts, each treated as a document; pairs and noise are always the same."""
        end = np.array([-1], dtype=np.int32)
        stream = np.concatenate([part for excerpt in excerpts for part in (excerpt, end)])
        # Steps at rate 0 change nothing, but compute the loss.
        loss, pairs = self.descend(Stretch(stream, 0, stream.size, OBJECTIVE_EPOCH, 0), words, contexts, 0.0)
        return loss / max(pairs, 1)

    def _make_buffers(self, block: int) -> tuple[Array, Array, Array]:
        """Reuse the same memory for the samples of every stretch."""
        needed = block * self.most_samples
        if self._buffers is None or self._buffers[0].shape[1] < needed:
            raw, samples = (np.empty((PARTS, needed, 2), dtype=np.int32) for _ in range(2))
            self._buffers = raw, samples, np.empty((PARTS, PARTS * PARTS + 1), dtype=np.int64)
        return self._buffers


@dataclass
class StochasticGradient:
    """Passes over a text ``epochs`` times; the rate falls linearly from ``alpha`` to ``min_alpha``, as in word2vec.

    Word vectors start at uniform(-0.5, 0.5) / dimension, context vectors at zero.

    The objective after each epoch is the mean loss over a fixed sample of the text: excerpts from all of it, with
    noise that is not trained on. The running loss would be misleading: it is low while the rate is high, because
    vectors then follow the current document.
    """

    epochs: Annotated[int, Option("passes over the text", low=1)] = 5
    alpha: Annotated[float, Option("initial learning rate", low=1e-9, high=10)] = 0.025
    min_alpha: Annotated[float, Option("final learning rate", low=0, high=10)] = 0.0001
    combine: Combine = "u"

    def __post_init__(self) -> None:
        if self.min_alpha > self.alpha:
            message = f"`min_alpha` must be at most alpha = {self.alpha:g}, got {self.min_alpha:g}"
            raise FirthianError(message, hint="lower it or raise `alpha`")

    def solve(self, model: SkipGram, dimension: int, run: Run) -> Solution:
        """Train vectors of ``dimension`` numbers."""
        words = small_start(run.generator("start"), model.shape[0], dimension)
        contexts = np.zeros((model.shape[1], padded(dimension)), dtype=np.float32)
        total = self.epochs * model.epoch_tokens
        done = pairs = 0
        excerpts: list[Array] = []
        objective: list[float] = []
        run.progress.start("stochastic gradient", total)
        stage = run.stage("gradient")
        state = stage.restore()
        first_epoch = skipped = 0
        if state is not None:
            words[...], contexts[...] = state.arrays["words"], state.arrays["contexts"]
            excerpts = np.split(np.array(state.arrays["excerpts"]), np.cumsum(state.values["sizes"])[:-1])
            first_epoch, skipped, done, pairs = (state.values[name] for name in ("epoch", "stretches", "done", "pairs"))
            objective += state.values["objective"]
            run.progress.advance(done)
        for epoch in range(first_epoch, self.epochs):
            for number, stretch in enumerate(model.stretches(epoch, self.epochs)):
                if number < skipped:
                    continue
                if epoch == 0:
                    excerpts.append(model.excerpt(stretch))
                alpha = self.alpha - (self.alpha - self.min_alpha) * min(1.0, done / total)
                _, new = model.descend(stretch, words, contexts, alpha)
                tokens = stretch.tokens
                done, pairs = done + tokens, pairs + new
                run.progress.advance(tokens)
                values = {"epoch": epoch, "stretches": number + 1, "done": done, "pairs": pairs, "objective": objective}
                stage.save(
                    number + 1 + epoch * _MOST_STRETCHES,
                    lambda: {"words": words, "contexts": contexts, "excerpts": np.concatenate(excerpts)},
                    **values,
                    sizes=[excerpt.size for excerpt in excerpts],
                )
            skipped = 0
            objective.append(model.objective(excerpts, words, contexts))
            run.progress.advance(0, f"objective {objective[-1]:.4f}")
        if pairs == 0:
            # The vectors are still the initial noise.
            raise FirthianError(
                "the text contains no pairs of words", hint="use more text, a wider `window` or a higher `sample`"
            )
        stats = {"epochs": self.epochs, "tokens": done, "pairs": pairs}
        return unpadded(words, contexts, dimension, self.combine, objective, stats)
