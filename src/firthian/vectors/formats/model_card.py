"""A model card as Hugging Face knows it: a README.md that says what vectors are, where they come from, how good.

The head is YAML, written as JSON values, which YAML understands. Nothing in a card depends on when or where it was
written: same vectors, same card.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firthian.errors import FirthianError, suggest

if TYPE_CHECKING:
    from firthian.evaluate.report import Row
    from firthian.vectors.vectors import Vectors

#: By library: what a hub calls the task, and how the folder is used.
_USES = {
    "model2vec": (
        "feature-extraction",
        'from model2vec import StaticModel\n\nmodel = StaticModel.from_pretrained("FOLDER")\n'
        'model.encode("some text")  # the mean vector of its known words',
    ),
    "sentence-transformers": (
        "sentence-similarity",
        'from sentence_transformers import SentenceTransformer\n\nmodel = SentenceTransformer("FOLDER")\n'
        'model.encode("some text")  # the mean vector of its known words',
    ),
    "spacy": (
        "feature-extraction",
        'import spacy\n\nnlp = spacy.load("FOLDER")\nnlp("some text")[0].vector',
    ),
    "firthian": (
        "feature-extraction",
        'import firthian as ft\n\nvectors = ft.load("FOLDER")\nvectors.most_similar("word")',
    ),
}


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
    """Write the card of vectors for a library.

    ``scores`` are what ``firthian.evaluate`` gave, or its ``to_dict()``; ``remarks`` further sentences.

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
        raise FirthianError(f"there is no card for {library!r}", hint=suggest(library, _USES))
    task, use = _USES[library]
    recipe = vectors.provenance.recipe
    title = _clean(name or f"Word vectors{f' by {recipe}' if recipe else ''}, {vectors.vector_size} dimensions")
    rows = score_rows(scores) if scores is not None else []
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
    lines += [
        "---",
        "",
        f"# {_cell(title)}",
        "",
        f"{len(vectors):,} words × {vectors.vector_size:,} dimensions, made with Firthian.",
        *(f"\n{_cell(remark)}" for remark in remarks),
        "",
        "## Use",
        "",
        f"```python\n{use}\n```",
        "",
    ]
    facts = provenance(vectors)
    if facts:
        lines += ["## Where they come from", "", *_table(("", ""), facts), ""]
    if rows:
        shown = [
            (f"{row.suite}: {row.name}", row.measure, row.show(), _coverage(row.covered, row.items)) for row in rows
        ]
        lines += ["## Scores", "", *_table(("set", "measure", "value", "covered"), shown), ""]
    return "\n".join(lines)


def provenance(vectors: Vectors) -> list[tuple[str, str]]:
    """Return (name, value) texts that say where vectors come from; nested values may come from any file."""
    record = vectors.provenance
    counts = record.counts
    corpus, settings = _mapping(counts.get("corpus")), _mapping(counts.get("settings"))
    vocabulary, source = _mapping(counts.get("vocabulary")), record.source
    names = corpus.get("names")
    named = [str(name) for name in names] if isinstance(names, list) else []
    counting = ("window", "weighting", "context", "min_count", "max_vocab", "sample", "tokenizer", "keep_case")
    facts = {
        "recipe": record.recipe,
        "paper": record.paper,
        "options": _pairs(record.options),
        "seed": record.seed,
        "corpus": ", ".join(named[:5]) + (", …" if len(named) > 5 else ""),
        "corpus, sha256": corpus.get("sha256"),
        "documents": corpus.get("documents"),
        "tokens": corpus.get("tokens"),
        "tokens of kept words": vocabulary.get("tokens"),
        "counting": _pairs({key: settings[key] for key in counting if settings.get(key) is not None}),
        "source": _pairs({key: source[key] for key in ("file", "format") if key in source}),
        "transforms": "; ".join(_pairs(step) for step in record.transforms),
        "versions": _pairs(record.versions),
    }
    return [
        (name, f"{value:,}" if type(value) is int and name != "seed" else str(value))
        for name, value in facts.items()
        if value not in (None, "")
    ]


def score_rows(scores: Any) -> list[Row]:
    """Return the figures of an evaluation of one set of vectors; figures that could not be had are left out."""
    from firthian.evaluate.report import Evaluation

    if isinstance(scores, Mapping):
        if "results" in scores or not all(isinstance(part, Mapping) for part in _suites(scores).values()):
            raise FirthianError("these are not the scores of one set of vectors", hint="firth evaluate VECTORS --json")
        scores = Evaluation({str(scores.get("vectors", "")): _suites(scores)})
    if not isinstance(scores, Evaluation) or len(scores.results) != 1:
        raise FirthianError("these are not the scores of one set of vectors", hint="give what firthian.evaluate gave")
    return [row for row in scores.rows(sections=False) if row.value is not None]


def _suites(scores: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in scores.items() if name not in ("vectors", "notes")}


def _result(row: Row) -> dict[str, Any]:
    return {
        "task": {"type": row.suite, "name": row.suite},
        "dataset": {"type": row.name or row.suite, "name": row.name or row.suite},
        "metrics": [{"type": row.measure, "name": row.measure, "value": row.value}],
    }


def _coverage(covered: int | None, items: int | None) -> str:
    return f"{covered:,} of {items:,}" if covered is not None and items is not None else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _pairs(value: Any) -> str:
    return ", ".join(f"{key} {item}" for key, item in _mapping(value).items())


def _table(head: tuple[str, ...], rows: list[Any]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(_cell(cell) if cell != "---" else cell for cell in line) + " |" for line in lines]


def _cell(text: str) -> str:
    """Write text so that Markdown takes it for nothing else."""
    plain = " ".join(_clean(text).split())
    for character in "\\`*_[]<>|#&":
        plain = plain.replace(character, "\\" + character)
    return plain


def _clean(value: Any) -> Any:
    """Take control characters, and halves of characters, out of every text."""
    if isinstance(value, str):
        return "".join(character if character.isprintable() else " " for character in value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value
