"""A corpus in batches, for stochastic inference: each batch is counted like a small corpus of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.counts.rows import count_blocks
from firthian.counts.settings import WindowSettings
from firthian.counts.tokens import Tokens
from firthian.errors import FirthianError
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Likelihood:
    """What is fitted: the negative events, and the priors; see ``models/bayes.py``."""

    negative: float = 5.0
    ns_exponent: float = 0.75
    temper: float = 1.0
    bound: str = "jaakkola"
    relevance_shape: float = 1e-3
    relevance_rate: float = 1e-3

    def __post_init__(self) -> None:
        if self.negative <= 0:
            raise FirthianError(
                "without negative events every pair is real, and the best vectors are all alike",
                hint="give --negative 1 or more",
            )


#: What ``batch_tokens`` is unless it is given.
USUAL_BATCH = 1_000_000


class StreamedLogistic:
    """Bayesian logistic factorization of a text that comes in batches of about ``batch_tokens`` tokens.

    Batches of up to ``USUAL_BATCH`` are parts of one segment of the text (4 MB), which may have fewer tokens; only larger
    ones have several segments, so that the usual batches stay as small as they were when the defaults were chosen.
    """

    def __init__(
        self, tokens: Tokens, run: Run, batch_tokens: int = USUAL_BATCH, population: int = 0, **likelihood: Any
    ) -> None:
        self.tokens = tokens
        self.run = run
        self.batch_tokens = batch_tokens
        self.likelihood = Likelihood(**likelihood)
        words = len(tokens.vocabulary)
        self.shape = (words, words)
        keep = tokens.options.keep_probabilities(tokens.vocabulary.counts)
        #: How many tokens one pass is expected to have, or the text is assumed to be a part of.
        self.population = max(float(population), float(np.sum(tokens.vocabulary.counts * keep)))

    def batches(self, epoch: int = 0) -> Iterator[Counts]:
        """Count the text of an epoch batch by batch; where it is cut depends on the text alone."""
        for group in self.tokens.groups(epoch, self.batch_tokens if self.batch_tokens > USUAL_BATCH else 1):
            begin, end = group.core
            parts = max(1, round((end - begin) / self.batch_tokens))
            cuts = np.linspace(begin, end, parts + 1).astype(np.int64).tolist()
            for first, last in itertools.pairwise(cuts):
                batch = count_stream(group.stream, (first, last), self.tokens.vocabulary, self.tokens.options, self.run)
                if batch.pairs:
                    yield batch


def count_stream(
    stream: Array, core: tuple[int, int], vocabulary: Vocabulary, options: WindowSettings, run: Run
) -> Counts:
    """Count the windows around some words of a stream, in memory.

    A window is counted from its middle word, so the counts of a batch are symmetric but for its ends: they are made
    symmetric by adding the transpose, which the other batches lack by the same pairs.
    """
    import scipy.sparse

    weights, unit = options.integer_weights()
    before, after = options.sides(weights)
    words = len(vocabulary)
    blocks = list(count_blocks(stream, core, words, before, after, run.threads))
    sizes = np.concatenate([block.sizes for block in blocks])
    values = np.concatenate([block.sums for block in blocks]) / unit
    matrix = scipy.sparse.csr_array(
        (values, np.concatenate([block.columns for block in blocks]), np.concatenate([[0], np.cumsum(sizes)])),
        shape=(words, words),
    )
    if options.context == "both":
        matrix = (matrix + matrix.T) / 2
    matrix.sort_indices()
    tokens = np.bincount(stream[core[0] : core[1]][stream[core[0] : core[1]] >= 0], minlength=words)
    return counts_of(matrix, Vocabulary(vocabulary.words, tokens), options)


def counts_of(matrix: Any, vocabulary: Vocabulary, options: WindowSettings) -> Counts:
    """Make counts of a SciPy matrix."""
    nothing = np.empty(0, dtype=np.int64)
    return Counts(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
        vocabulary,
        np.asarray(matrix.sum(axis=1)).ravel(),
        np.asarray(matrix.sum(axis=0)).ravel(),
        options,
        {},
        (nothing, nothing),
    )
