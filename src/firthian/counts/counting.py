"""A corpus -> Counts on disk: tokenize once, settle the vocabulary, count group by group, merge.

Everything unfinished lies in ``NAME.partial`` beside the target. A run that was killed goes on from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counts import COUNTS, Counts, temporary_target, write_counts
from firthian.counts.distributed import count_apart
from firthian.counts.rows import (
    BLOCK_PAIRS,
    DiskRun,
    RowBlock,
    count_blocks,
    finished_runs,
    merge_blocks,
    write_run,
)
from firthian.counts.settings import CountSettings, WindowSettings
from firthian.counts.streams import BYTES_PER_TOKEN, groups
from firthian.disk.atomic import remove
from firthian.disk.resume import PartialFolder, holds_work
from firthian.errors import FirthianError
from firthian.options import listing
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor, limit_workers
from firthian.runtime.memory import INTERPRETER_BYTES, check_budget, show_size
from firthian.runtime.progress import Progress, Silent
from firthian.text.distributed import KeptSpool, tokenize_apart
from firthian.text.phrases import PhraseOptions, find_phrases
from firthian.text.readers import Corpus, open_corpus
from firthian.text.segments import SEGMENT_BYTES, WORKER_BYTES
from firthian.text.spool import Spool, tokenize_corpus
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import NoWordsLeftError, VocabularyLimits, VocabularyResult, build_vocabulary
from firthian.text.vocabulary import read_words

#: What a word of the vocabulary takes: its string, its place in the index and the lists, its counts and sums.
BYTES_PER_WORD = 300

#: At most so many runs are open at once; more are merged in rounds.
OPEN_RUNS = 32

#: What a pair takes while its block is merged: column and sum, before and after.
BYTES_PER_PAIR = 24


@dataclass(frozen=True)
class CountJob:
    """A corpus and all that decides what its counts will be, whatever the workers and memory."""

    corpus: Corpus
    tokenizer: Tokenizer
    limits: VocabularyLimits
    options: WindowSettings
    phrases: PhraseOptions | None = None
    strict: bool = False

    @classmethod
    def create(cls, corpus: Any, **settings: Any) -> CountJob:
        """Check the settings a user passed to ``count``, and read the files they name."""
        given = CountSettings.create(settings)
        only = read_words(given.vocabulary)
        min_count = given.min_count if given.min_count is not None else 5 if only is None else 1
        tokenizer, score = given.tokenizer, given.phrases
        return cls(
            corpus=open_corpus(corpus, given.format, given.text_column),
            tokenizer=tokenizer
            if isinstance(tokenizer, Tokenizer)
            else Tokenizer(tokenizer, given.keep_case, given.fold_numbers),
            limits=VocabularyLimits(min_count, given.max_vocab, only, read_words(given.stop_words) or frozenset()),
            options=given.windows,
            phrases=None
            if score is None
            else PhraseOptions(score, given.phrase_threshold, given.phrase_min_count, given.phrase_passes),
            strict=given.strict,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings by name."""
        limits = self.limits
        return {
            **self.options.as_dict(),
            **self._cutting(),
            "min_count": limits.min_count,
            "max_vocab": limits.max_vocab,
            "word_list": _list_hash(limits.only),
            "stop_words": _list_hash(limits.stop_words or None),
            "phrases": self.phrases.as_dict() if self.phrases else None,
        }

    def _cutting(self) -> dict[str, Any]:
        said = self.tokenizer.describe()
        # Tokens that were given are neither cut nor lower-cased here; whoever cut them knows context.
        return {**said, "tokenizer": None, "keep_case": None} if self.corpus.tokenized else said

    def describe_reading(self) -> dict[str, Any]:
        """Return what no record tells, but a run that goes on must have in common with the one that began."""
        return {"strict": self.strict, "tokenizer_file": self.tokenizer.file_hash()}


