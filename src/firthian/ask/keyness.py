"""``firthian.keyness``: which words do two groups of documents use more than each other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.all_words import benjamini_hochberg
from firthian.ask.corpus import read_table
from firthian.ask.result import Result
from firthian.ask.settings import KeynessSettings
from firthian.ask.tokens import TokenTable, tokenize_table
from firthian.errors import FirthianError, require
from firthian.runtime.figures import COLORS, plain_text
from firthian.runtime.table import Column, Table
from firthian.text.tokenizer import Tokenizer

#: Permutations are added up in blocks of this many.
_BLOCK = 64


@dataclass(frozen=True)
class KeyWord:
    """One word: its counts, and how much more the first group uses it, by tokens and by documents."""

    word: str
    first: int
    second: int
    log_likelihood: float
    log_odds: float
    z: float
    p_tokens: float
    q_tokens: float
    p: float
    q: float


@dataclass(frozen=True, repr=False)
class Keyness(Result):
    """The words of two groups, strongest first."""

    title: str
    groups: tuple[str, str]
    tokens: tuple[int, int]
    documents: tuple[int, int]
    words: list[KeyWord]
    notes: list[str]
    settings: dict[str, Any]

    @property
    def tables(self) -> dict[str, Table]:
        """The words."""
        one, two = self.groups
        columns = (
            Column("word"), Column(f"in {one}", int), Column(f"in {two}", int), Column("log_likelihood", float, ".1f"),
            Column("log_odds", float, ".3f"), Column("z", float, ".2f"), Column("p", float, "p"), Column("q", float, "p"),
            Column("p_tokens", float, "p"), Column("q_tokens", float, "p"),
        )  # fmt: skip
        rows = [
            (w.word, w.first, w.second, w.log_likelihood, w.log_odds, w.z, w.p, w.q, w.p_tokens, w.q_tokens)
            for w in self.words
        ]
        return {"words": Table(self.title, columns, rows)}

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""
        return {
            "groups": list(self.groups), "tokens": list(self.tokens), "documents": list(self.documents),
            "words": [vars(word) for word in self.words], "notes": list(self.notes), "settings": self.settings,
        }  # fmt: skip

    def figure(self, *, words: int = 15, width: float = 7.0, **options: Any) -> Any:
        """Return a plot of the log-odds of the strongest words of each group with 95 % intervals, filled where q ≤ 0.1."""
        matplotlib = require("matplotlib.figure", "ask")
        strongest = [one for one in self.words if one.z > 0][:words]
        strongest += [one for one in self.words if one.z < 0][:words][::-1]
        figure = matplotlib.Figure(figsize=(width, 1.3 + 0.25 * len(strongest)), dpi=150, layout="constrained")
        axes = figure.subplots()
        for place, one in zip(range(len(strongest), 0, -1), strongest, strict=True):
            half, color = 1.96 * one.log_odds / one.z, COLORS[0 if one.z > 0 else 1]
            axes.plot((one.log_odds - half, one.log_odds + half), (place, place), color=color, linewidth=1.2)
            face = color if one.q <= 0.1 else "white"
            axes.scatter([one.log_odds], [place], s=22, color=face, edgecolors=color, zorder=2)
        names = [plain_text(one.word) for one in strongest]
        axes.set_yticks(range(len(strongest), 0, -1), names, parse_math=False)
        axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        axes.set_xlabel(plain_text(f"{self.groups[1]}  ←  log-odds  →  {self.groups[0]}"), parse_math=False)
        axes.set_title(plain_text(self.title), loc="left", fontsize=11, parse_math=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        return figure


def keyness(
    corpus: Any,
    by: str,
    *,
    groups: Sequence[str] | None = None,
    text_column: str | None = None,
    format: str = "auto",
    where: Any = None,
    tokenizer: Tokenizer | str | None = None,
    **settings: Any,
) -> Keyness:
    """Compare how often two groups of documents use each word.

    ``by`` is the column that divides the documents, ``groups`` its two values (one stands against all others). Besides the
    tests of single tokens (log-likelihood ratio, log-odds with a Dirichlet prior), which are too sure of words that come in
    bursts, p permutes whole documents between the groups. ``settings`` are the fields of ``KeynessSettings``.

    >>> table = {"text": ["hot tea", "hot cake"] * 9 + ["cold tea", "cold ham"] * 9, "party": ["R"] * 18 + ["D"] * 18}
    >>> result = keyness(table, "party", groups=("R", "D"), min_count=5, permutations=99)
    >>> [(word.word, word.z > 0, word.p) for word in result.words[:2]]
    [('cold', False, 0.01), ('hot', True, 0.01)]
    """
    chosen = KeynessSettings(**settings)
    table = read_table(corpus, text_column, format, where)
    members, names = _members(table.covariate(by), groups)
    kept = np.flatnonzero(members >= 0)
    left = members.size - kept.size
    table, members = table.select(kept), members[kept]
    cutter = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer or "unicode")
    tokens = tokenize_table(table, cutter)
    counts, words = _word_counts(tokens, chosen.min_count)
    lengths = np.diff(tokens.starts).astype(np.float64)
    chosen_documents = (members == 0).astype(np.float64)
    first = counts.T @ chosen_documents
    total, size, whole = np.asarray(counts.sum(axis=0)).ravel(), float(lengths @ chosen_documents), float(lengths.sum())
    if not 0 < size < whole:
        raise FirthianError(f"the group {names[0 if not size else 1]} has no words", hint="choose other `groups`")
    odds, z = log_odds(first, total - first, size, whole - size, chosen.prior)
    ratio = log_likelihood(first, total - first, size, whole - size)
    p = _permuted(counts, lengths, total, chosen_documents, np.abs(z), chosen)
    from scipy.stats import chi2

    p_tokens = np.asarray(chi2.sf(ratio, 1), dtype=np.float64)
    q, q_tokens = benjamini_hochberg(p), benjamini_hochberg(p_tokens)
    order = np.lexsort((np.arange(z.size), -np.abs(z)))
    rows = [
        KeyWord(
            words[n], int(first[n]), int(total[n] - first[n]), float(ratio[n]), float(odds[n]), float(z[n]),
            float(p_tokens[n]), float(q_tokens[n]), float(p[n]), float(q[n]),
        )
        for n in order
    ]  # fmt: skip
    documents = int(chosen_documents.sum())
    notes = [
        f"p: {chosen.permutations:,} permutations of {len(table):,} documents between the groups; q: Benjamini–Hochberg "
        f"over {len(rows):,} words",
        "p_tokens: log-likelihood ratio as if every token were drawn alone; too sure of words that come in bursts",
    ]
    if left:
        notes.append(f"{left:,} documents of other groups left out")
    if table.skipped.missing:
        notes.append(f"{table.skipped.missing:,} rows without text skipped")
    return Keyness(
        title=f"{names[0]} against {names[1]}, by {by}", groups=names, tokens=(int(size), int(whole - size)),
        documents=(documents, len(table) - documents), words=rows, notes=notes,
        settings={**chosen.as_dict(), "by": by, "tokenizer": cutter.describe()},
    )  # fmt: skip


def _members(column: Any, groups: Sequence[str] | None) -> tuple[Array, tuple[str, str]]:
    """Return 0 or 1 for the documents of the two groups, -1 for others, and the groups' names."""
    wanted = [str(group) for group in groups] if groups is not None else column.levels
    for group in wanted:
        if group not in column.levels:
            shown = ", ".join(column.levels[:8])
            raise FirthianError(f"no document has {column.name}={group}", hint=f"the values are {shown}")
    if len(wanted) == 1 and len(column.levels) > 1:
        place = column.levels.index(wanted[0])
        members = np.where(column.codes < 0, -1, (column.codes != place).astype(np.int64))
        return members, (wanted[0], f"not {wanted[0]}")
    if groups is None and len(wanted) < 2:
        raise FirthianError(
            f"the column {column.name!r} has one value, {wanted[0]!r}" if wanted else f"{column.name!r} has no values",
            hint="choose a column that divides the documents",
        )
    if len(set(wanted)) != 2 or len(wanted) != 2:
        raise FirthianError(
            f"expected two groups, but {column.name} has {len(wanted)} values", hint="name two of them with `groups`"
        )
    one, two = (column.levels.index(group) for group in wanted)
    return np.select([column.codes == one, column.codes == two], [0, 1], -1), (wanted[0], wanted[1])


