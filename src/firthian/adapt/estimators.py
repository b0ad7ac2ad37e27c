"""The two classifiers: PA-II on fixed word vectors, and RPA, which learns the vectors along with the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.adapt.base import DocumentClassifier, check_is_fitted
from firthian.adapt.checks import ParameterError, is_number
from firthian.adapt.documents import Examples, is_ngram
from firthian.adapt.learner import Rule
from firthian.adapt.vectors import FirstPhi, OneHotPhi
from firthian.arrays import Array
from firthian.errors import suggest
from firthian.runtime.run import one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance
from firthian.vectors.vectors import Vectors


class PAClassifier(DocumentClassifier):
    """Passive-aggressive classification (PA-II, Crammer et al. 2006) of documents as sums of fixed word vectors.

    Parameters are those of ``RPAClassifier``, without what concerns the learning of vectors. ``vectors="onehot"``
    takes the words themselves as features.

    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"]
    >>> PAClassifier("onehot").fit(texts, ["+", "-", "+", "-"]).predict(["a good one", "a poor one"]).tolist()
    ['+', '-']
    """

    def __init__(
        self,
        vectors: Any = "random:100",
        *,
        C: float = 0.1,
        passes: int = 5,
        averaged: bool = True,
        class_weight: Any = None,
        multi_class: str = "ovr",
        one_hot: float = 0.0,
        weighting: str = "auto",
        scaling: str = "embedding",
        ngrams: int = 1,
        min_count: int = 1,
        tokenizer: Any = "unicode",
        keep_case: bool = False,
        unseen: str = "ignore",
        shuffle: bool = True,
        random_state: Any = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.C = C
        self.passes = passes
        self.averaged = averaged
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.one_hot = one_hot
        self.weighting = weighting
        self.scaling = scaling
        self.ngrams = ngrams
        self.min_count = min_count
        self.tokenizer = tokenizer
        self.keep_case = keep_case
        self.unseen = unseen
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _hot_part(self) -> float:
        return float(self.one_hot) or (0.0 if self.base_.shape[1] else 1.0)

    def _has_one_hot(self) -> bool:
        # To the learner the document's vector is a row of features, which is what its one-hot part is made for.
        return True

    def _ensemble_base(self) -> Array:
        features = self.base_.shape[1] + (self.base_.shape[0] if self._hot_part() else 0)
        return np.empty((features, 0), dtype=np.float32)

    def _examples(self, counts: Any) -> Examples:
        from scipy.sparse import csr_array, hstack

        scaled = self._scaled(counts)
        features = [csr_array(scaled.matrix @ self.base_)]
        if self._hot_part():
            lengths = np.sqrt(scaled.matrix.multiply(scaled.matrix).sum(axis=1))
            factors = np.repeat(self._hot_part() / np.where(lengths > 0, lengths, 1.0), np.diff(scaled.matrix.indptr))
            hot = scaled.matrix.copy()
            hot.data = (hot.data * factors).astype(np.float32)
            features.append(hot)
        return Examples(csr_array(hstack(features, format="csr", dtype=np.float32)), np.ones(counts.shape[0]))

    def transform(self, X: Any) -> Any:
        """Return the features of documents: their vectors, and one-hot features where there are any (then sparse)."""
        check_is_fitted(self)
        matrix = self._examples(self._read(X)[0]).matrix
        return matrix if self._hot_part() else matrix.toarray()


INNER = ("anchored", "walking")

#: lam for vectors of length 1; chosen with C by cross-validation on the training parts of the paper's five tasks, with
#: GloVe and random vectors (docs/studies/rpa.md).
_USUAL_LAM = 0.002


class RPAClassifier(DocumentClassifier):
    """Re-embedding passive-aggressive classification (Denis and Ralaivola, 2017), with its defaults chosen to work unsearched.

    Parameters
    ----------
    vectors : ``Vectors``, a path to some, ``random:DIM``; the word vectors to begin with.
    C : how much an example may change the model.
    lam : how much dearer it is to move word vectors than the classifier; infinity leaves the vectors alone (PA-II);
        ``auto`` is 0.002 over the mean squared length of the first vectors (zero ones apart), so that their scale does
        not matter.
    passes : how often ``fit`` sees each example.
    inner : ``anchored`` minimizes the problem of each example; ``walking`` is the paper's Algorithm 1 as printed.
    max_inner, tol : when the inner loop stops.
    averaged : predict with the mean over all examples of the classifier and of the vectors.
    class_weight : None, ``balanced`` (C by inverse frequency) or a dict of factors of C.
    multi_class : ``ovr`` (one against the rest, each class with vectors of its own) or ``shared`` (one set of vectors).
    one_hot : weight of one-hot features beside the document's vector; 0 for none.
    weighting : ``binary``, ``idf``, ``tfidf``, ``count``, ``given``; ``auto`` is tfidf for texts, given for matrices;
        the paper's is binary.
    scaling : ``embedding`` (document vectors have length 1 at the start), ``length`` (bags of words have), ``none``.
    ngrams : also take runs of up to so many neighboring words, of which the start of a text is one, as words of their own.
        They begin as zero vectors (random ones with ``random:DIM``); ``fit`` leaves out those that occur once.
    min_count : training words rarer than this are left out.
    tokenizer, keep_case : how texts are cut, see ``firthian.Tokenizer``.
    unseen : ``vectors`` lets words that only the given vectors know take part in prediction; ``ignore`` does not.
    shuffle, random_state : the order of the examples in each pass, and the random vectors.
    n_jobs : classes learned side by side, -1 as many as there are cores; changes no result.

    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"]
    >>> model = RPAClassifier("random:10").fit(texts, ["+", "-", "+", "-"])
    >>> model.predict(["a good one", "a poor one"]).tolist()
    ['+', '-']
    >>> sorted((entry["word"], entry["towards"]) for entry in model.moved_words(topn=4))
    [('bad', '-'), ('fine', '+'), ('good', '+'), ('poor', '-')]
    """

    def __init__(
        self,
        vectors: Any = "random:100",
        *,
        C: float = 0.01,
        lam: float | str = "auto",
        passes: int = 5,
        inner: str = "anchored",
        max_inner: int = 50,
        tol: float = 1e-6,
        averaged: bool = True,
        class_weight: Any = None,
        multi_class: str = "ovr",
        one_hot: float = 0.0,
        weighting: str = "auto",
        scaling: str = "embedding",
        ngrams: int = 1,
        min_count: int = 1,
        tokenizer: Any = "unicode",
        keep_case: bool = False,
        unseen: str = "ignore",
        shuffle: bool = True,
        random_state: Any = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.C = C
        self.lam = lam
        self.passes = passes
        self.inner = inner
        self.max_inner = max_inner
        self.tol = tol
        self.averaged = averaged
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.one_hot = one_hot
        self.weighting = weighting
        self.scaling = scaling
        self.ngrams = ngrams
        self.min_count = min_count
        self.tokenizer = tokenizer
        self.keep_case = keep_case
        self.unseen = unseen
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.lam != "auto" and (not is_number(self.lam) or not float(self.lam) > 0):
            raise ParameterError(
                f"lam must be auto or larger than 0, got {self.lam!r}",
                hint="0.001 is usual; infinity leaves the vectors alone",
            )
        if self.inner not in INNER:
            raise ParameterError(
                f"inner must be one of {', '.join(INNER)}, got {self.inner!r}", hint=suggest(str(self.inner), INNER)
            )
        whole = isinstance(self.max_inner, int | np.integer)
        if not whole or self.max_inner < 1 or not is_number(self.tol) or not self.tol >= 0:
            raise ParameterError("the inner loop needs max_inner from 1 and tol from 0", hint="50 and 1e-6 are usual")

    def _first_phi(self) -> FirstPhi:
        first = super()._first_phi()
        if isinstance(first, OneHotPhi):
            raise ParameterError(
                "one-hot features have no vectors to re-embed",
                hint="use PAClassifier('onehot'), or one_hot=1 beside vectors",
            )
        return first

    def _rule(self) -> Rule:
        # A document is scaled by 1 / |Phi_0 x|: twice as long vectors make |x|² a quarter, and lam must go with it.
        lengths = np.sum(np.square(self.base_, dtype=np.float64), axis=1)
        if not lengths.any():
            raise ParameterError(
                "no word of the texts has a vector",
                hint="from w = 0 and Phi = 0 nothing can be learned (Remark 1 of the paper); give other vectors",
            )
        lam = _USUAL_LAM / float(lengths[lengths > 0].mean()) if self.lam == "auto" else float(self.lam)
        return Rule(lam, self.inner, int(self.max_inner), float(self.tol), bool(self.averaged))

    def _ensemble_base(self) -> Array:
        base: Array = self.base_
        return base

    def _examples(self, counts: Any) -> Examples:
        return self._scaled(counts)

    # What was learned of words

    def _embeddings(self, label: Any = None) -> list[Array]:
        """The Phi of each learner, or of the one that a label names."""
        check_is_fitted(self)
        learners = self.ensemble_.learners
        if label is not None:
            if label not in list(self.classes_):
                raise ParameterError(f"there is no class {label!r}", hint=suggest(str(label), map(str, self.classes_)))
            learners = learners if len(learners) == 1 else [learners[list(self.classes_).index(label)]]
        return [learner.embedding(bool(self.averaged)) for learner in learners]

    def transform(self, X: Any, label: Any = None) -> Array:
        """Return documents as vectors in the learned embedding: all classes' side by side, or those of one label."""
        check_is_fitted(self)
        matrix = self._scaled(self._read(X)[0]).matrix
        return np.concatenate([matrix @ phi for phi in self._embeddings(label)], axis=1)

    @property
    def embedding_(self) -> Vectors:
        """The learned word vectors: all classes' side by side."""
        return self.embedding_of()

    def embedding_of(self, label: Any = None) -> Vectors:
        """Return the learned word vectors, n-grams apart: all classes' side by side, or those of one label."""
        blocks = self._embeddings(label)
        parameters = {name: value for name, value in self.get_params().items() if name not in ("vectors", "tokenizer")}
        options = {name: value for name, value in parameters.items() if isinstance(value, str | int | float)}
        provenance = Provenance(
            recipe="rpa",
            paper="Denis and Ralaivola (2017)",
            options={"vectors": self._first.describe(), **options},
            vector_size=sum(block.shape[1] for block in blocks),
            stats={"classes": [str(name) for name in self.classes_]},
        )
        vocabulary = self.vocabulary_
        if self.ngrams > 1:
            kept = [place for place, word in enumerate(vocabulary.words) if not is_ngram(word)]
            blocks = [block[kept] for block in blocks]
            vocabulary = Vocabulary([vocabulary.words[place] for place in kept], vocabulary.counts[kept])
        return Vectors(np.concatenate(blocks, axis=1), vocabulary, provenance=provenance)

    @one_blas_thread()
    def moved_words(self, label: Any = None, topn: int = 20) -> list[dict[str, Any]]:
        """Name the words whose vectors moved most, and the class towards which each one went.

        ``moved`` is the length of the change (of all classes' vectors together, or of one label's), ``towards`` the
        class whose score the change raised most, ``change`` by how much for a document made of this word alone.
        """
        averaged = bool(self.averaged)
        blocks = self._embeddings(label)
        moved = np.sqrt(sum(np.sum((phi - self.base_) ** 2, axis=1, dtype=np.float64) for phi in blocks))
        gains = []
        for learner, phi in zip(self.ensemble_.learners, self._embeddings(), strict=True):
            w = np.atleast_2d(learner.weights(averaged)[0]).astype(np.float64)
            gains.append((phi - self.base_) @ w.T)
        gain = np.concatenate(gains, axis=1)
        if gain.shape[1] == 1:
            gain = np.concatenate([-gain, gain], axis=1)
        best = np.argsort(-moved, kind="stable")[:topn]
        labels = self.classes_.tolist()
        return [
            {
                "word": self.vocabulary_.words[n],
                "count": int(self.vocabulary_.counts[n]),
                "moved": float(moved[n]),
                "towards": labels[int(np.argmax(gain[n]))],
                "change": float(gain[n].max()),
            }
            for n in best
            if moved[n] > 0
        ]
