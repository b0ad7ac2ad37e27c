"""Run counting jobs with segments and groups far smaller than a user can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firthian.counts.counting import CountingContext, CountJob, run_job
from firthian.counts.counts import Counts
from firthian.runtime.executor import Threads
from firthian.runtime.progress import Silent
from firthian.text.segments import SEGMENT_BYTES


@dataclass(frozen=True)
class Forced(CountingContext):
    """Counts in groups of a given size, whatever the budget allows."""

    tokens: int | None = None

    def group_tokens(self, words: int, spelling: int = 0) -> int:
        """Return the requested size."""
        return self.tokens or super().group_tokens(words, spelling)


def how(workers: int = 2, segment_bytes: int = SEGMENT_BYTES, group_tokens: int | None = None) -> Forced:
    """Return the run context."""
    return Forced(Threads(workers), 10**9, Silent(), segment_bytes, group_tokens)


def count_with(
    corpus: Any,
    target: Path,
    *,
    workers: int = 2,
    segment_bytes: int = SEGMENT_BYTES,
    group_tokens: int | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> Counts:
    """Count a corpus into ``target``."""
    job = CountJob.create(corpus, **{"min_count": 1, **settings})
    run_job(job, target, how(workers, segment_bytes, group_tokens), resume, force)
    return Counts.load(target)


def as_dict(counts: Counts) -> dict[tuple[str, str], float]:
    """Every pair and its value."""
    words = counts.vocabulary.words
    rows = counts.rows_of(0, len(words))
    return {(words[i], words[j]): float(value) for i, j, value in zip(rows, counts.indices, counts.values, strict=True)}
