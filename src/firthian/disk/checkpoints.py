"""Checkpoints of loops on disk, so that a long computation survives the end of its process.

A loop is a *stage* with a name; after each step it offers its state, which is written if enough time has passed. A stage
that is restored continues from its newest complete checkpoint, and the steps after it produce the same bytes as they
would have. What was never saved is computed again, so the result is right without any checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firthian.arrays import Array
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import remove, staged
from firthian.disk.stopping import Stop
from firthian.errors import FirthianError, os_errors

Arrays = Mapping[str, Array]

CHECKPOINT = ArtifactKind("a checkpoint", "state.json")

#: Seconds between two checkpoints.
EVERY = 30.0

#: The largest share of the time spent on saving; checkpoints that take long to write are written less often.
LARGEST_SHARE = 0.1

#: Checkpoints kept of each stage: if the newest is damaged, the one before is used.
_GENERATIONS = 2


@dataclass(frozen=True)
class Checkpoint:
    """A saved step: the number of steps done, arrays (mapped, read-only: copy them) and plain values."""

    step: int
    arrays: dict[str, Array]
    values: dict[str, Any]


class Stage:
    """A loop without checkpoints, unless a subclass keeps them."""

    def restore(self) -> Checkpoint | None:
        """Return the newest checkpoint, if there is one."""
        return None

    def resume(self, arrays: Arrays) -> Checkpoint:
        """Copy the newest checkpoint into arrays of the same names and return it; one of 0 steps if there is none."""
        state = self.restore() or Checkpoint(0, {}, {})
        for name, array in state.arrays.items():
            arrays[name][...] = array
        return state

    def save(self, step: int, arrays: Arrays | Callable[[], Arrays], **values: Any) -> None:
        """Offer the state after ``step`` steps: everything that later steps need, including random generators."""


class CheckpointStore:
    """Keeps no checkpoints of a run, unless a subclass does."""

    def stage(self, name: str) -> Stage:
        """Begin or restore a loop; in one run a name belongs to one computation."""
        return Stage()

    def within(self, name: str) -> CheckpointStore:
        """Return the store for loops inside a loop; their checkpoints go when that loop is saved."""
        return self


class CheckpointFolder(CheckpointStore):
    """Checkpoints in a folder, each a folder ``NAME@STEP`` that appears whole or not at all."""

    def __init__(self, folder: Path, every: float = EVERY, stop: Stop | None = None, prefix: str = "") -> None:
        self.folder, self.prefix = folder, prefix
        self.clock = Clock(every)
        self.stop = stop or Stop()
        #: Checkpoints that could not be read, to be reported to the user.
        self.damaged: list[Path] = []
        self._names: set[str] = set()

    def stage(self, name: str) -> Stage:
        """Begin or restore a loop."""
        name = self.prefix + name
        if name in self._names:
            raise ValueError(f"two computations have the name {name}")
        self._names.add(name)
        self.stop.patient = True
        return _SavedStage(self, name)

    def within(self, name: str) -> CheckpointFolder:
        """Return the store for loops inside a loop."""
        inner = CheckpointFolder.__new__(CheckpointFolder)
        inner.__dict__.update(self.__dict__)
        inner.prefix = f"{self.prefix}{name}."
        return inner

    def _list(self, name: str = "") -> list[tuple[str, int, Path]]:
        """List (stage, step, folder) of all checkpoints, or of one stage, the newest first."""
        result = []
        for item in self.folder.glob("*@*") if self.folder.is_dir() else ():
            stage, _, step = item.name.rpartition("@")
            if step.isdecimal() and not stage.startswith(".") and name in ("", stage):
                result.append((stage, int(step), item))
        return sorted(result, key=lambda item: (item[0], -item[1]))

    def read(self, name: str) -> Checkpoint | None:
        """Return the newest complete checkpoint of a stage; damaged ones are removed and noted."""
        for _, step, folder in self._list(name):
            try:
                artifact = CHECKPOINT.read(folder)
                record, arrays = artifact.record, artifact.arrays
                arrays |= {part: arrays[part].T for part in record["transposed"]}
                if (record["stage"], record["step"]) == (name, step):
                    return Checkpoint(step, arrays, record["values"])
            except (FirthianError, KeyError, TypeError, AttributeError):
                pass
            self.damaged.append(folder)
            remove(folder)
        return None

    def write(self, name: str, step: int, arrays: Arrays, values: Mapping[str, Any]) -> None:
        """Write a checkpoint, then remove those it replaces."""
        target = self.folder / f"{name}@{step:09d}"
        # An array stored by columns is restored by columns, because BLAS may round differently.
        transposed = [part for part, array in arrays.items() if array.ndim == 2 and array.T.flags.c_contiguous]
        record = {"stage": name, "step": step, "transposed": transposed, "values": dict(values)}
        with os_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            remove(target)
            with staged(target, sync=True) as staging:
                staging.mkdir()
                by_rows = {part: array.T if part in transposed else array for part, array in arrays.items()}
                CHECKPOINT.write(staging, record, by_rows)
        self._remove_old(name)

    def _remove_old(self, name: str) -> None:
        """Keep the newest checkpoints of this stage; those inside it, or beside it in the same loop, are outdated."""
        outer, dot, _ = name.rpartition(".")
        for _, _, folder in self._list(name)[_GENERATIONS:]:
            remove(folder)
        for stage, _, folder in self._list():
            if stage.startswith(f"{name}.") or (dot and stage != name and stage.startswith(f"{outer}.")):
                remove(folder)


class Clock:
    """Decides when the next checkpoint is due."""

    def __init__(self, every: float = EVERY, now: Callable[[], float] = time.monotonic) -> None:
        self.every, self.now = every, now
        self._wait = every
        self._last = now()

    @property
    def due(self) -> bool:
        """Whether enough time has passed."""
        return self.now() - self._last >= self._wait

    def saved(self, begun: float) -> None:
        """Note that a checkpoint was written, from ``begun`` until now."""
        self._last = self.now()
        cost = self._last - begun
        self._wait = max(self.every, cost / LARGEST_SHARE) if self.every > 0 else 0.0


class _SavedStage(Stage):
    def __init__(self, store: CheckpointFolder, name: str) -> None:
        self.store, self.name = store, name

    def restore(self) -> Checkpoint | None:
        return self.store.read(self.name)

    def save(self, step: int, arrays: Arrays | Callable[[], Arrays], **values: Any) -> None:
        clock, stop = self.store.clock, self.store.stop
        if not clock.due and stop.requested is None:
            return
        begun = clock.now()
        self.store.write(self.name, step, arrays() if callable(arrays) else arrays, values)
        clock.saved(begun)
        stop.check()
