"""Vectors: a matrix with one row per word, its vocabulary, provenance and state."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.text.vocabulary import Vocabulary
from firthian.vectors import transform, uncertainty
from firthian.vectors.documents import document_vector
from firthian.vectors.lookup import find_rows, look_up, with_unknown
from firthian.vectors.provenance import Provenance
from firthian.vectors.rows import as_float32, as_list, scale_to_unit
from firthian.vectors.search import Search, cosines_to_unit, three_cos_mul
from firthian.vectors.store import load_vectors, save_vectors
from firthian.vectors.subwords import Subwords
from firthian.vectors.uncertainty import Answer, CosineEstimate, Neighbor, WordUncertainty

if TYPE_CHECKING:
    from firthian.counts.counts import Counts
    from firthian.text.tokenizer import Tokenizer


#: (word, score), best first.
Neighbors = list[tuple[str, float]]

ANALOGY_METHODS = ("3cosadd", "3cosmul")


class Vectors:
    """Word vectors: ``matrix`` (dense float32, or a SciPy CSR array) and ``vocabulary``.

    ``contexts`` are the vectors of words as contexts; ``extras`` further arrays by name (biases, covariances);
    ``provenance`` says how the vectors were made; ``state`` has the scalars that methods need again; ``subwords`` has the
    vectors of character n-grams.

    With ``subwords`` an unknown word has a vector composed of its n-grams, and ``composed`` counts it; without, or with
    ``missing="error"``, it raises an error that suggests close spellings. With ``missing="skip"`` it is left out, with
    ``"zero"`` it has a vector of zeros. ``missed`` counts all unknown words.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> vectors = Vectors(np.array([[1, 0], [1, 1], [0, 1]]), Vocabulary(["tea", "cup", "mug"]))
    >>> vectors
    <Vectors: 3 words × 2 dimensions>
    >>> [(word, round(score, 3)) for word, score in vectors.most_similar("tea")]
    [('cup', 0.707), ('mug', 0.0)]
    >>> vectors["teacup"]
    Traceback (most recent call last):
    ...
    firthian.errors.UnknownWordError: 'teacup' is not in the vocabulary: check its spelling and case
    """

    def __init__(
        self,
        matrix: Any,
        vocabulary: Vocabulary,
        *,
        contexts: Any = None,
        extras: dict[str, Array] | None = None,
        provenance: Provenance | None = None,
        state: Mapping[str, Any] | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        matrix = as_float32(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != len(vocabulary):
            raise FirthianError(f"shape {matrix.shape} for {len(vocabulary)} words", hint="pass one row per word")
        self.matrix = matrix
        self.vocabulary = vocabulary
        self.contexts = None if contexts is None else as_float32(contexts)
        self.extras = dict(extras or {})
        self.provenance = provenance or Provenance()
        self.state: dict[str, Any] = dict(state or {})
        self.subwords = subwords
        #: Seconds and memory of training, in the process that trained; never saved.
        self.measured: dict[str, Any] = {}
        #: Unknown words that were looked up, and those whose vector was composed, with how often; never saved.
        self.missed: Counter[str] = Counter()
        self.composed: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        recipe = f", {self.provenance.recipe}" if self.provenance.recipe else ""
        sparse = "" if isinstance(self.matrix, np.ndarray) else ", sparse"
        return f"<Vectors: {len(self):,} words × {self.vector_size:,} dimensions{sparse}{recipe}>"

    def __getstate__(self) -> dict[str, Any]:
        # The searcher has threads, which cannot be copied or pickled; it is built again on demand.
        return {name: value for name, value in self.__dict__.items() if name != "searcher"}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy all but the words and arrays, which are large and never changed here (scikit-learn clones estimators)."""
        kept = {id(part): part for part in (self.matrix, self.vocabulary, self.contexts, self.subwords)}
        kept |= {id(part): part for part in self.extras.values()}
        copied = type(self).__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__getstate__(), {**kept, **memo}))
        return copied

    def __getitem__(self, words: str | Sequence[str]) -> Array:
        rows = look_up(self, words, "compose").vectors
        return rows.reshape(-1) if isinstance(words, str) else rows

    @property
    def vector_size(self) -> int:
        """The number of dimensions."""
        return int(self.matrix.shape[1])

    @cached_property
    def searcher(self) -> Search:
        """The search over all rows, built on first use."""
        return Search(self.matrix, self.vocabulary.words)

    @property
    def learned(self) -> Any:
        """The matrix as the recipe learned it: without the share of the n-grams, which ``subwords.blend`` added."""
        if self.subwords is None or not self.subwords.blend:
            return self.matrix
        return self.matrix - np.float32(self.subwords.blend) * self.subwords.compose(self.vocabulary.words)

    def numbers(self, words: Iterable[str], missing: str = "error") -> list[int]:
        """Return the row of each word; an unknown one raises, is left out (``skip``) or is -1 (``zero``)."""
        return find_rows(self, words, missing)[1]

    # Neighbors

    def most_similar(
        self,
        positive: Any = (),
        negative: Any = (),
        topn: int = 10,
        missing: str = "compose",
        restrict_vocab: int | None = None,
    ) -> Neighbors:
        """Return the words nearest by cosine to the mean of ``positive`` words minus ``negative`` ones.

        Each may be a word, a vector, or a list of words and vectors; the words of the query are not in the result.
        ``restrict_vocab`` searches only the N most frequent words. Vectors of zeros have no neighbors.
        """
        query = np.zeros(self.vector_size, dtype=np.float32)
        excluded: list[int] = []
        for items, sign in ((positive, 1), (negative, -1)):
            for item in as_list(items):
                if isinstance(item, str):
                    found = look_up(self, [item], missing, unit=True)
                    query += sign * found.vectors.sum(axis=0)
                    excluded += [number for number in found.numbers if number >= 0]
                else:
                    query += sign * scale_to_unit(self._checked(item)).sum(axis=0)
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

    # Vectors with uncertainty (recipes bayes and bayes-svi)

    def similarity_estimate(self, first: str, second: str, level: float = 0.9) -> CosineEstimate:
        """Return the posterior median of the cosine of two words, and its credible interval (median, low, high).

        ``similarity`` is the cosine of the means.
        """
        return uncertainty.similarity_estimate(with_unknown(self, (first, second)), first, second, level)

    def similarity_interval(self, first: str, second: str, level: float = 0.9) -> tuple[float, float]:
        """Return the central credible interval of the cosine of two words."""
        return uncertainty.similarity_interval(with_unknown(self, (first, second)), first, second, level)

    def most_similar_with_intervals(
        self, word: str, topn: int = 10, score: str = "cosine", level: float = 0.9
    ) -> list[Neighbor]:
        """Return the nearest words by the posterior median of the cosine, with credible intervals.

        Other scores are ``cosine-of-means`` and ``product-kernel``. A vector of zeros has no neighbors by cosine.
        """
        if score != "product-kernel" and uncertainty.has_uncertainty(self) and not self[word].any():
            return []
        return uncertainty.most_similar(with_unknown(self, [word]), word, topn, score, level)

    def uncertainty(self, word: str) -> WordUncertainty:
        """Return how uncertain the model is about a word: trace, log-determinant, effective dimensions."""
        return uncertainty.uncertainty(with_unknown(self, [word]), word)

    def analogy_probabilities(
        self, a: str, b: str, c: str, topn: int = 10, draws: int = 500, seed: int = 1
    ) -> list[Answer]:
        """Return the words that complete an analogy, each with its probability of being the best."""
        return uncertainty.analogy(with_unknown(self, (a, b, c)), a, b, c, topn, draws, seed)

    # Derived vectors

    def add_words(self, counts: Counts, ridge: float = 1.0, unseen_weight: float = 0.15) -> Vectors:
        """Fold in the words that only ``counts`` has (recipes psd and psd-blockwise); old vectors do not change.

        ``unseen_weight`` is the weight of pairs that do not occur; 0 is the formula of the paper.

        Words that share no pair with the trained ones are left out and named in ``provenance.added``.
        """
        from firthian.vectors.psd import add_words

        return add_words(self, counts, ridge, unseen_weight).vectors

    def subset(self, words: int | Iterable[str]) -> Vectors:
        """Return the vectors of the first N words, or of the named words in this order."""
        return transform.subset(self, words)

    def normalized(self) -> Vectors:
        """Return the vectors scaled to length 1."""
        return transform.normalized(self)

    def combined(self, how: str = "u+c") -> Vectors:
        """Combine word vectors u and context vectors c: ``u``, ``u+c`` or ``mean``."""
        return transform.combined(self, how)

    def with_eigenvalue_power(self, power: float) -> Vectors:
        """Reweight the dimensions of a decomposition: Q·Λ^power."""
        return transform.with_eigenvalue_power(self, power)

    def centered(self) -> Vectors:
        """Subtract the mean vector."""
        return transform.centered(self)

    def without_top_components(self, number: int) -> Vectors:
        """Center, and remove the strongest principal components."""
        return transform.without_top_components(self, number)

    def align_to(self, other: Vectors, topn: int = 20) -> transform.Alignment:
        """Rotate onto other vectors by orthogonal Procrustes; the result also lists the words that moved most."""
        return transform.align_to(self, other, topn)

    # On disk

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write a folder; ``force`` replaces an existing one. The same vectors give the same bytes."""
        save_vectors(path, self, force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = False) -> Vectors:
        """Open a folder written by ``save``, memory-mapped; ``verify`` reads and checks every byte."""
        return cls(**load_vectors(path, verify))

    # For other tools

    def to_gensim(self) -> Any:
        """Return a ``gensim.models.KeyedVectors`` with the same words, vectors and counts."""
        from firthian.vectors.formats.gensim import to_gensim

        return to_gensim(self)

    def to_spacy(self, path: str | os.PathLike[str], *, language: str | None = None, **options: Any) -> None:
        """Write a folder for ``spacy.load``; ``language`` is a spaCy code such as ``en``."""
        self._export(path, "spacy", language=language, **options)

    def to_model2vec(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder for ``model2vec.StaticModel.from_pretrained``, whose ``encode`` is ``document_vector``.

        ``name``, ``language``, ``license`` and ``scores`` (from ``firthian.evaluate``) go into its model card;
        ``tokenizer`` replaces that of the corpus; ``limit`` keeps the N most frequent words; ``force`` replaces an
        existing folder. The other exports take the same options.
        """
        self._export(path, "model2vec", **options)

    def to_sentence_transformers(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder for ``sentence_transformers.SentenceTransformer``, whose ``encode`` is ``document_vector``."""
        self._export(path, "sentence-transformers", **options)

    def to_projector(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder with ``vectors.tsv`` and ``metadata.tsv`` for TensorFlow's Embedding Projector."""
        self._export(path, "projector", **options)

    def to_atlas(self, path: str | os.PathLike[str], *, coordinates: Any = None, **options: Any) -> None:
        """Write Parquet for embedding-atlas; ``coordinates`` has two numbers per word, by default from a PCA."""
        self._export(path, "atlas", coordinates=coordinates, **options)

    def model_card(self, **options: Any) -> str:
        """Return a model card in Markdown: what the vectors are, where they come from, and their ``scores``."""
        from firthian.vectors.cards import model_card

        return model_card(self, **options)

    def _export(self, path: str | os.PathLike[str], format: str, **options: Any) -> None:
        from firthian.vectors.formats import write_vectors

        write_vectors(self, path, format, **options)

    def _repr_html_(self) -> str:
        from firthian.vectors.cards import notebook_view

        return notebook_view(self)

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
        return [[(words[number], score) for number, score in result] for result in results]


def _zero(missing: str) -> str:
    """Return the mode that keeps the places of unknown words, for callers that drop them later."""
    return "zero" if missing == "skip" else missing
