"""Memory budgets: what the user allows, and what a process really uses.

Only *anonymous* memory counts: pages of mapped files can be dropped by the system at any time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from firthian.errors import FirthianError
from firthian.options import Option

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}

_SIZES = "write it as 4GB, 512MB or 1.5GiB"

#: What Python, numpy, numba and their compiled code take before any data arrive.
INTERPRETER_BYTES = 150 * 2**20

#: A budget must be so many times the estimate: no measured run took more than that.
MARGIN = 1.2

#: The least budget with which counting can work at all.
LEAST_BUDGET = 256 * 10**6


def parse_size(text: str | int) -> int:
    """Read a size such as ``4GB``, ``512MiB`` or ``1.5g`` in bytes.

    >>> parse_size("4GB"), parse_size("512MiB"), parse_size("1.5g"), parse_size(1000)
    (4000000000, 536870912, 1500000000, 1000)
    """
    if not isinstance(text, str):
        return int(Option(_SIZES, name="memory", kind=int).check(text, strict=True))
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if match is None or match[2] == "i":
        raise FirthianError(f"cannot read the size {text!r}", hint=_SIZES)
    size = float(match[1]) * _UNITS[match[2]]
    if size >= 2**63:
        raise FirthianError(f"the size {text!r} is larger than any memory", hint=_SIZES)
    return int(size)


def show_size(size: float) -> str:
    """Write a number of bytes for people.

    >>> show_size(68_000_000), show_size(999), show_size(2.5e9)
    ('68 MB', '999 B', '2.5 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def check_budget(memory: str | int | None) -> int:
    """Return the budget in bytes; without one, three quarters of what the machine has free."""
    if memory is None:
        return max(LEAST_BUDGET, available_bytes() * 3 // 4)
    budget = parse_size(memory)
    if budget < LEAST_BUDGET:
        raise FirthianError(
            f"a memory budget of {show_size(budget)} is too small",
            hint=f"give at least --memory {show_size(LEAST_BUDGET).replace(' ', '')}",
        )
    return budget


@dataclass(frozen=True)
class Problem:
    """The size of what is to be learned: words, pairs that were seen, dimensions, and tokens where text is learned from."""

    words: int
    pairs: int = 0
    dimension: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        parts = (("words", self.words), ("pairs", self.pairs), ("tokens", self.tokens), ("dimensions", self.dimension))
        return ", ".join(f"{number:,} {name}" for name, number in parts if number)


@dataclass(frozen=True)
class Memory:
    """Bytes of anonymous memory that a computation takes at its peak.

    So much once, for each pair of words that was seen, each word, each word times the dimensions and times their square,
    and each token, of which at most ``batch`` are held at a time. Recipes that were measured take the fitted terms of
    ``cost.py``, others those of a relative with what they hold besides. That is an estimate, not a bound; a budget
    must be larger by ``MARGIN``. ``tests/learn/test_memory.py`` compares both with what runs really took.

    >>> Memory(once=0, pair=10, word_dim=8).expected(Problem(words=1000, pairs=1_000_000, dimension=100))
    10800000
    """

    once: float = INTERPRETER_BYTES
    pair: float = 0.0
    word: float = 0.0
    word_dim: float = 0.0
    word_dim2: float = 0.0
    token: float = 0.0
    batch: int = 0

    def expected(self, problem: Problem) -> int:
        """Estimate the bytes for a problem."""
        d = problem.dimension
        row = self.word + self.word_dim * d + self.word_dim2 * d**2
        tokens = self.token * min(problem.tokens, self.batch)
        return int(self.once + tokens + self.pair * problem.pairs + row * problem.words)

    def needed(self, problem: Problem) -> int:
        """Return the least budget for a problem: the estimate and a margin."""
        return int(MARGIN * self.expected(problem))

    def plus(self, **more: float) -> Memory:
        """Return what a computation takes that holds more than this one."""
        return replace(self, **{name: getattr(self, name) + value for name, value in more.items()})

    def check(self, name: str, problem: Problem, budget: int, instead: Mapping[str, Memory] | None = None) -> None:
        """Say before the work when the budget is too small, and what would fit; ``instead`` has other ways by their flags."""
        needed = self.needed(problem)
        if not 0 < budget < needed:
            return
        largest = problem.dimension
        while largest > 0 and self.needed(replace(problem, dimension=largest)) > budget:
            largest -= 1
        smaller = f", --dim {largest}" if largest > 0 else ""
        fitting = [flag for flag, memory in (instead or {}).items() if memory.needed(problem) <= budget]
        smaller += "".join(f", {flag}" for flag in fitting)
        raise FirthianError(
            f"{name} with {problem} needs about {show_size(needed)} of memory, "
            f"more than the budget of {show_size(budget)}",
            hint=f"give --memory {show_size(needed * 1.05).replace(' ', '')}{smaller}, or raise --min-count",
        )


def available_bytes() -> int:
    """Return how much memory the machine can still give."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 4 * 10**9


def anonymous_bytes() -> int:
    """Return how much anonymous memory this process holds now (0 where the system does not say)."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class PeakMemory:
    """Watches the anonymous memory of this process while a block of code runs.

    >>> with PeakMemory() as peak:
    ...     data = bytearray(10_000_000)
    >>> peak.bytes >= 0
    True
    """

    def __init__(self, every: float = 0.02) -> None:
        self.bytes = 0
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            self.bytes = max(self.bytes, anonymous_bytes())

    def __enter__(self) -> PeakMemory:
        self.bytes = anonymous_bytes()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.bytes = max(self.bytes, anonymous_bytes())
