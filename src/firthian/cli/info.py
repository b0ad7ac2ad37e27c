"""``firth models``, ``firth info`` and ``firth verify``: recipes; what folders and files hold, and whether they are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, print_json
from firthian.errors import FirthianError

if TYPE_CHECKING:
    from firthian.vectors.subwords import Subwords
    from firthian.vectors.vectors import Vectors


@app.command()
def models(
    name: str | None = typer.Argument(None, help="Recipe to describe, with all its options."),
    json: Json = False,
) -> None:
    """List the recipes, or describe one."""
    from firthian.learn.recipe import LARGE_TEXT
    from firthian.learn.recipes import RECIPES, Recipe, find_recipe
    from firthian.learn.train import DEFAULT_RECIPE

    def facts(recipe: Recipe) -> dict[str, object]:
        options = {name: {"default": option.default, "help": option.help} for name, option in recipe.options.items()}
        shown = ("name", "aliases", "summary", "paper", "source", "dimension", "chooses_dimension", "counting")
        return {**{name: getattr(recipe, name) for name in shown}, "options": options}

    chosen = [find_recipe(name)] if name else list(RECIPES)
    if json:
        print_json([facts(recipe) for recipe in chosen])
        return
    if not name:
        width = max(len(recipe.name) for recipe in RECIPES)
        for recipe in RECIPES:
            also = f" (also {', '.join(recipe.aliases)})" if recipe.aliases else ""
            print(f"{recipe.name:<{width}}  {recipe.summary}{also}")
        print(f"\nThe default is {DEFAULT_RECIPE}. firth models NAME lists a recipe's options.")
        return
    recipe = chosen[0]
    print(f"{recipe.name}: {recipe.summary}\n  paper      {recipe.paper}")
    if recipe.aliases:
        print(f"  aliases    {', '.join(recipe.aliases)}")
    if recipe.counting:
        print(f"  counting   {', '.join(f'{key}={value}' for key, value in recipe.counting.items())}")
    if recipe.dimension:
        large = recipe.default_dimension(LARGE_TEXT)
        more = f" ({large} for {LARGE_TEXT // 10**6} M tokens or more)" if large != recipe.dimension else ""
        more += ", or chosen by --dim auto" if recipe.chooses_dimension else ""
        print(f"  dimension  {recipe.dimension}{more}")
    for option in recipe.options.values():
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        print(f"  --set {option.name}={option.default}\n        {option.help}{choices}")


@app.command()
def info(path: str = typer.Argument(..., help="Counts folder, or vectors in any format."), json: Json = False) -> None:
    """Describe counts or vectors: size, options, provenance."""
    facts = describe(Path(path))
    print_json(facts) if json else print("\n".join(_lines(facts)))


def describe(path: Path) -> dict[str, Any]:
    """Return the kind, shape and provenance of counts or vectors."""
    from firthian.counts.counts import Counts
    from firthian.disk.atomic import is_counts_folder

    if not path.exists():
        raise FirthianError(f"{path} does not exist", hint="check the path")
    if is_counts_folder(path):
        counts = Counts.load(path)
        size = {"shape": list(counts.shape), "pairs": counts.pairs, "total": counts.total, "bytes": size_on_disk(path)}
        return {"kind": "counts", **size, "options": counts.options.as_dict(), "provenance": counts.record}
    return _describe_vectors(path)


def _describe_vectors(path: Path) -> dict[str, Any]:
    from firthian.disk.atomic import kind_of
    from firthian.vectors.codes import Codes
    from firthian.vectors.formats import read_vectors, sniff

    kind = kind_of(path)
    # Exports for other tools may be readable as vectors.
    if kind not in (None, "vectors", "export"):
        raise FirthianError(f"{path} holds {kind}, not counts or vectors", hint="pass one of those")
    format = sniff(path)
    vectors = read_vectors(path, format.name)
    stored = vectors.stored
    return {
        "kind": "vectors",
        "shape": [len(vectors), vectors.vector_size],
        "format": format.name,
        "layout": "sparse" if hasattr(stored, "tocsr") else "codes" if isinstance(stored, Codes) else "dense",
        "compression": _compression(vectors, size_on_disk(path)),
        "contexts": vectors.contexts is not None,
        "extras": {name: list(array.shape) for name, array in vectors.extras.items()},
        "bytes": size_on_disk(path),
        "subwords": _subwords(vectors.subwords, size_on_disk(path)),
        "provenance": vectors.provenance.to_dict(),
    }


def _compression(vectors: Vectors, whole: int) -> dict[str, Any]:
    """Return the size of a compressed word, and what compression lost."""
    from firthian.vectors.codes import Codes

    if not isinstance(vectors.stored, Codes):
        return {}
    steps = [step for step in vectors.provenance.transforms if step.get("name") == "compressed"]
    lost = {name: steps[-1].get(name) for name in ("cosine", "neighbors_kept")} if steps else {}
    sizes = {
        "bytes per vector": vectors.stored.row_bytes,
        "bytes on disk per word": round(whole / max(1, len(vectors)), 1),
    }
    return {"method": vectors.stored.method, **sizes, **lost}


def _subwords(table: Subwords | None, whole: int) -> dict[str, Any]:
    """Return the size of the table of n-grams; its share is that of all bytes on disk."""
    if table is None:
        return {}
    return {"n-grams": len(table), "bytes": table.nbytes, "share": f"{table.nbytes / max(1, whole):.0%}"}


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(item.stat().st_size for item in files if item.is_file())


def _lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    lines: list[str] = []
    for name, value in facts.items():
        if value is None or value == {}:
            continue
        if isinstance(value, dict):
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, item in enumerate(value, start=1):
                lines += [f"{indent}{name} {number}", *_lines(item, indent + "  ")]
        else:
            shown = ", ".join(_shown(item, "") for item in value) if isinstance(value, list) else _shown(value, ",")
            lines.append(f"{indent}{name:<18} {shown}")
    return lines


def _shown(value: object, separator: str) -> str:
    if isinstance(value, float):
        # The last digits of a sum are rounding errors; --json prints them all.
        return f"{value:{separator}.10g}"
    return f"{value:{separator}}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@app.command()
def verify(
    paths: list[str] = typer.Argument(..., help="Folders that Firthian wrote, or vectors in any format."),
    json: Json = False,
) -> None:
    """Check every byte of counts, vectors, encoders, indexes, classifiers and streams."""
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
