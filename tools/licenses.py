"""The licenses of what an environment contains: ``python -m tools.licenses [PYTHON]`` prints a table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

#: Licenses that ask for no more than their text and a notice, and for changes to their own files where they are made.
WELCOME = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla Public|HPND|Unlicense|Zlib|CC0|0BSD|LGPL|Boost|BSL-1.0"
    r"|Lesser General|CMU",
    re.IGNORECASE,
)

_LIST = """
import json
from importlib.metadata import distributions
found = {}
for one in distributions():
    told = one.metadata.get("License-Expression") or ""
    if not told:
        classes = [c.split(" :: ")[-1] for c in one.metadata.get_all("Classifier") or () if c.startswith("License ::")]
        told = ", ".join(c for c in classes if c != "OSI Approved") or (one.metadata.get("License") or "").split("\\n")[0][:60]
    found[one.metadata["Name"]] = told or "not stated"
print(json.dumps(found))
"""


def licenses(python: Path | str) -> dict[str, str]:
    """Return the license that each package of an environment states, by name."""
    told = subprocess.run([str(python), "-c", _LIST], capture_output=True, text=True, check=True).stdout
    return dict(sorted(json.loads(told).items(), key=lambda item: str(item[0]).lower()))


def unwanted(found: dict[str, str]) -> dict[str, str]:
    """Return the packages whose license a person should look at.

    >>> unwanted({"a": "MIT", "b": "GPL-3.0-only", "c": "MIT OR GPL-2.0-only", "d": "not stated"})
    {'b': 'GPL-3.0-only', 'd': 'not stated'}
    """
    return {name: told for name, told in found.items() if not WELCOME.search(told)}


if __name__ == "__main__":
    print("| package | license |\n|---|---|")
    for name, told in licenses(sys.argv[1] if len(sys.argv) > 1 else sys.executable).items():
        print(f"| {name} | {told} |")
