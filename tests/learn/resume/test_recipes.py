"""Every recipe resumes after an interruption, to the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from firthian.disk import atomic, checkpoints
from tests.killing import KillAt, Killed
from tests.learn.resume.jobs import WAYS, Way, train

Bytes = Callable[[Path], dict[str, bytes]]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here, and every step is saved: it need not reach the disk itself."""
    monkeypatch.setattr(atomic, "_sync", lambda path: None)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture
def taken_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The loops that resumed from a saved state."""
    names: list[str] = []
    read = checkpoints.CheckpointFolder.read

    def noting(self: checkpoints.CheckpointFolder, name: str) -> checkpoints.Checkpoint | None:
        state = read(self, name)
        names.extend([name] * (state is not None))
        return state

    monkeypatch.setattr(checkpoints.CheckpointFolder, "read", noting)
    return names


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.label)
def test_it_goes_on_to_the_same_bytes(
    way: Way, shared: Path, tmp_path: Path, folder_bytes: Bytes, taken_up: list[str]
) -> None:
    train(way, shared, None).save(tmp_path / "plain")
    counter = KillAt(10**9)
    train(way, shared, tmp_path / "whole", progress=counter)
    reports = 10**9 - counter.left
    wanted = folder_bytes(tmp_path / "plain")
    assert folder_bytes(tmp_path / "whole") == wanted
    for share in (0.5, 0.95):
        target = tmp_path / f"at-{share}"
        with pytest.raises(Killed):
            train(way, shared, target, progress=KillAt(int(share * (reports - 1))))
        partial = tmp_path / f"at-{share}.partial"
        assert not target.exists()
        saved = bool(list(partial.glob("steps/*@*")))
        taken_up.clear()
        train(way, shared, target, resume=True, workers=1)
        assert folder_bytes(target) == wanted, share
        assert not partial.exists()
    # The last of these interruptions came after a step, where the resumed run began.
    assert saved == bool(taken_up) == way.has_steps


def test_the_corpus_of_these_tests_needs_a_krylov_search(shared: Path) -> None:
    from firthian.learn.linalg.krylov import DENSE_ROWS

    assert len(train(Way("psd", "psd"), shared, None)) > DENSE_ROWS


def test_a_resumed_run_does_not_begin_again(shared: Path, tmp_path: Path) -> None:
    way = Way("sgns", "sgns", {"epochs": 8})
    counter = KillAt(10**9)
    train(way, shared, tmp_path / "whole", progress=counter)
    reports = 10**9 - counter.left
    with pytest.raises(Killed):
        train(way, shared, tmp_path / "v", progress=KillAt(reports - 3))
    rest = KillAt(10**9)
    vectors = train(way, shared, tmp_path / "v", progress=rest, resume=True)
    assert 10**9 - rest.left < reports / 2
    assert np.isfinite(vectors.matrix).all()
