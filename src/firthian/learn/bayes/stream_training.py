"""Train a Bayesian stream from documents as they arrive; its state is kept in a folder, to resume with more."""

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
from firthian.learn.bayes.recipes import SVI
from firthian.learn.bayes.stream import STREAM, BayesStream
from firthian.learn.plan import check_auto
from firthian.learn.recipes import Recipe
from firthian.runtime.progress import Progress, Silent
from firthian.text.readers import Corpus
from firthian.text.spool import NoWordsError
from firthian.text.tokenizer import decode

#: Batches between two saves; the stream is also saved when it ends, for whatever reason.
SAVE_EVERY = 20

#: A document longer than this number of batches is split at a space.
_LONGEST = 2


def read_batches(
    corpus: Corpus, tokens: int, strict: bool = False, replaced: Callable[[int], None] | None = None
) -> Iterator[list[str]]:
    """Yield lists of documents of about ``tokens`` tokens; a very long line is split between words.

    With ``strict``, bytes that are not UTF-8 are an error; otherwise they are replaced, and ``replaced`` gets their number.

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
    """Yield lines, since a piece may be larger than a batch; a line that spans pieces comes in parts."""
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
                hint="convert the text to UTF-8, or omit `strict` to replace such bytes",
            ) from None
    decoded, undecodable = decode(text)
    if replaced is not None:
        replaced(undecodable)
    return decoded.split("\n")


@dataclass(frozen=True)
class StreamSettings:
    """A user's settings of a stream: arguments of ``BayesStream`` and of its ``vectors``, and the tokens per batch."""

    arguments: dict[str, Any]
    result: dict[str, Any]
    batch_tokens: int


def stream_settings(
    recipe: Recipe, options: Mapping[str, Any], counting: Mapping[str, Any], size: int | str | None, seed: int
) -> StreamSettings:
    """Check the options of ``bayes-svi`` and of counting for a stream, and group them by use."""
    if recipe.name != SVI.name:
        raise FirthianError(f"the recipe {recipe.name} cannot learn from a stream", hint=f"use {SVI.name}")
    check_auto(recipe, size)
    chosen = recipe.settings(options)
    if chosen.pop("epochs") != 1:
        raise FirthianError("a stream is read only once", hint="omit `epochs`, or train from a file without a stream")
    for name in ("vocabulary", "max_vocab", "stop_words", "phrases"):
        if name in counting:
            raise FirthianError(
                f"`{name}` needs the whole text, which a stream does not have", hint="omit it, or train from a file"
            )
    given = {**recipe.counting, **counting}
    named: dict[str, Any] = {name: given.pop(name) for name in ("window", "min_count") if name in given}
    if size is not None:
        named["vector_size"] = size
    result = {name: chosen.pop(name) for name in ("eigenvalue_power", "center")}
    batch_tokens = chosen.pop("batch_tokens")
    return StreamSettings({"seed": seed, **named, **chosen, "counting": given}, result, batch_tokens)


def follow(
    corpus: Corpus,
    folder: str | os.PathLike[str],
    settings: StreamSettings,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> BayesStream:
    """Learn from documents until they end; resume the stream in ``folder``, or start one there.

    The folder is locked, because one of two processes would overwrite what the other learned. A resumed stream must have
    the settings it started with. What was learned before an error or interruption is saved; ``stop`` takes effect after
    the current batch.
    """
    if not hasattr(corpus, "pieces"):
        raise FirthianError("a stream needs documents, not counts", hint="pass the corpus, or - for standard input")
    # Fail now rather than after hours of work.
    check_parent(Path(folder))
    with locked(Path(folder), kind=".stream"):
        return _follow(corpus, Path(folder), settings, workers, progress or Silent(), stop or Stop())


def _follow(
    corpus: Corpus, target: Path, settings: StreamSettings, workers: int | None, progress: Progress, stop: Stop
) -> BayesStream:
    stream = BayesStream(**settings.arguments, workers=workers)
    if (target / STREAM.manifest).exists():
        saved = BayesStream.load(target, seed=settings.arguments["seed"], workers=workers)
        _check_same(target, saved.options, stream.options)
        stream = saved
    elif target.exists():
        raise FirthianError(f"{target} exists but is not a stream", hint="choose another folder")
    tokens_before = stream.tokens
    progress.start("batches", stream.options["population"] or None)
    progress.advance(tokens_before)
    unsaved = 0
    try:
        strict = bool(stream.options["counting"].get("strict"))
        for documents in read_batches(corpus, settings.batch_tokens, strict, stream.note_undecodable):
            # Finish a batch once it has begun; a signal during the wait for the next one stops at once.
            stop.patient = True
            last = stream.tokens
            try:
                stream.partial_fit(documents)
                unsaved += 1
            except NoWordsError:
                # Empty lines, or a row of asterisks: nothing to learn from, but no reason to stop.
                pass
            progress.advance(stream.tokens - last, f"bound per event {stream.scores[-1]:.4f}" if stream.scores else "")
            if unsaved == SAVE_EVERY:
                stream.save(target, force=True)
                unsaved = 0
            stop.patient = False
            stop.check()
    finally:
        stop.patient = True
        if unsaved and stream.begun:
            stream.save(target, force=True)
    if stream.tokens == tokens_before:
        raise FirthianError("the stream contained no words", hint="pass documents, one per line")
    return stream


def _check_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in before:
        if before[name] != now.get(name):
            raise FirthianError(
                f"{folder} was started with `{name}` {before[name]}, not {now.get(name)}",
                hint="use the same settings, or another folder",
            )
