"""Vectors described for people: scores as rows, a Hugging Face model card (Markdown), the view in a notebook (HTML).

The head of a card is YAML, written as JSON values, which YAML includes. Nothing in a card depends on when or where it was
written: the same vectors have the same card.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.errors import FirthianError, suggest
from firthian.runtime.page import ROWS, notebook_table, shortened
from firthian.vectors.provenance import Provenance
from firthian.vectors.rows import dense_rows

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

#: Number of items behind a figure, by the names suites use; not figures themselves.
_COUNTS = ("pairs", "questions", "items")

#: Columns shown in a notebook.
_SHOWN_COLUMNS = 6

#: By library: the hub's name for the task, and how the folder is used.
_ENCODE = 'model.encode("some text")  # the mean vector of its known words'
_USES = {
    "model2vec": (
        "feature-extraction",
        f'from model2vec import StaticModel\n\nmodel = StaticModel.from_pretrained("FOLDER")\n{_ENCODE}',
    ),
    "sentence-transformers": (
        "sentence-similarity",
        f'from sentence_transformers import SentenceTransformer\n\nmodel = SentenceTransformer("FOLDER")\n{_ENCODE}',
    ),
    "spacy": ("feature-extraction", 'import spacy\n\nnlp = spacy.load("FOLDER")\nnlp("some text")[0].vector'),
    "firthian": (
        "feature-extraction", 'import firthian as ft\n\nvectors = ft.load("FOLDER")\nvectors.most_similar("word")'
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One figure: its vectors, suite, set or section, and the items behind it."""

    vectors: str
    suite: str
    name: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    items: int | None = None
    covered: int | None = None

    def show(self) -> str:
        """Return the figure as text, with its interval."""
        if self.value is None:
            return "–"
        if isinstance(self.value, int):
            return f"{self.value:,}"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.3f}{interval}"


def score_rows(vectors: str, suites: Mapping[str, Any], sections: bool = True) -> list[Row]:
    """Return the figures of one set of vectors; ``sections`` also those of the sections of analogies.

    >>> score_rows("v", {"similarity": {"simlex": {"spearman": 0.4, "pairs": 999, "covered": 990}}})[0].show()
    '0.400'
    """
    return [
        row
        for suite, part in suites.items()
        for name, figures in plain(part).items()
        for row in _rows(vectors, suite, str(name), figures, sections)
    ]


