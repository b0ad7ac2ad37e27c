"""Bayesian logistic factorization: a Gaussian for every word and every context, over all pairs of words.

p(pair is real | i, j) = sigma(u_i·c_j + a_i + b_j), u_i ~ N(0, I), c_j ~ N(0, diag(alpha)^-1), alpha ~ Gamma.
A pair occurred X_ij times and has nu_i·p_j expected negative events, nu_i = k·x_i and p_j ~ x_j^a: negative sampling in
expectation, over *every* pair, so that the evidence lower bound can be computed (docs/derivations/bayes.md).
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array, on_pattern
from firthian.counts.counts import Counts
from firthian.counts.rows import count_blocks
from firthian.counts.settings import WindowSettings
from firthian.counts.tokens import Tokens
from firthian.errors import FirthianError
from firthian.learn.recipe import Smoothing
from firthian.options import Option
from firthian.runtime.executor import constant
from firthian.runtime.run import Run
from firthian.text.readers import Corpus
from firthian.text.tokenizer import decode
from firthian.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Events:
    """Positive and negative events per pair, in compressed rows of words (or of contexts, once transposed).

    A listed pair has temper·positive positive and temper·negative + own_rate·other_rate negative events; any other pair
    has own_rate·other_rate negative ones, the background. An empty ``negative`` stands for zeros.
    """

    indptr: Array
    indices: Array
    positive: Array
    negative: Array
    own_rate: Array
    other_rate: Array

    def __post_init__(self) -> None:
        for name in ("indptr", "indices", "positive", "negative"):
            object.__setattr__(self, name, constant(getattr(self, name)))

    @classmethod
    def on(cls, pattern: Any, positive: Array, negative: Array, own_rate: Array, other_rate: Array) -> Events:
        """Build from values on the pattern of a SciPy CSR array."""
        indptr, indices = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32)
        return cls(indptr, indices, positive, negative, own_rate, other_rate)

    @classmethod
    def from_dense(cls, positive: Array, negative: Array) -> Events:
        """Build from two matrices of event counts, words by contexts, without a background."""
        import scipy.sparse

        pattern = scipy.sparse.csr_array((positive + negative) > 0)
        rows = np.repeat(np.arange(positive.shape[0]), np.diff(pattern.indptr))
        listed = (matrix[rows, pattern.indices].astype(np.float64) for matrix in (positive, negative))
        return cls.on(pattern, *listed, *map(np.zeros, positive.shape))

    @property
    def rows(self) -> int:
        """The number of words, or of contexts."""
        return int(self.indptr.size - 1)

    def transposed(self) -> Events:
        """Return the same events in rows of the other side."""
        import scipy.sparse

        shape = (self.rows, self.other_rate.size)
        order = scipy.sparse.csr_array(
            (np.arange(self.indices.size), np.asarray(self.indices), np.asarray(self.indptr)), shape=shape
        ).T.tocsr()
        order.sort_indices()
        positive = np.asarray(self.positive)[order.data]
        negative = self.negative[order.data] if self.negative.size else self.negative
        return Events.on(order, positive, negative, self.other_rate, self.own_rate)

    def listed_events(self, temper: float) -> float:
        """Return the number of events, positive and negative, on listed pairs."""
        rows = np.repeat(np.arange(self.rows), np.diff(self.indptr))
        background = self.own_rate[rows] * self.other_rate[self.indices]
        return float(temper * (np.sum(self.positive) + np.sum(self.negative)) + np.sum(background))

    def unlisted_mass(self, run: Run) -> Array:
        """Return each row's share of the background that falls on unlisted pairs.

        Shares below 1e-6 become 0: they are the sum over all contexts minus the sum over listed ones, and float32
        moments cannot tell them from rounding errors.
        """
        out = np.zeros(self.rows)

        def fill(first: int, last: int) -> None:
            low, high = int(self.indptr[first]), int(self.indptr[last])
            sums = np.concatenate([[0.0], np.cumsum(self.other_rate[self.indices[low:high]])])
            ends = np.asarray(self.indptr[first : last + 1]) - low
            out[first:last] = sums[ends[1:]] - sums[ends[:-1]]

        run.over_rows(fill, self.rows, here=True)
        total = self.other_rate.sum()
        rest = 1 - out / total if total > 0 else np.zeros(self.rows)
        return np.where(rest > 1e-6, rest, 0.0)


@dataclass(kw_only=True, eq=False, repr=False)
class Likelihood:
    """Negative events, bound and priors: the options that both models share."""

    negative: Annotated[float, Option("negative samples per observed pair (k)", low=0, high=1e6)] = 5.0
    ns_exponent: Smoothing = 0.75
    temper: Annotated[float, Option("factor on all counts; below 1 widens the posteriors", low=1e-9, high=1e9)] = 1.0
    bound: Annotated[str, Option("quadratic bound of the logistic function", choices=("jaakkola", "boehning"))] = (
        "jaakkola"
    )
    relevance_shape: Annotated[
        float, Option("a0 of the Gamma prior of a dimension's precision", low=1e-12, high=1e12)
    ] = 1e-3
    relevance_rate: Annotated[
        float, Option("b0 of the Gamma prior of a dimension's precision", low=1e-12, high=1e12)
    ] = 1e-3

    def __post_init__(self) -> None:
        if self.negative <= 0:
            raise FirthianError(
                "without negative events every pair is real, and the optimal vectors are all alike",
                hint="set `negative` to 1 or more",
            )


@dataclass(eq=False, repr=False)
class BayesianLogistic(Likelihood):
    """The data, priors and bound of the model, from counts or from a list of events; solvers fit it.

    ``bias`` adds a_i (row) or a_i and b_j (both). Events bring their negative ones along.
    """

    source: Counts | Events
    run: Run
    _: KW_ONLY
    bias: Annotated[str, Option("biases: of words (row) and contexts (both)", choices=("none", "row", "both"))] = "none"
    bias_precision: Annotated[float, Option("prior precision of the biases", low=1e-12, high=1e12)] = 0.01
    negatives: Annotated[
        str, Option("negative events: their expectation, or one sample", choices=("expected", "sampled"))
    ] = "expected"
    counts: Counts | None = field(init=False, default=None)
    words: Events = field(init=False)
    contexts: Events = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.source, Events):
            self.words, self.contexts = self.source, self.source.transposed()
            return
        self.counts = counts = self.source
        if counts.total <= 0:
            raise no_pairs()
        noise = noise_of(counts.column_sums, self.ns_exponent)
        if self.negatives == "sampled":
            self.words = sampled_events(counts, self.run, self.negative, noise)
            self.contexts = self.words.transposed()
            return
        row_rate = self.negative * self.temper * np.asarray(counts.row_sums, dtype=np.float64)
        rows = (counts.indptr, counts.indices, counts.values, np.empty(0, dtype=counts.values.dtype))
        self.words = Events(*rows, row_rate, noise)
        symmetric = counts.options.context == "both"
        self.contexts = Events(*rows, noise, row_rate) if symmetric else self.words.transposed()

    @property
    def shape(self) -> tuple[int, int]:
        """Words by contexts."""
        return self.words.rows, self.contexts.rows


def noise_of(mass: Array, exponent: float) -> Array:
    """Return p_j, the distribution of negative events over contexts with these masses; those never seen have none.

    >>> noise_of(np.array([4.0, 1.0, 0.0]), 0.0)
    array([0.5, 0.5, 0. ])
    """
    noise = np.where(mass > 0, np.asarray(mass, dtype=np.float64) ** exponent, 0.0)
    return np.asarray(noise / noise.sum())


def no_pairs() -> FirthianError:
    """Return the error to raise when there is nothing to learn from."""
    return FirthianError("the text contains no pairs of words", hint="add text, or raise `window`")


def sampled_events(counts: Counts, run: Run, negative: float, noise: Array) -> Events:
    """Draw the negative events once: round(k·x_i) in row i, over contexts distributed as ``noise``."""
    import scipy.sparse

    words = len(counts.vocabulary)
    draws = np.rint(negative * np.asarray(counts.row_sums)).astype(np.int64)
    if not draws.any():
        raise FirthianError("the sample has no negative events", hint="raise `negative`, or set `negatives=expected`")
    ends = np.cumsum(noise)
    ends /= ends[-1]

    def draw(row: int) -> tuple[Array, Array]:
        # One generator per row: the sample does not depend on the order in which rows are drawn.
        generator = run.generator(6, row)
        if draws[row] < words:
            # Most words are rare: a multinomial over all contexts for each would draw V² numbers.
            columns, events = np.unique(
                np.searchsorted(ends, generator.random(draws[row]), "right"), return_counts=True
            )
        else:
            histogram = generator.multinomial(draws[row], noise)
            columns = np.flatnonzero(histogram)
            events = histogram[columns]
        return columns.astype(np.int32), events.astype(np.float32)

    blocks = run.over_rows(lambda first, last: [draw(row) for row in range(first, last)], words, here=True)
    drawn = [row for block in blocks for row in block]
    sizes = np.concatenate([[0], np.cumsum([columns.size for columns, _ in drawn])])
    sample = scipy.sparse.csr_array(
        (np.concatenate([events for _, events in drawn]), np.concatenate([columns for columns, _ in drawn]), sizes),
        shape=counts.shape,
    )
    seen = scipy.sparse.csr_array(
        (np.ones(counts.pairs, np.float32), np.array(counts.indices), np.array(counts.indptr)), shape=counts.shape
    )
    union = seen + (sample != 0).astype(np.float32)
    union.sort_indices()
    positive = on_pattern(union, counts.to_scipy().astype(np.float32))
    return Events.on(union, positive, on_pattern(union, sample), np.zeros(words), np.zeros(words))


#: Batches of up to this number of tokens are parts of one segment of the text.
SMALL_BATCH = 1_000_000


@dataclass(eq=False, repr=False)
class StreamedLogistic(Likelihood):
    """Bayesian logistic factorization of a text read in batches of about ``batch_tokens`` tokens.

    Batches of up to ``SMALL_BATCH`` tokens are parts of one segment of the text (4 MB), which may have fewer; only larger
    ones span several segments.
    """

    tokens: Tokens
    run: Run
    _: KW_ONLY
    batch_tokens: Annotated[
        int, Option("approximate tokens per batch; up to a million, at most 4 MB of text", low=1)
    ] = 2_000_000
    population: Annotated[
        int, Option("tokens of the text this one is a part of; 0: this is all", low=0, high=10**15)
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.tokens.vocabulary.counts
        kept = counts * self.tokens.options.keep_probabilities(counts)
        #: The expected number of tokens in one pass.
        self.total_tokens = float(np.sum(kept))
        #: The expected number of each word in one pass, or in the larger text that this one is a part of.
        self.totals = kept * max(1.0, self.population / self.total_tokens)

    def batches(self, epoch: int = 0) -> Iterator[Counts]:
        """Count the text of an epoch batch by batch; the boundaries depend on the text alone."""
        for group in self.tokens.groups(epoch, self.batch_tokens if self.batch_tokens > SMALL_BATCH else 1):
            begin, end = group.core
            parts = max(1, round((end - begin) / self.batch_tokens))
            boundaries = np.linspace(begin, end, parts + 1).astype(np.int64).tolist()
            for core in itertools.pairwise(boundaries):
                batch = count_stream(group.stream, core, self.tokens.vocabulary, self.tokens.options, self.run)
                if batch.pairs:
                    yield batch


def count_stream(
    stream: Array, core: tuple[int, int], vocabulary: Vocabulary, options: WindowSettings, run: Run
) -> Counts:
    """Count the windows around the tokens ``core[0]`` to ``core[1]`` of a stream, in memory.

    A window belongs to its middle word, so the counts of a batch are symmetric except at its ends. Averaging with the
    transpose makes them symmetric; the other batches lack the same pairs.
    """
    import scipy.sparse

    _, unit = options.integer_weights()
    words = len(vocabulary)
    blocks = list(count_blocks(stream, core, words, options.sides(), run.threads))
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
    return counts_from_matrix(matrix, Vocabulary(vocabulary.words, tokens), options)


def counts_from_matrix(matrix: Any, vocabulary: Vocabulary, options: WindowSettings) -> Counts:
    """Build counts from a SciPy CSR array."""
    rows = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))
    row_sums, column_sums = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
    exact = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Counts(*rows, vocabulary, row_sums, column_sums, options, {}, exact)


#: A document longer than this number of batches is split at a space.
_LONGEST = 2


def read_batches(
    corpus: Corpus, tokens: int, strict: bool = False, replaced: Callable[[int], None] | None = None
) -> Iterator[list[str]]:
    """Yield lists of documents of about ``tokens`` tokens; a very long line is split between words.

    With ``strict``, bytes that are not UTF-8 are an error; otherwise they are replaced, and ``replaced`` gets their number.

    >>> from firthian.text.readers import open_corpus
    >>> list(read_batches(open_corpus(["a b c", "d e", "f"]), 3))
    [['a b c'], ['d e', 'f']]
    """
    rest, size, line = bytearray(), 0, 1
    for text in _lines(corpus):
        rest += text
        size += text.count(b" ") + text.count(b"\n")
        if size < tokens:
            continue
        whole, newline, unfinished = rest.rpartition(b"\n")
        if not newline and size >= _LONGEST * tokens:
            whole, _, unfinished = rest.rpartition(b" ")
        if whole:
            yield _documents(bytes(whole), line, strict, replaced)
            rest, size, line = unfinished, unfinished.count(b" "), line + whole.count(b"\n") + len(newline)
    if rest.strip():
        yield _documents(bytes(rest.rstrip(b"\n")), line, strict, replaced)


def _lines(corpus: Corpus) -> Iterator[bytes]:
    """Yield lines, since a piece may be larger than a batch; a line that spans pieces comes in parts."""
    for piece in corpus.pieces():
        yield from io.BytesIO(piece.text)


def _documents(text: bytes, line: int, strict: bool, replaced: Callable[[int], None] | None) -> list[str]:
    if strict:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            number = line + text[: error.start].count(b"\n")
            raise FirthianError(
                f"line {number} of the stream: a byte is not UTF-8",
                hint="convert the text to UTF-8, or omit `strict` to replace such bytes",
            ) from None
    decoded, undecodable = decode(text)
    if replaced is not None:
        replaced(undecodable)
    return decoded.split("\n")
