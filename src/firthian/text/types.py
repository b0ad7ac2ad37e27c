"""Types of many segments -> one vocabulary, in bounded memory; and the way back from a segment's ids to the vocabulary's."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from firthian.arrays import Array
from firthian.errors import BudgetError, FirthianError
from firthian.text.vocabulary import Vocabulary

#: Bytes per type in the table: hash, start, count, and up to four slots, or six while the table grows.
BYTES_PER_TYPE = 8 + 8 + 8 + 6 * 4

#: Copies of the spelling of types while the table grows.
SPELLING_COPIES = 2


class NoWordsLeftError(FirthianError):
    """Raised if no word of the corpus is frequent enough and on the word list."""


@dataclass(frozen=True)
class VocabularyLimits:
    """Limits that decide which types become words."""

    min_count: int
    max_vocab: int | None = None
    only: frozenset[str] | None = None
    stop_words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Segment:
    """Tokens of one segment as ids of its own types.

    ``document_starts[n]`` is the number of tokens before document ``n``; the first document of a segment may be the
    rest of the previous segment's last one; with ``ends_inside`` the last one continues in the next segment.
    """

    ids: Array
    document_starts: Array
    #: The types: their hashes, their bytes one after another in ``pool``, their counts.
    hashes: Array
    starts: Array
    pool: Array
    counts: Array
    ends_inside: bool
    undecodable: int = 0

    @property
    def words(self) -> tuple[Array, Array, Array, Array]:
        """The types as the kernels take them."""
        return self.hashes, self.starts, self.pool, self.counts

    def types(self) -> list[str]:
        """Return the types as strings."""
        data = self.pool.tobytes()
        return [data[a:b].decode() for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def whole_documents(self) -> int:
        """The number of documents that end in this segment."""
        return self.document_starts.size - 1 if self.ends_inside else self.document_starts.size

    def tokens_of_open_document(self) -> int:
        """Return the number of tokens of the last document, if it continues in the next segment."""
        return int(self.ids.size - self.document_starts[-1]) if self.ends_inside else 0


class TypeTable:
    """Types and their counts in plain arrays, grown as needed (see kernels/tokens.py)."""

    def __init__(self, room: int = 1 << 16) -> None:
        self.size = 0
        self.room = room
        self.hashes = np.empty(room, dtype=np.uint64)
        self.starts = np.zeros(room + 1, dtype=np.int64)
        self.pool = np.empty(room * 10, dtype=np.uint8)
        self.counts = np.zeros(room, dtype=np.int64)
        self.slots = np.full(2 * room, -1, dtype=np.int32)

    @classmethod
    def of_words(cls, words: Iterable[str]) -> TypeTable:
        """Build a table of distinct words, with ids in their order."""
        from firthian.kernels import tokens as kernel

        spelled = [word.encode("utf-8", "surrogatepass") for word in words]
        table = cls(1 << max(4, len(spelled).bit_length()))
        table.size = len(spelled)
        table.pool = np.frombuffer(b"".join(spelled), dtype=np.uint8)
        table.starts = np.cumsum([0, *map(len, spelled)], dtype=np.int64)
        table.hashes = np.empty(table.size, dtype=np.uint64)
        kernel.hash_words(table.starts, table.pool, table.hashes)
        kernel.fill_slots(table.hashes, table.size, table.slots)
        return table

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """The arrays that the kernels take."""
        return self.slots, self.hashes, self.starts, self.pool, self.counts

    def add(self, segment: Segment, part: int = 0, parts: int = 1) -> None:
        """Add the counts of a segment's types in one part of the hash range."""
        from firthian.kernels import tokens as kernel

        read = 0
        while True:
            read, self.size = kernel.add_types(segment.words, part, parts, read, self.arrays, self.size)
            if read == segment.hashes.size:
                return
            self.grow(segment.pool.size)

    def grow(self, spelling: int) -> None:
        """Make room for more types, or else for ``spelling`` more bytes of their spelling."""
        from firthian.kernels import tokens as kernel

        if self.size < self.room:
            self.pool = _grown(self.pool, self.pool.size + max(self.pool.size, spelling), int(self.starts[self.size]))
            return
        self.room *= 2
        self.hashes = _grown(self.hashes, self.room, self.size)
        self.counts = _grown(self.counts, self.room, self.size)
        self.starts = _grown(self.starts, self.room + 1, self.size + 1)
        self.slots = np.full(2 * self.room, -1, dtype=np.int32)
        kernel.fill_slots(self.hashes, self.size, self.slots)

    def as_segment(
        self,
        ids: Array | None = None,
        document_starts: Array | None = None,
        ends_inside: bool = False,
        undecodable: int = 0,
    ) -> Segment:
        """Return the types as those of a segment, by default of one without text, to be added to another table."""
        return Segment(
            np.empty(0, dtype=np.int32) if ids is None else ids,
            np.zeros(1, dtype=np.int64) if document_starts is None else document_starts,
            self.hashes[: self.size].copy(),
            self.starts[: self.size + 1].copy(),
            self.pool[: self.starts[self.size]].copy(),
            self.counts[: self.size].copy(),
            ends_inside,
            undecodable,
        )

    def look_up(self, segment: Segment) -> Array:
        """Return the id of each type of a segment in this table, or -1."""
        from firthian.kernels import tokens as kernel

        ids = np.empty(segment.hashes.size, dtype=np.int32)
        kernel.look_up(segment.words, self.arrays, ids)
        return ids

    def spelled(self, number: int) -> str:
        """Return a type as a string."""
        return bytes(self.pool.data[self.starts[number] : self.starts[number + 1]]).decode("utf-8", "replace")