def plain(value: Any) -> Any:
    """Return results as JSON values."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _rows(vectors: str, suite: str, name: str, figures: Any, sections: bool) -> Iterator[Row]:
    """Yield the figures of a set, then those of its parts."""
    if not isinstance(figures, dict):
        # A suite whose names are figures themselves.
        if _is_figure(figures):
            yield Row(vectors, suite, "", name, figures)
        return
    items = next((figures[count] for count in _COUNTS if count in figures), None)
    low, high = figures.get("ci95") or (None, None)
    for measure, value in figures.items():
        if measure not in (*_COUNTS, "covered", "ci95") and _is_figure(value):
            yield Row(vectors, suite, name, measure, value, low, high, items, figures.get("covered"))
    parts = {part: inner for part, inner in figures.items() if isinstance(inner, dict) and part != "params"}
    named = parts.pop("sections", {})
    for part, inner in named.items() if sections else ():
        # A half of the set may have the same name; if it is a different thing, both are shown.
        parts[part if parts.get(part, inner) == inner else f"{part} (section)"] = inner
    for part, inner in parts.items():
        # A part that equals the whole adds nothing.
        if items is None or inner.get("questions") != items:
            yield from _rows(vectors, suite, f"{name}/{part}", inner, sections)


def _is_figure(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def model_card(
    vectors: Vectors,
    library: str = "firthian",
    *,
    name: str | None = None,
    language: str | None = None,
    license: str | None = None,
    scores: Any = None,
    remarks: tuple[str, ...] = (),
) -> str:
    """Return the model card of vectors for a library.

    ``scores`` is the result of ``firthian.evaluate``, or its ``to_dict()``; ``remarks`` are further sentences.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> from firthian.vectors.provenance import Provenance
    >>> vectors = Vectors(np.eye(2), Vocabulary(["tea", "cup"]), provenance=Provenance(recipe="svd"))
    >>> print(model_card(vectors, language="en").split("---")[1].strip())
    language: "en"
    library_name: "firthian"
    pipeline_tag: "feature-extraction"
    tags: ["word-embeddings", "static-embeddings", "firthian"]
    """
    if library not in _USES:
        raise FirthianError(f"there is no model card for {library!r}", hint=suggest(library, _USES))
    task, use = _USES[library]
    recipe = vectors.provenance.recipe
    title = _clean(name or f"Word vectors{f' by {recipe}' if recipe else ''}, {vectors.vector_size} dimensions")
    rows = _score_rows(scores) if scores is not None else []
    head = {
        "language": language,
        "license": license,
        "library_name": library,
        "pipeline_tag": task,
        "tags": ["word-embeddings", "static-embeddings", "firthian"],
        "model-index": [{"name": title, "results": [_result(row) for row in rows]}] if rows else None,
    }
    lines = ["---"]
    lines += [f"{key}: {json.dumps(_clean(value), ensure_ascii=False)}" for key, value in head.items() if value]
    size = f"{len(vectors):,} words × {vectors.vector_size:,} dimensions, made with Firthian."
    if vectors.subwords is not None:
        size += f" {len(vectors.subwords):,} character n-grams compose the vectors of other words."
    notes = [f"\n{_cell(remark)}" for remark in remarks]
    lines += ["---", "", f"# {_cell(title)}", "", size, *notes, "", "## Use", "", f"```python\n{use}\n```", ""]
    origin = facts(vectors.provenance)
    if origin:
        lines += ["## Provenance", "", *_table(("", ""), origin), ""]
    if rows:
        shown = [(f"{row.suite}: {row.name}", row.measure, row.show(), coverage([row])) for row in rows]
        lines += ["## Scores", "", *_table(("set", "measure", "value", "covered"), shown), ""]
    return "\n".join(lines)


def notebook_view(vectors: Vectors) -> str:
    """Return HTML with the first words, the first numbers of their vectors, and the provenance."""
    words = vectors.vocabulary.words[:ROWS]
    rows = dense_rows(vectors.stored, np.arange(len(words)))
    counted = bool(np.any(vectors.vocabulary.counts))
    shown = min(_SHOWN_COLUMNS, vectors.vector_size)
    more = ["…"] if vectors.vector_size > shown else []
    cells = []
    for word, count, row in zip(words, vectors.vocabulary.counts[: len(words)].tolist(), rows, strict=True):
        numbers = [float(np.linalg.norm(row.astype(np.float64))), *row[:shown]]
        cells.append([shortened(word), *([f"{count:,}"] if counted else []), *(f"{x:.3f}" for x in numbers), *more])
    head = ["word", *(["count"] if counted else []), "length", *(str(i + 1) for i in range(shown)), *more]
    return notebook_table(repr(vectors), head, cells, len(vectors) - len(words), facts(vectors.provenance))


def facts(provenance: Provenance) -> list[tuple[str, str]]:
    """Return (name, value) pairs for people; nested values may come from any file."""
    counts, source = provenance.counts, provenance.source
    corpus, settings, vocabulary = (_mapping(counts.get(name)) for name in ("corpus", "settings", "vocabulary"))
    names = corpus.get("names")
    listed = [str(name) for name in names] if isinstance(names, list) else []
    counting = ("window", "weighting", "context", "min_count", "max_vocab", "sample", "tokenizer", "keep_case")
    values = {
        "recipe": provenance.recipe,
        "paper": provenance.paper,
        "options": _pairs(provenance.options),
        "seed": provenance.seed,
        "corpus": ", ".join(listed[:5]) + (", …" if len(listed) > 5 else ""),
        "corpus, sha256": corpus.get("sha256"),
        "documents": corpus.get("documents"),
        "tokens": corpus.get("tokens"),
        "tokens of kept words": vocabulary.get("tokens"),
        "counting": _pairs({key: settings[key] for key in counting if settings.get(key) is not None}),
        "source": _pairs({key: source[key] for key in ("file", "format") if key in source}),
        "transforms": "; ".join(_pairs(step) for step in provenance.transforms),
        "subwords": _pairs(provenance.subwords),
        "versions": _pairs(provenance.versions),
    }
    return [
        (name, f"{value:,}" if type(value) is int and name != "seed" else str(value))
        for name, value in values.items()
        if value not in (None, "")
    ]


def _score_rows(scores: Any) -> list[Row]:
    """Return the figures of one set of vectors, without those that could not be computed."""
    scores = scores.to_dict() if hasattr(scores, "to_dict") else scores
    suites = {key: part for key, part in _mapping(scores).items() if key not in ("vectors", "notes")}
    if not isinstance(scores, Mapping) or not all(isinstance(part, Mapping) for part in suites.values()):
        remedy = "pass the result of firthian.evaluate, or of: firth evaluate VECTORS --json"
        raise FirthianError("these are not the scores of one set of vectors", hint=remedy)
    return [row for row in score_rows(str(scores.get("vectors", "")), suites, sections=False) if row.value is not None]


def _result(row: Row) -> dict[str, Any]:
    return {
        "task": {"type": row.suite, "name": row.suite},
        "dataset": {"type": row.name or row.suite, "name": row.name or row.suite},
        "metrics": [{"type": row.measure, "name": row.measure, "value": row.value}],
    }


def coverage(rows: list[Row]) -> str:
    """Format the coverage of a set, as a range if the models differ."""
    known = sorted({row.covered for row in rows if row.covered is not None})
    if not known or rows[0].items is None:
        return ""
    return f"{known[0]:,}{f'–{known[-1]:,}' if len(known) > 1 else ''} of {rows[0].items:,}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _pairs(value: Any) -> str:
    return ", ".join(f"{key} {item}" for key, item in _mapping(value).items())


def _table(head: tuple[str, ...], rows: list[Any]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(_cell(cell) if cell != "---" else cell for cell in line) + " |" for line in lines]


def _cell(text: str) -> str:
    """Return text escaped for Markdown."""
    plain = " ".join(_clean(text).split())
    for character in "\\`*_[]<>|#&":
        plain = plain.replace(character, "\\" + character)
    return plain


def _clean(value: Any) -> Any:
    """Replace control characters and lone surrogates in every text by spaces."""
    if isinstance(value, str):
        return "".join(character if character.isprintable() else " " for character in value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value
