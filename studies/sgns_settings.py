"""Do the settings of ``sgns`` transfer to text they were not chosen on? ``python -m studies.sgns_settings``

They were chosen on enwiki17m, the first 100 MB of enwiki70m. This study tries them and nearby settings on another 100 MB of
it, bytes 200 to 300 million: other articles, the same seven sets. ``--quick`` uses 10 MB of each.
"""

from __future__ import annotations

import functools
import lzma
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from benchmarks import corpora
from firthian.datasets import locate
from firthian.disk.atomic import write_file
from firthian.learn.likelihood.alternating import make_solution, remember_start, sweep
from firthian.learn.likelihood.losses import choose_loss
from firthian.learn.likelihood.updates import choose_update
from firthian.learn.recipes import find_recipe
from firthian.runtime.run import Run
from studies.common import HELD_OUT, QUICK, SETS, SHORT, Study, arguments, corpus_path, score_cells, scores, table

OTHER_BEGIN = 200_000_000

#: Settings to vary, each scored after every number of EPOCHS, without a prior and with the unweighted mean subtracted.
VARIANTS: dict[str, dict[str, Any]] = {
    "negative 6, ns_exponent .6, damping .1": {"damping": 0.1},
    "negative 5": {"negative": 5.0, "damping": 0.1},
    "ns_exponent .75": {"ns_exponent": 0.75, "damping": 0.1},
}
EPOCHS = (4, 6, 8)
DEFAULT = ("negative 6, ns_exponent .6, damping .1", 6)

#: Settings of the tables that vary neither shares nor sweeps.
ALONE: dict[str, Any] = {"combine": "u", "epochs": 6}

#: Corpora of 1 to 8 M tokens (``benchmarks.corpora``), and the dampings tried on each: words seen 5 times, 100 dimensions.
SMALL = ("enwiki1m", "enwiki3m", "enwiki3m-other", "enwiki8m")
DAMPINGS = (0.1, 0.15, 0.2, 0.3)

#: Priors tried on each corpus: words seen 5 times, 100 dimensions.
PRIORS = {
    "enwiki3m": (0.0, 300.0, 1000.0, 3000.0),
    "enwiki3m-other": (0.0, 300.0, 1000.0, 3000.0),
    "enwiki17m": (0.0, 300.0, 1000.0, 3000.0),
    "other": (0.0, 300.0, 1000.0, 3000.0),
    "enwiki70m": (0.0, 1000.0),
}

#: Sweeps, and shares of the contexts in the words, tried on each corpus: words seen 5 times, the usual dimensions.
SWEEPS, SHARES = (6, 8), (0.0, 0.1, 0.2, 0.3)
SHARED = ("enwiki3m", "enwiki3m-other", "enwiki17m", "other", "enwiki70m")

