"""Tables of benchmarks/README.md, each from the file of ``results`` that its benchmark wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import scale_report
from benchmarks.results import FOLDER
from studies.common import SETS, SHORT, table

STUDIES = Path(__file__).parents[1] / "studies" / "results"


def read(name: str) -> dict[str, Any]:
    """Return the results of a benchmark."""
    body: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return body


def study(name: str) -> dict[str, Any]:
    """Return the results of a study."""
    body: dict[str, Any] = json.loads((STUDIES / f"{name}.json").read_text())
    return body


def short(value: float, places: int = 3) -> str:
    """Format a score without its leading zero."""
    return f"{value:.{places}f}".removeprefix("0")


def marked(values: Sequence[float | None], places: int = 3) -> list[str]:
    """Format scores, the best bold."""
    best = max((value for value in values if value is not None), default=None)
    cells = ["–" if value is None else short(value, places) for value in values]
    return [f"**{cell}**" if value == best else cell for value, cell in zip(values, cells, strict=True)]


def marked_columns(rows: Sequence[Mapping[Any, float]], columns: Iterable[Any]) -> list[list[str]]:
    """Format scores, the best of each column bold."""
    return [
        list(cells) for cells in zip(*(marked([row.get(column) for row in rows]) for column in columns), strict=True)
    ]


def signed(value: float) -> str:
    """Format a difference of scores."""
    return ("-" if value < 0 else "+") + short(abs(value))


def speed() -> str:
    """Counting, beside other tools."""
    found = read("counting")["rows"]["speed"]
    alone, ratios = {name: min(times) for name, times in found["work alone"].items()}, found["ratios"]
    pair = f"{alone['vectorizers, first 10 MB']:.1f} against {alone['firth count, first 10 MB']:.2f}"
    share = ratios["GloVe's 22.7 s / ours, whole process"]
    glove = f"1/{share:.1f} of 22.7 s, Stanford GloVe's three programs"
    body = [
        [
            f"`firth count`, whole process, best of {len(found['firth count, whole process']['walls'])}",
            f"{found['firth count, whole process']['wall']:.2f}",
            f"{glove} on another machine",
        ],
        [
            f"the counting alone, kernels compiled, best of {len(found['work alone']['firth count'])}",
            f"{alone['firth count']:.2f}",
            "",
        ],
        [
            f"gensim's vocabulary scan alone, best of {len(found['work alone']['gensim vocabulary scan'])}",
            f"{alone['gensim vocabulary scan']:.2f}",
            f"{ratios['gensim scan / ours']:.2f} × the row above",
        ],
        [
            "`vectorizers.TokenCooccurrenceVectorizer`, first 10 MB, best of "
            f"{len(found['work alone']['vectorizers, first 10 MB'])}",
            pair,
            f"{ratios['vectorizers / ours (10 MB)']:.0f} × ours",
        ],
    ]
    return table(["", "seconds", ""], body)


def budget() -> str:
    """Counting within a budget of memory."""
    found = read("counting")["rows"]["budget (enwiki70m, min-count 5)"]
    named = {
        "no budget": "no budget, 2 workers",
        "1 GB": "`--memory 1GB`, 2 workers",
        "500 MB, 1 worker": "`--memory 500MB`, 1 worker",
    }
    body = [[name, f"{found[key]['wall']:.1f}", f"{found[key]['peak_mb']:.0f} MB"] for key, name in named.items()]
    return table(["", "seconds", "peak anonymous memory"], body)


def training_150() -> str:
    """Two recipes and gensim with 150 dimensions and words seen 50 times, and the programs in C on another machine."""
    rows = read("training")
    body = []
    for name, row in rows.items():
        cells = [short(row["scores"][key]) for key in SETS[:5]]
        cells += [f"{short(row['scores'][key])} / {short(row['scores'][f'{key} mul'])}" for key in SETS[5:]]
        wall = f"{row['wall']:.0f}" if row["wall"] >= 100 else f"{row['wall']:.1f}"
        ratio = f"{rows['gensim skip-gram']['wall'] / row['wall']:.1f}"
        body.append([name if " " in name else f"`{name}`", wall, f"{row['cpu']:.0f}", *cells, ratio])
    for name, row in read("reference")["rows"].items():
        scores = [short(row["scores"][key]) for key in SETS]
        body.append([f"{name}, on another machine", str(row["wall"]), "–", *scores, "–"])
    return table(["", "wall s", "CPU s", *SHORT, "gensim's wall / its"], body)


def large_vocabulary() -> str:
    """Many words, beside the exact solver on few."""
    found = read("large_vocabulary")

    def scored(scores: dict[str, float]) -> list[str]:
        analogies = [f"{short(scores[name])} / {short(scores[f'{name} mul'])}" for name in SETS[5:]]
        return [*(short(scores[name]) for name in SETS[:5]), *analogies]

    def costs(counting: str, training: str) -> list[str]:
        row = found[training]
        size = [f"{row['words']:,}", f"{row['pairs'] / 1e6:.1f} M"]
        return [*size, f"{found[counting]['wall']:.0f}", f"{row['wall']:.0f}", f"{row['peak_mb'] / 1000:.1f}"]

    none = [""] * 5
    expanded, exact, differences = found["expanded 200k"], found["exact 25k"], found["differences"]
    body = [
        ["`unseen=expanded`", *costs("count 200k", "expanded 200k"), *scored(expanded["scores"])],
        ["the same, its first 25,000 words", *none, *scored(expanded["scores of the first 25k"])],
        ["`unseen=exact`", *costs("count 25k", "exact 25k"), *scored(exact["scores"])],
        ["difference on the words both have", *none, *(signed(differences[name]["difference"]) for name in SETS)],
        [
            "p of a paired test (Williams, McNemar)",
            *none,
            *(short(differences[name]["p_value"], 2) for name in SETS),
        ],
    ]
    return table(["", "words", "pairs", "counting s", "training s", "peak GB", *SHORT], body)


def vectors() -> str:
    """Opening, querying and loading, beside gensim."""
    rows = read("vectors")["rows"]
    named = {
        "open folder": "open a Firthian folder, 300 dimensions",
        "neighbors": "one query, 300 dimensions",
        "neighbors, batch": "one query in a batch of 512",
        "load text": "load a text file, 50 dimensions",
    }

    def time(seconds: float) -> str:
        return f"{seconds:.2f} s" if seconds >= 0.5 else f"{seconds * 1000:.1f} ms"

    body = []
    for key, name in named.items():
        row = rows[key]
        theirs = [time(row["gensim"]), f"{row['gensim'] / row['ours']:.1f}"] if "gensim" in row else ["–", "–"]
        body.append([name, time(row["ours"]), *theirs])
    return table(["", "ours", "gensim", "ratio"], body)


def adapt() -> str:
    """Classifiers of texts."""
    rows = {name: row for name, row in read("adapt")["rows"].items() if "accuracy" in row}
    body = [[name, f"{row['fit']['seconds']:.1f}", f"{100 * row['accuracy']:.2f}"] for name, row in rows.items()]
    return table(["from raw texts, default settings", "seconds to fit", "accuracy"], body)


def adapt_steps() -> str:
    """Parts of fitting a classifier."""
    rows = read("adapt")["rows"]
    documents = rows["cutting and indexing all texts"]["documents"]
    named = {
        "cutting and indexing all texts": f"tokenize and index all {documents:,} texts",
        "one pass, 300 random dimensions": "one pass of RPA over the training texts, averaged",
        "one pass, 300 random dimensions, not averaged": "the same, not averaged",
    }
    return table(["", "seconds"], [[name, f"{rows[key]['seconds']:.2f}"] for key, name in named.items()])


def evaluation() -> str:
    """Analogies, beside gensim."""
    row = read("evaluation")["rows"]["analogies"]
    body = [
        [name, f"{row[f'{key}_seconds']:.2f}", *(f"{row[f'{key}_3cosadd'][set_]:.4f}" for set_ in ("google", "msr"))]
        for key, name in (("firthian", "Firthian, 3CosAdd and 3CosMul"), ("gensim", "gensim, 3CosAdd"))
    ]
    return table([f"{row['questions']:,} questions", "seconds", "Google, 3CosAdd", "MSR, 3CosAdd"], body)


def fuzz() -> str:
    """Readers and damaged files."""
    rows = read("fuzz")["rows"]
    slowest, grown = (max(row[name] for row in rows.values()) for name in ("slowest", "grown_mb"))
    inputs = sum(row["inputs"] for row in rows.values())
    return table(
        ["readers", "inputs", "slowest input, s", "largest growth of memory, MB"],
        [[str(len(rows)), f"{inputs:,}", f"{slowest:.1f}", f"{grown:.0f}"]],
    )


def explore() -> str:
    """The explorer."""
    rows = read("explore")["rows"]
    found, tsne = rows["explorer"], rows["tsne"]
    waits, memory, at_once = found["neighbors_ms"], found["memory_mb"], found["fifty_at_once"]
    body = [
        [
            "from the command to the page with the neighbors of a first word",
            f"{found['usable_s']['best']:.1f} s",
        ],
        ["to the map of 20,000 words", f"{found['map_of_20000_drawn_s']['best']:.1f} s"],
        [
            f"`/api/neighbors`, {waits['requests']} requests in sequence",
            f"median {waits['median']:.0f} ms, best {waits['best']:.0f}, worst {waits['worst']:.0f}",
        ],
        ["50 requests at once", f"{at_once['errors']} errors, {at_once['seconds']:.2f} s in total"],
        [
            "peak memory, including the mapped file",
            f"{memory['peak']:.0f} MB: the file and {memory['beyond_the_file']:.0f} MB",
        ],
        [
            f"t-SNE of {tsne['words']:,} words × {tsne['dimensions']} dimensions (`firthian.explore.projection.project`)",
            f"{tsne['seconds']:.0f} s",
        ],
    ]
    return table(["", "measured"], body)


def cluster() -> str:
    """Ray beside threads."""
    found = read("cluster")
    seconds = {(row["job"], row["kind"], row["workers"]): row["seconds"] for row in found["rows"]}
    body = []
    for job in dict.fromkeys(row["job"] for row in found["rows"]):
        threads, ray = ([seconds[job, kind, workers] for workers in (1, 2)] for kind in ("threads", "ray"))
        ratios = (threads[0] / threads[1], ray[0] / ray[1], ray[1] / threads[1])
        body.append([job, *(f"{value:.1f}" for value in (*threads, *ray)), *(f"{ratio:.2f}" for ratio in ratios)])
    return table(["", "threads: 1", "2", "Ray: 1", "2", "1 / 2 threads", "1 / 2 Ray workers", "Ray / threads, 2"], body)


def compress() -> str:
    """Size, speed and loss of compressed vectors; losses are differences from the first row."""
    rows, body = read("compress")["rows"], []
    whole = rows["float32"]
    sets = {**dict(zip(SETS, SHORT, strict=True)), "rw": "RW"}
    for row in rows.values():
        notes = row["notes"]
        cells = [
            f"{row['scores'][name] - whole['scores'][name] + 0.0:+.3f}".replace("-0.000", "+0.000") for name in sets
        ]
        cut = f" ({notes['dimensions']} dimensions)" if notes.get("dimensions", 150) < 150 else ""
        first = f"{notes['bytes']}{cut}" if notes else "float32"
        kept = f"{notes['neighbors_kept']:.1%}" if notes else ""
        times = [f"{row[name] * 1e3:.1f}" for name in ("open", "neighbors", "neighbors cpu")]
        body.append([first, f"{row['bytes'] / 1e6:.1f}", *times, kept, *(cells if notes else [""] * len(cells))])
    head = ["bytes per vector", "MB on disk", "open, ms", "a query, ms", "processor, ms", "neighbors kept"]
    return table([*head, *sets.values()], body)


def search_retrieval() -> str:
    """Precision at 10 of the three rankings, for whole postings and for subjects."""
    body = []
    for key, row in read("search")["rows"].items():
        if key.startswith("retrieval "):
            cells = [
                short(row[kind][name]) for kind in ("posting", "subject") for name in ("words", "vectors", "hybrid")
            ]
            body.append([f"`{key.removeprefix('retrieval ')}`", *cells, f"k = {row['k']:.0f}, share {row['share']}"])
    head = ["BM25", "vectors", "hybrid"]
    return table(
        [
            "`firth index --method`",
            *(f"posting: {one}" for one in head),
            *(f"subject: {one}" for one in head),
            "fusion",
        ],
        body,
    )


def search_speed() -> str:
    """Size and speed of a large index."""
    rows = read("search")["rows"]
    row, parts = rows["speed"], [row for name, row in rows.items() if name.startswith("build ")]
    body = [
        ["documents", f"{row['documents']:,}"],
        ["indexing of 100,000 documents, processor seconds", f"{sum(part['cpu'] for part in parts) / len(parts):.0f}"],
        ["on disk, MB", f"{row['disk MB']:,.0f}"],
        ["peak memory of building, MB, mapped files included", f"{max(part['peak MB'] for part in parts):,.0f}"],
        ["peak memory of searching, MB, mapped files included", f"{row['peak MB']:,.0f}"],
        ["opening, ms", f"{row['open seconds'] * 1e3:.0f}"],
    ]
    for name in ("vectors", "words", "hybrid"):
        times = " / ".join(f"{row[name][part] * 1e3:.0f}" for part in ("best", "median", "worst", "cpu"))
        body.append([f"a query, `{name}`, ms: best / median / worst / processor", times])
    return table(["", ""], body)


def quick() -> str:
    """The newest run of the watch on speed."""
    newest = read("quick")["rows"]["history"][-1]
    body = [[f"instructions of `{name}`", f"{number:,}"] for name, number in newest["counts"].items()]
    body += [[f"CPU time of {name} / ours", f"{ratio:.1f}"] for name, ratio in newest["ratios"].items()]
    return table(["", newest["date"]], body)


def texts(kind: str, columns: dict[str, str]) -> str:
    """Return the rows of one part of the benchmark of texts, the best of a column bold."""
    rows = {key.partition("/")[2]: row for key, row in read("texts")["rows"].items() if key.startswith(f"{kind}/")}
    body = []
    for (name, row), cells in zip(rows.items(), marked_columns(list(rows.values()), columns), strict=True):
        spread = [short(row["deviation"])] if "deviation" in row else []
        body.append([name if name.startswith("tf-idf") else f"`{name}`", *cells, *spread])
    return table(["", *columns.values(), *(["deviation"] if kind == "reviews" else [])], body)


def texts_speed() -> str:
    """Encoding, beside model2vec."""
    body = []
    for key, row in read("texts")["rows"].items():
        if not key.startswith("speed/"):
            continue
        cells = [f"{row[who]['wall']:.2f} ({row[who]['processor']:.2f})" for who in ("ours", "model2vec")]
        body.append(
            [
                key.removeprefix("speed/"),
                f"{row['texts']:,}",
                *cells,
                f"{row['model2vec']['wall'] / row['ours']['wall']:.1f}",
            ]
        )
    return table(["", "texts", "`Encoder`, seconds", "model2vec, seconds", "ratio"], body)


TABLES: dict[str, Callable[[], str]] = {
    "compress": compress,
    "search-retrieval": search_retrieval,
    "search-speed": search_speed,
    "texts sentences": lambda: texts("sentences", {"train": "training sentences", "dev": "development sentences"}),
    "texts documents": lambda: texts("documents", {"held-out": "held-out training postings", "test": "test postings"}),
    "texts reviews": lambda: texts("reviews", {"accuracy": "accuracy"}),
    "texts speed": texts_speed,
    "counting-speed": speed,
    "counting-budget": budget,
    "training-150": training_150,
    "large-vocabulary": large_vocabulary,
    "vectors": vectors,
    "adapt": adapt,
    "adapt-steps": adapt_steps,
    "evaluation": evaluation,
    "fuzz": fuzz,
    "explore": explore,
    "cluster": cluster,
    "quick": quick,
    **{f"scale-{name}": make for name, (_, make) in scale_report.PARTS.items()},
}
