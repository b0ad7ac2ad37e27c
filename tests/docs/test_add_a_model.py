"""The page that adds a model is a program: what it shows must work as it stands."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import firthian as ft
from firthian.learn import recipes

PAGE = Path(__file__).parents[2] / "docs" / "add_a_model.md"


@pytest.fixture
def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


def test_the_toy_model_is_short(blocks):
    code = [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]
    assert len(code) < 40


def test_the_toy_model_trains_and_obeys_its_options(blocks, monkeypatch):
    model, row = blocks
    module = types.ModuleType("firthian.learn.spectral.difference")
    monkeypatch.setitem(sys.modules, "firthian.learn.spectral.difference", module)
    exec(compile(model, "difference.py", "exec"), module.__dict__)
    names: dict[str, object] = {}
    exec(compile(row, "recipes.py", "exec"), names)
    monkeypatch.setattr(recipes, "RECIPES", (*recipes.RECIPES, names["DIFFERENCE"]))

    texts = ["tea milk sugar cup", "tea cup sugar", "goal ball kick", "ball kick goal team"] * 10
    vectors = ft.train(texts, "difference", vector_size=3)
    assert vectors.most_similar("tea", topn=1)[0][0] in {"cup", "sugar", "milk"}
    with pytest.raises(ft.FirthianError, match="least must be"):
        ft.train(texts, "difference", vector_size=3, least=2)
