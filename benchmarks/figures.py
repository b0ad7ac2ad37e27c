"""Figures inside sentences: each is found by the words around it, and comes from a file that a script wrote.

A sentence is written here with ``{}`` where its figures stand; the page has it once, with any line breaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import scale_report
from benchmarks.measured import read, short, signed
from firthian.runtime import cost
from studies.common import SETS

ROOT = Path(__file__).parents[1]

#: A sentence and its figures.
Sentence = tuple[str, list[str]]

_NUMBER = r"([-−+]?\.?\d(?:[\d.,]*\d)?)"


def study(name: str) -> dict[str, Any]:
    """Give what a study wrote."""
    body: dict[str, Any] = json.loads((ROOT / "studies" / "results" / f"{name}.json").read_text())
    return body


def percent(value: float, places: int = 0) -> str:
    """Write a share in per cent."""
    return f"{100 * value:.{places}f}"


def _benchmarks() -> Iterator[Sentence]:
    counting, earlier = read("counting")["rows"], read("counting-speed")
    cold = counting["cold"]
    yield "min-count 50 ({} words), 2 workers", [f"{study('iwlrls')['words']:,}"]
    whole = next(row for row in read("scale")["rows"] if (row["millions"], row["min_count"]) == (70, 5))
    yield "min-count 5, {} words, {} M pairs:", [f"{whole['words']:,}", f"{whole['pairs'] / 1e6:.1f}"]
    yield (
        "An earlier run (`results/counting-speed.json`) had {} s for the whole process and {} × for gensim's scan",
        [f"{earlier['firth count, whole process']['wall']:.2f}", f"{earlier['ratios']['gensim scan / ours']:.2f}"],
    )
    yield (
        "took {} s more than the second; `firth --help` takes {} s",
        [f"{cold['compiling']:.1f}", f"{cold['firth --help']:.2f}"],
    )
    yield (
        "shared with other work for a part of it: {} CPU seconds",
        [f"{read('large_vocabulary')['exact 25k']['cpu']:.0f}"],
    )
    asked = read("evaluation")["rows"]["analogies"]
    apart = max(abs(asked["firthian_3cosadd"][name] - asked["gensim_3cosadd"][name]) for name in ("google", "msr"))
    yield (
        "{} analogies, {} words × {} dimensions: {} s (3CosAdd and 3CosMul), gensim {} s (3CosAdd alone), {} times as long",
        [
            *(f"{asked[name]:,}" for name in ("questions", "words", "size")),
            f"{asked['firthian_seconds']:.2f}",
            f"{asked['gensim_seconds']:.1f}",
            f"{asked['times_faster']:.0f}",
        ],
    )
    yield "Accuracies agree to {}", [f"{apart:.5f}"]
    texts = read("adapt")["rows"]
    yield (
        "indexing all {} texts takes {} s",
        [
            f"{texts['cutting and indexing all texts']['documents']:,}",
            f"{texts['cutting and indexing all texts']['seconds']:.1f}",
        ],
    )
    yield (
        "at 300 dimensions takes {} s with averaging, {} s without",
        [
            f"{texts['one pass, 300 random dimensions']['seconds']:.2f}",
            f"{texts['one pass, 300 random dimensions, not averaged']['seconds']:.2f}",
        ],
    )
    yield "(a file of {} MB, just written)", [f"{read('explore')['rows']['explorer']['memory_mb']['file']:.0f}"]
    fuzzed = read("fuzz")["rows"]
    yield (
        "{} readers, {} spoiled files each (seed {})",
        [str(len(fuzzed)), *(f"{next(iter(fuzzed.values()))[name]:,}" for name in ("inputs", "seed"))],
    )
    slowest, grown = (max(row[name] for row in fuzzed.values()) for name in ("slowest", "grown_mb"))
    yield "Slowest input {} s, {} MB grown at most", [f"{slowest:.1f}", f"{grown:.0f}"]


def _defaults() -> Iterator[Sentence]:
    # 100 and 150 dimensions, 6 epochs, words alone
    settings = study("sgns_settings")
    smaller, larger = settings["prior/enwiki70m/1000"]["weighted"], settings["share/enwiki70m"]["6/0"]
    gains = [larger[name] - smaller[name] for name in ("simlex999", "men", "google", "msr")]
    yield "SimLex, MEN and both sets of analogies gain {} to {}", [short(min(gains), 2), short(max(gains), 2)]


def _scale() -> Iterator[Sentence]:
    known = cost.constants()
    words, pairs = known["growth"]["words"], known["growth"]["pairs"]
    rounds = scale_report.results()["rounds"]
    yield "*V* = {} *T*^{} for words seen", [f"{words['factor']:.2f}", f"{words['exponent']:.3f}"]
    yield "*P* = {} *T*^{} for a window of 5", [f"{pairs['factor']:.1f}", f"{pairs['exponent']:.3f}"]
    yield (
        "`psd` {}, `sgns` {}, `svd` {}, `tweedie` {}, `bayes` {}",
        [f"{rounds[name]:.0f}" for name in ("psd", "sgns", "svd", "tweedie", "bayes")],
    )
    yield "Text that is not local adds {} bytes a token", [f"{known['text_bytes_per_token']:.1f}"]


def _adapt() -> Iterator[Sentence]:
    rows = read("adapt")["rows"]
    yield "(IMDB: {}, `benchmarks", [percent(rows["firthian PA, one-hot, pairs of words"]["accuracy"], 1)]


def _bayes() -> Iterator[Sentence]:
    rows = study("bayes")
    drawn = [row for key, row in rows.items() if key.startswith("coverage/") and "three times" not in key]
    ends = [percent(end(row[kind] for row in drawn)) for kind in ("raw", "calibrated") for end in (min, max)]
    yield "90 % intervals of u·c cover {}–{} % of the truth", ends[:2]
    yield "brings that to {}–{} %", ends[2:]
    halves, few = rows["halves, 17 M tokens/temper 1"], rows["halves, 2 M tokens/temper 0.3"]
    yield (
        "in {} % of cases for near neighbors and {} % for words drawn at random",
        [percent(halves["cosines"][kind]["covered"]) for kind in ("near", "any")],
    )
    yield (
        "`temper` 0.3 covers {} % and leaves {} and {} of the halves' 20 dimensions alive",
        [percent(few["cosines"]["near"]["covered"], 1), *map(str, few["live"])],
    )
    yield "count of a word (Spearman −{})", [short(-halves["trace and count"], 2)]
    both = [
        halves["correlations"][kind]["at equal count"]
        for kind in ("angle and relative trace", "squared distance and trace")
    ]
    yield (
        "the halves' vectors is {} [{}, {}], that of the trace with their distance {} [{}, {}]",
        [short(value, 2) for one in both for value in (one["value"], *one["ci95"])],
    )
    small = {key.removeprefix("batches/small, "): row["ws353"] for key, row in rows.items() if "batches/small" in key}
    names = [
        "full sweeps",
        "Algorithm 3",
        "with a spectral start, five sweeps over the first batch",
        "with steps by a batch's share of a word's events",
        "with expected negative events",
        "ours",
    ]
    yield (
        "full sweeps have {}: Algorithm 3 as printed {}, with our start {}, with our steps {}, with our negative events {}, "
        "with all three {}.",
        [short(small[name], 2) for name in names],
    )
    start, clock = (
        small["ours"] - small[f"ours, but {name}"] for name in ("a random start", "steps that fall by the clock")
    )
    yield "a random start costs {}, steps by the clock {}", [short(start, 2), short(clock, 2)]
    whole, swept = rows["batches/whole text"], sweeps(rows, 8)
    gaps = [short(swept[name] - whole[name], 2) for name in ("ws353", "men", "google")]
    yield "({} batches) the gap to full sweeps is {} on WordSim-353, {} on MEN", [str(whole["batches"]), *gaps[:2]]
    yield "and {} on Google's analogies", gaps[2:]


def sweeps(rows: dict[str, Any], number: int) -> dict[str, float]:
    """Give the scores after so many of the recipe's sweeps on 17 M tokens."""
    found: dict[str, float] = next(
        row["balanced"] for row in rows["sweeps/rotated, 17 M tokens"] if row["sweep"] == number
    )
    return found


