"""Every recipe at its defaults on one corpus, and alternatives for ``psd`` and ``svd``. ``python -m studies.defaults``

Defaults were chosen on the seven sets and enwiki17m; RW is a set on which nothing was chosen. ``--quick`` takes 10 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import firthian as ft
from firthian.learn.recipes import RECIPES
from studies.common import HELD_OUT, SHORT, Study, arguments, corpus_path, score_cells, scores, table, timed

DIMENSION = 150

#: Recipes that need more than a corpus, or that other studies are about.
LEFT_OUT = ("semf", "sgns-iwlrls", "emf-amemf", "bayes-svi", "sparse")

#: Full covariances cost the cube of the dimension; HAL and Brown clusters choose their own.
OWN_SIZE = ("bayes", "ppmi", "sppmi", "hal", "brown")

_DYNAMIC = {"window": 5, "weighting": "dynamic", "sample": 1e-3}
_PLAIN = {"step": 1.0, "center": False}

#: What was tried for psd: how to count, and options; all but the last ones with steps of length 1 and no centering.
PSD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "flat window 5, no sub-sampling, cut 0.0002, 2 iterations": (
        {"window": 5, "weighting": "flat", "sample": 0.0}, {**_PLAIN, "cut": 0.0002, "iterations": 2},
    ),
    "the same, cut 0.01": ({"window": 5, "weighting": "flat", "sample": 0.0}, {**_PLAIN, "iterations": 2}),
    "dynamic window 8, 2 iterations": ({**_DYNAMIC, "window": 8}, {**_PLAIN, "iterations": 2}),
    "dynamic window 5, sample 1e-4, 2 iterations": ({**_DYNAMIC, "sample": 1e-4}, {**_PLAIN, "iterations": 2}),
    "dynamic window 10, sample 1e-4, 2 iterations": (
        {**_DYNAMIC, "window": 10, "sample": 1e-4}, {**_PLAIN, "iterations": 2},
    ),
    "harmonic window 10, 2 iterations": (
        {**_DYNAMIC, "window": 10, "weighting": "harmonic"}, {**_PLAIN, "iterations": 2},
    ),
    "dynamic window 5, cut 0.05, 2 iterations": (_DYNAMIC, {**_PLAIN, "cut": 0.05, "iterations": 2}),
    "dynamic window 5, weight power 0.25, 2 iterations": (_DYNAMIC, {**_PLAIN, "weight_power": 0.25, "iterations": 2}),
    "dynamic window 5, 1 iteration": (_DYNAMIC, {**_PLAIN, "iterations": 1}),
    "dynamic window 5, 4 iterations": (_DYNAMIC, _PLAIN),
    "the same, eigenvalue power 0.35": (_DYNAMIC, {**_PLAIN, "eigenvalue_power": 0.35}),
    "the same, eigenvalue power 0.25": (_DYNAMIC, {**_PLAIN, "eigenvalue_power": 0.25}),
    "the same, centered": (_DYNAMIC, {"step": 1.0}),
    "the same, steps of 1.9": (_DYNAMIC, {"center": False}),
    "the same, steps of 1.9, 8 iterations": (_DYNAMIC, {"center": False, "iterations": 8}),
    "**the defaults**: centered, steps of 1.9, 4 iterations": (_DYNAMIC, {}),
}  # fmt: skip

SVD: dict[str, dict[str, Any]] = {
    "eigenvalue power 0": {"eigenvalue_power": 0.0},
    "eigenvalue power 0.25": {"eigenvalue_power": 0.25},
    "**the default**: 0.5": {},
    "eigenvalue power 1": {"eigenvalue_power": 1.0},
    "shift by log 5": {"shift": 5.0},
    "ns_exponent 0.75": {"ns_exponent": 0.75},
}

TWEEDIE: dict[str, dict[str, Any]] = {"one iteration, **the default**": {}, "4 iterations": {"iterations": 4}}

PAGE = """# Recipes at their defaults

{corpus}, words seen at least {least} times, {dimension} dimensions, each recipe with its own counting defaults; times are from
raw text to vectors. Spearman correlation on five sets, 3CosAdd / 3CosMul on two, over the items whose words are in the
vocabulary. The defaults were chosen on this corpus and these sets, so they look slightly better here than elsewhere. No choice
was based on RW. [Defaults](../defaults.md) shows the default recipe on other corpus sizes.

{recipes}
`bayes` has 50 dimensions and `sparse` encodes the vectors of `svd` in 500 dimensions; `ppmi`, `sppmi`, `hal` and `brown`
have their own sizes. `emf-amemf` and `semf` are in [their own study](emf.md), `bayes-svi` in [the Bayesian one](bayes.md).

## psd

Unless noted, `cut` is 0.01, steps have length 1 and vectors are not centered.

{psd}
## svd

{svd}
## tweedie

{tweedie}"""


def recipe_row(corpus: str, least: int, recipe: str, size: int | None, counting: dict[str, Any], **options: Any) -> Any:
    """Train and score."""
    vectors, seconds = timed(
        lambda: ft.train(corpus, recipe, vector_size=size, counting={"min_count": least, **counting}, **options)
    )
    return {"scores": scores(vectors), "seconds": seconds, "size": vectors.vector_size}


def sparse_row(corpus: str, least: int, size: int) -> Any:
    """Code the vectors of svd."""
    dense = ft.train(corpus, "svd", vector_size=size, counting={"min_count": least})
    vectors, seconds = timed(lambda: ft.train(dense, "sparse", vector_size=500))
    return {"scores": scores(vectors), "seconds": seconds, "size": vectors.vector_size}


def show(rows: dict[str, Any]) -> str:
    """Write rows as a table."""
    body = [
        [
            name,
            f"{row['seconds']:.0f}",
            *score_cells(row["scores"]),
            *(f"{row['scores'][held]:.3f}" for held in HELD_OUT),
        ]
        for name, row in rows.items()
    ]
    return table(["", "seconds", *SHORT, *(held.upper() for held in HELD_OUT)], body)


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("defaults", chosen)
    least, size = (20, 50) if chosen.quick else (50, DIMENSION)

    def row(
        part: str, name: str, recipe: str, wanted: int | None, counting: dict[str, Any], options: dict[str, Any]
    ) -> Any:
        return study.row(
            f"{part}/{name}", lambda: recipe_row(corpus_path(chosen.quick), least, recipe, wanted, counting, **options)
        )

    recipes = {
        f"`{recipe.name}`": row("recipes", recipe.name, recipe.name, None if recipe.name in OWN_SIZE else size, {}, {})
        for recipe in RECIPES
        if recipe.name not in LEFT_OUT
    }
    recipes["`sparse`"] = study.row("recipes/sparse", lambda: sparse_row(corpus_path(chosen.quick), least, size))
    tried = {
        "psd": {name: row("psd", name, "psd", size, counting, options) for name, (counting, options) in PSD.items()},
        "svd": {name: row("svd", name, "svd", size, {}, options) for name, options in SVD.items()},
        "tweedie": {name: row("tweedie", name, "tweedie", size, {}, options) for name, options in TWEEDIE.items()},
    }
    study.write(
        PAGE.format(
            corpus="The first 10 MB of enwiki17m" if chosen.quick else "enwiki17m (16.9 M tokens)",
            least=least,
            dimension=size,
            recipes=show(recipes),
            **{name: show(rows) for name, rows in tried.items()},
        )
    )


if __name__ == "__main__":
    main()
