"""The arguments of ``train``: options of the recipe and of counting in one namespace, and those of gensim's Word2Vec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firthian.counts.settings import CountSettings
from firthian.errors import FirthianError, suggest
from firthian.learn.recipes import find_recipe, meant
from firthian.options import declared

#: Arguments of gensim's Word2Vec and FastText without a counterpart of the same name, and what to write instead.
ELSEWHERE = {
    "batch_words": "omit it",
    "bucket": "omit it: n-grams are not hashed",
    "callbacks": "pass `progress`",
    "cbow_mean": "use sg=0, which averages",
    "compute_loss": "omit it: provenance.objective has the loss",
    "corpus_file": "pass the file first: train(path)",
    "hashfxn": "omit it",
    "hs": "omit it: `negative` samples are used instead of hierarchical softmax",
    "max_final_vocab": "use `max_vocab`",
    "max_vocab_size": "use `max_vocab`, or `memory`",
    "null_word": "omit it",
    "shrink_windows": "use `weighting=dynamic` or `weighting=flat`",
    "size": "use `vector_size`",
    "sorted_vocab": "omit it: words are always sorted by frequency",
    "trim_rule": "use `vocabulary` or `stop_words`",
    "word_ngrams": "use `subwords=on`",
}

#: Arguments whose usual value asks for what happens anyway.
_AS_USUAL = {"hs": 0, "compute_loss": False, "sorted_vocab": 1, "cbow_mean": 1, "trim_rule": None, "callbacks": ()}


@dataclass(frozen=True)
class Arguments:
    """What ``train`` was asked for, divided."""

    source: Any
    recipe: str
    options: dict[str, Any]
    counting: dict[str, Any]
    #: Whether the name of the recipe asks for n-grams.
    subwords: str = "off"


def divide(
    source: Any, recipe: str | None, default: str, given: Mapping[str, Any], counting: Mapping[str, Any] | None
) -> Arguments:
    """Divide the arguments: a name that the recipe declares is its own, otherwise one of ``count``.

    >>> divide("corpus.txt", None, "sgns", {"window": 5, "sg": 1, "negative": 5}, None)
    Arguments(source='corpus.txt', recipe='sgns', options={'negative': 5}, counting={'window': 5}, subwords='off')
    """
    rest = {name: value for name, value in given.items() if name not in _AS_USUAL or value != _AS_USUAL[name]}
    if source is None:
        source = rest.pop("sentences", None)
        if source is None:
            raise FirthianError("no corpus to train on", hint="pass it first: train(corpus), train(counts)")
    options: dict[str, Any] = {}
    if "sg" in rest:
        skipgram = bool(rest.pop("sg"))
        if recipe is not None:
            raise FirthianError(f"`sg` does not apply to the recipe {recipe}", hint="pass one of the two")
        if not skipgram:
            recipe, options["cbow"] = "sgns-sgd", True
    named, implied = meant(recipe or default, {})
    subwords = implied.pop("subwords", "off")
    options = {**implied, **options}
    found = find_recipe(named)
    theirs, ours = found.options.keys() | found.fixed.keys(), declared(CountSettings)
    also = dict(counting or {})
    for name, value in rest.items():
        if name in theirs:
            options[name] = value
        elif name in ELSEWHERE:
            raise FirthianError(f"train has no argument {name!r}", hint=ELSEWHERE[name])
        elif name not in ours:
            raise FirthianError(
                f"neither the recipe {found.name} nor counting has an option {name!r}", suggest(name, [*theirs, *ours])
            )
        elif name in also:
            raise FirthianError(f"`{name}` is given twice", hint="omit it in `counting`")
        else:
            also[name] = value
    return Arguments(source, named, options, also, subwords)
