"""Whether a classifier's parameters and inputs can be used; what cannot is an error with a remedy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from firthian.adapt.documents import SCALINGS, WEIGHTINGS
from firthian.adapt.learner import MULTI_CLASS
from firthian.errors import FirthianError, suggest
from firthian.text.tokenizer import Tokenizer

#: Runs of words longer than this are too rare to be worth their room.
LONGEST_NGRAM = 5


class ParameterError(FirthianError, ValueError):
    """A parameter or an input that cannot be used; also a ``ValueError``, as scikit-learn expects."""


def is_number(value: Any) -> bool:
    """Tell real numbers of any kind, NumPy's too, from all else."""
    return isinstance(value, numbers.Real)


def kind_of(X: Any) -> str:
    """Tell texts from lists of tokens and from matrices.

    >>> kind_of(["a text"]), kind_of([["some", "tokens"]]), kind_of([[0.0, 1.0]])
    ('texts', 'tokens', 'matrix')
    """
    if isinstance(X, str | bytes):
        raise ParameterError("one string is given", hint="give a list of texts")
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
        raise ParameterError("there are no documents", hint="give a list of one or more")
    return "tokens"


def check_parameters(model: Any) -> None:
    """Refuse what the parameters that both classifiers have cannot be."""
    if not is_number(model.C) or not model.C > 0:
        raise ParameterError(
            f"C must be larger than 0, got {model.C!r}", hint="with C = 0 no example changes anything; 0.01 is usual"
        )
    if math.isinf(model.C):
        raise ParameterError(
            "C must be finite",
            hint="infinite C is the hard margin, which has no solution where w or a document's vector is zero, "
            "as w is at the start (Remark 1 of the paper); a large C such as 1e6 comes close",
        )
    if not isinstance(model.passes, int | np.integer) or model.passes < 1:
        raise ParameterError(f"passes must be a whole number from 1, got {model.passes!r}", hint="5 is usual")
    if not isinstance(model.ngrams, int | np.integer) or not 1 <= model.ngrams <= LONGEST_NGRAM:
        raise ParameterError(
            f"ngrams must be a whole number from 1 to {LONGEST_NGRAM}, got {model.ngrams!r}",
            hint="1 is words alone, 2 adds pairs of neighbors",
        )
    if not is_number(model.one_hot) or not 0 <= model.one_hot < math.inf:
        raise ParameterError(f"one_hot must be a number from 0, got {model.one_hot!r}", hint="0 leaves it out")
    if not isinstance(model.min_count, int | np.integer) or model.min_count < 1:
        raise ParameterError(
            f"min_count must be a whole number from 1, got {model.min_count!r}", hint="1 keeps every word"
        )
    if model.n_jobs is not None and (not isinstance(model.n_jobs, int | np.integer) or model.n_jobs < -1):
        raise ParameterError(f"n_jobs must be None or a whole number, got {model.n_jobs!r}", hint="-1 takes every core")
    if not isinstance(model.tokenizer, str | Tokenizer):
        raise ParameterError(
            f"tokenizer must be a name or a Tokenizer, got {model.tokenizer!r}", hint="'unicode' is usual"
        )
    for name, known in (
        ("weighting", ("auto", *WEIGHTINGS)),
        ("scaling", SCALINGS),
        ("multi_class", MULTI_CLASS),
        ("unseen", ("ignore", "vectors")),
    ):
        if getattr(model, name) not in known:
            raise ParameterError(
                f"{name} must be one of {', '.join(known)}, got {getattr(model, name)!r}",
                hint=suggest(str(getattr(model, name)), known),
            )
    if not (model.class_weight in (None, "balanced") or isinstance(model.class_weight, Mapping)):
        raise ParameterError(
            f"class_weight must be None, 'balanced' or a dict, got {model.class_weight!r}", hint="see the manual"
        )
    for label, weight in model.class_weight.items() if isinstance(model.class_weight, Mapping) else ():
        if not is_number(weight) or not 0 < weight < math.inf:
            raise ParameterError(
                f"class_weight must be a number above 0, got {weight!r} for {label!r}",
                hint="it multiplies C: 1 changes nothing",
            )


def check_documents(documents: list[Any], kind: str) -> None:
    """Refuse documents that are not all of one kind (``kind_of``)."""
    wanted = str if kind == "texts" else list | tuple
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, wanted):
            raise ParameterError(
                f"document {number} is a {type(document).__name__}, others are {kind}",
                hint="give the column with the text",
            )
        if kind == "tokens":
            for token in document:
                if not isinstance(token, str):
                    raise ParameterError(
                        f"document {number} holds a {type(token).__name__}", hint="tokens must be strings"
                    )
