"""The folder of unfinished training: only the same run resumes, one process at a time, and existing files stay."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import firthian as ft
from firthian.disk import resume as unfinished
from firthian.disk.locks import locked
from firthian.disk.stopping import Interrupted, Stop
from firthian.disk.tensors import write_tensors
from firthian.errors import FirthianError
from tests.killing import KillAt, Killed
from tests.learn.resume.jobs import write_corpus

Bytes = Callable[[Path], dict[str, bytes]]


class StopAfter:
    """Progress that requests a stop after N reports, as a signal does."""

    def __init__(self, reports: int) -> None:
        self.left = reports
        self.stop = Stop()

    def start(self, stage: str, total: float | None = None) -> None:
        self.advance()

    def advance(self, amount: float = 1, note: str = "") -> None:
        self.left -= 1
        if self.left == 0:
            self.stop.requested = 2


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.txt", 300, 60)


def train(corpus: Any, target: Path, recipe: str = "sgns", **changes: Any) -> ft.Vectors:
    settings: dict[str, Any] = {
        "vector_size": 6, "counting": {"min_count": 1}, "output": target, "checkpoint_every": 0, "epochs": 4, **changes,
    }  # fmt: skip
    return ft.train(corpus, recipe, **settings)


def interrupt(corpus: Any, target: Path, reports: int = 14, **changes: Any) -> Path:
    progress = StopAfter(reports)
    with pytest.raises(Interrupted):
        train(corpus, target, progress=progress, stop=progress.stop, **changes)
    partial = target.with_name(target.name + ".partial")
    assert list(partial.glob("steps/*@*"))
    assert not target.exists()
    return partial


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"seed": 2}, "seed 1, not 2"),
    ({"epochs": 5}, "options epochs 4, not 5"),
    ({"vector_size": 7}, "vector size 6, not 7"),
    ({"recipe": "poisson", "epochs": 2}, "not"),
    ({"counting": {"min_count": 1, "window": 3}}, "counting window 5, not 3"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_another_run_is_refused_and_the_work_stays(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, change: dict[str, Any], told: str
) -> None:
    partial = interrupt(corpus, tmp_path / "v")
    before = folder_bytes(partial)
    with pytest.raises(FirthianError, match=told) as caught:
        train(corpus, tmp_path / "v", resume=True, **change)
    assert "start over with force" in caught.value.hint
    assert "\n" not in str(caught.value)
    assert folder_bytes(partial) == before
    train(corpus, tmp_path / "v", resume=True)
    train(corpus, tmp_path / "whole")
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("recipe", ["sgns", "sgns-sgd"])
def test_another_corpus_is_refused(corpus: Path, tmp_path: Path, folder_bytes: Bytes, recipe: str) -> None:
    text = corpus.read_text()
    interrupt(corpus, tmp_path / "v", recipe=recipe)
    corpus.write_text(text.replace("w1 ", "w2 ", 1))
    with pytest.raises(FirthianError, match=r"corpus|data"):
        train(corpus, tmp_path / "v", recipe, resume=True)
    # The same text written again is the same corpus.
    corpus.write_text(text)
    os.utime(corpus, (1, 1))
    train(corpus, tmp_path / "v", recipe, resume=True)
    train(corpus, tmp_path / "whole", recipe)
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


def test_another_column_of_the_same_file_is_another_corpus(corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text().splitlines()
    table = tmp_path / "table.tsv"
    table.write_text("\n".join(["first\tsecond", *(f"{a}\t{b}" for a, b in zip(lines, lines[::-1], strict=True))]))
    columns = [{"counting": {"min_count": 1, "text_column": column}} for column in ("first", "second")]
    interrupt(table, tmp_path / "v", **columns[0])
    with pytest.raises(FirthianError, match="the corpus is not the one"):
        train(table, tmp_path / "v", resume=True, **columns[1])
    train(table, tmp_path / "v", resume=True, **columns[0])


def test_other_counts_are_refused(corpus: Path, tmp_path: Path) -> None:
    ft.count(corpus, tmp_path / "c", min_count=1)
    interrupt(tmp_path / "c", tmp_path / "v", 3, counting=None)
    ft.count(corpus, tmp_path / "c", min_count=1, window=2, force=True)
    with pytest.raises(FirthianError, match="was begun with data"):
        train(tmp_path / "c", tmp_path / "v", counting=None, resume=True)


def test_a_file_named_in_an_option_is_compared_by_what_it_holds(corpus: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("w1 w2 w3 w4\n")
    partial = interrupt(corpus, tmp_path / "v", recipe="semf", analogies=str(questions))
    questions.write_text("w1 w2 w3 w5\n")
    with pytest.raises(FirthianError, match="files analogies"):
        train(corpus, tmp_path / "v", "semf", analogies=str(questions), resume=True)
    assert partial.exists()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"counting": {"min_count": 1, "strict": True}}, "counting strict False, not True"),
    ({"memory": 256 * 10**6, "workers": 10**6}, "memory"),
]


@pytest.mark.parametrize(("change", "told"), REFUSED)
def test_a_refusal_costs_no_work_that_was_found(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, change: dict[str, Any], told: str
) -> None:
    """Also where the counting was not over yet."""
    with pytest.raises(Killed):
        train(corpus, tmp_path / "v", progress=KillAt(2))
    before = folder_bytes(tmp_path / "v.partial")
    assert any("text-" in name for name in before)
    with pytest.raises(FirthianError, match=told):
        train(corpus, tmp_path / "v", resume=True, **change)
    after = folder_bytes(tmp_path / "v.partial")
    assert before.items() <= after.items()


def test_too_little_memory_and_stray_flags_cost_no_steps(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ft.count(corpus, tmp_path / "c", min_count=1)
    partial = interrupt(tmp_path / "c", tmp_path / "v", 3, counting=None)
    before = folder_bytes(partial)
    with pytest.raises(FirthianError, match="do not apply to ready counts"):
        train(tmp_path / "c", tmp_path / "v", resume=True, counting={"window": 3})
    assert folder_bytes(partial) == before
    with monkeypatch.context() as patch:
        patch.setattr("firthian.runtime.memory.MARGIN", 1e6)
        with pytest.raises(FirthianError, match="more than the budget"):
            train(tmp_path / "c", tmp_path / "v", resume=True, counting=None, memory=256 * 10**6)
    assert folder_bytes(partial) == before


@pytest.mark.parametrize("file", ["values.safetensors", "counts.json"])
def test_damaged_counts_are_counted_again(corpus: Path, tmp_path: Path, folder_bytes: Bytes, file: str) -> None:
    partial = interrupt(corpus, tmp_path / "v")
    damaged = partial / "counts" / file
    data = bytearray(damaged.read_bytes())
    data[-3] ^= 1
    damaged.write_bytes(data)
    vectors = train(corpus, tmp_path / "v", resume=True)
    assert "damaged_steps" not in vectors.measured
    train(corpus, tmp_path / "whole")
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("verb", ["train", "count"])
@pytest.mark.parametrize("flag", [{"force": True}, {"resume": True}, {}])
def test_a_folder_of_the_users_is_never_removed(corpus: Path, tmp_path: Path, verb: str, flag: dict[str, bool]) -> None:
    def run() -> None:
        if verb == "train":
            ft.train(corpus, "ppmi", counting={"min_count": 1}, output=tmp_path / "v", **flag)
        else:
            ft.count(corpus, tmp_path / "v", min_count=1, **flag)

    mine = tmp_path / "v.partial"
    mine.mkdir()
    for name, text in (("thesis.tex", "mine"), ("job.json", '{"title": "baker"}')):
        (mine / name).write_text(text)
        with pytest.raises(FirthianError, match="did not write it") as caught:
            run()
        assert "rename it" in caught.value.hint
        assert (mine / name).read_text() == text
        (mine / name).unlink()
    # One without a file is nobody's.
    run()
    assert not mine.exists()


def test_without_resume_or_force_unfinished_work_is_not_touched(corpus: Path, tmp_path: Path) -> None:
    interrupt(corpus, tmp_path / "v")
    with pytest.raises(FirthianError, match="contains an unfinished run"):
        train(corpus, tmp_path / "v")
    train(corpus, tmp_path / "v", epochs=1, force=True)
    assert ft.load(tmp_path / "v").provenance.options["epochs"] == 1
    assert not (tmp_path / "v.partial").exists()


def test_resume_where_nothing_was_begun(corpus: Path, tmp_path: Path) -> None:
    train(corpus, tmp_path / "v", resume=True)
    assert (tmp_path / "v").is_dir()


def test_a_damaged_note_of_the_job_is_told(corpus: Path, tmp_path: Path) -> None:
    partial = interrupt(corpus, tmp_path / "v")
    (partial / "job.json").write_text("{")
    with pytest.raises(FirthianError, match="damaged") as caught:
        train(corpus, tmp_path / "v", resume=True)
    assert "start over with force" in caught.value.hint


def test_a_damaged_step_is_left_out_and_told(corpus: Path, tmp_path: Path, folder_bytes: Bytes) -> None:
    partial = interrupt(corpus, tmp_path / "v")
    newest = max(partial.glob("steps/sweeps@*"))
    tensors = newest / "state.safetensors"
    data = bytearray(tensors.read_bytes())
    data[-1] ^= 1
    tensors.write_bytes(data)
    vectors = train(corpus, tmp_path / "v", resume=True)
    assert vectors.measured["damaged_steps"] == [newest.name]
    train(corpus, tmp_path / "whole")
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("moment", ["result", "replace", "trash"])
@pytest.mark.parametrize("force", [False, True])
def test_dying_while_the_result_is_put_in_its_place(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch, moment: str, force: bool
) -> None:
    train(corpus, tmp_path / "whole")
    if force:
        train(corpus, tmp_path / "v", epochs=1)
    old = folder_bytes(tmp_path / "v") if force else {}
    rename = Path.rename
    with monkeypatch.context() as patch:

        def dying(self: Path, target: Path) -> Path:
            # With force, the old vectors are out of the way by now.
            if moment == "replace" and self.name == "result":
                raise Killed
            if moment == "trash" and self.name == "v.partial":
                raise Killed
            return rename(self, target)

        def dead(*_: object) -> None:
            raise Killed

        patch.setattr(Path, "rename", dying)
        if moment == "result":
            patch.setattr(unfinished, "replace", dead)
        with pytest.raises(Killed):
            train(corpus, tmp_path / "v", force=force)
    if moment == "result":
        assert (folder_bytes(tmp_path / "v") if force else {}) == old
    train(corpus, tmp_path / "v", force=force, resume=True)
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["corpus.txt", "v", "whole"]


def test_a_finished_result_waits_while_the_target_may_not_be_replaced(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dead(*_: object) -> None:
        raise Killed

    train(corpus, tmp_path / "v", epochs=1)
    with monkeypatch.context() as patch:
        patch.setattr(unfinished, "replace", dead)
        with pytest.raises(Killed):
            train(corpus, tmp_path / "v", force=True)
    before = folder_bytes(tmp_path)
    with pytest.raises(FirthianError, match="already exists"):
        train(corpus, tmp_path / "v", resume=True)
    assert folder_bytes(tmp_path) == before
    train(corpus, tmp_path / "v", resume=True, force=True)
    train(corpus, tmp_path / "whole")
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


def test_a_target_that_appears_meanwhile_costs_no_vectors(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = unfinished.replace

    def late(staging: Path, target: Path, force: bool) -> None:
        target.mkdir()
        place(staging, target, force)

    with monkeypatch.context() as patch:
        patch.setattr(unfinished, "replace", late)
        with pytest.raises(FirthianError, match="already exists"):
            train(corpus, tmp_path / "v")
    (tmp_path / "v").rmdir()
    assert train(corpus, tmp_path / "v", resume=True).measured["seconds"] == 0


def test_an_old_result_comes_back_when_its_successor_never_arrived(corpus: Path, tmp_path: Path) -> None:
    train(corpus, tmp_path / "v", epochs=1)
    (tmp_path / "v").rename(tmp_path / ".v.old-1")
    with pytest.raises(FirthianError, match="already exists"):
        train(corpus, tmp_path / "v")
    assert ft.load(tmp_path / "v").provenance.options["epochs"] == 1


# One writer at a time


def test_a_second_process_gets_one_clear_line(corpus: Path, tmp_path: Path, firth: Any) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom firthian.disk.locks import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('ready', flush=True)\n    sys.stdin.read()\n"
    )
    for verb, name in (("train", "v"), ("count", "c")):
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / name)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        outcome = firth(verb, corpus, "-o", tmp_path / name, "--min-count", 1, *_dim(verb))
        outcome.complains(f"{name} is being written by another process ({process.pid})", "wait until it is done")
        process.kill()
        process.communicate()
        # The lock of a process that is dead holds nobody up.
        assert firth(verb, corpus, "-o", tmp_path / name, "--min-count", 1, *_dim(verb)).code == 0
        assert not (tmp_path / f".{name}.lock").exists()


@pytest.mark.parametrize("wait", [False, True])
def test_of_many_writers_one_at_a_time_gets_the_lock(tmp_path: Path, wait: bool) -> None:
    inside, most, refused = 0, 0, 0
    guard = threading.Lock()

    def write() -> None:
        nonlocal inside, most, refused
        for _ in range(200):
            try:
                with locked(tmp_path / "v", wait):
                    with guard:
                        inside += 1
                        most = max(most, inside)
                    with guard:
                        inside -= 1
            except FirthianError:
                refused += 1

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert refused == 0 if wait else refused < 800


# What the system refuses


def test_a_folder_that_cannot_be_written_to(corpus: Path, tmp_path: Path, firth: Any, monkeypatch: Any) -> None:
    place = tmp_path / "closed"
    place.mkdir()
    # Root may write anywhere, so the system's answer is given here.
    monkeypatch.setattr(os, "access", lambda *_: False)
    firth("train", corpus, "-o", place / "v").complains("closed", "is not writable")
    assert not list(place.iterdir())


def test_a_full_disk_keeps_the_work_and_the_old_vectors(
    corpus: Path, tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(corpus, tmp_path / "v", epochs=1)
    old = folder_bytes(tmp_path / "v")

    def full(path: Path, *rest: Any) -> Any:
        if path.name == "vectors.safetensors":
            raise OSError(errno.ENOSPC, "No space left on device", path.name)
        return write_tensors(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr("firthian.disk.artifact.write_tensors", full)
        with pytest.raises(FirthianError, match="the disk is full"):
            train(corpus, tmp_path / "v", force=True)
    assert folder_bytes(tmp_path / "v") == old
    assert list((tmp_path / "v.partial" / "steps").iterdir())
    train(corpus, tmp_path / "v", force=True, resume=True)
    train(corpus, tmp_path / "whole")
    assert folder_bytes(tmp_path / "v") == folder_bytes(tmp_path / "whole")


def test_files_that_may_not_grow(corpus: Path, tmp_path: Path, folder_bytes: Bytes) -> None:
    """The system's own limit on the size of a file, in place of a disk that is really full."""
    ft.count(corpus, tmp_path / "c", min_count=1)
    train(tmp_path / "c", tmp_path / "v", counting=None, epochs=1)
    old = folder_bytes(tmp_path / "v")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    line = [sys.executable, "-m", "firthian", "train", str(tmp_path / "c"), "-o", str(tmp_path / "v"), "--dim", "40"]
    done = subprocess.run(
        [*line, "--force", "--checkpoint-every", "0"], preexec_fn=limit, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "larger than the system allows" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert folder_bytes(tmp_path / "v") == old


def test_an_error_that_would_only_come_again_leaves_nothing(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(FirthianError, match="larger than the vocabulary"):
        train(corpus, tmp_path / "v", vector_size=5000)
    assert [item.name for item in tmp_path.iterdir()] == ["corpus.txt"]


# A corpus that does not keep still


@pytest.mark.parametrize("verb", ["count", "train"])
def test_a_corpus_that_changes_while_it_is_read(tmp_path: Path, firth: Any, monkeypatch: Any, verb: str) -> None:
    from firthian.text import files

    corpus = write_corpus(tmp_path / "corpus.txt", 300, 60)
    decompressed = files.decompressed

    def changing(file: Any) -> Any:
        stream = decompressed(file)
        read = stream.read

        class Changing:
            def read(self, size: int) -> bytes:
                data = bytes(read(size))
                if data:
                    # A byte of what was read already.
                    with corpus.open("r+b") as file:
                        file.write(b"W")
                    os.utime(corpus, (1, 1))
                return data

        return Changing()

    assert firth(verb, corpus, "-o", tmp_path / "old", "--min-count", 1, *_dim(verb)).code == 0
    before = {item: item.read_bytes() for item in (tmp_path / "old").iterdir()}
    monkeypatch.setattr(files, "decompressed", changing)
    outcome = firth(verb, corpus, "-o", tmp_path / "old", "--min-count", 1, "--force", *_dim(verb))
    outcome.complains("corpus.txt changed while it was read", "run again when nothing writes to it")
    assert {item: item.read_bytes() for item in (tmp_path / "old").iterdir()} == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["corpus.txt", "old"]


def test_too_little_memory_for_training_keeps_the_counts(tmp_path: Path) -> None:
    """The remedy, a larger budget, is no other run: what was counted is not counted again."""
    lines = [" ".join(f"w{(line * 7 + place) % 4000}" for place in range(40)) for line in range(1500)]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(lines))
    settings = {"vector_size": 150, "counting": {"min_count": 1, "sample": 0}, "output": tmp_path / "vectors"}
    with pytest.raises(ft.FirthianError, match="more than the budget"):
        ft.train(corpus, "bayes", memory="256MB", epochs=1, **settings)
    assert (tmp_path / "vectors.partial" / "counts" / "counts.json").is_file()


def _dim(verb: str) -> list[object]:
    return ["--dim", 4] if verb == "train" else []