PAGE = """# Settings of sgns on two corpora

The settings of `sgns` were chosen on the seven sets with enwiki17m. To check that they are not specific to that text, this
study repeats the comparison on other articles: bytes 200 to 300 million of enwiki70m ({other} words seen at least {least}
times; enwiki17m has {first}). {dimension} dimensions; Spearman correlation, 3CosAdd / 3CosMul. `mean` is over the seven sets
(3CosAdd); no choice was based on RW (rare words).

The first two tables use `prior_events=0` and subtract the unweighted mean of all vectors.

## enwiki17m

{chosen}
## Other articles

{held}
## Conclusions

{claims}
## Smaller corpora

Small corpora overfit sooner and need shorter steps. These are the first 1, 3 and 8 M tokens of enwiki70m, and 3 M from
elsewhere in it; words seen at least 5 times, 100 dimensions, 6 epochs, `combine=u`. `damping=auto`, the default, is 0.1
from 15 M tokens on and grows as tokens^-0.4 below, to 0.3 at most.

{small}
## Rare words

A row's steps are divided by its number of events, so after six sweeps a word seen five times is fitted as closely as one seen a
million times, and its vector is mostly noise. `prior_events` adds a constant to every row's events (at most a tenth of the
average), so that rare words move less. Rare words dominate the unweighted mean of all vectors; weighting words by the square
root of their events avoids that. Words seen at least 5 times, 100 dimensions, 6 epochs, `damping=auto`, `combine=u`. *other* is
the other articles above, *enwiki3m-other* is 3 M tokens elsewhere in enwiki70m; neither was used to choose 1000.

{rare}
{rare_claims}
## More sweeps, and a share of the contexts

A context vector encodes what a word occurs with. Adding a share of it to the word vector (`combine`) moves related words
closer: similarity gains, the syntactic analogies of MSR lose. Large corpora overfit later and benefit from more `epochs`.
100 dimensions, 150 on enwiki70m; everything else at its default. The defaults are a share of 0.1, and 6 epochs, or 8 from
50 M tokens on. A share of 0.1 changes the mean of the seven by less than .002 in either direction, and on most texts more sets
gain than lose; larger shares lose more on MSR than they gain elsewhere.

{shared}
{shared_claims}"""


def other_corpus(quick: bool) -> str:
    """Extract the other articles from enwiki70m, starting at the beginning of a line."""
    size = 10_000_000 if quick else 100_000_000
    part = QUICK.parent / f"enwiki-other-{size // 1_000_000}mb.txt"
    if not part.exists():
        source = Path(locate("enwiki70m"))
        with lzma.open(source) if source.suffix == ".xz" else source.open("rb") as file:
            file.seek(OTHER_BEGIN)
            file.readline()
            text = file.read(size)
        part.parent.mkdir(parents=True, exist_ok=True)
        write_file(part, text)
    return str(part)


