"""The encoder: texts -> a matrix with one row per text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain, islice
from typing import Annotated, Self

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.options import Option, Workers, check_all, declared
from firthian.runtime.executor import Threads
from firthian.text.tokenizer import Tokenizer
from firthian.texts.fitting import Fit
from firthian.texts.methods import METHODS, word_weights
from firthian.texts.pooling import Coverage, Pool, Pooling, Text, divide
from firthian.vectors.documents import tokenizer_of
from firthian.vectors.rows import scale_to_unit
from firthian.vectors.vectors import Vectors

Method = Annotated[str, Option("how word vectors are combined", choices=tuple(METHODS))]
Smoothing = Annotated[float, Option("weight of frequent words (a of SIF, smaller: less)", low=1e-12)]
Power = Annotated[float, Option("power of the agreement by which directions are scaled", low=0, high=4)]
Components = Annotated[int | None, Option("common components to remove (default: the method's own)", low=0)]
Normalize = Annotated[bool, Option("scale vectors to length 1")]
Missing = Annotated[str, Option("vectors of unknown words", choices=("compose", "skip"))]
Empty = Annotated[str, Option("texts without a known word: a row of zeros, or an error", choices=("zero", "error"))]


class Encoder:
    """Encodes texts as vectors, from the vectors of their words.

    Parameters
    ----------
    vectors : ``Vectors``, or a path.
    method : ``mean``; ``sif`` (Arora, Liang and Ma 2017): frequent words weigh less, and the first component that texts
        have in common is removed; ``usif`` (Ethayarajh 2018): the same without a parameter, for five components;
        ``spans``: a linear map, learned from texts alone, by which neighboring spans of a text agree; ``topics``: after
        ``spans``, each word gets the mean vector of the texts it occurs in, also words that had no vector.
    smoothing : a of the weight a / (a + p) of a word of probability p.
    components : how many common components ``mean``, ``sif`` and ``usif`` remove.
    power : ``spans`` and ``topics`` scale directions by their agreement to this power.
    normalize : scale vectors to length 1.
    missing : ``compose`` unknown words of n-grams, if the vectors have subwords, or ``skip`` them.
    empty : texts without a known word are rows of zeros (``zero``) or an ``error``.
    tokenizer : by default that of the corpus.
    workers : threads; any number gives the same bytes.

    ``fit`` learns from texts; without it, words are only weighed.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> words = Vocabulary(["the", "cat", "dog"], [8, 1, 1])
    >>> encoder = Encoder(Vectors(np.array([[1, 1], [1, 0], [0, 1]]), words), "mean")
    >>> encoder.encode(["The cat", "a dog", "?"])
    array([[1. , 0.5],
           [0. , 1. ],
           [0. , 0. ]], dtype=float32)
    >>> encoder.coverage.empty
    1
    """

    def __init__(
        self,
        vectors: Vectors | str | os.PathLike[str],
        method: Method = "spans",
        *,
        smoothing: Smoothing = 1e-3,
        power: Power = 0.5,
        components: Components = None,
        normalize: Normalize = False,
        missing: Missing = "compose",
        empty: Empty = "zero",
        tokenizer: Tokenizer | None = None,
        workers: Workers = None,
    ) -> None:
        given = {
            "method": method, "smoothing": smoothing, "power": power, "components": components, "normalize": normalize,
            "missing": missing, "empty": empty,
        }  # fmt: skip
        options = declared(Encoder)
        self.options = check_all("the encoder", {name: options[name] for name in given}, given)
        self.method = METHODS[self.options["method"]]
        if components is not None and self.method.spans:
            raise FirthianError(f"`components` has no effect with method={method}", hint="omit it")
        if not isinstance(vectors, Vectors):
            from firthian.vectors.formats import open_vectors

            vectors = open_vectors(vectors)
        self.executor = Threads(workers)
        self._pool = self._given = Pool(
            vectors, tokenizer or tokenizer_of(vectors), self.options["missing"] == "compose"
        )
        weights = word_weights(vectors.vocabulary, self.method.weights, self.options["smoothing"])
        self.pooling = Pooling.plain(weights, vectors.vector_size)
        self.fitted = False
        #: How many texts or spans ``fit`` learned from.
        self.samples = 0
        #: Of the last call of ``encode``.
        self.coverage = Coverage()

    def __repr__(self) -> str:
        fitted = "" if self.fitted else ", not fitted"
        return f"<Encoder: {self.options['method']}, {self.dimension} dimensions{fitted}>"

    @property
    def vectors(self) -> Vectors:
        """The vectors of words; with ``topics``, after ``fit``, those that it learned."""
        return self._pool.vectors

    @property
    def dimension(self) -> int:
        """The number of columns of the result."""
        return int(self.pooling.map.shape[1])

    def fit(self, texts: Iterable[Text]) -> Self:
        """Learn from texts what the method needs of them; return the encoder."""
        components = self.options["components"]
        components = self.method.components if components is None else components
        fit = Fit(self.method, self.options["smoothing"], components, self.options["power"], self.executor)
        self._pool, self.pooling = fit(self._given, texts)
        self.fitted, self.samples = True, fit.samples
        return self

    def encode(self, texts: str | Iterable[Text]) -> Array:
        """Return a float32 matrix with one row per text; for a single string, its vector.

        A text has the same vector in any batch, with any number of workers. ``coverage`` then counts the texts
        without a known word, whose rows are zeros.
        """
        blocks = divide([texts] if isinstance(texts, str) else texts)
        parts, coverage = [], Coverage()
        some = list(islice(blocks, 2))
        # Starting threads would take longer than encoding one block of a few texts.
        run = self.executor.map if len(some) > 1 else map
        for rows, totals, part in run(self._encode, chain(some, blocks)):
            if part.empty and self.options["empty"] == "error":
                place = coverage.texts + int(np.flatnonzero(totals == 0)[0]) + 1
                raise FirthianError(f"text {place} has no known word", hint="drop it, or use `empty=zero`")
            parts.append(rows)
            coverage += part
        self.coverage = coverage
        matrix = np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)
        return matrix[0] if isinstance(texts, str) else matrix

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write a folder with the vectors and what was learned; ``force`` replaces an existing one."""
        from firthian.texts.store import save

        save(path, self, force)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        normalize: bool | None = None,
        empty: str | None = None,
        tokenizer: Tokenizer | None = None,
        workers: int | None = None,
    ) -> Encoder:
        """Open a folder written by ``save``; the options replace those it was saved with."""
        from firthian.texts.store import load

        return load(path, tokenizer, workers, normalize=normalize, empty=empty)

    def _encode(self, texts: list[Text]) -> tuple[Array, Array, Coverage]:
        block = self._pool.read(texts)
        rows, totals = self.pooling.encode(block)
        return (scale_to_unit(rows) if self.options["normalize"] else rows), totals, block.coverage(totals)
