"""Resolve Firthian's dependencies as wheels for each platform and Python, without installing anything.

``python -m tools.platforms`` asks pip for wheels only, as on a machine without a compiler, and prints a table.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: What pip calls each platform, the oldest tag that current wheels are built for first.
PLATFORMS = {
    "Linux x86-64": ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"),
    "Linux ARM": ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64"),
    "macOS ARM": ("macosx_11_0_arm64", "macosx_12_0_arm64", "macosx_14_0_arm64"),
    "macOS Intel": ("macosx_10_13_x86_64", "macosx_11_0_x86_64", "macosx_12_0_x86_64", "macosx_14_0_x86_64"),
    "Windows x86-64": ("win_amd64",),
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

#: The columns of the table: extras with compiled libraries; the others are plain Python.
COLUMNS = {"core": (), "with sklearn, viz, web, ann, zstd": ("sklearn", "viz", "web", "ann", "zstd")}


def requirements(extras: tuple[str, ...]) -> list[str]:
    """Return what the core with some extras requires."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(need for extra in extras for need in project["optional-dependencies"][extra])]


def resolve(platform: str, python: str, column: str) -> str:
    """Return "yes", or the package without a wheel."""
    # Markers are evaluated for this machine, so the one for other systems is dropped.
    wanted = [re.sub(r";.*", "", requirement) for requirement in requirements(COLUMNS[column])]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--only-binary", ":all:",
            "--target", folder, "--python-version", python, "--implementation", "cp",
        ]  # fmt: skip
        for tag in PLATFORMS[platform]:
            command += ["--platform", tag]
        done = subprocess.run([*command, *wanted], capture_output=True, text=True)
    if done.returncode == 0:
        return "yes"
    missing = re.findall(
        r"(?:No matching distribution found for|Could not find a version .* requirement) ([\w.-]+)", done.stderr
    )
    return f"no {missing[-1]}" if missing else "no"


def main() -> None:
    """Resolve everything and print the table."""
    cases = [(platform, python, column) for column in COLUMNS for platform in PLATFORMS for python in PYTHONS]
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(cases, pool.map(lambda case: resolve(*case), cases), strict=True))
    lines = [f"| platform | Python | {' | '.join(COLUMNS)} |", "|---" * (2 + len(COLUMNS)) + "|"]
    for platform in PLATFORMS:
        for python in PYTHONS:
            cells = [found[platform, python, column] for column in COLUMNS]
            lines.append(f"| {platform} | {python} | {' | '.join(cells)} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
