"""Write the checksums of every recipe's counts and vectors, with three option sets and 1 and 2 workers.

    python -m tools.checksums OUT.json CORPUS.txt.xz [RECIPE ...]

Run it on two versions and compare the files: a refactoring must not change a byte of any result.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from pathlib import Path

import numpy as np

import firthian as ft

LINES = 1500
DIM = 16
COUNTING = {"min_count": 8}

#: Three option sets for each recipe: its defaults, and two that reach other branches.
OPTIONS = {
    "ppmi": [{}, {"shift": 2.0}, {"ns_exponent": 1.0, "smoothing": 0.02}],
    "sppmi": [{}, {"shift": 2.0}, {"ns_exponent": 1.0}],
    "svd": [{}, {"eigenvalue_power": 0.0}, {"shift": 3.0, "ns_exponent": 0.75, "tolerance": 1e-4}],
    "imf": [{}, {"shift": 1.0}, {"smoothing": 0.05}],
    "lsa": [{}, {"entropy": "context"}, {"entropy": "word", "eigenvalue_power": 1.0}],
    "hpca": [{}, {"contexts": 200}, {"eigenvalue_power": 1.0}],
    "cca": [{}, {"count_power": 1.0}, {"normalize": False, "ns_exponent": 0.75}],
    "oscca": [{}, {"count_power": 1.0}, {"normalize": False}],
    "tscca": [{}, {"count_power": 1.0}, {"normalize": False}],
    "random-projection": [{}, {"projection": "sparse"}, {"shift": 2.0}],
    "hal": [{}, {"normalize": False}, {"_size": 8}],
    "ica": [{}, {"epochs": 5}, {"tolerance": 1e-2}],
    "brown": [{"classes": 20}, {"classes": 12}, {"classes": 20, "prefixes": "2,4"}],
    "psd": [{}, {"iterations": "auto", "step": 1.0}, {"ridge": 0.5, "center": False, "cut": 0.001}],
    "psd-blockwise": [{"core": 300}, {"core": 200, "band_ridges": "0"}, {"core": 400, "iterations": 2}],
    "tweedie": [
        {},
        {"power": "auto", "iterations": 2},
        {"iterations": 2, "bias": "row", "solver": "adagrad", "epochs": 3},
    ],
    "poisson": [{}, {"iterations": 2, "unseen": "exact"}, {"iterations": 3, "early_stop": True, "unseen": "sampled"}],
    "multinomial": [{}, {"iterations": 2}, {"iterations": 2, "ridge": 0.1, "combine": "u"}],
    "negative-binomial": [{}, {"theta": 5.0, "iterations": 2}, {"bias": "none", "truncate_weights": "none"}],
    "gaussian": [{}, {"link": "log", "epochs": 3}, {"truncate_counts": "none", "ridge": 0.1}],
    "sgns": [
        {},
        {"step": "newton", "epochs": 3},
        {"unseen": "sampled", "combine": "u+c", "center": False, "epochs": 2},
    ],
    "emf-amemf": [{"epochs": 5}, {"epochs": 3, "rate": 1e-4}, {"epochs": 3, "ridge": 0.1, "negative": 2.0}],
    "semf": [{"analogies": "@"}, {"analogies": "@", "lambda": 0.5, "epochs": 3}, {}],
    "glove": [{"epochs": 3}, {"epochs": 2, "x_max": 50.0}, {"epochs": 2, "alpha": 0.02}],
    "sgns-sgd": [{"epochs": 1}, {"epochs": 2}, {"epochs": 1, "negative": 3}],
    "bayes": [
        {"epochs": 3},
        {"covariance": "diagonal", "epochs": 3},
        {"negatives": "sampled", "bias": "both", "epochs": 2, "start": "noise"},
    ],
    "bayes-svi": [{"batch_tokens": 5000}, {"batch_tokens": 8000, "epochs": 2}, {"forgetting": 0.6, "start_sweeps": 2}],
    "sparse": [{"_size": 40}, {"_size": 40, "l1": 0.5}, {"_size": 40, "nonnegative": False, "epochs": 3}],
}

#: Ways of counting, besides those of the recipes.
COUNTINGS = {
    "default": {},
    "harmonic": {"window": 7, "weighting": "harmonic", "context": "left"},
    "sampled": {"window": 3, "weighting": "flat", "sample": 1e-3, "sample_mode": "expected"},
    "right": {"context": "right", "sample": 1e-2, "keep_positions": True, "stop_words": ["the", "of"]},
    "phrases": {"phrases": "npmi", "max_vocab": 500},
}


def digest(array: object) -> str:
    """Return the checksum of an array, dense or sparse, with its type and shape."""
    if array is None:
        return "none"
    parts = [array.indptr, array.indices, array.data] if hasattr(array, "tocsr") else [np.asarray(array)]
    sha = hashlib.sha256()
    for part in parts:
        part = np.ascontiguousarray(part)
        sha.update(f"{part.dtype.str}{part.shape}".encode())
        sha.update(part.tobytes())
    return sha.hexdigest()[:20]


def of_counts(counts: ft.Counts) -> dict[str, str]:
    """Return the checksums of counts."""
    words = hashlib.sha256("\n".join(counts.vocabulary.words).encode()).hexdigest()[:20]
    arrays = {name: getattr(counts, name) for name in ("indptr", "indices", "values")}
    return {
        "words": words,
        **{name: digest(array) for name, array in arrays.items()},
        "seen": digest(counts.vocabulary.counts),
    }


def of_vectors(vectors: ft.Vectors) -> dict[str, str]:
    """Return the checksums of vectors and of what belongs to them."""
    extras = {f"extra {name}": digest(array) for name, array in sorted(vectors.extras.items())}
    objective = digest(np.array(vectors.provenance.objective, dtype=np.float64))
    return {"matrix": digest(vectors.matrix), "contexts": digest(vectors.contexts), "objective": objective, **extras}


def main(out: str, corpus: str, only: tuple[str, ...]) -> None:
    """Compute and write all checksums."""
    with lzma.open(corpus, "rt", encoding="utf-8") as file:
        text = [line for _, line in zip(range(LINES), file, strict=False)]
    folder = Path(out).resolve().parent / "inputs"
    folder.mkdir(exist_ok=True)
    source = folder / "corpus.txt"
    source.write_text("".join(text), encoding="utf-8")
    results: dict[str, object] = {}
    for name, how in COUNTINGS.items():
        for workers in (1, 2):
            results[f"count {name} {workers}"] = of_counts(ft.count(source, workers=workers, **{**COUNTING, **how}))
    words = ft.count(source, **COUNTING).vocabulary.words
    analogies = folder / "analogies.txt"
    analogies.write_text("".join(" ".join(words[i : i + 4]) + "\n" for i in range(40, 160, 4)))
    given = ft.train(source, "svd", vector_size=DIM, counting=COUNTING)
    for recipe, sets in OPTIONS.items():
        if only and recipe not in only:
            continue
        for number, chosen in enumerate(sets):
            options = {name: str(analogies) if value == "@" else value for name, value in chosen.items()}
            size = options.pop("_size", None if recipe in ("ppmi", "sppmi", "brown") else DIM)
            data = {"source": given} if recipe == "sparse" else {"source": source, "counting": COUNTING}
            for workers in (1, 2):
                vectors = ft.train(recipe=recipe, vector_size=size, workers=workers, **data, **options)
                results[f"train {recipe} {number} {workers}"] = of_vectors(vectors)
        print(recipe, file=sys.stderr, flush=True)
    Path(out).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], tuple(sys.argv[3:]))
