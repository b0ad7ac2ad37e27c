"""The settings of questions, declared once. Reading this is quick: the command line builds its flags from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from firthian.options import Option, Seed, declared

CONTEXTS, ERRORS, OUTPUT = "Contexts", "Errors and tests", "Answer"

#: What may be resampled besides a column of the table.
DOCUMENT, OCCURRENCE = "document", "occurrence"


@dataclass(frozen=True)
class Checked:
    """Settings whose values are checked when they are made."""

    def __post_init__(self) -> None:
        for name, option in declared(type(self)).items():
            object.__setattr__(self, name, option.check(getattr(self, name), strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings by name, for the record."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class RegressSettings(Checked):
    """How occurrences become vectors, and how errors are computed.

    >>> RegressSettings(window=0)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: window must be an integer of at least 1, got 0: context words on each side
    """

    window: Annotated[int, Option("context words on each side", low=1, group=CONTEXTS)] = 6
    min_count: Annotated[
        int, Option("minimum occurrences of a context word; rarer words leave a gap", low=1, group=CONTEXTS)
    ] = 1
    min_length: Annotated[int, Option("minimum length of a word; shorter words are removed", low=1, group=CONTEXTS)] = 1
    close_gaps: Annotated[bool, Option("remove rare words before windows instead of leaving gaps", group=CONTEXTS)] = (
        False
    )
    cluster_by: Annotated[
        str, Option("unit of sampling: document, occurrence or a column such as author", group=ERRORS)
    ] = DOCUMENT
    permutations: Annotated[int, Option("random permutations for p-values", low=1, high=10**7, group=ERRORS)] = 1000
    bootstrap: Annotated[
        int, Option("resamples of clusters for intervals; 0 uses the jackknife", low=0, high=10**6, group=ERRORS)
    ] = 0
    missing: Annotated[str, Option("documents without a covariate", choices=("drop", "refuse"), group=ERRORS)] = "drop"
    topn: Annotated[int, Option("nearest words to list", low=1, high=10_000, group=OUTPUT)] = 10
    sentences: Annotated[int, Option("nearest sentences to list", low=0, high=1000, group=OUTPUT)] = 3
    seed: Seed = 1


@dataclass(frozen=True)
class AssociateSettings(Checked):
    """How errors of an association test are computed."""

    permutations: Annotated[
        int, Option("random divisions for p if there are too many to try all", low=1, high=10**7, group=ERRORS)
    ] = 10_000
    resamples: Annotated[int, Option("resamples of words for the interval", low=20, high=10**6, group=ERRORS)] = 2000
    alternative: Annotated[str, Option("hypothesis of the test", choices=("greater", "two-sided"), group=ERRORS)] = (
        "greater"
    )
    missing: Annotated[
        str,
        Option(
            "words without a vector; auto composes where there are subwords",
            choices=("auto", "skip", "compose"),
            group=ERRORS,
        ),
    ] = "auto"
    seed: Seed = 1


@dataclass(frozen=True)
class KeynessSettings(Checked):
    """How groups are compared."""

    min_count: Annotated[int, Option("minimum occurrences of a word", low=1, group=ERRORS)] = 10
    prior: Annotated[
        float, Option("prior tokens of the log-odds, distributed like the corpus", low=1e-6, high=1e12, group=ERRORS)
    ] = 1000.0
    permutations: Annotated[
        int, Option("random permutations of documents for p-values", low=1, high=10**6, group=ERRORS)
    ] = 999
    seed: Seed = 1
