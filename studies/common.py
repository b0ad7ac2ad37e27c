"""What studies share: results that are kept, so that a study resumes; tables; the machine."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import firthian
from firthian.storage import write_file

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "studies"

#: The seven sets of the papers, in the order of their tables.
SETS = ("ws353_similarity", "ws353_relatedness", "men", "mturk287", "simlex999", "google", "msr")
SHORT = ("WS sim", "WS rel", "MEN", "MTurk", "SimLex", "Google", "MSR")


class Study:
    """Rows of a study, each computed once and kept in ``studies/results/NAME.json``.

    A ``quick`` one, of small data, keeps its rows, its page and its pictures in ``build/studies/quick``.
    """

    def __init__(self, name: str, quick: bool = False) -> None:
        self.name = name
        folder = ROOT / "build" / "studies" / "quick" if quick else ROOT / "studies" / "results"
        self.pages = folder if quick else PAGES
        self.path = folder / f"{name}.json"
        for place in (folder, self.pages):
            place.mkdir(parents=True, exist_ok=True)
        self.rows = self._kept()

    def _kept(self) -> dict[str, Any]:
        return dict(json.loads(self.path.read_text())) if self.path.exists() else {}

    def row(self, key: str, compute: Callable[[], Any]) -> Any:
        """Give a row, computed now if it was not before."""
        if key not in self.rows:
            begin = time.perf_counter()
            found = compute()
            # Other parts of the study may have been computed in the meantime, by other processes.
            self.rows |= {**self._kept(), key: found}
            print(f"{self.name}: {key} ({time.perf_counter() - begin:.0f} s)", flush=True)
            write_file(self.path, json.dumps(self.rows, indent=1).encode())
        return self.rows[key]

    def picture(self, name: str) -> Path:
        """Say where a picture of the page belongs."""
        return self.pages / f"{self.name}_{name}.png"

    def write(self, text: str) -> Path:
        """Write the page of the study, with where it was made."""
        page = self.pages / f"{self.name}.md"
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        note = f"\n\nMade by `studies/{self.name}.py` with Firthian {firthian.__version__} on {machine}.\n"
        write_file(page, (text.rstrip() + note).encode())
        return page


def scores(vectors: Any) -> dict[str, float]:
    """Evaluate on the seven sets: Spearman, or 3CosAdd (``google mul`` and ``msr mul`` hold 3CosMul)."""
    facts = firthian.evaluate(vectors, sets=list(SETS), resamples=100).to_dict()
    found = {name: facts["similarity"][name]["spearman"] for name in SETS[:5]}
    for name in SETS[5:]:
        found[name] = facts["analogy"][name]["3cosadd"]
        found[f"{name} mul"] = facts["analogy"][name]["3cosmul"]
    return found


def score_cells(found: dict[str, float]) -> list[str]:
    """Write the seven scores, analogies as 3CosAdd / 3CosMul."""
    cells = [f"{found[name]:.3f}" for name in SETS[:5]]
    return cells + [f"{found[name]:.3f} / {found[f'{name} mul']:.3f}" for name in SETS[5:]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """Give a result and its seconds."""
    begin = time.perf_counter()
    result = task()
    return result, time.perf_counter() - begin
