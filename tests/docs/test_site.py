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
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


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
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / page.with_suffix(".html").name).is_file()
    assert "House rules" in (site / "contributing.html").read_text()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe)[^>]+src=[\"']?(?:https?:)?//|<link[^>]+href=[\"']?(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text()), page.name


def commands(page: Path) -> Iterator[list[str]]:
    """Give the words after ``firth`` of every command in a page's code blocks."""
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
            assert verb in ("--help", "-h", "--version")
            return
        if verb.isupper() or "|" in verb:
            assert all(part.isupper() or part in command.commands for part in verb.split("|")), verb
            return
        assert verb in command.commands, f"there is no verb {verb}"
        command = command.commands[verb]
    known = {"--help", "-h", *(flag for option in command.params for flag in option.opts)}
    for word in words:
        flag = word.strip("[]").partition("=")[0]
        if flag.startswith("-") and flag != "-":
            assert flag in known, f"{command.name} has no flag {flag}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for words in commands(page):
        check(words)


def test_the_check_notices_what_does_not_exist() -> None:
    assert len(list(commands(ROOT / "README.md"))) >= 5
    for wrong in (["cuont", "x"], ["count", "x", "--windw", "5"], ["datasets", "get"]):
        with pytest.raises(AssertionError):
            check(wrong)


def test_relative_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


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


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200
