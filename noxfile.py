"""What the Makefile does, on every system: ``pipx run nox``, or ``uvx nox``; ``nox --list`` shows the sessions."""

from __future__ import annotations

import nox

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

#: The main path on systems where not every library of the tests has wheels.
MAIN_PATH = (
    "tests/disk", "tests/text", "tests/counts/test_same_bytes.py", "tests/runtime/test_platforms.py",
    "tests/cli/test_streams.py",
)  # fmt: skip


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The whole test suite, but for slow tests."""
    session.install("-e", ".[dev]")
    session.run("pytest", "-n", "2", "--dist", "loadgroup", "-m", "not slow and not cluster", *session.posargs)


@nox.session(python=PYTHONS)
def main_path(session: nox.Session) -> None:
    """Reading, counting, training, storing and the command line, with few libraries."""
    session.install("-e", ".[sklearn,web]", "pytest>=8", "hypothesis>=6.100")
    session.run("pytest", *(session.posargs or MAIN_PATH))


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The same with the lowest versions that are promised."""
    constraints = f"{session.create_tmp()}/lowest.txt"
    with open(constraints, "w", encoding="utf-8") as file:
        # matplotlib 3.8 calls pyparsing by names that 3.3 warns of, and warnings fail the tests.
        file.write(str(session.run("python", "tools/lowest.py", silent=True)) + "pyparsing<3.3\n")
    session.install("-e", ".[sklearn,web]", "pytest>=8", "hypothesis>=6.100", "-c", constraints)
    session.run("pytest", *(session.posargs or MAIN_PATH))


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, in site/."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict")


@nox.session
def demo(session: nox.Session) -> None:
    """The demo."""
    session.install("-e", ".")
    session.run("firth", "demo", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Build the packages twice, compare, and try them: see tools/release_check.py."""
    session.install(*nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "release"))
    session.run("python", "-m", "tools.release_check", *session.posargs)
