"""Examples shown by ``--help``. Tests check that every command and flag exists."""

from __future__ import annotations

#: ``firth`` itself, then verbs; sub-verbs as ``datasets fetch``.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "firth": (
        "firth demo                                        run the whole flow on a small corpus",
        "firth train corpus.txt -o vectors                 from text to vectors",
        "firth neighbors vectors tea coffee                nearest neighbors",
        "firth evaluate vectors                            quality on standard tests",
    ),
    "count": (
        "firth count corpus.txt --dry-run",
        "firth count corpus.txt -o counts --min-count 10",
        "firth count texts/ --format files --window 10 --weighting harmonic -o counts",
        "firth count posts.jsonl --text-column body --memory 2GB -o counts",
    ),
    "merge": ("firth merge counts-2023 counts-2024 -o counts",),
    "train": (
        "firth train corpus.txt -o vectors",
        "firth train counts -m psd --dim 300 -o vectors",
        "firth train counts -m svd --set eigenvalue_power=0.25 -o vectors",
    ),
    "add": ("firth add vectors new-counts -o larger",),
    "models": ("firth models", "firth models psd"),
    "neighbors": ("firth neighbors vectors tea coffee --topn 5", "firth neighbors glove.txt tea --json"),
    "analogy": ("firth analogy vectors man woman king", "firth analogy vectors paris france rome --method 3cosmul"),
    "similarity": ("firth similarity vectors tea coffee",),
    "uncertain": (
        "firth uncertain vectors --topn 20 --min-count 100",
        "firth uncertain vectors tea --neighbors 5",
        "firth uncertain vectors man woman king --analogy",
    ),
    "score": ("firth score vectors letters.txt --topn 3", "firth score vectors - --json"),
    "evaluate": (
        "firth evaluate vectors",
        "firth evaluate first second --sets men,google",
        "firth evaluate vectors --file my-pairs.txt --html report.html",
    ),
    "compare": (
        "firth compare corpus.txt -m sgns -m psd -m svd -o report",
        "firth compare counts -m psd:dim=100 -m psd:dim=300 --sets men -o report",
    ),
    "adapt": (
        "firth adapt labeled.tsv -v vectors -o classifier",
        "firth adapt reviews.csv --label-column stars --text-column review --cv 5 -o classifier",
    ),
    "classify": (
        "firth classify classifier new.txt --labels-only",
        "firth classify classifier reviews.csv --text-column review",
    ),
    "map": (
        "firth map vectors -o map.html",
        "firth map vectors -o map.png --method pca --limit 500",
        "firth map counts --cloud tea -o tea.png",
    ),
    "explore": ("firth explore vectors", "firth explore first second --counts counts --port 0"),
    "info": ("firth info vectors", "firth info counts --json"),
    "convert": (
        "firth convert vectors vectors.txt --to word2vec",
        "firth convert glove.txt folder",
        "firth convert vectors model --to model2vec --language en",
    ),
    "datasets": ("firth datasets list", "firth datasets fetch men google"),
    "datasets list": ("firth datasets list",),
    "datasets fetch": ("firth datasets fetch 20newsgroups-text",),
    "datasets verify": ("firth datasets verify",),
    "demo": ("firth demo -o demo",),
}
