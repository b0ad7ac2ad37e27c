"""How work is run: the limit on BLAS."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from firthian.runtime.run import one_blas_thread


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_one_who_leaves_does_not_lift_the_limit_of_others() -> None:
    np.ones((3, 3)) @ np.ones((3, 3))
    with threadpool_limits(2, "blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
        inside = []

        def first() -> None:
            with one_blas_thread():
                first_in.set()
                second_in.wait(30)
            first_out.set()

        def second() -> None:
            first_in.wait(30)
            with one_blas_thread():
                second_in.set()
                first_out.wait(30)
                inside.append(blas_threads())

        threads = [threading.Thread(target=task) for task in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert inside == [{1}]
        assert blas_threads() == {2}


@pytest.mark.parametrize("in_thread", [False, True])
def test_the_limit_goes_with_the_last_one_also_after_an_error(in_thread: bool) -> None:
    def fails() -> None:
        with one_blas_thread(), one_blas_thread():
            inside.append(blas_threads())
            raise ValueError("inside")

    def work() -> None:
        with pytest.raises(ValueError, match="inside"):
            fails()

    inside: list[set[int]] = []
    before = blas_threads()
    if in_thread:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    else:
        work()
    assert inside == [{1}]
    assert blas_threads() == before
