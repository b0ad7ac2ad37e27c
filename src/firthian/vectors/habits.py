"""The names that users of gensim, numpy and pandas expect, and errors that name the right call where there is another one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, UnknownWordError, require
from firthian.vectors.lookup import look_up
from firthian.vectors.queries import Neighbors, Queries
from firthian.vectors.rows import as_list, scale_to_unit

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

#: Names of other libraries, and what to write instead.
ELSEWHERE = {
    "add_vector": "vectors cannot be changed; build new ones: Vectors(matrix, Vocabulary(words))",
    "add_vectors": "vectors cannot be changed; build new ones: Vectors(matrix, Vocabulary(words)), or add_words(counts)",
    "build_vocab": "firthian.count(corpus) builds the vocabulary",
    "epochs": "see provenance.options",
    "evaluate_word_analogies": "firthian.evaluate(vectors, sets=[path])",
    "evaluate_word_pairs": "firthian.evaluate(vectors, sets=[path])",
    "fit": "PCA().fit(vectors) and other estimators take vectors as an array",
    "iloc": "vectors.matrix[row], or vectors.to_pandas().iloc[row]",
    "index2word": "index_to_key",
    "init_sims": "normalized() returns vectors of length 1",
    "loc": "vectors[word], or vectors.to_pandas().loc[word]",
    "predict_output_word": "most_similar(words), or firthian.ask for fitted models of text",
    "set_vecattr": "vectors cannot be changed; build new ones: Vectors(matrix, Vocabulary(words, counts))",
    "to_csv": "to_pandas().to_csv(path), or save_word2vec_format(path)",
    "train": "vectors are trained once: firthian.train(corpus); add_words(counts) adds words",
    "unit_normalize_all": "normalized() returns vectors of length 1",
    "vocab": "key_to_index, or vocabulary",
    "wmdistance": "the cosine of document_vector(a) and document_vector(b) compares texts",
}


class Habits(Queries):
    """The part of ``Vectors`` with names that other libraries use."""

    # gensim

    @property
    def wv(self) -> Self:
        """The vectors themselves, as ``model.wv`` in gensim."""
        return self

    @property
    def vectors(self) -> Any:
        """The matrix: one row per word."""
        return self.matrix

    @property
    def index_to_key(self) -> list[str]:
        """The words in the order of their rows, most frequent first."""
        return self.vocabulary.words

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""
        return self.vocabulary.index

    @property
    def norms(self) -> Array:
        """The length of each vector."""
        return np.asarray(self.searcher.norms)

    def has_index_for(self, word: str) -> bool:
        """Return whether a word has a row."""
        return word in self.vocabulary

    def get_index(self, word: str, default: int | None = None) -> int:
        """Return the row of a word, or ``default``."""
        return self.vocabulary[word] if default is None else self.vocabulary.get(word, default)

    def get_vector(self, word: str, norm: bool = False) -> Array:
        """Return the vector of a word, of length 1 with ``norm``."""
        return look_up(self, [word], "compose", unit=norm).vectors.reshape(-1)

    def get_normed_vectors(self) -> Array:
        """Return all vectors scaled to length 1."""
        return np.asarray(self.searcher.unit_rows(np.arange(len(self))))

    def get_mean_vector(
        self,
        keys: Any,
        weights: Iterable[float] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Array:
        """Return the weighted mean of words and vectors, each scaled to length 1 unless ``pre_normalize=False``."""
        items = as_list(keys)
        shares = np.ones(len(items)) if weights is None else np.asarray(list(weights), dtype=np.float64)
        if shares.shape != (len(items),):
            raise FirthianError(f"{len(items)} words but {shares.size} weights", hint="pass one weight per word")
        total, weight = np.zeros(self.vector_size), 0.0
        for item, share in zip(items, shares.tolist(), strict=True):
            if isinstance(item, str) and ignore_missing and item not in self and self.subwords is None:
                continue
            row = self[item] if isinstance(item, str) else self._checked(item)[0]
            total += share * (scale_to_unit(row[None])[0] if pre_normalize else row)
            weight += abs(share)
        if not weight:
            raise UnknownWordError("none of the words is in the vocabulary", hint="check spelling and case")
        mean = (total / weight).astype(np.float32)
        return scale_to_unit(mean[None])[0] if post_normalize else mean

    def get_vecattr(self, word: str, attr: str) -> int:
        """Return the ``count`` of a word, the only attribute there is."""
        if attr != "count":
            raise FirthianError(f"words have no attribute {attr!r}", hint="'count' is the only one")
        return int(self.vocabulary.counts[self.vocabulary[word]])

    def distance(self, first: str, second: str) -> float:
        """Return 1 - the cosine of two words."""
        return 1 - self.similarity(first, second)

    def distances(self, word: str | Array, others: Iterable[str] = ()) -> Array:
        """Return 1 - the cosine of a word or vector with other words, by default with all."""
        listed = as_list(others)
        query = self.get_vector(word, norm=True)[None] if isinstance(word, str) else scale_to_unit(self._checked(word))
        if not listed:
            return np.asarray(1 - self.searcher.cosines(query)[0])
        return np.asarray(1 - look_up(self, listed, "compose", unit=True).vectors @ query[0])

    def n_similarity(self, first: Iterable[str], second: Iterable[str]) -> float:
        """Return the cosine of the means of two lists of words."""
        left, right = (
            scale_to_unit(look_up(self, words, "compose").vectors.mean(axis=0)[None])[0]
            for words in (self._some(first), self._some(second))
        )
        return float(left @ right)

    def cosine_similarities(self, vector: Any, vectors: Any) -> Array:
        """Return the cosines of a vector with each row of a matrix."""
        return np.asarray(scale_to_unit(self._checked(vectors)) @ scale_to_unit(self._checked(vector))[0])

    def similar_by_word(self, word: str, topn: int = 10, restrict_vocab: int | None = None) -> Neighbors:
        """Return the neighbors of a word; the same as ``most_similar``."""
        return self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)

    similar_by_key = similar_by_word

    def similar_by_vector(self, vector: Any, topn: int = 10, restrict_vocab: int | None = None) -> Neighbors:
        """Return the words nearest to a vector; the same as ``nearest_to``."""
        return self.most_similar(np.asarray(vector), topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_to_given(self, word: str, candidates: Iterable[str]) -> str:
        """Return the candidate nearest to a word."""
        listed = self._some(candidates)
        return listed[int(np.argmin(self.distances(word, listed)))]

    def most_similar_cosmul(
        self, positive: Any = (), negative: Any = (), topn: int = 10, restrict_vocab: int | None = None
    ) -> Neighbors:
        """Complete an analogy of two positive words and a negative one by 3CosMul (Levy and Goldberg 2014)."""
        plus, minus = as_list(positive), as_list(negative)
        if len(plus) != 2 or len(minus) != 1:
            raise FirthianError("3CosMul takes two positive words and a negative one", hint="use most_similar")
        return self.analogy(minus[0], plus[0], plus[1], topn, "3cosmul", restrict_vocab)

    def closer_than(self, first: str, second: str) -> list[str]:
        """Return the words nearer to the first word than the second is."""
        cosines = 1 - self.distances(first)
        near = np.flatnonzero(cosines > cosines[self.vocabulary[second]])
        own = self.vocabulary[first]
        return [self.vocabulary.words[at] for at in near if at != own]

    words_closer_than = closer_than

    def rank(self, first: str, second: str) -> int:
        """Return the place of the second word among the neighbors of the first; 1 is the nearest."""
        return len(self.closer_than(first, second)) + 1

    def rank_by_centrality(self, words: Iterable[str], use_norm: bool = True) -> list[tuple[float, str]]:
        """Return (cosine with the mean, word) of the known words, best first."""
        known = [word for word in as_list(words) if word in self]
        if not known:
            raise UnknownWordError("none of the words is in the vocabulary", hint="check spelling and case")
        unit = look_up(self, known, "error", unit=True).vectors
        mean = (unit if use_norm else self[known]).mean(axis=0)
        return sorted(zip((unit @ scale_to_unit(mean[None])[0]).tolist(), known, strict=True), reverse=True)

    def relative_cosine_similarity(self, first: str, second: str, topn: int = 10) -> float:
        """Return the cosine of two words over the sum of the cosines of the nearest ``topn`` (Leeuwenberg et al. 2016)."""
        return self.similarity(first, second) / sum(score for _, score in self.most_similar(first, topn=topn))

    def vectors_for_all(self, words: Iterable[str]) -> Self:
        """Return the vectors of some words in their order; unknown ones are left out unless they can be composed."""
        listed = list(dict.fromkeys(as_list(words)))
        found = look_up(self, listed, "skip" if self.subwords is None else "compose")
        counts = [self.vocabulary.counts[number] if number >= 0 else 0 for number in found.numbers]
        return type(self)(found.vectors, type(self.vocabulary)(found.words, counts), provenance=self.provenance)

    @staticmethod
    def _some(words: Iterable[str]) -> list[str]:
        listed = as_list(words)
        if not listed:
            raise FirthianError("no words to compare", hint="pass at least one")
        return listed

    def fill_norms(self, force: bool = False) -> None:
        """Compute the lengths of all vectors now rather than at the first query."""
        self.searcher.norms.sum()

    def sort_by_descending_frequency(self) -> None:
        """Do nothing: words are sorted when they are counted."""

    def save_word2vec_format(
        self, path: str | os.PathLike[str], *, binary: bool = False, write_header: bool = True
    ) -> None:
        """Write word2vec's text or binary format; without a header it is GloVe's. An existing file is replaced."""
        from firthian.vectors.formats import write_vectors

        name = "word2vec-bin" if binary else "word2vec" if write_header else "glove"
        write_vectors(cast("Vectors", self), path, name, force=True)

    @classmethod
    def load_word2vec_format(
        cls, path: str | os.PathLike[str], *, binary: bool = False, limit: int | None = None, no_header: bool = False
    ) -> Vectors:
        """Read a file of word2vec or GloVe; ``firthian.load`` finds the format by itself, and also reads others."""
        from firthian.vectors.formats import read_vectors

        read = read_vectors(path, "word2vec-bin" if binary else "glove" if no_header else "word2vec")
        return read if limit is None else read.subset(limit)

    # numpy, pandas and dictionaries

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary.words)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        matrix = self.to_numpy()
        if dtype is not None and matrix.dtype != dtype:
            if copy is False:
                raise ValueError(f"the vectors are {matrix.dtype}; another type needs a copy")
            return matrix.astype(dtype)
        return matrix.copy() if copy else matrix

    def __setitem__(self, word: str, vector: Any) -> None:
        raise FirthianError("vectors cannot be changed", hint="build new ones: Vectors(matrix, Vocabulary(words))")

    @property
    def shape(self) -> tuple[int, int]:
        """Words by dimensions."""
        return len(self), self.vector_size

    def keys(self) -> list[str]:
        """Return the words in the order of their rows; with it, ``dict(vectors)`` works."""
        return self.vocabulary.words

    def items(self) -> Iterator[tuple[str, Array]]:
        """Yield each word with its vector."""
        return ((word, self[word]) for word in self.vocabulary.words)

    def get(self, word: str, default: Any = None) -> Any:
        """Return the vector of a word, or ``default`` if it has none."""
        try:
            return self[word]
        except UnknownWordError:
            return default

    def to_numpy(self) -> Array:
        """Return the matrix as a dense array, one row per word."""
        return self.matrix if isinstance(self.matrix, np.ndarray) else np.asarray(self.matrix.toarray())

    def to_pandas(self) -> Any:
        """Return a data frame with one row per word, which is its index, and one column per dimension."""
        return require("pandas", "ask").DataFrame(self.to_numpy(), index=self.vocabulary.words)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ELSEWHERE:
                raise AttributeError(f"vectors have no {name!r}: {ELSEWHERE[name]}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
