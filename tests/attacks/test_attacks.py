"""Commands survive hostile files, options and places: an answer or one line, in time, and nothing left behind.

``make test`` tries a sample of the table, ``make test-slow`` all of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shlex
import shutil
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firthian.cli.app import main
from tests.attacks.artifacts import (
    INPUTS,
    KINDS,
    LABELED,
    MODULES,
    MORE,
    NO_TARGETS,
    OPTION_VALUES,
    OPTIONED,
    PAIRS,
    READERS,
    SPECIAL,
    TABLE,
    TEXT,
    VALUES,
    WRITERS,
    Kind,
    changed,
    is_verb,
    places,
)
from tests.fuzz.folders import seal

#: Seconds that a command may take on a busy machine.
PATIENCE = 30

#: The cases of each row in ``make test``, besides one for each command.
SAMPLE = 3


class TookTooLong(BaseException):
    """A command that hangs; not an error that anything handles."""


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an artifact of each kind."""
    place = tmp_path_factory.mktemp("originals")
    for kind in KINDS:
        kind.make(place / kind.name)
    return place


@pytest.fixture
def arena(tmp_path: Path, originals: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a current folder with files to name, and modules that note when they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    files = {
        "text.txt": TEXT,
        "labeled.tsv": LABELED,
        "pairs.tsv": PAIRS,
        "table.csv": TABLE,
        "words.txt": "tea\nmilk\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'w')\ndef f(text): return text.split()\n"
        )
    return tmp_path


@contextlib.contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    def give_up(number: int, frame: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def filled(command: str, originals: Path, **more: str) -> list[str]:
    """Return the arguments of a command, with files in place of their names."""
    names = {
        "TEXT": "text.txt", "LABELED": "labeled.tsv", "PAIRS": "pairs.tsv", "TABLE": "table.csv", "WORDS": "words.txt",
        "OUT": "out", **{f"OUT.{suffix}": f"out.{suffix}" for suffix in ("txt", "npy", "html")},
        **{kind.name.upper(): str(originals / kind.name) for kind in KINDS}, **more,
    }  # fmt: skip
    return [names.get(word, word) for word in shlex.split(command)]


def attack(arguments: list[str], arena: Path) -> str:
    """Run a command; return what is wrong with how it ended, or nothing."""
    before = {item.name for item in arena.iterdir()}
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patience(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = main(arguments)
    except TookTooLong:
        return "hangs"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    told = err.getvalue().splitlines()
    outputs = {"out", "out.txt", "out.npy", "out.html"}
    left = {item.name for item in arena.iterdir()} - before - outputs - {"__pycache__"}
    for name in outputs:
        place = arena / name
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
    if code not in (0, 2):
        return f"exit code {code}"
    if code == 2 and len(told) != 1:
        return f"{len(told)} lines of error: {told[:3]}"
    if "\x1b" in out.getvalue() + err.getvalue():
        return "a word reaches the terminal as it is"
    if (arena / "imported").exists():
        (arena / "imported").unlink()
        return "a module named by a file was imported"
    if left:
        for name in left:
            place = arena / name
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        return f"left behind: {sorted(left)}"
    return ""


def sampled(cases: list[Any], request: pytest.FixtureRequest) -> list[Any]:
    """Return all cases in slow tests, else a few that differ from test to test: one of each command, and some more.

    The command of a case, where it has one, is its last part.
    """
    if "whole" in request.node.callspec.id:
        return cases
    source = random.Random(request.node.callspec.id)
    source.shuffle(cases)
    first = {str(case[-1]): case for case in cases} if isinstance(cases[0], tuple) else {}
    return [*first.values(), *cases[:SAMPLE]]


#: Each test twice: a sample in ``make test``, everything in ``make test-slow``.
AMOUNT = ["sample", pytest.param("whole", marks=pytest.mark.slow)]


def check(found: dict[str, str]) -> None:
    """Raise if any case went wrong."""
    wrong = {case: what for case, what in found.items() if what}
    assert not wrong, f"{len(wrong)} of {len(found)}: " + json.dumps(dict(list(wrong.items())[:20]), indent=1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_commands_on_files_as_they_are(
    kind: Kind, arena: Path, originals: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Attacks on commands that fail anyway would show nothing."""
    more = (*WRITERS, *(command for command in OPTIONED if not command.endswith(("--file", "score VECTORS"))))
    commands = (*kind.commands, *(more if kind is KINDS[0] else ()))
    for command in commands:
        shutil.rmtree(arena / "x", ignore_errors=True)
        shutil.copytree(originals / kind.name, arena / "x")
        # An index names its vectors from where it lies.
        x = str(originals / "index") if command == "search X tea" else "x"
        outputs = {"T": "out-t", **{f"T.{suffix}": f"out.{suffix}" for suffix in ("html", "npy")}}
        assert main(filled(command, originals, X=x, **outputs)) == 0, (command, capfd.readouterr().err)
        for place in arena.glob("out*"):
            shutil.rmtree(place) if place.is_dir() else place.unlink()


@pytest.mark.parametrize("amount", AMOUNT)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_manifests(kind: Kind, amount: str, arena: Path, originals: Path, request: pytest.FixtureRequest) -> None:
    """Every field of every manifest with every hostile value, with checksums that fit."""
    source = originals / kind.name
    text = (source / kind.manifest).read_text()
    commands = [command for command in kind.commands if is_verb(command)]
    cases = [
        (path, value, commands[number % len(commands)])
        for number, (path, value) in enumerate(
            (path, value) for path in places(json.loads(text)) for value in (*VALUES, ...)
        )
        if path[-1] != "checksum"
    ]
    found = {}
    files = {item.name: item.read_bytes() for item in source.iterdir() if item.is_file()}
    for path, value, command in sampled(cases, request):
        body = json.loads(text)
        changed(body, path, value)
        shutil.rmtree(arena / "x", ignore_errors=True)
        (arena / "x").mkdir()
        for name, data in seal({**files, kind.manifest: json.dumps(body).encode()}, kind.manifest).items():
            (arena / "x" / name).write_bytes(data)
        # The state of a stream may move on; it must not be lost.
        found[f"{path} {str(value)[:30]} {command}"] = attack(filled(command, originals, X="x"), arena)
        assert (arena / "x" / kind.manifest).is_file()
    check(found)


@pytest.mark.parametrize("amount", AMOUNT)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_files_of_folders(
    kind: Kind, amount: str, arena: Path, originals: Path, request: pytest.FixtureRequest
) -> None:
    """Every file of every folder is a pipe, a device, a link, a folder, empty or endless."""
    names = [item.name for item in sorted((originals / kind.name).iterdir()) if item.is_file()]
    commands = [command for command in kind.commands if is_verb(command)]
    # Verification and use read other files first.
    cases = [
        (name, special, command) for name in names for special in SPECIAL for command in {commands[0], commands[-1]}
    ]
    cases += [(kind.manifest, special, command) for special in SPECIAL for command in commands[1:-1]]
    found = {}
    for name, special, command in sampled(cases, request):
        shutil.rmtree(arena / "x", ignore_errors=True)
        shutil.copytree(originals / kind.name, arena / "x")
        (arena / "x" / name).unlink()
        SPECIAL[special](arena / "x" / name)
        found[f"{name} {special} {command}"] = attack(filled(command, originals, X="x"), arena)
    check(found)


@pytest.mark.parametrize("amount", AMOUNT)
@pytest.mark.parametrize("command", WRITERS)
def test_targets(command: str, amount: str, arena: Path, originals: Path, request: pytest.FixtureRequest) -> None:
    """Every writing verb on every special target; what is not a regular file or ours stays."""
    suffix = next((suffix for suffix in (".html", ".npy") if f" T{suffix}" in command), "")
    names = SPECIAL if suffix else (*SPECIAL, *NO_TARGETS)
    cases = [(special, force) for special in names for force in ("", " --force")]
    found = {}
    for special, force in sampled(cases, request):
        place = arena / f"t{suffix}"
        if special in SPECIAL:
            SPECIAL[special](place)
        target = place.name if special in SPECIAL else special.replace("TEXT", "text.txt")
        before = os.lstat(place).st_mode if os.path.lexists(place) else None
        more = {"T": target, f"T{suffix}": target}
        found[f"{special}{force} {command}"] = attack(filled(command + force, originals, **more), arena)
        if special in ("pipe", "zeros", "full", "null", "terminal", "noise"):
            assert os.lstat(place).st_mode == before, f"{special}{force} {command}"
        for name in ("t", "t.html", "t.npy", "t.partial"):
            item = arena / name
            shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink(missing_ok=True)
    check(found)


@pytest.mark.parametrize("amount", AMOUNT)
@pytest.mark.parametrize("command", READERS)
def test_inputs(command: str, amount: str, arena: Path, originals: Path, request: pytest.FixtureRequest) -> None:
    """Every reading verb on devices, links, folders and nonsense; an answer or one line."""
    found = {}
    for special in sampled(list(INPUTS), request):
        place = arena / "r"
        (SPECIAL | MORE)[special](place)
        found[f"{special} {command}"] = attack(filled(command, originals, R="r"), arena)
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
    check(found)


@pytest.mark.parametrize("amount", AMOUNT)
@pytest.mark.parametrize("command", OPTIONED)
def test_options(command: str, amount: str, arena: Path, originals: Path, request: pytest.FixtureRequest) -> None:
    """Every option with numbers at the ends of their ranges and with text that is no value."""
    cases = [(value, option) for option in OPTIONED[command] for value in OPTION_VALUES]
    found = {}
    for value, option in sampled(cases, request):
        arguments = [*filled(f"{command} {option}", originals), value]
        found[f"{command} {option} {value!r}"] = attack(arguments, arena)
    check(found)
