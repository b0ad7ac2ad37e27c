"""Documents as they come -> a Bayesian stream that is kept in a folder, to go on with when more of them come."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firthian.disk.atomic import check_parent, locked
from firthian.disk.stopping import Stop
from firthian.errors import FirthianError
from firthian.learn.bayes.stream import STREAM, BayesStream
from firthian.learn.recipes import Recipe
from firthian.learn.train import check_auto
from firthian.runtime.progress import Progress, Silent
from firthian.text.readers import Corpus
from firthian.text.spool import NoWordsError
from firthian.text.tokenizer import decode

#: The stream is saved after so many batches, and at its end, whatever ends it.
SAVE_EVERY = 20

#: A document is cut at a space where it is longer than so many batches.
_LONGEST = 2


def read_batches(
    corpus: Corpus, tokens: int, strict: bool = False, replaced: Callable[[int], None] | None = None
) -> Iterator[list[str]]:
    """Read documents in lists of about so many tokens; a text without an end to its line is cut between words.

    With ``strict``, bytes that are not UTF-8 are an error; else they are replaced, and ``replaced`` is told how many.

    >>> from firthian.text.readers import open_corpus
    >>> list(read_batches(open_corpus(["a b c", "d e", "f"]), 3))
    [['a b c'], ['d e', 'f']]
    """
    rest, size, line = bytearray(), 0, 1
    for text in _lines(corpus):
        rest += text
        size += text.count(b" ") + text.count(b"\n")
        if size < tokens:
            continue
        whole, newline, unfinished = rest.rpartition(b"\n")
        if not newline and size >= _LONGEST * tokens:
            whole, _, unfinished = rest.rpartition(b" ")
        if whole:
            yield _documents(bytes(whole), line, strict, replaced)
            rest, size, line = unfinished, unfinished.count(b" "), line + whole.count(b"\n") + len(newline)
    if rest.strip():
        yield _documents(bytes(rest.rstrip(b"\n")), line, strict, replaced)


def _lines(corpus: Corpus) -> Iterator[bytes]:
    """Return line after line, for a piece may be larger than a batch; one that spans pieces comes in parts."""
    for piece in corpus.pieces():
        yield from io.BytesIO(piece.text)


def _documents(text: bytes, line: int, strict: bool, replaced: Callable[[int], None] | None) -> list[str]:
    if strict:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            number = line + text[: error.start].count(b"\n")
            raise FirthianError(
                f"line {number} of the stream: a byte is not UTF-8",
                hint="convert the text, or leave out --strict to replace such bytes",
            ) from None
    decoded, undecodable = decode(text)
    if replaced is not None:
        replaced(undecodable)
    return decoded.split("\n")


@dataclass(frozen=True)
class StreamSettings:
    """What a user said about a stream, sorted: arguments of ``BayesStream``, of its ``vectors``, tokens of a batch."""

    arguments: dict[str, Any]
    result: dict[str, Any]
    batch_tokens: int


def stream_settings(
    recipe: Recipe, options: Mapping[str, Any], counting: Mapping[str, Any], size: int | str | None, seed: int
) -> StreamSettings:
    """Check the options of ``bayes-svi`` and of counting for a stream, and sort them."""
    if recipe.name != "bayes-svi":
        raise FirthianError(f"the recipe {recipe.name} does not learn from a stream", hint="train bayes-svi")
    check_auto(recipe, size)
    chosen = recipe.settings(options)
    if chosen.pop("epochs") != 1:
        raise FirthianError("a stream is read once", hint="leave out --epochs, or train from a file without --stream")
    for name in ("vocabulary", "max_vocab", "stop_words", "phrases"):
        if name in counting:
            raise FirthianError(
                f"{name} cannot be settled before a stream ends", hint="leave it out, or train from a file"
            )
    given = {**recipe.counting, **counting}
    arguments = {
        "vector_size": recipe.dimension if size is None else size,
        "window": given.pop("window"),
        "min_count": given.pop("min_count", 5),
        "seed": seed,
    }
    result = {name: chosen.pop(name) for name in ("eigenvalue_power", "center")}
    batch_tokens = chosen.pop("batch_tokens")
    return StreamSettings({**arguments, **chosen, "counting": given}, result, batch_tokens)


def follow(
    corpus: Corpus,
    folder: str | os.PathLike[str],
    settings: StreamSettings,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> BayesStream:
    """Learn from documents until they end; go on with the stream in ``folder``, or begin it there.

    One process at a time, for what another one learned meanwhile would be lost. A stream that goes on must have begun with
    the same settings. What was learned before an error or an interruption is saved; with ``stop``, the batch at hand is
    learned first.
    """
    if not hasattr(corpus, "pieces"):
        raise FirthianError(
            "a stream is one of documents, not of counts", hint="give the corpus, or - for standard input"
        )
    # Nobody should learn after hours that there is no place for what was learned.
    check_parent(Path(folder))
    with locked(Path(folder), kind=".stream"):
        return _follow(corpus, Path(folder), settings, workers, progress or Silent(), stop or Stop())


def _follow(
    corpus: Corpus, target: Path, settings: StreamSettings, workers: int | None, shown: Progress, asked: Stop
) -> BayesStream:
    stream = BayesStream(**settings.arguments, workers=workers)
    if (target / STREAM.manifest).exists():
        before = BayesStream.load(target, seed=settings.arguments["seed"], workers=workers)
        _check_same(target, before.options, stream.options)
        stream = before
    elif target.exists():
        raise FirthianError(f"{target} is there, but is not a stream", hint="name another folder")
    begun = stream.tokens
    shown.start("batches", stream.options["population"] or None)
    shown.advance(begun)
    unsaved = 0
    try:
        strict = bool(stream.options["counting"].get("strict"))
        for documents in read_batches(corpus, settings.batch_tokens, strict, stream.note_undecodable):
            # A batch is learned whole; a signal that comes while the next one is waited for ends the work at once.
            asked.patient = True
            last = stream.tokens
            try:
                stream.partial_fit(documents)
                unsaved += 1
            except NoWordsError:
                # Empty lines, or a row of stars at the end: nothing to learn, and no reason to stop.
                pass
            shown.advance(stream.tokens - last, f"bound per event {stream.scores[-1]:.4f}" if stream.scores else "")
            if unsaved == SAVE_EVERY:
                stream.save(target, force=True)
                unsaved = 0
            asked.patient = False
            asked.check()
    finally:
        asked.patient = True
        if unsaved and stream.begun:
            stream.save(target, force=True)
    if stream.tokens == begun:
        raise FirthianError("the stream held no words", hint="give documents, one a line")
    return stream


def _check_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in before:
        if before[name] != now.get(name):
            raise FirthianError(
                f"{folder} was begun with {name} {before[name]}, not {now.get(name)}",
                hint="give the same settings, or another folder",
            )
