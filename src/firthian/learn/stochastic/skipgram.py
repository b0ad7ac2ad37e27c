"""Skip-gram and CBOW with negative sampling, on the text itself (Mikolov, Sutskever, Chen, Corrado and Dean 2013).

Skip-gram's stretches of text become samples (word, context, label), dealt out to the cells of ``solvers/cells.py``.
So it runs on all cores, every step uses the newest parameters, and the result is the same for any number of workers.
What this costs: the order of samples is shuffled within a stretch of about 10^5 tokens; samples are written to memory
and read again, about a fifth of the time; and a word's vector moves after each sample, not after all samples of a
pair. With the same settings on 17 M tokens, MEN and Google analogies stay within 0.01 of gensim's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.counts.streams import probability_bounds
from firthian.counts.tokens import Tokens
from firthian.learn.cells import PARTS, over_cells
from firthian.runtime.run import Run

#: A stretch has at most this many samples (8 bytes each, twice), which settles how many tokens it has.
STRETCH_SAMPLES = 1 << 23

#: Small texts are cut into shorter stretches, about so many in all, so that the rate of learning falls smoothly.
SMOOTH_STRETCHES, LEAST_TOKENS = 64, 1024

#: The objective is computed with windows and noise of an epoch that is never trained.
OBJECTIVE_EPOCH = 1 << 62


@dataclass(frozen=True)
class Stretch:
    """The tokens ``stream[first:last]``, with the text around them, at a place of an epoch."""

    stream: Array
    first: int
    last: int
    epoch: int
    position: int

    @property
    def tokens(self) -> int:
        """How many words it has."""
        return int(np.count_nonzero(self.stream[self.first : self.last] >= 0))


class SkipGram:
    """``-log sigma(u_i·c_j) - sum_n log sigma(-u_i·c_n)`` over pairs (i, j) of neighbors, with noise words n.

    The noise is the unigram distribution to the power ``ns_exponent``; each pair draws ``negative`` noise words, anew in
    each epoch. The window reaches to distance d with the probability that is the weight of d in counting: under the
    ``dynamic`` weighting this is word2vec's uniform draw of the window.
    """

    def __init__(self, tokens: Tokens, run: Run, negative: int = 5, ns_exponent: float = 0.75) -> None:
        from firthian.kernels.skipgram import alias_table

        options = tokens.options
        self.tokens = tokens
        self.run = run
        self.negative = negative
        words = len(tokens.vocabulary)
        self.shape = (words, words)
        weights, _ = options.integer_weights()
        before, after = options.sides(weights)
        bounds, aliases = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.int32)
        alias_table(tokens.vocabulary.counts.astype(np.float64) ** ns_exponent, bounds, aliases)
        #: What the kernels need to draw windows and noise.
        self.drawing = (
            probability_bounds(weights / weights[0]),
            before.size > 0,
            after.size > 0,
            bounds,
            aliases,
            negative,
        )
        keep = options.keep_probabilities(tokens.vocabulary.counts)
        #: How many tokens an epoch is expected to have.
        self.epoch_tokens = float(np.sum(tokens.vocabulary.counts * keep))
        self.most_samples = 2 * options.window * (1 + negative)
        self._room: tuple[Array, Array, Array] | None = None

    def stretch_tokens(self, epochs: int) -> int:
        """Say how long a stretch is at most."""
        smooth = max(LEAST_TOKENS, int(self.epoch_tokens * epochs / SMOOTH_STRETCHES))
        return max(1, min(STRETCH_SAMPLES // self.most_samples, smooth))

    def stretches(self, epoch: int, epochs: int) -> Iterator[Stretch]:
        """Cut the text of an epoch into stretches; neither workers nor memory change where."""
        length = self.stretch_tokens(epochs)
        position = 0
        for group in self.tokens.groups(epoch):
            begin, end = group.core
            for first in range(begin, end, length):
                last = min(first + length, end)
                yield Stretch(group.stream, first, last, epoch, position)
                position += last - first

    def descend(self, stretch: Stretch, words: Array, contexts: Array, alpha: float) -> tuple[float, int]:
        """Take the steps of a stretch; give the loss met on the way and the number of pairs it is the sum over."""
        from firthian.kernels import skipgram as kernel

        seed, epoch, rate = np.uint64(self.run.seed), np.uint64(stretch.epoch), np.float32(alpha)
        length = stretch.last - stretch.first
        block = -(-length // PARTS)
        raw, samples, starts = self._make_room(block)

        def draw(part: int) -> int:
            offset = min(part * block, length)
            first, last = stretch.first + offset, stretch.first + min(offset + block, length)
            return int(
                kernel.draw_samples(
                    stretch.stream, first, last, stretch.position + offset, seed, epoch, *self.drawing, PARTS,
                    raw[part], samples[part], starts[part],
                )
            )  # fmt: skip

        def step(part: int, other: int) -> float:
            return float(kernel.logistic_steps(samples, starts, part * PARTS + other, words, contexts, rate))

        pairs = sum(self.run.threads.map(draw, range(PARTS)))
        shifts = self.run.generator(stretch.epoch, stretch.position).permutation(PARTS).tolist()
        return math.fsum(over_cells(self.run, step, shifts)), pairs

    def excerpt(self, stretch: Stretch) -> Array:
        """Return the beginning of a stretch; those of all stretches of an epoch are about as long as one stretch."""
        length = stretch.last - stretch.first
        share = math.ceil(length * min(1.0, length / self.epoch_tokens))
        return stretch.stream[stretch.first : stretch.first + share].copy()

    def objective(self, excerpts: list[Array], words: Array, contexts: Array) -> float:
        """Return the mean loss over the pairs of excerpts, each taken as a document; the same pairs and noise every time."""
        end = np.array([-1], dtype=np.int32)
        stream = np.concatenate([part for excerpt in excerpts for part in (excerpt, end)])
        # Steps at the rate 0 change nothing and tell the loss.
        loss, pairs = self.descend(Stretch(stream, 0, stream.size, OBJECTIVE_EPOCH, 0), words, contexts, 0.0)
        return loss / max(pairs, 1)

    def _make_room(self, block: int) -> tuple[Array, Array, Array]:
        """Keep the same memory for the samples of every stretch."""
        needed = block * self.most_samples
        if self._room is None or self._room[0].shape[1] < needed:
            raw, samples = (np.empty((PARTS, needed, 2), dtype=np.int32) for _ in range(2))
            self._room = raw, samples, np.empty((PARTS, PARTS * PARTS + 1), dtype=np.int64)
        return self._room


class CBOW(SkipGram):
    """Predicts a word from the mean of its neighbors' vectors: ``-log sigma(h·c_i) - sum_n log sigma(-h·c_n)``.

    A step touches a whole window of words, so no two parts of the text are independent and it runs on one core. It
    takes about a third of skip-gram's processor time.
    """

    def descend(self, stretch: Stretch, words: Array, contexts: Array, alpha: float) -> tuple[float, int]:
        """Take the steps of a stretch; give the loss met on the way and the number of words it is the sum over."""
        from firthian.kernels.skipgram import cbow_steps

        seed, epoch = np.uint64(self.run.seed), np.uint64(stretch.epoch)
        loss, positions = cbow_steps(
            stretch.stream, stretch.first, stretch.last, stretch.position, seed, epoch, *self.drawing, words, contexts,
            np.float32(alpha),
        )  # fmt: skip
        return float(loss), int(positions)


def from_text(tokens: Tokens, run: Run, cbow: bool = False, negative: int = 5, ns_exponent: float = 0.75) -> SkipGram:
    """Choose between the two directions of prediction."""
    return (CBOW if cbow else SkipGram)(tokens, run, negative, ns_exponent)
