"""Shared by all studies: saved results, so that a study resumes; tables; the machine."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import firthian
from firthian.datasets import locate
from firthian.disk.atomic import write_file

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "studies"
QUICK = ROOT / "build" / "studies" / "quick"

#: The seven sets of the papers, in the order of their tables.
SETS = ("ws353_similarity", "ws353_relatedness", "men", "mturk287", "simlex999", "google", "msr")
SHORT = ("WS sim", "WS rel", "MEN", "MTurk", "SimLex", "Google", "MSR")

#: A set on which nothing in this project was chosen, to check what was chosen on the others.
HELD_OUT = ("rw",)


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every study."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="on a small corpus, into build/studies/quick")
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="start no row after this many seconds; run again to resume"
    )
    parser.add_argument("--page", action="store_true", help="only write the page from saved rows")
    return parser


class Study:
    """Rows of a study, each computed once and saved in ``studies/results/NAME.json``, so that a stopped study resumes.

    A ``quick`` study runs everything on a small corpus; its rows, page and figures go to ``build/studies/quick``.
    """

    def __init__(self, name: str, quick: bool = False, seconds: float = 0.0, page: bool = False) -> None:
        self.name, self.quick = name, quick
        #: Whether to compute nothing and write the page from saved rows.
        self.page = page
        #: No row starts after this time; 0 seconds means no limit.
        self.until = time.perf_counter() + seconds if seconds else math.inf
        self.pages = QUICK if quick else PAGES
        self.path = (QUICK if quick else ROOT / "studies" / "results") / f"{name}.json"
        self._costs = self.path.parent / "costs" / f"{name}.json"
        for folder in (self.pages, self.path.parent, self._costs.parent):
            folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def of(cls, name: str, chosen: argparse.Namespace) -> Study:
        """Create a study from parsed command-line ``arguments``."""
        return cls(name, chosen.quick, chosen.seconds, chosen.page)

    @property
    def rows(self) -> dict[str, Any]:
        """The saved rows; another run of the study may have added to them."""
        return _read(self.path)

    @property
    def known_costs(self) -> dict[str, Any]:
        """The cost of each row: elapsed seconds (``wall``) and processor seconds (``cpu``)."""
        return _read(self._costs)

    def row(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return a row, computing it if it is not saved."""
        if key not in self.rows:
            if self.page:
                raise SystemExit(f"{self.name}: {key} is not computed yet; run without --page")
            if time.perf_counter() > self.until:
                raise SystemExit(f"{self.name}: out of time before {key}; run again to resume")
            begin, used = time.perf_counter(), _processor_seconds()
            row = compute()
            cost = {"wall": time.perf_counter() - begin, "cpu": _processor_seconds() - used}
            _add(self.path, key, row)
            _add(self._costs, key, {name: round(seconds, 1) for name, seconds in cost.items()})
            print(f"{self.name}: {key} ({cost['wall']:.0f} s)", flush=True)
        return self.rows[key]

    def picture(self, name: str) -> Path:
        """Return the path of one of the page's figures."""
        return self.pages / f"{self.name}_{name}.png"

    def write(self, text: str) -> Path:
        """Write the page of the study, with the versions and machine that produced it."""
        page = self.pages / f"{self.name}.md"
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        parts = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
        note = f"\n\nMade by `studies/{self.name}.py` with Firthian {firthian.__version__} ({parts}) on {machine}.\n"
        write_file(page, (text.rstrip() + note).encode())
        return page


def _read(path: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return known


def _add(path: Path, key: str, value: Any) -> None:
    write_file(path, (json.dumps(_read(path) | {key: value}, indent=1) + "\n").encode())


def _processor_seconds() -> float:
    """Return the processor seconds used by this process and its finished children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def corpus_path(quick: bool) -> str:
    """Return the path of enwiki17m, or of its first 10 MB for a quick study."""
    whole = Path(locate("enwiki17m"))
    if not quick:
        return str(whole)
    part = QUICK / "enwiki-10mb.txt"
    if not part.exists():
        QUICK.mkdir(parents=True, exist_ok=True)
        with whole.open("rb") as file:
            write_file(part, file.read(10_000_000))
    return str(part)


def scores(vectors: Any) -> dict[str, float]:
    """Evaluate on the seven sets: Spearman, or 3CosAdd (``google mul`` and ``msr mul`` hold 3CosMul).

    Where Google's sections are known, ``semantic`` and ``syntactic`` hold 3CosAdd of its two halves. ``rw all`` holds RW with
    unknown words composed, if the vectors have subwords.
    """
    facts = firthian.evaluate(vectors, sets=[*SETS, *HELD_OUT], resamples=10).to_dict()
    found = {name: facts["similarity"][name]["spearman"] for name in (*SETS[:5], *HELD_OUT)}
    for name in SETS[5:]:
        found[name] = facts["analogy"][name]["3cosadd"]
        found[f"{name} mul"] = facts["analogy"][name]["3cosmul"]
    sections = facts["analogy"]["google"].get("sections", {})
    for kind, syntactic in (("semantic", False), ("syntactic", True)):
        chosen = [part for name, part in sections.items() if name.startswith("gram") == syntactic and part["covered"]]
        if chosen:
            right = sum(part["3cosadd"] * part["covered"] for part in chosen)
            found[kind] = right / sum(part["covered"] for part in chosen)
    if vectors.subwords is not None:
        rare = firthian.evaluate(vectors, sets=["rw"], oov="subwords", resamples=10).to_dict()
        found["rw all"] = rare["similarity"]["rw"]["spearman"]
    return found


def score_cells(found: dict[str, float]) -> list[str]:
    """Format the seven scores, analogies as 3CosAdd / 3CosMul."""
    cells = [f"{found[name]:.3f}" for name in SETS[:5]]
    return cells + [f"{found[name]:.3f} / {found[f'{name} mul']:.3f}" for name in SETS[5:]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def skip_gram(corpus: str | Path, size: int, least: int, sg: int = 1) -> firthian.Vectors:
    """Train gensim's skip-gram, or CBOW with ``sg=0``, with its usual settings, for comparison."""
    from gensim.models import Word2Vec

    settings = {"window": 5, "negative": 5, "sg": sg, "epochs": 5, "sample": 1e-3, "workers": 2, "seed": 1}
    model = Word2Vec(corpus_file=str(corpus), vector_size=size, min_count=least, **settings)
    return firthian.Vectors(model.wv.vectors, firthian.Vocabulary(model.wv.index_to_key))


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the seconds it took."""
    begin = time.perf_counter()
    result = task()
    return result, time.perf_counter() - begin
