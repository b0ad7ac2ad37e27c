"""How counts and vectors look in a notebook: a line, the facts, a corner of the matrix. Cheap for any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from firthian.vectors.search import dense_rows

if TYPE_CHECKING:
    from firthian.counts.counts import Counts
    from firthian.vectors.vectors import Vectors

#: How many words and columns are shown, and how many characters of a word.
_ROWS, _COLUMNS, _LENGTH = 8, 6, 24


def vectors_as_html(vectors: Vectors) -> str:
    """Show the first words with the first numbers of their vectors, and where the vectors come from."""
    from firthian.vectors.formats.model_card import provenance

    words = vectors.vocabulary.words[:_ROWS]
    rows = dense_rows(vectors.matrix, np.arange(len(words)))
    counts = vectors.vocabulary.counts[: len(words)]
    counted = bool(np.any(vectors.vocabulary.counts))
    shown = min(_COLUMNS, vectors.vector_size)
    more = ["…"] if vectors.vector_size > shown else []
    lines = [
        [
            _short(word),
            *([f"{count:,}"] if counted else []),
            f"{float(np.linalg.norm(row.astype(np.float64))):.3f}",
            *(f"{value:.3f}" for value in row[:shown]),
            *more,
        ]
        for word, count, row in zip(words, counts.tolist(), rows, strict=True)
    ]
    head = ["word", *(["count"] if counted else []), "length", *(str(i + 1) for i in range(shown)), *more]
    return _page(repr(vectors), head, lines, len(vectors) - len(words), provenance(vectors))


def counts_as_html(counts: Counts) -> str:
    """Show how often the most frequent words occur near each other, and how they were counted."""
    words = counts.vocabulary.words[:_ROWS]
    lines = [
        [_short(word), f"{count:,}", *(f"{counts[word, other]:,.4g}" for other in words)]
        for word, count in zip(words, counts.vocabulary.counts[: len(words)].tolist(), strict=True)
    ]
    said = {name: str(value) for name, value in counts.options.as_dict().items() if name != "dtype"}
    corpus = counts.record.get("corpus", {})
    facts = [(name, f"{corpus[name]:,}") for name in ("documents", "tokens", "types") if name in corpus]
    head = ["word", "count", *map(_short, words)]
    return _page(repr(counts), head, lines, len(counts.vocabulary) - len(words), [*facts, *said.items()])


def _page(
    title: str,
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    left_out: int,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Put together what a notebook shows; every text is escaped, for words come from anywhere."""
    columns = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(line[0])}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in line[1:])
        + "</tr>\n"
        for line in lines
    )
    rest = f"<p>… and {left_out:,} more words</p>\n" if left_out else ""
    about = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>\n"
        for name, value in facts
    )
    details = f"<details><summary>where it comes from</summary><table>{about}</table></details>\n" if about else ""
    return (
        f"<div><p><b>{escape(title.strip('<>'))}</b></p>\n"
        f"<table><thead><tr>{columns}</tr></thead>\n<tbody>{body}</tbody></table>\n{rest}{details}</div>"
    )


def _short(word: str) -> str:
    """Cut a long word, and show characters that cannot be seen as a dot."""
    shown = "".join(character if character.isprintable() else "·" for character in word[: _LENGTH + 1])
    return shown if len(word) <= _LENGTH else shown[:_LENGTH] + "…"
