"""Parse lines of a word and its numbers into float32 rows, and word2vec's binary entries.

Numbers are rounded as ``numpy.float32(text)`` does: to double precision, then to single. The few that double arithmetic cannot
decide are left as NaN for the caller to parse in Python.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Status of a number: parsed, left to the caller, not a number, or not finite.
READ, HARD, MALFORMED, NOT_FINITE = 0, 1, 2, 3

#: Status of a line, besides the above: too few fields.
SHORT = 4

#: Places in ``progress``: rows, bytes of words, numbers left to the caller, lines, and blank lines among them.
ROWS, WORD_BYTES, HARD_NUMBERS, LINES, BLANK = 0, 1, 2, 3, 4

_POWERS = np.array([float(f"1e{k}") for k in range(65)])
#: Powers of ten up to here, and integers up to 2^53, are exact in double precision.
_EXACT_POWER = 22
_EXACT_INTEGER = np.uint64(2**53)
#: Bounds the relative error of a product of a rounded integer and a rounded power, and of digits past the 19th.
_MARGIN = 2.0**-50
_TEN, _ZERO = np.uint64(10), np.uint64(0)

_SPACE, _TAB, _RETURN, _NEWLINE = 32, 9, 13, 10
_PLUS, _MINUS, _POINT, _DIGIT = 43, 45, 46, 48


@njit(cache=True, nogil=True)
def parse_number(text: Array, first: int, last: int) -> tuple[np.float32, int]:
    """Parse ``text[first:last]`` as a number; return it and its status."""
    at = first
    negative = False
    if at < last and (text[at] == _MINUS or text[at] == _PLUS):
        negative = text[at] == _MINUS
        at += 1
    mantissa = _ZERO
    exponent = 0
    kept = 0
    digits = 0
    whole = True
    point = False
    while at < last:
        byte = text[at]
        if _DIGIT <= byte <= _DIGIT + 9:
            digits += 1
            if kept < 19:
                mantissa = mantissa * _TEN + np.uint64(byte - _DIGIT)
                if mantissa != _ZERO:
                    kept += 1
                if point:
                    exponent -= 1
            else:
                if byte != _DIGIT:
                    whole = False
                if not point:
                    exponent += 1
        elif byte == _POINT and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return np.float32(np.nan), NOT_FINITE if _names_no_number(text, at, last) else MALFORMED
    if at < last and (text[at] | 32) == 101:  # e or E
        at += 1
        down = False
        if at < last and (text[at] == _MINUS or text[at] == _PLUS):
            down = text[at] == _MINUS
            at += 1
        if at == last:
            return np.float32(np.nan), MALFORMED
        power = 0
        while at < last and _DIGIT <= text[at] <= _DIGIT + 9:
            power = min(power * 10 + (text[at] - _DIGIT), 1_000_000)
            at += 1
        exponent += -power if down else power
    if at != last:
        return np.float32(np.nan), MALFORMED
    if mantissa == _ZERO:
        return np.float32(-0.0 if negative else 0.0), READ
    if abs(exponent) >= _POWERS.size:
        return np.float32(np.nan), HARD
    value = np.float64(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    exact = whole and mantissa <= _EXACT_INTEGER and abs(exponent) <= _EXACT_POWER
    # Otherwise the correctly rounded double lies between these two; if both round to one single, that is the answer.
    if not exact and np.float32(value * (1 - _MARGIN)) != np.float32(value * (1 + _MARGIN)):
        return np.float32(np.nan), HARD
    single = np.float32(-value if negative else value)
    if not np.isfinite(single):
        return single, NOT_FINITE
    return single, READ


@njit(cache=True, nogil=True)
def _names_no_number(text: Array, first: int, last: int) -> bool:
    """Return whether a field is nan, inf or infinity."""
    if last - first != 3 and last - first != 8:
        return False
    a, b, c = text[first] | 32, text[first + 1] | 32, text[first + 2] | 32
    return (a == 110 and b == 97 and c == 110 and last - first == 3) or (a == 105 and b == 110 and c == 102)


@njit(cache=True, nogil=True)
def parse_lines(text: Array, values: Array, words: Array, starts: Array, lines: Array, progress: Array) -> int:
    """Parse whole lines: the last fields are the numbers, everything before them is the word, including spaces.

    ``words`` receives the words, each followed by a line feed; ``starts`` and ``lines`` receive the offset and number of
    each row's line. Return the status of the line after ``progress[LINES]`` lines, or READ at the end of the text.
    """
    columns = values.shape[1]
    at = 0
    while at < text.size:
        begin = at
        while at < text.size and text[at] != _NEWLINE:
            at += 1
        end = at
        at += 1
        while end > begin and (text[end - 1] == _SPACE or text[end - 1] == _TAB or text[end - 1] == _RETURN):
            end -= 1
        if end == begin:
            progress[BLANK] += 1
            progress[LINES] += 1
            continue
        row = progress[ROWS]
        if row >= values.shape[0]:
            return SHORT
        for column in range(columns - 1, -1, -1):
            first = end
            while first > begin and text[first - 1] != _SPACE and text[first - 1] != _TAB:
                first -= 1
            if first in (begin, end):
                return SHORT
            number, status = parse_number(text, first, end)
            if status == HARD:
                progress[HARD_NUMBERS] += 1
            elif status != READ:
                return status
            values[row, column] = number
            end = first
            while end > begin and (text[end - 1] == _SPACE or text[end - 1] == _TAB):
                end -= 1
        used = progress[WORD_BYTES]
        for place in range(begin, end):
            words[used] = text[place]
            used += 1
        words[used] = _NEWLINE
        progress[WORD_BYTES] = used + 1
        starts[row] = begin
        lines[row] = progress[LINES]
        progress[ROWS] = row + 1
        progress[LINES] += 1
    return READ


@njit(cache=True, nogil=True)
def parse_entries(data: Array, rows: int, columns: int, values: Array, words: Array, ends: Array) -> tuple[int, int]:
    """Parse at most ``rows`` whole entries, each a word, a space and raw floats; return their number and bytes.

    ``values`` receives bytes, four per number; ``words`` the concatenated words, ``ends`` where each ends. A line feed before
    a word belongs to the previous entry.
    """
    width = 4 * columns
    at = used = row = 0
    while row < rows:
        first = at
        if first < data.size and data[first] == _NEWLINE:
            first += 1
        end = first
        while end < data.size and data[end] != _SPACE:
            end += 1
        if end + 1 + width > data.size:
            break
        for place in range(first, end):
            words[used] = data[place]
            used += 1
        ends[row] = used
        for place in range(width):
            values[row, place] = data[end + 1 + place]
        row += 1
        at = end + 1 + width
    return row, at