def mean(found: dict[str, float]) -> float:
    """Return the mean of the seven scores."""
    return sum(found[name] for name in SETS) / len(SETS)


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(__doc__).parse_args(given)
    study = Study.of("sgns_settings", chosen)
    least, dimension = (20, 50) if chosen.quick else (50, 150)
    where = {"enwiki17m": corpus_path, "other": other_corpus}

    @functools.cache
    def counts(name: str) -> Any:
        return ft.count(where[name](chosen.quick), min_count=least, sample=1e-3)

    def followed(name: str, options: dict[str, Any]) -> dict[str, Any]:
        """Train once and evaluate after several numbers of sweeps."""
        data, found = counts(name), {}
        for epochs, _, factors in on_the_way(data, EPOCHS, dimension, {"prior_events": 0.0, **options}):
            words = factors.words - factors.words.mean(axis=0, dtype=np.float64).astype(np.float32)
            found[str(epochs)] = scores(ft.Vectors(words, data.vocabulary))
        return {"epochs": found, "words": len(data.vocabulary)}

    def shared(name: str) -> dict[str, Any]:
        """Score words with several shares of the contexts, after several numbers of sweeps."""
        data, found = rare_counts(name), {}
        size = find_recipe("sgns").default_dimension(int(data.vocabulary.counts.sum()))
        for epochs, model, factors in on_the_way(data, SWEEPS, size, {}):
            for share in SHARES:
                words = make_solution(model, factors, [0.0], share, {}, center=True).words
                found[f"{epochs}/{share:g}"] = scores(ft.Vectors(words, data.vocabulary))
        return found

    def damped(name: str, damping: float) -> dict[str, float]:
        data = ft.count(str(corpora.find(name)), min_count=5, sample=1e-3)
        return scores(ft.train(data, "sgns", vector_size=100, damping=damping, **ALONE))

    @functools.cache
    def rare_counts(name: str) -> Any:
        path = other_corpus(chosen.quick) if name == "other" else str(corpora.find(name))
        return ft.count(path, min_count=5, sample=1e-3)

    def held_back(name: str, prior: float) -> dict[str, Any]:
        """Score vectors with the unweighted and with the weighted mean subtracted."""
        data = rare_counts(name)
        vectors = ft.train(data, "sgns", vector_size=100, prior_events=prior, **ALONE)
        words = vectors.matrix + vectors.extras["mean_vector"]
        plain = ft.Vectors(words - words.mean(axis=0, dtype=np.float64).astype(np.float32), data.vocabulary)
        return {"plain": scores(plain), "weighted": scores(vectors)}

    mixed: dict[tuple[str, str, str], dict[str, float]] = {}
    for name in SHARED[: 1 if chosen.quick else None]:
        key = f"share/{name}"
        if not chosen.page or key in study.rows:
            row = study.row(key, functools.partial(shared, name))
            mixed |= {(name, *how.split("/")): found for how, found in row.items()}  # type: ignore[misc]
    rare: dict[tuple[str, float, str], dict[str, float]] = {}
    for name, priors in PRIORS.items():
        if chosen.quick and name != "enwiki3m":
            continue
        for prior in priors:
            key = f"prior/{name}/{prior:g}"
            if not chosen.page or key in study.rows:
                row = study.row(key, functools.partial(held_back, name, prior))
                rare |= {(name, prior, how): row[how] for how in row}
    small: dict[tuple[str, float], dict[str, float]] = {}
    for name, damping in product(SMALL[: 1 if chosen.quick else None], DAMPINGS):
        key = f"damping/{name}/{damping:g}"
        if not chosen.page or key in study.rows:
            small[name, damping] = study.row(key, functools.partial(damped, name, damping))
    known: dict[str, dict[str, Any]] = {name: {} for name in where}
    for variant, options in VARIANTS.items():
        for name, found in known.items():
            key = f"{name}: {variant}"
            if chosen.page and key not in study.rows:
                continue
            found[variant] = study.row(key, functools.partial(followed, name, options))
    rows = {
        name: {(variant, epochs): row["epochs"][str(epochs)] for variant, row in found.items() for epochs in EPOCHS}
        for name, found in known.items()
    }
    words = {name: f"{found[DEFAULT[0]]['words']:,}" for name, found in known.items()}
    tables = {name: _table(found) for name, found in rows.items()}
    study.write(
        PAGE.format(
            least=least,
            dimension=dimension,
            first=words["enwiki17m"],
            other=words["other"],
            chosen=tables["enwiki17m"],
            held=tables["other"],
            claims=claims(rows),
            small=_table(small, "damping"),
            rare=table(
                ["", "prior", "mean subtracted", *SHORT, "mean", "RW"],
                [[name, f"{prior:g}", how, *_cells(row)] for (name, prior, how), row in rare.items()],
            ),
            rare_claims=rare_claims(rare),
            shared=table(
                ["", "epochs", "share", *SHORT, "mean", "RW"],
                [[*key, *_cells(row)] for key, row in mixed.items()],
            ),
            shared_claims=shared_claims(mixed),
        )
    )


Rows = dict[tuple[str, int], dict[str, float]]


def _table(found: Mapping[tuple[str, float], dict[str, float]], second: str = "epochs") -> str:
    lines = [[name, f"{value:g}", *_cells(row)] for (name, value), row in found.items()]
    return table(["", second, *SHORT, "mean", "RW"], lines)


def _cells(row: dict[str, float]) -> list[str]:
    return [*score_cells(row), f"{mean(row):.4f}", f"{row[HELD_OUT[0]]:.3f}"]


