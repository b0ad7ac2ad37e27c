"""PSDVec's Table 2: similarity and analogies of psd beside the methods the paper compares with. ``python -m studies.psdvec``

The paper's corpus was 2 G words of Wikipedia; ours are the first 17 M tokens of enwiki70m (``--large``: all 70 M for psd).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import firthian as ft
from firthian.datasets import locate
from studies import new_words, psdvec_text
from studies.common import SETS, SHORT, Study, arguments, corpus_path, score_cells, scores, skip_gram, table, timed

DIMENSION = 150
MIN_COUNT = 50

#: Rows that are compared with each other. In the quick form the core has 2,000 words.
_BLOCKS = "psd-blockwise, core 10,000, mu 2/4/8, w0 = 0.15 (default)"
_HELD, _FREE = "psd-blockwise, core 10,000, mu 2/4/8", "psd-blockwise, core 10,000, unregularized"
_START = "psd, with the paper's start X₀"

#: Rows with other contents than scores.
_ADDED, _LIKELIHOOD, _INTERACTION = "added words", "likelihood", "interaction"

_LEFT = "psd, counted as the paper does (flat left window of 3, cut 0.02 %)"
_SPARSE, _GENSIM = "sparse coding of psd", "gensim word2vec, skip-gram"

#: The matrix factorizations that the paper compares with.
_FACTORIZATIONS = ("svd", "cca (Singular)", "glove")

_LARGE = "psd-blockwise, 180,000 words × 500, 70 M tokens"

#: A loss of correlation that counts as little; the paper's own is at most 0.009.
LITTLE = 0.02

#: Table 2 of the paper.
PAPER = {
    "word2vec": "0.742 0.543 0.731 0.663 0.395 0.734/0.742 0.650/0.674",
    "PPMI": "0.735 0.678 0.717 0.659 0.308 0.476/0.524 0.183/0.217",
    "SVD": "0.687 0.608 0.711 0.524 0.270 0.230/0.240 0.123/0.113",
    "GloVe": "0.759 0.630 0.756 0.641 0.362 0.535/0.544 0.408/0.435",
    "Singular": "0.763 0.684 0.747 0.581 0.345 0.440/0.508 0.364/0.399",
    "Sparse": "0.739 0.585 0.725 0.625 0.355 0.240/0.282 0.253/0.274",
    "PSD-Reg-180K": "0.792 0.679 0.764 0.676 0.398 0.602/0.623 0.465/0.507",
    "PSD-Unreg-180K": "0.786 0.663 0.753 0.675 0.372 0.566/0.598 0.424/0.468",
    "PSD-25K": "0.801 0.676 0.765 0.678 0.393 0.671/0.695 0.533/0.586",
}


PAGE = f"""# PSDVec, Table 2

Spearman correlation on five similarity sets and accuracy (3CosAdd / 3CosMul) on two analogy sets, over the items whose
words are in the vocabulary. Unless noted, our vectors are trained on enwiki17m (16.9 M tokens) with words seen at least
{MIN_COUNT} times (18,126 words) and {DIMENSION} dimensions; times are from raw text to vectors. The paper uses about 2 G words
and 500 dimensions, so compare numbers within a table, not across the two. The paper does not state the size of its left
window; the row that counts its way keeps our step length and our centering. The rows on 70 M tokens use words seen at least
twice and 500 dimensions. These, and the rows with w0 or the paper's X₀, were timed while other jobs ran.

## Firthian

{{ours}}
## The paper

{{theirs}}
## Added words

300 words of the first 20 MB of enwiki17m hidden from `psd` (100 dimensions, words seen at least 50 times), then added by
regression: how many of their 10 nearest neighbors are those of `psd` trained on everything, how many are other added words,
and the mean length of their vectors.

{{added}}
## Likelihood of text

`psd` (100 dimensions, counted with its defaults) trained on the first 20 MB of enwiki17m, and {{tokens}} known tokens of the
documents after them. All models are normalized over the vocabulary. *default* and *with residuals* are what `firth score`
prints without and with `--counts`; *eq. 8* is `--link paper`.

{{likelihood}}
## What differs from the paper

* Windows are dynamic, of 5 words on both sides, with sub-sampling; the paper's are to the left. One row counts the paper's way.
* 1 % of all pairs have the weight 1; 0.02 % in the paper (and in that row).
* Steps have the length 1.9, not 1; there are 4. Vectors are centered.
* X₀ is 0 for unseen pairs, where the paper's is half of the smoothed PMI, log(0.02)/2. One row starts as the paper does.
* Words outside the core: unseen pairs have the weight w0 = 0.15 and the target 0. Rows without w0 are the paper's formula.

