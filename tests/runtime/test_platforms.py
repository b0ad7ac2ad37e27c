"""The main path without what only Linux has: locks of POSIX, /proc, fork, and flags of open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from firthian.disk.atomic import staged
from firthian.errors import FirthianError
from firthian.runtime.memory import container_bytes

HIDDEN = """
import builtins, io, os, pathlib, shutil, sys
shutil._use_fd_functions = False  # as shutil finds out itself on such systems
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "sched_getaffinity", "mkfifo", "geteuid", "O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC"):
    if hasattr(os, name):
        delattr(os, name)
whole = io.open
def opened(file, *rest, **more):
    if str(file).startswith(("/proc", "/sys")) and str(file) != "/proc/self/maps":  # threadpoolctl reads it on Linux
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return whole(file, *rest, **more)
builtins.open = io.open = opened
"""

MAIN_PATH = """
import importlib, pkgutil
import firthian
for module in pkgutil.walk_packages(firthian.__path__, "firthian."):
    if not module.name.endswith("__main__") and ".cluster" not in module.name:
        importlib.import_module(module.name)
from firthian.cli.app import main
from firthian.runtime.memory import anonymous_bytes
assert anonymous_bytes() == 0
corpus = os.path.join(sys.argv[1], "corpus.txt")
pathlib.Path(corpus).write_text("tea with milk\\ncoffee with milk\\n" * 50)
os.chdir(sys.argv[1])
for command in (
    "count corpus.txt -o counts", "train counts -m svd --dim 2 -o vectors", "train counts -m svd --dim 2 -o vectors --force",
    "neighbors vectors tea", "verify counts vectors", "convert vectors vectors.txt --to glove",
):
    assert main(command.split()) == 0, command
assert main(["count", "corpus.txt", "-o", "counts"]) == 2
print(*sorted(os.listdir()))
"""


def test_the_main_path_without_posix(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", HIDDEN + MAIN_PATH, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "corpus.txt counts vectors vectors.txt"


@pytest.mark.parametrize(("name", "value"), [("byteorder", "big"), ("maxsize", 2**31 - 1)])
def test_other_processors_are_refused(name: str, value: object) -> None:
    code = f"import sys, importlib.util\nsys.{name} = {value!r}\nimport firthian"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "a 64-bit Python on a little-endian processor is needed" in done.stderr


def test_a_folder_in_use_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows renames no folder of which a file is open."""
    target = tmp_path / "vectors"
    with staged(target) as staging:
        staging.mkdir()
    rename = Path.rename

    def busy(path: Path, new: Path) -> Path:
        if path == target:
            raise PermissionError(13, "in use", str(path))
        return rename(path, new)

    monkeypatch.setattr(Path, "rename", busy)
    with pytest.raises(FirthianError, match="in use"), staged(target) as staging:
        staging.mkdir()
    assert [item.name for item in tmp_path.iterdir()] == ["vectors"]


@pytest.mark.parametrize(
    ("line", "files", "left"),
    [
        (
            "0::/job",
            {"job/memory.max": "1000", "job/memory.current": "600", "job/memory.stat": "anon 1\ninactive_file 100"},
            [500],
        ),
        (
            "0::/job",
            {"job/memory.max": "max", "job/memory.current": "6", "memory.max": "900", "memory.current": "700"},
            [200],
        ),
        (
            "3:cpu,memory:/job",
            {"memory/job/memory.limit_in_bytes": "1000", "memory/job/memory.usage_in_bytes": "600"},
            [400],
        ),
        ("0::/", {}, []),
    ],
)  # fmt: skip
def test_limits_of_containers(tmp_path: Path, line: str, files: dict[str, str], left: list[int]) -> None:
    (tmp_path / "own").write_text(line + "\n")
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text + "\n")
    assert container_bytes(tmp_path / "own", tmp_path / "groups") == left


def test_a_read_only_home(tmp_path: Path) -> None:
    """Where nothing can be written, compiled code goes to a temporary folder."""
    code = """
import os
os.access = lambda *given: False
import firthian.kernels
from firthian.kernels.floats import *
folder = os.environ["NUMBA_CACHE_DIR"]
assert os.path.isdir(folder)
print(folder)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PATH": "", "HOME": "/nowhere"}
    )
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()
