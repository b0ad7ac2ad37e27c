"""An index of documents: built in segments, searched by vectors, by words, or by both.

A folder with ``index.json``, the encoder's weights and a file for each segment. The vectors stay where they are: the index
notes their place and the checksum of their manifest or file, and refuses others.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array, offsets
from firthian.disk.artifact import ArtifactKind, read_manifest, sha256
from firthian.disk.opening import open_regular, read_regular
from firthian.disk.tensors import damage
from firthian.errors import FirthianError, from_os_error
from firthian.options import Option, option_of
from firthian.runtime.executor import check_workers
from firthian.runtime.table import Column, Table, Tabular
from firthian.texts.encoder import Encoder
from firthian.texts.segment import Segment
from firthian.texts.snippets import snippet
from firthian.texts.spelling import Spelling
from firthian.texts.store import ENCODER, is_encoder, join
from firthian.vectors.documents import tokenizer_of
from firthian.vectors.formats import open_vectors
from firthian.vectors.rows import scale_to_unit
from firthian.vectors.search import ONE_QUERY_ROWS, top_places

INDEX = ArtifactKind("an index", "index.json")

METHODS = ("hybrid", "vectors", "words")

#: BM25: how quickly repetitions stop counting, and how much long documents are discounted.
K1, B = 1.5, 0.75

#: Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): Σ share / (k + rank) over the first results of each ranking.
FUSION_DEPTH = 200

#: k and the share of vectors, by the method of the encoder, and for the others. Chosen on a split of the training part of
#: 20 Newsgroups, for whole postings and short queries alike, see ``benchmarks/search.py``.
FUSION, USUAL_FUSION = {"topics": (20, 0.5)}, (120, 0.1)

#: Distinct words of a query that are searched for, and unknown ones whose nearest spelling is looked for.
_MOST_WORDS, _MOST_CORRECTED = 1000, 20

_COLUMNS = (Column("document", int, "d"), Column("score", float), Column("text"))

Topn = Annotated[int, Option("results to list", low=1, high=100_000)]
Method = Annotated[str, Option("hybrid combines vectors and words", choices=METHODS)]


@dataclass(frozen=True)
class Hit:
    """A document that was found: its number, from 0, its score, and a part of its text with the spans of matched words."""

    document: int
    score: float
    snippet: str
    matches: list[tuple[int, int]]


@dataclass(frozen=True, repr=False)
class Results(Tabular):
    """The documents found, best first, and what was done about words that are not known."""

    hits: list[Hit]
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def table(self) -> Table:
        """The documents found."""
        rows = [(hit.document, hit.score, hit.snippet) for hit in self.hits]
        return Table("Documents found", _COLUMNS, rows, self.notes)

    def __repr__(self) -> str:
        return str(self.table.head(12))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"results": [vars(hit) for hit in self.hits], "notes": self.notes}


class Index:
    """Documents that can be searched; ``firthian.index`` makes one, ``Index.load`` opens it."""

    def __init__(self, encoder: Encoder, segments: list[Segment], record: dict[str, Any]) -> None:
        self.encoder, self.segments, self.record = encoder, segments, record
        #: The number of the first document of each segment, and of all.
        self.first = offsets([len(segment) for segment in segments])
        self.tokens = sum(int(segment.lengths.sum(dtype=np.int64)) for segment in segments)
        mean = self.tokens / max(1, len(self))
        self._tokenizer = tokenizer_of(encoder.vectors)
        self._relative = [segment.lengths / np.float32(max(mean, 1e-9)) for segment in segments]
        self._spelling = Spelling(encoder.vectors.vocabulary, self._frequency)

    def __len__(self) -> int:
        return int(self.first[-1])

    def __repr__(self) -> str:
        return f"<Index: {len(self):,} documents, {self.tokens:,} tokens, {self.encoder.dimension} dimensions>"

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vectors: str | os.PathLike[str] | None = None, verify: bool = False
    ) -> Index:
        """Open an index; ``vectors`` is where its vectors are now, if they moved. ``verify`` reads and checks every byte."""
        folder = Path(path)
        artifact = INDEX.read(folder, verify)
        record, damaged = artifact.record, damage(folder / INDEX.manifest)
        arrays = dict(artifact.arrays)
        own: dict[str, Array] = {name: arrays.pop(name) for name in ("weights", "center", "map") if name in arrays}
        try:
            place, fingerprint, number = record["vectors"]["path"], record["vectors"]["sha256"], record["segments"]
            reading = record["reading"].values()
            if not isinstance(place, str) or any(type(count) is not int for count in (number, *reading)):
                raise damaged
            where = find_vectors(folder, place, vectors, str(fingerprint))
            encoder = join(open_vectors(where), record["encoder"], own, damaged) if own else Encoder.load(where)
            segments = []
            for at in range(number):
                names = [name for name in arrays if name.startswith(f"{at}.")]
                parts = {name.partition(".")[2]: arrays.pop(name) for name in names}
                segments.append(Segment(parts, encoder.dimension))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise damaged from error
        if arrays or not segments:
            raise damaged
        return cls(encoder, segments, record)

    def text(self, document: int) -> str:
        """Return the text of a document."""
        if not 0 <= document < len(self):
            raise FirthianError(
                f"there is no document {document}", hint=f"the index has {len(self):,}, numbered from 0"
            )
        at = int(np.searchsorted(self.first, document, side="right")) - 1
        return self.segments[at].document(document - int(self.first[at]))

    def search(self, query: str, topn: Topn = 10, method: Method = "hybrid") -> Results:
        """Return the documents nearest to a query.

        ``vectors`` ranks by the cosine of the query's vector, ``words`` by BM25, ``hybrid`` by reciprocal rank fusion of
        both. A word that no document has is replaced by the nearest spelling, and ``notes`` tells.
        """
        topn = option_of("topn", Topn).check(topn)
        method = option_of("method", Method).check(method)
        if not isinstance(query, str):
            raise FirthianError(f"expected a query, got {str(query)[:40]!r}", hint="pass a string")
        tokens = self._tokenizer.tokens(query)
        if not tokens:
            raise FirthianError("the query has no words", hint="type some words to search for")
        known, notes = self._corrected(tokens)
        scores = {}
        if method in ("hybrid", "vectors"):
            scores["vectors"] = self.vector_scores(known)
        if method in ("hybrid", "words"):
            scores["words"] = self.word_scores(known)
        depth = topn if len(scores) == 1 else max(topn, FUSION_DEPTH)
        ranked = {name: self._best(values, depth) for name, values in scores.items()}
        fusion = FUSION.get(self.encoder.options["method"], USUAL_FUSION)
        best = next(iter(ranked.values())) if len(ranked) == 1 else fuse(ranked["vectors"], ranked["words"], *fusion)
        hits = [Hit(n, round(score, 6), *snippet(self.text(n), known)) for n, score in best[:topn]]
        return Results(hits, notes)

    def vector_scores(self, tokens: list[str]) -> Array:
        """Return the cosine of each document with a query; zeros if none of its words has a vector."""
        scores = np.zeros(len(self), np.float32)
        query = scale_to_unit(self.encoder.encode([tokens]))[0]
        if not query.any():
            return scores
        tasks = []
        for at, segment in enumerate(self.segments):
            score = segment.codes.scorer(query)
            for first in range(0, len(segment), ONE_QUERY_ROWS):
                rows = slice(first, min(first + ONE_QUERY_ROWS, len(segment)))
                here = scores[self.first[at] + rows.start : self.first[at] + rows.stop]
                tasks.append((score, rows, here))
        for _ in self._pool.map(lambda task: task[0](task[1], task[2]), tasks):
            pass
        return scores

    def word_scores(self, tokens: list[str]) -> Array:
        """Return the BM25 score of each document."""
        from firthian.kernels.postings import add_bm25

        terms = list(dict.fromkeys(tokens))
        found = [[segment.find(term) for segment in self.segments] for term in terms]
        weights = []
        for places in found:
            n = sum(place.stop - place.start for place in places)
            weights.append(math.log(1 + (len(self) - n + 0.5) / (n + 0.5)))
        scores = np.zeros(len(self), np.float32)

        def add(at: int) -> None:
            segment, here = self.segments[at], scores[self.first[at] : self.first[at + 1]]
            for places, weight in zip(found, weights, strict=True):
                add_bm25(
                    segment.documents[places[at]], segment.times[places[at]], self._relative[at], weight, K1, B, here
                )

        for _ in self._pool.map(add, range(len(self.segments))):
            pass
        return scores

    def dedupe(self, threshold: float = 0.95) -> list[list[int]]:
        """Return groups of near-duplicates: documents linked by cosines of at least ``threshold``, largest groups first."""
        from firthian.texts.duplicates import near_duplicates

        return near_duplicates([segment.codes for segment in self.segments], threshold)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(check_workers(None), thread_name_prefix="firthian-index")

    def _best(self, scores: Array, number: int) -> list[tuple[int, float]]:
        """Return the best documents with a score above 0."""
        places = top_places(scores, min(number, scores.size), above=0) if scores.size else np.zeros(0, np.int64)
        return list(zip(places.tolist(), scores[places].tolist(), strict=True))

    def _frequency(self, term: str) -> int:
        """Return the number of documents that have a term."""
        places = [segment.find(term) for segment in self.segments]
        return sum(place.stop - place.start for place in places)

    def _corrected(self, tokens: list[str]) -> tuple[list[str], list[str]]:
        """Replace words that are known nowhere by the nearest spelling; return the words and what was done."""
        known, notes = [], []
        distinct = dict.fromkeys(tokens)
        if len(distinct) > _MOST_WORDS:
            notes.append(f"the query has {len(distinct):,} different words; searched for the first {_MOST_WORDS:,}")
            kept = set(list(distinct)[:_MOST_WORDS])
            tokens = [token for token in tokens if token in kept]
        composed = self.encoder.vectors.subwords is not None
        replaced: dict[str, str] = {}
        unknown = 0
        for token in dict.fromkeys(tokens):
            if token in self.encoder.vectors.vocabulary or self._frequency(token):
                replaced[token] = token
                continue
            unknown += 1
            near = self._spelling.nearest(token) if unknown <= _MOST_CORRECTED else ""
            replaced[token] = near or (token if composed else "")
            if unknown > _MOST_CORRECTED:
                continue
            shown = token if len(token) <= 40 else token[:40] + "…"
            how = f"searched for {near!r}" if near else "its vector is composed of parts" if composed else "left out"
            notes.append(f"{shown!r} is not known: {how}")
        if unknown > _MOST_CORRECTED:
            how = "their vectors are composed of parts" if composed else "left out"
            notes.append(f"{unknown - _MOST_CORRECTED:,} more words are not known: {how}")
        known = [replaced[token] for token in tokens if replaced[token]]
        if not known:
            raise FirthianError("no word of the query is known", hint="check its spelling and language")
        return known, notes


def fuse(
    vectors: list[tuple[int, float]], words: list[tuple[int, float]], k: float, share: float
) -> list[tuple[int, float]]:
    """Combine two rankings by reciprocal rank fusion.

    >>> [document for document, _ in fuse([(1, 0.9), (2, 0.8)], [(2, 7.0), (3, 1.0)], k=20, share=0.3)]
    [2, 3, 1]
    """
    scores: dict[int, float] = {}
    for ranking, weight in ((vectors, share), (words, 1 - share)):
        for rank, (document, _) in enumerate(ranking, start=1):
            scores[document] = scores.get(document, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def vectors_fingerprint(path: Path) -> str:
    """Return the checksum of vectors: of a folder's manifest, which has those of everything else, or of a file."""
    try:
        if is_encoder(path):
            return sha256(read_regular(path / ENCODER.manifest))
        if (path / "vectors.json").is_file():
            return sha256(read_regular(path / "vectors.json"))
        # An index may name any place.
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise from_os_error(error) from error


def find_vectors(folder: Path, place: str, moved: str | os.PathLike[str] | None, fingerprint: str) -> Path:
    """Return where the vectors of an index are; raise if they are not there, or are others."""
    path = Path(moved) if moved is not None else folder / place
    if not path.exists():
        raise FirthianError(f"the vectors of {folder} are no longer at {path}", hint="name their place with `vectors`")
    if path.is_dir() and not (path / "vectors.json").is_file():
        raise FirthianError(f"{path} does not hold the vectors of {folder}", hint="name their place with `vectors`")
    if vectors_fingerprint(path) != fingerprint:
        raise FirthianError(f"the vectors at {path} are not those that made {folder}", hint="build the index again")
    return path


def is_index(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds an index."""
    return (Path(path) / INDEX.manifest).is_file()


def read_record(folder: Path) -> dict[str, Any]:
    """Return the manifest of an index."""
    return read_manifest(folder / INDEX.manifest, INDEX.name)
