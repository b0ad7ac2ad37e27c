"""The page about families of one's own is a program: what it shows must work as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from firthian.learn.likelihood import losses
from firthian.learn.likelihood.families import Tweedie
from firthian.learn.likelihood.model import ExponentialFamily

PAGE = Path(__file__).parents[2] / "docs" / "add_a_family.md"


def test_the_families_of_the_page_train():
    """The first is Tweedie's with p = 1.2, so its gradients are those of the built-in family."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    texts = ["tea milk sugar cup", "tea cup sugar", "goal ball kick", "ball kick goal team", "tea team"] * 10
    names: dict[str, object] = {"corpus": texts}
    for block in blocks[:2]:
        exec(compile(block.replace(", 10, run)", ", 3, run)"), str(PAGE), "exec"), names)
    run, counts, vectors = names["run"], names["counts"], names["vectors"]
    assert vectors.most_similar("tea", topn=1)[0][0] in {"cup", "sugar", "milk"}
    mine, built_in = (ExponentialFamily(counts, run, family, "both") for family in (names["family"], Tweedie(1.2)))
    factors = mine.start(3)
    factors.contexts[:] = 0.5 * factors.words
    for loss in (losses.Expanded(), losses.Exact(), losses.Sampled(64)):
        one, other = (loss.gradient(model.side("words", factors), run, 1) for model in (mine, built_in))
        assert np.allclose(one.vectors, other.vectors, rtol=1e-2, atol=1e-3)
        assert np.allclose(one.bias, other.bias, rtol=1e-2, atol=1e-3)
    exec(compile(blocks[2].replace(", 10, run)", ", 3, run)"), str(PAGE), "exec"), names)
    # a weight of 4 for every pair, divided by the largest: plain least squares on the roots of the counts
    fitted = (2 * names["solution"].words - names["solution"].contexts) @ names["solution"].contexts.T
    roots = np.sqrt(counts.to_scipy().toarray())
    seen = roots > 0
    assert np.abs(fitted - roots)[seen].mean() < 0.5 * roots[seen].mean()
