"""Common test sets by name, and the user's own files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from firthian.datasets.word_tasks import Pairs, Questions, read
from firthian.errors import FirthianError, suggest

#: The default sets of each suite, in report order.
SETS = {
    "similarity": ("ws353", "ws353_similarity", "ws353_relatedness", "men", "mturk287", "simlex999", "rw"),
    "analogy": ("google", "msr"),
}

#: In Google's file without section lines, the first questions are the semantic ones.
GOOGLE_SEMANTIC = 8869
GOOGLE_QUESTIONS = 19544

Set = str | os.PathLike[str] | Pairs | Questions


def open_set(source: Set, suite: str | None = None) -> Pairs | Questions:
    """Return a set by its name, from a file, or as it is."""
    if isinstance(source, Pairs | Questions):
        if not len(source):
            raise FirthianError(f"the set {source.name} is empty", hint="add an item, or omit it")
        return source
    names = [name for names in SETS.values() for name in names]
    if isinstance(source, str):
        if not source:
            raise FirthianError("a set has no name", hint=f"choose from: {', '.join(names)}")
        if source in names:
            return _open_common(source)
    path = Path(source)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is neither a known set nor a file"
        raise FirthianError(f"{path} {what}", hint=suggest(str(source), names))
    return read(path, suite)


def why_absent(name: str) -> str:
    """Return why a common set is not available; empty if it is on this machine or could be fetched now."""
    from firthian.datasets import locate

    try:
        locate(name)
    except FirthianError as error:
        return str(error)
    return ""


def _open_common(name: str) -> Pairs | Questions:
    from firthian.datasets import locate

    kind = "analogy" if name in SETS["analogy"] else "similarity"
    if name == "google" and not why_absent("google-sections"):
        return read(locate("google-sections"), kind, name)
    items = read(locate(name), kind, name)
    if not isinstance(items, Questions):
        return items
    if name == "msr":
        return replace(items, sections=["syntactic"], semantic=[False], section_of=np.zeros(len(items), dtype=np.int64))
    if name == "google" and not items.sections and len(items) == GOOGLE_QUESTIONS:
        half = (np.arange(len(items)) >= GOOGLE_SEMANTIC).astype(np.int64)
        return replace(items, sections=["semantic", "syntactic"], semantic=[True, False], section_of=half)
    return items


def choose(
    sets: Iterable[Set] | str | None, suites: Iterable[str]
) -> tuple[dict[str, list[Pairs | Questions]], dict[str, str]]:
    """Open the requested sets, by suite; also return the common sets that are not available, and why.

    By default, each suite gets all of its common sets that are available.
    """
    suites = [suite for suite in suites if suite in SETS]
    chosen: dict[str, list[Pairs | Questions]] = {suite: [] for suite in suites}
    absent: dict[str, str] = {}
    if sets is None:
        for suite in suites:
            for name in SETS[suite]:
                if why := why_absent(name):
                    absent[name] = why
                else:
                    chosen[suite].append(open_set(name))
        if suites and not any(chosen.values()):
            remedy = "set FIRTHIAN_DATA, run firth datasets fetch, or pass a file"
            raise FirthianError("none of the common test sets is available", hint=remedy)
        return chosen, absent
    for source in [name.strip() for name in sets.split(",")] if isinstance(sets, str) else sets:
        # With a single suite, there is no doubt how to read a file.
        opened = open_set(source, suites[0] if len(suites) == 1 else None)
        kind = "similarity" if isinstance(opened, Pairs) else "analogy"
        if kind not in chosen:
            raise FirthianError(f"the set {opened.name} belongs to the suite {kind}", hint=f"add `suite={kind}`")
        if opened.name in {other.name for other in chosen[kind]}:
            raise FirthianError(f"two sets are called {opened.name}", hint="rename one of the files")
        chosen[kind].append(opened)
    return chosen, absent
