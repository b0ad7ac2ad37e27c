"""Corpora, vectors and evaluation sets by name: a registry with checksums, licences and sizes."""

from __future__ import annotations

from firthian.datasets.registry import locate

__all__ = ["locate"]
