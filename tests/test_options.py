"""Options are declared once, in signatures; checks and defaults come from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from firthian.errors import FirthianError
from firthian.options import Option, check_all, declared


@dataclass(frozen=True)
class Solver:
    epochs: Annotated[int | str, Option("sweeps", low=1, words=("auto",))] = "auto"
    ridge: Annotated[float, Option("weight of the squared lengths", low=0)] = 0.0
    step: Annotated[str, Option("rule", choices=("damped", "newton"))] = "damped"
    damping: Annotated[float, Option("length of a step", low=0, only_with=("step", "damped"))] = 0.1
    center: Annotated[bool, Option("subtract the mean")] = True
    limit: Annotated[int | None, Option("most words", low=1)] = None


def model(counts: object, *, lambda_: Annotated[float, Option("weight", low=0, high=1)] = 0.5) -> None: ...


def test_a_signature_declares_names_types_and_defaults():
    options = declared(Solver)
    assert {name: (option.default, option.kind) for name, option in options.items()} == {
        "epochs": ("auto", int),
        "ridge": (0.0, float),
        "step": ("damped", str),
        "damping": (0.1, float),
        "center": (True, bool),
        "limit": (None, int),
    }
    assert list(declared(model)) == ["lambda"]
    assert Solver(**check_all("solver", options, {})) == Solver()


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("epochs", "auto", "auto"),
        ("epochs", "7", 7),
        ("epochs", 7.0, 7),
        ("epochs", np.int64(7), 7),
        ("ridge", "1e-3", 1e-3),
        ("ridge", np.float32(0.5), 0.5),
        ("center", "off", False),
        ("center", np.bool_(False), False),
        ("limit", 3, 3),
    ],
)
def test_values_are_converted_to_the_declared_type(name, value, result):
    found = check_all("solver", declared(Solver), {name: value})[name]
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": 0}, "epochs must be an integer of at least 1 or auto, got 0"),
        ({"epochs": 1.5}, "epochs must be an integer of at least 1 or auto, got 1.5"),
        ({"epochs": True}, "epochs must be an integer of at least 1 or auto, got True"),
        ({"ridge": "much"}, "ridge must be a number of at least 0, got 'much'"),
        ({"ridge": float("inf")}, "ridge must be a number of at least 0, got inf"),
        ({"ridge": float("nan")}, "ridge must be a number of at least 0, got nan"),
        ({"center": "perhaps"}, "center must be true or false, got 'perhaps'"),
        ({"step": "newtom"}, "step must be one of damped, newton, got 'newtom': did you mean newton?"),
        ({"step": "newton", "damping": 0.5}, "damping has no effect with step=newton: omit it, or use step=damped"),
        ({"rigde": 1}, "solver has no option 'rigde': did you mean ridge?"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(given, message):
    with pytest.raises(FirthianError) as error:
        check_all("solver", declared(Solver), given)
    assert str(error.value).startswith(message)


def test_errors_name_options_for_python_and_let_others_spell_them():
    error = FirthianError("`min_count` must be at least 1, got 0 in `x y`", hint="use `memory=4GB`")
    assert str(error) == "min_count must be at least 1, got 0 in `x y`: use memory=4GB"
    flags = error.render(lambda name, value: f"--{name.replace('_', '-')}" + (f" {value}" if value else ""))
    assert flags == ("--min-count must be at least 1, got 0 in `x y`", "use --memory 4GB")
