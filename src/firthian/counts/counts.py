"""Counts: a sparse co-occurrence matrix with its vocabulary, totals and provenance."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.arrays import Array, offsets
from firthian.counts.contexts import Context, context_words
from firthian.counts.rows import RowBlock
from firthian.counts.settings import WindowSettings
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import new_folder
from firthian.disk.tensors import TensorWriter, damage, rows_ascend, rows_fit
from firthian.errors import FirthianError
from firthian.runtime.page import ROWS, notebook_table, shortened
from firthian.runtime.table import Listing
from firthian.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import scipy.sparse


COUNTS = ArtifactKind("counts", "counts.json")


@dataclass(eq=False, repr=False)
class Counts:
    """Co-occurrence counts ``X[i, j]`` in compressed rows, opened memory-mapped.

    ``indptr``, ``indices`` and ``values`` are the rows; ``row_sums`` and ``column_sums`` the marginals x_i and x_j;
    ``total`` is x; ``vocabulary`` has the words; ``record`` is the provenance.

    >>> import firthian as ft
    >>> counts = ft.count(["to be or not to be"] * 5, window=2, weighting="flat")
    >>> counts.vocabulary.words
    ['be', 'to', 'not', 'or']
    >>> counts["to", "be"]
    10.0
    """

    indptr: Array
    indices: Array
    values: Array
    vocabulary: Vocabulary
    row_sums: Array
    column_sums: Array
    options: WindowSettings
    record: dict[str, Any]
    #: The places of values that are rounded, and their exact sums.
    exact: tuple[Array, Array]
    path: Path | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Words by words."""
        return len(self.vocabulary), len(self.vocabulary)

    @property
    def pairs(self) -> int:
        """The number of pairs that co-occur."""
        return int(self.indices.size)

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.row_sums.sum())

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __repr__(self) -> str:
        return f"<Counts: {len(self.vocabulary):,} words, {self.pairs:,} pairs, window {self.options.window}>"

    def _repr_html_(self) -> str:
        """Show how often the most frequent words occur near each other, and how they were counted."""
        words = self.vocabulary.words[:ROWS]
        lines = [
            [shortened(word), f"{count:,}", *(f"{self[word, other]:,.4g}" for other in words)]
            for word, count in zip(words, self.vocabulary.counts[: len(words)].tolist(), strict=True)
        ]
        settings = {name: str(value) for name, value in self.options.as_dict().items() if name != "dtype"}
        corpus = self.record.get("corpus", {})
        facts = [(name, f"{corpus[name]:,}") for name in ("documents", "tokens", "types") if name in corpus]
        head = ["word", "count", *map(shortened, words)]
        return notebook_table(repr(self), head, lines, len(self) - len(words), [*facts, *settings.items()])

    def __getitem__(self, pair: tuple[str, str]) -> float:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise FirthianError(f"expected a pair of words, got {pair!r}", hint="write counts[word, context]")
        word, context = (self.vocabulary[item] for item in pair)
        low, high = self.indptr[word], self.indptr[word + 1]
        at = low + int(np.searchsorted(self.indices[low:high], context))
        return float(self.values[at]) if at < high and self.indices[at] == context else 0.0

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return a SciPy matrix that shares these arrays."""
        import scipy.sparse

        return scipy.sparse.csr_array((self.values, self.indices, self.indptr), shape=self.shape)

    def rows_of(self, first: int, last: int) -> Array:
        """Return the row number of each pair of some rows."""
        return np.repeat(np.arange(first, last), np.diff(self.indptr[first : last + 1]))

    def integer_sums(self, low: int, high: int) -> Array:
        """Return the exact integer sums behind ``values[low:high]``."""
        if self.options.sample_mode == "expected" and self.options.sample > 0:
            raise FirthianError(
                "counts sub-sampled by expectation cannot be added up exactly",
                hint="count the corpora together, or with `sample_mode=drop`",
            )
        _, unit = self.options.integer_weights()
        rounded = np.rint(self.values[low:high].astype(np.float64) * unit)
        if not (rounded < 2.0**63).all():
            raise FirthianError("counts contain an impossible number", hint="count the corpus again")
        sums = rounded.astype(np.int64)
        places, exact = self.exact
        a, b = np.searchsorted(places, [low, high])
        sums[places[a:b] - low] = exact[a:b]
        return sums

    def contexts(
        self, word: str, order: str = "pmi", topn: int = 30, min_count: float = 5.0, skip_frequent: int = 0
    ) -> Listing[Context]:
        """Return the contexts of a word, strongest first, by ``pmi``, ``llr``, ``log_odds`` or ``count``.

        Contexts counted less than ``min_count`` times with the word are left out, and the ``skip_frequent`` most frequent
        words of the vocabulary.
        """
        return context_words(self, word, topn, min_count, order, skip_frequent)

    def strongest_pairs(self, topn: int = 20, min_count: float = 20.0) -> list[tuple[str, str, float, float]]:
        """Return the pairs with the highest PMI among those seen often: (word, context, count, PMI)."""
        strongest: list[tuple[float, int, int, float]] = []
        step = 4096
        for first in range(0, len(self.vocabulary), step):
            last = min(first + step, len(self.vocabulary))
            low, high = int(self.indptr[first]), int(self.indptr[last])
            value = self.values[low:high].astype(np.float64)
            row, column = self.rows_of(first, last), np.asarray(self.indices[low:high])
            chosen = value >= min_count
            if self.options.context == "both":
                chosen &= row < column
            value, row, column = value[chosen], row[chosen], column[chosen]
            # Impossible marginals of a damaged file may overflow, but must not raise here.
            with np.errstate(all="ignore"):
                pmi = np.log(value * self.total / (self.row_sums[row] * self.column_sums[column]))
            best = np.argsort(-pmi, kind="stable")[:topn]
            strongest += zip(pmi[best], row[best], column[best], value[best], strict=True)
        strongest.sort(key=lambda item: (-item[0], item[1], item[2]))
        words = self.vocabulary.words
        return [(words[i], words[j], float(count), float(pmi)) for pmi, i, j, count in strongest[:topn]]

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the counts to another folder."""
        if self.path is None:
            raise FirthianError("these counts have no folder", hint="count them again")
        with new_folder(path, force) as folder:
            for item in sorted(self.path.iterdir()):
                shutil.copyfile(item, folder / item.name)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = True) -> Counts:
        """Open counts memory-mapped; ``verify=False`` trusts the files and skips their checksums."""
        folder = Path(path)
        if not folder.is_dir():
            raise FirthianError(
                f"{folder} is not a folder of counts", hint="make one with: firth count CORPUS -o COUNTS"
            )
        artifact = COUNTS.read(folder, verify)
        record, arrays = artifact.record, artifact.arrays
        damaged = damage(folder / COUNTS.manifest)
        try:
            vocabulary = Vocabulary.load(folder, record["words"], arrays["word_counts"])
            options = WindowSettings(**record["options"])
            rows = {name: arrays[name] for name in ("indptr", "indices", "values", "row_sums", "column_sums")}
            exact = (arrays["exact_places"], arrays["exact_sums"])
            counts = cls(
                **rows, vocabulary=vocabulary, options=options, record=dict(record["record"]), exact=exact, path=folder
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged from error
        if verify and not counts._is_consistent():
            raise damaged
        return counts

    def _is_consistent(self) -> bool:
        """Return whether the arrays fit each other and the vocabulary, which later stages rely on."""
        words, (places, sums) = len(self.vocabulary), self.exact
        named = {"<i8": (self.indptr, places, sums), "<i4": (self.indices,), "<f8": (self.row_sums, self.column_sums)}
        return (
            all(array.dtype.str == dtype for dtype, arrays in named.items() for array in arrays)
            and self.values.dtype == np.dtype(self.options.dtype)
            and self.values.shape == self.indices.shape
            and self.row_sums.shape == self.column_sums.shape == (words,)
            and rows_fit(self.indptr, self.indices, words, words)
            and rows_ascend(self.indptr, self.indices)
            and places.shape == sums.shape
            and places.ndim == 1
            and bool(np.all(places[1:] > places[:-1]))
            and (places.size == 0 or (places[0] >= 0 and places[-1] < self.pairs))
            and all(_are_counts(array) for array in (self.values, self.row_sums, self.column_sums, sums))
        )

    @classmethod
    def temporary(cls, write: Callable[[Path], None]) -> Counts:
        """Open the counts that ``write`` puts into a temporary folder, which is removed with the object."""
        place = Path(tempfile.mkdtemp(prefix="firthian-"))
        try:
            write(place / "counts")
            counts = cls.load(place / "counts", verify=False)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        weakref.finalize(counts, shutil.rmtree, place, ignore_errors=True)
        return counts


def _are_counts(array: Array) -> bool:
    """Return whether all numbers are finite and not negative; NaN fails every comparison."""
    return array.size == 0 or bool(array.min() >= 0 and array.max() < np.inf)


def write_counts(
    folder: Path, blocks: Iterable[RowBlock], vocabulary: Vocabulary, options: WindowSettings, record: dict[str, Any]
) -> None:
    """Write blocks of rows, in order, as a store of counts."""
    from firthian.kernels import windows as kernel

    _, unit = options.integer_weights()
    words = len(vocabulary)
    expected = options.sample_mode == "expected" and options.sample > 0
    keep = options.keep_probabilities(vocabulary.counts) if expected else np.empty(0)
    # Integer totals are exact; totals of expectations are sums of reals, row after row.
    symmetric = options.context == "both"
    column_totals = np.zeros(0 if symmetric else words, dtype=np.float64 if expected else np.int64)
    row_sums = np.zeros(words)
    sizes = np.zeros(words, dtype=np.int64)
    row = at = 0
    value_type = "<f4" if options.dtype == "float32" else "<f8"
    with (
        TensorWriter(folder, "indices", "<i4") as indices,
        TensorWriter(folder, "values", value_type) as values,
        TensorWriter(folder, "exact_places", "<i8") as places,
        TensorWriter(folder, "exact_sums", "<i8") as exact,
    ):
        for block in blocks:
            last = row + block.sizes.size
            stored = np.empty(block.sums.size, dtype=value_type)
            inexact = np.empty(block.sums.size, dtype=np.int64)
            totals = row_sums[row:last], column_totals
            rows = block.sizes, block.columns, block.sums
            used = kernel.finish_rows(row, rows, float(unit), keep, stored, totals, inexact)
            indices.append(block.columns)
            values.append(stored)
            sizes[row:last] = block.sizes
            places.append(inexact[:used] + at)
            exact.append(block.sums[inexact[:used]])
            row, at = last, at + block.sums.size
        files = {writer.path.name: writer.close() for writer in (indices, values, places, exact)}
    arrays = {
        "indptr": offsets(sizes),
        "row_sums": row_sums,
        "column_sums": row_sums if symmetric else column_totals / (1 if expected else unit),
        "word_counts": vocabulary.counts,
    }
    body = {"options": options.as_dict(), "record": record, "words": vocabulary.save(folder)}
    COUNTS.write(folder, body, arrays, files)
