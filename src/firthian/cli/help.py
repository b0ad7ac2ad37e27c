"""The layout of ``--help`` (verbs and flags in groups, examples at the end), and the wording of usage errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from firthian.errors import FirthianError, suggest

#: The verbs by task, in the order of the flow.
GROUPS = {
    "From text to vectors": ("count", "merge", "train", "subwords", "add", "models"),
    "Query vectors": ("neighbors", "analogy", "similarity", "uncertain", "score"),
    "Test and compare": ("evaluate", "compare"),
    "Ask questions of a corpus": ("regress", "change", "associate", "keyness"),
    "Encode texts": ("encode",),
    "Classify texts": ("adapt", "classify"),
    "Search texts": ("index", "search", "dedupe"),
    "Visualize vectors": ("map", "explore"),
    "Files and data": ("info", "verify", "convert", "push", "compress", "datasets", "demo"),
}

#: Examples of ``firth`` itself, then by verb; sub-verbs as ``datasets fetch``. Tests check that commands and flags exist.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "firth": (
        "firth demo                                        run the whole flow on a small corpus",
        "firth train corpus.txt -o vectors                 from text to vectors",
        "firth neighbors vectors tea coffee                nearest neighbors",
        "firth evaluate vectors                            quality on standard tests",
    ),
    "subwords": (
        "firth subwords vectors -o with_subwords",
        "firth subwords vectors -o with_subwords --set blend=0",
    ),
    "count": (
        "firth count corpus.txt --dry-run",
        "firth count corpus.txt -o counts --min-count 10",
        "firth count texts/ --format files --window 10 --weighting harmonic -o counts",
        "firth count posts.jsonl --text-column body --memory 2GB -o counts",
        "firth count posts.parquet --where party=D --where year=1994 -o counts",
        "firth count posts.parquet --by party -o counts",
    ),
    "change": (
        "firth change novels.tsv --by year --cuts 1880 --unit id",
        "firth change novels.tsv --by year --cuts 1860,1880,1900 --unit author --words train,gay",
        "firth change before.txt after.txt -o report",
    ),
    "merge": ("firth merge counts-2023 counts-2024 -o counts",),
    "train": (
        "firth train corpus.txt -o vectors",
        "firth train counts -m psd --dim 300 -o vectors",
        "firth train counts -m svd --set eigenvalue_power=0.25 -o vectors",
    ),
    "add": ("firth add vectors new-counts -o larger",),
    "models": ("firth models", "firth models psd"),
    "neighbors": ("firth neighbors vectors tea coffee --topn 5", "firth neighbors glove.txt tea --json"),
    "analogy": ("firth analogy vectors man woman king", "firth analogy vectors paris france rome --method 3cosmul"),
    "similarity": ("firth similarity vectors tea coffee",),
    "uncertain": (
        "firth uncertain vectors --topn 20 --min-count 100",
        "firth uncertain vectors tea --neighbors 5",
        "firth uncertain vectors man woman king --analogy",
    ),
    "score": ("firth score vectors letters.txt --topn 3", "firth score vectors - --json"),
    "evaluate": (
        "firth evaluate vectors",
        "firth evaluate first second --sets men,google",
        "firth evaluate vectors --file my-pairs.txt --html report.html",
    ),
    "compare": (
        "firth compare corpus.txt -m sgns -m psd -m svd -o report",
        "firth compare counts -m psd:dim=100 -m psd:dim=300 --sets men -o report",
    ),
    "regress": (
        'firth regress speeches.tsv --target immigration --formula "party + gender" -v vectors',
        'firth regress speeches.tsv --target "immigr*" --formula party -v glove.txt --transform A.npy -o report',
    ),
    "encode": (
        "firth encode vectors texts.txt -o matrix.npy --save encoder",
        "firth encode encoder reviews.csv --text-column review -o reviews.parquet",
    ),
    "associate": (
        "firth associate vectors --list weat7",
        "firth associate vectors --targets jobs.txt arts.txt --attributes he.txt she.txt",
        "firth associate vectors --targets jobs.txt --axis he,him,man:she,her,woman -o report",
    ),
    "keyness": ("firth keyness speeches.tsv --by party -o report",),
    "adapt": (
        "firth adapt labeled.tsv -v vectors -o classifier",
        "firth adapt reviews.csv --label-column stars --text-column review --cv 5 -o classifier",
    ),
    "classify": (
        "firth classify classifier new.txt --labels-only",
        "firth classify classifier reviews.csv --text-column review",
    ),
    "map": (
        "firth map vectors -o map.html",
        "firth map vectors -o map.png --method pca --limit 500",
        "firth map vectors -o map.pdf --title 'Drinks' --words tea,coffee,milk,beer --highlight tea --method pca",
        "firth map counts --cloud tea -o tea.png",
    ),
    "explore": ("firth explore vectors", "firth explore first second --counts counts --port 0"),
    "info": ("firth info vectors", "firth info counts --json"),
    "verify": ("firth verify vectors counts", "firth verify classifier --json"),
    "convert": (
        "firth convert vectors vectors.txt --to word2vec",
        "firth convert glove.txt folder",
        "firth convert vectors model --to model2vec --language en",
    ),
    "push": ("firth push vectors me/tea-vectors --language en --license cc-by-4.0",),
    "compress": (
        "firth compress vectors -o small --bytes 100",
        "firth compress vectors -o small --bytes 50 --words 20000 --ngrams 40000",
    ),
    "index": (
        "firth index vectors documents.txt -o index",
        "firth index vectors articles.csv --text-column body -o index",
        "firth index vectors more.txt -o index --add",
    ),
    "search": ("firth search index green tea", "firth search index 'green tea' --method words --topn 3"),
    "dedupe": ("firth dedupe index --threshold 0.98", "firth dedupe index -o distinct.txt"),
    "datasets": ("firth datasets list", "firth datasets fetch men google"),
    "datasets list": ("firth datasets list",),
    "datasets fetch": ("firth datasets fetch 20newsgroups-text",),
    "datasets verify": ("firth datasets verify",),
    "demo": ("firth demo -o demo",),
}

#: Placeholders for the values of flags that need more than their type (a number, a name).
_VALUES = {
    "output": "PATH", "memory": "SIZE", "settings": "NAME=VALUE", "vocabulary": "FILE", "stop_words": "FILE",
    "scores": "FILE", "file": "FILE", "html": "FILE", "counts": "COUNTS", "vectors": "VECTORS", "model": "RECIPE",
    "token": "SECRET", "host": "ADDRESS", "cloud": "WORD", "words": "WORDS", "vector_size": "N", "stream": "FOLDER",
    "cluster": "WHERE", "suite": "NAMES", "sets": "NAMES", "root_path": "PATH", "replace_spaces": "TEXT",
    "name": "TITLE", "language": "CODE", "target": "WORD", "formula": "FORMULA", "transform": "FILE", "where": "COLUMN=VALUE",
    "sql": "QUERY", "text_column": "COLUMN", "label_column": "COLUMN", "split_column": "COLUMN", "by": "COLUMN",
    "unit": "COLUMN", "cuts": "NUMBERS", "plot": "FILE", "corpus": "PATH", "index": "INDEX", "allow_host": "ADDRESS",
    "fit": "PATH", "save": "FOLDER", "highlight": "WORDS", "font": "FONT", "color": "COLOR", "title": "TITLE",
}  # fmt: skip


def _value_of(parameter: Any, record: str) -> str:
    """Return the placeholder of a flag's value: N for integers, X for reals, or NAME; ``record`` is typer's first column."""
    if parameter.metavar:
        return str(parameter.metavar)
    # Depending on the release, typer writes "INTEGER", "FLOAT RANGE" and the like after the flags.
    kind = record.rpartition("--")[2].partition(" ")[2].lower()
    return "X" if "float" in kind else "N" if "int" in kind else _VALUES.get(parameter.name, "NAME")


def _argument(parameter: Any) -> str:
    """Return the name of an argument as shown in the usage line."""
    many = parameter.nargs == -1
    name = str(parameter.metavar or parameter.name.upper()).removesuffix("...") + ("..." if many else "")
    return name if parameter.required else f"[{name}]"


def _row(parameter: Any, context: Any) -> tuple[str, str] | None:
    record = parameter.get_help_record(context)
    if record is None:
        return None
    if parameter.param_type_name == "argument":
        return _argument(parameter), str(parameter.help or "")
    names = ", ".join(sorted(parameter.opts, key=len))
    names += "".join(f" / {name}" for name in parameter.secondary_opts)
    takes_value = not (parameter.is_flag or getattr(parameter, "count", False))
    help = re.sub(r"x>=([^;\]]+)", r"at least \1", record[1].replace("\\[", "["))
    help = re.sub(r"([^ \[]+)<=x<=([^;\]]+)", r"\1 to \2", help)
    return (f"{names} {_value_of(parameter, record[0])}" if takes_value else names), help


class Verb(TyperCommand):
    """A verb whose help shows flags in groups, and examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return ["[OPTIONS]", *(_argument(item) for item in self.params if item.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of flags; those without a group come first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            row = _row(parameter, ctx)
            if row is not None:
                of_argument = parameter.param_type_name == "argument"
                group = "Arguments" if of_argument else getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault(group, []).append(row)
        for title, rows in sections.items():
            _write(formatter, title, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_examples(ctx, formatter)


class Verbs(TyperGroup):
    """A command whose help lists verbs in groups, each with the first sentence of its help."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb; raise if there is none of this name."""
        if cmd_name not in self.commands:
            raise FirthianError(f"unknown command {cmd_name!r}", hint=suggest(cmd_name, self.commands))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of verbs; sub-verbs have no groups."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        groups: dict[str, Sequence[str]] = (
            dict(GROUPS) if set(commands) >= {"count", "train"} else {"Commands": [*commands]}
        )
        width = max(map(len, commands))
        for title, names in groups.items():
            rows = [(f"{name:<{width}}", _summary(commands[name])) for name in names if commands[name] is not None]
            _write(formatter, title, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_examples(ctx, formatter)
        if ctx.command_path == "firth":
            _write_lines(formatter, "More", ("Run firth COMMAND --help for details.",))


def _summary(command: Any) -> str:
    """Return the first sentence of a verb's help."""
    return re.split(r"(?<=[.?])\s", command.help or "", maxsplit=1)[0].rstrip(".")


def _write(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _write_examples(context: Any, formatter: Any) -> None:
    _write_lines(formatter, "Examples", EXAMPLES.get(context.command_path.removeprefix("firth "), ()))


def _write_lines(formatter: Any, title: str, lines: Sequence[str]) -> None:
    """Write lines unwrapped: examples must not be broken."""
    if lines:
        with formatter.section(title):
            for line in lines:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


#: What typer says about a command line, and what we say.
_WORDINGS = (
    (r"No such option: (\S+).*", r"unknown option \1"),
    (r"Got unexpected extra argument\S* \((.*)\)", r"unexpected argument \1"),
    (r"Option '(\S+)' requires an argument", r"\1 needs a value"),
    (r"Option '(\S+)' requires (\d+) arguments", r"\1 needs \2 values"),
    (r"Option '(\S+)' does not take a value", r"\1 takes no value"),
    (r"Input should be greater than or equal to", "must be at least"),
    (r"Input should be less than or equal to", "must be at most"),
    (r"Input should be a valid integer.*", r"must be an integer"),
    (r"Input should be a valid number.*", r"must be a number"),
)


def usage_error(error: Any, verb: str) -> tuple[str, str]:
    """Return what is wrong with the command line of a verb, and a hint, from an error of typer."""
    parameter = getattr(error, "param", None)
    message, close = str(error.message).rstrip("."), getattr(error, "possibilities", None)
    for theirs, ours in _WORDINGS:
        message = re.sub(theirs, ours, message)
    if parameter is not None:
        name = _argument(parameter).strip("[.]") if parameter.param_type_name == "argument" else parameter.opts[-1]
        message = f"missing {name}" if type(error).__name__ == "MissingParameter" else f"{name} {message}"
    help = f"see {verb} --help"
    return message, f"did you mean {', '.join(close)}? ({help})" if close else help
