"""Instructions that compiled kernels execute on fixed input, without hardware counters, which virtual machines often lack.

A child process runs a kernel while this process takes it through every instruction (``ptrace``). Each kernel runs on an input
and on one twice as large; the difference leaves out what a call costs, up to about 1 % that the interpreter varies by. Code is
compiled for one model of processor, so counts depend on the versions of numba and LLVM only. ``python -m
benchmarks.instructions`` prints them as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

#: A kernel on fixed input of a size.
Call = Callable[[], Any]

TRACE_ME, SINGLE_STEP, CONTINUE = 0, 9, 7

#: Words, and pairs for each, of the smaller input.
WORDS, EACH, DIMENSION = 4, 64, 100


def available() -> str | None:
    """Return why instructions cannot be counted here, or None."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "needs Linux on x86-64"
    with open("/proc/cpuinfo") as file:
        if " avx2 " not in file.read():
            return "needs a processor with AVX2"
    try:
        count(lambda: None)
    except OSError as error:
        return f"no permission to trace a process ({error})"
    return None


def count(call: Call) -> int:
    """Return the number of instructions of a call, with a little of the interpreter before and after it."""
    libc = ctypes.CDLL(None, use_errno=True)
    trace = libc.ptrace
    trace.argtypes, trace.restype = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p), ctypes.c_long
    child = os.fork()
    if child == 0:
        if trace(TRACE_ME, 0, None, None) != 0:
            os._exit(1)
        os.kill(os.getpid(), signal.SIGSTOP)
        call()
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(ctypes.get_errno(), "ptrace failed")
    steps = 0
    while True:
        if trace(SINGLE_STEP, child, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace failed")
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            raise RuntimeError("the kernel ended its process")
        if os.WSTOPSIG(status) != signal.SIGTRAP:
            break
        steps += 1
    trace(CONTINUE, child, None, None)
    os.waitpid(child, 0)
    return steps


def pairs(words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return compressed rows with EACH pairs."""
    random = np.random.default_rng(1)
    columns = np.sort(random.integers(0, words, (words, EACH)), axis=1).astype(np.int32)
    return np.arange(words + 1) * EACH, columns.ravel(), random.integers(1, 9, words * EACH).astype(np.float32)


def dense(rows: int, columns: int) -> np.ndarray:
    """Return a dense matrix."""
    return np.random.default_rng(2).standard_normal((rows, columns)).astype(np.float32)


def scan(words: int) -> Call:
    """Tokenize text whose words are known already."""
    from firthian.kernels import tokens
    from firthian.text.tokenizer import Tokenizer
    from firthian.text.types import TypeTable

    prepared = Tokenizer().prepare(b"the quick brown fox jumps over the lazy dog's back; " * words)
    text, table = np.frombuffer(prepared.text, dtype=np.uint8), TypeTable()
    ids, starts, progress = np.empty(text.size, np.int32), np.zeros(2, np.int64), np.zeros(4, np.int64)

    def call() -> None:
        progress[:3] = 0
        tokens.scan(text, prepared.rules, ids, starts, table.arrays, progress)

    return call


def windows(words: int) -> Call:
    """Count windows of five words."""
    from firthian.kernels.windows import count_rows

    ids = np.tile(np.arange(WORDS, dtype=np.int32), 2 * words)
    order = np.argsort(ids, kind="stable").astype(np.int32)
    index = np.arange(WORDS + 1) * 2 * words, order
    sides = np.arange(5, 0, -1), np.arange(5, 0, -1)
    scratch = np.zeros(WORDS, dtype=np.int64), np.zeros(1, dtype=np.uint64)
    out = np.empty(WORDS, np.int64), np.empty(WORDS**2, np.int32), np.empty(WORDS**2, np.int64)
    return lambda: count_rows(ids, index, 0, WORDS, sides, scratch, out)


def pmi(words: int) -> Call:
    """Weigh PMI of pairs."""
    from firthian.kernels.pmi import weighted_pmi

    rows, sums = pairs(words), np.full(words, 100.0)
    out = np.empty((2, words * EACH), dtype=np.float32)
    return lambda: weighted_pmi(rows, (sums, sums / sums.sum()), (0.02, 2.0, 0.5), 0, words, out[0], out[1])


def product(words: int) -> Call:
    """Multiply a sparse matrix by 32 columns."""
    from firthian.kernels.sparse import times_dense

    rows, right = pairs(words), dense(words, 32)
    out = np.empty_like(right)
    return lambda: times_dense(*rows, right, 0, words, out)


def sweep(words: int) -> Call:
    """Compute losses and gradients of half a sweep of ``sgns``."""
    from firthian.kernels.binomial import binomial_rows
    from firthian.learn.likelihood.losses import NODE_WEIGHTS, NODES, encode
    from firthian.runtime.run import Run

    rows, left = pairs(words), dense(words, DIMENSION)
    sides = left, *encode(left, Run.create(workers=1))
    shares = np.full(words, 100.0), np.full(words, 1 / words, dtype=np.float32)
    moments = np.ones((words, 3)), NODES, NODE_WEIGHTS
    wanted = np.ones(words, dtype=bool), True, True
    gradient, sums = np.empty_like(left), np.empty((words, 5))
    return lambda: binomial_rows(rows, sides, shares, moments, wanted, 0, words, gradient, sums)


def ngrams(words: int) -> Call:
    """Add up vectors of n-grams."""
    from firthian.kernels.subwords import COLUMNS, sum_rows

    starts, places, weights = pairs(words)
    vectors = dense(words, COLUMNS)
    out = np.empty_like(vectors)
    return lambda: sum_rows(starts, places, weights, vectors, weights, vectors, out)


KERNELS: dict[str, Callable[[int], Call]] = {
    task.__name__: task for task in (scan, windows, pmi, product, sweep, ngrams)
}


def measure(name: str) -> int:
    """Return the instructions of a kernel for WORDS more words."""
    few, many = (KERNELS[name](factor * WORDS) for factor in (1, 2))
    for call in (few, many):
        call()  # compiled or loaded now
    return count(many) - count(few)


def versions() -> dict[str, str]:
    """Return the versions that the counts depend on."""
    return {name: version(name) for name in ("numba", "llvmlite")}


def main() -> None:
    # Before numba is imported, and only in this process: the same code on every x86-64 processor with AVX2.
    os.environ["NUMBA_CPU_NAME"] = "haswell"
    os.environ["NUMBA_CPU_FEATURES"] = "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+f16c,+movbe,+sse4.2"
    names = sys.argv[1:] or list(KERNELS)
    print(json.dumps({"versions": versions(), "counts": {name: measure(name) for name in names}}))


if __name__ == "__main__":
    main()
