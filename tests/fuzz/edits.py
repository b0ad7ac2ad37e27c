"""Ways to spoil a valid file. An edit is a function of bytes and five draws, so that any driver can make the draws."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

#: No input grows beyond this by edits alone.
LARGEST = 1 << 16


class Draws(NamedTuple):
    """What decides an edit: where and how much (shares from 0 to 1), a number, a hostile token, another file."""

    where: float
    much: float
    number: int
    token: bytes
    other: bytes


Edit = Callable[[bytes, Draws], bytes]

#: Bytes that readers have stumbled over somewhere.
TOKENS = (
    b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b'"', b'""', b"'", b",", b";", b":", b"\\", b"\x1f", b"\x85", b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xed\xb2\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"\x80",
    b"\\ud800", b"\\udc80", b"\\u0000", b"\xcc\x81" * 40, b"\xe2\x80\x8d", b"\xef\xb7\xba", b"\xc4\xb0",
    b"nan", b"inf", b"-inf", b"1e999", b"-0.0", b"1e-400", b"0x1p3", b"1_000", b"\xd9\xa3", b"9" * 400, b"9" * 5000, b".",
    b"<doc id=1>", b"<doc ", b"</doc>", b": section", b"#", b"label\ttext", b"text", b"[" * 3000, b'{"a":' * 2000, b"null",
    b"{}", b"[]", b"true", b"-1", b"0", b"1", b"4294967296", b"18446744073709551616", b"-9223372036854775808",
)  # fmt: skip

_INTEGERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
_DIGITS = re.compile(rb"[0-9]+")

#: Values that no part of a manifest expects.
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 3, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e308, float("nan"), "", "a", "\0", "é",
    "9" * 30, "../x", "<i4", "<i8", "<f8", "|O", ">f4", "<U9", "|V0", "(2,)<f4", "F64", "I8", "os:system", "icu:??", [], [0],
    [2**62, 2], [-1, 2], [[[[[[]]]]]], {}, {"a": 1}, "npmi", "both",
)  # fmt: skip


def _place(data: bytes, where: float) -> int:
    return min(len(data), int(where * (len(data) + 1)))


def flip(data: bytes, draws: Draws) -> bytes:
    """Change one bit."""
    at = _place(data, draws.where)
    return data[:at] + bytes([data[at] ^ (1 << draws.number % 8)]) + data[at + 1 :] if at < len(data) else data


def insert(data: bytes, draws: Draws) -> bytes:
    """Put a hostile token somewhere."""
    at = _place(data, draws.where)
    return data[:at] + draws.token + data[at:]


def overwrite(data: bytes, draws: Draws) -> bytes:
    """Put a hostile token over what is there."""
    at = _place(data, draws.where)
    return data[:at] + draws.token + data[at + len(draws.token) :]


def integer(data: bytes, draws: Draws) -> bytes:
    """Overwrite one to eight bytes by an integer at the end of its range."""
    at, width = _place(data, draws.where), 1 << draws.number % 4
    value = _INTEGERS[draws.number // 8 % len(_INTEGERS)] % (1 << 8 * width)
    return data[:at] + value.to_bytes(width, "little" if draws.number & 4 else "big") + data[at + width :]


def digits(data: bytes, draws: Draws) -> bytes:
    """Replace a number that is written out, such as a size in a header."""
    found = list(_DIGITS.finditer(data[:65536]))
    if not found:
        return insert(data, draws)
    # Headers come first: most often one of the first numbers.
    one = found[int(draws.where**3 * len(found)) % len(found)]
    written = str(_INTEGERS[draws.number % len(_INTEGERS)]).encode() if draws.number % 3 else draws.token
    return data[: one.start()] + written + data[one.end() :]


def truncate(data: bytes, draws: Draws) -> bytes:
    """Cut the end off."""
    return data[: _place(data, draws.where)]


def remove(data: bytes, draws: Draws) -> bytes:
    """Take a part out."""
    at = _place(data, draws.where)
    return data[:at] + data[at + 1 + int(draws.much**4 * len(data)) :]


def repeat(data: bytes, draws: Draws) -> bytes:
    """Repeat a part many times: long lines, long words, duplicate entries."""
    at = _place(data, draws.where)
    part = data[at : at + 1 + int(draws.much**4 * len(data))]
    times = (1, 2, 10, 1000, 30_000)[draws.number % 5]
    return data[:at] + part * max(1, min(times, LARGEST // max(1, len(part)))) + data[at:]


def splice(data: bytes, draws: Draws) -> bytes:
    """Go on with another file."""
    return data[: _place(data, draws.where)] + draws.other[_place(draws.other, draws.much) :]


def swap(data: bytes, draws: Draws) -> bytes:
    """Exchange two lines."""
    lines = data.split(b"\n")
    one, two = int(draws.where * (len(lines) - 1)), int(draws.much * (len(lines) - 1))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def squeeze(data: bytes, draws: Draws) -> bytes:
    """Compress, with a long run inside: a small file that grows."""
    return gzip.compress(data + draws.token[:1] * (1 << draws.number % 20), 1)


EDITS: tuple[Edit, ...] = (
    flip,
    flip,
    insert,
    insert,
    overwrite,
    integer,
    digits,
    digits,
    truncate,
    remove,
    repeat,
    splice,
    swap,
)
RARE: tuple[Edit, ...] = (squeeze,)


def edit_json(text: bytes, draws: Draws) -> bytes:
    """Change one value of a JSON text, or take it out; what is not JSON is changed as bytes."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return flip(text, draws)
    places = list(_places(body))
    if not places:
        return json.dumps(VALUES[draws.number % len(VALUES)]).encode()
    holder, key = places[int(draws.where * (len(places) - 1))]
    if draws.number % 7 == 0:
        del holder[key]
    else:
        holder[key] = VALUES[draws.number // 7 % len(VALUES)]
    return json.dumps(body).encode()


def _places(body: Any) -> Any:
    keys = list(body) if isinstance(body, dict) else range(len(body)) if isinstance(body, list) else ()
    for key in keys:
        yield body, key
        yield from _places(body[key])


def edit_bytes(data: bytes, draws: Draws) -> bytes:
    """Spoil plain bytes."""
    rare = draws.number % 997 == 0
    chosen = RARE[0] if rare else EDITS[draws.number % len(EDITS)]
    return chosen(data, draws._replace(number=draws.number // len(EDITS)))[: 4 * LARGEST]


def edit_json_lines(data: bytes, draws: Draws) -> bytes:
    """Spoil one JSON object of a file with one a line, or the bytes."""
    if draws.number % 2:
        return edit_bytes(data, draws._replace(number=draws.number // 2))
    lines = data.split(b"\n")
    at = int(draws.much * (len(lines) - 1))
    lines[at] = edit_json(lines[at], draws._replace(number=draws.number // 2))
    return b"\n".join(lines)


def draw(source: random.Random, seeds: list[bytes]) -> Draws:
    """Make the draws of one edit from a random generator."""
    return Draws(source.random(), source.random(), source.getrandbits(24), source.choice(TOKENS), source.choice(seeds))


def spoiled(source: random.Random, seeds: list[bytes], edit: Edit) -> bytes:
    """Take a valid file and edit it a few times; now and then it is left as it is."""
    data = source.choice(seeds)
    for _ in range(min(8, int(source.expovariate(0.6)) + (source.random() < 0.97))):
        data = edit(data, draw(source, seeds))
    return data[: 4 * LARGEST]
