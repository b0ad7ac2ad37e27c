"""Where a long computation is: states of its loops on disk, so that it can go on after the end of its process.

A loop is a *stage* with a name; after each step it offers its state, which is written when enough time has passed. A
stage that is found again takes its newest whole state, and the steps after it give the same bytes as they would have. What
was never saved is computed again, so no state has to be there for the result to be right. Nothing is ever pickled.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from firthian.arrays import Array
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import remove, staged
from firthian.disk.stopping import Stop
from firthian.errors import FirthianError, from_os_error

Arrays = Mapping[str, Array]

CHECKPOINT = ArtifactKind("a checkpoint", "state.json")

#: Seconds between two saved steps.
EVERY = 30.0

#: Saving takes at most about this part of the time: states that take long to write are written less often.
LARGEST_SHARE = 0.1

#: States of a stage that are kept: should the newest be damaged, there is the one before.
_GENERATIONS = 2


@dataclass(frozen=True)
class State:
    """A saved step: how many steps are done, arrays (mapped, read-only: copy them) and plain values."""

    step: int
    arrays: dict[str, Array]
    values: dict[str, Any]


class Stage:
    """A loop of a run that keeps nothing: what solvers get unless a place for checkpoints is given."""

    def restore(self) -> State | None:
        """Return the newest saved step, if there is one."""
        return None

    def save(self, step: int, arrays: Arrays | Callable[[], Arrays], **values: Any) -> None:
        """Offer the state after ``step`` steps: everything that the next ones need, random generators too."""


class Checkpoint(Protocol):
    """A place for the states of a run."""

    def stage(self, name: str) -> Stage:
        """Begin a loop, or find it again. In one run a name stands for one computation."""
        ...

    def within(self, name: str) -> Checkpoint:
        """Return the place of what happens inside one loop; its states go when that loop is saved."""
        ...


class Nowhere:
    """Keeps nothing."""

    def stage(self, name: str) -> Stage:
        """Begin a loop."""
        return Stage()

    def within(self, name: str) -> Nowhere:
        """Return the place of what happens inside one loop."""
        return self


class OnDisk:
    """States in a folder: ``NAME@STEP`` with ``state.json`` and ``state.safetensors``, which appear together or not at all."""

    def __init__(self, folder: Path, every: float = EVERY, stop: Stop | None = None, prefix: str = "") -> None:
        self.folder, self.prefix = folder, prefix
        self.clock = Clock(every)
        self.stop = stop or Stop()
        #: States that could not be read, for the user to know.
        self.damaged: list[Path] = []
        self._names: set[str] = set()

    def stage(self, name: str) -> Stage:
        """Begin a loop, or find it again."""
        name = self.prefix + name
        if name in self._names:
            raise ValueError(f"two computations call themselves {name}")
        self._names.add(name)
        self.stop.patient = True
        return _StageOnDisk(self, name)

    def within(self, name: str) -> OnDisk:
        """Return the place of what happens inside one loop."""
        inner = OnDisk.__new__(OnDisk)
        inner.__dict__.update(self.__dict__)
        inner.prefix = f"{self.prefix}{name}."
        return inner

    def _states(self, name: str = "") -> list[tuple[str, int, Path]]:
        """List (stage, step, folder) of all states, or of one stage, the newest first."""
        found = []
        for item in self.folder.glob("*@*") if self.folder.is_dir() else ():
            stage, _, step = item.name.rpartition("@")
            if step.isdecimal() and not stage.startswith(".") and name in ("", stage):
                found.append((stage, int(step), item))
        return sorted(found, key=lambda state: (state[0], -state[1]))

    def read(self, name: str) -> State | None:
        """Return the newest state of a stage that is whole; damaged ones are removed and noted."""
        for _, step, folder in self._states(name):
            try:
                artifact = CHECKPOINT.read(folder)
                record, arrays = artifact.record, artifact.arrays
                arrays |= {part: arrays[part].T for part in record["transposed"]}
                if (record["stage"], record["step"]) == (name, step):
                    return State(step, arrays, record["values"])
            except (FirthianError, KeyError, TypeError, AttributeError):
                pass
            self.damaged.append(folder)
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def write(self, name: str, step: int, arrays: Arrays, values: Mapping[str, Any]) -> None:
        """Write a state, then remove those it makes needless."""
        target = self.folder / f"{name}@{step:09d}"
        # An array stored by columns is restored by columns, because BLAS may round differently.
        transposed = [part for part, array in arrays.items() if array.ndim == 2 and array.T.flags.c_contiguous]
        record = {"stage": name, "step": step, "transposed": transposed, "values": dict(values)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            remove(target)
            with staged(target, sync=True) as staging:
                staging.mkdir()
                by_rows = {part: array.T if part in transposed else array for part, array in arrays.items()}
                CHECKPOINT.write(staging, record, by_rows)
        except OSError as error:
            raise from_os_error(error) from error
        self._remove_old(name)

    def _remove_old(self, name: str) -> None:
        """Keep the newest states of this stage; what happened inside it, or beside it in the same loop, is over."""
        outer, dot, _ = name.rpartition(".")
        for _, _, folder in self._states(name)[_GENERATIONS:]:
            shutil.rmtree(folder, ignore_errors=True)
        for stage, _, folder in self._states():
            if stage.startswith(f"{name}.") or (dot and stage != name and stage.startswith(f"{outer}.")):
                shutil.rmtree(folder, ignore_errors=True)


class Clock:
    """Says when the next state is due."""

    def __init__(self, every: float = EVERY, now: Callable[[], float] = time.monotonic) -> None:
        self.every, self.now = every, now
        self._wait = every
        self._last = now()

    @property
    def due(self) -> bool:
        """Whether enough time has passed."""
        return self.now() - self._last >= self._wait

    def saved(self, begun: float) -> None:
        """Note that a state was written, from ``begun`` until now."""
        self._last = self.now()
        cost = self._last - begun
        self._wait = max(self.every, cost / LARGEST_SHARE) if self.every > 0 else 0.0


class _StageOnDisk(Stage):
    def __init__(self, place: OnDisk, name: str) -> None:
        self.place, self.name = place, name

    def restore(self) -> State | None:
        return self.place.read(self.name)

    def save(self, step: int, arrays: Arrays | Callable[[], Arrays], **values: Any) -> None:
        clock, stop = self.place.clock, self.place.stop
        if not clock.due and stop.requested is None:
            return
        begun = clock.now()
        self.place.write(self.name, step, arrays() if callable(arrays) else arrays, values)
        clock.saved(begun)
        stop.check()
