"""Flags that several verbs share, written once."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import json as json_module
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

Output = Annotated[str | None, typer.Option("-o", "--output", help="Output folder.")]
RequiredOutput = Annotated[str, typer.Option("-o", "--output", help="Output folder.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Memory = Annotated[str | None, typer.Option(help="Memory budget, such as 4GB. [default: 3/4 of free memory]")]
Workers = Annotated[
    int | None, typer.Option(help="Parallel workers; results do not depend on it. [default: all cores]")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Ray cluster: auto, ray://HOST:PORT or local:N; results do not depend on it."),
]
Source = Annotated[str, typer.Argument(metavar="VECTORS", help="Vectors folder, or a file in any format.")]
Topn = Annotated[int, typer.Option(help="Number of words to list.", min=1)]
Seed = Annotated[int, typer.Option(help="Random seed.")]

_CORPUS = "Corpus"
_WINDOWS = "Windows"
_WORDS = "Vocabulary"


@dataclasses.dataclass
class CountingFlags:
    """The flags of ``firth count`` that say what is counted; None where the user said nothing."""

    window: Annotated[int | None, typer.Option(help="Words to each side. [default: 5]", rich_help_panel=_WINDOWS)] = (
        None
    )
    weighting: Annotated[
        str | None,
        typer.Option(help="flat, harmonic or dynamic. [default: dynamic]", rich_help_panel=_WINDOWS),
    ] = None
    context: Annotated[
        str | None, typer.Option(help="both, left or right. [default: both]", rich_help_panel=_WINDOWS)
    ] = None
    sample: Annotated[
        float | None,
        typer.Option(help="Sub-sampling of frequent words, such as 1e-3. [default: off]", rich_help_panel=_WINDOWS),
    ] = None
    sample_mode: Annotated[
        str | None, typer.Option(help="drop or expected. [default: drop]", rich_help_panel=_WINDOWS)
    ] = None
    keep_positions: Annotated[
        bool,
        typer.Option(
            "--keep-positions",
            help="Words not in the vocabulary keep their places in windows.",
            rich_help_panel=_WINDOWS,
        ),
    ] = False
    min_count: Annotated[
        int | None,
        typer.Option(help="Keep words this frequent. [default: 5; with --vocabulary 1]", rich_help_panel=_WORDS),
    ] = None
    max_vocab: Annotated[int | None, typer.Option(help="Keep only so many words.", rich_help_panel=_WORDS)] = None
    vocabulary: Annotated[
        str | None, typer.Option(help="File of the words to keep, one a line.", rich_help_panel=_WORDS)
    ] = None
    stop_words: Annotated[
        str | None, typer.Option(help="File of words to leave out, one a line.", rich_help_panel=_WORDS)
    ] = None
    phrases: Annotated[
        str | None,
        typer.Option(
            help="Join collocations scored by npmi or word2vec, as new_york; not across the 4 MB parts of a long document.",
            rich_help_panel=_WORDS,
        ),
    ] = None
    phrase_threshold: Annotated[
        float | None,
        typer.Option(help="Least score of a phrase. [default: npmi 0.5, word2vec 100]", rich_help_panel=_WORDS),
    ] = None
    phrase_passes: Annotated[int, typer.Option(help="2 finds longer phrases.", rich_help_panel=_WORDS)] = 1
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="unicode, whitespace, icu, icu:LOCALE or module:function. [default: unicode]",
            rich_help_panel=_CORPUS,
        ),
    ] = None
    keep_case: Annotated[bool, typer.Option("--keep-case", help="Do not lower-case.", rich_help_panel=_CORPUS)] = False
    fold_numbers: Annotated[
        bool, typer.Option("--fold-numbers", help="Make every number one symbol.", rich_help_panel=_CORPUS)
    ] = False
    format: Annotated[
        str | None,
        typer.Option(help="auto, lines, files (one document each), wiki, csv, tsv or jsonl.", rich_help_panel=_CORPUS),
    ] = None
    text_column: Annotated[
        str | None,
        typer.Option(
            help="Column with the text: its name, or its number where there is no header.",
            rich_help_panel=_CORPUS,
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Bytes that are not UTF-8 are an error.", rich_help_panel=_CORPUS)
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return what the user said, as arguments of ``firthian.count``."""
        from firthian.errors import FirthianError
        from firthian.text.phrases import PhraseOptions

        # Not "in (None, False)": 0 equals False, and a zero is something the user said.
        said = {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None and value is not False
        }
        passes, threshold = said.pop("phrase_passes"), said.pop("phrase_threshold", None)
        if "phrases" in said:
            said["phrases"] = PhraseOptions(said["phrases"], threshold, passes=passes)
        elif threshold is not None or passes != 1:
            raise FirthianError("phrase options are given without --phrases", hint="add --phrases npmi")
        return said


