"""New words for trained vectors, from new counts; the old vectors stay as they are, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.psd.model import COLUMN_SHARES, ROW_SHARES
from firthian.learn.psd.words import regress, relate
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.psd_factor import PSDFactor
from firthian.vectors.vectors import Vectors

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

    Each new word is regressed on the words it occurs with, measured with the trained model's own scale and unigrams.
    A word that shares no pair with them is left out and named.
    """
    base = PSDFactor(vectors, "adding words")
    if not base.core:
        raise FirthianError(
            "of these vectors the words that were trained together do not come first",
            hint="give the vectors that firth train wrote, or a subset in their order",
        )
    if not 0 <= ridge < np.inf:
        raise FirthianError(f"ridge must be a number of at least 0, got {ridge}", hint=f"{DEFAULT_RIDGE:g} is usual")
    run = run or Run()
    index = vectors.vocabulary.index
    new = np.array([n for n, word in enumerate(counts.vocabulary) if word not in index], dtype=np.int64)
    if new.size == 0:
        raise FirthianError("the counts hold no word that the vectors lack", hint="give counts of other text")
    old = np.array([index.get(word, -1) for word in counts.vocabulary], dtype=np.int64)
    # Only the core is regressed on; a word added earlier is no witness for later ones.
    core_ids = np.where(old < base.core, old, -1)
    run.progress.start("adding words", new.size)
    relations = relate(counts, new, core_ids, base.scale, _trained_sums(base, counts, old))
    found = base.shown(regress(relations, base.rows(base.core), np.full(new.size, ridge), run))
    placed = np.diff(relations.indptr) > 0
    words = [counts.vocabulary.words[n] for n in new]
    kept = [word for word, good in zip(words, placed, strict=True) if good]
    vocabulary = Vocabulary(
        [*vectors.vocabulary.words, *kept],
        np.concatenate([vectors.vocabulary.counts, counts.vocabulary.counts[new[placed]]]),
    )
    unrelated = [word for word, good in zip(words, placed, strict=True) if not good]
    note = {"words": len(kept), "unrelated": unrelated, "ridge": ridge, "counts": counts.record}
    provenance = replace(vectors.provenance, added=[*vectors.provenance.added, note])
    matrix = np.concatenate([np.asarray(vectors.matrix), found[placed]])
    extras = dict(vectors.extras)
    for name, sums in ((ROW_SHARES, counts.row_sums), (COLUMN_SHARES, counts.column_sums)):
        if name in extras:
            # One row a word, so that a subset takes the right ones.
            extras[name] = np.concatenate([np.asarray(extras[name]), sums[new[placed]] / counts.total])
    result = Vectors(matrix, vocabulary, extras=extras, provenance=provenance, state=vectors.state)
    return Added(result, kept, unrelated)


def _trained_sums(base: PSDFactor, counts: Counts, old: Array) -> tuple[Array, Array]:
    """Return x_i and x_j of a text as large as the new one that has the unigrams of the trained model.

    What the model does not know stays as the new text has it: new words, words without a pair in training, and all words
    of vectors that were made before their unigrams were kept.
    """
    sums = []
    for shares, found in zip(base.shares, (counts.row_sums, counts.column_sums), strict=True):
        trained = np.where(old >= 0, shares[old], 0.0) if shares is not None else np.zeros(old.size)
        known = (trained > 0) & (trained <= 1)
        sums.append(np.where(known, trained * counts.total, found))
    return sums[0], sums[1]
