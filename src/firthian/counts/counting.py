"""A corpus -> Counts on disk: tokenize once, build the vocabulary, count group by group, merge.

Unfinished work is in ``NAME.partial`` beside the target, from where a killed run resumes.
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
from firthian.counts.counts import COUNTS, Counts, write_counts
from firthian.counts.rows import BLOCK_PAIRS, DiskRun, RowBlock, count_blocks, finished_runs, merge_blocks, write_run
from firthian.counts.settings import CountSettings, WindowSettings
from firthian.counts.streams import BYTES_PER_TOKEN, count_remote, groups
from firthian.disk.atomic import remove
from firthian.disk.resume import PartialFolder, holds_work, is_of_system
from firthian.errors import FirthianError
from firthian.kernels.compiling import tell_compiling
from firthian.options import listing
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor, limit_workers
from firthian.runtime.memory import INTERPRETER_BYTES, MARGIN, check_budget, check_fits
from firthian.runtime.progress import Progress, usual_progress
from firthian.text.phrases import PhraseOptions, find_phrases
from firthian.text.readers import Corpus, open_corpus
from firthian.text.records import Columns
from firthian.text.segments import SEGMENT_BYTES, WORKER_BYTES
from firthian.text.spool import Spool, tokenize_corpus
from firthian.text.tokenizer import Tokenizer, of_language
from firthian.text.types import NoWordsLeftError, VocabularyLimits, VocabularyResult, build_vocabulary
from firthian.text.vocabulary import Vocabulary, read_words, stop_list

#: Bytes per word of the vocabulary: its string, its entry in the index and lists, its counts and sums.
BYTES_PER_WORD = 300

#: Copies of the spelling of all words: strings, their table, and the file while it is written.
SPELLING_COPIES = 5

#: The maximum number of open runs; more are merged in rounds.
OPEN_RUNS = 32

#: Bytes per pair while its block is merged: column and sum, before and after.
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
        corpus = open_corpus(corpus, given.format, given.text_column, given.where, given.sql)
        tokenizer, score = given.tokenizer, given.phrases
        if not isinstance(tokenizer, Tokenizer):
            tokenizer = Tokenizer(of_language(tokenizer, given.language), given.keep_case, given.fold_numbers)
        elif given.language is not None:
            raise FirthianError("`language` has no effect on a Tokenizer", hint="name it: Tokenizer('unicode:tr')")
        # Words of lists are spelled as those of the corpus will be.
        lower = None if tokenizer.keep_case or corpus.tokenized else tokenizer.lower
        only, stop_words = read_words(given.vocabulary, lower), read_words(stop_list(given.stop_words), lower)
        min_count = given.min_count if given.min_count is not None else 5 if only is None else 1
        return cls(
            corpus=corpus,
            tokenizer=tokenizer,
            limits=VocabularyLimits(min_count, given.max_vocab, only, stop_words or frozenset()),
            options=given.windows,
            phrases=None
            if score is None
            else PhraseOptions(score, given.phrase_threshold, given.phrase_min_count, given.phrase_passes),
            strict=given.strict,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings by name, for the record."""
        limits = self.limits
        return {
            **self.options.as_dict(),
            **self._tokenizing(),
            "min_count": limits.min_count,
            "max_vocab": limits.max_vocab,
            "word_list": _list_hash(limits.only),
            "stop_words": _list_hash(limits.stop_words or None),
            "phrases": self.phrases.as_dict() if self.phrases else None,
        }

    def chosen_rows(self) -> dict[str, Any] | None:
        """Return which rows of a table count; None if all do."""
        columns: Columns | None = getattr(self.corpus, "columns", None)
        return columns.describe() if columns is not None else None

    def _tokenizing(self) -> dict[str, Any]:
        settings = self.tokenizer.describe()
        # Token lists are neither tokenized nor converted to lower case here.
        return {**settings, "tokenizer": None, "keep_case": None} if self.corpus.tokenized else settings

    def describe_reading(self) -> dict[str, Any]:
        """Return what is not in the record, but must be the same when a run is resumed."""
        return {"strict": self.strict, "tokenizer_file": self.tokenizer.file_hash(), "rows": self.chosen_rows()}


