"""All words at once: the planted word is found, the others are not, and each has what it has alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from firthian.ask.all_words import benjamini_hochberg, regress_all
from firthian.ask.regress import regress
from firthian.errors import FirthianError
from tests.ask import planted

OPTIONS = {"transform": "none", "window": 2, "permutations": 199, "min_occurrences": 20}


def test_the_planted_word_and_its_company_are_found_and_no_others():
    result = regress_all(planted.documents(1, share=0.9), "group", planted.vectors(), **OPTIONS)
    found = {row.word for row in result.rows if row.q <= 0.1}
    assert "bank" in found
    # What stands near "bank" is used differently, too; "same" is not.
    assert "same" not in found
    assert result.rows[0].word == "bank"
    assert next(row for row in result.rows if row.word == "same").p > 0.01
    assert "bank" in str(result)
    assert result.figure() is not None
    assert len(json.loads(json.dumps(result.to_dict()))["words"]) == len(result.rows)


def test_on_a_null_corpus_almost_nothing_is_found():
    ps = []
    for seed in range(3):
        result = regress_all(planted.documents(seed, share=0.0), "group", planted.vectors(), **OPTIONS)
        assert sum(row.q <= 0.1 for row in result.rows) <= 1
        ps += [row.p for row in result.rows]
    # About 150 tests at 5 %.
    assert 0.005 < np.mean(np.array(ps) <= 0.05) < 0.11


def test_a_word_has_the_estimates_it_has_alone():
    columns = planted.documents(4)
    rows = {row.word: row for row in regress_all(columns, "group", planted.vectors(), **OPTIONS).rows}
    alone = regress(columns, "bank", "group", planted.vectors(), transform="none", window=2)
    one = alone.coefficients["group_b"]
    assert rows["bank"].norm2 == pytest.approx(one.norm2, rel=1e-12)
    assert rows["bank"].norm2_debiased == pytest.approx(one.norm2_debiased, rel=1e-12)
    assert rows["bank"].n == alone.n


def test_the_same_for_any_number_of_workers():
    columns = planted.documents(5, share=0.3)
    answers = [
        json.dumps(regress_all(columns, "group + sex", planted.vectors(), workers=n, **OPTIONS).to_dict())
        for n in (1, 2, 3)
    ]
    assert answers[0] == answers[1] == answers[2]


def test_q_values_are_those_of_a_plain_definition():
    p = np.random.default_rng(1).random(50) ** 2
    order = np.sort(p)
    expected = [min(order[j] * 50 / (j + 1) for j in range(50) if order[j] >= value) for value in p]
    np.testing.assert_allclose(benjamini_hochberg(p), np.minimum(expected, 1))


def test_bad_input_is_told_in_one_line():
    columns = planted.documents(6)
    for options, message in (
        ({"min_occurrences": 10_000}, "no word occurs 10,000 times"),
        ({"cluster_by": "occurrence"}, "is for single targets"),
        ({"cluster_by": "author"}, "covariates vary within groups by author"),
    ):
        with pytest.raises(FirthianError, match=message):
            regress_all(columns, "group", planted.vectors(), **{**OPTIONS, **options})
