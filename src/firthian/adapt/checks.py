"""Check the parameters and inputs of a classifier."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from firthian.errors import FirthianError
from firthian.options import declared
from firthian.text.tokenizer import Tokenizer


class ParameterError(FirthianError, ValueError):
    """An invalid parameter or input; also a ``ValueError``, as scikit-learn expects."""


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, of Python or NumPy."""
    return isinstance(value, numbers.Real)


def check_scale(name: str, value: Any, hint: str) -> None:
    """Raise if C or lam is not positive, or so small or large that updates vanish or overflow in single precision."""
    if is_number(value) and not value > 0:
        raise ParameterError(f"`{name}` must be larger than 0, got {value!r}", hint=hint)
    if is_number(value) and not (1e-20 <= value <= 1e20 or math.isinf(value)):
        raise ParameterError(f"`{name}` must be from 1e-20 to 1e20, got {value!r}", hint=hint)


def kind_of(X: Any) -> str:
    """Return whether documents are ``texts``, lists of ``tokens`` or a ``matrix``.

    >>> kind_of(["a text"]), kind_of([["some", "tokens"]]), kind_of([[0.0, 1.0]])
    ('texts', 'tokens', 'matrix')
    """
    if isinstance(X, str | bytes):
        raise ParameterError("expected a list of texts, got one string", hint="put it in a list")
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__"):
        return "matrix"
    for item in X:
        if isinstance(item, str):
            return "texts"
        if not isinstance(item, list | tuple):
            return "matrix"
        if item:
            return "tokens" if isinstance(item[0], str) else "matrix"
    if not len(X):
        raise ParameterError("there are no documents", hint="pass a list of at least one")
    return "tokens"


def check_parameters(model: Any) -> None:
    """Raise if a parameter of a classifier is invalid.

    The check is strict, since an estimator of scikit-learn keeps its parameters as they were passed.
    """
    if is_number(model.C) and math.isinf(model.C) and model.C > 0:
        raise ParameterError(
            "`C` must be finite",
            hint="infinite C is the hard margin, which has no solution if w or a document's vector is zero, "
            "and w starts at zero (Remark 1 of the paper); use a large C such as 1e6",
        )
    check_scale("C", model.C, "the default is a good start")
    for name, option in declared(type(model)).items():
        try:
            option.check(getattr(model, name), strict=True)
        except FirthianError as error:
            raise ParameterError(*error.args) from None
    if not isinstance(model.tokenizer, str | Tokenizer):
        raise ParameterError(
            f"`tokenizer` must be a name or a Tokenizer, got {model.tokenizer!r}", hint="the default is 'unicode'"
        )
    seed = model.random_state
    if isinstance(seed, numbers.Integral) and not 0 <= int(seed) < 2**32:
        raise ParameterError(f"`random_state` must be from 0 to {2**32 - 1}, got {seed}", hint="it is a random seed")
    weights = model.class_weight
    if not (weights in (None, "balanced") or isinstance(weights, Mapping)):
        raise ParameterError(
            f"`class_weight` must be None, 'balanced' or a dict, got {weights!r}", hint="a dict maps labels to factors"
        )
    for label, weight in weights.items() if isinstance(weights, Mapping) else ():
        if not is_number(weight) or not 0 < weight < math.inf:
            raise ParameterError(
                f"`class_weight` must be a number above 0, got {weight!r} for {label!r}", hint="it is a factor of C"
            )


def check_documents(documents: list[Any], kind: str) -> None:
    """Raise if documents are not all of one kind (see ``kind_of``)."""
    expected = str if kind == "texts" else list | tuple
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, expected):
            raise ParameterError(
                f"document {number} is a {type(document).__name__}, others are {kind}",
                hint="pass the text column only",
            )
        if kind == "tokens":
            for token in document:
                if not isinstance(token, str):
                    raise ParameterError(
                        f"document {number} contains a {type(token).__name__}", hint="tokens must be strings"
                    )