def on_the_way(data: Any, stops: Sequence[int], size: int, options: dict[str, Any]) -> Iterator[tuple[int, Any, Any]]:
    """Train ``sgns`` and yield model and factors after each number of sweeps; sweeps do not depend on how many follow."""
    run, recipe = Run.create(), find_recipe("sgns")
    settings = recipe.settings(options)
    model = recipe.load("model")(data, run, **recipe.part("model", settings))
    solver = recipe.load("solver")(**recipe.part("solver", settings))
    factors = remember_start(model, size, run)
    loss = choose_loss(settings["unseen"])
    update = choose_update(settings["step"], solver.damping_for(model), settings["prior_events"])
    for done, epochs in pairwise((0, *stops)):
        sweep(model, factors, loss, update, epochs - done, settings["ridge"], run, f"sweeps-{epochs}")
        yield epochs, model, factors


def shared_claims(mixed: Mapping[tuple[str, str, str], dict[str, float]]) -> str:
    """Report how the defaults change the means of the similarity and analogy sets."""
    lines = []
    for name in SHARED:
        epochs = "8" if name == "enwiki70m" else "6"
        before, after = mixed.get((name, "6", "0")), mixed.get((name, epochs, "0.1"))
        if before and after:
            gains = [sum(after[one] - before[one] for one in part) / len(part) for part in (SETS[:5], SETS[5:], SETS)]
            better = sum(after[one] > before[one] for one in SETS)
            lines.append(
                f"* {name}: the defaults beat 6 epochs with `combine=u` on {better} of 7 sets; similarity changes by "
                f"{gains[0]:+.4f}, analogies by {gains[1]:+.4f}, the overall mean by {gains[2]:+.4f}."
            )
    return "\n".join(lines) + "\n"


def rare_claims(rare: Mapping[tuple[str, float, str], dict[str, float]]) -> str:
    """Report the joint effect of the prior and the weighted mean."""
    lines = []
    for name in PRIORS:
        before, after = rare.get((name, 0.0, "plain")), rare.get((name, 1000.0, "weighted"))
        if before and after:
            better = sum(after[one] > before[one] for one in SETS)
            held = after[HELD_OUT[0]] - before[HELD_OUT[0]]
            lines.append(
                f"* {name}: with both defaults, {better} of 7 sets improve; the mean changes by "
                f"{mean(after) - mean(before):+.4f}, RW by {held:+.3f}."
            )
    return "\n".join(lines) + "\n"


def claims(rows: dict[str, Rows]) -> str:
    """Report whether both corpora rank the settings alike."""
    means = {name: {key: mean(row) for key, row in found.items()} for name, found in rows.items()}
    both = [key for key in means["enwiki17m"] if key in means["other"]]
    here, there = ({key: means[name][key] for key in both} for name in ("enwiki17m", "other"))
    pairs = list(combinations(here, 2))
    agree = sum((here[a] - here[b]) * (there[a] - there[b]) > 0 for a, b in pairs)
    order = {
        name: sorted(found, key=found.__getitem__, reverse=True)
        for name, found in (("enwiki17m", here), ("other", there))
    }
    first, second = (f"{order[name][0][0]}, {order[name][0][1]} epochs" for name in ("enwiki17m", "other"))
    lines = [
        f"* {agree} of {len(pairs)} pairs of settings rank the same on both corpora, by the mean of the seven.",
        f"* Best on enwiki17m: {first}; best on the other articles: {second}.",
        f"* The defaults rank {order['enwiki17m'].index(DEFAULT) + 1} of {len(here)} on enwiki17m, "
        f"{max(here.values()) - here[DEFAULT]:.4f} below the best, and {order['other'].index(DEFAULT) + 1} on the "
        f"other articles, {max(there.values()) - there[DEFAULT]:.4f} below the best.",
    ]
    for key in here:
        if key == DEFAULT:
            continue
        wins = [sum(found[key][name] > found[DEFAULT][name] for name in SETS) for found in rows.values()]
        lines.append(
            f"* {key[0]}, {key[1]} epochs: better than the defaults on {wins[0]} of 7 sets on enwiki17m and {wins[1]} of 7 on "
            f"the other articles; mean {here[key] - here[DEFAULT]:+.4f} and {there[key] - there[DEFAULT]:+.4f}."
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
