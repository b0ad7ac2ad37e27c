"""One segment of an index: some documents, their coded vectors, and the postings of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firthian.arrays import Array, offsets
from firthian.disk.tensors import rows_fit
from firthian.runtime.run import Run
from firthian.text.segments import tokenize_text
from firthian.text.types import TypeTable
from firthian.texts.encoder import Encoder
from firthian.vectors.codes import Codes
from firthian.vectors.compress import encode_rows
from firthian.vectors.documents import tokenizer_of
from firthian.vectors.rows import scale_to_unit

#: Texts that are tokenized together.
_BLOCK = 8192

_OWN = ("text", "places", "lengths", "terms", "term_places", "indptr", "documents", "times")
_CODES = ("codes", "steps", "code_lengths")
ARRAYS = (*_OWN, *_CODES)


class Segment:
    """Documents of an index; opening one checks that its parts fit each other."""

    def __init__(self, arrays: Mapping[str, Array], dimension: int) -> None:
        if set(arrays) != set(ARRAYS):
            raise ValueError("these are not the parts of a segment")
        self.text, self.places, self.lengths = arrays["text"], arrays["places"], arrays["lengths"]
        self.terms, self.term_places = arrays["terms"], arrays["term_places"]
        self.indptr, self.documents, self.times = arrays["indptr"], arrays["documents"], arrays["times"]
        types = ("uint8", "int64", "int32", "uint8", "int64", "int64", "int32", "uint8")
        number, terms = self.places.size - 1, self.term_places.size - 1
        if (
            any(
                (arrays[name].dtype.name, arrays[name].ndim) != (kind, 1)
                for name, kind in zip(_OWN, types, strict=True)
            )
            or not _ascending(self.places, self.text.size)
            or not _ascending(self.term_places, self.terms.size)
            or self.lengths.size != number
            or self.times.shape != self.documents.shape
            or (number and int(self.lengths.min()) < 0)
            or not rows_fit(self.indptr, self.documents, terms, number)
        ):
            raise ValueError("the parts of a segment do not fit each other")
        self.codes = Codes.from_arrays(
            {"codes": arrays["codes"], "steps": arrays["steps"], "lengths": arrays["code_lengths"]},
            1.0,
            (number, dimension),
        )

    def __len__(self) -> int:
        return int(self.places.size - 1)

    def document(self, number: int) -> str:
        """Return the text of a document."""
        return self.text[self.places[number] : self.places[number + 1]].tobytes().decode("utf-8", "replace")

    def term(self, number: int) -> bytes:
        """Return a term; terms are sorted by their bytes."""
        return self.terms[self.term_places[number] : self.term_places[number + 1]].tobytes()

    def find(self, term: str) -> slice:
        """Return where the postings of a term are; empty if there are none."""
        wanted = term.encode("utf-8", "surrogatepass")
        low, high = 0, self.term_places.size - 1
        while low < high:
            middle = (low + high) // 2
            if self.term(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        if low == self.term_places.size - 1 or self.term(low) != wanted:
            return slice(0, 0)
        return slice(int(self.indptr[low]), int(self.indptr[low + 1]))


def _ascending(places: Array, end: int) -> bool:
    """Return whether these are offsets of parts that fill ``end`` items."""
    return places.size > 0 and places[0] == 0 and places[-1] == end and bool((places[1:] >= places[:-1]).all())


def build_segment(texts: Sequence[str], encoder: Encoder, run: Run) -> dict[str, Array]:
    """Return the arrays of a segment of these texts."""
    from firthian.kernels.postings import fill_postings, posting_sizes

    rows = scale_to_unit(encoder.encode(texts))
    codes = encode_rows(lambda chosen: rows[chosen], np.ones(len(rows)), rows.shape[1], "rounded", run)
    # Rows have length 1, or 0 without a known word.
    lengths = (codes.lengths.astype(np.float32) * np.float32(codes.scale)).astype(np.float16)
    table, tokenizer = TypeTable(), tokenizer_of(encoder.vectors)
    ids, sizes = [], []
    for first in range(0, len(texts), _BLOCK):
        some = [text.replace("\n", " ") for text in texts[first : first + _BLOCK]]
        tokens = tokenize_text(("\n".join(some) + "\n").encode("utf-8", "surrogatepass"), tokenizer)
        table.add(tokens)
        ids.append(table.look_up(tokens)[tokens.ids])
        sizes.append(np.diff(np.append(tokens.document_starts, tokens.ids.size)))
    spelled = [table.pool[table.starts[n] : table.starts[n + 1]].tobytes() for n in range(table.size)]
    order = sorted(range(table.size), key=spelled.__getitem__)
    rank = np.empty(table.size, np.int32)
    rank[order] = np.arange(table.size, dtype=np.int32)
    terms, starts = rank[np.concatenate(ids)], offsets(np.concatenate(sizes))
    sizes_of_terms = np.zeros(table.size, np.int64)
    posting_sizes(terms, starts, sizes_of_terms)
    indptr = offsets(sizes_of_terms)
    documents, times = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.uint8)
    fill_postings(terms, starts, indptr, documents, times)
    coded = [text.encode("utf-8", "replace") for text in texts]
    assert codes.steps is not None
    return {
        "text": np.frombuffer(b"".join(coded), np.uint8),
        "places": offsets([len(text) for text in coded]),
        "lengths": np.diff(starts).astype(np.int32),
        "terms": np.frombuffer(b"".join(spelled[n] for n in order), np.uint8),
        "term_places": offsets([len(spelled[n]) for n in order]),
        "indptr": indptr,
        "documents": documents,
        "times": times,
        "codes": codes.codes,
        "steps": codes.steps,
        "code_lengths": lengths,
    }


def named(arrays: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the arrays of a segment under the names they have in the whole index."""
    return {f"{number}.{name}": array for name, array in arrays.items()}
