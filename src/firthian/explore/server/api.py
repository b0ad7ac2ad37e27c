"""The JSON API: a function per path, which declares its parameters.

A handler returns plain data, or ``Pending`` if a job is running. Handlers run in threads, several at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from firthian.ask.word_lists import LISTS
from firthian.counts.contexts import ORDERS, context_words
from firthian.errors import FirthianError
from firthian.explore.concordance import concordance
from firthian.explore.projection import METHODS, ProjectionOptions
from firthian.explore.server.state import BackgroundJob, ExplorerState, Model, folded
from firthian.explore.word_map import make_map, map_axes
from firthian.options import Option
from firthian.runtime.progress import Progress
from firthian.texts.index import METHODS as RANKINGS
from firthian.vectors import uncertainty
from firthian.vectors.documents import as_in_corpus
from firthian.vectors.lookup import explain
from firthian.vectors.vectors import ANALOGY_METHODS, Vectors

#: The most words of a map; t-SNE and UMAP would take minutes beyond their own limit.
MOST_POINTS = 400_000
MOST_EMBEDDED = 50_000

#: Neighbors searched for a word's rank in another model.
_FAR = 1000

#: The level of intervals.
_LEVEL = 0.9

ModelName = Annotated[str, Option("Name of the model; default: the first.")]
OneModel = Annotated[str, Option("Name of a model.")]
Topn = Annotated[int, Option("Number of words.", low=1, high=1000)]
Word = Annotated[str, Option("A word.")]
Prefix = Annotated[str, Option("The beginning of a word.")]
AnalogyMethod = Annotated[str, Option("The method.", choices=ANALOGY_METHODS)]
Order = Annotated[str, Option("Rank by pmi, count, llr or log_odds.", choices=ORDERS)]
MinCount = Annotated[int, Option("Lowest count.", low=0, high=10**12)]


@dataclass(frozen=True)
class Pending:
    """A running job; the client should ask again."""

    job: BackgroundJob


def models(state: ExplorerState) -> dict[str, Any]:
    """Return the open models."""
    return {
        "models": [_facts(model) for model in state.models.values()],
        "counts": bool(state.counts),
        "corpus": bool(state.corpus),
        "inline": state.selected is not None,
        "documents": len(state.index) if state.index is not None else 0,
        "columns": [] if state.table is None else state.table.columns,
        "lists": list(LISTS),
        "methods": [{"name": name, "missing": _missing_for(name)} for name in METHODS],
        "limits": {"points": MOST_POINTS, "embedded": MOST_EMBEDDED},
    }


#: The libraries of projections, and the extra that installs them.
_LIBRARIES = {"tsne": ("openTSNE", "viz"), "umap": ("umap", "umap")}


def _missing_for(method: str) -> str:
    """Return why a projection is not available; empty if it is."""
    library, extra = _LIBRARIES.get(method, ("", ""))
    return f"pip install 'firthian[{extra}]'" if library and find_spec(library) is None else ""


#: Words to begin with, where the model has them.
_FIRST_WORDS = ("music", "river", "king", "science")

#: Other words to begin with, by frequency rank: neither function words nor rare ones. Short ones are passed over.
_MIDDLING, _SHORT = slice(200, 4000), 4


def _first_words(vectors: Vectors) -> list[str]:
    """Return a few words of a model to begin with."""
    usual = [word for word in _FIRST_WORDS if word in vectors]
    long = [word for word in vectors.vocabulary.words[_MIDDLING] if len(word) > _SHORT and word.isalpha()]
    others = long[:: max(1, len(long) // len(_FIRST_WORDS))][: len(_FIRST_WORDS)]
    return usual if len(usual) > 1 else others or vectors.vocabulary.words[: len(_FIRST_WORDS)]


def _facts(model: Model) -> dict[str, Any]:
    model.refresh()
    vectors = model.opened
    return {
        "name": model.name,
        "words": len(vectors),
        "dimensions": vectors.vector_size,
        "recipe": vectors.provenance.recipe or "",
        "examples": _first_words(vectors),
        "uncertainty": uncertainty.has_uncertainty(vectors),
        "generation": model.generation,
        "trouble": model.trouble,
    }


def words(state: ExplorerState, prefix: Prefix = "", topn: Topn = 12, model: ModelName = "") -> dict[str, Any]:
    """Complete what was typed: words that begin with it, then words that contain it, whatever their case and accents."""
    chosen = state.model(model)
    wanted = folded(prefix)
    known = chosen.vectors().vocabulary.words
    starting: list[str] = []
    within: list[str] = []
    # Words are sorted by frequency, so the first matches are the best.
    for word, plain in zip(known, chosen.folded(), strict=True):
        if wanted in plain:
            (starting if plain.startswith(wanted) else within).append(word)
            if len(starting) == topn:
                break
    return {"prefix": prefix, "words": [*starting, *within][:topn]}


def neighbors(state: ExplorerState, word: Word, topn: Topn = 20, model: ModelName = "") -> dict[str, Any]:
    """Return the nearest words by cosine, with intervals if the model has them."""
    chosen = state.model(model)
    vectors = chosen.vectors()
    word = as_in_corpus(vectors, word)
    near: list[dict[str, Any]]
    if uncertainty.has_uncertainty(vectors):
        near = [vars(item) for item in vectors.most_similar_with_intervals(word, topn, level=_LEVEL)]
    else:
        near = [{"word": w, "score": s} for w, s in vectors.most_similar(word, topn=topn)]
    number = vectors.vocabulary.get(word)
    known = {"count": int(vectors.vocabulary.counts[number]), "rank": number + 1}
    return {
        "word": word,
        "model": chosen.name,
        "generation": chosen.generation,
        # An unknown word has no count, but a line that says of what its vector is composed.
        **(known if number >= 0 else {"count": 0, "rank": None, "composed": explain(vectors, word)}),
        "neighbors": near,
    }


def analogy(
    state: ExplorerState, a: Word, b: Word, c: Word, topn: Topn = 20, method: AnalogyMethod = "3cosadd",
    model: ModelName = "",
) -> dict[str, Any]:  # fmt: skip
    """Solve an analogy: a is to b as c is to what?"""
    vectors = state.model(model).vectors()
    a, b, c = (as_in_corpus(vectors, word) for word in (a, b, c))
    answers = vectors.analogy(a, b, c, topn, method)
    return {
        "a": a, "b": b, "c": c, "method": method,
        "answers": [{"word": word, "score": score} for word, score in answers],
    }  # fmt: skip


def similarity(state: ExplorerState, a: Word, b: Word, model: ModelName = "") -> dict[str, Any]:
    """Return the cosine of two words; of Bayesian vectors its posterior median, with an interval."""
    vectors = state.model(model).vectors()
    a, b = as_in_corpus(vectors, a), as_in_corpus(vectors, b)
    result: dict[str, Any] = {"a": a, "b": b, "similarity": vectors.similarity(a, b)}
    if uncertainty.has_uncertainty(vectors):
        median, low, high = vectors.similarity_estimate(a, b, _LEVEL)
        result |= {"similarity": median, "low": low, "high": high, "cosine_of_means": result["similarity"]}
    return result


def compare(state: ExplorerState, word: Word, first: OneModel, second: OneModel, topn: Topn = 20) -> dict[str, Any]:
    """Compare the neighbors of a word in two models: which are shared, and their ranks in the other model."""
    sides = [state.model(first), state.model(second)]
    near_in = [side.vectors().most_similar(as_in_corpus(side.vectors(), word), topn=max(_FAR, topn)) for side in sides]
    far = [[one for one, _ in some] for some in near_in]
    ranks = [{near: rank for rank, near in enumerate(some, 1)} for some in far]
    near = [set(some[:topn]) for some in far]
    shared = near[0] & near[1]
    return {
        "word": word,
        "models": [side.name for side in sides],
        "shared": len(shared),
        # Jaccard index
        "overlap": len(shared) / max(1, len(near[0] | near[1])),
        "beyond": max(_FAR, topn),
        "sides": [
            [
                {
                    "word": one,
                    "rank": rank,
                    "other_rank": ranks[1 - side].get(one),
                    "known": one in sides[1 - side].vectors(),
                    "shared": one in shared,
                }
                for rank, one in enumerate(far[side][:topn], 1)
            ]
            for side in (0, 1)
        ],
    }


def contexts(
    state: ExplorerState,
    word: Word,
    topn: Topn = 40,
    min_count: MinCount = 5,
    order: Order = "pmi",
    model: ModelName = "",
) -> dict[str, Any]:
    """Return the context words of a word in the counts of a model, with their measures of association."""
    chosen = state.model(model)
    name, counts = state.counts.get(chosen.name, ("", None))
    if counts is None:
        raise FirthianError("no counts are open for this model", hint="restart the explorer with `counts`")
    if word not in counts.vocabulary:
        word = as_in_corpus(chosen.vectors(), word)
    found = context_words(counts, word, topn, min_count, order)
    return {"word": word, "order": order, "counts": name, "contexts": found.to_dict()}


def examples(
    state: ExplorerState,
    word: Word,
    beside: Annotated[str, Option("Another word that must stand near.")] = "",
    topn: Topn = 20,
) -> dict[str, Any]:
    """Return lines of the corpus with a word."""
    if not state.corpus:
        raise FirthianError("no corpus is open", hint="restart the explorer with `corpus`")
    found = concordance(state.corpus, word, beside, topn)
    lines = [{"left": left, "word": middle, "right": right} for left, middle, right in found.lines]
    return {"word": word, "beside": beside, "lines": lines, "complete": found.complete}


def search(
    state: ExplorerState,
    query: Annotated[str, Option("Words to search for.")],
    topn: Annotated[int, Option("Number of documents.", low=1, high=1000)] = 10,
    method: Annotated[str, Option("Rank by meaning, by words, or both.", choices=RANKINGS)] = "hybrid",
) -> dict[str, Any]:
    """Return the documents nearest to a query; a snippet is a list of texts, every second of which is a matched word."""
    if state.index is None:
        raise FirthianError("no index is open", hint="restart the explorer with `index`")
    found = state.index.search(query, topn, method)
    results = []
    for hit in found:
        places = [0, *(place for span in hit.matches for place in span), len(hit.snippet)]
        parts = [hit.snippet[begin:end] for begin, end in pairwise(places)]
        results.append({"document": hit.document, "score": hit.score, "snippet": parts})
    return {"query": query, "method": method, "results": results, "notes": found.notes}


def selection(
    state: ExplorerState,
    words: Annotated[str, Option("Words selected on the map, separated by spaces.", high=8000)] = "",
    add: Annotated[bool, Option("Add them to those kept before.")] = False,
) -> dict[str, Any]:
    """Keep the words selected on the map for the notebook that shows it."""
    if state.selected is None:
        raise FirthianError("no notebook shows this explorer", hint="open it by vectors.explore()")
    state.selected[:] = [*(state.selected if add else ()), *words.split()]
    return {"selected": len(state.selected)}


def word_map(
    state: ExplorerState,
    method: Annotated[str, Option("The projection.", choices=(*METHODS, "axes"))] = "pca",
    limit: Annotated[int, Option("Number of most frequent words.", low=2, high=MOST_POINTS)] = 20_000,
    clusters: Annotated[int, Option("Number of clusters.", low=1, high=50)] = 12,
    model: ModelName = "",
    x: Annotated[str, Option("Poles of the horizontal axis, for axes: bad:good.")] = "",
    y: Annotated[str, Option("Poles of the vertical axis, for axes.")] = "",
) -> Any:
    """Return a map of the most frequent words; t-SNE and UMAP run as jobs and are cached."""
    if method in ("tsne", "umap") and limit > MOST_EMBEDDED:
        raise FirthianError(f"{method} of {limit:,} words takes too long", hint=f"use at most {MOST_EMBEDDED:,}")
    chosen = state.model(model)
    vectors = chosen.vectors()

    def work(progress: Progress) -> dict[str, Any]:
        if method == "axes":
            return map_axes(vectors, x, y, limit).to_dict()
        made = make_map(
            vectors, limit=limit, options=ProjectionOptions(method), clusters=clusters, folder=chosen.path,
            progress=progress,
        )  # fmt: skip
        return made.to_dict()

    key = ("map", chosen.name, chosen.generation, method, min(limit, len(vectors)), clusters, x, y)
    answer = finished(state.jobs.ask(key, work, patience=10 if method in ("pca", "axes") else 0.5))
    if isinstance(answer, Pending):
        return answer
    return {**answer, "model": chosen.name, "generation": key[2], "total": len(vectors)}


def evaluation(state: ExplorerState, model: ModelName = "") -> Any:
    """Evaluate a model on the test sets on this machine; nothing is fetched."""
    from firthian.evaluate import evaluate

    chosen = state.model(model)
    vectors = chosen.vectors()
    here = _sets_here()
    if not here:
        raise FirthianError("no test set is on this machine", hint="run firth datasets fetch, or set FIRTHIAN_DATA")

    def work(progress: Progress) -> dict[str, Any]:
        rows = evaluate({chosen.name: vectors}, sets=here, resamples=200, progress=progress).rows(sections=False)
        shown = ("measure", "value", "low", "high", "items", "covered")
        return {"rows": [{"set": row.name, **{name: getattr(row, name) for name in shown}} for row in rows]}

    key = ("evaluation", chosen.name, chosen.generation)
    answer = finished(state.jobs.ask(key, work, patience=0.5))
    return answer if isinstance(answer, Pending) else {**answer, "model": chosen.name}


def _sets_here() -> list[str | Path]:
    """Return the common test sets on this machine, without fetching any."""
    from firthian.datasets.registry import find_dataset
    from firthian.datasets.store import find_here
    from firthian.evaluate.sets import SETS

    paths = {name: find_here(find_dataset(name)) for names in SETS.values() for name in names}
    here: list[str | Path] = []
    for name, path in paths.items():
        if name == "google" and find_here(find_dataset("google-sections")) is None and path is not None:
            # Opened by name, its sections would be fetched.
            here.append(path)
        elif path is not None:
            here.append(name)
    return here


def uncertain(
    state: ExplorerState, topn: Topn = 20, min_count: MinCount = 0, model: ModelName = "",
    word: Annotated[str, Option("A word to describe as well.")] = "",
) -> dict[str, Any]:  # fmt: skip
    """Return the words a Bayesian model is least certain of, and the relevance of its dimensions."""
    vectors = state.model(model).vectors()
    least_certain = uncertainty.least_certain(vectors, topn, min_count, at_equal_count=True)
    stored = vectors.provenance.stats.get("log_precisions", [])
    precisions = [float(value) for value in stored if isinstance(value, int | float) and np.isfinite(value)]
    chosen = vectors.uncertainty(as_in_corpus(vectors, word)).to_dict() if word else {}
    return {
        "words": [word.to_dict() for word in least_certain], "log_precisions": sorted(precisions)[:2000], "chosen": chosen
    }  # fmt: skip


def finished(job: BackgroundJob) -> Any:
    """Return the result of a job, or ``Pending``; raise if it failed."""
    if not job.finished.is_set():
        return Pending(job)
    if job.error is not None:
        raise job.error
    return job.result


#: The handler of each path.
HANDLERS: dict[str, Callable[..., Any]] = {
    "/api/models": models, "/api/words": words, "/api/neighbors": neighbors, "/api/analogy": analogy,
    "/api/similarity": similarity, "/api/compare": compare, "/api/contexts": contexts, "/api/map": word_map,
    "/api/evaluation": evaluation, "/api/uncertain": uncertain, "/api/examples": examples,
    "/api/search": search, "/api/selection": selection,
}  # fmt: skip