@dataclass(frozen=True)
class VocabularyResult:
    """A vocabulary, and the numbers of types and tokens it was chosen from."""

    vocabulary: Vocabulary
    types: int
    tokens: int
    #: Words of the word list that do not occur, or that other limits left out.
    absent: list[str]


def build_vocabulary(
    segments: Callable[[], Iterable[Segment]],
    limits: VocabularyLimits,
    budget: int,
    types_in_segments: int,
    spelling_in_segments: int = 0,
    check: Callable[[int, int], object] = lambda words, spelling: None,
) -> VocabularyResult:
    """Add up the types of all segments, in parts of the hash range if all at once would not fit the budget.

    ``check`` raises if a number of words and bytes would not fit in memory; it is called before they are stored.
    """
    needed = types_in_segments * BYTES_PER_TYPE + spelling_in_segments * SPELLING_COPIES
    parts = min(1 << 16, max(1, -(-needed // max(budget, 1))))
    words: list[tuple[int, str]] = []
    types = tokens = number = spelling = 0
    too_many: BudgetError | None = None
    for part in range(parts):
        table = TypeTable()
        for segment in segments():
            table.add(segment, part, parts)
        counts = table.counts[: table.size]
        types += table.size
        tokens += int(counts.sum())
        enough = np.flatnonzero(counts >= limits.min_count)
        if limits.max_vocab is not None:
            words = heapq.nsmallest(limits.max_vocab, chain(words, _kept(table, enough, limits)))
        else:
            if limits.only is None:
                number, spelling = number + enough.size, spelling + int(np.diff(table.starts)[enough].sum())
            try:
                check(number, spelling)
                words += _kept(table, enough, limits)
            except BudgetError as error:
                # The last part tells how much would be needed.
                too_many = error
                words.clear()
    if too_many is not None:
        raise too_many
    if tokens == 0:
        raise FirthianError("the corpus contains no words", hint="check the file and the tokenizer")
    if not words:
        raise NoWordsLeftError(
            f"none of the {types:,} distinct words is left with `min_count={limits.min_count}`",
            hint="lower `min_count`, or check the word list and the stop words",
        )
    # By descending count, then by the word.
    words.sort()
    vocabulary = Vocabulary([word for _, word in words], np.array([-count for count, _ in words], dtype=np.int64))
    absent = sorted(limits.only.difference(vocabulary.words)) if limits.only is not None else []
    return VocabularyResult(vocabulary, types, tokens, absent)


def _kept(table: TypeTable, which: Array, limits: VocabularyLimits) -> Iterator[tuple[int, str]]:
    """Yield (minus the count, word) of the types that are neither stop words nor missing from the word list."""
    for at in which.tolist():
        word = table.spelled(at)
        if word not in limits.stop_words and (limits.only is None or word in limits.only):
            yield -int(table.counts[at]), word


def _grown(array: Array, size: int, used: int) -> Array:
    """Return a longer array that begins with the used part; the system gives memory only to what is written."""
    result = np.empty(size, dtype=array.dtype)
    result[:used] = array[:used]
    return result
