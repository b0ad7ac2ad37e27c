"""Formulas: the number of coefficients is known before they are built, since interactions multiply."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian.ask.corpus import read_table
from firthian.ask.formula import Formula, _coefficients, _terms

pytest.importorskip("formulaic")

ROWS = 600
LEVELS = {"a": 2, "b": 3, "c": 4}
R = np.random.default_rng(5)
TABLE = read_table(
    {
        "text": ["tea"] * ROWS,
        **{name: [f"{name}{level}" for level in R.integers(0, levels, ROWS)] for name, levels in LEVELS.items()},
        **{name: R.normal(size=ROWS).tolist() for name in "xyz"},
        "many": [f"m{row % 300}" for row in range(ROWS)],
        **{f"n{number}": R.normal(size=ROWS).tolist() for number in range(30)},
    }
)


def names(text: str) -> list[str]:
    formula = Formula.parse(text)
    return formula.design(formula.covariates(TABLE), np.arange(ROWS)).names


COLUMN = st.sampled_from([*LEVELS, "x", "y", "z"])
FORMULA = st.recursive(
    COLUMN,
    lambda part: st.tuples(part, st.sampled_from([" + ", " * ", ":", " - "]), part).map(lambda it: f"({''.join(it)})"),
    max_leaves=5,
)


@given(FORMULA)
@settings(max_examples=60, deadline=None)
def test_the_number_of_coefficients_is_that_of_the_library(text: str) -> None:
    formula = Formula.parse(text)
    levels = {neutral: LEVELS[column] for neutral, column in formula.columns.items() if column in LEVELS}
    number = _coefficients(_terms(formula.neutral.split()), levels, 10_000)
    if 1 < number <= 200:
        assert number == len(names(text))
    else:
        with pytest.raises(ft.FirthianError, match=r"has (no|more than 200) coefficients"):
            names(text)


@pytest.mark.parametrize(
    "text", ["*".join(f"n{number}" for number in range(30)), "many * C(n0)", ":".join([*"abc", "many"]), "many"]
)
def test_too_many_coefficients_are_refused_at_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(ft.FirthianError, match="has more than 200 coefficients"):
        names(text)
    assert time.process_time() - before < 5


@pytest.mark.parametrize("text", ["a +* b", "(a", "a)", "a b", ")(", "a + ", "*", "a * (b"])
def test_formulas_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ft.FirthianError, match="formula"):
        names(text)


def test_signs_and_parentheses_without_end() -> None:
    assert names("(" * 400 + "x" + ")" * 400) == names("x") == names("-" * 900 + "x")
