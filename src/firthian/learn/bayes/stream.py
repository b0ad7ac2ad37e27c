"""Word distributions from an endless stream of documents: learn, query, save, resume."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counting import CountJob, count
from firthian.counts.counts import Counts
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import check_parent, new_folder
from firthian.disk.locks import locked
from firthian.disk.stopping import Stop
from firthian.disk.tensors import damage
from firthian.errors import FirthianError
from firthian.learn.bayes.model import Likelihood, counts_from_matrix, read_batches
from firthian.learn.bayes.recipes import SVI
from firthian.learn.bayes.streaming import OnlinePosterior, StochasticSweeps, online_solution
from firthian.learn.recipe import Recipe
from firthian.learn.train import check_auto, with_provenance
from firthian.options import check_all, declared
from firthian.runtime.progress import Progress, usual_progress
from firthian.runtime.run import Run
from firthian.text.readers import Corpus, Documents
from firthian.text.spool import NoWordsError
from firthian.text.tokenizer import is_builtin
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance, counting_state
from firthian.vectors.vectors import Vectors

#: Batches between two saves; the stream is also saved when it ends, for whatever reason.
SAVE_EVERY = 20

STREAM = ArtifactKind("a Bayesian stream", "model.json")

#: Options of ``bayes-svi`` that do not change what a stream learns: those of a finished text, and of the result.
_NOT_LEARNING = ("epochs", "batch_tokens", "algorithm", "kappa", "tau", "eigenvalue_power", "center")

#: The first batches of a stream are learned with far less text than it will have: a stream forgets them sooner.
_DEFAULTS = {"forgetting": 0.5}

#: Settings of counting that need the whole text, which a stream does not have.
WHOLE_TEXT = ("vocabulary", "max_vocab", "stop_words", "phrases")


class RepeatedBatchError(FirthianError):
    """A stream was fed a batch that it has already learned."""


class BayesStream:
    """Stochastic variational inference on documents as they arrive; a word enters once it has occurred ``min_count`` times.

    ``counting`` holds further arguments of ``firthian.count``, such as a ``tokenizer``. ``options`` are those of the recipe
    ``bayes-svi`` for learning: ``population``, the number of tokens of the whole stream, ``forgetting``, ``start_sweeps``,
    ``negative`` and so on. Without ``population`` the posterior is that of the text seen so far. A batch that cannot be
    learned (it has no words, it was learned before, or an error occurs) leaves everything as it was.

    Counting a corpus drops words below ``min_count`` from windows. In a stream they keep their places there, because it is
    unknown until the end which words stay rare.

    >>> stream = BayesStream(vector_size=2, min_count=1, window=2)
    >>> _ = stream.partial_fit(["tea with milk", "coffee with milk"] * 20)
    >>> _ = stream.partial_fit(["tea with sugar"] * 20)
    >>> "sugar" in stream.vectors().vocabulary
    True
    """

    def __init__(
        self,
        vector_size: int = SVI.dimension,
        *,
        window: int = SVI.counting["window"],
        min_count: int = 5,
        seed: int = 1,
        workers: int | None = None,
        counting: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        offered = {name: option for name, option in SVI.options.items() if name not in _NOT_LEARNING}
        learning = check_all("BayesStream", offered, {**_DEFAULTS, **options})
        self.options = {
            "vector_size": vector_size, "window": window, "min_count": min_count, "seed": seed,
            "counting": dict(counting or {}), **learning,
        }  # fmt: skip
        self._run = Run.create(seed, workers)
        likelihood = Likelihood(**{name: learning[name] for name in declared(Likelihood)})
        steps = {name: learning[name] for name in ("forgetting", "start_sweeps", "inner")}
        self._stream = OnlinePosterior(likelihood, vector_size, self._run, **steps)
        self._totals: dict[str, int] = {}
        self._words: dict[str, int] = {}
        #: The number of tokens learned from, including words that have not entered yet.
        self.tokens = 0
        #: The bound per event of each batch but the first, before learning from it.
        self.scores: list[float] = []
        #: A fingerprint of the text of each batch.
        self._learned: dict[str, int] = {}
        #: Bytes that were not UTF-8 and were replaced, since the stream was created or loaded.
        self.undecodable_bytes = 0
        #: Batches that were skipped because they had been learned before, since the stream was created or loaded.
        self.repeated_batches = 0

    def note_undecodable(self, number: int) -> None:
        """Add to the number of replaced bytes."""
        self.undecodable_bytes += number

    @property
    def started(self) -> bool:
        """Whether anything has been learned."""
        return self._stream.batches > 0

    def partial_fit(self, documents: Iterable[str]) -> BayesStream:
        """Learn from a batch of documents: larger is better; a few hundred thousand tokens is a good size.

        Raise ``RepeatedBatchError`` if exactly this batch has been learned before.
        """
        batch_documents = list(documents)
        fingerprint = hashlib.sha256("\n".join(batch_documents).encode("utf-8", "surrogatepass")).hexdigest()
        if (number := self._learned.get(fingerprint)) is not None:
            raise RepeatedBatchError(
                f"this batch was already learned, as batch {number} of the stream", hint="pass new documents"
            )
        # Each batch has its own random subsample.
        counts = count(
            Documents(batch_documents), window=self.options["window"], min_count=1,
            seed=self.options["seed"] + self._stream.batches, workers=self._run.executor.workers,
            **self.options["counting"],
        )  # fmt: skip
        seen = zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True)
        totals = {word: self._totals.get(word, 0) + number for word, number in seen}
        known = [word for word, number in totals.items() if number >= self.options["min_count"]]
        fresh = [word for word in known if word not in self._words]
        if not self.started and len(fresh) < self.options["vector_size"]:
            raise FirthianError(
                f"the first batch has {len(fresh)} words that occur {self.options['min_count']} times, fewer than the "
                f"{self.options['vector_size']} dimensions",
                hint="pass a larger first batch, or lower `vector_size` or `min_count`",
            )
        tokens = self.tokens + int(counts.vocabulary.counts.sum())
        words = self._words | {word: len(self._words) + number for number, word in enumerate(fresh)}
        batch = self._renumbered(counts, known, words, self._totals | totals)
        score = None
        if batch.pairs:
            score = self._stream.step(batch, max(1.0, self.options["population"] / tokens))
        # Nothing changes before the batch is learned, so a rejected or failed one leaves no trace.
        self._words, self.tokens = words, tokens
        self._totals.update(totals)
        self._learned[fingerprint] = len(self._learned) + 1
        if score is not None:
            self.scores.append(score)
        return self

    @staticmethod
    def _renumbered(counts: Counts, known: list[str], words: dict[str, int], totals: dict[str, int]) -> Counts:
        """Return a batch's counts in the word order of the stream, without words that have not entered yet."""
        import scipy.sparse

        target = np.full(len(counts.vocabulary), -1)
        for word in known:
            target[counts.vocabulary[word]] = words[word]
        rows = target[counts.rows_of(0, len(counts.vocabulary))]
        columns = target[counts.indices]
        kept = (rows >= 0) & (columns >= 0)
        size = len(words)
        matrix = scipy.sparse.csr_array(
            (counts.values[kept].astype(np.float64), (rows[kept], columns[kept])), shape=(size, size)
        )
        vocabulary = Vocabulary(list(words), [totals[word] for word in words])
        return counts_from_matrix(matrix, vocabulary, counts.options)

    def vectors(
        self, eigenvalue_power: float = StochasticSweeps.eigenvalue_power, center: bool = StochasticSweeps.center
    ) -> Vectors:
        """Return the vectors so far, with their covariances, the most frequent word first."""
        self._check_begun()
        solution = online_solution(self._stream, self.scores, eigenvalue_power, center)
        counting = self._counting_record()
        vocabulary = Vocabulary(list(self._words), [self._totals[word] for word in self._words])
        provenance = Provenance(recipe=SVI.name, paper=SVI.paper, options=dict(self.options), counts=counting)
        state = counting_state(counting["settings"], self.options["window"])
        solution.stats["tokens"] = self.tokens
        vectors = with_provenance(solution, vocabulary, provenance, self.options["seed"], state)
        # The stream numbers words as they enter; vectors order them by frequency.
        by_count = Vocabulary.from_counts(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
        ordered = vectors.subset(by_count.words)
        ordered.provenance = vectors.provenance
        return ordered

    def _check_begun(self) -> None:
        if not self.started:
            raise FirthianError("nothing has been learned yet", hint="call partial_fit with documents first")

    def _counting_record(self) -> dict[str, Any]:
        """Return how documents are tokenized and counted, as counts of a corpus record it."""
        own = {name: self.options[name] for name in ("window", "min_count", "seed")}
        job = CountJob.create(Documents([]), **own, **self.options["counting"])
        return {"options": job.options.as_dict(), "settings": job.describe()}

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write everything needed to resume."""
        self._check_begun()
        with new_folder(path, force) as folder:
            record = {
                "options": self.options, "words": list(self._words), "totals": self._totals, "tokens": self.tokens,
                "scores": self.scores, "learned": list(self._learned), **self._stream.values(),
            }  # fmt: skip
            STREAM.write(folder, record, self._stream.arrays())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        seed: int | None = None,
        workers: int | None = None,
        tokenizer: str | None = None,
    ) -> BayesStream:
        """Load a saved stream to resume it; raise if ``seed`` is given and is not the one it began with.

        A saved file never imports code: a stream with a tokenizer of yours (module:function) needs its name again.
        """
        folder = Path(path)
        artifact, damaged = STREAM.read(folder), damage(folder / STREAM.manifest)
        record, options = artifact.record, _check_record(artifact.record, artifact.arrays, damaged)
        if seed is not None and seed != options["seed"]:
            raise FirthianError(
                f"{folder} was started with seed {options['seed']}, not {seed}",
                hint="omit the `seed`, or start a new stream",
            )
        stored = options["counting"].get("tokenizer", "unicode")
        if stored != tokenizer and not is_builtin(stored):
            raise FirthianError(
                f"{folder} was tokenized by the function {stored}, which is not loaded from a file",
                hint=f"pass `tokenizer={stored}` if you trust it",
            )
        try:
            stream = cls(**options, workers=workers)
            stream._stream.restore(artifact.arrays, record)
            stream._counting_record()
        except (TypeError, ValueError) as error:
            raise damaged from error
        if stream.options != options:
            raise damaged
        stream._words = {word: number for number, word in enumerate(record["words"])}
        stream._totals = dict(record["totals"])
        stream.tokens, stream.scores = record["tokens"], list(record["scores"])
        stream._learned = {fingerprint: number for number, fingerprint in enumerate(record["learned"], start=1)}
        return stream


def _check_record(record: dict[str, Any], arrays: Mapping[str, Array], damaged: FirthianError) -> dict[str, Any]:
    """Return the options of a saved stream; raise ``damaged`` unless all fields have the types and sizes we wrote."""
    options = record.get("options")
    kinds = {
        "words": list,
        "totals": dict,
        "tokens": int,
        "scores": list,
        "learned": list,
        "batches": int,
        "shape": float,
    }
    if not isinstance(options, dict) or not all(isinstance(record.get(name), kind) for name, kind in kinds.items()):
        raise damaged
    counting, words, totals = options.get("counting"), record["words"], record["totals"]
    counted = [options.get(name) for name in ("vector_size", "window", "min_count", "seed", "population")]
    counted += [*totals.values(), record["tokens"], record["batches"]]
    right = (
        isinstance(counting, dict) and not counting.keys() & set(WHOLE_TEXT)
        and isinstance(counting.get("tokenizer", ""), str)
        and all(type(number) is int and number >= 0 for number in counted)
        and all(isinstance(text, str) for text in [*words, *totals, *record["learned"]])
        and all(isinstance(score, float) for score in record["scores"])
        and 0 < len(set(words)) == len(words) and totals.keys() >= set(words) and record["batches"] > 0
    )  # fmt: skip
    if not right:
        raise damaged
    expected = OnlinePosterior.shapes(len(words), options["vector_size"])
    found = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    if found != expected or not all(np.isfinite(array).all() for array in arrays.values()):
        raise damaged
    return options


@dataclass(frozen=True)
class StreamSettings:
    """A user's settings of a stream: arguments of ``BayesStream`` and of its ``vectors``, and the tokens per batch."""

    arguments: dict[str, Any]
    result: dict[str, Any]
    batch_tokens: int


def stream_settings(
    recipe: Recipe, options: Mapping[str, Any], counting: Mapping[str, Any], size: int | str | None, seed: int
) -> StreamSettings:
    """Check the options of ``bayes-svi`` and of counting for a stream, and group them by use."""
    if recipe.name != SVI.name:
        raise FirthianError(f"the recipe {recipe.name} cannot learn from a stream", hint=f"use {SVI.name}")
    check_auto(recipe, size)
    chosen = recipe.settings({**_DEFAULTS, **options})
    if chosen["epochs"] != 1:
        raise FirthianError("a stream is read only once", hint="omit `epochs`, or train from a file without a stream")
    printed = ["algorithm=printed"] if chosen["algorithm"] == "printed" else []
    for name in (*printed, *(name for name in WHOLE_TEXT if name in counting)):
        raise FirthianError(
            f"`{name}` needs the whole text, which a stream does not have", hint="omit it, or train from a file"
        )
    given = {**recipe.counting, **counting}
    named: dict[str, Any] = {name: given.pop(name) for name in ("window", "min_count") if name in given}
    if size is not None:
        named["vector_size"] = size
    result = {name: chosen[name] for name in ("eigenvalue_power", "center")}
    learning = {name: value for name, value in chosen.items() if name not in _NOT_LEARNING}
    arguments = {"seed": seed, **named, **learning, "counting": given}
    return StreamSettings(arguments, result, chosen["batch_tokens"])


def follow(
    corpus: Corpus,
    folder: str | os.PathLike[str],
    settings: StreamSettings,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> BayesStream:
    """Learn from documents until they end; resume the stream in ``folder``, or start one there.

    The folder is locked, because one of two processes would overwrite what the other learned. A resumed stream must have
    the settings it started with. What was learned before an error or interruption is saved; ``stop`` takes effect after
    the current batch.
    """
    if not hasattr(corpus, "pieces"):
        raise FirthianError("a stream needs documents, not counts", hint="pass the corpus, or - for standard input")
    # Fail now rather than after hours of work.
    check_parent(Path(folder))
    with locked(Path(folder), kind=".stream"):
        return _follow(corpus, Path(folder), settings, workers, progress or usual_progress(), stop or Stop())


def _follow(
    corpus: Corpus, target: Path, settings: StreamSettings, workers: int | None, progress: Progress, stop: Stop
) -> BayesStream:
    stream = BayesStream(**settings.arguments, workers=workers)
    if (target / STREAM.manifest).exists():
        arguments = settings.arguments
        saved = BayesStream.load(target, arguments["seed"], workers, arguments["counting"].get("tokenizer"))
        _check_same(target, saved.options, stream.options)
        stream = saved
    elif target.exists():
        raise FirthianError(f"{target} exists but is not a stream", hint="choose another folder")
    tokens_before = stream.tokens
    progress.start("batches", stream.options["population"] or None)
    progress.advance(tokens_before)
    unsaved = 0
    try:
        strict = bool(stream.options["counting"].get("strict"))
        for documents in read_batches(corpus, settings.batch_tokens, strict, stream.note_undecodable):
            # Finish a batch once it has begun; a signal during the wait for the next one stops at once.
            stop.patient = True
            last = stream.tokens
            try:
                stream.partial_fit(documents)
                unsaved += 1
            except NoWordsError:
                # Empty lines, or a row of asterisks: nothing to learn from, but no reason to stop.
                pass
            except RepeatedBatchError:
                # A text that was interrupted and is read again: what was learned of it is not learned twice.
                stream.repeated_batches += 1
            progress.advance(stream.tokens - last, f"bound per event {stream.scores[-1]:.4f}" if stream.scores else "")
            if unsaved == SAVE_EVERY:
                stream.save(target, force=True)
                unsaved = 0
            stop.patient = False
            stop.check()
    finally:
        stop.patient = True
        if unsaved and stream.started:
            stream.save(target, force=True)
    if stream.tokens == tokens_before and stream.repeated_batches:
        raise FirthianError(f"{target} has already learned this text", hint="pass new documents")
    if stream.tokens == tokens_before:
        raise FirthianError("the stream contained no words", hint="pass documents, one per line")
    return stream


def _check_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in before:
        if before[name] != now.get(name):
            raise FirthianError(
                f"{folder} was started with `{name}` {before[name]}, not {now.get(name)}",
                hint="use the same settings, or another folder",
            )
