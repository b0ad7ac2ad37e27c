"""The words of a corpus: id 0 is the most frequent; ties are broken by the word itself."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from firthian.arrays import Array
from firthian.disk.artifact import sha256
from firthian.disk.atomic import write_file
from firthian.disk.opening import read_regular
from firthian.errors import FirthianError, UnknownWordError, from_os_error, require, suggest
from firthian.text.tokenizer import composed

#: Maximum bytes of a list of words.
_LARGEST_LIST = 1 << 28

#: Five passes join no more words than this.
_LONGEST_PHRASE = 32


class WordsRecord(TypedDict):
    """The entry of ``words.txt`` in a manifest."""

    number: int
    bytes: NotRequired[int]
    sha256: str


class Vocabulary:
    """Words and how often each occurs, in the order of their ids.

    >>> vocabulary = Vocabulary.from_counts({"the": 5, "cat": 2, "ate": 2})
    >>> vocabulary.words
    ['the', 'ate', 'cat']
    >>> vocabulary["cat"], "dog" in vocabulary, len(vocabulary), vocabulary.lowercase
    (2, False, 3, True)
    """

    def __init__(self, words: Sequence[str], counts: Iterable[int] | Array | None = None) -> None:
        self.words = list(words)
        if counts is None:
            self.counts = np.zeros(len(self.words), dtype=np.int64)
        elif isinstance(counts, np.ndarray):
            self.counts = counts.astype(np.int64, copy=False)
        else:
            try:
                self.counts = np.fromiter(counts, dtype=np.int64)
            except OverflowError:
                raise FirthianError("a word is counted more than 2^63 times", hint="check the counts") from None
        if self.counts.shape != (len(self.words),):
            raise FirthianError(
                f"{len(self.words)} words but {self.counts.size} counts", hint="pass one count per word"
            )

    @classmethod
    def from_counts(cls, counts: dict[str, int]) -> Vocabulary:
        """Order words by descending count, then by the word."""
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls([word for word, _ in ordered], [count for _, count in ordered])

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """The id of each word."""
        index = {word: number for number, word in enumerate(self.words)}
        if len(index) != len(self.words):
            raise FirthianError("a vocabulary contains a word twice", hint="remove the duplicates")
        return index

    @functools.cached_property
    def lowercase(self) -> bool:
        """Whether no word has a capital: then words that are looked for are lower-cased first."""
        return all(word == word.lower() for word in self.words)

    @functools.cached_property
    def phrase_parts(self) -> frozenset[str]:
        """What lies inside phrases of three words or more: passes before the last may have joined it."""
        return frozenset(
            "_".join(pieces[first:last])
            for pieces in (word.split("_") for word in self.words if word.count("_") > 1)
            if len(pieces) <= _LONGEST_PHRASE
            for first in range(len(pieces))
            for last in range(first + 2, len(pieces) + 1)
        )

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index or (isinstance(word, str) and self.get(word) >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, word: str) -> int:
        number = self.get(word)
        if number < 0:
            raise self.unknown(word)
        return number

    def get(self, word: str, default: int = -1) -> int:
        r"""Return the id of a word, or ``default``; a word may be spelled with combining marks.

        >>> Vocabulary(["caf\u00e9"]).get("cafe\u0301")
        0
        """
        number = self.index.get(word)
        if number is None and isinstance(word, str) and not word.isascii():
            number = self.index.get(composed(word))
        return default if number is None else number

    def unknown(self, word: str) -> UnknownWordError:
        """Build the error for a word that is not here, with the closest known spellings."""
        if word.lower() in self.index:
            return UnknownWordError(f"{word!r} is not in the vocabulary", hint=f"did you mean {word.lower()}?")
        # Spellings are compared only with frequent words of similar length: it must stay quick for a million words.
        near = [known for known in self.words[:50_000] if abs(len(known) - len(word)) <= 2][:20_000]
        close = suggest(word, near) if near else ""
        return UnknownWordError(
            f"{word!r} is not in the vocabulary",
            hint=close if close.startswith("did") else "check its spelling and case",
        )

    def save(self, folder: Path) -> dict[str, Any]:
        """Write ``words.txt``, one word per line; return its entry for the manifest. Duplicates are an error."""
        if len(self.index) and any("\n" in word for word in self.words):
            word = next(word for word in self.words if "\n" in word)
            raise FirthianError(f"the word {word!r} contains a line break", hint="rename it before saving")
        try:
            data = "".join(f"{word}\n" for word in self.words).encode()
        except UnicodeEncodeError as error:
            raise FirthianError(
                f"the word with {error.object[error.start]!r} is not valid text", hint="rename it before saving"
            ) from None
        write_file(folder / "words.txt", data)
        return {"number": len(self.words), "bytes": len(data), "sha256": sha256(data)}

    @classmethod
    def load(cls, folder: Path, entry: dict[str, Any], counts: Array) -> Vocabulary:
        """Read the words that ``save`` wrote; ``entry`` is what it returned."""
        damaged = FirthianError(f"{folder / 'words.txt'} is damaged", hint="make it again from its source")
        try:
            data = read_regular(folder / "words.txt", _largest(entry))
            lines = data.decode().split("\n")[:-1]
        except (OSError, UnicodeDecodeError, FirthianError):
            raise damaged from None
        if sha256(data) != entry.get("sha256") or len(lines) != entry.get("number") or len(lines) != counts.size:
            raise damaged
        return cls(lines, np.asarray(counts))


def _largest(entry: dict[str, Any]) -> int:
    """Return the maximum size of the file of words that a manifest describes."""
    size, number = entry.get("bytes"), entry.get("number")
    return size if type(size) is int else (1 << 20) + 1000 * number if type(number) is int else 0


def list_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a list that a user wrote, composed, with plain line ends."""
    try:
        # The user named it, so it may be a pipe; it may not be endless.
        with open(path, "rb") as file:
            data = file.read(_LARGEST_LIST + 1)
        if len(data) > _LARGEST_LIST:
            raise FirthianError(f"{path} is larger than {_LARGEST_LIST >> 20} MB", hint="write one word per line")
        return composed(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError:
        raise FirthianError(f"{path} is not UTF-8 text", hint="convert it to UTF-8, e.g. with iconv") from None
    except OSError as error:
        raise from_os_error(error) from error


def word_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the words of a file, one per line, in order; anything after a tab is ignored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "words.txt")
    ...     _ = file.write_text("\\ufefftea\\t12\\n\\ncoffee\\t9\\n")
    ...     word_lines(file)
    ['tea', 'coffee']
    """
    words = [word for line in list_text(path).split("\n") if (word := line.partition("\t")[0].strip())]
    if not words:
        raise FirthianError(f"{path} contains no words", hint="write one word per line")
    return words


def stop_list(source: Any) -> Any:
    """Return the stop words of a language for its code, such as ``tr``; anything else, also a file of that name, as it is."""
    if not isinstance(source, str) or not re.fullmatch("[a-z]{2,3}", source) or os.path.exists(source):
        return source
    lists = require("stopwordsiso", "languages")
    if not lists.has_lang(source):
        raise FirthianError(
            f"there are no stop words for {source!r}, and no file of that name", hint="pass a file, one word per line"
        )
    return lists.stopwords(source)


def read_words(
    source: str | os.PathLike[str] | Iterable[str] | None, lower: Callable[[str], str] | None = None
) -> frozenset[str] | None:
    """Return the words of an iterable, or of a file (see ``word_lines``), lower-cased if the corpus is."""
    if source is None:
        return None
    words = word_lines(source) if isinstance(source, str | os.PathLike) else source
    try:
        return frozenset(composed(lower(word) if lower else word) for word in words)
    except (TypeError, AttributeError):
        raise FirthianError(
            "a word list contains something other than strings", hint="pass strings, or a file"
        ) from None
