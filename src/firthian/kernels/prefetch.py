"""Ask the processor to fetch memory that will be needed soon.

The inverted index jumps to random places of a long stream; without this, most of the time goes into waiting for memory.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Fetch ``array[place]`` into the cache; a hint that changes no value. ``place`` must not be negative."""
    if not (isinstance(array, types.Array) and isinstance(place, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, _ = signature.args
        view = context.make_array(array_type)(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(context, builder, array_type, view, [arguments[1]], wraparound=False)
        void_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [void_pointer, word, word, word]),
            "llvm.prefetch.p0",
        )
        read, keep_close, data = 0, 3, 1
        builder.call(function, [builder.bitcast(pointer, void_pointer), word(read), word(keep_close), word(data)])
        return context.get_dummy_value()

    return types.void(array, place), generate


#: Single-precision numbers in a line of the cache.
LINE = 16


@njit(cache=True, nogil=True, inline="always")
def fetch_row(flat: Any, row: int, width: int) -> None:
    """Fetch row number ``row`` of a matrix of single-precision numbers, given as ``flat`` with rows of ``width``."""
    for k in range(0, width, LINE):
        prefetch(flat, row * width + k)