def _bayes_derived() -> Iterator[Sentence]:
    rows = study("bayes")
    yield (
        "Google is {}, {}, {}, {}, {} after 5, 8, 10, 15, 20 sweeps",
        [short(sweeps(rows, number)["google"]) for number in (5, 8, 10, 15, 20)],
    )
    yield (
        "MEN is highest after 3 sweeps ({}) and {} after 20",
        [short(sweeps(rows, number)["men"]) for number in (3, 20)],
    )
    often = rows["coverage/every event three times"]
    yield "intervals cover {}, calibrated ones {}", [short(often[name], 2) for name in ("raw", "calibrated")]


def _families() -> Iterator[Sentence]:
    found, rows = read("large_vocabulary"), study("defaults")
    seconds = [rows[f"tweedie/{name}"]["seconds"] for name in ("4 iterations", "one iteration, **the default**")]
    yield "four take {} times as long", [f"{seconds[0] / seconds[1]:.1f}"]
    large, exact = found["expanded 200k"], found["exact 25k"]
    costs = [found["count 200k"]["wall"], large["wall"]]
    yield (
        "took {} s to count and {} s to train on two cores, with {} GB",
        [*(f"{value:.0f}" for value in costs), f"{large['peak_mb'] / 1000:.1f}"],
    )
    differences = found["differences"]
    yield (
        "these words alone, {} s), set by set with paired tests: WS sim {}, WS rel {}, MEN {}, MTurk {}, SimLex {}, Google {}, "
        "MSR {}, none beyond chance",
        [f"{exact['wall']:.0f}", *(signed(differences[name]["difference"]) for name in SETS)],
    )
    chances = [row["p_value"] for row in differences.values()]
    yield "beyond chance (p from {} to {})", [short(min(chances), 2), short(max(chances), 2)]


