"""What the user may say about an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from firthian.datasets.word_tasks import Pairs, Questions
from firthian.errors import FirthianError, suggest
from firthian.evaluate.ranks import RESAMPLES
from firthian.evaluate.scores import check_score

#: What becomes of an item with an unknown word: left out, or counted with the score zero (an analogy as wrong).
OOV = ("skip", "zero")


@dataclass(frozen=True)
class Options:
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
