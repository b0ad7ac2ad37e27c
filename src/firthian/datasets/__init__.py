"""Corpora, vectors and evaluation sets by name: a registry with checksums, licenses and sizes.

``locate("men")`` returns a file, fetched if necessary. No data is part of the project.
"""

from __future__ import annotations

from firthian.datasets.registry import Dataset, dataset_names, find_dataset
from firthian.datasets.sources import data_folder
from firthian.datasets.store import locate, status, verify

__all__ = ["Dataset", "data_folder", "dataset_names", "find_dataset", "locate", "status", "verify"]
