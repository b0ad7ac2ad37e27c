"""Settings declared once: a typed parameter with its default, and ``Annotated`` help and bounds beside it.

A model, a solver or a settings class declares each option in its own signature::

    def __init__(self, counts: Counts, run: Run, *, shift: Annotated[float, Option("k of the shift log k", low=0)] = 1.0)

The Python signature, ``firth models NAME``, command-line flags, checks and documentation all come from there.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from firthian.errors import FirthianError, suggest

Function = TypeVar("Function", bound=Callable[..., Any])


#: Nobody counts to more than this in earnest: options that are counts and state no bound end here.
LARGEST_COUNT = 10**9


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
    #: An upper bound that is not allowed itself.
    below: float = math.inf
    #: Whether the flag may be given several times.
    repeatable: bool = False

    def check(self, value: Any, strict: bool = False) -> Any:
        """Convert a value to the option's type; raise if it is out of bounds.

        Numbers may be written as text, and whole numbers as floats, unless ``strict``.
        """
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return value
        try:
            result = _convert(value, self.kind, strict)
        except (TypeError, ValueError, OverflowError):
            raise self._error(value) from None
        if self.choices and result not in self.choices:
            close = suggest(str(value), self.choices)
            hint = close if close.startswith("did") else self.help
            raise FirthianError(f"`{self.name}` must be one of {', '.join(self.choices)}, got {value!r}", hint)
        # A lower bound implies an upper one: no model computes with infinity.
        unbounded = self.low > -math.inf and result == math.inf
        if self._is_count and result > LARGEST_COUNT:
            raise replace(self, high=LARGEST_COUNT)._error(value)
        if self.kind in (int, float) and (
            unbounded or not self.low <= result <= self.high or result >= self.below < math.inf
        ):
            raise self._error(value)
        return result

    @property
    def _is_count(self) -> bool:
        return self.kind is int and self.low > -math.inf and math.inf == self.high == self.below

    def _error(self, value: Any) -> FirthianError:
        kinds = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
        bounds = ""
        if self.low > -math.inf and self.high < math.inf:
            bounds = f" from {_shown(self.low)} to {_shown(self.high)}"
        elif self.low > -math.inf and self.below < math.inf:
            bounds = f" from {_shown(self.low)} to below {_shown(self.below)}"
        elif self.low > -math.inf:
            bounds = f" of at least {_shown(self.low)}"
        words = f" or {' or '.join(self.words)}" if self.words else ""
        return FirthianError(f"`{self.name}` must be {kinds[self.kind]}{bounds}{words}, got {value!r}", hint=self.help)


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


_BOOLEANS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


def _convert(value: Any, kind: type, strict: bool) -> Any:
    """Convert a value to a type, numpy's numbers and text included; raise ``ValueError`` where it would lose something."""
    if kind is object:
        return value
    if kind is str:
        return str(value)
    if kind is bool:
        # numpy's bool equals Python's, but JSON does not know it.
        if not isinstance(value, str) and value in (True, False):
            return bool(value)
        if strict or str(value).lower() not in _BOOLEANS:
            raise ValueError
        return _BOOLEANS[str(value).lower()]
    if isinstance(value, bool) or (strict and isinstance(value, str)):
        raise ValueError
    if kind is float:
        return float(value)
    if isinstance(value, str):
        return int(value)
    return int(value) if not strict and isinstance(value, float) and value == int(value) else operator.index(value)


#: Options that many functions share.
Seed = Annotated[int, Option("random seed", low=0, high=2**63 - 1)]
Workers = Annotated[int | None, Option("parallel workers (default: all cores)", low=1)]


def declared(owner: Callable[..., Any]) -> dict[str, Option]:
    """List the options that the signature of a function or a class declares, by the name users type.

    A trailing underscore, which Python needs for names such as ``lambda``, is not part of the name.

    >>> def model(counts, *, shift: Annotated[float, Option("k of the shift log k", low=0)] = 1.0): ...
    >>> declared(model)["shift"].default
    1.0
    """
    declares: Any = owner
    if isinstance(owner, type):
        home = next(kind for kind in owner.__mro__ if "__init__" in vars(kind))
        # Fields of a dataclass may come from other modules, whose names only the class knows.
        declares = owner if "__dataclass_fields__" in vars(home) else vars(home)["__init__"]
    hints = get_type_hints(declares, include_extras=True)
    options = {}
    for parameter in inspect.signature(owner).parameters.values():
        hint = hints.get(parameter.name)
        if get_origin(hint) is Annotated and any(isinstance(extra, Option) for extra in get_args(hint)[1:]):
            name = parameter.name.rstrip("_")
            options[name] = replace(option_of(name, hint), default=parameter.default)
    return options


def option_of(name: str, hint: Any) -> Option:
    """Return the option that an annotation declares for a parameter; one that takes several types is not converted.

    >>> option_of("workers", Workers).check(0)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: workers must be an integer of at least 1, got 0: parallel workers (default: all cores)
    """
    kind, option = get_args(hint)[0], next(extra for extra in get_args(hint)[1:] if isinstance(extra, Option))
    members = set(get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,))
    kinds = members - {NoneType} - ({str} if option.words else set())
    only = kinds.pop() if len(kinds) == 1 else object
    return replace(option, name=name, kind=object if only is Any else only, optional=NoneType in members)


def check_names(owner: str, options: Mapping[str, Option], given: Iterable[str]) -> None:
    """Raise if a user passed a setting that does not exist."""
    for name in given:
        if name not in options:
            raise FirthianError(
                f"{owner} has no option {name!r}", suggest(name, options) if options else "it has no options"
            )


def listing(settings: type) -> Callable[[Function], Function]:
    """Decorate a function that takes ``**settings``: its signature lists the fields of a class in their place."""

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        kept = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        positional = [parameter for parameter in kept if parameter.kind is not parameter.KEYWORD_ONLY]
        hints = get_type_hints(settings)
        fields = [
            parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
            for name, parameter in inspect.signature(settings).parameters.items()
        ]
        parameters = [*positional, *fields, *kept[len(positional) :]]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


def check_all(owner: str, options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings a user passed and fill in the defaults of the others, also of those that are None."""
    check_names(owner, options, given)
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
            f"`{option.name}` has no effect with {other}={settings[other]}", hint=f"omit it, or use `{other}={value}`"
        )
