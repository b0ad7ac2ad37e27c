"""The thesis's proposal (section 8.1): word similarity by the probability product kernel of two posteriors."""

from __future__ import annotations

from typing import Any

import firthian as ft
from studies.bayes_data import Data
from studies.bayes_text import default_vectors
from studies.common import Study, table

SCORES = {
    "cosine": "cosine of the means",
    "euclidean": "Euclidean distance of the means (the thesis's measure)",
    "product-kernel": "product kernel (the thesis's proposal)",
}
SETS = {"ws353": "WordSim-353", "men": "MEN", "simlex999": "SimLex-999"}


def compute(study: Study, data: Data) -> None:
    """Score pairs of words in three ways with the same vectors."""

    def scored(score: str) -> dict[str, Any]:
        facts = ft.evaluate(default_vectors(data), sets=list(SETS), score=score, resamples=1000).to_dict()
        return {name: {key: facts["similarity"][name][key] for key in ("spearman", "ci95")} for name in SETS}

    for score in SCORES:
        study.row(f"kernel/{score}", lambda score=score: scored(score))


def page(study: Study) -> str:
    """Write the table of the three ways, and what it says about the proposal."""
    rows = {score: study.rows.get(f"kernel/{score}") for score in SCORES}
    lines = [[label, *(_figure(rows[score], name) for name in SETS)] for score, label in SCORES.items()]
    text = table(["similarity", *SETS.values()], lines)
    if all(rows.values()):
        kernel, distance = (rows[score]["ws353"]["spearman"] for score in ("product-kernel", "euclidean"))  # type: ignore[index]
        verdict = "holds" if kernel > distance else "does not hold"
        text += f"\n*The kernel is an even better alternative to the distance of the means*: {verdict}.\n"
    return text


def _figure(row: dict[str, Any] | None, name: str) -> str:
    return "–" if row is None else "{:.3f} [{:.2f}, {:.2f}]".format(row[name]["spearman"], *row[name]["ci95"])
