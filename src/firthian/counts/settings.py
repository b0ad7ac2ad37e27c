"""The settings of counting, declared once: Python signature, command-line flags, checks and help come from here.

Reading this must stay quick, since the command line builds its flags from it: numpy is imported only where it computes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from firthian.errors import FirthianError
from firthian.options import Option, Seed, check_names, declared
from firthian.text.formats import FormatName

if TYPE_CHECKING:
    from firthian.arrays import Array

#: The sections of a command's help.
WINDOWS, VOCABULARY, CORPUS = "Windows", "Vocabulary", "Corpus"

#: Five passes join up to 32 words, more than any phrase has.
MOST_PASSES = 5

WordList = str | os.PathLike[str] | Iterable[str]


@dataclass(frozen=True)
class WindowSettings:
    """How co-occurrence is counted once the words are known (docs/counting.md).

    >>> WindowSettings(window=0)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: window must be an integer from 1 to 10000, got 0: words on each side
    """

    # Weights of words farther away would be noise, and sums could exceed 64 bits.
    window: Annotated[int, Option("words on each side", low=1, high=10_000, group=WINDOWS)] = 5
    weighting: Annotated[str, Option("weight by distance", choices=("flat", "harmonic", "dynamic"), group=WINDOWS)] = (
        "dynamic"
    )
    context: Annotated[
        str, Option("sides of the window that count", choices=("both", "left", "right"), group=WINDOWS)
    ] = "both"
    keep_positions: Annotated[
        bool, Option("words outside the vocabulary keep their positions in windows", group=WINDOWS)
    ] = False
    sample: Annotated[
        float,
        Option("threshold for sub-sampling frequent words, such as 1e-3; 0 is off", low=0, below=1, group=WINDOWS),
    ] = 0.0
    sample_mode: Annotated[
        str,
        Option("drop words at random, or scale by their expectation", choices=("drop", "expected"), group=WINDOWS),
    ] = "drop"
    seed: Seed = 1
    dtype: Annotated[str, Option("stored type of the counts", choices=("float32", "float64"), group=WINDOWS)] = (
        "float32"
    )

    def __post_init__(self) -> None:
        for name, option in declared(type(self)).items():
            object.__setattr__(self, name, option.check(getattr(self, name), strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings by name, for the record."""
        return asdict(self)

    def integer_weights(self) -> tuple[Array, int]:
        """Return the weight at distance 1, 2, ... as integers, and the unit they are divided by.

        Where 1/1 ... 1/window have no small common multiple, the unit is 2^32 and weights are rounded to it.

        >>> WindowSettings(window=4, weighting="harmonic").integer_weights()
        (array([12,  6,  4,  3]), 12)
        """
        import numpy as np

        distances = range(1, self.window + 1)
        if self.weighting == "flat":
            return np.ones(self.window, dtype=np.int64), 1
        if self.weighting == "dynamic":
            return np.array([self.window + 1 - k for k in distances], dtype=np.int64), self.window
        unit = math.lcm(*distances) if self.window <= 22 else 2**32
        return np.array([round(unit / k) for k in distances], dtype=np.int64), unit

    def check_sums(self, occurrences: int) -> None:
        """Raise if the most frequent word occurs so often that an integer sum could exceed 63 bits."""
        weights, _ = self.integer_weights()
        if occurrences * int(weights.sum()) * 2 >= 2**62:
            raise FirthianError(
                f"sums for a window of {self.window} would overflow 64 bits on a corpus of this size",
                hint="lower `window`, or choose another `weighting`",
            )

    def sides(self) -> tuple[Array, Array]:
        """Return the integer weights before and after the word; a side that does not count is empty."""
        weights, _ = self.integer_weights()
        return weights[: None if self.context != "right" else 0], weights[: None if self.context != "left" else 0]

    def keep_probabilities(self, counts: Array) -> Array:
        """Return the probability min(1, sqrt(t/f) + t/f) of keeping each word; ones when sub-sampling is off."""
        import numpy as np

        if self.sample == 0:
            return np.ones(counts.size)
        frequency = counts / counts.sum()
        ratio = self.sample / frequency
        probabilities: Array = np.minimum(1.0, np.sqrt(ratio) + ratio)
        return probabilities


@dataclass(frozen=True)
class CountSettings(WindowSettings):
    """All that decides what the counts of a corpus will be."""

    min_count: Annotated[
        int | None, Option("minimum occurrences of a word (5, or 1 with a word list)", low=1, group=VOCABULARY)
    ] = None
    max_vocab: Annotated[int | None, Option("keep only the N most frequent words", low=1, group=VOCABULARY)] = None
    vocabulary: Annotated[WordList | None, Option("file of words to keep, one per line", group=VOCABULARY)] = None
    stop_words: Annotated[
        WordList | None, Option("words to leave out, as a file or a language code", group=VOCABULARY)
    ] = None
    phrases: Annotated[
        str | None,
        Option("join collocations such as new_york, by this score", choices=("npmi", "word2vec"), group=VOCABULARY),
    ] = None
    phrase_threshold: Annotated[
        float | None, Option("minimum score of a phrase (npmi 0.5, word2vec 100)", group=VOCABULARY)
    ] = None
    phrase_passes: Annotated[
        int, Option("passes over the text; 2 finds phrases of up to 4 words", low=1, high=MOST_PASSES, group=VOCABULARY)
    ] = 1
    phrase_min_count: Annotated[int, Option("minimum occurrences of a phrase", low=1, group=VOCABULARY)] = 5
    tokenizer: Annotated[
        Any, Option("tokenizer: unicode, whitespace, icu, icu:LOCALE or module:function", group=CORPUS)
    ] = "unicode"
    keep_case: Annotated[bool, Option("do not convert to lower case", group=CORPUS)] = False
    language: Annotated[str | None, Option("language code such as tr, for rules of case and words", group=CORPUS)] = (
        None
    )
    fold_numbers: Annotated[bool, Option("replace every number with one symbol", group=CORPUS)] = False
    format: FormatName = "auto"
    text_column: Annotated[
        str | None, Option("text column: its name, or its number without a header", group=CORPUS)
    ] = None
    where: Annotated[
        Any, Option("keep rows of a table with COLUMN=VALUE; repeatable", group=CORPUS, repeatable=True)
    ] = None
    sql: Annotated[str | None, Option("DuckDB query; it sees a file as the table corpus", group=CORPUS)] = None
    strict: Annotated[bool, Option("stop at bytes that are not UTF-8", group=CORPUS)] = False

    @classmethod
    def create(cls, given: Mapping[str, Any]) -> CountSettings:
        """Check the settings a user passed by name."""
        check_names("count", declared(cls), given)
        settings = cls(**given)
        if settings.phrases is None:
            for name in ("phrase_threshold", "phrase_passes", "phrase_min_count"):
                if getattr(settings, name) != declared(cls)[name].default:
                    raise FirthianError(f"`{name}` has no effect without `phrases`", hint="add `phrases=npmi`")
        return settings

    @property
    def windows(self) -> WindowSettings:
        """The settings that stay with the counts."""
        return WindowSettings(**{name: getattr(self, name) for name in declared(WindowSettings)})
