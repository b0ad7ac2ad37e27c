"""Messages read as one voice: one line, what and where, then the remedy; options as they were typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import firthian
from firthian.cli.app import app, spelling

SOURCE = Path(firthian.__file__).parent


def errors(outside: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the literal texts of every error in the source."""
    for file in sorted(SOURCE.rglob("*.py")):
        if outside in file.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
                yield f"{file.name}:{node.lineno}", [text for part in parts if (text := literal(part))]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("message", "hint", "remedy"):
                yield f"{file.name}:{node.lineno}", [text for text in [literal(node.value)] if text]


def literal(node: ast.expr) -> str:
    """Return the text of a string, with X for replacement fields; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return ""


def test_messages_have_one_form() -> None:
    found = list(errors())
    assert len(found) > 200
    for place, texts in found:
        for text in texts:
            assert "\n" not in text, place
            assert text == text.strip(), place
            assert not text.endswith((".", "!", ":")), f"{place}: {text}"
            assert not text[0].isupper() or text[0] == "X" or text.startswith(("ARD", "CoNLL", "Ray", "Vectors")), (
                f"{place}: {text}"
            )


def test_the_library_names_no_flags_of_the_command_line() -> None:
    """Messages name options between backquotes; whole commands are spelled as they are typed."""
    for place, texts in errors(outside="cli"):
        for text in texts:
            words = re.sub(r"\b(firth|ray|python) \S+ .*", "", text)
            assert not re.search(r"(?<!\S)--?[a-z]", words), f"{place}: {text}"


def test_hints_say_what_to_do_and_do_not_ask() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint" and (text := literal(node.value)):
                assert not text.endswith("?") or text.startswith("did you mean"), (
                    f"{file.name}:{node.value.lineno}: {text}"
                )


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (["--window", "0"], "firth: --window must be an integer from 1"),
        (["--sample-mode", "maybe"], "firth: --sample-mode must be one of drop, expected"),
        (["--min-count", "0"], "firth: --min-count must be an integer of at least 1"),
        (["--workers", "0"], "firth: --workers must be an integer of at least 1"),
    ],
)
def test_options_are_named_as_they_were_typed(
    firth: Callable[..., Any], tmp_path: Path, flags: list[str], shown: str
) -> None:
    (tmp_path / "x.txt").write_text("tea with milk\n" * 10)
    firth("count", tmp_path / "x.txt", "-o", tmp_path / "counts", *flags).complains(shown)


def test_options_of_recipes_are_named_as_they_were_typed(firth: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("tea with milk\n" * 10)
    command = ("train", tmp_path / "x.txt", "-m", "svd", "-o", tmp_path / "vectors")
    firth(*command, "--set", "eigenvalue-power=much").complains("firth: --set eigenvalue_power must be a number")
    firth(*command, "--dim", "0").complains("firth: --dim must be at least 1")
    firth(*command, "--vector-size", "0").complains("firth: --vector-size must be at least 1")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("count x --min-count 3", "--min-count: raise --memory 4GB"),
        ("train x", "--min-count: raise --memory 4GB"),
        ("neighbors x", "min_count: raise memory=4GB"),
        ("datasets list", "min_count: raise memory=4GB"),
    ],
)
def test_python_sees_arguments_and_the_command_line_flags(command: str, shown: str) -> None:
    error = firthian.FirthianError("`min_count`", hint="raise `memory=4GB`")
    assert str(error) == "min_count: raise memory=4GB"
    assert ": ".join(error.render(spelling(command.split()))) == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("map vectors -o", "firth: -o needs a value: see firth map --help"),
        ("associate vectors --attributes a.txt", "firth: --attributes needs 2 values: see firth associate --help"),
        ("datasets list --all", "firth: unknown option --all: see firth datasets list --help"),
        ("neighbors vectors tea --topn few", "firth: --topn must be an integer: see firth neighbors --help"),
        ("similarity vectors tea", "firth: missing W2: see firth similarity --help"),
    ],
)
def test_mistakes_on_the_command_line_name_the_verb(firth: Callable[..., Any], command: str, shown: str) -> None:
    firth(*command.split()).complains(shown)


@pytest.mark.parametrize(
    ("command", "name", "value", "shown"),
    [
        ("train x --dim 5", "vector_size", None, "--dim"),
        ("train x --vector-size=5", "vector_size", "3", "--vector-size 3"),
        ("train x", "vector_size", "3", "--vector-size 3"),
        ("train x --set ns-exponent=1", "ns_exponent", None, "--set ns_exponent"),
        ("train x", "damping", "1", "--set damping=1"),
        ("train x --set epochs=0", "epochs", None, "--set epochs"),
        ("train x --force", "force", "True", "--force"),
        ("compare x -m svd", "damping", "1", "damping=1"),
        ("adapt x -C 3", "C", None, "-C"),
        ("adapt x", "n_jobs", None, "--workers"),
        ("explore x", "vectors", None, "VECTORS..."),
    ],
)
def test_options_are_spelled_as_the_verb_spells_them(command: str, name: str, value: str | None, shown: str) -> None:
    assert spelling(command.split())(name, value) == shown


@pytest.mark.parametrize("words", [[], ["datasets"]])
def test_a_command_without_anything_shows_its_help(firth: Callable[..., Any], words: list[str]) -> None:
    alone, asked = firth(*words), firth(*words, "--help")
    assert alone.code == asked.code == 0
    assert alone.out == asked.out
    assert len(alone.out.splitlines()) > 5


def test_the_list_of_recipes_names_the_default(firth: Callable[..., Any]) -> None:
    assert "The default is sgns." in firth("models").out


def test_info_shows_no_digits_of_rounding() -> None:
    from firthian.cli.info import _lines

    shown = _lines({"total": 3763254.0000000005, "objective": [0.1 + 0.2], "tokens": 5000, "keep_case": False})
    assert [line.split(maxsplit=1)[1] for line in shown] == ["3,763,254", "0.3", "5,000", "False"]


def test_the_help_says_where_the_settings_of_windows_come_from(firth: Callable[..., Any]) -> None:
    for verb, shown in (("count", "[default: 5]"), ("train", "[default: the recipe's or 5]")):
        assert shown in firth(verb, "--help").out, verb


def test_help_texts_are_short_phrases() -> None:
    import typer.main

    verbs: list[Any] = [typer.main.get_command(app)]
    for verb in verbs:
        verbs += getattr(verb, "commands", {}).values()
    assert len(verbs) > 20
    for verb in verbs:
        assert len(re.split(r"[.?](?:\s|$)", verb.help)[0].split()) <= 12, verb.name
        for parameter in verb.params:
            if parameter.name not in ("install_completion", "show_completion"):
                # Defaults and lists of choices do not count.
                text = re.sub(r"\[default.*|:.*", "", parameter.help, flags=re.DOTALL)
                assert 0 < len(text.split()) <= 12, f"{verb.name} {parameter.name}: {parameter.help}"


def test_a_level_that_is_none_is_refused_though_nothing_needs_it(firth: Callable[..., Any], tmp_path: Path) -> None:
    firth("uncertain", tmp_path, "--level", "2").complains("firth: --level must be between 0 and 1")


def test_options_are_named_as_they_were_typed_inside_a_message(firth: Callable[..., Any], tmp_path: Path) -> None:
    corpus = tmp_path / "min_count"
    corpus.write_text("tea with milk\n" * 10)
    target = ("-o", tmp_path / "out")
    firth("count", corpus, *target, "--min-count", "999").complains("is left with --min-count 999: lower --min-count")
    firth("count", tmp_path / "max_vocab" / "x", *target).complains("max_vocab/x does not exist")
    firth("count", "max_vocab", *target).complains("firth: max_vocab does not exist")
    stream = ("train", corpus, "-m", "bayes-svi", "--stream", tmp_path / "s", *target)
    firth(*stream, "--max-vocab", "3").complains(
        "firth: --max-vocab needs the whole text, which a stream does not have"
    )
    assert firth("count", corpus, "-o", tmp_path / "counts").code == 0
    refused = firth("train", tmp_path / "counts", *target, "--text-column", "body", "--window", "3")
    refused.complains("counting options (--window, --text-column) do not apply to ready counts")


def test_settings_are_given_once(firth: Callable[..., Any], tmp_path: Path) -> None:
    command = ("train", tmp_path, "-o", tmp_path / "v")
    firth(*command, "--epochs", "3", "--set", "epochs=2").complains("epochs is given as a flag and with --set epochs")
    firth(*command, "--set", "ns-exponent=1", "--set", "ns_exponent=2").complains("--set ns_exponent is set twice")
    firth("evaluate", tmp_path, "--sets", "men, men").complains("the set men is named twice", "name it once")
    compared = ("compare", tmp_path, "-m", "svd", "-o", tmp_path / "r")
    firth(*compared, "--sets", "men,men").complains("the set men is named twice", "name it once")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["map", "--cloud", "tea", "--method", "pca"], "--method has no effect with --cloud"),
        (["map", "--cloud", "tea", "--words", "a,b"], "--words has no effect with --cloud"),
        (["map", "--order", "count"], "--order has no effect without --cloud"),
        (["uncertain", "tea", "--at-equal-count"], "--at-equal-count has no effect when words are named"),
        (["uncertain", "tea", "--min-count", "3"], "--min-count has no effect when words are named"),
        (["uncertain", "a", "b", "c", "--analogy", "--neighbors", "3"], "--neighbors has no effect with --analogy"),
        (["uncertain", "tea", "--draws", "3"], "--draws has no effect without --analogy"),
        (["evaluate", "--suite", ""], "no suite is named"),
    ],
)
def test_flags_that_would_do_nothing_are_refused(
    firth: Callable[..., Any], tmp_path: Path, command: list[str], shown: str
) -> None:
    verb, *rest = command
    output = ["-o", tmp_path / "x.png"] if verb == "map" else []
    firth(verb, tmp_path, *rest, *output).complains(f"firth: {shown}")
