"""What ``--help`` looks like: verbs and flags in groups, examples at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from firthian.cli.examples import EXAMPLES

#: The verbs by what one wants, in the order of the flow; each is a module of this package.
GROUPS = {
    "From text to vectors": ("count", "merge", "train", "add", "models"),
    "Ask vectors": ("neighbors", "analogy", "similarity", "uncertain", "score"),
    "Test and compare": ("evaluate", "compare"),
    "Classify texts": ("adapt", "classify"),
    "Look at vectors": ("map", "explore"),
    "Files and data": ("info", "convert", "datasets", "demo"),
}

#: What stands for the value of a flag, where its kind (a number, a name) does not say enough.
_VALUES = {
    "output": "PATH", "memory": "SIZE", "settings": "NAME=VALUE", "vocabulary": "FILE", "stop_words": "FILE",
    "scores": "FILE", "file": "FILE", "html": "FILE", "counts": "COUNTS", "vectors": "VECTORS", "model": "RECIPE",
    "token": "SECRET", "host": "ADDRESS", "cloud": "WORD", "words": "WORDS", "vector_size": "N", "stream": "FOLDER",
    "cluster": "WHERE", "suite": "NAMES", "sets": "NAMES", "root_path": "PATH", "replace_spaces": "TEXT",
    "name": "TITLE", "language": "CODE",
}  # fmt: skip


def _value_of(parameter: Any, record: str) -> str:
    """Say what a flag takes: a whole number N, another number X, or a name; ``record`` is typer's own first column."""
    if parameter.metavar:
        return str(parameter.metavar)
    if parameter.name in _VALUES:
        return _VALUES[parameter.name]
    # After the flags come "INTEGER", "FLOAT RANGE" and the like, in the manner of the release.
    kind = record.rpartition("--")[2].partition(" ")[2].lower()
    return "X" if "float" in kind else "N" if "int" in kind else "NAME"


def _argument(parameter: Any) -> str:
    """Name an argument as the usage line and the list of arguments do."""
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
    return (f"{names} {_value_of(parameter, record[0])}" if takes_value else names), record[1].replace("\\[", "[")


class Verb(TyperCommand):
    """A verb whose flags are shown in their groups, with examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name what the verb takes."""
        return ["[OPTIONS]", *(_argument(one) for one in self.params if one.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of flags: what belongs to no group comes first."""
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
        _write_lines(formatter, "Examples", EXAMPLES.get(ctx.command_path.removeprefix("firth "), ()))


class Verbs(TyperGroup):
    """A command whose verbs are shown in groups; each line is the whole first sentence of a verb's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of verbs; sub-verbs have none."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        groups: dict[str, Sequence[str]] = dict(GROUPS) if set(found) >= {"count", "train"} else {"Commands": [*found]}
        width = max(map(len, found))
        for title, names in groups.items():
            rows = [(f"{name:<{width}}", _summary(found[name])) for name in names if found[name] is not None]
            _write(formatter, title, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        _write_lines(formatter, "Examples", EXAMPLES.get(ctx.command_path.removeprefix("firth "), ()))
        if ctx.command_path == "firth":
            _write_lines(formatter, "More", ("firth VERB --help says all about a verb.",))


def _summary(command: Any) -> str:
    """Return the first sentence of a verb's help."""
    return re.split(r"(?<=[.?])\s", command.help or "", maxsplit=1)[0].rstrip(".")


def _write(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _write_lines(formatter: Any, title: str, lines: Iterable[str]) -> None:
    """Write lines as they are: an example must not be broken."""
    lines = list(lines)
    if lines:
        with formatter.section(title):
            for line in lines:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")
