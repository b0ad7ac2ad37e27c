"""``firth verify``: whether folders and files are whole, by their checksums."""

from __future__ import annotations

from pathlib import Path

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, print_json
from firthian.errors import FirthianError


@app.command()
def verify(
    paths: list[str] = typer.Argument(..., help="Folders that Firthian wrote, or vectors in any format."),
    json: Json = False,
) -> None:
    """Check every byte of counts, vectors, classifiers, streams and encoders."""
    results = [_verified(path) for path in paths]
    if json:
        print_json(results)
    else:
        for result in results:
            print(f"{result['path']}: {result['kind']}, {result['error'] or 'intact'}")
    damaged = [str(result["path"]) for result in results if result["error"]]
    if damaged:
        raise FirthianError(
            f"{len(damaged):,} of {len(paths):,} damaged ({', '.join(damaged)})", hint="make them again"
        )


def _verified(path: str) -> dict[str, str | None]:
    kind = "vectors"
    try:
        kind = _check(Path(path))
    except FirthianError as error:
        return {"path": path, "kind": kind, "error": error.message}
    return {"path": path, "kind": kind, "error": None}


def _check(path: Path) -> str:
    """Raise if a folder or a file is damaged; return what it contains."""
    from firthian.counts.counts import Counts
    from firthian.disk.artifact import ArtifactKind
    from firthian.disk.atomic import MANIFESTS, kind_of, manifest_kind
    from firthian.vectors.formats import read_vectors

    kinds = {name: kind for name in (*MANIFESTS, "encoder.json") if (kind := manifest_kind(path / name)) is not None}
    if not kinds:
        read_vectors(path, verify=True)
        return "vectors"
    for name, kind in kinds.items():
        if name == "counts.json":
            Counts.load(path)
        elif name == "vectors.json":
            read_vectors(path, "folder", verify=True)
        else:
            ArtifactKind(kind, name).read(path)
    return str(kind_of(path))
