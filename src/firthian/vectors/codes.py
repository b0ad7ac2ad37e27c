"""A matrix whose rows are stored as codes, and decoded where they are needed.

Row i is ``lengths[i]`` times a decoded direction. There are two kinds of codes:

* *rounded*: dimension j is ``(number - middle) * steps[j]``, with a number of 4 to 8 bits. A row of b bytes for d dimensions
  has a byte for each of the first w dimensions, half a byte for each other (byte ``w + k`` holds dimension ``w + k`` in its
  lower half, ``w + h + k`` in its upper half, h = (d - w)/2), and e bytes of further bits, b = w + h + e. Bit t belongs to
  dimension ``bits[t]``, whose number it doubles;
* *product* (Jégou, Douze and Schmid 2011): dimension j belongs to group ``groups[j]``, which has one byte, and is
  ``books[byte, j]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from firthian.arrays import Array

#: Rows that are decoded together, and their numbers.
_BLOCK, _BLOCK_NUMBERS = 8192, 1 << 24

#: Sets ``out`` to the products of a query with the rows of a slice.
Scorer = Callable[[slice, Array], None]


class Layout:
    """Where the dimensions of rounded rows are in their bytes."""

    def __init__(self, dimension: int, width: int, bits: Array) -> None:
        self.dimension, self.width, self.bits = dimension, width, bits
        extra = bits.size // 8
        #: Bytes before the further bits, dimensions with a byte of their own, and pairs of half bytes.
        self.summed, self.wide = width - extra, 2 * (width - extra) - dimension
        self.pairs = (dimension - self.wide) // 2
        if bits.size % 8 or not 0 <= self.wide <= dimension or (bits.size and int(bits.max()) >= dimension):
            raise ValueError("the bits of rounded rows do not fit their dimensions")
        further = np.bincount(bits, minlength=dimension)
        if further[: self.wide].any() or further.max(initial=0) > 4:
            raise ValueError("a dimension has too many bits")
        #: What the half byte of a dimension is multiplied by, and the middle of its numbers.
        self.units = np.exp2(further).astype(np.float32)
        self.middles = (np.where(np.arange(dimension) < self.wide, 256, 16 * self.units) - 1).astype(np.float32) / 2

    @cached_property
    def values(self) -> Array:
        """What each further bit is worth; the first bit of a dimension is worth most."""
        values, left = np.empty(self.bits.size, np.float32), self.units.copy()
        for place, dimension in enumerate(self.bits):
            left[dimension] /= 2
            values[place] = left[dimension]
        return values

    def unpack(self, codes: Array) -> Array:
        """Return the numbers of rows."""
        numbers = np.empty((len(codes), self.dimension), np.float32)
        numbers[:, : self.wide] = codes[:, : self.wide]
        halves = codes[:, self.wide : self.summed]
        numbers[:, self.wide : self.summed] = halves & 15
        numbers[:, self.summed :] = halves >> 4
        numbers *= self.units
        if self.bits.size:
            order = np.argsort(self.bits, kind="stable")
            dimensions, starts = np.unique(self.bits[order], return_index=True)
            further = np.unpackbits(codes[:, self.summed :], axis=1)[:, order] * self.values[order]
            # Whole numbers: any order of addition gives the same.
            numbers[:, dimensions] += np.add.reduceat(further, starts, axis=1)
        return numbers

    def pack(self, numbers: Array, codes: Array) -> None:
        """Write the bytes of whole numbers, the inverse of ``unpack``."""
        halves = (numbers // self.units).astype(np.uint8)
        codes[:, : self.wide] = halves[:, : self.wide]
        codes[:, self.wide : self.summed] = halves[:, self.wide : self.summed] | (halves[:, self.summed :] << 4)
        if self.bits.size:
            further = numbers[:, self.bits].astype(np.uint8) & self.values.astype(np.uint8)
            codes[:, self.summed :] = np.packbits(further > 0, axis=1)

    def tables(self, factors: Array) -> Array:
        """Return the sums of all 256 bytes of further bits, given what a unit of each dimension counts."""
        masks = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
        worth = (factors[self.bits] * self.values).reshape(-1, 8)
        sums: Array = np.einsum("vb,tb->tv", masks, worth).astype(np.float32)
        return sums.reshape(-1)


@dataclass(frozen=True, eq=False)
class Codes:
    """Rows as codes; indexing decodes them.

    >>> codes = Codes(np.array([[255, 0]], np.uint8), np.ones(1, np.float16), steps=np.ones(2, np.float32))
    >>> codes[0], codes.shape
    (array([ 127.5, -127.5], dtype=float32), (1, 2))
    """

    codes: Array
    lengths: Array
    steps: Array | None = None
    bits: Array | None = None
    books: Array | None = None
    groups: Array | None = None
    #: What ``lengths`` are multiplied by; float16 has few exponents.
    scale: float = 1.0

    def __post_init__(self) -> None:
        rows, width = self.codes.shape if self.codes.ndim == 2 else (-1, 0)
        fits = self.codes.dtype == np.uint8 and self.lengths.dtype == np.float16 and self.lengths.shape == (rows,)
        if self.steps is not None:
            fits &= self.books is None and self.groups is None and self.steps.dtype == np.float32
            fits &= self.steps.ndim == 1 and (
                self.bits is None or (self.bits.dtype.name, self.bits.ndim) == ("uint16", 1)
            )
        elif self.books is not None and self.groups is not None:
            fits &= self.bits is None and self.books.dtype == np.float32 and self.groups.dtype == np.uint16
            fits &= self.groups.ndim == 1 and self.books.shape == (256, self.groups.size)
            fits = fits and bool((self.groups < width).all())
        else:
            fits = False
        if not fits:
            raise ValueError("the parts of coded rows do not fit each other")
        numbers = [array for array in (self.lengths, self.steps, self.books) if array is not None]
        if not abs(self.scale) <= _LARGEST_SCALE or not all(np.isfinite(array).all() for array in numbers):
            raise ValueError("coded rows hold numbers that are not finite")
        if self.steps is not None:
            self.layout  # noqa: B018 (raises if the bits do not fit)

    @cached_property
    def layout(self) -> Layout:
        """Where the dimensions of rounded rows are."""
        bits = np.empty(0, np.uint16) if self.bits is None else self.bits
        return Layout(self.shape[1], int(self.codes.shape[1]), bits)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of dimensions."""
        columns = self.steps if self.steps is not None else self.groups
        assert columns is not None
        return len(self.codes), columns.size

    @property
    def method(self) -> str:
        """``rounded`` or ``product``."""
        return "rounded" if self.steps is not None else "product"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of decoded rows."""
        return np.dtype(np.float32)

    ndim = 2

    @property
    def nbytes(self) -> int:
        """The size of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def row_bytes(self) -> int:
        """The size of one row."""
        return int(self.codes.shape[1]) + self.lengths.itemsize

    @cached_property
    def multipliers(self) -> Array:
        """The length of each row, in single precision."""
        return self.lengths.astype(np.float32) * np.float32(self.scale)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Array:
        chosen = self.codes[rows]
        codes = np.ascontiguousarray(chosen.reshape(-1, self.codes.shape[1]))
        out = np.empty((len(codes), self.shape[1]), np.float32)
        step = max(1, min(_BLOCK, _BLOCK_NUMBERS // max(1, self.shape[1])))
        for first in range(0, len(codes), step):
            self._decode(codes[first : first + step], out[first : first + step])
        out *= self.multipliers[rows].reshape(-1, 1)
        return out.reshape(*chosen.shape[:-1], -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:] if dtype is None else self[:].astype(dtype)

    def toarray(self) -> Array:
        """Return all rows, decoded."""
        return self[:]

    def take(self, rows: Array) -> Self:
        """Return the chosen rows, still coded."""
        return replace(self, codes=self.codes[rows], lengths=self.lengths[rows])

    def scorer(self, query: Array) -> Scorer:
        """Return a function that multiplies a query with rows without decoding them."""
        from firthian.kernels.codes import rounded_products, table_products

        if self.steps is not None:
            layout, factors = self.layout, query * self.steps
            offset = float(factors.astype(np.float64) @ layout.middles)
            tables = layout.tables(factors)
            factors *= layout.units
            high = factors[layout.summed :] - 16 * factors[layout.wide : layout.summed]
            low = factors[: layout.summed].copy()
            return lambda rows, out: rounded_products(
                self.codes[rows], low, high, tables, offset, self.multipliers[rows], out
            )
        assert self.books is not None
        assert self.groups is not None
        sums = np.zeros((self.codes.shape[1], 256), np.float32)
        np.add.at(sums, self.groups, (self.books * query).T)
        flat = sums.reshape(-1)
        return lambda rows, out: table_products(self.codes[rows], flat, self.multipliers[rows], out)

    def _decode(self, codes: Array, out: Array) -> None:
        """Write the directions of coded rows."""
        if self.steps is not None:
            np.subtract(self.layout.unpack(codes), self.layout.middles, out=out)
            out *= self.steps
        else:
            from firthian.kernels.codes import decode_products

            decode_products(codes, self.books, self.groups, out)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name."""
        named = {name: getattr(self, name) for name in _ARRAYS}
        return {name: array for name, array in named.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], scale: Any, shape: tuple[int, int]) -> Self:
        """Take what a file holds; raise ValueError if it cannot be rows of that shape."""
        if not {"codes", "lengths"} <= set(arrays) <= set(_ARRAYS) or not isinstance(scale, int | float):
            raise ValueError("these are not the parts of coded rows")
        codes = cls(**arrays, scale=float(scale))
        if codes.shape != shape:
            raise ValueError("coded rows have another shape")
        return codes


#: Times the largest half-precision number, still a single-precision one.
_LARGEST_SCALE = 1e30
_ARRAYS = ("codes", "lengths", "steps", "bits", "books", "groups")
