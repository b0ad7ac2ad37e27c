"""What a release says of itself is one and the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import firthian

ROOT = Path(__file__).resolve().parents[2]
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
    needs = dict(need.split(">=") for need in project["project"]["dependencies"])
    for name, version in needs.items():
        assert f"{name}=={version}.*" in text


def test_the_table_of_versions_says_what_the_package_asks_for(project: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "versions.md").read_text()
    needs = dict(need.split(">=") for need in project["project"]["dependencies"])
    rows = {
        cells[1].strip().lower(): cells[2].strip()
        for line in page.splitlines()
        if line.startswith("|") and len(cells := line.split("|")) > 3
    }
    for name, version in needs.items():
        assert rows[name] == version
    assert rows["python"] == project["project"]["requires-python"].removeprefix(">=")
    for extra in project["project"]["optional-dependencies"].keys() - {"docs", "bench", "test", "heavy", "fuzz", "dev"}:
        assert f"`{extra}`" in rows, f"versions.md does not name the extra {extra}"


def test_the_changelog_has_a_place_for_what_is_new() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", heading) for heading in headings[1:])
