"""Commands with closed standard streams, and words that would steer a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from firthian import Vectors, Vocabulary
from firthian.cli.app import main

HOSTILE = "red\x1b[31m\u202e\x9b2J"


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m firthian models psd {closed}'], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_closed_input_has_no_words(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m firthian count - -o "{tmp_path}/c" <&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    Vectors(np.eye(3), Vocabulary(["tea", HOSTILE, "milk"])).save(tmp_path / "v")
    return str(tmp_path / "v")


@pytest.mark.parametrize(
    "command", [["neighbors", "V", "tea"], ["neighbors", "V", HOSTILE], ["neighbors", "V", "x\x1b"]]
)
def test_words_do_not_steer_the_terminal(hostile: str, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([hostile if word == "V" else word for word in command])
    out, err = capsys.readouterr()
    assert not set("\x1b\u202e\x9b") & set(out + err)
    assert "\\x1b" in out + err


def test_json_keeps_the_word(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["neighbors", hostile, "tea", "--json"]) == 0
    out = capsys.readouterr().out
    assert not set("\x1b\u202e\x9b") & set(out)
    assert HOSTILE in {row["word"] for row in json.loads(out)[0]["neighbors"]}


def test_verify(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", hostile]) == 0
    assert "vectors, intact" in capsys.readouterr().out
    path = Path(hostile, "vectors.safetensors")
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert main(["info", hostile]) == 0
    assert main(["verify", hostile, "--json"]) == 2
    assert main(["convert", hostile, f"{hostile}2"]) == 2
    assert not Path(f"{hostile}2").exists()


def test_verify_refuses_what_is_not_finite(tmp_path: Path) -> None:
    Vectors(np.array([[1, np.nan]]), Vocabulary(["tea"])).save(tmp_path / "v")
    assert main(["verify", str(tmp_path / "v")]) == 2
    assert main(["convert", str(tmp_path / "v"), str(tmp_path / "w")]) == 2
