"""Keyness: the published formulas, planted words, bursts, and calibration."""

from __future__ import annotations

import json

import numpy as np
import pytest

import firthian as ft
from firthian.ask.keyness import log_likelihood, log_odds


def corpus(seed: int, documents: int = 40, planted: float = 0.0) -> dict[str, list[str]]:
    """Documents of common words, one of which party R uses more; ``burst`` fills a few documents of either party."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{n}" for n in range(30)])
    weights = 1.0 / np.arange(1, 31)
    texts, parties = [], []
    for number in range(documents):
        party = "RD"[number % 2]
        weight = weights.copy()
        weight[9] *= 1 + planted * (party == "R")
        text = [*random.choice(words, 100, p=weight / weight.sum())]
        texts.append(" ".join([*text, *["burst"] * (60 if random.random() < 0.1 else 0)]))
        parties.append(party)
    return {"text": texts, "party": parties}


def test_log_likelihood_and_log_odds_by_hand() -> None:
    from scipy.stats import chi2_contingency

    first, second = np.array([30.0, 0.0]), np.array([10.0, 5.0])
    found = log_likelihood(first, second, 1000, 800)
    for n in range(2):
        table = [[first[n], 1000 - first[n]], [second[n], 800 - second[n]]]
        assert found[n] == pytest.approx(chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic)
    delta, z = log_odds(first, second, 1000, 800, 100)
    a = 100 * 40 / 1800
    odds = np.log((30 + a) / (1100 - 30 - a)) - np.log((10 + a) / (900 - 10 - a))
    assert delta[0] == pytest.approx(odds)
    assert z[0] == pytest.approx(odds / np.sqrt(1 / (30 + a) + 1 / (10 + a)))


def test_a_planted_word_is_first_and_a_burst_fools_only_tokens() -> None:
    result = ft.keyness(corpus(3, 60, planted=3.0), "party", groups=["R", "D"])
    by_word = {one.word: one for one in result.words}
    assert by_word["w9"].z > 3
    assert by_word["w9"].q <= 0.05
    assert (result.groups, result.documents) == (("R", "D"), (30, 30))
    fooled = [
        next(one for one in ft.keyness(corpus(seed), "party", permutations=99).words if one.word == "burst")
        for seed in range(40)
    ]
    # Words that come in bursts: tokens see a difference almost always, documents seldom.
    assert np.mean([one.p_tokens < 0.05 for one in fooled]) > 0.6
    assert np.mean([one.p <= 0.05 for one in fooled]) < 0.2


def test_p_of_documents_is_uniform_without_a_difference() -> None:
    p = [one.p for seed in range(100, 140) for one in ft.keyness(corpus(seed), "party", permutations=99).words]
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.075


def test_groups() -> None:
    table = {"text": ["a b"] * 5 + ["a c"] * 5 + ["d e"] * 3, "g": ["1"] * 5 + ["2"] * 5 + ["3"] * 3}
    result = ft.keyness(table, "g", groups=["1"], min_count=1, permutations=20)
    assert result.groups == ("1", "not 1")
    two = ft.keyness(table, "g", groups=["1", "2"], min_count=1, permutations=20)
    assert {one.word for one in two.words} == {"a", "b", "c"}
    assert "3 documents of other groups left out" in two.notes
    for arguments, message in (
        ({"groups": None}, "expected two groups, but g has 3 values"),
        ({"groups": ["4"]}, "no document has g=4: the values are 1, 2, 3"),
        ({"min_count": 99}, "no word occurs 99 times"),
    ):
        with pytest.raises(ft.FirthianError, match=message):
            ft.keyness(table, "g", **{"groups": ["1", "2"], **arguments})
    with pytest.raises(ft.FirthianError, match="no column 'sex'"):
        ft.keyness(table, "sex")
    with pytest.raises(ft.FirthianError, match="the column 'g' has one value, '1'"):
        ft.keyness({"text": ["a b"] * 5, "g": ["1"] * 5}, "g")


def test_the_command(firth, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    rows = corpus(1, planted=2.0)
    lines = ["party\ttext", *(f"{party}\t{text}" for party, text in zip(rows["party"], rows["text"], strict=True))]
    (tmp_path / "t.tsv").write_text("\n".join(lines))
    done = firth("keyness", tmp_path / "t.tsv", "--by", "party", "--groups", "R,D", "--json", "-o", tmp_path / "r")
    assert json.loads(done.out)["words"][0].keys() >= {"word", "log_likelihood", "log_odds", "z", "p", "q", "p_tokens"}
    assert (tmp_path / "r" / "plot.png").exists()
    firth("keyness", tmp_path / "t.tsv", "--by", "year").complains("no column 'year'")
