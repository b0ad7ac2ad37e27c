"""Search: which ranking finds documents of the query's own group, and how fast a million documents are searched.

``python -m benchmarks.search VECTORS [--only retrieval|build|speed] [--index FOLDER]``; figures are kept in
``results/search.json``. Without ``--only`` it does everything.

Retrieval: 20 Newsgroups; test postings are queries, all train postings are searched, and precision at 10 is the share of
results of the query's own group. A query is a whole posting, or its first words, which are mostly its subject. The constants of
fusion come from train postings alone, a part of which are queries to the others. Speed: the text of enwiki70m in documents of
100 words, repeated up to a million.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from benchmarks import corpora
from benchmarks.results import Results
from firthian.adapt.labeled import read_labeled
from firthian.datasets import locate
from firthian.disk.artifact import write_manifest
from firthian.disk.tensors import read_tensors, write_tensors
from firthian.texts.index import FUSION_DEPTH, INDEX, Index, fuse, read_record
from firthian.texts.methods import METHODS
from firthian.texts.segment import named
from tools.local_data import use_local_data

TOP = 10

#: Words of a short query, and every which posting is a query.
SHORT, EVERY = 6, 4

#: Documents that are searched, documents that are indexed at a time, and how often; and what is searched for.
DOCUMENTS, PART, PARTS = 1_000_000, 100_000, 2
QUERIES = (
    "history of the roman empire", "green tea", "speed of light in a vacuum", "world cup final goal", "court judge"
)  # fmt: skip

#: Constants that are tried on the split of train postings.
KS, SHARES = (5, 10, 20, 60, 120), (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def postings(split: str) -> tuple[list[str], np.ndarray]:
    """Return the texts of a split, and their groups."""
    texts, groups = read_labeled(str(locate("20newsgroups"))).part(split)
    return [" ".join(text.split()) for text in texts], np.array(groups)


def subject(posting: str) -> str:
    """Return the first words of a posting, without the mark of an answer."""
    return " ".join([word for word in posting.split() if word != "re"][:SHORT])


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
    shares = [sum(groups[n] == mine for n, _ in found[:TOP]) / TOP for found, mine in zip(results, own, strict=True)]
    return float(np.mean(shares))


def fused(found: list[dict[str, list[tuple[int, float]]]], k: float, share: float) -> list[list[tuple[int, float]]]:
    """Return both rankings of each query as one."""
    return [fuse(one["vectors"], one["words"], k, share) for one in found]


def retrieval(vectors: Path, method: str, folder: Path) -> dict[str, Any]:
    """Choose the constants on a split of train, for whole postings and subjects alike, and measure them on test."""
    texts, groups = postings("train")
    held = np.arange(len(texts)) % EVERY == 0
    asked = np.flatnonzero(held)[::EVERY]
    index = ft.index(
        vectors,
        [text for text, out in zip(texts, held, strict=True) if not out],
        folder / f"split-{method}",
        method=method,
    )
    kinds = {"posting": lambda text: text, "subject": subject}
    found = {kind: rankings(index, [make(texts[n]) for n in asked]) for kind, make in kinds.items()}
    tried = {
        f"k={k}, share={share}": float(
            np.mean([precision(fused(some, k, share), groups[~held], groups[asked]) for some in found.values()])
        )
        for k in KS
        for share in SHARES
    }
    best = max(tried, key=lambda name: tried[name])
    k, share = (float(part.partition("=")[2]) for part in best.split(", "))
    index = ft.index(vectors, texts, folder / f"train-{method}", method=method)
    queries, own = (part[::EVERY] for part in postings("test"))
    figures: dict[str, Any] = {"documents": len(index), "queries": len(queries), "k": k, "share": share, "tried": tried}
    for kind, make in kinds.items():
        some = rankings(index, [make(text) for text in queries])
        figures[kind] = {
            "words": precision([one["words"] for one in some], groups, own),
            "vectors": precision([one["vectors"] for one in some], groups, own),
            "hybrid": precision(fused(some, k, share), groups, own),
        }
    return figures


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


def build(vectors: Path, folder: Path, part: int) -> dict[str, Any]:
    """Index documents, or add them to the index; the peak memory includes mapped files."""
    texts = list(islice(documents((part + 1) * PART), part * PART, None))
    begin, cpu = time.perf_counter(), time.process_time()
    ft.index(vectors, texts, folder, add=part > 0)
    return {
        "documents": PART,
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time() - cpu,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "disk MB": sum(item.stat().st_size for item in folder.iterdir()) / 1e6,
    }


def repeat(folder: Path) -> None:
    """Repeat the segments of an index until it has all documents: for a query, they cost as much as others."""
    record = read_record(folder)
    tables, segments = record["files"], record["segments"]
    for number in range(segments, DOCUMENTS // PART):
        name = f"segment-{number % segments}.safetensors"
        arrays = read_tensors(folder / name, tables[name], verify=False)
        parts = {key.partition(".")[2]: array for key, array in arrays.items()}
        new = f"segment-{number}.safetensors"
        tables[new] = write_tensors(folder / new, named(parts, number))
    body = {key: value for key, value in record.items() if key not in ("kind", "version")}
    write_manifest(folder / INDEX.manifest, INDEX.name, {**body, "files": tables, "segments": DOCUMENTS // PART})


def speed(folder: Path) -> dict[str, Any]:
    """Ask an index, every query several times."""
    begin = time.perf_counter()
    index = Index.load(folder)
    figures: dict[str, Any] = {
        "documents": len(index), "tokens": index.tokens, "open seconds": time.perf_counter() - begin
    }  # fmt: skip
    for method in ("vectors", "words", "hybrid"):
        for query in QUERIES:
            index.search(query, method=method)
        seconds, cpu = [], time.process_time()
        for query in QUERIES * 4:
            begin = time.perf_counter()
            index.search(query, method=method)
            seconds.append(time.perf_counter() - begin)
        figures[method] = {"best": min(seconds), "median": float(np.median(seconds)), "worst": max(seconds)}
        figures[method]["cpu"] = (time.process_time() - cpu) / len(seconds)
    figures["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["disk MB"] = sum(item.stat().st_size for item in folder.iterdir()) / 1e6
    return figures


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--only", choices=("retrieval", "build", "speed"))
    parser.add_argument("--method", choices=METHODS, action="append")
    parser.add_argument("--part", type=int, choices=range(PARTS), action="append")
    parser.add_argument("--index", type=Path, help="where the index of a million documents is, or is made")
    asked = parser.parse_args()
    use_local_data()
    results = Results("search")
    with tempfile.TemporaryDirectory() as name:
        large = asked.index or Path(name) / "large"
        if asked.only in (None, "retrieval"):
            for method in asked.method or METHODS:
                results.put(f"retrieval {method}", retrieval(asked.vectors, method, Path(name)))
        if asked.only in (None, "build"):
            for part in asked.part or range(PARTS):
                results.put(f"build {part}", build(asked.vectors, large, part))
        if asked.only in (None, "speed"):
            if len(Index.load(large)) < DOCUMENTS:
                repeat(large)
            results.put("speed", speed(large))


if __name__ == "__main__":
    main()
