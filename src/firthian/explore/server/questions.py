"""Questions of the page: what goes with what, what changed, who uses a word differently.

The last two are about the texts of a table. What was read for one word is kept for the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from firthian.ask.associate import associate
from firthian.ask.change import Comparison, can_measure
from firthian.ask.change_figure import in_plane
from firthian.ask.regress import Study, answer
from firthian.ask.settings import DOCUMENT, RegressSettings
from firthian.ask.word_lists import LISTS
from firthian.errors import FirthianError
from firthian.explore.server.api import ModelName, finished
from firthian.explore.server.state import AskedTable, ExplorerState, Model
from firthian.options import Option
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run, one_blas_thread
from firthian.vectors.documents import as_in_corpus

#: How long a client waits before it is told to ask again, in seconds.
_PATIENCE = 0.5

#: The most dimensions of vectors that are trained to measure with.
_MOST_TRAINED = 100

Words = Annotated[str, Option("Words, comma-separated.")]
Unit = Annotated[str, Option("Column of groups to permute, such as author; default: documents.")]


def _table(state: ExplorerState) -> AskedTable:
    if state.table is None:
        raise FirthianError("no table is open", hint="restart the explorer with `table`")
    return state.table


def _job(state: ExplorerState, key: Any, work: Callable[[Progress], dict[str, Any]]) -> Any:
    def plain(progress: Progress) -> Any:
        with one_blas_thread():
            return _finite(work(progress))

    return finished(state.jobs.ask(key, plain, patience=_PATIENCE))


def _finite(value: Any) -> Any:
    """Return data with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def lists(
    state: ExplorerState,
    targets: Words = "",
    others: Annotated[str, Option("Other words to compare them with, comma-separated.")] = "",
    axis: Annotated[str, Option("Two poles of words, as he,him:she,her.")] = "",
    published: Annotated[str, Option("A published test instead.", choices=("", *LISTS))] = "",
    model: ModelName = "",
) -> dict[str, Any]:
    """Test which words go with which: effect size, p, and the projection of each target word on the axis of the poles."""
    vectors = state.model(model).vectors()
    given = {name: words for name, words in (("targets", _split(targets)), ("others", _split(others))) if words}
    if published:
        found = associate(vectors, list=published)
    else:
        found = associate(vectors, given or None, axis=axis or None)
    return {"title": found.title, **_finite(found.to_dict())}


def change(
    state: ExplorerState,
    word: Annotated[str, Option("A word.")],
    by: Annotated[str, Option("Column to slice by.")],
    cuts: Annotated[str, Option("Numbers to cut the column at, comma-separated.")] = "",
    unit: Unit = "",
    model: ModelName = "",
) -> Any:
    """Test whether a word is used differently in slices of the table, and how: neighbors, contexts, its path."""
    asked, chosen = _table(state), state.model(model)
    vectors = chosen.vectors()
    try:
        edges = [float(cut) for cut in _split(cuts)]
    except ValueError:
        raise FirthianError(f"expected numbers, got {cuts!r}", hint="such as 1860,1880") from None
    key = (*_of(chosen), by, tuple(edges), unit)

    def work(progress: Progress) -> dict[str, Any]:
        def read() -> Comparison:
            measuring = (
                {"vectors": vectors}
                if can_measure(vectors)
                else {"vector_size": min(vectors.vector_size, _MOST_TRAINED)}
            )
            return Comparison(
                asked.texts, by=by, cuts=edges or None, unit=unit or None, progress=progress, **measuring
            )  # fmt: skip

        comparison = asked.reading(("change", *key), read)
        result = comparison.ask([as_in_corpus(comparison.vectors, word)])
        one = result.words[0]
        slices, own, near, others = in_plane(one, result.vectors)
        names = ("word", "share", "before", "after")
        return {
            **result.to_dict()["words"][0],
            "slices": [
                {"name": part.name, "occurrences": part.occurrences, "units": part.units, "neighbors": part.neighbors}
                for part in one.slices
            ],
            "contexts": [dict(zip(names, row, strict=True)) for row in one.contexts[:40]],
            "path": [[part.name, *map(float, place)] for part, place in zip(slices, own, strict=True)],
            "near": [[other, *map(float, place)] for other, place in zip(near, others, strict=True)],
            # One word was tested, so its q says no more than its p; the notes count words.
            "notes": list(result.notes)[1:],
        }  # fmt: skip

    return _job(state, ("change", *key, word), work)


def regress(
    state: ExplorerState,
    word: Annotated[str, Option("A word, a phrase, or a pattern such as immigr*.")],
    formula: Annotated[str, Option("Columns, as in party * gender + year.")],
    unit: Unit = "",
    model: ModelName = "",
) -> Any:
    """Regress the vectors of a word's occurrences on columns of the table: norms, p, nearest words, typical sentences."""
    asked, chosen = _table(state), state.model(model)
    vectors = chosen.vectors()
    key = (*_of(chosen), formula, unit)

    def work(progress: Progress) -> dict[str, Any]:
        def read() -> Study:
            settings = RegressSettings(cluster_by=unit or DOCUMENT)
            run = Run.create(settings.seed, None, progress=progress)
            return Study.read(asked.texts, formula, vectors, settings, run)

        result = answer(asked.reading(("regress", *key), read), word)
        return {"title": result.title, **result.to_dict()}

    return _job(state, ("regress", *key, word), work)


def _of(model: Model) -> tuple[str, int]:
    return model.name, model.generation


#: The handler of each path.
HANDLERS: dict[str, Callable[..., Any]] = {"/api/lists": lists, "/api/change": change, "/api/regress": regress}
