"""The tables of attacks: what is attacked, what is done to it, and which commands must survive it.

A new kind of artifact, verb, option or place is one row.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import firthian as ft

TEXT = "the cat sat on the mat\nthe dog sat on the mat with tea and milk and sugar\nsome sugar with milk and tea\n" * 8
LABELED = "good\ttea milk sugar\nbad\tdog mat cat\n" * 6
PAIRS = "tea\tmilk\t8.5\ncat\tdog\t7\nmat\tsugar\t1\n"
TABLE = "text,side,year\n" + "".join(
    f"the cat sat on the mat with tea and milk,left,{1900 + n}\nthe dog sat on sugar and tea,right,{1950 + n}\n"
    for n in range(30)
)


def _counts(place: Path) -> None:
    ft.count([TEXT, "coffee with cream"], place, min_count=1, window=2)


def _phrases(place: Path) -> None:
    ft.train([TEXT], "psd", vector_size=2, counting={"min_count": 1, "phrases": "npmi"}).save(place)


def _vectors(recipe: str, **options: Any) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        ft.train([TEXT], recipe, vector_size=2, counting={"min_count": 1, "window": 2, "sample": 0}, **options).save(
            place
        )

    return make


def _classifier(place: Path) -> None:
    from firthian.adapt import RPAClassifier

    labels, texts = zip(*(line.split("\t") for line in LABELED.splitlines()), strict=True)
    RPAClassifier("random:3", passes=1).fit(list(texts), list(labels)).save(place)


def _stream(place: Path) -> None:
    from firthian.learn.bayes.stream import BayesStream

    stream = BayesStream(2, min_count=1, counting={"tokenizer": "unicode", "weighting": "dynamic", "sample": 1e-3})
    stream.partial_fit(TABLE.splitlines()).save(place)


def _encoder(place: Path) -> None:
    vectors = ft.train([TEXT], "svd", vector_size=2, counting={"min_count": 1})
    ft.Encoder(vectors).fit(TEXT.splitlines()).save(place)


def _index(place: Path) -> None:
    ft.index(place.with_name("vectors"), TEXT.splitlines(), place, method="mean")


def _coded(place: Path) -> None:
    from firthian.vectors.compress import compress

    compress(ft.train([TEXT], "svd", vector_size=8, counting={"min_count": 1}), bytes=4).save(place)


def _rectangle(place: Path) -> None:
    ft.train([TEXT], "sgns", vector_size=2, epochs=1, counting={"min_count": 1, "sample": 0}).save(place)


def _static(place: Path) -> None:
    from firthian.vectors.formats import write_vectors

    write_vectors(ft.train([TEXT], "svd", vector_size=2, counting={"min_count": 1}), place, "model2vec")


@dataclass(frozen=True)
class Kind:
    """A kind of artifact: how it is made, its manifest, and commands on it (X), on a text (TEXT) and so on."""

    name: str
    make: Callable[[Path], None]
    manifest: str
    commands: tuple[str, ...]


_QUERIES = (
    "neighbors X tea", "analogy X tea milk cat", "similarity X tea milk", "evaluate X --file PAIRS",
    "associate X --targets WORDS --axis cat,mat:dog,sugar", "regress TABLE --target tea --formula side -v X --permutations 19",
    "encode X TEXT -o OUT.npy", "index X TEXT -o OUT", "compress X -o OUT --bytes 4", "subwords X -o OUT",
    "add X COUNTS -o OUT", "map X --method pca -o OUT.html", "adapt LABELED -v X -o OUT --no-learning-curve",
)  # fmt: skip

KINDS = (
    Kind("counts", _counts, "counts.json", (
        "info X", "verify X", "train X -m svd --dim 2 -o OUT", "merge X X -o OUT",
    )),
    Kind("vectors", _vectors("psd"), "vectors.json", (
        "info X", "verify X", *_QUERIES, "score X TEXT", "convert X OUT.txt --to word2vec", "convert X OUT",
    )),
    Kind("phrases", _phrases, "vectors.json", ("info X", "verify X", "score X TEXT", "encode X TEXT -o OUT.npy --method mean")),
    Kind("bayes", _vectors("bayes", epochs=1), "vectors.json", ("uncertain X tea --neighbors 2", "convert X OUT")),
    Kind("sgns", _rectangle, "vectors.json", (
        "change TABLE --by side -v X --permutations 19 --min-occurrences 5",
    )),
    Kind("coded", _coded, "vectors.json", (
        "neighbors X tea", "info X", "verify X", "convert X OUT", "compress X -o OUT --bytes 4", "encode X TEXT -o OUT.npy",
    )),
    Kind("index", _index, "index.json", (
        "search X tea", "search X tea -v VECTORS", "dedupe X -v VECTORS -o OUT.txt", "verify X",
        "index VECTORS TEXT -o X --add",
    )),
    Kind("sparse", _vectors("hal"), "vectors.json", ("neighbors X tea", "info X")),
    Kind("subwords", _vectors("svd", subwords="on"), "vectors.json", ("neighbors X tea", "convert X OUT")),
    Kind("classifier", _classifier, "model.json", ("classify X TEXT", "verify X")),
    Kind("stream", _stream, "model.json", (
        "train TEXT -m bayes-svi --dim 2 --min-count 1 --tokenizer unicode --stream X -o OUT", "verify X",
    )),
    Kind("encoder", _encoder, "encoder.json", ("verify X", "encode X TEXT -o OUT.npy")),
    Kind("model2vec", _static, "config.json", ("neighbors X tea", "convert X OUT")),
)  # fmt: skip


def is_verb(command: str) -> bool:
    """Return whether a verb is there: rows may be written before their verb."""
    from firthian.cli.help import GROUPS

    return any(command.split()[0] in verbs for verbs in GROUPS.values())


#: What a stranger may write into a field of a manifest.
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 1e308, float("nan"), "", "\x1b[2J", "../../etc/passwd", "/dev/zero", "evil_import:f",
    "whitespace:f", "unicode:f", "os:system", "icu:../x", [], [[]], {}, {"a": 1}, "9" * 5000,
)  # fmt: skip

#: Modules that must never be imported because a file names them.
MODULES = ("evil_import", "whitespace", "unicode", "icu")


def places(body: Any) -> list[tuple[str | int, ...]]:
    """List the fields of a JSON value by their paths, those of long lists and tables only in part."""
    keys: list[Any] = list(body) if isinstance(body, dict) else list(range(len(body))) if isinstance(body, list) else []
    return [(key, *rest) for key in keys[:40] for rest in [(), *places(body[key])]]


def changed(body: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Set a field; remove it if the value is ``...``."""
    for key in path[:-1]:
        body = body[key]
    if value is ...:
        del body[path[-1]]
    else:
        body[path[-1]] = value


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 42)


