"""Files of vectors: one module a format, one table of them all. Reading looks at the bytes, not at the name."""

from __future__ import annotations

from firthian.vectors.formats.registry import FORMATS, find_format, format_for, read_vectors, sniff, write_vectors

__all__ = ["FORMATS", "find_format", "format_for", "read_vectors", "sniff", "write_vectors"]
