"""Questions about words by cosine: neighbors, analogies, similarity, the odd one out, the vector of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.runtime.table import Column, Listing
from firthian.vectors.documents import document_vector
from firthian.vectors.lookup import look_up
from firthian.vectors.matrix import WordMatrix
from firthian.vectors.rows import as_float32, as_list, scale_to_unit
from firthian.vectors.search import cosines_to_unit, three_cos_mul

if TYPE_CHECKING:
    from firthian.text.tokenizer import Tokenizer

#: (word, score), best first; also a table.
Neighbors = Listing[tuple[str, float]]

_COLUMNS = (Column("word"), Column("score", float, ".4f"))

ANALOGY_METHODS = ("3cosadd", "3cosmul")


class Queries(WordMatrix):
    """The part of ``Vectors`` that answers by cosine."""

    @overload
    def most_similar(
        self,
        positive: Any = ...,
        negative: Any = ...,
        topn: int = ...,
        missing: str = ...,
        restrict_vocab: int | None = ...,
    ) -> Neighbors: ...

    @overload
    def most_similar(
        self, positive: Any, negative: Any = ..., *, topn: None, missing: str = ..., restrict_vocab: int | None = ...
    ) -> Array: ...

    def most_similar(
        self,
        positive: Any = (),
        negative: Any = (),
        topn: int | None = 10,
        missing: str = "compose",
        restrict_vocab: int | None = None,
    ) -> Neighbors | Array:
        """Return the words nearest by cosine to the mean of ``positive`` words minus ``negative`` ones.

        Each may be a word, a vector, a pair (word or vector, weight), or a list of these; the words of the query are not
        in the result. ``restrict_vocab`` searches only the N most frequent words. Vectors of zeros have no neighbors.
        With ``topn=None`` the result is an array of the cosines with all words.
        """
        query = np.zeros(self.vector_size, dtype=np.float32)
        excluded: list[int] = []
        for items, sign in ((positive, 1), (negative, -1)):
            for item in [items] if _is_weighted(items) else as_list(items):
                part, weight = item if _is_weighted(item) else (item, 1.0)
                if isinstance(part, str):
                    found = look_up(self, [part], missing, unit=True)
                    query += np.float32(sign * weight) * found.vectors.sum(axis=0)
                    excluded += [number for number in found.numbers if number >= 0]
                else:
                    query += np.float32(sign * weight) * scale_to_unit(self._checked(part)).sum(axis=0)
        if topn is None:
            return np.asarray(self.searcher.cosines(scale_to_unit(query[None]), restrict_vocab)[0])
        return self._named(self.searcher.nearest(scale_to_unit(query[None]), topn, [excluded], limit=restrict_vocab))[0]

    def most_similar_many(
        self, words: Iterable[str], topn: int = 10, missing: str = "compose", restrict_vocab: int | None = None
    ) -> list[Neighbors]:
        """Return the neighbors of each word; one that is left out or zero has an empty list."""
        listed = as_list(words)
        results: list[list[tuple[int, float]]] = []
        for batch in self.searcher.batches(len(listed)):
            found = look_up(self, listed[batch], _zero(missing), unit=True)
            excluded = [[number] if number >= 0 else [] for number in found.numbers]
            results += self.searcher.nearest(found.vectors, topn, excluded, limit=restrict_vocab)
        return self._named(results)

    def nearest_to(self, vectors: Any, topn: int = 10, restrict_vocab: int | None = None) -> Any:
        """Return the words nearest to a vector, or to each row of a matrix: a list, or a list of lists."""
        queries = scale_to_unit(self._checked(vectors))
        results = self._named(self.searcher.nearest(queries, topn, limit=restrict_vocab))
        return results[0] if np.ndim(vectors) == 1 else results

    def analogy(
        self, a: str, b: str, c: str, topn: int = 10, method: str = "3cosadd", restrict_vocab: int | None = None
    ) -> Neighbors:
        """Return the words that complete *a is to b as c is to …*, without a, b and c.

        ``3cosadd`` ranks by the cosine with b - a + c, ``3cosmul`` by the product of Levy and Goldberg (2014).
        """
        return self.analogy_many([(a, b, c)], topn, method, restrict_vocab)[0]

    def analogy_many(
        self,
        questions: Sequence[tuple[str, str, str]],
        topn: int = 1,
        method: str = "3cosadd",
        restrict_vocab: int | None = None,
    ) -> list[Neighbors]:
        """Complete many analogies at once."""
        if method not in ANALOGY_METHODS:
            raise FirthianError(f"there is no analogy method {method!r}", hint=suggest(method, ANALOGY_METHODS))
        if any(len(as_list(question)) != 3 for question in questions):
            raise FirthianError("a question must have three words", hint="pass a, b and c of: a is to b as c is to …")
        combine = None
        if method == "3cosmul":
            scale, offset = cosines_to_unit(self.matrix)
            combine = partial(three_cos_mul, scale=scale, offset=offset)
        results: list[list[tuple[int, float]]] = []
        for batch in self.searcher.batches(len(questions), 1 if combine is None else 3):
            found = [look_up(self, [q[place] for q in questions[batch]], "compose", unit=True) for place in range(3)]
            a, b, c = (part.vectors for part in found)
            excluded = [[n for n in rows if n >= 0] for rows in zip(*(part.numbers for part in found), strict=True)]
            queries = scale_to_unit(b - a + c) if combine is None else np.stack([b, c, a])
            results += self.searcher.nearest(queries, topn, excluded, limit=restrict_vocab, combine=combine)
        return self._named(results)

    def similarity(self, first: str, second: str, missing: str = "compose") -> float:
        """Return the cosine of two words."""
        left, right = look_up(self, [first, second], _zero(missing), unit=True).vectors
        return float(left @ right)

    def doesnt_match(self, words: Iterable[str], missing: str = "compose") -> str:
        """Return the word farthest from the mean of all."""
        found = look_up(self, words, "skip" if missing == "zero" else missing, unit=True)
        if not found.words:
            raise FirthianError("none of the words is in the vocabulary", hint="pass at least three words")
        return found.words[int(np.argmin(found.vectors @ found.vectors.mean(axis=0)))]

    def document_vector(
        self,
        text: str | Iterable[str],
        *,
        weighting: str = "mean",
        smoothing: float = 1e-3,
        missing: str = "compose",
        tokenizer: Tokenizer | None = None,
    ) -> Array:
        """Return the mean vector of a text, or of a list of tokens; zeros if it has no known words.

        A text is tokenized as the corpus was. Unknown words are composed if the vectors have subwords, and otherwise left
        out. ``weighting="sif"`` weighs frequent words less (Arora, Liang and
        Ma 2017; ``smoothing`` is their a).
        """
        return document_vector(self, text, weighting, smoothing, missing, tokenizer)

    def _checked(self, vectors: Any) -> Array:
        """Return a vector or matrix as finite rows with the right number of columns."""
        rows = np.atleast_2d(as_float32(vectors))
        if rows.ndim != 2 or rows.shape[1] != self.vector_size:
            message = f"expected a vector of {self.vector_size} numbers, got the shape {np.shape(vectors)}"
            raise FirthianError(message, hint="use a vector of this model")
        if not np.isfinite(rows).all():
            raise FirthianError("a vector has numbers that are not finite", hint="check where it comes from")
        return rows

    def _named(self, results: list[list[tuple[int, float]]]) -> list[Neighbors]:
        words = self.vocabulary.words
        return [neighbors((words[number], score) for number, score in result) for result in results]


def neighbors(items: Iterable[tuple[str, float]]) -> Neighbors:
    """Return words and scores as a list that is also a table."""
    return Listing(items, "Neighbors", _COLUMNS)


def _is_weighted(item: Any) -> bool:
    """Return whether a part of a query is a pair of a word or vector and its weight, as in gensim."""
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[1], int | float)
        and np.ndim(item[0]) < 2
        and (isinstance(item[0], str) or np.ndim(item[0]) == 1)
    )


def _zero(missing: str) -> str:
    """Return the mode that keeps the places of unknown words, for callers that drop them later."""
    return "zero" if missing == "skip" else missing
