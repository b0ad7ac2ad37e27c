"""Evaluation suites by name, and their options. A new suite is one row in ``SUITES`` and one function elsewhere.

The function is called as ``function(vectors, options, run)`` and returns a dictionary: name of a set or task -> its
results, each a plain dictionary or an object with ``to_dict()``. If that object also has ``compare(other, run)``, it
compares two models and returns a dictionary with a ``p_value``, or one such dictionary per measure.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from firthian.datasets.word_tasks import Pairs, Questions
from firthian.errors import FirthianError, suggest
from firthian.evaluate.ranks import RESAMPLES
from firthian.evaluate.words import check_score

#: What becomes of an item with an unknown word: left out, or counted with the score zero (an analogy as wrong).
OOV = ("skip", "zero")


@dataclass(frozen=True)
class EvaluationOptions:
    """How to evaluate; every suite is handed this. ``more`` holds the options that a suite declares for itself."""

    sets: Mapping[str, Sequence[Pairs | Questions]] = field(default_factory=dict)
    oov: str = "skip"
    score: str = "cosine"
    #: Only the first so many words of the vocabulary take part, as in gensim; None for all.
    restrict_vocab: int | None = None
    #: Resamples of the bootstrap; 0 for no interval.
    resamples: int = RESAMPLES
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.oov not in OOV:
            raise FirthianError(f"oov must be one of {', '.join(OOV)}, got {self.oov!r}", hint=suggest(self.oov, OOV))
        check_score(self.score)
        if self.restrict_vocab is not None and self.restrict_vocab < 1:
            raise FirthianError(
                f"restrict_vocab must be at least 1, got {self.restrict_vocab}", hint="leave it out to use every word"
            )
        if self.resamples < 0:
            raise FirthianError(f"resamples must be at least 0, got {self.resamples}", hint="2000 is usual")


def whole_number(name: str, value: int | str | None, least: int) -> int:
    """Read an option of a suite that may have come from the command line.

    >>> whole_number("cv", "5", 0)
    5
    """
    try:
        number = int(value or 0)
    except ValueError:
        number = -1
    if number < least:
        raise FirthianError(
            f"{name} must be a whole number from {least}, got {value!r}", hint="leave it out for the usual"
        )
    return number


@dataclass(frozen=True)
class Suite:
    """A suite: its name, the ``module:function`` that runs it, the further options it understands, and those given.

    ``check``, where there is one, is the ``module:function`` that is called with the further options before any work, and
    says which of them is wrong, or which data or library are not here.
    """

    name: str
    home: str
    options: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    check: str = ""

    def load(self) -> Callable[..., Mapping[str, Any]]:
        """Import the function that runs it, only now."""
        return _import(self.home)

    def check_early(self, options: EvaluationOptions) -> None:
        """Say before any work why the suite cannot run."""
        if self.check:
            _import(self.check)(**self.own(options).more)

    def own(self, options: EvaluationOptions) -> EvaluationOptions:
        """Return the options of an evaluation without those that other suites declare."""
        mine = {name: value for name, value in options.more.items() if name in self.options}
        return replace(options, more={**mine, **self.given})


def _import(home: str) -> Callable[..., Any]:
    module, _, function = home.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded


SUITES = {
    suite.name: suite
    for suite in (
        Suite("similarity", "firthian.evaluate.similarity:suite"),
        Suite("analogy", "firthian.evaluate.analogy:suite"),
        Suite(
            "classification",
            "firthian.evaluate.classification:suite",
            ("tasks", "methods", "cv", "grid"),
            check="firthian.evaluate.classification:check",
        ),
        Suite(
            "chunking",
            "firthian.evaluate.chunking:suite",
            ("l2", "style", "train_sentences", "test_sentences"),
            check="firthian.evaluate.chunking:check",
        ),
    )
}

#: What is asked when the user names no suite.
DEFAULT_SUITES = "similarity,analogy"


def find_suites(names: str) -> list[Suite]:
    """Read a list of suites, as ``similarity,analogy``; a suite's own options follow its name.

    >>> [suite.name for suite in find_suites("analogy, similarity")]
    ['analogy', 'similarity']
    >>> find_suites("classification:tasks=trec+comp:cv=5")[0].given
    {'tasks': 'trec+comp', 'cv': '5'}
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise FirthianError("no suite is named", hint=f"known are {', '.join(SUITES)}")
    return [_read(text) for text in wanted]


def _read(text: str) -> Suite:
    name, *settings = text.split(":")
    if name not in SUITES:
        raise FirthianError(f"there is no suite {name!r}", hint=suggest(name, SUITES))
    suite = SUITES[name]
    given = {}
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals:
            raise FirthianError(
                f"{setting!r} of the suite {name} is not option=value", hint=f"write {name}:option=value"
            )
        check_options([suite], {option: value})
        given[option] = value
    return replace(suite, given=given)


def check_options(suites: list[Suite], options: Mapping[str, Any]) -> None:
    """Say which option no suite understands."""
    known = {name for suite in suites for name in suite.options}
    for name in options:
        if name not in known:
            hint = suggest(name, sorted(known)) if known else "leave it out"
            raise FirthianError(f"no chosen suite has an option {name}", hint=hint)
