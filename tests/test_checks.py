"""Numbers from numpy are taken everywhere and written as JSON knows them; what is no number is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft

TEXT = ["a b c d a b", "c d a b"] * 5


def test_numbers_of_numpy(tmp_path: Path) -> None:
    settings = {"window": 2, "min_count": 2, "max_vocab": 3, "seed": 4}
    given: dict[str, Any] = {name: np.int64(value) for name, value in settings.items()}
    counts = ft.count(TEXT, tmp_path / "counts", sample=np.float32(0.5), workers=np.int32(1), **given)
    assert counts.record["settings"].items() >= settings.items()
    vectors = ft.train(counts, "svd", vector_size=np.int64(2), seed=np.int64(3), output=tmp_path / "v")
    assert json.loads(json.dumps(vectors.record))["seed"] == 3
    assert ft.load(tmp_path / "v").vector_size == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"window": 2.5}, "window must be a whole number, got 2.5: 5 is usual"),
        ({"window": "3"}, "window must be a whole number, got '3'"),
        ({"min_count": 1.5}, "min_count must be a whole number"),
        ({"max_vocab": "all"}, "max_vocab must be a whole number"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"sample": "1e-3"}, "sample must be a number, got '1e-3'"),
        ({"workers": "2"}, "workers must be a whole number"),
        ({"memory": 2.5e9}, "memory must be a whole number"),
    ],
)
def test_what_is_no_number_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.FirthianError, match=message):
        ft.count(TEXT, **setting)


def test_vectors_of_half_a_dimension() -> None:
    with pytest.raises(ft.FirthianError, match=r"vector_size must be a whole number, got 2\.5"):
        ft.train(TEXT, "svd", vector_size=2.5)  # type: ignore[arg-type]
