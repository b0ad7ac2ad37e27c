"""What a manifest must look like, written as types: one check of all its fields before anything is built from them.

A schema is a ``TypedDict`` or any annotation of JSON values: ``str``, ``int``, ``float``, ``bool``, ``None``, ``Any``,
``list[...]``, ``dict[str, ...]``, ``Literal[...]``, unions, and ``Annotated`` numbers with an ``Option`` for their bounds.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from firthian.errors import FirthianError
from firthian.options import Option

#: Longer values are not quoted in messages.
_SHOWN = 40


def check_record(value: Any, schema: Any, place: str = "") -> None:
    """Raise ``ValueError`` that names the first field which does not fit.

    >>> check_record({"sizes": [3, "x"]}, dict[str, list[int]])
    Traceback (most recent call last):
    ...
    ValueError: sizes[1] cannot be 'x'
    """
    if is_typeddict(schema):
        _check_fields(value, schema, place)
        return
    origin, inner = get_origin(schema), get_args(schema)
    if origin is Annotated:
        check_record(value, inner[0], place)
        for option in inner[1:]:
            if isinstance(option, Option) and value is not None:
                _check_bounds(value, option, place)
    elif origin in (Union, UnionType):
        if not any(_fits(value, member) for member in inner):
            raise _wrong(value, place)
    elif origin is Literal:
        if not any(value == item and type(value) is type(item) for item in inner):
            raise _wrong(value, place)
    elif origin is list:
        if not isinstance(value, list):
            raise _wrong(value, place)
        for number, item in enumerate(value):
            check_record(item, inner[0], f"{place}[{number}]")
    elif origin is dict:
        if not isinstance(value, dict):
            raise _wrong(value, place)
        for key, item in value.items():
            check_record(item, inner[1], f"{place}.{key}" if place else str(key))
    elif not _is_of(value, schema):
        raise _wrong(value, place)


def _check_fields(value: Any, schema: Any, place: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(value, place)
    hints = _hints(schema)
    for name in value:
        if name not in hints:
            raise ValueError(f"it has an unknown field {str(name)[:_SHOWN]!r}")
    for name, hint in hints.items():
        optional = get_origin(hint) is NotRequired
        if name in value:
            check_record(value[name], get_args(hint)[0] if optional else hint, f"{place}.{name}" if place else name)
        elif not optional:
            raise ValueError(f"it has no {place}.{name}" if place else f"it has no {name}")


@cache
def _hints(schema: Any) -> dict[str, Any]:
    # Not ``__required_keys__``, which knows nothing of annotations that are strings.
    return get_type_hints(schema, include_extras=True)


def _check_bounds(value: Any, option: Option, place: str) -> None:
    fits = option.low <= value <= option.high and not value >= option.below if _is_of(value, float) else True
    if not fits or (option.choices and value not in option.choices):
        raise _wrong(value, place)


def _fits(value: Any, schema: Any) -> bool:
    try:
        check_record(value, schema)
    except (ValueError, FirthianError):
        return False
    return True


def _is_of(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if kind is None or kind is NoneType:
        return value is None
    # JSON has one kind of number, and Python's booleans are numbers.
    return type(value) is kind or (kind is float and type(value) is int)


def _wrong(value: Any, place: str) -> ValueError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return ValueError(f"{place or 'it'} cannot be {shown}")
