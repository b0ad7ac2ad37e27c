"""The JSON API: a table of paths, parameters and handlers.

A handler returns plain data, or ``Pending`` if a job is running. Handlers run in threads, several at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firthian.errors import FirthianError
from firthian.explore.contexts import ORDERS, context_words
from firthian.explore.projection import METHODS, ProjectionOptions
from firthian.explore.server.parameters import Parameters, Text, Whole
from firthian.explore.server.state import BackgroundJob, ExplorerState, Model
from firthian.explore.word_map import make_map
from firthian.runtime.progress import Progress
from firthian.vectors import uncertainty
from firthian.vectors.vectors import ANALOGY_METHODS

#: The most words of a map; t-SNE and UMAP would take minutes beyond their own limit.
MOST_POINTS = 400_000
MOST_EMBEDDED = 50_000

#: Neighbors searched for a word's rank in another model.
_FAR = 1000

#: The level of intervals.
_LEVEL = 0.9

_MODEL = Text("Name of the model; default: the first.", required=False)
_TOPN = Whole("Number of words.", 20, 1, 1000)
_WORD = Text("A word.")


@dataclass(frozen=True)
class Pending:
    """A running job; the client should ask again."""

    job: BackgroundJob


@dataclass(frozen=True)
class Question:
    """A path, its summary, its parameters, and its handler."""

    path: str
    summary: str
    answer: Callable[..., Any]
    parameters: Parameters = field(default_factory=dict)


def models(state: ExplorerState) -> dict[str, Any]:
    """Return the open models."""
    return {
        "models": [_facts(model) for model in state.models.values()],
        "counts": state.counts is not None,
        "methods": list(METHODS),
        "limits": {"points": MOST_POINTS, "embedded": MOST_EMBEDDED},
    }


def _facts(model: Model) -> dict[str, Any]:
    model.refresh()
    vectors = model.opened
    return {
        "name": model.name,
        "words": len(vectors),
        "dimensions": vectors.vector_size,
        "recipe": vectors.provenance.recipe or "",
        "uncertainty": uncertainty.has_uncertainty(vectors),
        "generation": model.generation,
        "trouble": model.trouble,
    }


def words(state: ExplorerState, prefix: str, topn: int, model: str) -> dict[str, Any]:
    """Complete a prefix: the most frequent words that start with it, as typed, in lower case or capitalized."""
    # Words are sorted by frequency, so the first matches are the best.
    prefixes = tuple({prefix, prefix.lower(), prefix.capitalize()})
    matches: list[str] = []
    for word in state.model(model).vectors().vocabulary.words:
        if word.startswith(prefixes):
            matches.append(word)
            if len(matches) == topn:
                break
    return {"prefix": prefix, "words": matches}


def neighbors(state: ExplorerState, word: str, topn: int, model: str) -> dict[str, Any]:
    """Return the nearest words by cosine, with intervals if the model has them."""
    chosen = state.model(model)
    vectors = chosen.vectors()
    near: list[dict[str, Any]]
    if uncertainty.has_uncertainty(vectors):
        near = [vars(item) for item in vectors.most_similar_with_intervals(word, topn, level=_LEVEL)]
    else:
        near = [{"word": w, "score": s} for w, s in vectors.most_similar(word, topn=topn)]
    number = vectors.vocabulary[word]
    return {
        "word": word,
        "model": chosen.name,
        "generation": chosen.generation,
        "count": int(vectors.vocabulary.counts[number]),
        "rank": number + 1,
        "neighbors": near,
    }


def analogy(state: ExplorerState, a: str, b: str, c: str, topn: int, method: str, model: str) -> dict[str, Any]:
    """Solve an analogy: a is to b as c is to what?"""
    answers = state.model(model).vectors().analogy(a, b, c, topn, method)
    return {
        "a": a, "b": b, "c": c, "method": method,
        "answers": [{"word": word, "score": score} for word, score in answers],
    }  # fmt: skip


def similarity(state: ExplorerState, a: str, b: str, model: str) -> dict[str, Any]:
    """Return the cosine of two words; of Bayesian vectors its posterior median, with an interval."""
    vectors = state.model(model).vectors()
    result: dict[str, Any] = {"a": a, "b": b, "similarity": vectors.similarity(a, b)}
    if uncertainty.has_uncertainty(vectors):
        median, low, high = vectors.similarity_estimate(a, b, _LEVEL)
        result |= {"similarity": median, "low": low, "high": high, "cosine_of_means": result["similarity"]}
    return result


def compare(state: ExplorerState, word: str, first: str, second: str, topn: int) -> dict[str, Any]:
    """Compare the neighbors of a word in two models: which are shared, and their ranks in the other model."""
    sides = [state.model(first), state.model(second)]
    far = [[near for near, _ in side.vectors().most_similar(word, topn=max(_FAR, topn))] for side in sides]
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


def contexts(state: ExplorerState, word: str, topn: int, min_count: int, order: str) -> dict[str, Any]:
    """Return the context words of a word in the counts, with their PMI."""
    if state.counts is None:
        raise FirthianError("no counts are open", hint="restart the explorer with `counts`")
    contexts = context_words(state.counts, word, topn, min_count, order)
    return {"word": word, "order": order, "contexts": [context.to_dict() for context in contexts]}


def word_map(state: ExplorerState, method: str, limit: int, clusters: int, model: str) -> Any:
    """Return a map of the most frequent words; t-SNE and UMAP run as jobs and are cached."""
    if method != "pca" and limit > MOST_EMBEDDED:
        raise FirthianError(f"{method} of {limit:,} words takes too long", hint=f"use at most {MOST_EMBEDDED:,}")
    chosen = state.model(model)
    vectors = chosen.vectors()

    def work(progress: Progress) -> dict[str, Any]:
        word_map = make_map(
            vectors,
            limit=limit,
            options=ProjectionOptions(method),
            clusters=clusters,
            folder=chosen.path,
            progress=progress,
        )
        return word_map.to_dict()

    key = ("map", chosen.name, chosen.generation, method, min(limit, len(vectors)), clusters)
    answer = _finished(state.jobs.ask(key, work, patience=10 if method == "pca" else 0.5))
    if isinstance(answer, Pending):
        return answer
    return {**answer, "model": chosen.name, "generation": key[2], "total": len(vectors)}


def evaluation(state: ExplorerState, model: str) -> Any:
    """Evaluate a model on the test sets on this machine; nothing is fetched."""
    from firthian.evaluate import evaluate

    chosen = state.model(model)
    vectors = chosen.vectors()
    here = _sets_here()
    if not here:
        raise FirthianError(
            "no common test set is on this machine", hint="run firth datasets fetch, or set FIRTHIAN_DATA"
        )

    def work(progress: Progress) -> dict[str, Any]:
        rows = evaluate({chosen.name: vectors}, sets=here, resamples=200, progress=progress).rows(sections=False)
        return {
            "rows": [
                {
                    "set": row.name, "measure": row.measure, "value": row.value, "low": row.low, "high": row.high,
                    "items": row.items, "covered": row.covered,
                }
                for row in rows
            ]
        }  # fmt: skip

    key = ("evaluation", chosen.name, chosen.generation)
    answer = _finished(state.jobs.ask(key, work, patience=0.5))
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


def uncertain(state: ExplorerState, topn: int, min_count: int, model: str) -> dict[str, Any]:
    """Return the words a Bayesian model is least certain of, and the relevance of its dimensions."""
    vectors = state.model(model).vectors()
    least_certain = uncertainty.least_certain(vectors, topn, min_count, at_equal_count=True)
    stored = vectors.provenance.stats.get("log_precisions", [])
    precisions = [float(value) for value in stored if isinstance(value, int | float) and np.isfinite(value)]
    return {"words": [word.to_dict() for word in least_certain], "log_precisions": sorted(precisions)[:2000]}


def _finished(job: BackgroundJob) -> Any:
    if not job.finished.is_set():
        return Pending(job)
    if job.error is not None:
        raise job.error
    return job.result


QUESTIONS = (
    Question("/api/models", "The open models.", models),
    Question(
        "/api/words", "Words that start with a prefix.", words,
        {"prefix": Text("The prefix.", required=False), "topn": Whole("Number of words.", 12, 1, 200), "model": _MODEL},
    ),
    Question(
        "/api/neighbors", "The nearest words.", neighbors, {"word": _WORD, "topn": _TOPN, "model": _MODEL}
    ),
    Question(
        "/api/analogy", "a is to b as c is to what?", analogy,
        {
            "a": _WORD, "b": _WORD, "c": _WORD, "topn": _TOPN,
            "method": Text("The method.", False, "3cosadd", ANALOGY_METHODS), "model": _MODEL,
        },
    ),
    Question("/api/similarity", "The cosine of two words.", similarity, {"a": _WORD, "b": _WORD, "model": _MODEL}),
    Question(
        "/api/compare", "The neighbors of a word in two models.", compare,
        {
            "word": _WORD, "first": Text("The first model."), "second": Text("The second model."),
            "topn": Whole("Number of neighbors.", 20, 1, 200),
        },
    ),
    Question(
        "/api/contexts", "The context words of a word in the counts.", contexts,
        {
            "word": _WORD, "topn": Whole("Number of contexts.", 40, 1, 1000),
            "min_count": Whole("Lowest count of a pair.", 5, 0, 10**9), "order": Text("pmi or count.", False, "pmi", ORDERS),
        },
    ),
    Question(
        "/api/map", "A map of words.", word_map,
        {
            "method": Text("The projection.", False, "pca", METHODS),
            "limit": Whole("Number of most frequent words.", 20_000, 2, MOST_POINTS),
            "clusters": Whole("Number of clusters.", 12, 1, 50), "model": _MODEL,
        },
    ),
    Question("/api/evaluation", "Scores on the test sets on this machine.", evaluation, {"model": _MODEL}),
    Question(
        "/api/uncertain", "The words a Bayesian model is least certain of.", uncertain,
        {"topn": _TOPN, "min_count": Whole("Lowest count of a word.", 0, 0, 10**12), "model": _MODEL},
    ),
)  # fmt: skip