def _psd() -> Iterator[Sentence]:
    rows = study("defaults")
    plain = rows["psd/the same, steps of 1.9"]["scores"]
    centered = rows["psd/**the defaults**: centered, steps of 1.9, 4 iterations"]["scores"]
    gains = [centered[name] - plain[name] for name in SETS[:4]]
    yield (
        "similarity scores rise by {} to {}, SimLex falls by {}",
        [f"{value:.3f}" for value in (min(gains), max(gains), plain["simlex999"] - centered["simlex999"])],
    )
    found = study("psdvec")
    paper = next(row["scores"] for name, row in found.items() if name.startswith("psd, counted as the paper does"))
    yield (
        "has MTurk {} against {}, MSR {} against {} and Google {} against {}",
        [short(row[name]) for name in ("mturk287", "msr", "google") for row in (paper, found["psd"]["scores"])],
    )


def _spectral() -> Iterator[Sentence]:
    yield "hardly know similarity (MEN {})", [short(study("defaults")["recipes/brown"]["scores"]["men"], 2)]


def _stochastic() -> Iterator[Sentence]:
    ours, theirs = study("defaults")["recipes/sgns-sgd"]["scores"], read("training")["gensim skip-gram"]["scores"]
    yield (
        "MEN is {} against gensim's {}, Google 3CosAdd {} against {}",
        [f"{scores[name]:.3f}" for name in ("men", "google") for scores in (ours, theirs)],
    )


#: The sentences of each page.
PAGES: dict[str, Callable[[], Iterator[Sentence]]] = {
    "benchmarks/README.md": _benchmarks,
    "docs/defaults.md": _defaults,
    "docs/scale.md": _scale,
    "docs/adapt.md": _adapt,
    "docs/bayes.md": _bayes,
    "docs/derivations/bayes.md": _bayes_derived,
    "docs/derivations/exponential_family.md": _families,
    "docs/psd.md": _psd,
    "docs/spectral.md": _spectral,
    "docs/stochastic.md": _stochastic,
}


def put(text: str, sentence: str, figures: list[str]) -> str:
    """Give a page with the figures of a sentence made anew; say so when the page does not have it, or has it twice."""
    parts = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in sentence.split("{}")]
    found = list(re.finditer(_NUMBER.join(parts), text))
    if len(found) != 1:
        raise LookupError(f"{len(found)} places have: {sentence}")
    for group in reversed(range(len(figures))):
        first, last = found[0].span(group + 1)
        text = text[:first] + figures[group] + text[last:]
    return text


def filled(page: Path, text: str) -> str:
    """Give a page's text with the figures of all its sentences made anew."""
    sentences = PAGES.get(str(page.relative_to(ROOT)))
    for sentence, figures in sentences() if sentences else ():
        text = put(text, sentence, figures)
    return text
