"""Flags that several verbs share, written once."""

from __future__ import annotations

import functools
import inspect
import json as json_module
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from firthian.counts.settings import WINDOWS, CountSettings
from firthian.errors import FirthianError
from firthian.options import Option, declared
from firthian.text.formats import FORMATS


def _formats(what: str, formats: Iterable[Any], *others: str) -> Any:
    names = ["auto", *others, *(format.name for format in formats)]
    return typer.Option(help=f"{what}: {', '.join(names[:-1])} or {names[-1]}.")


_TABLES = [format for format in FORMATS if format.has_columns]

#: The formats of corpora, tables, and tables or lines.
CorpusFormat = Annotated[str, _formats("Corpus format", FORMATS)]
TableFormat = Annotated[str, _formats("Table format", _TABLES)]
TextsFormat = Annotated[str, _formats("File format", _TABLES, "lines")]
TextColumn = Annotated[str | None, typer.Option(help="Text column of a table. [default: text]")]
Where = Annotated[list[str] | None, typer.Option(help="Keep rows of a table with COLUMN=VALUE; repeatable.")]
Sql = Annotated[str | None, typer.Option(help="DuckDB query; it sees a file as the table corpus.")]

Output = Annotated[str | None, typer.Option("-o", "--output", help="Output folder.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Memory = Annotated[str | None, typer.Option(help="Memory budget, such as 4GB. [default: 3/4 of free memory]")]
Workers = Annotated[
    int | None, typer.Option(help="Parallel workers; any N gives the same results. [default: all cores]")
]
Cluster = Annotated[str | None, typer.Option(help="Ray cluster: auto, ray://HOST:PORT or local:N (same results).")]
Dimension = Annotated[str | None, typer.Option("--dim", "--vector-size", help="Vector size; bayes accepts auto.")]
Source = Annotated[str, typer.Argument(metavar="VECTORS", help="Vectors folder, or a file in any format.")]
Topn = Annotated[int, typer.Option(help="Number of words to list.", min=1)]
Subwords = Annotated[str, typer.Option(help="Vectors for unknown words, from character n-grams: on, off or auto.")]
ModelSubwords = Annotated[
    str | None, typer.Option("--subwords", help="Character n-grams: on, off or auto. [default: auto; with -m: off]")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]


class GivenFlags(dict[str, Any]):
    """Flags by their settings' names; None, or False for a switch, where the user gave none."""

    def settings(self) -> dict[str, Any]:
        """Return what the user gave, as arguments of a function."""
        # Not "in (None, False)": 0 equals False, and a zero is a value.
        return {name: value for name, value in self.items() if value is not None and value is not False and value != []}


def flags_of(settings: type, argument: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with the flags of a settings class, which it receives as one argument."""
    options = [option for option in declared(settings).values() if option.group]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != argument]
        added = [_flag(option, "model" in own.parameters) for option in options]

        @functools.wraps(command)
        def wrapper(**arguments: Any) -> Any:
            flags = GivenFlags({option.name: arguments.pop(option.name) for option in options})
            return command(**arguments, **{argument: flags})

        wrapper.__signature__ = own.replace(parameters=kept + added)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in kept + added}
        return wrapper

    return decorate


#: The flags of counting, as the argument ``counting``.
counting_flags = flags_of(CountSettings, "counting")


def _flag(option: Option, has_recipe: bool) -> inspect.Parameter:
    """Return an option as a parameter of a command; the recipe's own windows come before the default of counting."""
    help = f"{option.help[0].upper()}{option.help[1:]}"
    if option.choices:
        help += f": {', '.join(option.choices[:-1])} or {option.choices[-1]}"
    help += "."
    if option.default is not None and option.kind is not bool:
        recipe = "the recipe's or " if has_recipe and option.group == WINDOWS else ""
        help += f" [default: {recipe}{option.default}]"
    names = [f"--{option.name.replace('_', '-')}"] if option.kind is bool else []
    simple = str if option.kind is object else option.kind
    kind = bool if option.kind is bool else (list[str] if option.repeatable else simple) | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.kind is bool else None,
        annotation=Annotated[kind, typer.Option(*names, help=help, rich_help_panel=option.group)],
    )


def require_output(output: str | None) -> str:
    """Return the output folder; raise if the user named none."""
    if output is None:
        raise FirthianError("no output folder", hint="pass -o FOLDER")
    return output


def new_output(output: str | None, force: bool, *sources: str) -> str:
    """Return the output folder; raise if it is missing, one of the sources, or may not be written."""
    from firthian.disk.atomic import check_folder, check_not_source

    output = require_output(output)
    for source in sources:
        check_not_source(output, source)
    check_folder(output, force)
    return output


def print_json(value: Any, indent: int | None = 1) -> None:
    """Print JSON; if the output is not UTF-8, with JSON's escapes instead of Python's."""
    plain = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(escaped_json(value, indent, ensure_ascii=not plain))


def escaped_json(value: Any, indent: int | None = None, ensure_ascii: bool = False) -> str:
    r"""Return JSON in which invisible characters are escaped, so that it cannot steer a terminal.

    >>> print(escaped_json("\x9b2J \u202e é"))
    "\u009b2J \u202e é"
    """
    text = json_module.dumps(value, indent=indent, ensure_ascii=ensure_ascii)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else json_module.dumps(each)[1:-1].replace("\x7f", "\\u007f")
        for each in text
    )


def refuse_idle(context: typer.Context, names: Iterable[str], when: str, hint: str = "omit it") -> None:
    """Raise if the user typed a flag that has no effect ``when``; flags by their parameters' names."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise FirthianError(f"`{name}` has no effect {when}", hint)


def read_names(text: str, what: str) -> list[str]:
    """Split comma-separated names; raise on duplicates."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise FirthianError(f"{what} {name} is named twice", hint="name it once")
    return names


def read_settings(pairs: list[str], **flags: Any) -> dict[str, Any]:
    """Parse ``name=value`` settings and add those that have flags of their own; raise on duplicates."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise FirthianError(f"expected name=value after --set, got {pair!r}", hint="write --set name=value")
        name = name.strip().replace("-", "_")
        if name in settings:
            raise FirthianError(f"--set {name} is set twice", hint="remove one")
        settings[name] = value.strip()
    typed = {name: value for name, value in flags.items() if value is not None}
    for name in settings.keys() & typed.keys():
        raise FirthianError(f"{name} is given as a flag and with --set {name}", hint="give it once")
    return {**settings, **typed}


def find_source(paths: list[str], counting: dict[str, Any]) -> Any:
    """Return a counts folder as it is, anything else as a corpus; the reader's settings are removed from ``counting``."""
    from firthian.disk.atomic import is_counts_folder
    from firthian.text.readers import Files, reading_settings

    if len(paths) == 1 and is_counts_folder(paths[0]):
        return paths[0]
    return Files(paths, **reading_settings(counting))


def tell_doubts(corpus: Any, record: Mapping[str, Any]) -> None:
    """Report on standard error what is probably wrong with a corpus that was counted."""
    from firthian.text.doubts import doubts
    from firthian.text.readers import Files

    counted = record.get("corpus")
    if not isinstance(corpus, Files) or not isinstance(counted, dict):
        return
    tokenizer = record.get("settings", {}).get("tokenizer")
    for doubt in doubts(corpus, tokenizer, counted["documents"], counted["tokens"]):
        line, _ = FirthianError(doubt).render(lambda name, value: f"--{name} {value}")
        print(f"firth: {line}", file=sys.stderr)
