"""States on disk: whole or absent, checked, and never in the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from firthian.disk import artifact, atomic
from firthian.disk.checkpoints import CheckpointFolder, Clock
from firthian.disk.stopping import Interrupted, Stop
from firthian.errors import FirthianError
from firthian.runtime.run import Run


def arrays(step: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(step)
    return {"rows": generator.random((7, 5)), "columns": np.asfortranarray(generator.random((7, 5), dtype=np.float32))}


def saved(folder: Path, steps: int = 3) -> CheckpointFolder:
    place = CheckpointFolder(folder, every=0)
    stage = place.stage("loop")
    for step in range(1, steps + 1):
        stage.save(step, arrays(step), history=[0.1 * n for n in range(step)])
    return place


def test_what_was_saved_comes_back_bit_by_bit(tmp_path: Path) -> None:
    saved(tmp_path)
    state = CheckpointFolder(tmp_path).stage("loop").restore()
    assert state is not None
    assert (state.step, state.values) == (3, {"history": [0.0, 0.1, 0.2]})
    for name, array in arrays(3).items():
        assert state.arrays[name].tobytes() == array.tobytes()
        assert state.arrays[name].flags.c_contiguous == array.flags.c_contiguous


def test_a_generator_goes_on_where_it_was(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    generator.random(10)
    CheckpointFolder(tmp_path, every=0).stage("loop").save(1, {}, generator=generator.bit_generator.state)
    other = np.random.default_rng(6)
    state = CheckpointFolder(tmp_path).stage("loop").restore()
    assert state is not None
    other.bit_generator.state = state.values["generator"]
    assert (other.random(100) == generator.random(100)).all()


def test_two_states_of_a_loop_are_kept(tmp_path: Path) -> None:
    saved(tmp_path, 5)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["loop@000000004", "loop@000000005"]


def test_what_happens_inside_a_loop_goes_when_the_loop_is_saved(tmp_path: Path) -> None:
    place = CheckpointFolder(tmp_path, every=0)
    outer = place.stage("outer")
    inside = place.within("outer")
    place.stage("before").save(1, {})
    outer.save(1, {})
    inside.stage("one").save(1, {})
    inside.stage("two").save(4, {})
    names = {item.name for item in tmp_path.iterdir()}
    assert names == {"before@000000001", "outer@000000001", "outer.two@000000004"}
    outer.save(2, {})
    assert {item.name for item in tmp_path.iterdir()} == {"before@000000001", "outer@000000001", "outer@000000002"}


def test_two_computations_cannot_have_one_name(tmp_path: Path) -> None:
    place = CheckpointFolder(tmp_path)
    place.stage("svd")
    place.within("outer").stage("svd")
    with pytest.raises(ValueError, match="two computations"):
        place.stage("svd")


@pytest.mark.parametrize("file", ["state.json", "state.safetensors"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_state_gives_way_to_the_one_before(tmp_path: Path, file: str, damage: str) -> None:
    generator = np.random.default_rng(0)
    for attempt in range(12):
        folder = tmp_path / str(attempt)
        saved(folder)
        hurt(folder / "loop@000000003" / file, damage, generator)
        place = CheckpointFolder(folder)
        state = place.stage("loop").restore()
        assert state is not None
        assert state.step == 2
        assert state.arrays["rows"].tobytes() == arrays(2)["rows"].tobytes()
        assert [item.name for item in place.damaged] == ["loop@000000003"]
        if damage == "remove":
            break


def hurt(path: Path, damage: str, generator: np.random.Generator) -> None:
    data = bytearray(path.read_bytes())
    at = int(generator.integers(len(data)))
    if damage == "remove":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:at])
    else:
        data[at] ^= 1 << int(generator.integers(8))
        path.write_bytes(data)


def test_when_every_state_is_damaged_the_loop_restarts(tmp_path: Path) -> None:
    saved(tmp_path)
    for item in tmp_path.glob("*/state.json"):
        item.write_text("{}")
    place = CheckpointFolder(tmp_path)
    assert place.stage("loop").restore() is None
    assert len(place.damaged) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("moment", ["write_tensors", "write_manifest", "_sync", "rename"])
def test_dying_inside_a_save_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    place = saved(tmp_path)
    with monkeypatch.context() as patch:
        if moment == "rename":
            patch.setattr(Path, "rename", die)
        else:
            patch.setattr(atomic if moment == "_sync" else artifact, moment, die)
        with pytest.raises(Killed):
            place.write("loop", 4, arrays(4), {})
    again = CheckpointFolder(tmp_path, every=0)
    stage = again.stage("loop")
    state = stage.restore()
    assert state is not None
    assert state.step == 3
    assert not again.damaged
    stage.save(4, arrays(4))
    assert sorted(item.name for item in tmp_path.glob("*")) == ["loop@000000003", "loop@000000004"]


def test_a_disk_that_is_full_is_told_and_the_last_state_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    place = saved(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(artifact, "write_manifest", full)
    with pytest.raises(FirthianError, match="the disk is full"):
        place.write("loop", 4, arrays(4), {})
    state = CheckpointFolder(tmp_path).stage("loop").restore()
    assert state is not None
    assert state.step == 3


def test_saving_takes_a_tenth_of_the_time_at_most() -> None:
    now = [0.0]
    clock = Clock(30, lambda: now[0])
    saves = spent = 0
    while now[0] < 10_000:
        now[0] += 1
        if clock.due:
            begun = now[0]
            now[0] += 20
            clock.saved(begun)
            saves, spent = saves + 1, spent + 20
    assert saves > 10
    assert spent < 0.11 * now[0]


def test_steps_are_not_saved_before_their_time(tmp_path: Path) -> None:
    stage = CheckpointFolder(tmp_path, every=1000).stage("loop")
    stage.save(1, lambda: pytest.fail("nobody wants them"))
    assert not list(tmp_path.iterdir())


def test_a_wish_to_stop_is_granted_once_the_step_is_saved(tmp_path: Path) -> None:
    stop = Stop()
    stage = CheckpointFolder(tmp_path, 1000, stop).stage("loop")
    stage.save(1, arrays(1))
    assert stop.patient
    stop.requested = 15
    with pytest.raises(Interrupted) as caught:
        stage.save(2, arrays(2))
    assert caught.value.code == 143
    state = CheckpointFolder(tmp_path).stage("loop").restore()
    assert state is not None
    assert state.step == 2


def test_what_is_remembered_is_not_computed_again(tmp_path: Path) -> None:
    first = Run(checkpoint=CheckpointFolder(tmp_path, every=0)).remember("start", lambda: arrays(1))
    again = Run(checkpoint=CheckpointFolder(tmp_path)).remember("start", lambda: pytest.fail("computed again"))
    assert all(again[name].tobytes() == array.tobytes() for name, array in first.items())
    again["rows"][0] = 0
    shutil.rmtree(tmp_path)
    assert Run().remember("start", lambda: arrays(2)).keys() == first.keys()
