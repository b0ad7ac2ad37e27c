"""The cost model: its constants are those of the measured runs, and it predicts the runs it was not fitted to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import firthian as ft
from benchmarks import scale
from firthian.errors import FirthianError
from firthian.learn.forecast import forecast
from firthian.learn.recipes import find_recipe
from firthian.runtime import cost
from firthian.runtime.cost import Size, predict
from firthian.runtime.memory import LEAST_BUDGET

ROWS = [row for row in scale.load() if row["what"] != "budget"]
LEFT_OUT = [row for row in ROWS if row["left_out"]]


def test_constants_follow_from_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "CONSTANTS", tmp_path / "cost.json")
    fitted = scale.fit()
    assert json.loads(json.dumps(fitted)) == cost.constants()


@pytest.mark.parametrize("row", LEFT_OUT, ids=lambda row: f"{row['what']}-{row['millions']}M-{row['min_count']}")
def test_runs_left_out_are_predicted(row: scale.Row) -> None:
    found = predict(row["what"], scale.size_of(row))
    assert found.cpu == pytest.approx(row["cpu"], rel=0.3)
    assert found.peak_bytes == pytest.approx(row["peak_bytes"], rel=0.3)
    assert found.disk_bytes == pytest.approx(row["disk_bytes"], rel=0.3)


def test_every_kind_was_checked_on_a_run_left_out() -> None:
    assert {row["what"] for row in LEFT_OUT} == set(scale.FEATURES)


def test_the_fit_finds_planted_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that cost exactly two seconds and a microsecond a pair give these constants back."""
    planted = [row | {"cpu": 2 + 1e-6 * row["pairs"]} for row in ROWS]
    monkeypatch.setattr(scale, "load", lambda: planted)
    monkeypatch.setattr(scale, "CONSTANTS", tmp_path / "cost.json")
    found = scale.fit()["costs"]["count"]["cpu"]
    assert found["once"] == pytest.approx(2, rel=1e-3)
    assert found["pair"] == pytest.approx(1e-6, rel=1e-3)
    assert found["token"] == pytest.approx(0, abs=1e-10)


def test_workers_speed_and_passes() -> None:
    size = Size(1e7, 5e4, 1e7, 100)
    usual = predict("glove", size)
    once = cost.constants()["costs"]["glove"]["cpu"]["once"]
    assert predict("glove", size, workers=4).seconds == pytest.approx(usual.seconds / 2)
    assert predict("glove", size, speed=2.0).cpu == pytest.approx(usual.cpu / 2)
    assert predict("glove", size, passes=3.0).cpu - once == pytest.approx(3 * (usual.cpu - once))
    assert predict("glove", size, workers=1).seconds == usual.cpu
    with pytest.raises(FirthianError, match="has not been measured"):
        predict("glovve", size)


def test_speed_is_that_of_the_sample() -> None:
    size = Size(1e7, 5e4, 1e7)
    warm = predict("count", size).seconds - predict("count", Size(0, 0, 0)).seconds
    assert cost.speed_of("count", size, warm, 2) == pytest.approx(1)
    assert cost.speed_of("count", size, 2 * warm, 2) == pytest.approx(0.5)
    assert cost.speed_of("count", Size(5000, 70, 5000), 0.3, 2) == 1


def test_time_a_token_does_not_rise() -> None:
    """From 1 M to 70 M tokens by less than 1.5 times, and memory follows the budget."""
    rows = sorted((row for row in ROWS if row["what"] == "count" and row["min_count"] == 5), key=lambda r: r["tokens"])
    assert rows[-1]["tokens"] > 60 * rows[0]["tokens"]
    assert rows[-1]["wall"] / rows[-1]["tokens"] < 1.5 * rows[0]["wall"] / rows[0]["tokens"]
    assert all(row["peak_bytes"] < 500e6 for row in scale.load() if row["what"] == "budget")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat sat on the mat and the dog ate the tea\n" * 30)
    return path


def test_forecast_of_counts_and_of_a_corpus(corpus: Path) -> None:
    counts = ft.count(corpus, **find_recipe("sgns").counting)
    ready, judged = (forecast(source, "sgns", vector_size=5) for source in (counts, corpus))
    assert (ready.words, ready.pairs) == (judged.words, judged.pairs) == (len(counts.vocabulary), counts.pairs)
    assert ready.counting is None
    assert judged.counting is not None
    assert ready.training is not None
    assert forecast(counts, "sgns", vector_size=5, epochs=60).training.cpu > ready.training.cpu  # type: ignore[union-attr]
    assert forecast(counts, "ppmi").training is None
    # The least budget that a dry run names is one that training accepts; a smaller one is refused.
    ft.train(
        counts, "svd", vector_size=5, memory=max(LEAST_BUDGET, forecast(counts, "svd", vector_size=5).minimum_budget)
    )
    with pytest.raises(FirthianError, match="learns from vectors"):
        forecast(counts, "sparse")


def test_dry_run_of_train(firth: Callable[..., object], corpus: Path, tmp_path: Path) -> None:
    done = firth("train", corpus, "-m", "psd", "--dim", 4, "--dry-run")
    assert done.code == 0  # type: ignore[attr-defined]
    assert "memory" in done.out  # type: ignore[attr-defined]
    facts = json.loads(firth("train", corpus, "-m", "psd", "--dim", 4, "--dry-run", "--json").out)  # type: ignore[attr-defined]
    assert (facts["words"], facts["dimension"]) == (9, 4)
    assert facts["training"]["peak_bytes"] > 0
    assert list(tmp_path.iterdir()) == [corpus]
    firth("train", corpus, "-m", "psd").complains("no output folder: pass -o FOLDER")  # type: ignore[attr-defined]
    assert "never measured" in firth("train", corpus, "-m", "ppmi", "--dry-run").out  # type: ignore[attr-defined]
