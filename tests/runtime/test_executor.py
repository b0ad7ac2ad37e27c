"""Results come in the order of the tasks, work in flight is bounded, errors arrive."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from firthian.errors import FirthianError
from firthian.runtime.executor import Threads, check_workers


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_are_in_order(workers: int) -> None:
    def task(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(Threads(workers).map(task, range(30))) == [number * number for number in range(30)]
    assert list(Threads(workers).map(task, [])) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_only_a_few_items_are_read_ahead(workers: int) -> None:
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield number

    results = Threads(workers).map(lambda number: number, items())
    for taken in range(1, 20):
        next(results)
        assert read <= taken + workers + 2
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_a_task_arrives_and_stops_the_rest(workers: int) -> None:
    def task(number: int) -> int:
        if number == 5:
            raise ValueError("five")
        return number

    before = set(threading.enumerate())
    results = Threads(workers).map(task, range(1000))
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)
    assert set(threading.enumerate()) <= before


def test_workers() -> None:
    assert check_workers(None) >= 1
    assert check_workers(7) == 7
    with pytest.raises(FirthianError, match="workers must be an integer of at least 1, got 0"):
        check_workers(0)
