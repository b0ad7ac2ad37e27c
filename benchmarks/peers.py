"""The other tools, each a script of its own: raw text in, vectors out, with its documented settings and every core.

A script gets the corpus, the target (word2vec's binary format, or fastText's) and its settings as JSON.
``size`` and ``least`` are the vector size and the least count, the same for all; what else a tool is given stands here.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HEAD = """
import json, sys
import numpy as np
corpus, target, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
size, least = settings.pop("size"), settings.pop("least")
def save(words, matrix):
    from firthian import Vectors, Vocabulary
    from firthian.vectors.formats import write_vectors
    write_vectors(Vectors(np.asarray(matrix, dtype=np.float32), Vocabulary(list(words))), target, "word2vec-bin", force=True)
"""

_GENSIM = """
from gensim.models import FastText, Word2Vec
kind = {"word2vec": Word2Vec, "fasttext": FastText}[settings.pop("kind")]
model = kind(corpus_file=corpus, vector_size=size, min_count=least, workers=2, seed=1, **settings)
model.wv.save_word2vec_format(target, binary=True)
"""

_FASTTEXT = """
import fasttext
# With fewer than ten threads fastText leaves a part of its matrix without random numbers.
model = fasttext.train_unsupervised(corpus, dim=size, minCount=least, thread=10, verbose=0, **settings)
model.save_model(target)
"""

_VECTORIZERS = """
import vectorizers
from sklearn.decomposition import TruncatedSVD
lines = [line.split() for line in open(corpus)]
window = {"window_radii": 5, "kernel_functions": "harmonic", "normalize_windows": False}
made = vectorizers.TokenCooccurrenceVectorizer(min_occurrences=least, **window)
counts = made.fit_transform(lines).tocoo()
rows, columns = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
counts.data = np.maximum(np.log(counts.data * counts.sum() / (rows[counts.row] * columns[counts.col])), 0)
matrix = TruncatedSVD(size, random_state=1).fit_transform(counts.tocsr())
save([made.token_index_dictionary_[number] for number in range(len(matrix))], matrix)
"""

_SKLEARN = """
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
made = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\\S+")
documents = made.fit_transform(open(corpus))
often = np.asarray((documents > 0).sum(axis=0)).ravel() >= least
solved = TruncatedSVD(size, random_state=1).fit(documents[:, often])
save(made.get_feature_names_out()[often], solved.components_.T * solved.singular_values_)
"""


@dataclass(frozen=True)
class Peer:
    """Another tool and what it is given."""

    name: str
    script: str
    settings: dict[str, Any] = field(default_factory=dict)

    def command(self, corpus: Path, target: Path, size: int, least: int) -> list[str]:
        """Return the process to run."""
        settings = json.dumps({**self.settings, "size": size, "least": least})
        return [sys.executable, "-W", "ignore", "-c", _HEAD + self.script, str(corpus), str(target), settings]


_SKIP_GRAM = {"sg": 1, "window": 5, "negative": 5, "sample": 1e-3}

PEERS = {
    peer.name: peer
    for peer in (
        Peer("gensim skip-gram", _GENSIM, {"kind": "word2vec", "epochs": 5, **_SKIP_GRAM}),
        Peer("gensim skip-gram, 10 epochs", _GENSIM, {"kind": "word2vec", "epochs": 10, **_SKIP_GRAM}),
        Peer("gensim skip-gram, 20 epochs", _GENSIM, {"kind": "word2vec", "epochs": 20, **_SKIP_GRAM}),
        Peer("gensim CBOW", _GENSIM, {"kind": "word2vec", "epochs": 5, **_SKIP_GRAM, "sg": 0}),
        Peer("gensim fastText", _GENSIM, {"kind": "fasttext", "epochs": 5, **_SKIP_GRAM}),
        Peer("fastText skip-gram", _FASTTEXT, {"model": "skipgram", "epoch": 5, "ws": 5, "neg": 5, "t": 1e-3}),
        Peer("vectorizers PPMI + scikit-learn SVD", _VECTORIZERS),
        Peer("scikit-learn LSA", _SKLEARN),
    )
}
