"""Self-contained HTML pages and tables, in which every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

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
