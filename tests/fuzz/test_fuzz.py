"""No input crashes, hangs or fills the memory of any reader: it is read, or refused with a sentence."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import driver
from tests.fuzz.edits import TOKENS, Draws, spoiled
from tests.fuzz.targets import BROKEN, TARGETS, Target, find_target

#: Inputs of a target in ``make test`` and in ``make test-slow``.
FEW, MANY = 150, 100_000

#: The dearest targets count a corpus for every input.
DEAR = ("count", "phrases", "counts", "tokens.icu")

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@every_target
def test_valid_files_are_read(target: Target) -> None:
    """Of the files that fuzzing starts from, at least one is read without complaint."""
    assert "" in [target.try_bytes(data) for data in target.seeds()]


@every_target
def test_spoiled_files(target: Target) -> None:
    seeds = target.seeds()
    for number in range(FEW // (5 if target.name in DEAR else 1)):
        data = driver.input_of(target, seeds, 0, number)
        begin = time.process_time()
        target.try_bytes(data)
        assert time.process_time() - begin < driver.WORK_EACH, f"input {number} took long"


@every_target
@settings(max_examples=20)
@given(data=st.data())
def test_edits_that_shrink(target: Target, data: Any) -> None:
    """The same edits drawn by hypothesis, which finds the smallest set of them that fails."""
    seeds = target.seeds()
    share = st.floats(0, 1)
    draws = st.builds(Draws, share, share, st.integers(0, 2**24), st.sampled_from(TOKENS), st.sampled_from(seeds))
    text = data.draw(st.sampled_from(seeds))
    for one in data.draw(st.lists(draws, max_size=4)):
        text = target.edit(text, one)
    target.try_bytes(text)


@every_target
@settings(max_examples=20)
@given(text=st.binary(max_size=300))
def test_any_bytes(target: Target, text: bytes) -> None:
    target.try_bytes(text)


@pytest.mark.slow
@every_target
def test_very_many_spoiled_files(target: Target) -> None:
    result = driver.run(target.name, MANY)
    assert result["failures"] == []


@pytest.mark.slow
def test_the_driver_notices_every_way_to_fail() -> None:
    """A driver that never fails proves nothing."""
    result = driver.run(BROKEN.name, 40, memory=1 << 28, work=0.5)
    errors = "".join(failure["error"].splitlines()[-1] + "\n" for failure in result["failures"])
    for error in ("SIGSEGV", "hang", "MemoryError", "ValueError: not one of ours"):
        assert error in errors


def test_inputs_follow_from_their_number() -> None:
    target = find_target("vectors.glove")
    seeds = target.seeds()
    assert driver.input_of(target, seeds, 1, 7) == driver.input_of(target, seeds, 1, 7)
    assert len({driver.input_of(target, seeds, 1, number) for number in range(50)}) > 40
    assert spoiled(random.Random(1), [b"x"], target.edit) == spoiled(random.Random(1), [b"x"], target.edit)
