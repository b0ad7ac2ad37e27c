"""A corpus in segments of a few megabytes, each tokenized alone, so that workers share nothing.

Each segment numbers its own types. How text is divided into segments does not change results,
except that phrases are not joined across a boundary inside a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firthian.disk.artifact import ArtifactKind
from firthian.errors import FirthianError
from firthian.text.files import Shard, lines_before
from firthian.text.pieces import NOTHING, Corpus, Piece, Skipped
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import Segment, TypeTable

#: Bytes of text of a segment.
SEGMENT_BYTES = 4 << 20

#: The maximum number of lines of a segment: each takes memory, too, and lines may be empty.
SEGMENT_LINES = 1 << 17

#: Memory of a worker that makes or rereads a segment, whatever its text: a text of distinct words takes the most.
WORKER_BYTES = 64 << 20


@dataclass(frozen=True)
class SegmentText:
    """The text of one segment; documents end at newlines, the last one may continue in the next segment."""

    number: int
    text: bytes
    #: (offset in the text, file, line) of each piece it is made of.
    origins: list[tuple[int, str, int]]
    #: Offset of the shard in its file; lines are numbered from there.
    begin: int = 0
    #: Rows of tables that were skipped around it.
    skipped: Skipped = NOTHING

    def place(self, offset: int) -> str:
        """Return the file and line of a byte, for error messages."""
        start, source, line = [origin for origin in self.origins if origin[0] <= offset][-1]
        newlines = self.text.count(b"\n", start, offset) + (lines_before(source, self.begin) if self.begin else 0)
        return f"{source}, line {line + newlines}"


def cut_segments(
    corpus: Corpus, digests: list[bytes] | None = None, segment_bytes: int = SEGMENT_BYTES
) -> Iterator[SegmentText]:
    """Divide a corpus into segments, shard by shard; append the SHA-256 of each shard's text to ``digests``."""
    number = 0
    shards: Sequence[Shard | None] = shards_of(corpus) or [None]
    for shard in shards:
        digest = hashlib.sha256()
        for text in cut_shard(corpus, shard, digest, segment_bytes, number):
            number += 1
            yield text
        if digests is not None:
            digests.append(digest.digest())


def shards_of(corpus: Corpus) -> list[Shard] | None:
    """Return the parts of a corpus that can be read alone; None if it is one stream."""
    shards: Callable[[], list[Shard] | None] | None = getattr(corpus, "shards", None)
    return shards() if shards is not None else None


def cut_shard(
    corpus: Any, shard: Shard | None, digest: hashlib._Hash, segment_bytes: int = SEGMENT_BYTES, number: int = 0
) -> Iterator[SegmentText]:
    """Divide a shard after documents, or inside a very long one at white space; update ``digest`` with all bytes.

    Segments are numbered from ``number`` on.
    """
    pieces: Iterator[Piece] = corpus.pieces() if shard is None else corpus.pieces(shard)
    begin = 0 if shard is None else shard.begin
    waiting = bytearray()
    origins: list[tuple[int, str, int]] = []
    source, next_line, lines = "", 0, 0
    skipped = Skipped()
    for piece in pieces:
        skipped = skipped.plus(*piece.skipped)
        digest.update(piece.text)
        if (piece.source, piece.line) != (source, next_line):
            origins.append((len(waiting), piece.source, piece.line))
        # If a piece covers a number of lines other than its newlines, the next piece needs an origin of its own.
        follows = piece.text.count(b"\n") == piece.lines
        source, next_line = piece.source, piece.line + piece.lines if follows else -1
        waiting += piece.text
        lines += piece.text.count(b"\n")
        while len(waiting) >= segment_bytes or lines > SEGMENT_LINES:
            cut = _after_lines(waiting, segment_bytes) if lines > SEGMENT_LINES else 0
            cut = cut or _cut_at(waiting, segment_bytes)
            text = bytes(waiting[:cut])
            lines -= text.count(b"\n")
            yield SegmentText(number, text, [origin for origin in origins if origin[0] < cut], begin, skipped)
            number, skipped = number + 1, Skipped()
            del waiting[:cut]
            origins = _origins_after(origins, text)
    if waiting:
        yield SegmentText(number, bytes(waiting), origins, begin, skipped)


def _origins_after(origins: list[tuple[int, str, int]], text: bytes) -> list[tuple[int, str, int]]:
    """Return the origins of what follows ``text``."""
    cut = len(text)
    offset, source, line = [origin for origin in origins if origin[0] <= cut][-1]
    rest = (0, source, line + text.count(b"\n", offset))
    return [rest, *((offset - cut, source, line) for offset, source, line in origins if offset > cut)]