def _list_hash(words: Iterable[str] | None) -> str | None:
    if words is None:
        return None
    return hashlib.sha256("\n".join(sorted(words)).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class CountingContext:
    """Workers, memory and what to tell; none of it changes a byte of the result."""

    executor: Executor
    budget: int
    progress: Progress
    segment_bytes: int = SEGMENT_BYTES

    @property
    def block_pairs(self) -> int:
        """How many pairs a block of rows may hold, so that all blocks in flight take a quarter of the budget at most."""
        return min(BLOCK_PAIRS, self.budget // 4 // (self._in_flight * BYTES_PER_PAIR))

    @property
    def _in_flight(self) -> int:
        # Elsewhere each worker has a memory of its own.
        return (1 if self.executor.remote else self.executor.workers) + 2

    def group_tokens(self, words: int) -> int:
        """How many tokens can be counted at once: what the fixed parts leave of the budget."""
        in_flight = self._in_flight * (max(self.block_pairs, words) * BYTES_PER_PAIR + words * 9)
        fixed = INTERPRETER_BYTES + in_flight + words * BYTES_PER_WORD
        left = self.budget - fixed
        if left < self.budget // 16:
            raise FirthianError(
                f"a vocabulary of {words:,} words needs more than {show_size(self.budget)} of memory",
                hint=f"give --memory {show_size(fixed * 1.2).replace(' ', '')}, fewer --workers, or raise --min-count",
            )
        return left // BYTES_PER_TOKEN

    @property
    def readers(self) -> Executor:
        """Workers that tokenize: as many as the budget has room for, while it is needed for nothing else."""
        return limit_workers(self.executor, (self.budget - INTERPRETER_BYTES) // WORKER_BYTES)

    @property
    def rereaders(self) -> Executor:
        """Workers that read segments again, beside all that counting takes."""
        return limit_workers(self.executor, (self.budget - INTERPRETER_BYTES) // 4 // WORKER_BYTES)


def run_job(job: CountJob, target: Path, context: CountingContext, resume: bool = False, force: bool = False) -> None:
    """Count a corpus into the folder ``target``, unless another process is writing there."""
    partial = PartialFolder(target, COUNTS.manifest)
    note = {**job.describe(), **job.describe_reading(), "segment_bytes": context.segment_bytes, "firthian": __version__}
    with partial.opened(note, resume, force):
        if not partial.finished:
            count_into(job, partial.folder / "counting", partial.new_result(), context)
        partial.deliver(force)


def count_into(job: CountJob, work: Path, target: Path, context: CountingContext) -> None:
    """Count a corpus into an empty folder; what an interrupted attempt left in ``work`` is used.

    A first attempt that fails leaves nothing there: its errors would only occur again.
    """
    work.mkdir(exist_ok=True)
    resumed = holds_work(work)
    try:
        spool, result, record = prepare(job, work, context)
        job.options.check_sums(int(result.vocabulary.counts[0]))
        _count_spool(spool, result, job.options, work, target, record, context)
    except (FirthianError, OSError):
        remove(target)
        if not resumed:
            remove(work)
        raise


def count_temporary(job: CountJob, context: CountingContext) -> Counts:
    """Count a corpus; the counts live as long as the object."""
    target = temporary_target()
    try:
        run_job(job, target, context)
    except BaseException:
        shutil.rmtree(target.parent, ignore_errors=True)
        raise
    return Counts.load_temporary(target)


def prepare(job: CountJob, folder: Path, context: CountingContext) -> tuple[Spool, VocabularyResult, dict[str, Any]]:
    """Tokenize into a folder, join phrases, settle the vocabulary, and write down where it comes from."""
    tokenize = tokenize_apart if context.executor.remote else tokenize_corpus
    spool = tokenize(
        job.corpus, job.tokenizer, folder, context.readers, context.progress, job.strict, context.segment_bytes
    )
    found_phrases = 0
    if job.phrases is not None:
        spool, found_phrases = _join_phrases(spool, job.phrases, context)
    context.progress.start("building vocabulary")
    result = build_vocabulary(spool.tables, job.limits, (context.budget - INTERPRETER_BYTES) // 2, spool.types)
    return spool, result, _record(job, spool, result, found_phrases)


def _join_phrases(spool: Spool, options: PhraseOptions, context: CountingContext) -> tuple[Spool, int]:
    """Find and join phrases, as often as asked."""
    found = 0
    adjacent = WindowSettings(window=1, weighting="flat", context="left", keep_positions=True, dtype="float64")
    for number in range(options.passes):
        context.progress.start(f"finding phrases {number + 1}")
        limits = VocabularyLimits(min_count=options.min_count)
        try:
            result = build_vocabulary(spool.tables, limits, (context.budget - INTERPRETER_BYTES) // 2, spool.types)
        except NoWordsLeftError:
            break
        folder = spool.folder / f"phrases-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        _count_spool(spool, result, adjacent, folder, folder, {}, context)
        bigrams = Counts.load(folder, verify=False)
        # A window of one word to the left: X[i, j] counts j directly before i.
        first, second = np.asarray(bigrams.indices), bigrams.rows_of(0, len(bigrams.vocabulary))
        together = np.asarray(bigrams.values, dtype=np.float64)
        phrases = find_phrases(bigrams.vocabulary, first, second, together, spool.tokens, options)
        found += phrases.left.size
        spool = spool.map(phrases.join, f"phrases{number}", context.rereaders)
        shutil.rmtree(folder)
    return spool, found


def _count_spool(
    spool: Spool,
    result: VocabularyResult,
    options: WindowSettings,
    folder: Path,
    staging: Path,
    record: dict[str, Any],
    context: CountingContext,
) -> None:
    """Count in as many groups as memory asks for; one group is written straight to its place."""
    vocabulary = result.vocabulary
    words = len(vocabulary)
    weights, _ = options.integer_weights()
    before, after = options.sides(weights)
    if isinstance(spool, KeptSpool):
        context.progress.start("counting windows", spool.tokens)
        blocks = count_apart(
            spool, vocabulary, options, context.executor, context.group_tokens(words), context.progress
        )
        write_counts(staging, blocks, vocabulary, options, record)
        return
    # The budget may be another one than that of the attempt whose runs we find: only segments say what is done.
    runs = finished_runs(folder, spool.sha256, words)
    done = runs[-1].segments[1] if runs else 0
    context.progress.start("counting windows", spool.tokens)
    context.progress.advance(sum(size.tokens for size in spool.sizes[:done]))
    for group in groups(spool, vocabulary, options, context.rereaders, context.group_tokens(words), skip=done):
        blocks = count_blocks(group.stream, group.core, words, before, after, context.executor, context.block_pairs)
        if group.segments == (0, spool.segments):
            write_counts(staging, blocks, vocabulary, options, record)
            return
        runs.append(write_run(folder, group.segments, spool.sha256, blocks))
        context.progress.advance(sum(size.tokens for size in spool.sizes[slice(*group.segments)]))
        del blocks, group
    context.progress.start("merging")
    runs = _merge_rounds(runs, folder, spool.sha256, words, context)
    write_counts(staging, _merged(runs, words, context), vocabulary, options, record)


def _merge_rounds(
    runs: list[DiskRun], folder: Path, corpus: str, words: int, context: CountingContext
) -> list[DiskRun]:
    """Merge neighboring runs until few enough are left to be open together."""
    while len(runs) > OPEN_RUNS:
        fewer: list[DiskRun] = []
        for first in range(0, len(runs), OPEN_RUNS):
            batch = runs[first : first + OPEN_RUNS]
            if len(batch) == 1:
                fewer += batch
                continue
            segments = (batch[0].segments[0], batch[-1].segments[1])
            fewer.append(write_run(folder, segments, corpus, _merged(batch, words, context)))
            for run in batch:
                shutil.rmtree(run.folder)
        runs = fewer
    return runs


def _merged(runs: list[DiskRun], words: int, context: CountingContext) -> Iterator[RowBlock]:
    sizes = np.sum([np.diff(run.pointers) for run in runs], axis=0)
    return merge_blocks(list(runs), sizes, words, context.executor, context.block_pairs)


def _record(job: CountJob, spool: Spool, result: VocabularyResult, phrases: int) -> dict[str, Any]:
    """Say where the counts come from. Nothing here depends on workers, memory, time or resuming."""
    return {
        "corpus": {
            "names": job.corpus.names(),
            "sha256": spool.sha256,
            "text_bytes": sum(size.text_bytes for size in spool.sizes),
            "documents": spool.documents,
            "tokens": spool.tokens,
            "types": result.types,
            "undecodable_bytes": sum(size.undecodable for size in spool.sizes),
        },
        "settings": job.describe(),
        "vocabulary": {
            "words": len(result.vocabulary),
            "tokens": int(result.vocabulary.counts.sum()),
            "absent": len(result.absent),
        },
        "phrases": phrases,
        "firthian": __version__,
    }


@listing(CountSettings)
def count(
    corpus: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    memory: str | int | None = None,
    workers: int | None = None,
    cluster: str | Executor | None = None,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Counts:
    """Count which words occur near which in a corpus.

    ``corpus`` is a path, a list of paths, or an iterable of texts or token lists that can be iterated again.
    With ``output`` the counts are kept in that folder, else they live as long as the object. ``cluster`` names a Ray
    cluster to count on (``auto``, ``ray://HOST:PORT``, ``local:N``), with the same result. ``settings`` are the fields of
    ``CountSettings``.

    >>> counts = count(["the cat sat", "the cat ran"], min_count=1, window=1, weighting="flat")
    >>> counts["the", "cat"], counts["sat", "ran"]
    (2.0, 0.0)
    """
    job = CountJob.create(corpus, **settings)
    with open_executor(cluster, workers) as executor:
        context = CountingContext(executor, check_budget(memory), progress or Silent())
        if output is None:
            return count_temporary(job, context)
        target = Path(output)
        run_job(job, target, context, resume, force)
        return Counts.load(target, verify=False)
