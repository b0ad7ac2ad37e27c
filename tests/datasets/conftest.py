"""A made-up world of data sets: a data folder, a cache, a package index on disk, and a registry of our own."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from firthian.datasets import registry
from firthian.datasets.registry import Dataset
from firthian.datasets.sources import Source, Wheel


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; no data folder and no mirror unless a test sets one."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FIRTHIAN_CACHE", str(folder))
    monkeypatch.setenv("FIRTHIAN_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FIRTHIAN_MIRROR", raising=False)
    return folder


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Dataset]:
    """Make a registry of one data set: its finished bytes and its sources."""

    def register(finished: bytes, *sources: Source, name: str = "toy") -> Dataset:
        dataset = Dataset(name, "corpus", "a toy", "none", f"{name}.txt", len(finished), sha256(finished), sources)
        monkeypatch.setattr(registry, "DATASETS", (dataset,))
        return dataset

    return register


@pytest.fixture
def make_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Wheel]:
    """Put a wheel into a folder that is all pip can see."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    def make_wheel(members: dict[str, bytes]) -> Wheel:
        path = index / "toydata-1.0-py3-none-any.whl"
        info = "toydata-1.0.dist-info"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in members.items():
                file.writestr(name, text)
            file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toydata\nVersion: 1.0\n")
            file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr(f"{info}/RECORD", "")
        return Wheel("toydata", "1.0", sha256(path.read_bytes()))

    return make_wheel