def _word_counts(tokens: TokenTable, min_count: int) -> tuple[Any, list[str]]:
    """Return the counts of frequent words (columns) in documents (rows)."""
    import scipy.sparse

    documents = np.repeat(np.arange(tokens.starts.size - 1), np.diff(tokens.starts))
    shape = (tokens.starts.size - 1, len(tokens.vocabulary))
    counts = scipy.sparse.csr_array((np.ones(tokens.ids.size), (documents, tokens.ids)), shape=shape)
    frequent = np.flatnonzero(np.bincount(tokens.ids, minlength=shape[1]) >= min_count)
    if not frequent.size:
        raise FirthianError(f"no word occurs {min_count} times", hint="lower `min_count`")
    return counts[:, frequent].tocsr(), [tokens.vocabulary.words[n] for n in frequent]


def log_odds(first: Array, second: Array, size: Any, other: Any, prior: float) -> tuple[Array, Array]:
    """Return the difference of log-odds with an informative Dirichlet prior, and z (Monroe, Colaresi and Quinn 2008).

    delta = log (y1 + a) / (n1 + a0 - y1 - a) - log (y2 + a) / (n2 + a0 - y2 - a);  var = 1 / (y1 + a) + 1 / (y2 + a)
    """
    alpha = prior * (first + second) / (size + other)
    one, two = first + alpha, second + alpha
    delta = np.log(one / (size + prior - one)) - np.log(two / (other + prior - two))
    return delta, delta / np.sqrt(1 / one + 1 / two)


def log_likelihood(first: Array, second: Array, size: float, other: float) -> Array:
    """Return the log-likelihood ratio of equal frequencies in two groups (Dunning 1993): G2 = 2 sum O log (O / E)."""
    from scipy.special import xlogy

    total, whole = first + second, size + other
    result = np.zeros(first.shape)
    for observed, tokens in ((first, size), (second, other)):
        result += xlogy(observed, observed * whole / (total * tokens))
        result += xlogy(tokens - observed, (tokens - observed) * whole / (np.maximum(whole - total, 1e-300) * tokens))
    return np.maximum(2 * result, 0.0)


def _permuted(
    counts: Any, lengths: Array, total: Array, labels: Array, observed: Array, settings: KeynessSettings
) -> Array:
    """Return the share of permutations of documents with a |z| as large as the observed one."""
    generator = np.random.default_rng([settings.seed, 0x4E7])
    found = np.ones(total.size)
    whole, transposed = lengths.sum(), counts.T.tocsr()
    for begin in range(0, settings.permutations, _BLOCK):
        number = min(_BLOCK, settings.permutations - begin)
        shuffled = generator.permuted(np.tile(labels, (number, 1)), axis=1).T
        sizes = lengths @ shuffled
        first = transposed @ shuffled
        _, z = log_odds(first, total[:, None] - first, sizes, whole - sizes, settings.prior)
        found += (np.abs(z) >= observed[:, None] * (1 - 1e-12)).sum(axis=1)
    return np.asarray(found / (settings.permutations + 1))
