from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from firthian.cli.app import main
from firthian.datasets.finishing import word_pairs
from firthian.datasets.registry import DATASETS, Dataset
from firthian.datasets.sources import LocalFile

RAW, FINISHED = b"tea coffee 7.5\r\n", b"tea\tcoffee\t7.5\n"


@pytest.fixture
def toy(data: Path, register: Callable[..., Dataset]) -> Dataset:
    (data / "toy.txt").write_bytes(RAW)
    return register(FINISHED, LocalFile("toy.txt", hashlib.sha256(RAW).hexdigest(), word_pairs))


def test_list_says_where_everything_is(toy: Dataset, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "list"]) == 0
    assert "missing; can be built from toy.txt in the data folder" in capsys.readouterr().out
    assert main(["datasets", "fetch", "toy"]) == 0
    assert capsys.readouterr().out == f"{cache / 'toy.txt'}\n"
    assert main(["datasets", "list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["name"] == "toy"
    assert entry["path"] == str(cache / "toy.txt")
    assert entry["license"] == "none"
    assert entry["bytes"] == len(FINISHED)


def test_the_whole_real_list_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "list"]) == 0
    shown = capsys.readouterr().out
    for dataset in DATASETS:
        assert f"  {dataset.name} " in shown
        assert dataset.license in shown


def test_fetch_as_json(toy: Dataset, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "fetch", "toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"toy": str(cache / "toy.txt")}


def test_verify_fails_on_damage(toy: Dataset, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "verify", "toy"]) == 0
    assert "missing" in capsys.readouterr().out
    main(["datasets", "fetch", "toy"])
    assert main(["datasets", "verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.partition("\n")[2])[0]["state"] == "intact"
    (cache / "toy.txt").write_bytes(b"something else")
    assert main(["datasets", "verify"]) == 2
    captured = capsys.readouterr()
    assert "damaged" in captured.out
    assert captured.err == (
        f"firth: {cache / 'toy.txt'} is damaged: delete the damaged files, then run firth datasets fetch\n"
    )


def test_an_unknown_name_is_refused_before_anything_is_fetched(
    toy: Dataset, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["datasets", "fetch", "toy", "toi"]) == 2
    assert capsys.readouterr().err == "firth: unknown data set 'toi': did you mean toy?\n"
    assert not (cache / "toy.txt").exists()