#: What may lie under the name of a file, or of an output.
SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": _fifo, "zeros": _to("/dev/zero"), "noise": _to("/dev/urandom"), "full": _to("/dev/full"), "null": _to("/dev/null"),
    "itself": lambda path: path.symlink_to(path.name), "nothing": _to("nowhere"), "folder": lambda path: path.mkdir(),
    "huge": _sparse, "empty": lambda path: path.touch(), "terminal": _to("/dev/tty"),
}  # fmt: skip


def _deep(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


def _array(path: Path) -> None:
    header = b"{'descr': '<f8', 'shape': (2, 2), 'x':" + b"(" * 9000
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def _loops(path: Path) -> None:
    path.mkdir()
    (path / "again").symlink_to(".")
    (path / "text.txt").symlink_to("nowhere")


#: More that may lie under the name of an input.
MORE: dict[str, Callable[[Path], None]] = {
    "deep": _deep, "array": _array, "loops": _loops, "bytes": lambda path: path.write_bytes(bytes(range(256)) * 40)
}  # fmt: skip

#: Commands that write, tried on every special target, with --force and without.
WRITERS = (
    "count TEXT -o T", "train COUNTS -m svd --dim 2 -o T", "convert VECTORS T", "convert VECTORS T --to glove",
    "merge COUNTS COUNTS -o T", "adapt LABELED -v random:3 -o T --no-learning-curve", "evaluate VECTORS --file PAIRS --html T",
    "train TEXT -m bayes-svi --dim 2 --min-count 1 -o OUT --stream T", "subwords VECTORS -o T",
    "map VECTORS --method pca -o T.html", "compare COUNTS -m svd:dim=2 -o T", "add VECTORS COUNTS -o T",
    "compress VECTORS -o T --bytes 4", "index VECTORS TEXT -o T", "dedupe INDEX -v VECTORS -o T",
    "encode VECTORS TEXT -o T.npy", "encode VECTORS TEXT -o OUT.npy --save T",
    "regress TABLE --target tea --formula side -v VECTORS --permutations 19 -o T",
    "change TABLE --by side -v SGNS --permutations 19 --min-occurrences 5 -o T",
    "associate VECTORS --targets WORDS --axis cat,mat:dog,sugar -o T",
    "keyness TABLE --by side --min-count 1 --permutations 19 -o T",
)  # fmt: skip

#: Targets that are never an output.
NO_TARGETS = ("/", ".", "..", "", "/dev/null", "/dev/stdout", "/proc/self/mem", "\0", "a" * 300, "nowhere/x", "TEXT/x")

#: Commands that read a file or a folder R, tried on everything special that ends.
READERS = (
    "count R -o OUT", "count TEXT --stop-words R -o OUT", "count TEXT --vocabulary R -o OUT", "train R -m svd --dim 2 -o OUT",
    "merge R COUNTS -o OUT", "neighbors R tea", "convert R OUT", "info R", "verify R", "score VECTORS R",
    "classify CLASSIFIER R", "classify R TEXT", "adapt R -v random:3 -o OUT --no-learning-curve", "evaluate VECTORS --file R",
    "encode VECTORS R -o OUT.npy", "index VECTORS R -o OUT", "search R tea", "dedupe R", "compress R -o OUT --bytes 4",
    "subwords R -o OUT", "add R COUNTS -o OUT", "add VECTORS R -o OUT",
    "associate VECTORS --targets R --axis cat,mat:dog,sugar",
    "regress R --target tea --formula side -v VECTORS --permutations 19", "keyness R --by side --permutations 19",
    "regress TABLE --target tea --formula side -v VECTORS --permutations 19 --transform R",
    "regress TABLE --target tea --formula side -v VECTORS --permutations 19 --stop-words R",
    "change R --by side -v SGNS --permutations 19", "change R TEXT --permutations 19 -v SGNS", "map R --method pca -o OUT.html",
    *(f"map VECTORS --method pca -o OUT.html --{option} R" for option in ("groups", "words", "highlight")),
    "compare R -m svd:dim=2 -o OUT", "uncertain R tea", "similarity R tea milk", "analogy R tea milk cat",
    "train TEXT -m bayes-svi --dim 2 --min-count 1 -o OUT --stream R",
)  # fmt: skip

#: What may lie under the name of an input: a pipe would wait for its writer, as with any tool.
INPUTS = (
    "zeros",
    "noise",
    "full",
    "null",
    "itself",
    "nothing",
    "folder",
    "huge",
    "empty",
    "deep",
    "array",
    "loops",
    "bytes",
)

#: Commands that are tried with every value of every option in OPTIONS.
OPTIONED = {
    "count TEXT -o OUT": (
        "--window", "--min-count", "--max-vocab", "--sample", "--seed", "--workers", "--memory", "--phrase-passes",
        "--phrase-threshold", "--weighting", "--tokenizer", "--format", "--text-column", "--stop-words", "--vocabulary",
    ),
    "train COUNTS -m svd --dim 2 -o OUT": ("--dim", "--seed", "--workers", "--memory", "--epochs", "--checkpoint-every",
        "--subwords",
    ),
    "train COUNTS -m glove --dim 2 -o OUT": ("--epochs", "--seed", "--negative"),
    "neighbors VECTORS tea": ("--topn",),
    "score VECTORS TEXT": ("--topn", "--tokenizer", "--link"),
    "score VECTORS": ("--sample",),
    "adapt LABELED -v random:3 -o OUT --no-learning-curve": ("--seed", "--passes", "--cost", "--lam", "--cv", "--workers"),
    "evaluate VECTORS --file": ("PAIRS --suite", "PAIRS --sets", ""),
    "regress TABLE --target tea --formula side -v VECTORS --permutations 19": (
        "--target", "--formula", "--min-occurrences", "--transform", "--text-column", "--format", "--tokenizer", "--seed",
        "--workers", "--window", "--min-count", "--min-length", "--cluster-by", "--permutations", "--bootstrap", "--missing",
        "--topn", "--sentences",
    ),
    "change TABLE --by side -v SGNS --permutations 19 --min-occurrences 5": (
        "--by", "--cuts", "--unit", "--words", "--min-occurrences", "--permutations", "--fdr", "--topn", "--missing", "--plot",
        "--seed", "--memory", "--workers", "--window", "--sample", "--min-count", "--max-vocab",
    ),
    "associate VECTORS --targets WORDS --axis cat,mat:dog,sugar": (
        "--axis", "--seed", "--permutations", "--resamples", "--alternative", "--missing", "--list", "--attributes",
    ),
    "keyness TABLE --by side --min-count 1 --permutations 19": (
        "--by", "--groups", "--text-column", "--format", "--where", "--tokenizer", "--seed", "--min-count", "--prior",
        "--permutations",
    ),
    "encode VECTORS TEXT -o OUT.npy": (
        "--method", "--smoothing", "--fit", "--empty", "--format", "--text-column", "--workers",
    ),
    "index VECTORS TEXT -o OUT": ("--method", "--format", "--text-column", "--workers"),
    "search INDEX tea -v VECTORS": ("--topn", "--method", ""),
    "dedupe INDEX -v VECTORS": ("--threshold",),
    "compress VECTORS -o OUT --bytes 4": ("--bytes", "--dim", "--words", "--ngrams", "--method", "--seed", "--workers"),
    "subwords VECTORS -o OUT": ("--seed", "--workers"),
    "uncertain BAYES tea": ("--neighbors", "--level", "--draws"),
    "map VECTORS --method pca -o OUT.html": ("--limit", "--method", "--seed"),
    "convert VECTORS OUT.txt": ("--to", "--limit", "--replace-spaces", "--duplicates"),
}  # fmt: skip

#: Values of options: numbers at the ends of their ranges, and text that is none.
OPTION_VALUES = (
    "-1", "0", "1e308", "1e30", "nan", "inf", "-inf", "9" * 40, "4294967296", "", " ", "x", "\x1b[2J", "os:system", "a\nb",
    "../x", "/dev/null",
)  # fmt: skip
