"""Files of vectors: one table of formats. Reading looks at the content of a file, not at its name."""

from __future__ import annotations

from firthian.vectors.formats.registry import (
    FORMATS,
    find_format,
    format_for,
    load,
    open_vectors,
    read_vectors,
    refuse_counts,
    sniff,
    write_vectors,
)

__all__ = [
    "FORMATS",
    "find_format",
    "format_for",
    "load",
    "open_vectors",
    "read_vectors",
    "refuse_counts",
    "sniff",
    "write_vectors",
]
