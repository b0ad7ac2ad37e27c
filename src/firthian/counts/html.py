"""How counts look in a notebook: a line, the facts, a corner of the matrix. Cheap for any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firthian.counts.counts import Counts

#: The number of words shown, and of characters of a word.
ROWS, _LENGTH = 8, 24


def counts_as_html(counts: Counts) -> str:
    """Show how often the most frequent words occur near each other, and how they were counted."""
    words = counts.vocabulary.words[:ROWS]
    lines = [
        [shortened(word), f"{count:,}", *(f"{counts[word, other]:,.4g}" for other in words)]
        for word, count in zip(words, counts.vocabulary.counts[: len(words)].tolist(), strict=True)
    ]
    settings = {name: str(value) for name, value in counts.options.as_dict().items() if name != "dtype"}
    corpus = counts.record.get("corpus", {})
    facts = [(name, f"{corpus[name]:,}") for name in ("documents", "tokens", "types") if name in corpus]
    head = ["word", "count", *map(shortened, words)]
    return notebook_table(repr(counts), head, lines, len(counts.vocabulary) - len(words), [*facts, *settings.items()])


def notebook_table(
    title: str,
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    left_out: int,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Return a table for a notebook; every text is escaped, since words come from anywhere."""
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


def shortened(word: str) -> str:
    """Shorten a long word, and show invisible characters as a dot."""
    shown = "".join(character if character.isprintable() else "·" for character in word[: _LENGTH + 1])
    return shown if len(word) <= _LENGTH else shown[:_LENGTH] + "…"
