"""What the two classifiers share: reading documents, fitting, predicting, and growing with a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from firthian.adapt.checks import ParameterError, check_documents, check_parameters, kind_of
from firthian.adapt.documents import (
    Bag,
    Examples,
    count_words,
    inverse_document_frequency,
    is_ngram,
    learn_vocabulary,
    scale,
    tokenize,
    weigh,
)
from firthian.adapt.learner import Ensemble, Rule, predict_codes
from firthian.adapt.vectors import FirstPhi, GivenPhi, first_phi
from firthian.arrays import Array
from firthian.errors import require
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable, VocabularyLimits
from firthian.text.vocabulary import Vocabulary

require("sklearn", "sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import (  # noqa: E402
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

__all__ = ["DocumentClassifier", "check_is_fitted"]


class DocumentClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classification of documents that are sums of word vectors."""

    # Parameters; the two classifiers say what they mean.
    vectors: Any
    C: float
    passes: int
    averaged: bool
    class_weight: Any
    multi_class: str
    one_hot: float
    weighting: str
    scaling: str
    ngrams: int
    min_count: int
    tokenizer: Any
    keep_case: bool
    unseen: str
    shuffle: bool
    random_state: Any
    n_jobs: int | None

    # What fitting leaves.
    classes_: Array
    vocabulary_: Vocabulary
    #: The word vectors before learning, one row a word.
    base_: Array
    idf_: Array
    ensemble_: Ensemble
    #: Whether labels beyond ``classes_`` are an error.
    classes_known_: bool
    input_kind_: str
    #: Training documents without a known word, and words (n-grams apart) that the vectors do not hold.
    n_empty_: int
    n_unknown_words_: int
    seed_: int
    _first: FirstPhi
    _table: TypeTable

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _rule(self) -> Rule:
        return Rule(lam=math.inf, averaged=bool(self.averaged))

    # Reading

    def _read(self, X: Any, y: Any = None, learn: str = "", stream: bool = False) -> tuple[Any, Array | None]:
        """Return counts (CSR) and labels; ``learn`` is empty, ``fit`` (a new vocabulary) or ``grow`` (a larger one)."""
        kind = kind_of(X)
        if learn != "fit" and (kind == "matrix") != (self.input_kind_ == "matrix"):
            raise ParameterError(
                f"this classifier was fitted on {self.input_kind_}, and this is {kind}", hint="give the same kind"
            )
        if kind == "matrix":
            if self.ngrams > 1:
                raise ParameterError("a matrix does not say which words are neighbors", hint="set ngrams=1")
            from scipy.sparse import csr_array

            given = {"y": y} if learn else {}
            checked = validate_data(
                self, X, **given, accept_sparse="csr", dtype=np.float64, reset=learn == "fit", ensure_min_samples=1
            )
            X, y = checked if learn else (checked, None)
            if learn == "fit":
                self.input_kind_ = kind
                self._start_matrix(X.shape[1])
            counts = csr_array(X)
            counts.sum_duplicates()
            counts.eliminate_zeros()
            return counts, None if y is None else np.asarray(y)
        X = list(X)
        check_documents(X, kind)
        if learn:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        documents = tokenize(X, self._tokenizer(), int(self.ngrams))
        if learn == "fit":
            self.input_kind_ = kind
            # A stream cannot know how often a word will come. An n-gram that came once says little and takes much room.
            least = 1 if stream else self.min_count
            vocabulary = learn_vocabulary(documents, VocabularyLimits(least), 1 if stream else max(2, least))
            self._start_vocabulary(vocabulary)
        elif learn == "grow" and documents.tokens:
            self._grow_vocabulary(learn_vocabulary(documents, VocabularyLimits(min_count=1)))
        bag: Bag = count_words(documents, self._table)
        return bag.matrix, y

    def _tokenizer(self) -> Tokenizer:
        if isinstance(self.tokenizer, Tokenizer):
            return self.tokenizer
        return Tokenizer(self.tokenizer, keep_case=bool(self.keep_case))

    def _start_matrix(self, columns: int) -> None:
        names = getattr(self, "feature_names_in_", None)
        words = [str(n) for n in range(columns)] if names is None else [str(name) for name in names]
        self.vocabulary_ = Vocabulary(words)
        if isinstance(self._first, GivenPhi):
            if len(self._first.vectors.vocabulary) != columns:
                raise ParameterError(
                    f"vectors of {len(self._first.vectors.vocabulary)} words for a matrix of {columns} columns",
                    hint="give one column a word, in the order of the vectors",
                )
            words = self._first.vectors.vocabulary.words
        self.base_, known = self._first.rows(words, 0)
        self.n_unknown_words_ = int(np.count_nonzero(~known))

    def _start_vocabulary(self, vocabulary: Vocabulary) -> None:
        if self.unseen == "vectors" and isinstance(self._first, GivenPhi):
            more = [word for word in self._first.vectors.vocabulary.words if word not in vocabulary]
            vocabulary = Vocabulary([*vocabulary.words, *more], [*vocabulary.counts.tolist(), *[0] * len(more)])
        self.vocabulary_ = vocabulary
        self._table = TypeTable.of_words(vocabulary.words)
        self.base_, known = self._first.rows(vocabulary.words, 0)
        self.n_unknown_words_ = self._unknown_words(vocabulary.words, known)

    def _unknown_words(self, words: Sequence[str], known: Array) -> int:
        return sum(not there and not is_ngram(word) for word, there in zip(words, known, strict=True))

    def _grow_vocabulary(self, batch: Vocabulary) -> None:
        counts = self.vocabulary_.counts.copy()
        places = np.fromiter((self.vocabulary_.get(word) for word in batch.words), np.int64, len(batch))
        known = places >= 0
        counts[places[known]] += batch.counts[known]
        new = [word for word, there in zip(batch.words, known, strict=True) if not there]
        if not new:
            # The usual case in a stream: the words, and the index that was built of them, stay.
            self.vocabulary_.counts = counts
            return
        size = len(self.vocabulary_)
        self.vocabulary_ = Vocabulary([*self.vocabulary_.words, *new], np.append(counts, batch.counts[~known]))
        rows, there = self._first.rows(new, size)
        self.base_ = np.concatenate([self.base_, rows])
        self.n_unknown_words_ += self._unknown_words(new, there)
        self._table = TypeTable.of_words(self.vocabulary_.words)
        self.idf_ = np.append(self.idf_, np.full(len(new), self.idf_.max(), np.float32))
        self.ensemble_.grow_words(self._ensemble_base())

    def _weigh(self, counts: Any) -> Any:
        weighting = self.weighting
        if weighting == "auto":
            weighting = "given" if self.input_kind_ == "matrix" else "tfidf"
        return weigh(counts, weighting, self.idf_)

    def _scaled(self, counts: Any) -> Examples:
        return scale(self._weigh(counts), self.base_, self.scaling, float(self.one_hot))

    def _examples(self, counts: Any) -> Examples:
        raise NotImplementedError

    def _ensemble_base(self) -> Array:
        raise NotImplementedError

    def _has_one_hot(self) -> bool:
        return float(self.one_hot) > 0

    def _first_phi(self) -> FirstPhi:
        return first_phi(self.vectors, self.seed_)

    # Learning

    def _start(self, X: Any, y: Any, stream: bool = False) -> tuple[Any, Array]:
        self._check_parameters()
        # What an earlier fit left must not be taken for this one's, be it columns of a matrix or what was learned.
        for name in ("n_features_in_", "feature_names_in_", "ensemble_"):
            self.__dict__.pop(name, None)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._first = self._first_phi()
        counts, labels = self._read(X, y, "fit", stream)
        assert labels is not None
        check_classification_targets(labels)
        self.idf_ = inverse_document_frequency(counts)
        self.n_empty_ = 0
        return counts, labels

    def _start_classes(self, labels: Array) -> Array:
        """Take the classes that the labels name, and number the labels."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            raise ParameterError(
                f"there is only one class, {self.classes_.tolist()[0]!r}", hint="give examples of two classes or more"
            )
        self.classes_known_ = True
        return np.asarray(codes)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents (texts, lists of tokens, or a matrix with a column a word) and their labels."""
        counts, labels = self._start(X, y)
        codes = self._start_classes(labels)
        self.ensemble_ = Ensemble(self._ensemble_base(), self.classes_.size, self._has_one_hot(), self.multi_class)
        self._learn(counts, codes, self._orders(counts.shape[0]))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from more documents, each seen once in the given order.

        With ``classes`` in the first call the classes are fixed; without, they grow as labels appear, and so does the
        vocabulary. ``min_count`` is for ``fit``: a stream cannot know how often a word will come.
        """
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight='balanced' needs all examples at once",
                hint="give a dict of weights, or use fit",
            )
        if not hasattr(self, "ensemble_"):
            counts, labels = self._start(X, y, stream=True)
            self.classes_known_ = classes is not None
            self.classes_ = np.unique(labels if classes is None else classes)
            if self.classes_known_ and self.classes_.size < 2:
                raise ParameterError(
                    f"only {self.classes_.size} of the classes is named", hint="name two classes or more, or none"
                )
            if self.classes_known_:
                self._check_known(labels)
            self.ensemble_ = Ensemble(self._ensemble_base(), self.classes_.size, self._has_one_hot(), self.multi_class)
        else:
            # before the vocabulary grows: a call that is refused changes nothing
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ParameterError("classes differ from those of the first call", hint="give the same, or none")
            if self.classes_known_ and y is not None:
                self._check_known(np.asarray(y))
            counts, read = self._read(X, y, "grow")
            labels = np.asarray(read)
        codes = self._codes(labels)
        if self.classes_.size > 1:
            self._learn(counts, codes, [np.arange(codes.size)])
        return self

    def _codes(self, labels: Array) -> Array:
        """Number the labels; new ones are new classes."""
        fresh = np.setdiff1d(labels, self.classes_)
        if fresh.size:
            old, self.classes_ = self.classes_, np.union1d(self.classes_, fresh)
            self.ensemble_.grow_classes(np.searchsorted(self.classes_, old).tolist(), self.classes_.size)
        return np.searchsorted(self.classes_, labels)

    def _check_known(self, labels: Array) -> None:
        fresh = np.setdiff1d(labels, self.classes_)
        if fresh.size:
            raise ParameterError(
                f"the label {fresh.tolist()[0]!r} is not one of the classes",
                hint="name every class in the first partial_fit, or none so that they grow",
            )

    def _learn(self, counts: Any, codes: Array, orders: Sequence[Array]) -> None:
        self.n_empty_ += int(np.count_nonzero(np.diff(counts.indptr) == 0))
        self.ensemble_.learn(
            self._examples(counts), codes, float(self.C), self._class_weights(), self._rule(), orders,
            None if self.n_jobs == -1 else self.n_jobs or 1,
        )  # fmt: skip

    def _class_weights(self) -> Any:
        """Return the class weights by the numbers of the classes."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        names = self.classes_.tolist()
        unknown = [name for name in self.class_weight if name not in names]
        if unknown and self.classes_known_:
            raise ParameterError(f"class_weight names {unknown[0]!r}", hint="it is not one of the classes")
        return {names.index(name): float(weight) for name, weight in self.class_weight.items() if name in names}

    def _orders(self, examples: int) -> list[Array]:
        generator = np.random.default_rng([self.seed_, 1 << 32])
        whole = np.arange(examples)
        return [generator.permutation(whole) if self.shuffle else whole for _ in range(self.passes)]

    # Using

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second one where there are two; an empty document scores 0."""
        check_is_fitted(self)
        counts, _ = self._read(X)
        return self.ensemble_.decide(self._examples(counts), bool(self.averaged))

    def predict(self, X: Any) -> Array:
        """Return the label of each document; where all scores are equal, as for an empty one, the first label."""
        check_is_fitted(self)
        if self.classes_.size < 2:
            raise ParameterError("only one class has been seen", hint="learn from examples of another one first")
        codes = predict_codes(self.decision_function(X))
        labels: Array = self.classes_[codes]
        return labels

    @property
    def history_(self) -> list[list[dict[str, float]]]:
        """For each learner and pass: mistakes, updates, inner steps, squared loss; each example judged before learning."""
        return [learner.history for learner in self.ensemble_.learners]

    def save(self, path: Any, force: bool = False) -> None:
        """Write the classifier to a folder of arrays and JSON; ``firthian.adapt.load`` reads it. Nothing is pickled."""
        from firthian.adapt.store import save

        check_is_fitted(self)
        save(self, path, force)

    def __sklearn_is_fitted__(self) -> bool:
        # Reading alone leaves attributes too, also where the labels are refused afterwards.
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        # Vectors are single precision whatever comes in.
        tags.transformer_tags.preserves_dtype = []
        return tags
