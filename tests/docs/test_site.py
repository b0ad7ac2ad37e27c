"""The documentation builds, asks nobody for anything, and its commands and names exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from firthian.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

#: Flags that pages name and that belong to other programs.
OTHERS_FLAGS = {"--logdir", "--paths.vectors", "--text", "--x", "--y", "--strict"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("mkdocs", "material"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(target)],
        capture_output=True, text=True, check=False, cwd=target,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target


def test_every_page_is_built(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()
    assert "House rules" in (site / "contributing.html").read_text()
    assert "gensim skip-gram" in (site / "benchmarks.html").read_text()
    assert "semantic versioning" in (site / "changelog.html").read_text()


def test_the_reference_shows_signatures_and_examples(site: Path) -> None:
    text = (site / "reference" / "vectors.html").read_text()
    for name in ("most_similar", "analogy", "add_words", "to_gensim"):
        assert f'id="firthian.Vectors.{name}"' in text
    # An example that Markdown took for a quotation.
    assert "&gt;&gt;&gt;" not in re.sub(r"<code>.*?</code>", "", text, flags=re.DOTALL)


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS.rglob("*.md"):
        assert f": {page.relative_to(DOCS)}\n" in menu, f"{page.name} cannot be found by readers"


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe)[^>]+src=[\"']?(?:https?:)?//|<link[^>]+href=[\"']?(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text()), page.name


def commands(page: Path) -> Iterator[list[str]]:
    """Return the words after ``firth`` of every command in a page's code blocks."""
    text = page.read_text()
    fenced = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    (firth .*)$", text, flags=re.MULTILINE)
    inline = re.findall(r"`(firth [^`]+)`|\$\((firth [^)]+)\)", text)
    for line in "\n".join([*fenced, *indented, *map("".join, inline)]).splitlines():
        line = line.removeprefix("$ ")
        if line.startswith("firth "):
            yield shlex.split(line, comments=True)[1:]


def check(words: list[str]) -> None:
    """Walk to the verb, then ask that it has every flag."""
    import typer.main

    command = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        verb = words.pop(0)
        if verb.startswith("-"):
            assert verb in ("--help", "-h", "--version", "--install-completion", "--show-completion")
            return
        if verb.isupper() or "|" in verb:
            assert all(part.isupper() or part in command.commands for part in verb.split("|")), verb
            return
        assert verb in command.commands, f"there is no verb {verb}"
        command = command.commands[verb]
    known = {"--help", "-h", *(flag for one in command.params for flag in (*one.opts, *one.secondary_opts))}
    for word in words:
        flag = word.strip("[]").partition("=")[0]
        if flag.startswith("-") and flag != "-":
            assert flag in known, f"{command.name} has no flag {flag}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    for words in commands(page):
        check(words)


def test_the_check_notices_what_does_not_exist() -> None:
    assert len(list(commands(ROOT / "README.md"))) >= 5
    for wrong in (["cuont", "x"], ["count", "x", "--windw", "5"], ["datasets", "get"]):
        with pytest.raises(AssertionError):
            check(wrong)


def every_flag() -> set[str]:
    """Return the flags of all verbs."""
    import typer.main

    top = typer.main.get_command(app)
    verbs = list(top.commands.values())  # type: ignore[attr-defined]
    verbs += [inner for verb in verbs for inner in getattr(verb, "commands", {}).values()]
    return {flag for verb in (top, *verbs) for option in verb.params for flag in (*option.opts, *option.secondary_opts)}


def test_flags_named_in_passing_exist() -> None:
    known = every_flag() | OTHERS_FLAGS | {"--help", "--install-completion", "--show-completion"}
    for page in PAGES:
        for flag in re.findall(r"`(--[a-z][a-z.-]*)", page.read_text()):
            assert flag in known, f"{page.name} names {flag}"


def test_every_recipe_has_a_line() -> None:
    from firthian.learn.recipes import RECIPES

    text = (DOCS / "recipes.md").read_text()
    rows = dict(re.findall(r"^\| `([\w-]+)`([^|]*)\|", text, flags=re.MULTILINE))
    assert set(rows) == {recipe.name for recipe in RECIPES}
    for recipe in RECIPES:
        assert re.findall(r"`([\w-]+)`", rows[recipe.name]) == list(recipe.aliases)


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as Markdown makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def test_relative_links_lead_somewhere() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
            aim = page.parent / target if target else page
            assert aim.exists(), f"{page.name} links to {target}"
            # Anchors of the reference are names of objects, which only the finished site has; its builder checks them.
            if anchor and not anchor.startswith("firthian."):
                assert anchor in anchors(aim), f"{page.name} links to {target}#{anchor}"


def test_every_verb_and_flag_of_count_is_documented() -> None:
    import typer.main

    command = typer.main.get_command(app)
    text = (ROOT / "docs" / "cli.md").read_text()
    for verb in command.commands:  # type: ignore[attr-defined]
        assert f"## firth {verb}\n" in text
    for option in command.commands["count"].params:  # type: ignore[attr-defined]
        for flag in option.opts:
            if flag.startswith("--") and flag not in ("--output", "--help"):
                assert f"`{flag}`" in text, f"cli.md does not mention {flag}"


def test_help_is_grouped_and_every_verb_has_an_example() -> None:
    import typer.main

    from firthian.cli.help import EXAMPLES, GROUPS

    command = typer.main.get_command(app)
    grouped = [verb for verbs in GROUPS.values() for verb in verbs]
    assert sorted(grouped) == sorted(command.commands)  # type: ignore[attr-defined]
    assert set(EXAMPLES) >= {"firth", *grouped}
    for lines in EXAMPLES.values():
        for line in lines:
            check(shlex.split(re.split(r"\s{3,}", line)[0])[1:])


@pytest.mark.parametrize(
    ("verb", "flags"),
    [
        ("map", ["--limit N ", "--size X ", "--min-count X ", "--method NAME "]),
        ("train", ["--dim, --vector-size N ", "--stream FOLDER ", "--negative X ", "--epochs N "]),
        ("adapt", ["-C, --cost X ", "--passes N ", "--label-column COLUMN "]),
    ],
)
def test_help_says_what_flags_take(capsys: pytest.CaptureFixture[str], verb: str, flags: list[str]) -> None:
    from firthian.cli.app import main

    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    for flag in flags:
        assert f"  {flag}" in shown


def test_help_shows_groups_flags_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    from firthian.cli.app import main

    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "From text to vectors:\n  count " in shown
    assert "..." not in shown.partition("Examples:")[0].partition("\n")[2], "a summary is cut off"
    assert main(["count", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: firth count [OPTIONS] CORPUS...\n")
    for part in (
        "Windows:\n  --window N ",
        "Vocabulary:\n  --min-count N ",
        "Examples:\n  firth count ",
        "-o, --output PATH",
    ):
        assert part in shown


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200
