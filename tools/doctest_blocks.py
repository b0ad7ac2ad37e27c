"""For the reference pages: examples of docstrings become code blocks, since Markdown would read ``>>>`` as quotations."""

from __future__ import annotations

import doctest
from typing import Any

import griffe


def fenced(text: str) -> str:
    """Put every example of a docstring into a block of its own, with what it gives.

    >>> print(fenced("A sum.\\n\\n>>> 1 + 1\\n2\\n\\nThat is all."))
    A sum.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    That is all.
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        begins = line.lstrip().startswith(">>> ")
        if begins and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


class DoctestBlocks(griffe.Extension):
    """Rewrites each docstring as it is collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring and doctest.DocTestParser().get_examples(obj.docstring.value):
            obj.docstring.value = fenced(obj.docstring.value)
