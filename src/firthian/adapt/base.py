"""What the two classifiers share: parameters, reading documents, fitting, predicting, and learning from a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np

from firthian.adapt.checks import ParameterError, check_documents, check_parameters, kind_of
from firthian.adapt.documents import (
    SCALINGS,
    WEIGHTINGS,
    Examples,
    count_words,
    empty_documents,
    inverse_document_frequency,
    is_ngram,
    learn_vocabulary,
    scale,
    tokenize,
    weigh,
)
from firthian.adapt.learner import MULTI_CLASS, Ensemble, Rule, predict_codes
from firthian.adapt.vectors import InitialPhi, PretrainedPhi, initial_phi
from firthian.arrays import Array
from firthian.errors import require, suggest
from firthian.options import Option
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

Cost = Annotated[float, Option("how much one example may change the model")]


class Fitted:
    """What fitting sets."""

    classes_: Array
    vocabulary_: Vocabulary
    #: The word vectors before learning, one row per word.
    base_: Array
    idf_: Array
    ensemble_: Ensemble
    #: Whether the classes are final, so that other labels are an error.
    classes_known_: bool
    input_kind_: str
    #: Training documents without a known word, words (not n-grams) without a vector, and those with a composed one.
    n_empty_: int
    n_unknown_words_: int
    n_composed_words_: int
    seed_: int
    _first: InitialPhi
    _table: TypeTable


@dataclass(eq=False, repr=False)
class DocumentClassifier(Fitted, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classification of documents represented as sums of word vectors."""

    vectors: Any = "random:100"
    _: KW_ONLY
    C: Cost = 0.1
    passes: Annotated[int, Option("passes of `fit` over the examples", low=1)] = 5
    averaged: Annotated[bool, Option("predict with the average of all updates")] = True
    class_weight: Any = None
    multi_class: Annotated[str, Option("one against the rest, or shared vectors", choices=MULTI_CLASS)] = "ovr"
    one_hot: Annotated[float, Option("weight of one-hot features; 0 for none", low=0)] = 0.0
    weighting: Annotated[str, Option("term weighting", choices=("auto", *WEIGHTINGS))] = "auto"
    scaling: Annotated[str, Option("scaling of documents", choices=SCALINGS)] = "embedding"
    ngrams: Annotated[int, Option("longest n-gram; 1 is words only", low=1, high=5)] = 1
    min_count: Annotated[int, Option("lowest training frequency of a word", low=1)] = 1
    tokenizer: Any = "unicode"
    keep_case: Annotated[bool, Option("keep upper case")] = False
    unseen: Annotated[str, Option("words seen only in the vectors", choices=("ignore", "vectors"))] = "ignore"
    shuffle: Annotated[bool, Option("new order of the examples in each pass")] = True
    random_state: Any = 1
    n_jobs: Annotated[int | None, Option("classes learned in parallel; -1 for every core", low=-1)] = None

    # What a classifier adds

    def _examples(self, counts: Any) -> Examples:
        raise NotImplementedError

    def _ensemble_base(self) -> Array:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _rule(self) -> Rule:
        return Rule(lam=math.inf, averaged=bool(self.averaged))

    def _has_one_hot(self) -> bool:
        return float(self.one_hot) > 0

    def _initial_phi(self) -> InitialPhi:
        return initial_phi(self.vectors, self.seed_)

    def _new_ensemble(self) -> Ensemble:
        return Ensemble(self._ensemble_base(), self.classes_.size, self._has_one_hot(), self.multi_class)

    # Reading

    def _read(self, X: Any, y: Any = None, learn: str = "", stream: bool = False) -> tuple[Any, Array | None]:
        """Return counts (CSR) and labels; ``learn`` is empty, ``fit`` (a new vocabulary) or ``grow`` (a larger one)."""
        kind = kind_of(X)
        if learn != "fit" and (kind == "matrix") != (self.input_kind_ == "matrix"):
            raise ParameterError(
                f"the classifier was fitted on {self.input_kind_}, got {kind}", hint="pass the same kind of input"
            )
        if kind == "matrix":
            return self._read_matrix(X, y, learn)
        X = list(X)
        check_documents(X, kind)
        if learn:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        documents = tokenize(X, self._tokenizer(), int(self.ngrams))
        if learn == "fit":
            self.input_kind_ = kind
            # Frequencies in a stream are not known in advance. N-grams that occur once are many and carry little.
            least = 1 if stream else self.min_count
            vocabulary = learn_vocabulary(documents, VocabularyLimits(least), 1 if stream else max(2, least))
            self._start_vocabulary(vocabulary)
        elif learn == "grow" and documents.tokens:
            self._grow_vocabulary(learn_vocabulary(documents, VocabularyLimits(min_count=1)))
        return count_words(documents, self._table), y

    def _read_matrix(self, X: Any, y: Any, learn: str) -> tuple[Any, Array | None]:
        from scipy.sparse import csr_array

        if self.ngrams > 1:
            raise ParameterError("n-grams need texts or tokens, not a matrix", hint="set `ngrams=1`")
        labels = {"y": y} if learn else {}
        checked = validate_data(
            self, X, **labels, accept_sparse="csr", dtype=np.float64, reset=learn == "fit", ensure_min_samples=1
        )
        X, y = checked if learn else (checked, None)
        if learn == "fit":
            self.input_kind_ = "matrix"
            self._start_matrix(X.shape[1])
        counts = csr_array(X)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        return counts, None if y is None else np.asarray(y)

    def _tokenizer(self) -> Tokenizer:
        if isinstance(self.tokenizer, Tokenizer):
            return self.tokenizer
        return Tokenizer(self.tokenizer, keep_case=bool(self.keep_case))

    def _start_matrix(self, columns: int) -> None:
        names = getattr(self, "feature_names_in_", None)
        words = [str(n) for n in range(columns)] if names is None else [str(name) for name in names]
        self.vocabulary_ = Vocabulary(words)
        if isinstance(self._first, PretrainedPhi):
            if len(self._first.vectors.vocabulary) != columns:
                raise ParameterError(
                    f"the matrix has {columns} columns, but there are vectors of "
                    f"{len(self._first.vectors.vocabulary)} words",
                    hint="pass one column per word, in the order of the vectors",
                )
            words = self._first.vectors.vocabulary.words
        self.base_, known = self._first.rows(words, 0)
        self.n_unknown_words_, self.n_composed_words_ = int(np.count_nonzero(~known)), 0

    def _start_vocabulary(self, vocabulary: Vocabulary) -> None:
        if self.unseen == "vectors" and isinstance(self._first, PretrainedPhi):
            more = [word for word in self._first.vectors.vocabulary.words if word not in vocabulary]
            vocabulary = Vocabulary([*vocabulary.words, *more], [*vocabulary.counts.tolist(), *[0] * len(more)])
        self.vocabulary_ = vocabulary
        self._table = TypeTable.of_words(vocabulary.words)
        self.base_, known = self._first.rows(vocabulary.words, 0)
        self.n_unknown_words_ = self.n_composed_words_ = 0
        self._note_words(vocabulary.words, known)

    def _grow_vocabulary(self, batch: Vocabulary) -> None:
        counts = self.vocabulary_.counts.copy()
        ids = np.fromiter((self.vocabulary_.get(word) for word in batch.words), np.int64, len(batch))
        known = ids >= 0
        counts[ids[known]] += batch.counts[known]
        new = [word for word, is_known in zip(batch.words, known, strict=True) if not is_known]
        if not new:
            # The usual case in a stream; the index of the vocabulary stays valid.
            self.vocabulary_.counts = counts
            return
        size = len(self.vocabulary_)
        self.vocabulary_ = Vocabulary([*self.vocabulary_.words, *new], np.append(counts, batch.counts[~known]))
        rows, has_vector = self._first.rows(new, size)
        self.base_ = np.concatenate([self.base_, rows])
        self._note_words(new, has_vector)
        self._table = TypeTable.of_words(self.vocabulary_.words)
        self.idf_ = np.append(self.idf_, np.full(len(new), self.idf_.max(), np.float32))
        self.ensemble_.grow_words(self._ensemble_base())

    def _note_words(self, words: Sequence[str], has_vector: Array) -> None:
        pairs = zip(words, has_vector, strict=True)
        self.n_unknown_words_ += sum(not known and not is_ngram(word) for word, known in pairs)
        if isinstance(self._first, PretrainedPhi):
            self.n_composed_words_ += self._first.count_composed(words, has_vector)

    def _scaled(self, counts: Any) -> Examples:
        weighting = self.weighting
        if weighting == "auto":
            weighting = "given" if self.input_kind_ == "matrix" else "tfidf"
        return scale(weigh(counts, weighting, self.idf_), self.base_, self.scaling, float(self.one_hot))

    # Learning

    def _start(self, X: Any, y: Any, stream: bool = False) -> tuple[Any, Array]:
        self._check_parameters()
        # Nothing of an earlier fit may pass for a result of this one.
        for name in ("n_features_in_", "feature_names_in_", "ensemble_"):
            self.__dict__.pop(name, None)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._first = self._initial_phi()
        counts, labels = self._read(X, y, "fit", stream)
        assert labels is not None
        check_classification_targets(labels)
        self.idf_ = inverse_document_frequency(counts)
        self.n_empty_ = 0
        return counts, labels

    def _start_classes(self, labels: Array) -> Array:
        """Set the classes to the distinct labels; return the class number of each label."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            raise ParameterError(
                f"there is only one class, {self.classes_.tolist()[0]!r}", hint="add examples of another class"
            )
        self.classes_known_ = True
        return np.asarray(codes)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents (texts, token lists, or a matrix with one column per word) and their labels."""
        counts, labels = self._start(X, y)
        codes = self._start_classes(labels)
        self.ensemble_ = self._new_ensemble()
        generator = np.random.default_rng([self.seed_, 1 << 32])
        whole = np.arange(counts.shape[0])
        orders = [generator.permutation(whole) if self.shuffle else whole for _ in range(self.passes)]
        self._learn(counts, codes, orders)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from more documents, each seen once, in the given order.

        ``classes`` in the first call fixes the classes; without it they grow as labels appear. The vocabulary always
        grows; ``min_count`` applies to ``fit`` only, since frequencies in a stream are not known in advance.
        """
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "`class_weight=balanced` needs all examples at once", hint="pass a dict of weights, or use fit"
            )
        if not hasattr(self, "ensemble_"):
            counts, labels = self._start(X, y, stream=True)
            self.classes_known_ = classes is not None
            self.classes_ = np.unique(labels if classes is None else classes)
            if self.classes_known_ and self.classes_.size < 2:
                raise ParameterError(
                    f"expected two or more classes, got {self.classes_.size}", hint="pass all classes, or None"
                )
            if self.classes_known_:
                self._check_labels(labels)
            self.ensemble_ = self._new_ensemble()
        else:
            # Before the vocabulary grows: a failed call must not change anything.
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ParameterError("the classes differ from those of the first call", hint="pass the same, or None")
            if self.classes_known_ and y is not None:
                self._check_labels(np.asarray(y))
            counts, read = self._read(X, y, "grow")
            labels = np.asarray(read)
        codes = self._codes(labels)
        if self.classes_.size > 1:
            self._learn(counts, codes, [np.arange(codes.size)])
        return self

    def _codes(self, labels: Array) -> Array:
        """Return the class number of each label; new labels become new classes."""
        new = np.setdiff1d(labels, self.classes_)
        if new.size:
            old, self.classes_ = self.classes_, np.union1d(self.classes_, new)
            self.ensemble_.grow_classes(np.searchsorted(self.classes_, old).tolist(), self.classes_.size)
        return np.searchsorted(self.classes_, labels)

    def _check_labels(self, labels: Array) -> None:
        new = np.setdiff1d(labels, self.classes_)
        if new.size:
            raise ParameterError(
                f"the label {new.tolist()[0]!r} is not one of the classes",
                hint="pass every class to the first partial_fit, or none to let them grow",
            )

    def _learn(self, counts: Any, codes: Array, orders: Sequence[Array]) -> None:
        self.n_empty_ += empty_documents(counts)
        self.ensemble_.learn(
            self._examples(counts), codes, float(self.C), self._class_weights(), self._rule(), orders,
            None if self.n_jobs == -1 else self.n_jobs or 1,
        )  # fmt: skip

    def _class_weights(self) -> Any:
        """Return the class weights by class number."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        names = self.classes_.tolist()
        unknown = [name for name in self.class_weight if name not in names]
        if unknown and self.classes_known_:
            raise ParameterError(
                f"`class_weight` names an unknown class, {unknown[0]!r}", hint=suggest(str(unknown[0]), map(str, names))
            )
        return {names.index(name): float(weight) for name, weight in self.class_weight.items() if name in names}

    # Prediction

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second one if there are two; an empty document scores 0."""
        check_is_fitted(self)
        counts, _ = self._read(X)
        return self.ensemble_.decide(self._examples(counts), bool(self.averaged))

    def predict(self, X: Any) -> Array:
        """Return the label of each document; ties, as of an empty document, go to the first label."""
        check_is_fitted(self)
        if self.classes_.size < 2:
            raise ParameterError("only one class has been seen", hint="fit examples of another class first")
        codes = predict_codes(self.decision_function(X))
        labels: Array = self.classes_[codes]
        return labels

    @property
    def history_(self) -> list[list[dict[str, float]]]:
        """Per learner and pass: mistakes, updates, inner steps and squared loss, each counted before the update."""
        return [learner.history for learner in self.ensemble_.learners]

    def save(self, path: Any, force: bool = False) -> None:
        """Write the classifier to a folder that ``firthian.adapt.load`` reads; nothing is pickled."""
        from firthian.adapt.store import save

        check_is_fitted(self)
        save(self, path, force)

    def __sklearn_is_fitted__(self) -> bool:
        # A fit that failed on its labels leaves other attributes behind.
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        # The output is float32 for any input type.
        tags.transformer_tags.preserves_dtype = []
        return tags
