"""Text that can be read only once (standard input, a pipe), copied to disk for those who read it again and again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firthian.errors import from_os_error
from firthian.text.files import CHUNK_BYTES, can_be_read_again
from firthian.text.readers import Corpus, Files, Piece


class Copy:
    """The documents of a corpus in a file; what is said of them (names, lines, the checksum) is that of the original."""

    def __init__(self, corpus: Corpus, file: Path) -> None:
        self.tokenized = corpus.tokenized
        self._names, self._file = corpus.names(), file
        #: Bytes whose lines follow each other in one source: the source, the first line, how many bytes.
        self._runs: list[tuple[str, int, int]] = []
        expected: tuple[str, int] | None = None
        try:
            with file.open("wb") as out:
                for piece in corpus.pieces():
                    out.write(piece.text)
                    if (piece.source, piece.line) == expected:
                        source, line, size = self._runs.pop()
                        self._runs.append((source, line, size + len(piece.text)))
                    else:
                        self._runs.append((piece.source, piece.line, len(piece.text)))
                    follows = piece.text.count(b"\n") == piece.lines
                    expected = (piece.source, piece.line + piece.lines) if follows else None
        except OSError as error:
            raise from_os_error(error) from error

    def names(self) -> list[str]:
        """Name the sources."""
        return self._names

    def size(self) -> int | None:
        """Return how many bytes of text there are."""
        return sum(size for _, _, size in self._runs)

    def pieces(self) -> Iterator[Piece]:
        """Read the documents."""
        with self._file.open("rb") as file:
            for source, line, left in self._runs:
                while left and (data := file.read(min(left, CHUNK_BYTES))):
                    lines = data.count(b"\n")
                    yield Piece(data, source, line, lines)
                    left, line = left - len(data), line + lines


@contextmanager
def readable_again(corpus: Corpus) -> Iterator[Corpus]:
    """Return a corpus as it is where it can be read twice, else a copy, which goes at the end."""
    if not isinstance(corpus, Files) or all(map(can_be_read_again, corpus.files)):
        yield corpus
        return
    with tempfile.TemporaryDirectory(prefix="firthian-") as folder:
        yield Copy(corpus, Path(folder) / "text")
