"""New words for trained vectors, from new counts; the old vectors stay as they are, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.cooccurrence.counts import Counts
from firthian.corpus.vocabulary import Vocabulary
from firthian.errors import FirthianError
from firthian.models.psd import Scale
from firthian.models.psd_words import regress, relate
from firthian.run import Run
from firthian.vectors.vectors import Vectors

Array = np.ndarray[Any, np.dtype[Any]]

#: The ridge mu of an added word, the middle one of the paper's bands.
DEFAULT_RIDGE = 4.0


@dataclass(frozen=True)
class Added:
    """Vectors with new words, and the words that could not be placed."""

    vectors: Vectors
    new: list[str]
    unrelated: list[str]


def add_words(vectors: Vectors, counts: Counts, ridge: float = DEFAULT_RIDGE, run: Run | None = None) -> Added:
    """Fold the words that only ``counts`` has into vectors that ``psd`` or ``psd-blockwise`` made.

    Each new word is regressed on the words it occurs with, measured with the trained model's own scale.
    A word that shares no pair with them is left out and named.
    """
    stats = vectors.record.get("stats", {})
    if "cut_root" not in stats or "eigenvalues" not in vectors.extras:
        raise FirthianError(
            f"words can only be added to vectors of the recipes psd and psd-blockwise, not {vectors.record.get('recipe')}",
            hint="train with -m psd",
        )
    if ridge < 0:
        raise FirthianError(f"the ridge must be at least 0, got {ridge}", hint=f"{DEFAULT_RIDGE:g} is usual")
    run = run or Run()
    index = vectors.vocabulary.index
    new = np.array([n for n, word in enumerate(counts.vocabulary) if word not in index], dtype=np.int64)
    if new.size == 0:
        raise FirthianError("the counts hold no word that the vectors lack", hint="give counts of other text")
    old = np.array([index.get(word, -1) for word in counts.vocabulary], dtype=np.int64)
    # Only the core is regressed on; a word added earlier is no witness for later ones.
    core_ids = np.where(old < stats["core"], old, -1)
    scale = Scale(stats["kappa"], stats["cut_root"], stats["weight_power"])
    run.progress.start("adding words", new.size)
    relations = relate(counts, new, core_ids, scale)
    power = vectors.record["options"].get("eigenvalue_power", 0.5) - 0.5
    bend = (vectors.extras["eigenvalues"] ** power).astype(np.float32)
    found = regress(relations, vectors.matrix[: stats["core"]] / bend, np.full(new.size, ridge), run) * bend
    placed = np.diff(relations.indptr) > 0
    words = [counts.vocabulary.words[n] for n in new]
    kept = [word for word, good in zip(words, placed, strict=True) if good]
    vocabulary = Vocabulary(
        [*vectors.vocabulary.words, *kept],
        np.concatenate([vectors.vocabulary.counts, counts.vocabulary.counts[new[placed]]]),
    )
    record = dict(vectors.record)
    record["added"] = [*record.get("added", []), {"words": len(kept), "ridge": ridge, "counts": counts.record}]
    matrix = np.concatenate([np.asarray(vectors.matrix), found[placed]])
    result = Vectors(matrix, vocabulary, extras=vectors.extras, record=record)
    return Added(result, kept, [word for word, good in zip(words, placed, strict=True) if not good])
