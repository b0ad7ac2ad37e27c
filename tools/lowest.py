"""The lowest versions that pyproject.toml promises, as constraints for pip: ``pip install -e '.[test]' -c lowest.txt``.

What a user can install counts: the package and its extras. Tools for development come in their current versions.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

DEVELOPMENT = {"docs", "bench", "test", "heavy", "fuzz", "dev"}


def lowest(project: dict[str, Any]) -> dict[str, str]:
    """The lowest version of every library, by name.

    >>> extras = {"cluster": ["ray[client]>=2.30"], "test": ["pytest>=8"]}
    >>> lowest({"dependencies": ["numpy>=1.26"], "optional-dependencies": extras})
    {'numpy': '1.26', 'ray': '2.30'}
    """
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(need for extra in extras.keys() - DEVELOPMENT for need in extras[extra])]
    found: dict[str, str] = {}
    for need in sorted(needs, key=str.lower):
        parts = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)(?:;.*)?", need)
        if parts is None:
            raise ValueError(f"{need!r} in pyproject.toml has no lowest version, or more than that")
        name, version = parts.groups()
        if found.setdefault(name, version) != version:
            raise ValueError(f"pyproject.toml asks for {name} {found[name]} here and {version} there")
    return found


if __name__ == "__main__":
    pyproject = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())
    for name, version in lowest(pyproject["project"]).items():
        # The series, so that the patch release 1.26.4 may stand for 1.26.0.
        print(f"{name}=={version}.*")
