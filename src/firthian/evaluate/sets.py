"""The common test sets by name, and any file of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from firthian.datasets.word_tasks import Pairs, Questions, read
from firthian.errors import FirthianError, suggest

#: What each suite asks when the user names no set, in the order of the report.
SETS = {
    "similarity": ("ws353", "ws353_similarity", "ws353_relatedness", "men", "mturk287", "simlex999", "rw"),
    "analogy": ("google", "msr"),
}

#: So many questions of Google's file without section lines, the first ones, are semantic.
GOOGLE_SEMANTIC = 8869
GOOGLE_QUESTIONS = 19544

Set = str | os.PathLike[str] | Pairs | Questions


def open_set(wanted: Set, suite: str | None = None) -> Pairs | Questions:
    """Return a set by its name, from a file, or as it is."""
    if isinstance(wanted, Pairs | Questions):
        if not len(wanted):
            raise FirthianError(f"the set {wanted.name} is empty", hint="give it an item, or leave it out")
        return wanted
    if isinstance(wanted, str):
        if not wanted:
            raise FirthianError("a set has no name", hint=f"known are {', '.join(_known())}")
        kind = next((kind for kind, names in SETS.items() if wanted in names), None)
        if kind is not None:
            return _named(wanted, kind)
    path = Path(wanted)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is neither a known set nor a file"
        raise FirthianError(f"{path} {what}", hint=suggest(str(wanted), _known()))
    return read(path, suite)


def _known() -> list[str]:
    return [name for names in SETS.values() for name in names]


def why_absent(name: str) -> str:
    """Say why a common set cannot be had; nothing where it is on this machine, or can be fetched, which is then done."""
    from firthian.datasets import locate

    try:
        locate(name)
    except FirthianError as error:
        return str(error)
    return ""


def is_here(name: str) -> bool:
    """Return whether a common set can be had."""
    return not why_absent(name)


def _named(name: str, kind: str) -> Pairs | Questions:
    from firthian.datasets import locate

    if name == "google":
        if is_here("google-sections"):
            return read(locate("google-sections"), kind, name)
        return _halves(read(locate(name), kind, name))
    found = read(locate(name), kind, name)
    if name == "msr" and isinstance(found, Questions):
        return replace(found, sections=["syntactic"], semantic=[False], section_of=np.zeros(len(found), dtype=np.int64))
    return found


def _halves(found: Pairs | Questions) -> Pairs | Questions:
    """Return Google's questions their two kinds where the file has no section lines."""
    if not isinstance(found, Questions) or found.sections or len(found) != GOOGLE_QUESTIONS:
        return found
    half = (np.arange(len(found)) >= GOOGLE_SEMANTIC).astype(np.int64)
    return replace(found, sections=["semantic", "syntactic"], semantic=[True, False], section_of=half)


def choose(
    sets: Iterable[Set] | str | None, suites: Iterable[str]
) -> tuple[dict[str, list[Pairs | Questions]], dict[str, str]]:
    """Sort the wanted sets by the suite they belong to; give them, and which common sets are not to be had, and why.

    Without a wish, each suite takes all of its common sets that are here.
    """
    suites = [suite for suite in suites if suite in SETS]
    chosen: dict[str, list[Pairs | Questions]] = {suite: [] for suite in suites}
    absent: dict[str, str] = {}
    if sets is None:
        for suite in suites:
            for name in SETS[suite]:
                why = why_absent(name)
                if why:
                    absent[name] = why
                else:
                    chosen[suite].append(open_set(name))
        if suites and not any(chosen.values()):
            raise FirthianError(
                "none of the common test sets is here",
                hint="set FIRTHIAN_DATA, run firth datasets fetch, or give a file",
            )
        return chosen, absent
    wishes = [name.strip() for name in sets.split(",")] if isinstance(sets, str) else list(sets)
    for wish in wishes:
        # Where only one suite was asked for, it says how a file is to be read.
        opened = open_set(wish, suites[0] if len(suites) == 1 else None)
        kind = "similarity" if isinstance(opened, Pairs) else "analogy"
        if kind not in chosen:
            raise FirthianError(f"the set {opened.name} belongs to the suite {kind}", hint=f"ask for --suite {kind}")
        if opened.name in {other.name for other in chosen[kind]}:
            raise FirthianError(f"two sets are called {opened.name}", hint="rename one of the files")
        chosen[kind].append(opened)
    return chosen, absent
