"""The corpora of the benchmarks, as plain text files: parts of enwiki70m of several sizes."""

from __future__ import annotations

import shutil
from pathlib import Path

from firthian.datasets import locate
from firthian.text.files import open_bytes

FOLDER = Path(__file__).parents[1] / "build" / "corpora"

#: First byte and number of bytes of each part; None is to the end. A part begins and ends with a whole document.
PARTS: dict[str, tuple[int, int | None]] = {
    "enwiki1m": (0, 6_000_000),
    "enwiki3m": (0, 18_000_000),
    "enwiki3m-other": (200_000_000, 18_000_000),
    "enwiki8m": (0, 47_000_000),
    "enwiki17m": (0, 100_000_000),
    "enwiki17m-other": (200_000_000, 100_000_000),
    "enwiki70m": (0, None),
}


def find(name: str) -> Path:
    """Return the path of a corpus: of a part, created on first use, or of the named file."""
    if name not in PARTS:
        return Path(name)
    if name == "enwiki17m":
        return Path(locate(name))
    target = FOLDER / f"{name}.txt"
    if not target.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        _write(target.with_suffix(".partial"), *PARTS[name])
        target.with_suffix(".partial").rename(target)
    return target


def _write(target: Path, first: int, size: int | None) -> None:
    with open_bytes(str(locate("enwiki70m"))) as text, target.open("wb") as file:
        if size is None:
            shutil.copyfileobj(text, file, 2**22)
            return
        place = 0
        for line in text:
            if place >= first:
                if place + len(line) > first + size:
                    return
                file.write(line)
            place += len(line)
