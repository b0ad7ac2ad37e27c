"""Killed runs resume to the same bytes; runs that cannot be resumed say why."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.counts import counting
from firthian.counts.counting import CountJob, run_job
from tests.counts.jobs import count_with, how
from tests.killing import KillAt, Killed

Bytes = Callable[[Path], dict[str, bytes]]
ROOT = Path(__file__).resolve().parents[2]


def write_corpus(path: Path, lines: int, seed: int = 0) -> Path:
    generator = np.random.default_rng(seed)
    words = (generator.zipf(1.3, (lines, 12)) % 3000).astype(str)
    path.write_text("\n".join("w" + " w".join(line) for line in words))
    return path


SETTINGS: dict[str, Any] = {"window": 3, "sample": 0.05}


def job(corpus: Path, **settings: Any) -> CountJob:
    return CountJob.create(corpus, min_count=2, **{**SETTINGS, **settings})


def begin(corpus: Path, target: Path, reports: int, segment_bytes: int = 2000, group_tokens: int = 500) -> None:
    """Count until N progress reports were made, then die."""
    from dataclasses import replace

    settings = replace(how(1, segment_bytes, group_tokens), progress=KillAt(reports))
    with pytest.raises(Killed):
        run_job(job(corpus), target, settings)
    assert target.with_name(target.name + ".partial").is_dir()


def finish(corpus: Path, target: Path, group_tokens: int | None = 500, workers: int = 2, **settings: Any) -> None:
    run_job(job(corpus, **settings), target, how(workers, 2000, group_tokens), resume=True)


def reports_of(corpus: Path, target: Path) -> int:
    """How many reports a whole run makes."""
    from dataclasses import replace

    progress = KillAt(10**9)
    run_job(job(corpus), target, replace(how(1, 2000, 500), progress=progress))
    return 10**9 - progress.left


@pytest.mark.parametrize("group_tokens", [100, 1700, None])
def test_resuming_at_any_stage_with_any_memory(
    tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch, group_tokens: int | None
) -> None:
    monkeypatch.setattr(counting, "OPEN_RUNS", 3)
    corpus = write_corpus(tmp_path / "corpus.txt", 600)
    reports = reports_of(corpus, tmp_path / "whole")
    assert reports > 20
    wanted = folder_bytes(tmp_path / "whole")
    for number in range(0, reports, 3):
        target = tmp_path / f"at-{number}"
        begin(corpus, target, number)
        finish(corpus, target, group_tokens)
        assert folder_bytes(target) == wanted, number
        assert not target.with_name(target.name + ".partial").exists()


@pytest.mark.parametrize("moment", ["before", "after", "half removed"])
def test_dying_between_merges(
    tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 600)
    run_job(job(corpus), tmp_path / "whole", how())
    monkeypatch.setattr(counting, "OPEN_RUNS", 3)
    with monkeypatch.context() as patch:
        remove = shutil.rmtree
        removed: list[Path] = []

        def dying(folder: Path, ignore_errors: bool = False) -> None:
            if (folder / "run.json").exists():
                removed.append(folder)
            if len(removed) < 4:
                return remove(folder, ignore_errors)
            if moment == "after":
                remove(folder)
            if moment == "half removed":
                (folder / "columns.safetensors").unlink()
            raise Killed

        patch.setattr(shutil, "rmtree", dying)
        with pytest.raises(Killed):
            run_job(job(corpus), tmp_path / "c", how(1, 2000, 500))
    finish(corpus, tmp_path / "c", 800)
    assert folder_bytes(tmp_path / "c") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("reports", [8, 22])
def test_a_changed_corpus_is_counted_again(tmp_path: Path, folder_bytes: Bytes, reports: int) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 600)
    begin(corpus, tmp_path / "c", reports)
    text = corpus.read_text()
    corpus.write_text(text[:6000] + " w1 w2 w3 " + text[6000:])
    finish(corpus, tmp_path / "c")
    run_job(job(corpus), tmp_path / "whole", how())
    assert folder_bytes(tmp_path / "c") == folder_bytes(tmp_path / "whole")


def test_damaged_unfinished_work_is_repaired(tmp_path: Path, folder_bytes: Bytes) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 600)
    run_job(job(corpus), tmp_path / "whole", how())
    generator = np.random.default_rng(1)
    begin(corpus, tmp_path / "c", 22)
    partial = tmp_path / "c.partial"
    files = [item for item in sorted(partial.rglob("*")) if item.is_file() and item.name != "job.json"]
    assert len(files) > 10
    assert any(item.name == "sums.safetensors" for item in files)
    shutil.copytree(partial, tmp_path / "kept")
    for _ in range(6):
        for file in generator.choice(len(files), 4, replace=False):
            data = bytearray(files[file].read_bytes())
            data[generator.integers(len(data))] ^= int(generator.integers(1, 256))
            files[file].write_bytes(data[: generator.integers(len(data) // 2, len(data) + 1)])
        finish(corpus, tmp_path / "c")
        assert folder_bytes(tmp_path / "c") == folder_bytes(tmp_path / "whole")
        shutil.rmtree(tmp_path / "c")
        shutil.copytree(tmp_path / "kept", partial)


def test_other_settings_are_refused_and_the_work_is_kept(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 100)
    begin(corpus, tmp_path / "c", 4)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ft.FirthianError, match="was begun with window 3, not 4"):
        finish(corpus, tmp_path / "c", window=4)
    with pytest.raises(ft.FirthianError, match="contains an unfinished run: continue with resume or start over"):
        run_job(job(corpus), tmp_path / "c", how(2, 2000))
    assert sorted(tmp_path.rglob("*")) == before
    run_job(job(corpus), tmp_path / "c", how(2, 2000), force=True)
    ft.Counts.load(tmp_path / "c")


def test_a_refusal_keeps_the_work(tmp_path: Path, folder_bytes: Bytes) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 600)
    with pytest.raises(Killed):
        ft.count(corpus, tmp_path / "c", min_count=1, progress=KillAt(3))
    work = {name: data for name, data in folder_bytes(tmp_path / "c.partial").items() if "text-" in name}
    assert work
    with pytest.raises(ft.FirthianError, match="or lower workers"):
        ft.count(corpus, tmp_path / "c", min_count=1, workers=10_000, memory=256 * 10**6, resume=True)
    assert work.items() <= folder_bytes(tmp_path / "c.partial").items()
    ft.count(corpus, tmp_path / "c", min_count=1, resume=True)
    assert not (tmp_path / "c.partial").exists()


def test_a_tokenizer_function_that_changed_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "changing_tokenizer.py"
    module.write_text("def cut(text):\n    return text.split()\n")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("a-b c-d\n" * 50)
    settings: dict[str, Any] = {"min_count": 1, "tokenizer": "changing_tokenizer:cut"}
    with pytest.raises(Killed):
        ft.count(corpus, tmp_path / "c", progress=KillAt(2), **settings)
    with pytest.raises(Killed):
        ft.train(corpus, "ppmi", output=tmp_path / "v", counting=settings, progress=KillAt(2))
    module.write_text("def cut(text):\n    return text.replace('-', ' ').split()\n")
    with pytest.raises(ft.FirthianError, match="was begun with tokenizer_file"):
        ft.count(corpus, tmp_path / "c", resume=True, **settings)
    with pytest.raises(ft.FirthianError, match="was begun with counting tokenizer_file"):
        ft.train(corpus, "ppmi", output=tmp_path / "v", counting=settings, resume=True)


def start(corpus: Path, target: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.counts.driver", str(corpus), str(target), *more]
    return subprocess.Popen(command, cwd=ROOT, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(ft.__file__).parents[1]), str(ROOT)])}


def kill_and_resume(tmp_path: Path, folder_bytes: Bytes, kills: int, seed: int) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 20_000)
    began = time.monotonic()
    assert start(corpus, tmp_path / "whole").wait() == 0
    whole = time.monotonic() - began
    chance = random.Random(seed)
    killed = 0
    for number in range(kills):
        target = tmp_path / "c"
        partial = tmp_path / "c.partial"
        process = start(corpus, target)
        while not partial.exists() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, whole * 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += partial.exists() or not target.exists()
        if not target.exists():
            assert start(corpus, target, "resume").wait() == 0
        assert folder_bytes(target) == folder_bytes(tmp_path / "whole"), number
        assert sorted(item.name for item in tmp_path.iterdir()) == ["c", "corpus.txt", "whole"]
        shutil.rmtree(target)
    assert killed


def test_kill_9_at_two_moments(tmp_path: Path, folder_bytes: Bytes) -> None:
    kill_and_resume(tmp_path, folder_bytes, 2, seed=int(time.time()))


@pytest.mark.slow
def test_kill_9_at_twenty_moments(tmp_path: Path, folder_bytes: Bytes) -> None:
    kill_and_resume(tmp_path, folder_bytes, 20, seed=int(time.time()))


def test_interrupting_keeps_the_work_and_says_so(tmp_path: Path, folder_bytes: Bytes) -> None:
    corpus = tmp_path / "corpus.txt"
    small = write_corpus(tmp_path / "small.txt", 2000).read_text() + "\n"
    corpus.write_text(small * 200)
    command = [sys.executable, "-m", "firthian", "count", str(corpus), "-o", str(tmp_path / "c")]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("c.partial/counting/text-*")) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate()
    assert process.returncode == 130, message
    again = shlex.join(["firth", *command[3:], "--resume"])
    assert message.splitlines() == [f"firth: interrupted: progress is saved; resume with: {again}"]
    assert list(tmp_path.glob("c.partial/counting/text-*"))
    done = subprocess.run([*command, "--resume"], env=environment(), capture_output=True, text=True, check=True)
    assert "pairs in" in done.stdout
    subprocess.run([*command[:-1], str(tmp_path / "whole")], env=environment(), capture_output=True, check=True)
    assert folder_bytes(tmp_path / "c") == folder_bytes(tmp_path / "whole")
    assert not (tmp_path / "c.partial").exists()


def test_count_with_resume_where_nothing_was_begun(tmp_path: Path) -> None:
    counts = count_with(["to be or not"], tmp_path / "c", resume=True)
    assert len(counts.vocabulary) == 4