def _list_hash(words: Iterable[str] | None) -> str | None:
    if words is None:
        return None
    return hashlib.sha256("\n".join(sorted(words)).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class CountingContext:
    """Workers, memory and progress; none of them changes a byte of the result."""

    executor: Executor
    budget: int
    progress: Progress
    segment_bytes: int = SEGMENT_BYTES

    @property
    def block_pairs(self) -> int:
        """The maximum pairs of a block of rows, so that all blocks in flight use at most a quarter of the budget."""
        return min(BLOCK_PAIRS, self.budget // 4 // (self._in_flight * BYTES_PER_PAIR))

    @property
    def _in_flight(self) -> int:
        # Remote workers have their own memory.
        return (1 if self.executor.remote else self.executor.workers) + 2

    def group_tokens(self, n_words: int, spelling: int = 0) -> int:
        """Return the number of tokens that can be counted at once with what the fixed parts leave of the budget.

        Raise if the words leave too little memory.
        """
        in_flight = self._in_flight * (max(self.block_pairs, n_words) * BYTES_PER_PAIR + n_words * 9)
        fixed = INTERPRETER_BYTES + in_flight + n_words * BYTES_PER_WORD + spelling * SPELLING_COPIES
        left = self.budget - fixed
        if left < self.budget // 16:
            check_fits(
                f"counting {n_words:,} words",
                max(fixed * MARGIN, self.budget + 1),
                self.budget,
                "lower `workers`",
                "raise `min_count`",
            )
        return left // BYTES_PER_TOKEN

    def vocabulary(self, spool: Spool, limits: VocabularyLimits) -> VocabularyResult:
        """Build the vocabulary of a corpus; raise before its words are in memory if they would not fit."""
        budget = (self.budget - INTERPRETER_BYTES) // 2
        return build_vocabulary(spool.tables, limits, budget, spool.types, spool.spelling, self.group_tokens)

    @property
    def readers(self) -> Executor:
        """Workers that tokenize: as many as the whole budget has room for."""
        return limit_workers(self.executor, (self.budget - INTERPRETER_BYTES) // WORKER_BYTES)

    @property
    def rereaders(self) -> Executor:
        """Workers that reread segments, with a quarter of the budget."""
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

    A first attempt that fails leaves nothing there, since its errors would only occur again, unless the system failed.
    """
    tell_compiling()
    work.mkdir(exist_ok=True)
    resumed = holds_work(work)
    try:
        spool, result, record = prepare(job, work, context)
        job.options.check_sums(int(result.vocabulary.counts[0]))
        blocks = _count_windows(spool, result.vocabulary, job.options, work, context)
        write_counts(target, blocks, result.vocabulary, job.options, record)
    except (FirthianError, OSError) as error:
        remove(target)
        if not (resumed or is_of_system(error)):
            remove(work)
        raise


def count_temporary(job: CountJob, context: CountingContext) -> Counts:
    """Count a corpus; the counts live as long as the object."""
    return Counts.temporary(lambda target: run_job(job, target, context))


def prepare(job: CountJob, folder: Path, context: CountingContext) -> tuple[Spool, VocabularyResult, dict[str, Any]]:
    """Tokenize, join phrases, and build the vocabulary; return these and the record of the corpus."""
    spool = tokenize_corpus(
        job.corpus, job.tokenizer, folder, context.readers, context.progress, job.strict, context.segment_bytes
    )
    phrases = 0
    if job.phrases is not None:
        spool, phrases = _join_phrases(spool, job.phrases, context)
    context.progress.start("building vocabulary")
    result = context.vocabulary(spool, job.limits)
    return spool, result, _record(job, spool, result, phrases)


def _join_phrases(spool: Spool, options: PhraseOptions, context: CountingContext) -> tuple[Spool, int]:
    """Find and join phrases, in as many passes as set; return their number."""
    number_found = 0
    adjacent = WindowSettings(window=1, weighting="flat", context="left", keep_positions=True, dtype="float64")
    for number in range(options.passes):
        context.progress.start(f"finding phrases {number + 1}")
        limits = VocabularyLimits(min_count=options.min_count)
        try:
            result = context.vocabulary(spool, limits)
        except NoWordsLeftError:
            break
        folder = spool.folder / f"phrases-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        blocks = _count_windows(spool, result.vocabulary, adjacent, folder, context)
        write_counts(folder, blocks, result.vocabulary, adjacent, {})
        bigrams = Counts.load(folder, verify=False)
        # A window of one word to the left: X[i, j] counts j directly before i.
        first, second = np.asarray(bigrams.indices), bigrams.rows_of(0, len(bigrams.vocabulary))
        together = np.asarray(bigrams.values, dtype=np.float64)
        phrases = find_phrases(bigrams.vocabulary, first, second, together, spool.tokens, options)
        number_found += phrases.left.size
        spool = spool.map(phrases.join, f"phrases{number}", context.rereaders)
        shutil.rmtree(folder)
    return spool, number_found


def _count_windows(
    spool: Spool, vocabulary: Vocabulary, options: WindowSettings, work: Path, context: CountingContext
) -> Iterator[RowBlock]:
    """Count on a cluster, or group by group; yield the rows of a single group directly, else merge all from disk."""
    n_words = len(vocabulary)
    group_tokens = context.group_tokens(n_words, sum(map(len, vocabulary.words)))
    context.progress.start("counting windows", spool.tokens)
    if context.executor.remote:
        return count_remote(spool, vocabulary, options, context.executor, group_tokens, context.progress)
    # The interrupted attempt may have had another budget: only the segments of its runs tell what is done.
    runs = finished_runs(work, spool.sha256, n_words)
    done = runs[-1].segments[1] if runs else 0
    context.progress.advance(sum(size.tokens for size in spool.sizes[:done]))
    for group in groups(spool, vocabulary, options, context.rereaders, group_tokens, skip=done):
        blocks = count_blocks(group.stream, group.core, n_words, options.sides(), context.executor, context.block_pairs)
        if group.segments == (0, spool.segments):
            return blocks
        runs.append(write_run(work, group.segments, spool.sha256, blocks))
        context.progress.advance(sum(size.tokens for size in spool.sizes[slice(*group.segments)]))
        del blocks, group
    context.progress.start("merging")
    return _merged(_merge_rounds(runs, work, spool.sha256, n_words, context), n_words, context)


def _merge_rounds(
    runs: list[DiskRun], folder: Path, corpus: str, n_words: int, context: CountingContext
) -> list[DiskRun]:
    """Merge neighboring runs until few enough are left to open together."""
    while len(runs) > OPEN_RUNS:
        fewer: list[DiskRun] = []
        for first in range(0, len(runs), OPEN_RUNS):
            batch = runs[first : first + OPEN_RUNS]
            if len(batch) == 1:
                fewer += batch
                continue
            segments = (batch[0].segments[0], batch[-1].segments[1])
            fewer.append(write_run(folder, segments, corpus, _merged(batch, n_words, context)))
            for run in batch:
                shutil.rmtree(run.folder)
        runs = fewer
    return runs


def _merged(runs: list[DiskRun], n_words: int, context: CountingContext) -> Iterator[RowBlock]:
    sizes = np.sum([np.diff(run.pointers) for run in runs], axis=0)
    return merge_blocks(runs, sizes, n_words, context.executor, context.block_pairs)


def _record(job: CountJob, spool: Spool, result: VocabularyResult, phrases: int) -> dict[str, Any]:
    """Return the provenance of counts. Nothing here depends on workers, memory, time or resuming."""
    return {
        "corpus": {
            "names": job.corpus.names(),
            "sha256": spool.sha256,
            "text_bytes": sum(size.text_bytes for size in spool.sizes),
            "documents": spool.documents,
            "tokens": spool.tokens,
            "types": result.types,
            "undecodable_bytes": sum(size.undecodable for size in spool.sizes),
            "rows_without_text": spool.skipped.missing,
            "rows_excluded": spool.skipped.excluded,
            "rows": job.chosen_rows(),
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
        context = CountingContext(executor, check_budget(memory), progress or usual_progress())
        if output is None:
            return count_temporary(job, context)
        target = Path(output)
        run_job(job, target, context, resume, force)
        return Counts.load(target, verify=False)
