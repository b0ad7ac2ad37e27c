"""Memory budgets: what the user allows, what a computation needs, and what a process uses.

Only *anonymous* memory counts: the system can drop pages of mapped files at any time.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from firthian.errors import BudgetError, FirthianError
from firthian.options import Option

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

_SIZES = "write it as 4GB, 512MB or 1.5GiB"

#: Memory of Python, numpy, numba and their compiled code before any data is loaded.
INTERPRETER_BYTES = 150 * 2**20

#: Ratio of the required budget to the estimate; no measured run exceeded it.
MARGIN = 1.2

#: The smallest budget that counting works with.
LEAST_BUDGET = 256 * 10**6


def parse_size(text: str | int) -> int:
    """Parse a size such as ``4GB``, ``512MiB`` or ``1.5g``; return bytes.

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
    """Format a number of bytes for people.

    >>> show_size(68_000_000), show_size(999), show_size(2.5e9)
    ('68 MB', '999 B', '2.5 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def check_budget(memory: str | int | None) -> int:
    """Check a memory budget; return bytes, by default three quarters of the free memory."""
    if memory is None:
        return max(LEAST_BUDGET, available_bytes() * 3 // 4)
    budget = parse_size(memory)
    if budget < LEAST_BUDGET:
        raise FirthianError(
            f"a memory budget of {show_size(budget)} is too small",
            hint=f"set `memory={_as_setting(LEAST_BUDGET)}` or more",
        )
    return budget


def check_fits(what: str, needed: float, budget: int, *remedies: str) -> None:
    """Raise if ``what`` needs more bytes than the budget, where 0 is no limit; ``remedies`` are other ways to fit it.

    >>> check_fits("psd", 2e9, 10**9)
    Traceback (most recent call last):
    ...
    firthian.errors.BudgetError: psd needs about 2.0 GB of memory, more than the budget of 1.0 GB: set memory=2.1GB
    """
    if 0 < budget < needed:
        raise BudgetError(
            f"{what} needs about {show_size(needed)} of memory, more than the budget of {show_size(budget)}",
            hint=", or ".join([f"set `memory={_as_setting(needed * 1.05)}`", *remedies]),
        )


def _as_setting(size: float) -> str:
    return show_size(size).replace(" ", "")


@dataclass(frozen=True)
class Problem:
    """The size of a training problem: words, observed pairs, dimensions, and tokens for recipes that read text."""

    words: int
    pairs: int = 0
    dimension: int = 0
    tokens: int = 0

    def __str__(self) -> str:
        parts = (("words", self.words), ("pairs", self.pairs), ("tokens", self.tokens), ("dimensions", self.dimension))
        return ", ".join(f"{number:,} {name}" for name, number in parts if number)


@dataclass(frozen=True)
class Memory:
    """Peak bytes of anonymous memory of a computation.

    A constant, plus terms per observed pair, word, word times dimension (and its square), and token, of which at most
    ``batch`` are in memory at a time. Measured recipes use the fitted terms of ``cost.py``, others those of a similar
    recipe plus their additional arrays. This is an estimate, not a bound, so a budget must be larger by ``MARGIN``;
    ``tests/learn/test_memory.py`` compares both with measured runs.

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
        """Return the smallest budget for a problem: the estimate plus a margin."""
        return int(MARGIN * self.expected(problem))

    def plus(self, **more: float) -> Memory:
        """Return the memory of a computation that needs more per term."""
        return replace(self, **{name: getattr(self, name) + value for name, value in more.items()})

    def check(self, name: str, problem: Problem, budget: int, instead: Mapping[str, Memory] | None = None) -> None:
        """Raise if the budget is too small; suggest what would fit, such as settings in ``instead``."""
        needed = self.needed(problem)
        if not 0 < budget < needed:
            return
        largest = problem.dimension
        while largest > 0 and self.needed(replace(problem, dimension=largest)) > budget:
            largest -= 1
        remedies = [f"`vector_size={largest}`"] if largest > 0 else []
        remedies += [setting for setting, memory in (instead or {}).items() if memory.needed(problem) <= budget]
        check_fits(f"{name} with {problem}", needed, budget, *remedies, "raise `min_count`")


def available_bytes() -> int:
    """Return the available memory of this machine, or of the container that this process runs in if that is less."""
    machine = _proc_bytes("/proc/meminfo", "MemAvailable:") or _by_psutil("available") or 4 * 10**9
    return min([machine, *container_bytes()])


def anonymous_bytes() -> int:
    """Return the anonymous memory of this process (0 if the system does not report it)."""
    return _proc_bytes("/proc/self/status", "RssAnon:") or _by_psutil("own")


def _by_psutil(what: str) -> int:
    """Ask the library that knows other systems than Linux; 0 if it is not installed."""
    if sys.platform == "linux":
        return 0
    try:
        import psutil
    except ImportError:
        return 0
    return int(psutil.virtual_memory().available if what == "available" else psutil.Process().memory_full_info().uss)


#: For each version of control groups: the folder of memory, the limit, the usage, and the part of it that is cache.
_GROUPS = {
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def container_bytes(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """Return the memory that is left in each control group (a container, a job) that limits this process."""
    left = []
    for line in _lines(own):
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        for name, (place, limit, usage, cache) in _GROUPS.items():
            if name not in controllers.split(","):
                continue
            # In a container the folder of its own group is often the root.
            inner = Path(root, place, group.strip("/"))
            for folder in (inner, *inner.parents):
                if not folder.is_relative_to(root):
                    break
                most, used = (next(iter(_lines(folder / file)), "") for file in (limit, usage))
                if most.isdecimal() and used.isdecimal():
                    stat = (entry.split() for entry in _lines(folder / "memory.stat"))
                    droppable = sum(int(entry[1]) for entry in stat if entry[0] == cache)
                    left.append(max(0, int(most) - int(used) + droppable))
    return left


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def _proc_bytes(file: str, name: str) -> int:
    """Return a size that Linux reports in kB; 0 if this system does not."""
    return next((int(line.split()[1]) * 1024 for line in _lines(Path(file)) if line.startswith(name)), 0)


class PeakMemory:
    """Measures the peak of anonymous memory while a block of code runs.

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
