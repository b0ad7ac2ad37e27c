"""``kill -9`` at any moment, then ``--resume``: the same bytes. Ctrl-C and SIGTERM save the step and say how to go on."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.learn.resume.jobs import WAYS, Way, write_corpus

Bytes = Callable[[Path], dict[str, bytes]]
ROOT = Path(__file__).resolve().parents[3]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def command(corpus: Path, target: Path, epochs: int) -> list[str]:
    """A training run from the text on, whose every step is saved."""
    arguments = ["train", str(corpus), "-m", "sgns", "--dim", "8", "--min-count", "1", "--checkpoint-every", "0"]
    return [sys.executable, "-m", "firthian", *arguments, "--epochs", str(epochs), "-o", str(target)]


def run(arguments: list[str]) -> str:
    done = subprocess.run(arguments, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kill_9_at_two_moments(tmp_path: Path, folder_bytes: Bytes) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt")
    run(command(corpus, tmp_path / "whole", 40))
    wanted = folder_bytes(tmp_path / "whole")
    seed = int(time.time())
    generator = random.Random(seed)
    line = command(corpus, tmp_path / "v", 40)
    process = subprocess.Popen(line, env=environment())
    # The first moment is anywhere, the second one after a step was saved.
    wait_for(process, tmp_path / "v.partial")
    time.sleep(generator.random() / 2)
    process.kill()
    process.wait()
    process = subprocess.Popen([*line, "--resume"], env=environment())
    wait_for(process, tmp_path / "v.partial" / "steps", "sweeps@*")
    time.sleep(generator.random() / 10)
    process.kill()
    process.wait()
    assert not (tmp_path / "v").exists(), seed
    run([*line, "--resume"])
    assert folder_bytes(tmp_path / "v") == wanted, seed
    assert [item.name for item in tmp_path.glob("v*")] == ["v"]


def wait_for(process: subprocess.Popen[str] | subprocess.Popen[bytes], folder: Path, pattern: str = "") -> None:
    while not (list(folder.glob(pattern)) if pattern else folder.exists()):
        assert process.poll() is None, "it ended too early"
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.label)
def test_kill_9_at_twenty_moments(tmp_path: Path, way: Way) -> None:
    driver = [sys.executable, "-m", "tests.learn.resume.driver", str(tmp_path), way.label, "20", str(int(time.time()))]
    done = subprocess.run(driver, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert "cut short" in done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_step_and_says_how_to_go_on(
    tmp_path: Path, folder_bytes: Bytes, number: signal.Signals, code: int
) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt")
    line = command(corpus, tmp_path / "v 1", 3000)
    process = subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True)
    wait_for(process, tmp_path / "v 1.partial" / "steps", "sweeps@*")
    process.send_signal(number)
    _, message = process.communicate()
    assert process.returncode == code, message
    first, second = message.splitlines()
    assert first == "firth: saving this step; press again to stop at once"
    told, _, again = second.partition("resume with: ")
    assert told == "firth: interrupted: progress is saved; "
    assert again == shlex.join(["firth", *line[3:], "--resume"])
    # The unchanged command resumes; with fewer epochs it is refused, so the seed and all options are compared.
    arguments = shlex.split(again)[1:]
    arguments[arguments.index("3000")] = "2999"
    done = subprocess.run([*line[:3], *arguments], env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "was begun with options epochs 3000, not 2999" in done.stderr
    process = subprocess.Popen([*line, "--resume"], env=environment())
    states = set((tmp_path / "v 1.partial" / "steps").iterdir())
    while set((tmp_path / "v 1.partial" / "steps").iterdir()) <= states:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()


def test_the_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    # A step of this program never ends.
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from firthian.disk.checkpoints import CheckpointFolder\n"
        "from firthian.disk.stopping import catching_signals\n"
        "with catching_signals() as stop:\n"
        "    CheckpointFolder(Path(sys.argv[1]), 0, stop).stage('loop')\n"
        "    print('ready', flush=True)\n"
        "    while True:\n"
        "        time.sleep(0.01)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert "press again to stop at once" in process.stderr.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == -signal.SIGINT
