"""Manifests are checked by the types of their fields, bounds included."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from firthian.disk.schema import check_record
from firthian.options import Option


class Inner(TypedDict):
    size: Annotated[int, Option("a size", low=0, high=10)]


class Record(TypedDict):
    name: str
    kind: Literal["a", "b"]
    inner: list[Inner]
    weights: NotRequired[dict[str, float]]
    parent: str | None


GOOD: dict[str, Any] = {"name": "x", "kind": "a", "inner": [{"size": 3}], "weights": {"w": 1, "v": 0.5}, "parent": None}


def test_what_fits() -> None:
    check_record(GOOD, Record)
    check_record({name: value for name, value in GOOD.items() if name != "weights"}, Record)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": 3}, "name cannot be 3"),
        ({"kind": "c"}, "kind cannot be 'c'"),
        ({"inner": [{"size": 3}, {"size": 11}]}, r"inner\[1\].size cannot be 11"),
        ({"inner": [{"size": True}]}, r"inner\[0\].size cannot be True"),
        ({"inner": [{}]}, r"it has no inner\[0\].size"),
        ({"inner": {}}, "inner cannot be"),
        ({"weights": {"w": "1"}}, "weights.w cannot be '1'"),
        ({"parent": []}, "parent cannot be"),
        ({"evil": 1}, "unknown field 'evil'"),
        ({"name": "x" * 5000, "kind": 1}, "kind cannot be 1"),
    ],
)
def test_what_does_not(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_record({**GOOD, **change}, Record)


def test_a_missing_field() -> None:
    with pytest.raises(ValueError, match="it has no parent"):
        check_record({name: value for name, value in GOOD.items() if name != "parent"}, Record)
