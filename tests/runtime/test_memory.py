"""A budget holds, and sizes are read and shown rightly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.runtime.memory import LEAST_BUDGET, anonymous_bytes, check_budget, parse_size, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("1.5 gib", 3 * 2**29), ("512M", 512 * 10**6), ("7", 7), ("2k", 2000), ("1TB", 10**12)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-4GB", "4 XB", "4ib", "1e9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ft.FirthianError, match="cannot read the size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["9" * 400, "99999999999999TB"])
def test_what_no_memory_is(text: str) -> None:
    with pytest.raises(ft.FirthianError, match="larger than any memory"):
        parse_size(text)


def test_shown_sizes_can_be_read_again() -> None:
    for size in (1, 999, 1000, 15_000, 2_500_000, 7 * 10**9, 3 * 10**12):
        assert parse_size(show_size(size)) == pytest.approx(size, rel=0.05)


def test_budgets() -> None:
    assert check_budget(None) >= LEAST_BUDGET
    assert check_budget("1GB") == 10**9
    with pytest.raises(ft.FirthianError, match="too small"):
        check_budget(LEAST_BUDGET - 1)


#: In a process of its own: here, what other tests leave behind may be given back while we look.
FREED = """
import time
import numpy as np
from firthian.runtime.memory import PeakMemory, anonymous_bytes
with PeakMemory(every=0.001) as peak:
    before = anonymous_bytes()
    data = np.ones(8_000_000)
    patience = time.monotonic() + 20
    # A look while the array is being filled sees a part of it.
    while peak.bytes < before + 0.9 * data.nbytes and time.monotonic() < patience:
        time.sleep(0.001)
    del data
print(peak.bytes - before)
"""


@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
def test_peak_memory_sees_what_was_freed() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50_000_000


COUNT = """
import sys
from firthian.counts.counting import count
from firthian.runtime.memory import PeakMemory
with PeakMemory() as peak:
    counts = count(sys.argv[1], sys.argv[2], memory=int(sys.argv[3]), workers=2)
print(peak.bytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
@pytest.mark.parametrize("letter", ["w", "é"])
def test_the_least_budget_holds(tmp_path: Path, letter: str) -> None:
    corpus = tmp_path / "corpus.txt"
    generator = np.random.default_rng(0)
    with corpus.open("w") as file:
        for _ in range(60):
            words = (generator.zipf(1.2, (9000, 15)) % 50_000).astype(str)
            file.write("\n".join(" ".join(letter + word for word in line) for line in words) + "\n")
    command = [sys.executable, "-c", COUNT, str(corpus), str(tmp_path / "c"), str(LEAST_BUDGET)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1.2 * LEAST_BUDGET


TOLD = COUNT.replace("    counts = count(", "  with contextlib.suppress(FirthianError):\n    count(").replace(
    "import sys\n", "import contextlib, sys\nfrom firthian.errors import FirthianError\n"
)

#: Texts that take more memory than their size lets expect.
ODD_TEXTS = {
    "distinct words": lambda: b"".join(b"w%07x%s" % (n, b" \n"[n % 20 == 0 :][:1]) for n in range(700_000)),
    "words of 200 letters": lambda: b"\n".join(b"%08x" % n * 25 for n in range(60_000)),
    "empty lines": lambda: b"tea with milk\n" * 10 + b"\n" * 9_000_000,
    "documents of one letter": lambda: b"a\nb\nc\nd\n" * 1_000_000,
}


@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
@pytest.mark.parametrize(
    "kind", [kind if kind == "distinct words" else pytest.param(kind, marks=pytest.mark.slow) for kind in ODD_TEXTS]
)
def test_the_budget_holds_for_odd_texts(tmp_path: Path, kind: str) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(ODD_TEXTS[kind]())
    code = TOLD.replace("workers=2", "workers=2, min_count=1")
    command = [sys.executable, "-c", code, str(corpus), str(tmp_path / "c"), str(LEAST_BUDGET)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < LEAST_BUDGET
