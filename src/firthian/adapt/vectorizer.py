"""Vectors of texts as a step of a scikit-learn pipeline."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Self

import numpy as np

from firthian.adapt.checks import ParameterError
from firthian.arrays import Array
from firthian.errors import FirthianError, require
from firthian.options import Option, declared
from firthian.texts.encoder import Components, Empty, Encoder, Method, Missing, Normalize, Power, Smoothing

require("sklearn", "sklearn")

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


@dataclass(eq=False, repr=False)
class TextVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encodes texts with ``firthian.Encoder``: ``fit`` learns from the texts, ``transform`` returns a row for each.

    The parameters are those of ``Encoder``; ``vectors`` is ``Vectors`` or a path. Takes lists, arrays, series and one-column
    frames of texts, and lists of token lists. ``n_jobs`` does not change the result.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> vectors = Vectors(np.array([[1, 0], [0, 1]]), Vocabulary(["tea", "goal"], [1, 1]))
    >>> TextVectorizer(vectors, method="mean").fit_transform(["Tea?", "a goal"])
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    vectors: Any = None
    _: KW_ONLY
    method: Method = "spans"
    smoothing: Smoothing = 1e-3
    power: Power = 0.5
    components: Components = None
    normalize: Normalize = False
    missing: Missing = "compose"
    empty: Empty = "zero"
    tokenizer: Any = None
    n_jobs: Annotated[int | None, Option("threads; None or -1 for every core", low=-1)] = None
    encoder_: Encoder = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from texts what the method needs of them; labels are ignored."""
        if self.vectors is None:
            raise ParameterError("`vectors` is missing", hint="pass Vectors, or the path of some")
        texts = _texts(X)
        names = [name for name in declared(Encoder) if name in declared(type(self))]
        workers = None if self.n_jobs in (None, -1) else self.n_jobs
        try:
            options = {name: getattr(self, name) for name in names}
            encoder = Encoder(self.vectors, **options, tokenizer=self.tokenizer, workers=workers)
            self.encoder_ = encoder.fit(texts)
        except FirthianError as error:
            raise ParameterError(*error.args) from error
        return self

    def transform(self, X: Any) -> Array:
        """Return a float32 matrix with one row per text."""
        check_is_fitted(self, "encoder_")
        texts = _texts(X)
        try:
            return self.encoder_.encode(texts)
        except FirthianError as error:
            raise ParameterError(*error.args) from error

    @property
    def _n_features_out(self) -> int:
        return self.encoder_.dimension

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


def _texts(X: Any) -> list[Any]:
    """Return texts as a list; raise if there are none, or if it is a table with several columns."""
    if isinstance(X, str | bytes):
        raise ParameterError("expected a list of texts, got one string", hint="put it in a list")
    if hasattr(X, "columns") or getattr(X, "ndim", 1) > 1:
        columns = X.shape[1] if getattr(X, "ndim", 1) == 2 else 0
        if columns != 1:
            raise ParameterError(
                f"expected a column of texts, got a table of shape {getattr(X, 'shape', '?')}",
                hint="in a ColumnTransformer, name one column: ('text', TextVectorizer(...), 'review')",
            )
        X = np.asarray(X, dtype=object)[:, 0]
    if not hasattr(X, "__iter__"):
        raise ParameterError(f"expected texts, got a {type(X).__name__}", hint="pass a list of strings")
    texts = list(X)
    if not texts:
        raise ParameterError("there are no texts", hint="pass a list of at least one")
    return texts
