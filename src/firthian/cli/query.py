"""``firth neighbors``, ``analogy``, ``similarity``, ``uncertain`` and ``score``: questions about words and documents."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, Seed, Source, Topn, print_json, refuse_idle
from firthian.errors import FirthianError, UnknownWordError

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors


def _note_composed(vectors: Vectors, words: Iterable[str]) -> None:
    """Report unknown words and the n-grams of their composed vectors on standard error."""
    from firthian.vectors.lookup import explain

    for word in words:
        line = explain(vectors, word)
        if line:
            print(f"firth: {line}", file=sys.stderr)


def _parts(vectors: Vectors, word: str) -> dict[str, Any]:
    """Return the n-grams of a composed word, for JSON; nothing for a known word."""
    if word in vectors or vectors.subwords is None:
        return {}
    return {"composed_of": [{"ngram": ngram, "share": share} for ngram, share in vectors.subwords.parts(word)]}


def _as_in_corpus(vectors: Vectors, words: Iterable[str]) -> list[str]:
    """Return words as they stand in the vocabulary, and report on standard error those that were typed otherwise."""
    from firthian.vectors.documents import as_in_corpus

    found = []
    for word in words:
        found.append(as_in_corpus(vectors, word))
        if found[-1] != word:
            print(f"firth: looked up {word!r} as {found[-1]!r}, as the corpus was tokenized", file=sys.stderr)
    return found


def _near(vectors: Vectors, word: str, topn: int) -> list[dict[str, Any]]:
    from firthian.vectors.uncertainty import has_uncertainty

    if has_uncertainty(vectors):
        return [vars(item) for item in vectors.most_similar_with_intervals(word, topn)]
    return [{"word": neighbor, "score": score} for neighbor, score in vectors.most_similar(word, topn=topn)]


@app.command()
def neighbors(
    vectors: Source,
    words: list[str] = typer.Argument(..., help="Words to look up, each on its own."),
    also: list[str] | None = typer.Option(
        None, "--with", metavar="VECTORS", help="Another model to list beside the first; repeatable."
    ),
    topn: Topn = 10,
    json: Json = False,
) -> None:
    """List the nearest neighbors of words. Bayesian vectors: by posterior median, with intervals."""
    from firthian.vectors.formats import open_vectors

    models = {name: open_vectors(name) for name in dict.fromkeys([vectors, *(also or [])])}
    records: list[dict[str, Any]] = []
    unknown: list[UnknownWordError] = []
    for name, opened in models.items():
        for word in _as_in_corpus(opened, words):
            try:
                record: dict[str, Any] = {"word": word, "neighbors": _near(opened, word, topn), **_parts(opened, word)}
            except UnknownWordError as error:
                where = f"{name}: " if len(models) > 1 else ""
                unknown.append(UnknownWordError(f"{where}{error.args[0]}", error.args[1]))
                continue
            _note_composed(opened, [word])
            records.append({"vectors": name, **record} if len(models) > 1 else record)
    if json and records:
        print_json(records)
    elif len(models) > 1:
        for word in dict.fromkeys(record["word"] for record in records):
            _print_side_by_side(word, [record for record in records if record["word"] == word])
    else:
        for record in records:
            print(record["word"] if record["neighbors"] else f"{record['word']} has no neighbors (its vector is zero)")
            for item in record["neighbors"]:
                print(f"  {_score(item)}  {item['word']}")
    # The answers that there are have been printed; the exit code still says that some are missing.
    if len(unknown) == 1:
        raise unknown[0]
    if unknown:
        raise UnknownWordError("; ".join(map(str, unknown)))


def _score(item: dict[str, Any]) -> str:
    interval = f"  [{item['low']:.4f}, {item['high']:.4f}]" if "low" in item else ""
    return f"{item['score']:7.4f}{interval}"


def _print_side_by_side(word: str, records: list[dict[str, Any]]) -> None:
    """Print the neighbors of a word in several models, a column each."""
    columns = [
        [record["vectors"], *(f"{_score(item)}  {item['word']}" for item in record["neighbors"])] for record in records
    ]
    print(word)
    for line in zip_longest(*columns, fillvalue=""):
        cells = (cell.ljust(max(map(len, column))) for cell, column in zip(line, columns, strict=True))
        print(f"  {'   '.join(cells)}".rstrip())


@app.command()
def analogy(
    vectors: Source,
    a: str = typer.Argument(..., help="A is to B ..."),
    b: str = typer.Argument(..., help="... as ..."),
    c: str = typer.Argument(..., help="... C is to the answer."),
    topn: Topn = 10,
    method: str = typer.Option("3cosadd", help="3cosadd or 3cosmul."),
    json: Json = False,
) -> None:
    """Complete an analogy: A is to B as C is to what?"""
    from firthian.vectors.formats import open_vectors

    opened = open_vectors(vectors)
    a, b, c = _as_in_corpus(opened, (a, b, c))
    answers = opened.analogy(a, b, c, topn, method)
    _note_composed(opened, (a, b, c))
    if json:
        rows = [{"word": word, "score": score} for word, score in answers]
        print_json({"a": a, "b": b, "c": c, "method": method, "answers": rows})
        return
    print(f"{a} is to {b} as {c} is to")
    for word, score in answers:
        print(f"  {score:7.4f}  {word}")


@app.command()
def similarity(
    vectors: Source,
    first: str = typer.Argument(..., metavar="W1", help="A word."),
    second: str = typer.Argument(..., metavar="W2", help="Another word."),
    json: Json = False,
) -> None:
    """Print the cosine similarity of two words. Bayesian vectors: its posterior median and interval."""
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.uncertainty import has_uncertainty

    opened = open_vectors(vectors)
    first, second = _as_in_corpus(opened, (first, second))
    score = opened.similarity(first, second)
    _note_composed(opened, (first, second))
    facts: dict[str, object] = {"a": first, "b": second, "similarity": score}
    line = f"{score:.4f}"
    if has_uncertainty(opened):
        median, low, high = opened.similarity_estimate(first, second)
        facts |= {"similarity": median, "low": low, "high": high, "cosine_of_means": score}
        line = f"{median:.4f}  [{low:.4f}, {high:.4f}]"
    print_json(facts) if json else print(line)


@app.command()
def uncertain(
    context: typer.Context,
    vectors: Source,
    words: list[str] | None = typer.Argument(None, help="Words to look up. [default: the least certain words]"),
    topn: Topn = 20,
    min_count: int = typer.Option(0, help="Skip words rarer than N.", min=0),
    at_equal_count: bool = typer.Option(
        False, "--at-equal-count", help="Rank by uncertainty beyond that of equally frequent words."
    ),
    neighbors: int = typer.Option(0, help="Neighbors to list for each word, with intervals.", min=0),
    level: float = typer.Option(0.9, help="Credible level of intervals, between 0 and 1."),
    analogy: bool = typer.Option(False, "--analogy", help="Treat three words as an analogy."),
    draws: int = typer.Option(500, help="Posterior draws for --analogy.", min=1),
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Print how certain a Bayesian model is of words. Without words, list the least certain ones."""
    from firthian.vectors import uncertainty as posterior
    from firthian.vectors.formats import open_vectors

    posterior.check_level(level)
    if words:
        refuse_idle(
            context, ("at_equal_count", "min_count"), "when words are named", "omit the words, or omit this flag"
        )
    refuse_idle(context, ("neighbors",) if analogy else ("draws",), f"{'with' if analogy else 'without'} --analogy")
    opened = open_vectors(vectors)
    if analogy:
        if words is None or len(words) != 3:
            raise FirthianError("--analogy needs three words", hint="use: firth uncertain VECTORS --analogy A B C")
        answers = posterior.analogy(opened, words[0], words[1], words[2], topn=topn, draws=draws, seed=seed)
        if json:
            print_json([vars(answer) for answer in answers])
            return
        print(f"{'comes first':>11} {'score':>7}  word")
        for answer in answers:
            print(f"{answer.probability:11.3f} {answer.score:7.4f}  {answer.word}")
        return
    if words:
        rows = [posterior.uncertainty(opened, word) for word in words]
    else:
        rows = posterior.least_certain(opened, topn, min_count, at_equal_count)
    near = [posterior.most_similar(opened, row.word, neighbors, level=level) if neighbors else [] for row in rows]
    if json:
        print_json(
            [
                {**row.to_dict(), **({"neighbors": [vars(item) for item in items]} if neighbors else {})}
                for row, items in zip(rows, near, strict=True)
            ]
        )
        return
    # The column that words are ranked by comes first.
    ranked = f"{'excess':>7} " if at_equal_count and not words else ""
    print(f"{ranked}{'relative':>9} {'trace':>10} {'log det':>9} {'spread':>7} {'count':>9}  word")
    for row, items in zip(rows, near, strict=True):
        excess = f"{row.excess:7.3f} " if ranked else ""
        print(
            f"{excess}{row.relative:9.4f} {row.trace:10.4g} {row.log_determinant:9.1f} {row.effective_dimensions:7.1f} "
            f"{row.count:9,}  {row.word}"
        )
        for item in items:
            print(f"{'':14}{item.score:7.4f}  [{item.low:.4f}, {item.high:.4f}]  {item.word}")


