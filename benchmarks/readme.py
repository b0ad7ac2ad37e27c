"""Run the commands that README.md shows, and write what they printed into it. ``python -m benchmarks.readme [PART ...]``

Parts are ``train``, ``count`` and ``compare``; without a name, all. What was printed is kept in ``results/readme.json``, and
``benchmarks/tables.py`` fills the README from there. ``--corpus FILE`` takes another text in place of enwiki17m, to try the
script; then nothing is kept or written, only shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, Results
from firthian.datasets import locate
from studies.common import table

FIRTH = (sys.executable, "-m", "firthian")

#: What is typed in each part, in one folder.
SESSIONS = {
    "train": (
        "corpus=$(firth datasets fetch 20newsgroups-text)",
        "firth train $corpus -o vectors",
        "firth neighbors vectors hockey --topn 4",
        "firth similarity vectors car bike",
    ),
    "count": (
        "corpus=$(firth datasets fetch 20newsgroups-text)",
        "firth count $corpus -o counts --min-count 10",
        "firth count $corpus --min-count 10 --dry-run",
    ),
    "compare": ("firth compare enwiki17m.txt -m sgns -m psd -m svd --dim 150 --min-count 50 -o report",),
}

#: The lines of a comparison that are shown; dots stand for the others.
_SHOWN = re.compile(r"counting .* training|│ google  |report:")

#: The sets of the table, and how they are called there.
_SETS = {
    "ws353_similarity": "WordSim similarity",
    "ws353_relatedness": "WordSim relatedness",
    "men": "MEN",
    "mturk287": "MTurk-287",
    "simlex999": "SimLex-999",
    "google": "Google, 3CosAdd",
    "msr": "MSR, 3CosAdd",
}


def typed(commands: tuple[str, ...], folder: Path) -> list[dict[str, str]]:
    """Type commands in a folder; give each with what it printed."""
    variables: dict[str, str] = {}
    session = []
    for line in commands:
        assigned = re.fullmatch(r"(\w+)=\$\((.*)\)", line)
        words = shlex.split(assigned[2] if assigned else line)
        words = [re.sub(r"\$(\w+)", lambda name: variables[name[1]], word) for word in words]
        done = subprocess.run(
            [*FIRTH, *words[1:]], cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}, check=False
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{line} failed:\n{done.stderr}")
        if assigned:
            variables[assigned[1]] = done.stdout.strip()
        session.append({"command": line, "printed": "" if assigned else done.stdout})
    return session


def warm_up(corpus: Path, folder: Path) -> None:
    """Train each recipe on a little text, so that no time that is shown has compiling in it."""
    with corpus.open("rb") as text:
        (folder / "little.txt").write_bytes(text.read(200_000).rpartition(b"\n")[0] + b"\n")
    for recipe in ("sgns", "psd", "svd"):
        typed((f"firth train little.txt -m {recipe} --dim 5 -o warm --force",), folder)


def run(part: str, corpus: Path | None) -> dict[str, Any]:
    """Run a part in a folder of its own; of a comparison keep the scores as well."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = (corpus or locate("enwiki17m" if part == "compare" else "20newsgroups-text")).resolve()
        (folder / "enwiki17m.txt").symlink_to(text)
        if part != "count":
            warm_up(text, folder)
        found: dict[str, Any] = {"session": typed(SESSIONS[part], folder)}
        if part == "compare":
            found["scores"] = scores(json.loads((folder / "report" / "report.json").read_text())["evaluation"])
        return found


def scores(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Take from a report what the table shows: for each set every model's score, what is covered, and the p-values."""
    results, others = evaluation["results"], evaluation["comparisons"]
    found: dict[str, Any] = {"models": [row["vectors"] for row in results], "sets": {}}
    for name in _SETS:
        kind = "similarity" if name in results[0]["similarity"] else "analogy"
        rows = [row[kind][name] for row in results]
        tests = [other[kind][name] for other in others]
        if kind == "analogy":
            facts = {"scores": [row["3cosadd"] for row in rows], "items": rows[0]["questions"]}
            tests = [test["3cosadd"] for test in tests]
        else:
            facts = {"scores": [row["spearman"] for row in rows], "items": rows[0]["pairs"]}
            facts["intervals"] = [row["ci95"] for row in rows]
        found["sets"][name] = facts | {"covered": rows[0]["covered"], "p_values": [test["p_value"] for test in tests]}
    return found


def console(session: list[dict[str, str]], shown: re.Pattern[str] | None = None) -> str:
    """Write a session as a block; lines that are not to be shown become dots."""
    lines = []
    for step in session:
        lines.append(f"$ {step['command']}")
        for line in step["printed"].rstrip().splitlines():
            if shown is None or shown.search(line):
                lines.append(line.rstrip())
            elif lines[-1] != "...":
                lines.append("...")
    return "\n".join(["```console", *lines, "```"]) + "\n"


def score_table(found: dict[str, Any]) -> str:
    """Write the scores of a comparison as a table."""
    first = found["models"][0]
    body = []
    for name, row in found["sets"].items():
        cells = [f"{score:.3f}" for score in row["scores"]]
        if "intervals" in row:
            ends = row["intervals"]
            cells = [f"{cell} [{low:.2f}, {high:.2f}]" for cell, (low, high) in zip(cells, ends, strict=True)]
        chances = ", ".join("<0.001" if value < 0.001 else f"{value:.3f}" for value in row["p_values"])
        body.append([_SETS[name], *cells, f"{row['covered']:,} of {row['items']:,}", chances])
    return table(["", *(f"`{model}`" for model in found["models"]), "covered", f"p against `{first}`"], body)


#: Each block of the README: the part it is of, and how it is written.
BLOCKS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "train": ("train", lambda row: console(row["session"])),
    "count": ("count", lambda row: console(row["session"][:2])),
    "dry-run": ("count", lambda row: console(row["session"][2:])),
    "compare": ("compare", lambda row: console(row["session"], _SHOWN)),
    "scores": ("compare", lambda row: score_table(row["scores"])),
}


def block(name: str) -> str:
    """Return a block of the README from what was kept."""
    part, write = BLOCKS[name]
    return write(json.loads((FOLDER / "readme.json").read_text())["rows"][part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {', '.join(SESSIONS)}")
    parser.add_argument("--corpus", type=Path, help="another text, to try it: nothing is kept")
    given = parser.parse_args()
    parts = given.parts or list(SESSIONS)
    if unknown := set(parts) - set(SESSIONS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(SESSIONS)}")
    if given.corpus:
        found = {part: run(part, given.corpus) for part in parts}
        print("\n".join(write(found[part]) for part, write in BLOCKS.values() if part in found))
        return
    results = Results("readme")
    for part in parts:
        results.put(part, run(part, None))
    from benchmarks import tables

    tables.write()


if __name__ == "__main__":
    main()
