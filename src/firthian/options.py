"""Settings declared once: a typed parameter with its default, and ``Annotated`` help and bounds beside it.

A model, a solver or a settings class declares each option in its own signature::

    def __init__(self, counts: Counts, run: Run, *, shift: Annotated[float, Option("k of the shift log k", low=0)] = 1.0)

The Python signature, ``firth models NAME``, command-line flags, checks and documentation all come from there.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from firthian.errors import FirthianError, suggest


@dataclass(frozen=True)
class Option:
    """Help and bounds of one setting; its name, type and default come from the signature that declares it.

    >>> Option("k of the shift log k", low=0, name="shift", default=1.0).check("2")
    2.0
    """

    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    #: Words accepted besides numbers, such as ``auto``.
    words: tuple[str, ...] = ()
    #: Another option, and the value it must have for this one to have an effect.
    only_with: tuple[str, str] | None = None
    #: The section of a command's help that lists it.
    group: str = ""
    name: str = ""
    default: Any = None
    kind: type = float
    #: Whether None is a value: no limit, or a default that depends on other settings.
    optional: bool = False

    def check(self, value: Any) -> Any:
        """Convert a value, which may be text, to the option's type; raise if it is out of bounds."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return value
        try:
            result = _convert(value, self.kind)
        except (TypeError, ValueError, OverflowError):
            raise self._error(value) from None
        if self.choices and result not in self.choices:
            raise FirthianError(
                f"`{self.name}` must be one of {', '.join(self.choices)}, got {value!r}",
                suggest(str(value), self.choices),
            )
        # A lower bound implies an upper one: no model computes with infinity.
        unbounded = self.low > -math.inf and result == math.inf
        if self.kind in (int, float) and (unbounded or not self.low <= result <= self.high):
            raise self._error(value)
        return result

    def _error(self, value: Any) -> FirthianError:
        kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        bounds = ""
        if self.low > -math.inf and self.high < math.inf:
            bounds = f" from {self.low:g} to {self.high:g}"
        elif self.low > -math.inf:
            bounds = f" of at least {self.low:g}"
        words = f" or {' or '.join(self.words)}" if self.words else ""
        return FirthianError(f"`{self.name}` must be {kinds[self.kind]}{bounds}{words}, got {value!r}", hint=self.help)


_BOOLEANS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


def _convert(value: Any, kind: type) -> Any:
    """Convert a value to a type, numpy's numbers and text included; raise ``ValueError`` where it would lose something."""
    if kind is str:
        return str(value)
    if kind is bool:
        # numpy's bool equals Python's, but JSON does not know it.
        if not isinstance(value, str) and value in (True, False):
            return bool(value)
        return _BOOLEANS.get(str(value).lower()) if str(value).lower() in _BOOLEANS else _fail()
    if isinstance(value, bool):
        _fail()
    if kind is float:
        return float(value)
    if isinstance(value, str):
        return int(value)
    return int(value) if isinstance(value, float) and value == int(value) else operator.index(value)


def _fail() -> None:
    raise ValueError


def declared(owner: Callable[..., Any]) -> dict[str, Option]:
    """List the options that the signature of a function or a class declares, by the name users type.

    A trailing underscore, which Python needs for names such as ``lambda``, is not part of the name.

    >>> def model(counts, *, shift: Annotated[float, Option("k of the shift log k", low=0)] = 1.0): ...
    >>> declared(model)["shift"].default
    1.0
    """
    function = getattr(owner, "__init__") if isinstance(owner, type) else owner  # noqa: B009
    hints = get_type_hints(function, include_extras=True)
    options = {}
    for parameter in inspect.signature(owner).parameters.values():
        hint = hints.get(parameter.name)
        found = (
            [extra for extra in get_args(hint)[1:] if isinstance(extra, Option)]
            if get_origin(hint) is Annotated
            else []
        )
        if found:
            name = parameter.name.rstrip("_")
            members = set(get_args(get_args(hint)[0]) or (get_args(hint)[0],))
            kinds = members - {NoneType} - ({str} if found[0].words else set())
            options[name] = replace(
                found[0], name=name, default=parameter.default, kind=kinds.pop(), optional=NoneType in members
            )
    return options


def check_all(owner: str, options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings a user passed and fill in the defaults of the others, also of those that are None."""
    for name in given:
        if name not in options:
            raise FirthianError(
                f"{owner} has no option {name!r}", suggest(name, options) if options else "it has no options"
            )
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = {name: option.check(chosen.get(name, option.default)) for name, option in options.items()}
    for name in chosen:
        _refuse_idle(options[name], settings)
    return settings


def _refuse_idle(option: Option, settings: Mapping[str, Any]) -> None:
    """Raise if a value would have no effect; the default is accepted, since records hold all options of a run."""
    if option.only_with is None or settings[option.name] == option.default:
        return
    other, value = option.only_with
    if settings.get(other, value) != value:
        raise FirthianError(
            f"`{option.name}` has no effect with {other}={settings[other]}", hint=f"omit it, or set `{other}={value}`"
        )
