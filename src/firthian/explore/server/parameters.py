"""Query parameters of the API: the options that its handlers declare, for the checks and the OpenAPI description."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

from firthian.errors import FirthianError, suggest
from firthian.options import Option

#: The longest accepted text parameter.
LONGEST_WORD = 200


def _longest(option: Option) -> int:
    """Return the most characters of a text parameter."""
    return LONGEST_WORD if math.isinf(option.high) else int(option.high)


def is_required(option: Option) -> bool:
    """Return whether a parameter has no default."""
    return option.default is inspect.Parameter.empty


def schema(option: Option) -> dict[str, Any]:
    """Return the JSON Schema of a parameter."""
    default = {} if is_required(option) else {"default": option.default}
    if option.kind is int:
        return {"type": "integer", "minimum": option.low, "maximum": option.high, **default}
    base: dict[str, Any] = {"type": "string", "maxLength": _longest(option)}
    if is_required(option):
        base["minLength"] = 1
    return {**base, **({"enum": list(option.choices)} if option.choices else {}), **default}


def read_parameters(options: Mapping[str, Option], given: list[tuple[str, str]]) -> dict[str, Any]:
    """Check a query against the declared parameters: none unknown, none repeated, all within their limits.

    >>> options = {"topn": Option("number of words", 1, 1000, name="topn", kind=int, default=10)}
    >>> read_parameters(options, [])
    {'topn': 10}
    >>> read_parameters(options, [("topn", "-1")])
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: topn must be an integer from 1 to 1000, got '-1': number of words
    """
    texts: dict[str, str] = {}
    for name, text in given:
        if name not in options:
            raise FirthianError(f"unknown parameter {name[:40]!r}", hint=suggest(name[:40], options))
        if name in texts:
            raise FirthianError(f"{name} is repeated", hint="pass it once")
        if options[name].kind is str and len(text) > (longest := _longest(options[name])):
            raise FirthianError(f"{name} has {len(text):,} characters", hint=f"use at most {longest:,}")
        texts[name] = text
    for name, option in options.items():
        if is_required(option) and not texts.get(name):
            raise FirthianError(f"{name} is {'empty' if name in texts else 'missing'}", hint=f"add {name}=…")
    return {name: option.check(texts[name]) if name in texts else option.default for name, option in options.items()}
