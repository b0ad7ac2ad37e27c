"""The vector of a text: a weighted mean of its words' vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.options import Option
from firthian.vectors.lookup import find_rows, note
from firthian.vectors.rows import dense_rows, row_slices

if TYPE_CHECKING:
    from firthian.text.tokenizer import Tokenizer
    from firthian.vectors.matrix import WordMatrix


WEIGHTINGS = ("mean", "sif")


def document_vector(
    vectors: WordMatrix,
    text: str | Iterable[str],
    weighting: str,
    smoothing: float,
    missing: str,
    tokenizer: Tokenizer | None,
) -> Array:
    """See ``Vectors.document_vector``."""
    if weighting not in WEIGHTINGS:
        raise FirthianError(f"unknown weighting {weighting!r}", hint=suggest(weighting, WEIGHTINGS))
    if (
        weighting == "sif"
        and not 0 < Option("0.001 is typical", name="smoothing").check(smoothing, strict=True) < np.inf
    ):
        raise FirthianError(f"`smoothing` must be a number above 0, got {smoothing}", hint="0.001 is typical")
    tokens = tokenize(vectors, text, tokenizer) if isinstance(text, str) else list(text)
    odd = next((token for token in tokens if " " in token and token not in vectors), None)
    if odd is not None:
        raise FirthianError(f"expected one text or a list of tokens, got {odd[:40]!r}", hint="call it once per text")
    if missing == "compose" and vectors.subwords is None:
        missing = "skip"
    words, found = find_rows(vectors, tokens, missing)
    numbers = np.array(found, dtype=np.int64)
    if not numbers.size:
        return np.zeros(vectors.vector_size, dtype=np.float32)
    weights = np.ones(numbers.size)
    if weighting == "sif":
        counts = vectors.vocabulary.counts
        if not counts.any():
            raise FirthianError("these vectors have no word counts", hint="use weighting='mean'")
        # Arora, Liang and Ma 2017, eq. 3: a word of probability p weighs a / (a + p).
        probability = np.where(numbers >= 0, counts[np.maximum(numbers, 0)], 0) / counts.sum()
        weights = smoothing / (smoothing + probability)
    total = np.zeros(vectors.vector_size)
    known = np.flatnonzero(numbers >= 0)
    for block in row_slices(known.size):
        some = known[block]
        # Not by BLAS, whose sums depend on its threads.
        total += np.einsum("i,ij->j", weights[some], dense_rows(vectors.stored, numbers[some]))
    if missing == "compose" and vectors.subwords is not None:
        unknown = np.flatnonzero(numbers < 0)
        for block in row_slices(unknown.size):
            some = unknown[block]
            rows = vectors.subwords.compose([words[at] for at in some])
            note(vectors.composed, (words[at] for at in some[rows.any(axis=1)]))
            # A word none of whose n-grams is known is left out: a text may contain anything.
            weights[some[~rows.any(axis=1)]] = 0
            total += np.einsum("i,ij->j", weights[some], rows)
    mean: Array = (total / max(weights.sum(), 1e-300)).astype(np.float32)
    return mean


def tokenize(vectors: WordMatrix, text: str, tokenizer: Tokenizer | None = None) -> list[str]:
    """Tokenize a text as the corpus was, and join the phrases that were joined there."""
    from firthian.text.phrases import join_known

    tokens = (tokenizer or tokenizer_of(vectors)).tokens(text)
    passes = phrase_passes(vectors)
    return join_known(tokens, vectors.vocabulary, passes) if passes else tokens


def as_in_corpus(vectors: WordMatrix, word: str) -> str:
    """Return a word of a query as it stands in the vocabulary: in lower case, or joined to a phrase, if the corpus was.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> as_in_corpus(Vectors(np.eye(2), Vocabulary(["tea", "new_york"])), "Tea")
    'tea'
    """
    if word in vectors.vocabulary or not word.strip():
        return word
    try:
        tokens = tokenize(vectors, word)
    except FirthianError:
        # The tokenizer of the corpus is a function or a library that is not here.
        tokens = [word.lower()] if vectors.vocabulary.lowercase else []
    joined = "_".join(tokens)
    composes = len(tokens) == 1 and vectors.subwords is not None
    return joined if joined and (joined in vectors.vocabulary or composes) else word


def phrase_passes(vectors: WordMatrix) -> int:
    """Return how many passes joined words of the corpus to phrases; 0 if none did."""
    from firthian.counts.settings import MOST_PASSES

    passes = vectors.state.get("phrase_passes")
    # A file may hold any number; more passes than counting allows join no more.
    return min(passes, MOST_PASSES) if isinstance(passes, int) else 0


def tokenizer_of(vectors: WordMatrix, name: str | None = None) -> Tokenizer:
    """Return the tokenizer of the corpus, or the one called ``name`` with the corpus's handling of case and numbers.

    Vectors without a tokenizer in their state use the default one; it keeps case if the vocabulary has upper-case words.
    """
    from firthian.text.tokenizer import Tokenizer, is_builtin

    state = vectors.state
    stored = state.get("tokenizer")
    if not isinstance(stored, str):
        return Tokenizer(name or "unicode", keep_case=not vectors.vocabulary.lowercase)
    # A file must not make us import a module: only the built-in tokenizers are loaded by a stored name.
    if name is None and not is_builtin(stored):
        message = f"the corpus was tokenized by the function {stored}, which is not loaded from a file"
        raise FirthianError(message, hint="pass `tokenizer`, or a list of tokens")
    return Tokenizer(name or stored, bool(state.get("keep_case")), bool(state.get("fold_numbers")))
