"""CRF features of a word in its sentence: the words and tags around it, and features from their vectors.

A CRF is linear in its features, so discrete ones (a cluster, the dimensions in which a word is extreme) help it more than
coordinates; Guo et al. (2014) compare these styles, which ``STYLES`` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, require
from firthian.evaluate.words import spelling
from firthian.vectors.rows import dense_rows

_AROUND = (-2, -1, 0, 1, 2)

#: Coordinates are scaled to this standard deviation, the best of Turian et al. (2010).
_SPREAD = 0.1

#: Numbers of clusters, and the number of words clustered.
_CLUSTERS = (50, 200, 1000)
_CLUSTERED = 30_000


@dataclass(frozen=True)
class Sentence:
    """Words, their tags, and their chunks in BIO notation."""

    words: list[str]
    tags: list[str]
    chunks: list[str]


def word_features(sentence: Sentence) -> list[list[str]]:
    """Return the baseline features: words and tags within two positions, and pairs and triples of them."""
    words = ["<s>", "<s>", *sentence.words, "</s>", "</s>"]
    tags = ["<s>", "<s>", *sentence.tags, "</s>", "</s>"]
    features = []
    for at in range(2, len(words) - 2):
        w = [f"w{k}={words[at + k]}" for k in _AROUND]
        t = [f"t{k}={tags[at + k]}" for k in _AROUND]
        pairs = [f"{a}|{b}" for a, b in (*pairwise(w[1:4]), *pairwise(t))]
        triples = [f"{a}|{b}|{c}" for a, b, c in zip(t, t[1:], t[2:], strict=False)]
        features.append([*w, *t, *pairs, *triples])
    return features


class Coordinates:
    """Adds the vectors of the words within two positions, scaled to a common standard deviation; none for unknown words."""

    def __init__(self, vectors: Any, words: Iterable[str], seed: int = 1) -> None:
        known, table = _rows(vectors, words)
        table = table * (_SPREAD / (float(table.std()) or 1.0))
        self.spell = spelling(vectors.vocabulary)
        self.names = [[f"v{k}.{d}" for d in range(table.shape[1])] for k in _AROUND]
        self.values = {word: row.tolist() for word, row in zip(known, table, strict=True)}

    def __call__(self, sentence: Sentence) -> list[dict[str, float]]:
        """Return the baseline features and the vectors."""
        features = [dict.fromkeys(names, 1.0) for names in word_features(sentence)]
        rows = [self.values.get(self.spell(word)) for word in sentence.words]
        for at, entry in enumerate(features):
            for names, k in zip(self.names, _AROUND, strict=True):
                values = rows[at + k] if 0 <= at + k < len(rows) else None
                if values is not None:
                    entry.update(zip(names, values, strict=True))
        return features


class Names:
    """Adds discrete features (names) of the words within two positions, and if ``paired``, of adjacent pairs.

    ``table`` lists the names of each word; paired names are matched by position. ``spell`` maps a word of a sentence to
    the spelling of the table.
    """

    def __init__(self, table: dict[str, list[str]], paired: bool, spell: Callable[[str], str] = str.lower) -> None:
        self.table = table
        self.paired = paired
        self.spell = spell
        # Built once per position, not at every word of every sentence.
        self.placed = {k: {word: [f"c{k}={name}" for name in names] for word, names in table.items()} for k in _AROUND}

    def __call__(self, sentence: Sentence) -> list[list[str]]:
        """Return the baseline features and the names."""
        features = word_features(sentence)
        words = [self.spell(word) for word in sentence.words]
        for at, entry in enumerate(features):
            for k in _AROUND:
                if 0 <= at + k < len(words):
                    entry += self.placed[k].get(words[at + k], [])
            if self.paired:
                for k in (-1, 0):
                    if at + k >= 0 and at + k + 1 < len(words):
                        left, right = (self.table.get(words[at + k + n], []) for n in (0, 1))
                        entry += [f"c{k}={a}|{b}" for a, b in zip(left, right, strict=False)]
        return features


def cluster_names(vectors: Any, words: Iterable[str], seed: int = 1) -> Names:
    """Name words by k-means clusters, coarse and fine, fitted on the most frequent words."""
    kmeans = require("sklearn.cluster", "sklearn").MiniBatchKMeans
    known, table = _rows(vectors, words)
    _, frequent = _rows(vectors, vectors.vocabulary.words[:_CLUSTERED])
    names: dict[str, list[str]] = {word: [] for word in known}
    for number in _CLUSTERS:
        number = min(number, frequent.shape[0])
        fitted = kmeans(number, random_state=seed, n_init=3, batch_size=4096).fit(_unit(frequent))
        for word, cluster in zip(known, fitted.predict(_unit(table)), strict=True):
            names[word].append(f"{number}.{cluster}")
    return Names(names, True, spelling(vectors.vocabulary))


def extreme_names(vectors: Any, words: Iterable[str], seed: int = 1) -> Names:
    """Name words by the dimensions where they exceed the mean positive, or fall below the mean negative, value."""
    known, table = _rows(vectors, words)
    high, low = _mean_of(table, table > 0), _mean_of(table, table < 0)
    above, below = (table > 0) & (table >= high), (table < 0) & (table <= low)
    names = {
        word: [f"+{d}" for d in np.flatnonzero(up)] + [f"-{d}" for d in np.flatnonzero(down)]
        for word, up, down in zip(known, above, below, strict=True)
    }
    return Names(names, False, spelling(vectors.vocabulary))


def column_names(vectors: Any, words: Iterable[str], seed: int = 1) -> Names:
    """Name words by their nonzero columns: bit strings of Brown clusters, or atoms of sparse codes."""
    known, numbers = _known(vectors, words)
    names = {word: [str(d) for d in _filled(vectors.matrix, n)] for word, n in zip(known, numbers, strict=True)}
    return Names(names, len({len(columns) for columns in names.values()}) == 1, spelling(vectors.vocabulary))


#: Styles of CRF features from vectors.
STYLES: dict[str, Callable[..., Any]] = {
    "clusters": cluster_names,
    "extremes": extreme_names,
    "columns": column_names,
    "dense": Coordinates,
}


def default_style(vectors: Any) -> str:
    """Return ``columns`` for sparse vectors, such as Brown clusters, and ``clusters`` otherwise."""
    return "columns" if hasattr(vectors.matrix, "toarray") else "clusters"


def _known(vectors: Any, words: Iterable[str]) -> tuple[list[str], Array]:
    """Return the words that have vectors, and their row numbers."""
    index = vectors.vocabulary.index
    known = {word: index[word] for word in dict.fromkeys(words) if word in index}
    if not known:
        raise FirthianError("the vectors cover none of the words", hint="use vectors of English words")
    return list(known), np.fromiter(known.values(), np.int64, len(known))


def _rows(vectors: Any, words: Iterable[str]) -> tuple[list[str], Array]:
    """Return the words that have vectors, and their vectors."""
    known, numbers = _known(vectors, words)
    return known, np.asarray(dense_rows(vectors.matrix, numbers), dtype=np.float64)


def _filled(matrix: Any, row: int) -> Array:
    """Return the nonzero columns of a row; a sparse matrix stays sparse."""
    if isinstance(matrix, np.ndarray):
        return np.flatnonzero(matrix[row])
    here = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
    return np.sort(matrix.indices[here][matrix.data[here] != 0])


def _unit(table: Array) -> Array:
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return table / np.where(lengths > 0, lengths, 1.0)


def _mean_of(table: Array, where: Array) -> Array:
    """Return the mean of the chosen values of each column; zero if there are none."""
    number = np.sum(where, axis=0)
    mean: Array = np.sum(np.where(where, table, 0.0), axis=0) / np.maximum(number, 1)
    return mean


def spelled_words(vectors: Any, sentences: Sequence[Sentence]) -> Iterable[str]:
    """Return the words of sentences as the features look them up."""
    spell = spelling(vectors.vocabulary)
    return (spell(word) for sentence in sentences for word in sentence.words)
