"""Word distributions from an endless stream of documents: learn, query, save, resume."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counting import CountJob, count
from firthian.counts.counts import Counts
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import new_folder
from firthian.errors import FirthianError
from firthian.learn.bayes.model import Likelihood, counts_from_matrix
from firthian.learn.bayes.recipes import SVI
from firthian.learn.bayes.streaming import OnlinePosterior, StochasticSweeps, online_solution
from firthian.options import check_all, declared
from firthian.runtime.run import Run
from firthian.text.readers import Documents
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance, counting_state
from firthian.vectors.vectors import Vectors

STREAM = ArtifactKind("a Bayesian stream", "model.json")

#: Options of ``bayes-svi`` that do not change what a stream learns: those of a finished text, and of the result.
_NOT_LEARNING = ("epochs", "batch_tokens", "eigenvalue_power", "center")


class BayesStream:
    """Stochastic variational inference on documents as they arrive; a word enters once it has occurred ``min_count`` times.

    ``counting`` holds further arguments of ``firthian.count``, such as a ``tokenizer``. ``options`` are those of the recipe
    ``bayes-svi`` for learning: ``population``, the number of tokens of the whole stream, ``forgetting``, ``start_sweeps``,
    ``negative`` and so on. Without ``population`` the posterior is that of the text seen so far.

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
        learning = check_all("BayesStream", offered, options)
        self.options = {
            "vector_size": vector_size, "window": window, "min_count": min_count, "seed": seed,
            "counting": dict(counting or {}), **learning,
        }  # fmt: skip
        self._run = Run.create(seed, workers)
        likelihood = Likelihood(**{name: learning[name] for name in declared(Likelihood)})
        self._stream = OnlinePosterior(
            likelihood, vector_size, self._run, learning["forgetting"], learning["start_sweeps"]
        )
        self._totals: Counter[str] = Counter()
        self._words: dict[str, int] = {}
        #: The number of tokens learned from, including words that have not entered yet.
        self.tokens = 0
        #: The bound per event of each batch but the first, before learning from it.
        self.scores: list[float] = []
        #: Bytes that were not UTF-8 and were replaced, since the stream was created or loaded.
        self.undecodable_bytes = 0

    def note_undecodable(self, number: int) -> None:
        """Add to the number of replaced bytes."""
        self.undecodable_bytes += number

    @property
    def begun(self) -> bool:
        """Whether anything has been learned."""
        return self._stream.batches > 0

    def partial_fit(self, documents: Iterable[str]) -> BayesStream:
        """Learn from a batch of documents: larger is better; a few hundred thousand tokens is a good size."""
        # Each batch has its own random subsample.
        counts = count(
            Documents(list(documents)), window=self.options["window"], min_count=1,
            seed=self.options["seed"] + self._stream.batches, workers=self._run.executor.workers,
            **self.options["counting"],
        )  # fmt: skip
        seen = dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True))
        known = [word for word, number in seen.items() if self._totals[word] + number >= self.options["min_count"]]
        fresh = [word for word in known if word not in self._words]
        if not self.begun and len(fresh) < self.options["vector_size"]:
            raise FirthianError(
                f"the first batch has {len(fresh)} words that occur {self.options['min_count']} times, fewer than the "
                f"{self.options['vector_size']} dimensions",
                hint="pass a larger first batch, or lower `vector_size` or `min_count`",
            )
        # Nothing changes before this line, so a rejected batch leaves no trace.
        self._totals.update(seen)
        self.tokens += sum(seen.values())
        for word in fresh:
            self._words[word] = len(self._words)
        batch = self._renumbered(counts, known)
        if batch.pairs == 0:
            return self
        mass = self._stream.row_mass.sum() + batch.total
        score = self._stream.step(batch, mass * max(1.0, self.options["population"] / self.tokens))
        if score is not None:
            self.scores.append(score)
        return self

    def _renumbered(self, counts: Counts, known: list[str]) -> Counts:
        """Return a batch's counts in the word order of the stream, without words that have not entered yet."""
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
        return counts_from_matrix(matrix, self._vocabulary(), counts.options)

    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(list(self._words), [self._totals[word] for word in self._words])

    def vectors(
        self, eigenvalue_power: float = StochasticSweeps.eigenvalue_power, center: bool = StochasticSweeps.center
    ) -> Vectors:
        """Return the vectors so far, with their covariances, the most frequent word first."""
        self._check_begun()
        solution = online_solution(self._stream, self.scores, eigenvalue_power, center)
        counting = self._counting_record()
        provenance = Provenance(
            recipe=SVI.name,
            paper=SVI.paper,
            options=dict(self.options),
            vector_size=int(solution.words.shape[1]),
            seed=self.options["seed"],
            objective=list(self.scores),
            status=solution.status,
            stats={**solution.stats, "tokens": self.tokens},
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
        # The stream numbers words as they enter; vectors order them by frequency.
        by_count = Vocabulary.from_counts(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
        ordered = vectors.subset(by_count.words)
        ordered.provenance = provenance
        return ordered

    def _check_begun(self) -> None:
        if not self.begun:
            raise FirthianError("nothing has been learned yet", hint="call partial_fit with documents first")

    def _counting_record(self) -> dict[str, Any]:
        """Return how documents are tokenized and counted, as counts of a corpus record it."""
        own = {name: self.options[name] for name in ("window", "min_count", "seed")}
        job = CountJob.create(Documents([]), **own, **self.options["counting"])
        return {"options": job.options.as_dict(), "settings": job.describe()}

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write everything needed to resume."""
        self._check_begun()
        stream = self._stream
        with new_folder(path, force) as folder:
            record = {
                "options": self.options, "words": list(self._words), "totals": dict(self._totals), "tokens": self.tokens,
                "batches": stream.batches, "scores": self.scores, "shape": stream.state.relevance.shape,
            }  # fmt: skip
            STREAM.write(folder, record, stream.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str], seed: int | None = None, workers: int | None = None) -> BayesStream:
        """Load a saved stream to resume it; raise if ``seed`` is given and is not the one it began with."""
        folder = Path(path)
        artifact = STREAM.read(folder)
        record, options = artifact.record, artifact.record["options"]
        if seed is not None and seed != options["seed"]:
            raise FirthianError(
                f"{folder} was started with seed {options['seed']}, not {seed}",
                hint="omit the `seed`, or start a new stream",
            )
        stream = cls(**options, workers=workers)
        values = {"batches": record["batches"], "shape": record["shape"], "history": [], "halves": []}
        stream._stream.restore(artifact.arrays, values)
        stream._words = {word: number for number, word in enumerate(record["words"])}
        stream._totals = Counter(record["totals"])
        stream.tokens, stream.scores = record["tokens"], list(record["scores"])
        return stream
