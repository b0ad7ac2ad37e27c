"""Text bytes -> ids of word types, through an open-addressing hash table that lives in plain arrays.

A table is five arrays: ``slots`` (type id or -1, a power of two of them), ``hashes``, ``starts`` (where a type's
bytes begin in ``pool``; one more than there are types), ``pool`` and ``counts``. ``Words`` are types without slots.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Classes of characters, as bits.
WORD, JOINER, DIGIT, ENDS_DOCUMENT = 1, 2, 4, 8

#: Why ``scan`` stopped: at the end, or for want of room for more types or for their bytes.
DONE, MORE_TYPES, MORE_POOL = 0, 1, 2

#: Indices into ``progress``, the state between calls of ``scan``.
AT_BYTE, N_TOKENS, N_DOCUMENTS, N_TYPES = 0, 1, 2, 3

#: ``(classes, fold, number)``: the class of each code point (those past the end are not words), the byte to store for each
#: byte, and what replaces every word whose characters are all DIGIT, unless it is empty.
Rules = tuple[Array, Array, Array]

#: ``(slots, hashes, starts, pool, counts)``.
Table = tuple[Array, Array, Array, Array, Array]

#: ``(hashes, starts, pool, counts)``.
Words = tuple[Array, Array, Array, Array]

#: Types by id, and the starts and the pool of their table.
Spellings = tuple[Array, Array, Array]

_OFFSET = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _slot_of(hash_: np.uint64, mask: np.uint64) -> np.uint64:
    return ((hash_ * _MIX) >> np.uint64(29)) & mask


@njit(cache=True, nogil=True)
def _find(hash_: np.uint64, text: Array, first: int, last: int, fold: Array, table: Table) -> tuple[int, int]:
    """Return (type id or -1, its slot) of the word ``fold[text[first:last]]``."""
    slots, hashes, starts, pool, _ = table
    mask = np.uint64(slots.size - 1)
    slot = _slot_of(hash_, mask)
    while True:
        type_ = slots[slot]
        if type_ < 0:
            return -1, np.int64(slot)
        if hashes[type_] == hash_ and starts[type_ + 1] - starts[type_] == last - first:
            at = starts[type_]
            same = True
            for k in range(last - first):
                if pool[at + k] != fold[text[first + k]]:
                    same = False
                    break
            if same:
                return type_, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def scan(text: Array, rules: Rules, ids: Array, document_starts: Array, table: Table, progress: Array) -> int:
    """Cut UTF-8 ``text`` into words and write the id of each; stop early when the table is full.

    A word is a run of WORD characters; a JOINER stays inside when a WORD character follows it. ``document_starts[n]``
    becomes the number of tokens before document ``n``; documents end at bytes of class ENDS_DOCUMENT.
    """
    classes, fold, number = rules
    slots, hashes, starts, pool, counts = table
    identity = np.arange(256).astype(np.uint8)
    room = min(hashes.size, slots.size // 2)
    at = progress[AT_BYTE]
    n_tokens = progress[N_TOKENS]
    n_documents = progress[N_DOCUMENTS]
    n_types = progress[N_TYPES]
    size = text.size
    status = DONE
    inside = False
    only_digits = True
    first = at
    last = at
    running = _OFFSET
    hash_ = _OFFSET
    while at <= size:
        class_ = ENDS_DOCUMENT
        step = 1
        if at < size:
            byte = text[at]
            if byte < 128:
                class_ = np.int64(classes[byte])
            else:
                if byte < 0xE0:
                    code = ((byte & 0x1F) << 6) | (text[at + 1] & 0x3F)
                    step = 2
                elif byte < 0xF0:
                    code = ((byte & 0x0F) << 12) | ((text[at + 1] & 0x3F) << 6) | (text[at + 2] & 0x3F)
                    step = 3
                else:
                    code = (
                        ((byte & 0x07) << 18)
                        | ((text[at + 1] & 0x3F) << 12)
                        | ((text[at + 2] & 0x3F) << 6)
                        | (text[at + 3] & 0x3F)
                    )
                    step = 4
                class_ = np.int64(classes[code]) if code < classes.size else 0
        if class_ & WORD:
            if not inside:
                inside = True
                only_digits = True
                first = at
                running = _OFFSET
            for k in range(step):
                running = (running ^ np.uint64(fold[text[at + k]])) * _PRIME
            if not class_ & DIGIT:
                only_digits = False
            at += step
            last = at
            hash_ = running
            continue
        if inside and class_ & JOINER and last == at:
            for k in range(step):
                running = (running ^ np.uint64(fold[text[at + k]])) * _PRIME
            at += step
            continue
        if inside:
            inside = False
            if only_digits and number.size:
                hash_ = _OFFSET
                for k in range(number.size):
                    hash_ = (hash_ ^ np.uint64(number[k])) * _PRIME
                type_, slot = _find(hash_, number, 0, number.size, identity, table)
                length = number.size
            else:
                type_, slot = _find(hash_, text, first, last, fold, table)
                length = last - first
            if type_ < 0:
                if n_types >= room:
                    status = MORE_TYPES
                elif starts[n_types] + length > pool.size:
                    status = MORE_POOL
                if status != DONE:
                    at = first
                    break
                type_ = n_types
                n_types += 1
                slots[slot] = type_
                hashes[type_] = hash_
                counts[type_] = 0
                begin = starts[type_]
                starts[type_ + 1] = begin + length
                for k in range(length):
                    if only_digits and number.size:
                        pool[begin + k] = number[k]
                    else:
                        pool[begin + k] = fold[text[first + k]]
            counts[type_] += 1
            ids[n_tokens] = type_
            n_tokens += 1
        if class_ & ENDS_DOCUMENT and at < size:
            n_documents += 1
            document_starts[n_documents] = n_tokens
        at += step
    progress[AT_BYTE] = at
    progress[N_TOKENS] = n_tokens
    progress[N_DOCUMENTS] = n_documents
    progress[N_TYPES] = n_types
    return status


@njit(cache=True, nogil=True)
def fill_slots(hashes: Array, n_types: int, slots: Array) -> None:
    """Enter the first ``n_types`` types, all different, into empty ``slots``."""
    mask = np.uint64(slots.size - 1)
    for type_ in range(n_types):
        slot = _slot_of(hashes[type_], mask)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = type_


@njit(cache=True, nogil=True)
def hash_words(starts: Array, pool: Array, hashes: Array) -> None:
    """Hash each word ``pool[starts[n]:starts[n + 1]]``."""
    for n in range(starts.size - 1):
        value = _OFFSET
        for k in range(starts[n], starts[n + 1]):
            value = (value ^ np.uint64(pool[k])) * _PRIME
        hashes[n] = value


@njit(cache=True, nogil=True)
def join_words(left: Spellings, right: Spellings, starts: Array, pool: Array) -> None:
    """Spell pairs of words with a space between them; ``starts`` are their offsets."""
    (lefts, left_starts, left_pool), (rights, right_starts, right_pool) = left, right
    for n in range(lefts.size):
        begin, end = left_starts[lefts[n]], left_starts[lefts[n] + 1]
        middle = starts[n] + end - begin
        pool[starts[n] : middle] = left_pool[begin:end]
        pool[middle] = 32
        begin, end = right_starts[rights[n]], right_starts[rights[n] + 1]
        pool[middle + 1 : middle + 1 + end - begin] = right_pool[begin:end]


@njit(cache=True, nogil=True)
def look_up(words: Words, table: Table, ids: Array) -> None:
    """Write for each word its id in the table, or -1."""
    hashes, starts, pool, _ = words
    identity = np.arange(256).astype(np.uint8)
    for n in range(hashes.size):
        ids[n] = _find(hashes[n], pool, starts[n], starts[n + 1], identity, table)[0]


@njit(cache=True, nogil=True)
def add_types(words: Words, part: int, parts: int, first: int, table: Table, n_types: int) -> tuple[int, int]:
    """Add the counts of those words whose hash is in ``part`` of ``parts``; return (words read, types in the table).

    Fewer words are read than there are when the table has no more room.
    """
    hashes, starts, pool, counts = words
    slots, table_hashes, table_starts, table_pool, table_counts = table
    identity = np.arange(256).astype(np.uint8)
    room = min(table_hashes.size, slots.size // 2)
    for n in range(first, hashes.size):
        if (hashes[n] >> np.uint64(48)) % np.uint64(parts) != part:
            continue
        begin, end = starts[n], starts[n + 1]
        type_, slot = _find(hashes[n], pool, begin, end, identity, table)
        if type_ < 0:
            if n_types >= room or table_starts[n_types] + end - begin > table_pool.size:
                return n, n_types
            type_ = n_types
            n_types += 1
            slots[slot] = type_
            table_hashes[type_] = hashes[n]
            table_counts[type_] = 0
            at = table_starts[type_]
            table_starts[type_ + 1] = at + end - begin
            for k in range(end - begin):
                table_pool[at + k] = pool[begin + k]
        table_counts[type_] += counts[n]
    return hashes.size, n_types
