"""What all tests share: folders of real data, the command line as a function and as a process, bytes of a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tools.local_data import use_local_data

use_local_data()

settings.register_profile(
    "firthian",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("firthian")


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    def complains(self, *parts: str) -> None:
        """It failed as every mistake should: exit code 2, one line on standard error, nothing on standard output."""
        assert (self.code, self.out) == (2, ""), self
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("firth: "), self.err
        for part in parts:
            assert part in lines[0], self.err


@pytest.fixture
def firth(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command in this process."""
    from firthian.cli.app import main

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Outcome(code, shown.out, shown.err)

    return run


@pytest.fixture
def firth_process() -> Callable[..., Outcome]:
    """Run a command as a process of its own."""

    def run(*arguments: object, timeout: float = 120, **options: object) -> Outcome:
        command = [sys.executable, "-m", "firthian", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)  # type: ignore[call-overload]
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


def folder_bytes(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(item.relative_to(folder)): item.read_bytes() for item in sorted(folder.rglob("*")) if item.is_file()}


@pytest.fixture(name="folder_bytes")
def _folder_bytes() -> Callable[[Path], dict[str, bytes]]:
    return folder_bytes


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real corpora; the test is skipped where there is none."""
    from firthian.datasets import data_folder

    folder = data_folder()
    if folder is None or not (folder / "corpora").is_dir():
        pytest.skip("the folder of real corpora is not here (set FIRTHIAN_DATA)")
    return folder
