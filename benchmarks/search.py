"""Search: which ranking finds documents of the query's own group, and how fast a million documents are searched.

``python -m benchmarks.search VECTORS [--only retrieval|speed]``; figures are kept in ``results/search.json``.

Retrieval: postings of three pairs of groups of 20-Newsgroups; each test posting is a query, train postings are searched, and
precision at 10 is the share of results of the query's own group. The constants of fusion come from train postings alone: every
fourth is a query to the others. Speed: the text of enwiki70m in documents of 100 words, repeated up to a million.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from benchmarks import corpora
from benchmarks.results import Results
from firthian.adapt.labeled import read_labeled
from firthian.datasets import locate
from firthian.texts.index import FUSION_DEPTH, Index, fuse
from tools.local_data import use_local_data

SETS = ("20news-comp", "20news-religion", "20news-sports")
TOP = 10

#: Constants that are tried on the split of train postings.
KS, SHARES = (2, 5, 10, 20, 60), (0.3, 0.4, 0.5, 0.6, 0.7)


def postings(*splits: str) -> tuple[list[str], np.ndarray]:
    """Return the texts of all groups in these splits, and their groups."""
    texts: list[str] = []
    groups: list[str] = []
    for name in SETS:
        some, labels = read_labeled(str(locate(name))).part(*splits)
        texts += [" ".join(text.split()) for text in some]
        groups += [f"{name} {label}" for label in labels]
    return texts, np.array(groups)


def rankings(index: Index, queries: list[str]) -> list[dict[str, list[tuple[int, float]]]]:
    """Return the two rankings of each query."""
    found = []
    for query in queries:
        # Whole postings as queries: their many odd words are not corrected.
        tokens = index._tokenizer.tokens(query)
        scores = {"vectors": index.vector_scores(tokens), "words": index.word_scores(tokens)}
        found.append({name: index._best(values, FUSION_DEPTH) for name, values in scores.items()})
    return found


def precision(results: list[list[tuple[int, float]]], groups: np.ndarray, own: np.ndarray) -> float:
    """Return the mean share of the first results that are of the query's own group."""
    shares = [np.mean([groups[n] == mine for n, _ in found[:TOP]]) for found, mine in zip(results, own, strict=True)]
    return float(np.mean(shares))


def retrieval(vectors: Path, method: str, folder: Path) -> dict[str, Any]:
    """Choose the constants on a split of train, and measure them on test."""
    texts, groups = postings("train")
    held = np.arange(len(texts)) % 4 == 0
    rest = [text for text, out in zip(texts, held, strict=True) if not out]
    index = ft.index(vectors, rest, folder / f"split-{method}", method=method)
    found = rankings(index, [text for text, out in zip(texts, held, strict=True) if out])
    tried = {
        f"k={k}, share={share}": precision(
            [fuse(one["vectors"], one["words"], k, share) for one in found], groups[~held], groups[held]
        )
        for k in KS
        for share in SHARES
    }
    best = max(tried, key=lambda name: tried[name])
    k, share = (float(part.partition("=")[2]) for part in best.split(", "))
    index = ft.index(vectors, texts, folder / f"train-{method}", method=method)
    queries, own = postings("test")
    found = rankings(index, queries)
    return {
        "documents": len(index), "queries": len(queries), "chosen": best, "tried": tried,
        "words": precision([one["words"] for one in found], groups, own),
        "vectors": precision([one["vectors"] for one in found], groups, own),
        "hybrid": precision([fuse(one["vectors"], one["words"], k, share) for one in found], groups, own),
    }  # fmt: skip


def documents(number: int, words: int = 100) -> Iterator[str]:
    """Yield documents of N words."""
    made = 0
    while made < number:
        with corpora.find("enwiki70m").open(encoding="utf-8") as lines:
            for line in lines:
                tokens = line.split()
                for first in range(0, len(tokens), words):
                    yield " ".join(tokens[first : first + words])
                    made += 1
                    if made == number:
                        return


def speed(vectors: Path, number: int, folder: Path) -> dict[str, Any]:
    """Build an index and ask it; the memory is anonymous memory, without mapped files."""
    file = folder / "documents.txt"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{text}\n" for text in documents(number))
    begin = time.perf_counter()
    ft.index(vectors, file, folder / "large")
    built = time.perf_counter() - begin
    index = Index.load(folder / "large")
    asked = [
        "history of the roman empire",
        "green tea",
        "speed of light in a vacuum",
        "world cup final goal",
        "court judge",
    ]
    figures: dict[str, Any] = {"documents": len(index), "tokens": index.tokens, "build seconds": built}
    for method in ("vectors", "words", "hybrid"):
        index.search(asked[0], method=method)
        seconds, cpu = [], time.process_time()
        for query in asked * 4:
            begin = time.perf_counter()
            index.search(query, method=method)
            seconds.append(time.perf_counter() - begin)
        figures[method] = {"best": min(seconds), "median": float(np.median(seconds))}
        figures[method]["cpu"] = (time.process_time() - cpu) / len(seconds)
    figures["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["disk MB"] = sum(item.stat().st_size for item in (folder / "large").iterdir()) / 1e6
    return figures


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--only", choices=("retrieval", "speed"))
    parser.add_argument("--documents", type=int, default=1_000_000)
    asked = parser.parse_args()
    use_local_data()
    results = Results("search")
    with tempfile.TemporaryDirectory() as name:
        if asked.only != "speed":
            for method in ("mean", "sif", "spans"):
                results.put(f"retrieval {method}", retrieval(asked.vectors, method, Path(name)))
        if asked.only != "retrieval":
            results.put("speed", speed(asked.vectors, asked.documents, Path(name)))


if __name__ == "__main__":
    main()