@app.command()
def score(
    vectors: str = typer.Argument(..., help="Vectors of the recipes psd or psd-blockwise."),
    corpus: list[str] | None = typer.Argument(None, help="Files or -, one document per line."),
    counts: str | None = typer.Option(None, help="Training counts; adds the residuals of seen pairs."),
    link: str = typer.Option("calibrated", help="calibrated, or paper: all words of a window weigh the same."),
    topn: int = typer.Option(5, help="Surprising words to list, by log P(word | context) - log P(word).", min=0),
    tokenizer: str | None = typer.Option(
        None, help="unicode, whitespace, icu, icu:LOCALE or module:function. [default: the corpus's own]"
    ),
    sample: int | None = typer.Option(
        None, help="Draw N words from the model instead of scoring.", min=1, max=1_000_000
    ),
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Print the log-likelihood of documents, or draw text from the model."""
    from firthian.counts.counts import Counts
    from firthian.text.readers import Files
    from firthian.vectors.documents import tokenizer_of
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.likelihood import TextModel, read_documents

    if sample is not None and corpus:
        raise FirthianError("`sample` draws text and scores none", hint="omit the files")
    documents = Files(corpus or []) if sample is None else None
    opened = open_vectors(vectors)
    model = TextModel(opened, Counts.load(counts) if counts else None, "seen" if counts else "none", link)
    if documents is None:
        import numpy as np

        words = model.sample(sample or 0, np.random.default_rng(seed))
        print_json({"words": words}) if json else print(*words)
        return
    # Never run a tokenizer function because a file names it: files may come from anywhere.
    chosen = tokenizer_of(opened, tokenizer)
    number = 0
    replaced: list[int] = []
    for number, tokens in enumerate(read_documents(documents, opened, chosen, replaced.append), start=1):
        if number == 1 and not json:
            print(
                f"{'document':>8} {'tokens':>7} {'unknown':>7} {'log-likelihood':>15} {'per token':>9} {'unigram':>9}"
                "  surprising words"
            )
        result = model.log_prob(tokens)
        known = len(result.words)
        surprises = result.surprises(topn)
        if json:
            record = {
                "document": number,
                "tokens": len(tokens),
                "unknown": result.unknown,
                "log_likelihood": result.total,
                "perplexity": result.perplexity if known else None,
                "unigram_log_likelihood": float(result.unigram.sum()),
                "unigram_perplexity": result.unigram_perplexity if known else None,
                "surprises": [{"word": word, "gain": gain} for word, gain in surprises],
            }
            print_json(record, indent=None)
            continue
        shown = ", ".join(f"{word} {gain:.1f}" for word, gain in surprises)
        each, alone = (f"{x.mean():.3f}" if known else "-" for x in (result.terms, result.unigram))
        print(f"{number:>8} {len(tokens):>7} {result.unknown:>7} {result.total:>15.2f} {each:>9} {alone:>9}  {shown}")
    if any(replaced):
        print(f"replaced {sum(replaced):,} bytes that are not UTF-8", file=sys.stderr)
    if number == 0:
        raise FirthianError(
            f"{', '.join(corpus or [])}: no documents to score", hint="pass text, one document per line"
        )
