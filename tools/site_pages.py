"""Pages of the site that are files of the repository outside of docs/; links into docs/ begin elsewhere there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: A page of the site -> the file it shows, and what that file writes before the name of another page.
SHOWN = {"benchmarks.md": ("benchmarks/README.md", "../docs/"), "changelog.md": ("CHANGELOG.md", "docs/")}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str | None:
    """Return the text of such a page, called by mkdocs for each page; None leaves it as it is."""
    if page.file.src_uri not in SHOWN:
        return None
    name, before = SHOWN[page.file.src_uri]
    return (ROOT / name).read_text(encoding="utf-8").replace(f"]({before}", "](")
