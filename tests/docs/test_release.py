"""What a release says of itself is one and the same everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import firthian
from tools.lowest import DEVELOPMENT, lowest

ROOT = Path(__file__).resolve().parents[2]
LOWEST = ("python tools/lowest.py > lowest.txt", "python -m pip install -e '.[test]' -c lowest.txt")
yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_citation_is_complete_and_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "abstract", "authors", "license", "keywords", "references"} <= cited.keys()
    assert str(cited["version"]) == str(cited["preferred-citation"]["version"]) == firthian.__version__
    for reference in cited["references"]:
        assert reference["title"]
        assert all({"family-names", "given-names"} <= author.keys() for author in reference["authors"])


def test_the_release_workflow_tests_builds_and_publishes_without_a_password(project: dict[str, Any]) -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert set(jobs["build"]["needs"]) == {"test", "lowest"}
    assert "password" not in re.sub(r"#.*", "", text)
    lowest = project["project"]["requires-python"].removeprefix(">=")
    assert jobs["test"]["strategy"]["matrix"]["python"][0] == lowest
    # The lowest versions that are promised are the ones that are tried.
    commands = [step.get("run") for step in jobs["lowest"]["steps"]]
    written, installed = (commands.index(command) for command in LOWEST)
    assert written < installed


def test_every_step_of_the_workflow_is_a_shell_script() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    for name, job in jobs.items():
        for step in job["steps"]:
            script = step.get("run", "")
            parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
            assert (parsed.returncode, parsed.stderr) == (0, ""), (name, script)


@pytest.mark.parametrize(
    ("tag", "heading", "passes"),
    [
        (f"v{firthian.__version__}", f"## [{firthian.__version__}] - 2026-01-31", True),
        (f"v{firthian.__version__}", "## [Unreleased]", False),
        ("v0.0.0", f"## [{firthian.__version__}] - 2026-01-31", False),
    ],
)
def test_a_tag_is_released_only_as_the_version_it_names(tmp_path: Path, tag: str, heading: str, passes: bool) -> None:
    """The workflow's own step, on this source with the heading that CONTRIBUTING.md asks for."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]["build"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("name") == "The tag is the version")
    source = tmp_path / "src" / "firthian"
    source.mkdir(parents=True)
    shutil.copy(ROOT / "src" / "firthian" / "_version.py", source)
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_REF_NAME": tag, "PATH": path},
        capture_output=True,
    )
    assert (done.returncode == 0) == passes, done


def test_the_lowest_versions_are_those_of_the_package_and_of_its_extras(project: dict[str, Any]) -> None:
    versions = lowest(project["project"])
    assert versions["numpy"] == dict(need.split(">=") for need in project["project"]["dependencies"])["numpy"]
    assert {"scikit-learn", "pyarrow", "ray"} <= versions.keys()
    assert not {"pytest", "ruff", "firthian"} & versions.keys()
    with pytest.raises(ValueError, match="no lowest version"):
        lowest({"dependencies": ["numpy"], "optional-dependencies": {}})
    with pytest.raises(ValueError, match="numpy 1 here and 2 there"):
        lowest({"dependencies": ["numpy>=1"], "optional-dependencies": {"web": ["numpy>=2"]}})


def test_the_table_of_versions_says_what_the_package_asks_for(project: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "versions.md").read_text()
    # What comes after a semicolon says on which systems.
    needs = dict(need.split(";")[0].split(">=") for need in project["project"]["dependencies"])
    rows = {
        cells[1].strip().lower(): cells[2].strip()
        for line in page.splitlines()
        if line.startswith("|") and len(cells := line.split("|")) > 3
    }
    for name, version in needs.items():
        assert rows[name] == version
    assert rows["python"] == project["project"]["requires-python"].removeprefix(">=")
    for extra in project["project"]["optional-dependencies"].keys() - DEVELOPMENT:
        assert f"`{extra}`" in rows, f"versions.md does not name the extra {extra}"


def test_the_recipe_of_conda_is_that_of_the_package(project: dict[str, Any]) -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == firthian.__version__
    assert recipe["context"]["python_min"] == project["project"]["requires-python"].removeprefix(">=")
    needs = {need.split(";")[0].replace(">=", " >=") for need in project["project"]["dependencies"]}
    assert set(recipe["requirements"]["run"]) == {"python >=${{ python_min }}", *needs}
    assert recipe["about"]["license"] == project["project"]["license"]
    [command] = recipe["build"]["python"]["entry_points"]
    assert tuple(command.split(" = ")) in project["project"]["scripts"].items()


def test_every_tracked_file_at_the_top_is_packed(project: dict[str, Any]) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("this is not a checkout")
    tops = {name.partition("/")[0] for name in tracked.stdout.splitlines()} - {".ci", ".gitignore", "pyproject.toml"}
    assert tops == {name.removeprefix("/") for name in build["include"]}


def test_sessions_of_nox_run_what_the_makefile_runs() -> None:
    nox, make = (ROOT / "noxfile.py").read_text(), (ROOT / "Makefile").read_text()
    assert "not slow and not cluster" in nox
    assert "-m 'not slow and not cluster'" in make
    # Both name tests that exist.
    for name in re.findall(r'"(tests/[^"]+)"', nox):
        assert (ROOT / name).exists(), name


def test_the_changelog_has_a_place_for_what_is_new() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", heading) for heading in headings[1:])
