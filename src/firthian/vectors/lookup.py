"""Words of a query: the rows of known ones, the composed vectors of unknown ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, UnknownWordError, suggest
from firthian.kernels.packing import diagonal_places
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.rows import as_list, dense_rows, scale_to_unit

if TYPE_CHECKING:
    from firthian.vectors.matrix import WordMatrix
    from firthian.vectors.vectors import Vectors

#: What becomes of unknown words: composed of their n-grams (an error if that is not possible), an error, left out, or zeros.
MISSING = ("compose", "error", "skip", "zero")

#: A service that looks up any text must not fill memory with the words it has not.
MOST_MISSED = 10_000

#: N-grams that are named when a vector is composed.
_NAMED = 4


class Found(NamedTuple):
    """Words that were looked up: their rows in the matrix, -1 for unknown ones, and their vectors."""

    words: list[str]
    numbers: list[int]
    vectors: Array


def note(counter: Counter[str], words: Iterable[str]) -> None:
    """Count words; new ones only while there are fewer than MOST_MISSED."""
    for word in words:
        if word in counter or len(counter) < MOST_MISSED:
            counter[word] += 1


def find_rows(vectors: WordMatrix, words: Iterable[str], missing: str) -> tuple[list[str], list[int]]:
    """Return the words that are kept and their rows; unknown ones raise, are left out (``skip``), or have -1."""
    if missing not in MISSING:
        raise FirthianError(f"`missing` must be one of {', '.join(MISSING)}", hint=suggest(str(missing), MISSING))
    kept: list[str] = []
    numbers: list[int] = []
    for word in as_list(words):
        if not isinstance(word, str):
            raise FirthianError(f"expected a word, got {str(word)[:40]!r}", hint="pass a string such as 'tea'")
        number = vectors.vocabulary.get(word)
        if number < 0 and missing == "compose" and vectors.subwords is not None:
            number = vectors.vocabulary.get(_spelled(vectors, word))
        if number < 0:
            if missing == "error" or (missing == "compose" and vectors.subwords is None):
                raise vectors.vocabulary.unknown(word)
            note(vectors.missed, [word])
        if number >= 0 or missing in ("compose", "zero"):
            kept.append(word)
            numbers.append(number)
    return kept, numbers


def _spelled(vectors: WordMatrix, word: str) -> str:
    """Return a word as the corpus has it: composed as it stands, *Tea* would be unlike *tea*."""
    from firthian.vectors.documents import as_in_corpus

    return word if word.islower() else as_in_corpus(vectors, word)


def look_up(vectors: WordMatrix, words: Iterable[str], missing: str, unit: bool = False) -> Found:
    """Return the vectors of words, scaled to length 1 if ``unit``; ``compose`` raises if no n-gram of a word is known."""
    kept, numbers = find_rows(vectors, words, missing)
    if unit:
        rows = vectors.searcher.unit_rows(numbers)
    else:
        places = np.array(numbers, dtype=np.int64)
        rows = dense_rows(vectors.stored, np.maximum(places, 0))
        rows[places < 0] = 0
    unknown = [at for at, number in enumerate(numbers) if number < 0] if missing == "compose" else []
    if unknown and vectors.subwords is not None:
        composed = vectors.subwords.compose([_spelled(vectors, kept[at]) for at in unknown])
        for at, row in zip(unknown, composed, strict=True):
            if not row.any():
                raise cannot_compose(kept[at])
            note(vectors.composed, [kept[at]])
        rows[unknown] = scale_to_unit(composed) if unit else composed
    return Found(kept, numbers, rows)


def cannot_compose(word: str) -> UnknownWordError:
    """Build the error for a word none of whose n-grams is known."""
    return UnknownWordError(
        f"{word[:40]!r} is not in the vocabulary, and none of its n-grams is known",
        hint="check its spelling and case",
    )


def with_composed(vectors: Vectors, words: Iterable[str]) -> Vectors:
    """Return vectors with the composed ones of unknown words after them; their variance is that of hidden words."""
    unknown = [word for word in dict.fromkeys(words) if word not in vectors.vocabulary]
    if not unknown or vectors.subwords is None:
        return vectors
    rows = look_up(vectors, unknown, "compose").vectors
    extras = (
        {} if vectors.subwords.variance is None else _more_variance(vectors, vectors.subwords.variance, len(unknown))
    )
    counts = np.concatenate([vectors.vocabulary.counts, np.zeros(len(unknown), np.int64)])
    vocabulary = Vocabulary([*vectors.vocabulary.words, *unknown], counts)
    return type(vectors)(np.concatenate([vectors.matrix, rows]), vocabulary, extras=extras, state=vectors.state)


def _more_variance(vectors: Vectors, of_hidden: Array, rows: int) -> dict[str, Array]:
    """Return the variances or covariances with more rows, those of words hidden from the regression on n-grams."""
    variance = np.tile(of_hidden / np.float32(vectors.state.get("inflation") or 1.0), (rows, 1))
    if "variances" in vectors.extras:
        return {"variances": np.concatenate([vectors.extras["variances"], variance])}
    if "covariances" not in vectors.extras:
        return {}
    stored = vectors.extras["covariances"]
    more = np.zeros((rows, *stored.shape[1:]), stored.dtype)
    if stored.ndim == 3:
        more[:, np.arange(vectors.vector_size), np.arange(vectors.vector_size)] = variance
    else:
        more[:, diagonal_places(vectors.vector_size)] = variance
    return {"covariances": np.concatenate([stored, more])}


def explain(vectors: WordMatrix, word: str) -> str:
    """Return a line that says of which n-grams the vector of an unknown word is composed, and close known spellings.

    Empty for a known word.
    """
    word = _spelled(vectors, word)
    if word in vectors.vocabulary or vectors.subwords is None:
        return ""
    parts = vectors.subwords.parts(word)
    named = ", ".join(f"{ngram} {share:.0%}" for ngram, share in parts[:_NAMED])
    more = ", …" if len(parts) > _NAMED else ""
    close = vectors.vocabulary.unknown(word).hint
    ending = f"; {close}" if close.startswith("did") else ""
    return f"{word[:40]!r} is not in the vocabulary; its vector is composed of {named}{more}{ending}"
