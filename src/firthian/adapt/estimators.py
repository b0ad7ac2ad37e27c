"""The two classifiers: PA-II on fixed word vectors, and RPA, which learns the vectors along with the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from firthian.adapt.base import Cost, DocumentClassifier, check_is_fitted
from firthian.adapt.checks import ParameterError, check_scale
from firthian.adapt.documents import Examples, is_ngram
from firthian.adapt.learner import INNER, Rule
from firthian.adapt.vectors import InitialPhi, OneHotPhi
from firthian.arrays import Array
from firthian.errors import suggest
from firthian.options import Option
from firthian.runtime.run import one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance
from firthian.vectors.vectors import Vectors

#: ``lam=auto`` for vectors of length 1; chosen together with C by cross-validation on the training parts of the paper's
#: five tasks, with GloVe and random vectors (docs/studies/rpa.md).
_AUTO_LAM = 0.002


class PAClassifier(DocumentClassifier):
    """Passive-aggressive classification (PA-II, Crammer et al. 2006) of documents as sums of fixed word vectors.

    Takes the parameters of ``RPAClassifier`` except those about learning vectors. ``vectors="onehot"`` uses the words
    themselves as features.

    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"]
    >>> PAClassifier("onehot").fit(texts, ["+", "-", "+", "-"]).predict(["a good one", "a poor one"]).tolist()
    ['+', '-']
    """

    def _hot_weight(self) -> float:
        return float(self.one_hot) or (0.0 if self.base_.shape[1] else 1.0)

    def _has_one_hot(self) -> bool:
        # The learner sees the document's vector itself as features, which is what its one-hot weights are for.
        return True

    def _ensemble_base(self) -> Array:
        features = self.base_.shape[1] + (self.base_.shape[0] if self._hot_weight() else 0)
        return np.empty((features, 0), dtype=np.float32)

    def _examples(self, counts: Any) -> Examples:
        from scipy.sparse import csr_array, hstack

        scaled = self._scaled(counts)
        features = [csr_array(scaled.matrix @ self.base_)]
        if self._hot_weight():
            lengths = np.sqrt(scaled.matrix.multiply(scaled.matrix).sum(axis=1))
            factors = np.repeat(self._hot_weight() / np.where(lengths > 0, lengths, 1.0), np.diff(scaled.matrix.indptr))
            hot = scaled.matrix.copy()
            hot.data = (hot.data * factors).astype(np.float32)
            features.append(hot)
        return Examples(csr_array(hstack(features, format="csr", dtype=np.float32)), np.ones(counts.shape[0]))

    def transform(self, X: Any) -> Any:
        """Return the features of documents: their vectors, and (then sparse) their one-hot features, if any."""
        check_is_fitted(self)
        matrix = self._examples(self._read(X)[0]).matrix
        return matrix if self._hot_weight() else matrix.toarray()


@dataclass(eq=False, repr=False, kw_only=True)
class RPAClassifier(DocumentClassifier):
    """Re-embedding passive-aggressive classification (Denis and Ralaivola, 2017). The defaults work well without a search.

    Parameters
    ----------
    vectors : the initial word vectors: ``Vectors``, a path, or ``random:DIM``.
    C : aggressiveness; how much one example may change the model.
    lam : penalty on moving word vectors, relative to the classifier. Infinity keeps the vectors fixed (PA-II). ``auto``
        is 0.002 divided by the mean squared length of the nonzero initial vectors, so their scale does not matter.
    passes : passes of ``fit`` over the examples.
    inner : ``anchored`` minimizes the problem of each example exactly; ``walking`` is Algorithm 1 as printed in the paper;
        ``phi-first`` is the same loop with the vectors' step first.
    max_inner, tol : stopping criteria of the loop of ``walking`` and ``phi-first``.
    averaged : predict with the average, over all examples, of the classifier and of the vectors.
    class_weight : None, ``balanced`` (C by inverse class frequency), or a dict of factors of C.
    multi_class : ``ovr`` (one against the rest, each class with its own vectors) or ``shared`` (one set of vectors).
    one_hot : weight of one-hot features next to the document's vector; 0 for none.
    weighting : ``binary`` (as in the paper), ``idf``, ``tfidf``, ``count`` or ``given``; ``auto`` is ``tfidf`` for texts
        and ``given`` for matrices.
    scaling : ``embedding`` (initial document vectors have length 1), ``length`` (bags of words have length 1) or ``none``.
    ngrams : longest n-gram used as a feature, counting the start of a text as a word. N-grams start as zero vectors
        (random ones with ``random:DIM``); ``fit`` drops those that occur once.
    min_count : lowest training frequency of a word.
    tokenizer, keep_case : see ``firthian.Tokenizer``.
    unseen : ``vectors`` also uses words that occur only in the given vectors for prediction; ``ignore`` does not.
    shuffle, random_state : order of the examples in each pass, and the seed of it and of random vectors.
    n_jobs : classes learned in parallel, -1 for every core; does not change the result.

    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"]
    >>> model = RPAClassifier("random:10").fit(texts, ["+", "-", "+", "-"])
    >>> model.predict(["a good one", "a poor one"]).tolist()
    ['+', '-']
    >>> sorted((entry["word"], entry["towards"]) for entry in model.moved_words(topn=4))
    [('bad', '-'), ('fine', '+'), ('good', '+'), ('poor', '-')]
    """

    C: Cost = 0.01
    lam: Annotated[float | str, Option("penalty on moving vectors; inf keeps them", words=("auto",))] = "auto"
    inner: Annotated[str, Option("solver of one example's problem", choices=INNER)] = "anchored"
    max_inner: Annotated[int, Option("most steps of the loop of Algorithm 1", low=1)] = 50
    tol: Annotated[float, Option("relative tolerance of that loop", low=0)] = 1e-6

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_scale("lam", self.lam, "auto is a good start, and infinity keeps the vectors fixed")

    def _initial_phi(self) -> InitialPhi:
        first = super()._initial_phi()
        if isinstance(first, OneHotPhi):
            raise ParameterError(
                "one-hot features have no vectors to re-embed",
                hint="use PAClassifier('onehot'), or vectors and `one_hot=1`",
            )
        return first

    def _rule(self) -> Rule:
        # Documents are scaled by 1 / |Phi_0 x|: vectors twice as long make |x|² a quarter, and lam must follow.
        lengths = np.sum(np.square(self.base_, dtype=np.float64), axis=1)
        if not lengths.any():
            raise ParameterError(
                "none of the texts' words has a vector",
                hint="nothing can be learned from w = 0 and Phi = 0 (Remark 1 of the paper); use other vectors",
            )
        lam = _AUTO_LAM / float(lengths[lengths > 0].mean()) if self.lam == "auto" else float(self.lam)
        return Rule(lam, self.inner, int(self.max_inner), float(self.tol), bool(self.averaged))

    def _ensemble_base(self) -> Array:
        base: Array = self.base_
        return base

    def _examples(self, counts: Any) -> Examples:
        return self._scaled(counts)

    def _embeddings(self, label: Any = None) -> list[Array]:
        """Return the Phi of each learner, or of the one for a label."""
        check_is_fitted(self)
        learners = self.ensemble_.learners
        if label is not None:
            if label not in list(self.classes_):
                raise ParameterError(f"unknown class {label!r}", hint=suggest(str(label), map(str, self.classes_)))
            learners = learners if len(learners) == 1 else [learners[list(self.classes_).index(label)]]
        return [learner.embedding(bool(self.averaged)) for learner in learners]

    def transform(self, X: Any, label: Any = None) -> Array:
        """Return document vectors in the learned embeddings of all classes, concatenated, or in that of one label."""
        check_is_fitted(self)
        matrix = self._scaled(self._read(X)[0]).matrix
        return np.concatenate([matrix @ phi for phi in self._embeddings(label)], axis=1)

    @property
    def embedding_(self) -> Vectors:
        """The learned word vectors of all classes, concatenated."""
        return self.embedding_of()

    def embedding_of(self, label: Any = None) -> Vectors:
        """Return the learned word vectors (without n-grams) of all classes, concatenated, or of one label."""
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
            words = [n for n, word in enumerate(vocabulary.words) if not is_ngram(word)]
            blocks = [block[words] for block in blocks]
            vocabulary = Vocabulary([vocabulary.words[n] for n in words], vocabulary.counts[words])
        return Vectors(np.concatenate(blocks, axis=1), vocabulary, provenance=provenance)

    @one_blas_thread()
    def moved_words(self, label: Any = None, topn: int = 20) -> list[dict[str, Any]]:
        """Return the words whose vectors moved most, and the class each moved towards.

        ``moved`` is the length of the change (of all classes' vectors together, or of one label's), ``towards`` the
        class whose score the change raised most, and ``change`` that increase for a document of this word only.
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