## Which claims hold

{{claims}}"""


def gensim_row(corpus: str) -> dict[str, Any]:
    vectors, seconds = timed(lambda: skip_gram(corpus, DIMENSION, MIN_COUNT))
    return {"scores": scores(vectors), "seconds": seconds}


def recipe_row(corpus: str, recipe: str, counting: dict[str, Any], **options: Any) -> dict[str, Any]:
    size = {} if recipe == "ppmi" else {"vector_size": DIMENSION}
    vectors, seconds = timed(
        lambda: ft.train(corpus, recipe, counting={"min_count": MIN_COUNT, **counting}, **size, **options)
    )
    return {"scores": scores(vectors), "seconds": seconds, "stats": vectors.provenance.stats}


def sparse_row(corpus: str) -> dict[str, Any]:
    dense = ft.train(corpus, "psd", vector_size=DIMENSION, counting={"min_count": MIN_COUNT})
    vectors, seconds = timed(lambda: ft.train(dense, "sparse", vector_size=10 * DIMENSION, epochs=5))
    return {"scores": scores(vectors), "seconds": seconds}


def main(given: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--large", action="store_true", help="also 25,000 and 180,000 words × 500 on 70 M tokens")
    chosen = parser.parse_args(given)
    study = Study.of("psdvec", chosen)
    corpus = "" if chosen.page else corpus_path(chosen.quick)
    core = 2_000 if chosen.quick else 10_000
    jobs: dict[str, Any] = {
        "psd": lambda: recipe_row(corpus, "psd", {}),
        _LEFT: lambda: recipe_row(
            corpus, "psd", {"window": 3, "weighting": "flat", "context": "left", "sample": 0.0}, cut=0.0002
        ),
        _START: lambda: recipe_row(corpus, "psd", {}, start="paper"),
        _BLOCKS: lambda: recipe_row(corpus, "psd-blockwise", {}, core=core),
        _HELD: lambda: recipe_row(corpus, "psd-blockwise", {}, core=core, unseen_weight=0.0),
        _FREE: lambda: recipe_row(corpus, "psd-blockwise", {}, core=core, band_ridges="0", unseen_weight=0.0),
        "ppmi": lambda: recipe_row(corpus, "ppmi", {}),
        "svd": lambda: recipe_row(corpus, "svd", {}),
        "cca (Singular)": lambda: recipe_row(corpus, "cca", {}),
        "glove": lambda: recipe_row(corpus, "glove", {}),
    }
    jobs[_GENSIM] = lambda: gensim_row(corpus)
    jobs[_SPARSE] = lambda: sparse_row(corpus)
    if chosen.large:
        large = str(locate("enwiki70m"))
        for name, recipe, more in (("psd, 25,000 words × 500, 70 M tokens", "psd", {"max_vocab": 25_000}),):
            jobs[name] = lambda recipe=recipe, more=more: large_row(large, recipe, more)
        for name, options in (
            (f"{_LARGE}, w0 = 0.15 (default)", {}),
            (_LARGE, {"unseen_weight": 0.0}),
            (f"{_LARGE}, unregularized", {"unseen_weight": 0.0, "band_ridges": "0"}),
        ):
            jobs[name] = lambda options=options: large_row(large, "psd-blockwise", {"max_vocab": 180_000}, **options)
    added = study.row(_ADDED, lambda: new_words.report(chosen.quick))
    found = study.row(_LIKELIHOOD, lambda: psdvec_text.likelihood(chosen.quick))
    interaction = study.row(_INTERACTION, lambda: psdvec_text.interaction(chosen.quick))
    rows = {name: study.row(name, job) for name, job in jobs.items()}
    rows |= {name: row for name, row in study.rows.items() if name not in rows and "scores" in row}
    ours = [[name, *score_cells(row["scores"]), f"{row['seconds']:.0f}"] for name, row in rows.items()]
    theirs = [[name, *text.split()] for name, text in PAPER.items()]
    study.write(
        PAGE.format(
            ours=table(["method", *SHORT, "seconds"], ours),
            theirs=table(["method", *SHORT], theirs),
            claims=claims(rows, added, interaction),
            added=added_table(added),
            likelihood=table(
                ["model", "nats per token", "relative to the unigrams"],
                [
                    [name, f"{value:.2f}", f"{value - found['unigram']:+.2f}"]
                    for name, value in found.items()
                    if name != "tokens"
                ],
            ),
            tokens=f"{found['tokens']:,}",
        )
    )


def large_row(corpus: str, recipe: str, counting: dict[str, Any], **options: Any) -> dict[str, Any]:
    counts, counting_seconds = timed(lambda: ft.count(corpus, min_count=2, sample=1e-3, **counting))
    vectors, seconds = timed(lambda: ft.train(counts, recipe, vector_size=500, **options))
    return {
        "scores": scores(vectors),
        "seconds": seconds + counting_seconds,
        "training_seconds": seconds,
        "peak_bytes": vectors.measured["peak_bytes"],
        "stats": vectors.provenance.stats,
    }


def added_table(added: dict[str, dict[str, float]]) -> str:
    rows = [
        [
            name, f"{row['shared']:.2f}", f"{row['own']:.2f} (chance {row['chance']:.2f})",
            f"{row['length']:.2f} (trained: {row['length_whole']:.2f})",
        ]
        for name, row in added.items()
    ]  # fmt: skip
    return table(["regression", "shared neighbors of 10", "added words among 10", "length"], rows)


def claims(rows: dict[str, Any], added: dict[str, Any], interaction: dict[str, float]) -> str:
    """Compare the claims of the paper's section 6.2 with the scores."""
    similarity, analogies = SETS[:5], (*SETS[5:], *(f"{name} mul" for name in SETS[5:]))
    found = {name: row["scores"] for name, row in rows.items()}
    psd, blocks, held, free = (found[name] for name in ("psd", _BLOCKS, _HELD, _FREE))

    def ahead(one: dict[str, float], other: dict[str, float], which: Sequence[str]) -> str:
        return f"{sum(one[name] > other[name] for name in which)} of {len(which)}"

    def verdict(holds: bool) -> str:
        return "holds" if holds else "does not hold"

    # Compare like with like: vectors from enwiki17m that do not derive from psd.
    others = {name: found[name] for name in ("ppmi", *_FACTORIZATIONS, _GENSIM)}
    first = [
        short
        for name, short in zip(similarity, SHORT, strict=False)
        if psd[name] > max(row[name] for row in others.values())
    ]
    lines = [
        f"*psd is best on four of five similarity sets*: {verdict(len(first) >= 4)}; it is best on "
        f"{', '.join(first) or 'none'} (compared with {', '.join(others)}).",
        "*psd is better than other matrix factorizations*: "
        + "; ".join(
            f"than {name} on {ahead(psd, found[name], similarity)} similarity sets and {ahead(psd, found[name], analogies)} "
            "analogy scores"
            for name in _FACTORIZATIONS
        )
        + ".",
        f"*word2vec is better at analogies*: {verdict(all(found[_GENSIM][name] > psd[name] for name in analogies))} "
        f"(Google {found[_GENSIM]['google']:.3f} against {psd['google']:.3f}).",
        f"*Regularization helps across tasks*: on {ahead(held, free, similarity)} similarity sets, "
        f"{ahead(held, free, analogies)} analogy scores.",
        "*Blockwise regression costs little on similarity*: "
        f"{verdict(min(held[name] - psd[name] for name in similarity) > -LITTLE)} by the paper's formula "
        f"({_changes(psd, held, similarity)} relative to the full matrix); "
        f"{verdict(min(blocks[name] - psd[name] for name in similarity) > -LITTLE)} with a weight of unseen pairs "
        f"({_changes(psd, blocks, similarity)}; Google {blocks['google'] - psd['google']:+.3f}). "
        f"Little is less than {LITTLE}.",
        "*Pointwise interaction information is about 0 (Appendix B)*: "
        f"{verdict(interaction['absolute'] < 0.1 * interaction['pmi'])}. Of three words in a row that occur together at "
        f"least {psdvec_text.OFTEN} times, its mean is {interaction['mean']:+.2f} nats, its standard deviation "
        f"{interaction['deviation']:.2f}, and its mean size {interaction['absolute']:.2f}, where the sum of the two PMI "
        f"that it should not change has {interaction['pmi']:.2f}.",
        f"*Sparse codes are worse than the vectors they encode*: on {ahead(psd, found[_SPARSE], (*similarity, *analogies))} "
        "scores.",
    ]
    return "".join(f"* {line}\n" for line in lines)


def _changes(one: dict[str, float], other: dict[str, float], which: Sequence[str]) -> str:
    return ", ".join(f"{short} {other[name] - one[name]:+.3f}" for name, short in zip(which, SHORT, strict=False))


if __name__ == "__main__":
    main()
