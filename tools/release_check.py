"""Check a release before it is one: ``make release-check``, or ``nox -s release``, which brings the tools it needs.

The packages are built twice, from two places, with the same bytes; they contain what they should; the wheel works in a fresh
environment without any extra, and with each extra alone. What is checked is the last commit. The packages stay in
``build/release``, with a list of what the wheel brings (SBOM).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from tools.licenses import licenses, unwanted
from tools.lowest import DEVELOPMENT

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "release"

#: Tracked files that no package contains.
UNPACKED = (".ci/",)

CORPUS = "tea with milk\ncoffee with milk\n" * 200
LABELED = "drink\ttea with milk\nsky\tmoon and sun\n" * 9
TABLE = "text,side\n" + "tea with milk and sugar,left\ntea with lemon,right\n" * 20

#: What is run with no extra, and with each one alone; extras that are not listed are imported.
COMMANDS: dict[str, tuple[str, ...]] = {
    "": (
        "--version", "models", "count corpus.txt -o counts", "train corpus.txt -m svd --dim 2 --sample 0 -o vectors",
        "neighbors vectors tea", "verify counts vectors", "encode vectors corpus.txt -o matrix.npy --method mean",
        "index vectors corpus.txt -o index", "search index tea", "compress vectors -o small --bytes 4",
    ),
    "sklearn": ("adapt labeled.tsv -v random:3 -o classifier --no-learning-curve", "classify classifier corpus.txt"),
    "viz": ("map vectors --method pca -o map.png",),
    "export": ("convert vectors gensim --to gensim", "convert vectors spacy --to spacy"),
    "tables": ("encode vectors corpus.txt -o matrix.parquet --method mean", "convert vectors words.parquet --to parquet"),
    "ask": ("regress table.csv --target tea --formula side -v vectors --permutations 19",),
    "icu": ("count corpus.txt --tokenizer icu:en -o icu",),
    "data": ("datasets list",),
}  # fmt: skip

#: Names to import where a distribution's differ from its own.
MODULES = {
    "python-crfsuite": "pycrfsuite", "umap-learn": "umap", "scikit-learn": "sklearn", "ray[client]": "ray", "icu4py": "icu4py",
}  # fmt: skip

IMPORT_ALL = """
import importlib, pkgutil, firthian
for module in pkgutil.walk_packages(firthian.__path__, "firthian."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except firthian.FirthianError as error:
        # A module that says which extra it needs.
        assert "pip install 'firthian[" in str(error), (module.name, error)
    except ModuleNotFoundError as error:
        # These are imported only where Ray was found.
        assert (module.name.rpartition(".")[0], error.name) == ("firthian.runtime.cluster", "ray"), (module.name, error)
"""


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command; return what it prints, or end with what it says."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def tracked(commit: str) -> list[str]:
    """List the files of a commit that packages are made of."""
    names = run("git", "ls-tree", "-r", "--name-only", commit).splitlines()
    return [name for name in names if not name.startswith(UNPACKED)]


def build(commit: str) -> tuple[Path, Path]:
    """Build both packages in two places, with other permissions and times; return the wheel and the source package."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    built = []
    for mask in (0o022, 0o077):
        with tempfile.TemporaryDirectory() as name:
            before = os.umask(mask)
            (Path(name) / f"source{mask}").mkdir()
            run("git", "archive", "--output", Path(name) / "source.tar", commit)
            with tarfile.open(Path(name) / "source.tar") as archive:
                archive.extractall(Path(name) / f"source{mask}", filter="data")
            os.umask(before)
            for path in Path(name).rglob("*.py"):
                os.utime(path)
            run(sys.executable, "-m", "build", "--no-isolation", "--outdir", PLACE, Path(name) / f"source{mask}")
        built.append({path.name: path.read_bytes() for path in sorted(PLACE.iterdir())})
    first, second = built
    if first != second:
        raise SystemExit(f"two builds differ: {sorted(name for name in first if first[name] != second.get(name))}")
    for name, data in first.items():
        print(f"{name}: {len(data):,} bytes, twice the same, sha256 {hashlib.sha256(data).hexdigest()}")
    [wheel], [source] = PLACE.glob("*.whl"), PLACE.glob("*.tar.gz")
    return wheel, source


def check_contents(wheel: Path, source: Path, commit: str) -> None:
    """Raise if a package misses a file, or has one too many."""
    names = tracked(commit)
    with tarfile.open(source) as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()} - {"PKG-INFO"}
    _same("the source package", set(names), packed)
    with zipfile.ZipFile(wheel) as archive:
        members = {name for name in archive.namelist() if ".dist-info/" not in name}
    _same("the wheel", {name.removeprefix("src/") for name in names if name.startswith("src/")}, members)
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    print(f"contents: {len(members)} files in the wheel, {len(packed)} in the source package, twice as tracked")


def _same(what: str, wanted: set[str], found: set[str]) -> None:
    if wanted != found:
        raise SystemExit(f"{what} misses {sorted(wanted - found)} and has {sorted(found - wanted)} too many")


def try_alone(wheel: Path, extra: str, needs: list[str]) -> dict[str, Any]:
    """Install the wheel with one extra, or none, in a fresh environment and use it; return seconds and licenses."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run(sys.executable, "-m", "venv", place / "env")
        bin = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        run(bin / "python", "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]" if extra else wheel)
        for file, text in (("corpus.txt", CORPUS), ("labeled.tsv", LABELED), ("table.csv", TABLE)):
            (place / file).write_text(text)
        alone = {"PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
        run(bin / "firth", "train", "corpus.txt", "-m", "svd", "--dim", 2, "-o", "first", cwd=place, **alone)
        assert "coffee" in run(bin / "firth", "neighbors", "first", "tea", cwd=place, **alone)
        seconds = time.monotonic() - begin
        base = COMMANDS[""] if not extra else ("train corpus.txt -m svd --dim 2 --sample 0 -o vectors",)
        for command in (*base, *COMMANDS.get(extra, ()) * bool(extra)):
            run(bin / "firth", *command.split(), cwd=place, **alone)
        if not extra:
            run(bin / "python", "-c", IMPORT_ALL, cwd=place, **alone)
        for need in needs:
            distribution = need.split(">")[0]
            module = MODULES.get(distribution, distribution.replace("-", "_"))
            run(bin / "python", "-c", f"import {module}", cwd=place, **alone)
        run(bin / "python", "-m", "pip", "check", cwd=place)
        known = licenses(bin / "python")
        if not extra:
            _write_sbom(bin / "python")
    if bad := unwanted(known):
        raise SystemExit(f"licenses to look at, with {extra or 'no extra'}: {bad}")
    return {"seconds": round(seconds, 1), "packages": len(known), "licenses": known}


def _write_sbom(python: Path) -> None:
    path = PLACE / "firthian.cdx.json"
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", python, "--pyproject", ROOT / "pyproject.toml"]
    run(*tool, "--output-reproducible", "-o", path)
    print(f"{path.name}: {len(json.loads(path.read_text())['components'])} components")


def main() -> None:
    """Check everything; print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="all", help="comma-separated; none for the wheel alone")
    asked = parser.parse_args().extras
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in DEVELOPMENT}
    chosen = list(extras) if asked == "all" else [] if asked == "none" else asked.split(",")
    # Named once: others may commit meanwhile.
    commit = run("git", "rev-parse", "HEAD").strip()
    wheel, source = build(commit)
    check_contents(wheel, source, commit)
    for extra in ("", *chosen):
        found = try_alone(wheel, extra, extras.get(extra, []))
        print(
            f"{extra or 'no extra'}: {found['packages']} packages, first neighbors after {found['seconds']} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