def _after_lines(text: bytearray, limit: int) -> int:
    """Return the end of the maximum number of lines; 0 if there are fewer within the limit."""
    ends = np.flatnonzero(np.frombuffer(bytes(text[:limit]), dtype=np.uint8) == ord("\n"))
    return int(ends[SEGMENT_LINES - 1]) + 1 if ends.size >= SEGMENT_LINES else 0


def _cut_at(text: bytearray, limit: int) -> int:
    """Return the end of a segment: after the last newline, else white space, else between two characters."""
    for separator in (b"\n", b" ", b"\x1f", b"\t"):
        cut = text.rfind(separator, 0, limit) + 1
        if cut > 0:
            return cut
    cut = limit
    while cut > limit - 4 and text[cut - 1] & 0xC0 == 0x80:
        cut -= 1
    return cut - 1 if cut > 1 and text[cut - 1] >= 0xC0 else limit


def tokenize_text(text: bytes, tokenizer: Tokenizer, tokenized: bool = False) -> Segment:
    """Tokenize one text of lines."""
    from firthian.kernels import tokens as kernel

    prepared = tokenizer.prepare(text, tokenized)
    data = np.frombuffer(prepared.text, dtype=np.uint8)
    ids = np.empty(data.size // 2 + 2, dtype=np.int32)
    document_starts = np.zeros(prepared.text.count(b"\n") + 1, dtype=np.int64)
    table = TypeTable(1 << max(8, min(17, (data.size // 64).bit_length())))
    progress = np.zeros(4, dtype=np.int64)
    while True:
        status = kernel.scan(data, prepared.rules, ids, document_starts, table.arrays, progress)
        table.size = int(progress[kernel.N_TYPES])
        if status == kernel.DONE:
            break
        # Room for the longest possible word, so that the next call always makes progress.
        table.grow(data.size)
    ends_inside = not prepared.text.endswith(b"\n")
    ids = ids[: progress[kernel.N_TOKENS]].copy()
    document_starts = document_starts[: progress[kernel.N_DOCUMENTS] + ends_inside].copy()
    return table.as_segment(ids, document_starts, ends_inside, prepared.undecodable)


def tokenize_segment(source: SegmentText, tokenizer: Tokenizer, tokenized: bool, strict: bool) -> Segment:
    """Tokenize a segment; with ``strict``, raise if bytes are not UTF-8."""
    if strict and not source.text.isascii():
        try:
            source.text.decode()
        except UnicodeDecodeError as error:
            raise FirthianError(
                f"{source.place(error.start)}: a byte is not UTF-8",
                hint="convert the file, or omit `strict` to replace such bytes",
            ) from None
    return tokenize_text(source.text, tokenizer, tokenized)


SEGMENT = ArtifactKind("segment", "segment.json")

_ARRAYS = ("ids", "document_starts", "hashes", "starts", "pool", "counts")


def write_segment(path: Path, segment: Segment, fingerprint: str) -> None:
    """Write a segment as one file that appears whole or not at all; ``fingerprint`` identifies its text."""
    record = {"fingerprint": fingerprint, "ends_inside": segment.ends_inside, "undecodable": segment.undecodable}
    SEGMENT.write_one_file(path, record, {name: getattr(segment, name) for name in _ARRAYS})


def read_segment(path: Path, fingerprint: str | None = None) -> Segment:
    """Read what ``write_segment`` wrote; it must be undamaged, and of the text with this fingerprint if one is given."""
    damaged = FirthianError(f"{path} is damaged", hint="start over with `force`")
    artifact = SEGMENT.read_one_file(path)
    try:
        arrays = {name: np.array(artifact.arrays[name]) for name in _ARRAYS}
        segment = Segment(
            **arrays,
            ends_inside=bool(artifact.record["ends_inside"]),
            undecodable=int(artifact.record["undecodable"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise damaged from error
    if fingerprint not in (None, artifact.record.get("fingerprint")):
        raise damaged
    return segment


def find_segment(path: Path, fingerprint: str) -> Segment | None:
    """Read a segment of an earlier attempt; None where there is none of this text, or it is damaged."""
    try:
        return read_segment(path, fingerprint) if path.exists() else None
    except FirthianError:
        return None


def fingerprint_of(text: bytes) -> str:
    """Return a hash that identifies a text."""
    return hashlib.blake2b(text, digest_size=16).hexdigest()
