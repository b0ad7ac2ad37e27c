"""Self-contained HTML pages, and tables for pages and notebooks, in which every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

#: The number of words that a notebook shows, and of characters of a word.
ROWS, _LENGTH = 8, 24

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }}
table {{ border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto; }}
caption {{ font-weight: bold; text-align: left; }}
th, td {{ border-bottom: 1px solid #8886; padding: .2em .8em; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
{style}</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def html_table(caption: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; every text is escaped."""
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    title = html.escape(caption)
    return f"<table><caption>{title}</caption><thead><tr>{cells}</tr></thead>\n<tbody>{body}</tbody></table>"


def notebook_table(
    title: str,
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    left_out: int,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Return a table for a notebook; every text is escaped, since words come from anywhere."""
    columns = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(line[0])}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
        + "</tr>\n"
        for line in lines
    )
    rest = f"<p>… and {left_out:,} more words</p>\n" if left_out else ""
    about = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(value)}</td></tr>\n"
        for name, value in facts
    )
    details = f"<details><summary>provenance</summary><table>{about}</table></details>\n" if about else ""
    return (
        f"<div><p><b>{html.escape(title.strip('<>'))}</b></p>\n"
        f"<table><thead><tr>{columns}</tr></thead>\n<tbody>{body}</tbody></table>\n{rest}{details}</div>"
    )


def shortened(word: str) -> str:
    """Shorten a long word, and show invisible characters as a dot."""
    shown = "".join(character if character.isprintable() else "·" for character in word[: _LENGTH + 1])
    return shown if len(word) <= _LENGTH else shown[:_LENGTH] + "…"


def html_page(title: str, body: str, style: str = "") -> str:
    """Return a self-contained HTML page."""
    return _PAGE.format(title=html.escape(title), body=body, style=style)


def show_p(value: float | None) -> str:
    """Format a p-value.

    >>> show_p(0.0312), show_p(1e-9), show_p(None)
    ('0.031', '<0.001', '–')
    """
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
