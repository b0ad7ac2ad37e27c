"""What the parts of the Bayesian study share: the corpus, counts and vectors that are kept, figures of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import firthian as ft
from firthian.datasets import locate
from firthian.disk.atomic import write_file
from studies.common import ROOT

SETS = ("ws353", "men", "google", "msr")

#: About 2 M tokens: the text of a quick study, and of comparisons that need many runs.
SMALL_BYTES = 12_000_000


@dataclass(frozen=True)
class Data:
    """A corpus, how it is counted, and a folder for what several parts use."""

    quick: bool = False

    @property
    def folder(self) -> Path:
        """Where counts and vectors are kept between runs; they can be made again at any time."""
        place = ROOT / "build" / "studies" / ("bayes-quick" if self.quick else "bayes")
        place.mkdir(parents=True, exist_ok=True)
        return place

    @property
    def label(self) -> str:
        """How large the text is."""
        return "2 M tokens" if self.quick else "17 M tokens"

    @property
    def dimension(self) -> int:
        """Of vectors of the whole corpus."""
        return 20 if self.quick else 50

    @cached_property
    def counting(self) -> dict[str, Any]:
        """How text is counted: the recipe's own settings, words seen often enough."""
        return {"window": 5, "weighting": "dynamic", "sample": 1e-3, "min_count": 20 if self.quick else 50}

    @cached_property
    def corpus(self) -> Path:
        """The text of the study: enwiki17m, or its beginning."""
        return self.small if self.quick else locate("enwiki17m")

    @cached_property
    def small(self) -> Path:
        """The first documents of enwiki17m, about 2 M tokens."""
        path = self.folder / "small.txt"
        if not path.exists():
            with locate("enwiki17m").open(encoding="utf-8") as file:
                write_file(path, "".join(file.readlines(SMALL_BYTES)).encode())
        return path

    @cached_property
    def counts(self) -> ft.Counts:
        """The counts of the corpus."""
        path = self.folder / "counts"
        return ft.Counts.load(path) if path.exists() else ft.count(str(self.corpus), path, **self.counting)

    def vectors(self, name: str, make: Callable[[], ft.Vectors]) -> ft.Vectors:
        """Return vectors that were kept, or make them now."""
        path = self.folder / name
        if not path.exists():
            make().save(path)
        return ft.Vectors.load(path)


def figures(vectors: ft.Vectors) -> dict[str, float]:
    """Spearman's correlation on WordSim-353 and MEN, analogies solved by 3CosAdd on Google and MSR."""
    facts = ft.evaluate(vectors, sets=list(SETS), resamples=10).to_dict()
    found = {name: facts["similarity"][name]["spearman"] for name in SETS[:2]}
    return found | {name: facts["analogy"][name]["3cosadd"] for name in SETS[2:]}


def cells(found: dict[str, float]) -> list[str]:
    """Write these figures as cells of a table."""
    return [f"{found[name]:.3f}" for name in SETS]


def figures_line(found: dict[str, Any]) -> str:
    """Write these figures in a sentence."""
    names = ("WordSim-353", "MEN", "Google", "MSR")
    return ", ".join(f"{name} {found[key]:.3f}" for name, key in zip(names, SETS, strict=True))
