"""PSDVec as a model of text: held-out likelihood, and Appendix B's assumption that interaction information is about 0."""

from __future__ import annotations

from typing import Any

import numpy as np

import firthian as ft
from firthian.vectors.likelihood import TextModel
from studies.new_words import text

#: Held-out documents, and the words read of each.
DOCUMENTS, WORDS = 40, 200

#: Words and the least frequency of the triples whose interaction information is measured.
FREQUENT, OFTEN = 5000, 20


def likelihood(quick: bool) -> dict[str, Any]:
    """Train on the first 20 million bytes, or 5 million, and score the documents after them; nats per known token."""
    size = 5_000_000 if quick else 20_000_000
    lines = text(0, size)
    counts = ft.count(lines[:-1], min_count=20, sample=1e-3)
    vectors = ft.train(counts, "psd", vector_size=100)
    held_out = [line.split()[:WORDS] for line in text(size, size + 1_500_000)[1:] if line][:DOCUMENTS]
    found: dict[str, Any] = {}
    for name, model in (
        ("default", TextModel(vectors)),
        ("with residuals", TextModel(vectors, counts, "seen")),
        ("eq. 8", TextModel(vectors, link="paper")),
        ("eq. 8 with residuals", TextModel(vectors, counts, "seen", "paper")),
    ):
        scores = [model.log_prob(document) for document in held_out]
        found[name] = float(np.concatenate([score.terms for score in scores]).mean())
        found["unigram"] = float(np.concatenate([score.unigram for score in scores]).mean())
        found["tokens"] = sum(len(score.words) for score in scores)
    return found


def interaction(quick: bool) -> dict[str, float]:
    """Measure PInt = PMI(c; a, b) - PMI(c; a) - PMI(c; b) of three words in a row, averaged over their occurrences."""
    words = " \n ".join(text(0, 5_000_000 if quick else 20_000_000)).split(" ")
    names, codes = np.unique(np.array(words), return_inverse=True)
    order = np.argsort(-np.bincount(codes), kind="stable")
    ranks = np.empty(names.size, np.int64)
    ranks[order] = np.arange(names.size)
    ids = ranks[codes]
    a, b, c = ids[:-2], ids[1:-1], ids[2:]
    ends = ranks[np.searchsorted(names, "\n")]
    known = (np.maximum(np.maximum(a, b), c) < FREQUENT) & (a != ends) & (b != ends) & (c != ends)
    a, b, c = a[known], b[known], c[known]
    total = a.size

    def logs(*parts: Any) -> tuple[Any, Any]:
        """Return log P of each triple's part, and its count."""
        joint = np.zeros(total, np.int64)
        for part in parts:
            joint = joint * FREQUENT + part
        _, place, number = np.unique(joint, return_inverse=True, return_counts=True)
        return np.log(number[place] / total), number[place]

    (triple, often), (ab, _), (ac, _), (bc, _) = logs(a, b, c), logs(a, b), logs(a, c), logs(b, c)
    single = [logs(part)[0] for part in (a, b, c)]
    pint = triple + sum(single) - ab - ac - bc
    sum_of_pmi = (ac - single[0] - single[2]) + (bc - single[1] - single[2])
    chosen = often >= OFTEN
    return {
        "triples": int(chosen.sum()), "share": float(chosen.mean()),
        "mean": float(pint[chosen].mean()), "deviation": float(pint[chosen].std()),
        "absolute": float(np.abs(pint[chosen]).mean()), "pmi": float(np.abs(sum_of_pmi[chosen]).mean()),
        "all_mean": float(pint.mean()), "all_absolute": float(np.abs(pint).mean()),
    }  # fmt: skip
