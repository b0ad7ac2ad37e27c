"""Word distributions from a stream of documents without end: learn, ask, save, go on tomorrow."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counting import CountJob, count
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import new_folder
from firthian.errors import FirthianError
from firthian.learn.bayes.streaming import Stream, finish_stream
from firthian.learn.bayes.svi import Likelihood, counts_of
from firthian.runtime.run import Run
from firthian.text.readers import Documents
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance, counting_state
from firthian.vectors.vectors import Vectors

STREAM = ArtifactKind("a Bayesian stream", "model.json")


class BayesStream:
    """Stochastic variational inference on documents as they come; new words enter once seen ``min_count`` times.

    ``population`` is the number of tokens the whole stream is assumed to have. Without it, the posterior is that of
    what has been seen so far. ``counting`` are further arguments of ``firthian.count``, such as a ``tokenizer``; other
    options are those of the recipe ``bayes-svi``.

    Which words stay rare is not known before a stream ends. So they keep their places in windows, where counting a corpus
    drops words below ``min_count`` first.

    >>> stream = BayesStream(vector_size=2, min_count=1, window=2)
    >>> _ = stream.partial_fit(["tea with milk", "coffee with milk"] * 20)
    >>> _ = stream.partial_fit(["tea with sugar"] * 20)
    >>> "sugar" in stream.vectors().vocabulary
    True
    """

    def __init__(
        self,
        vector_size: int = 50,
        *,
        window: int = 5,
        min_count: int = 5,
        seed: int = 1,
        population: int = 0,
        forgetting: float = 0.85,
        start_sweeps: int = 5,
        workers: int | None = None,
        counting: Mapping[str, Any] | None = None,
        **likelihood: Any,
    ) -> None:
        self.options = {
            "vector_size": vector_size, "window": window, "min_count": min_count, "seed": seed, "population": population,
            "forgetting": forgetting, "start_sweeps": start_sweeps, "counting": dict(counting or {}), **likelihood,
        }  # fmt: skip
        self._run = Run.create(seed, workers)
        self._stream = Stream(Likelihood(**likelihood), vector_size, self._run, forgetting, start_sweeps)
        self._totals: Counter[str] = Counter()
        self._words: dict[str, int] = {}
        self._tokens = 0
        self.scores: list[float] = []
        #: Bytes that were not UTF-8 and were replaced before documents came here, since the stream was made or opened.
        self.undecodable_bytes = 0

    @property
    def tokens(self) -> int:
        """How many tokens have been learned from, those of words that are not yet known among them."""
        return self._tokens

    def note_undecodable(self, number: int) -> None:
        """Note that so many bytes of documents were replaced."""
        self.undecodable_bytes += number

    @property
    def begun(self) -> bool:
        """Whether anything has been learned."""
        return self._stream.state is not None

    def partial_fit(self, documents: Iterable[str]) -> BayesStream:
        """Learn from a batch of documents: the larger, the better; some hundred thousand tokens are a good size."""
        # Sub-sampling, where it is asked for, is drawn anew in each batch.
        counts = count(
            Documents(list(documents)), window=self.options["window"], min_count=1,
            seed=self.options["seed"] + self._stream.batches, workers=self._run.executor.workers,
            **self.options["counting"],
        )  # fmt: skip
        seen = dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True))
        known = [word for word, number in seen.items() if self._totals[word] + number >= self.options["min_count"]]
        fresh = [word for word in known if word not in self._words]
        if self._stream.state is None and len(fresh) < self.options["vector_size"]:
            raise FirthianError(
                f"the first batch has {len(fresh)} words seen {self.options['min_count']} times, fewer than the "
                f"{self.options['vector_size']} dimensions",
                hint="give a larger first batch, or a smaller vector_size or min_count",
            )
        # Only now: a batch that is refused leaves nothing behind.
        self._totals.update(seen)
        self._tokens += sum(seen.values())
        for word in fresh:
            self._words[word] = len(self._words)
        batch = self._numbered(counts, known)
        if batch.pairs == 0:
            return self
        mass = self._stream.row_mass.sum() + batch.total
        score = self._stream.step(batch, mass * max(1.0, self.options["population"] / self._tokens))
        if score is not None:
            self.scores.append(score)
        return self

    def _numbered(self, counts: Any, known: list[str]) -> Any:
        """Renumber a batch's counts as the stream numbers words; words not yet known are left out."""
        import scipy.sparse

        target = np.full(len(counts.vocabulary), -1)
        for word in known:
            target[counts.vocabulary[word]] = self._words[word]
        rows = target[counts.rows_of(0, len(counts.vocabulary))]
        columns = target[counts.indices]
        kept = (rows >= 0) & (columns >= 0)
        size = len(self._words)
        matrix = scipy.sparse.csr_array(
            (counts.values[kept].astype(np.float64), (rows[kept], columns[kept])), shape=(size, size)
        )
        return counts_of(matrix, self._vocabulary(), counts.options)

    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(list(self._words), [self._totals[word] for word in self._words])

    def vectors(self, eigenvalue_power: float = 0.25, center: bool = False) -> Vectors:
        """Return the vectors so far, with their covariances, the most frequent word first."""
        if self._stream.state is None:
            raise FirthianError("nothing has been learned yet", hint="call partial_fit with documents first")
        solution = finish_stream(self._stream, self.scores, eigenvalue_power, center)
        counting = self._how_counted()
        provenance = Provenance(
            recipe="bayes-svi",
            paper="Sakaya 2015, Algorithm 3, improved",
            options=dict(self.options),
            vector_size=int(solution.words.shape[1]),
            seed=self.options["seed"],
            objective=list(self.scores),
            status=solution.status,
            stats={**solution.stats, "tokens": self._tokens},
            counts=counting,
            versions={"firthian": __version__, "numpy": np.__version__},
        )
        vocabulary = self._vocabulary()
        vectors = Vectors(
            solution.words,
            vocabulary,
            contexts=solution.contexts,
            extras=solution.extras,
            state=counting_state(counting["settings"], self.options["window"]),
        )
        # The stream numbers words as they come; everybody else by how frequent they are.
        by_count = Vocabulary.from_counts(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
        ordered = vectors.subset(by_count.words)
        ordered.provenance = provenance
        return ordered

    def _how_counted(self) -> dict[str, Any]:
        """Say how documents are cut and counted, as counts of a corpus do."""
        own = {name: self.options[name] for name in ("window", "min_count", "seed")}
        job = CountJob.create(Documents([]), **own, **self.options["counting"])
        return {"options": job.options.as_dict(), "settings": job.describe()}

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write everything that is needed to go on."""
        stream = self._stream
        if stream.state is None or stream.naturals is None:
            raise FirthianError("nothing has been learned yet", hint="call partial_fit with documents first")
        with new_folder(path, force) as folder:
            record = {
                "options": self.options, "words": list(self._words), "totals": dict(self._totals), "tokens": self._tokens,
                "batches": stream.batches, "scores": self.scores, "shape": stream.state.relevance.shape,
            }  # fmt: skip
            STREAM.write(folder, record, stream.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], seed: int | None = None, workers: int | None = None) -> BayesStream:
        """Open a saved stream to go on with it; ``seed``, when given, must be the one it began with."""
        folder = Path(path)
        artifact = STREAM.read(folder)
        record, options = artifact.record, artifact.record["options"]
        if seed is not None and seed != options["seed"]:
            raise FirthianError(
                f"{folder} was begun with seed {options['seed']}, not {seed}",
                hint="leave the seed out, or begin a new stream",
            )
        stream = cls(**options, workers=workers)
        values = {"batches": record["batches"], "shape": record["shape"], "history": [], "halves": []}
        stream._stream.take(artifact.arrays, values)
        stream._words = {word: number for number, word in enumerate(record["words"])}
        stream._totals = Counter(record["totals"])
        stream._tokens, stream.scores = record["tokens"], list(record["scores"])
        return stream