def counting_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command all flags of counting; it receives them as one argument, ``counting``."""
    own = inspect.signature(command, eval_str=True)
    fields = inspect.signature(CountingFlags, eval_str=True).parameters
    kept = [parameter for name, parameter in own.parameters.items() if name != "counting"]
    added = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in fields.values()]
    if "model" in own.parameters:
        added = [_with_defaults_of_recipes(parameter) for parameter in added]

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> Any:
        flags = {name: arguments.pop(name) for name in fields}
        return command(**arguments, counting=CountingFlags(**flags))

    wrapper.__signature__ = own.replace(parameters=kept + added)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in kept + added}
    return wrapper


def _with_defaults_of_recipes(flag: inspect.Parameter) -> inspect.Parameter:
    """Let the help of a flag of windows say that a recipe's own value comes before the default of counting."""
    kind, option = get_args(flag.annotation)
    if option.rich_help_panel != _WINDOWS:
        return flag
    option = copy.copy(option)
    option.help = option.help.replace("[default: ", "[default: the recipe's, else ")
    return flag.replace(annotation=Annotated[kind, option])


def require_output(output: str | None) -> str:
    """Return the output folder; raise if the user named none."""
    from firthian.errors import FirthianError

    if output is None:
        raise FirthianError("no output folder", hint="pass -o FOLDER")
    return output


def print_json(value: Any, indent: int | None = 1) -> None:
    """Print JSON; if the output is not UTF-8, with JSON's escapes instead of Python's."""
    plain = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(json_module.dumps(value, indent=indent, ensure_ascii=not plain))


def refuse_idle(context: typer.Context, names: Iterable[str], when: str, hint: str = "omit it") -> None:
    """Raise if the user typed a flag that has no effect ``when``; flags by their parameters' names."""
    from firthian.errors import FirthianError

    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise FirthianError(f"`{name}` has no effect {when}", hint)


def read_names(text: str, what: str) -> list[str]:
    """Split comma-separated names; raise on duplicates."""
    from firthian.errors import FirthianError

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise FirthianError(f"{what} {name} is named twice", hint="name it once")
    return names


def read_settings(pairs: list[str], **flags: Any) -> dict[str, Any]:
    """Parse ``name=value`` settings and add those that have flags of their own; raise on duplicates."""
    from firthian.errors import FirthianError

    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise FirthianError(f"expected name=value after --set, got {pair!r}", hint="write --set name=value")
        name = name.strip().replace("-", "_")
        if name in settings:
            raise FirthianError(f"--set {name} is given twice", hint="give it once")
        settings[name] = value.strip()
    typed = {name: value for name, value in flags.items() if value is not None}
    for name in settings.keys() & typed.keys():
        raise FirthianError(f"{name} is given as a flag and with --set {name}", hint="give it once")
    return {**settings, **typed}


def find_source(paths: list[str], counting: dict[str, Any]) -> Any:
    """Return a counts folder as it is, anything else as a corpus; the reader's settings are removed from ``counting``."""
    from firthian.text.readers import Files

    if len(paths) == 1 and (Path(paths[0]) / "counts.json").is_file():
        return paths[0]
    return Files(paths, counting.pop("format", "auto"), counting.pop("text_column", None))
