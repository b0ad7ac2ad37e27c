"""``firthian.associate``: what goes with what? Tests of word lists: WEAT, SC-WEAT, projections on an axis, RND, MAC."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask import associations
from firthian.ask.result import Result
from firthian.ask.settings import AssociateSettings
from firthian.ask.word_lists import find_lists
from firthian.errors import FirthianError, require
from firthian.runtime.figures import COLORS, plain_text
from firthian.runtime.table import Column, Table
from firthian.text.vocabulary import word_lines
from firthian.vectors.formats import open_vectors
from firthian.vectors.lookup import look_up
from firthian.vectors.rows import scale_to_unit
from firthian.vectors.uncertainty import covariances, has_uncertainty
from firthian.vectors.vectors import Vectors

#: A test with a smaller share of its words known would be of another list.
_FEWEST = 0.5

#: Word lists by name, each of words, or a file with a word per line.
Lists = Mapping[str, Iterable[str]] | Sequence[str | os.PathLike[str] | Iterable[str]]


@dataclass(frozen=True)
class ListOfWords:
    """A list as it was used: its name, the words found, those missing, and those composed of subwords."""

    name: str
    words: list[str]
    missing: list[str]
    composed: list[str]
    rows: Array = field(repr=False)
    numbers: Array = field(repr=False)


@dataclass(frozen=True)
class WordScore:
    """One target word: its association s = mean cos(w, A) - mean cos(w, B), its effect alone, and its projections."""

    word: str
    list: str
    association: float
    effect_size: float
    projection: float
    ripa: float


@dataclass(frozen=True, repr=False)
class Association(Result):
    """The answer of an association test."""

    title: str
    measure: str
    effect_size: float
    p: float
    ci95: tuple[float, float]
    words: list[WordScore]
    lists: list[ListOfWords]
    #: Further measures by name: rnd, mac.
    measures: dict[str, float]
    posterior: dict[str, Any] | None
    notes: list[str]
    settings: dict[str, Any]

    @property
    def missing(self) -> list[str]:
        """All words without a vector."""
        return [word for one in self.lists for word in one.missing]

    @property
    def tables(self) -> dict[str, Table]:
        """The test, the words and the lists."""
        number = ".4f"
        rows: list[tuple[Any, ...]] = [(self.measure, self.effect_size, *self.ci95, self.p)]
        if self.posterior is not None:
            rows.append(
                (f"{self.measure}, posterior median", self.posterior["effect_size"], *self.posterior["ci95"], None)
            )
        rows += [(name, value, None, None, None) for name, value in self.measures.items()]
        test = Table(
            self.title,
            (Column("measure"), Column("value", float, number), Column("low", float, number), Column("high", float, number),
             Column("p", float, "p")),
            rows,
        )  # fmt: skip
        words = Table(
            "Words",
            (Column("word"), Column("list"), Column("association", float, number), Column("effect_size", float, number),
             Column("projection", float, number), Column("ripa", float, number)),
            [(one.word, one.list, one.association, one.effect_size, one.projection, one.ripa) for one in self.words],
        )  # fmt: skip
        lists = Table(
            "Lists",
            (Column("list"), Column("found", int), Column("composed", int), Column("missing", list)),
            [(one.name, len(one.words), len(one.composed), one.missing) for one in self.lists],
        )
        return {"test": test, "words": words, "lists": lists}

    def shown_tables(self) -> list[Table]:
        """Return the tables that a terminal shows."""
        tables = self.tables
        return [tables["test"], tables["words"].head(60), tables["lists"]]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""
        return {
            "measure": self.measure, "effect_size": self.effect_size, "p": self.p, "ci95": list(self.ci95),
            "missing": self.missing, "measures": self.measures, "posterior": self.posterior,
            "words": self.tables["words"].to_dict(),
            "lists": {
                one.name: {"words": one.words, "missing": one.missing, "composed": one.composed} for one in self.lists
            },
            "notes": list(self.notes), "settings": self.settings,
        }  # fmt: skip

    def figure(self, **options: Any) -> Any:
        """Return a strip of the words along the axis from the second attributes to the first."""
        return projection_strip(self, **options)


def associate(
    vectors: Vectors | str | os.PathLike[str],
    targets: Lists | None = None,
    attributes: Lists | None = None,
    *,
    list: str | None = None,
    axis: str | None = None,
    **settings: Any,
) -> Association:
    """Test whether one list of words is closer to some attributes than another list is.

    ``targets`` and ``attributes`` are two lists each (words, files with a word per line, or a dictionary by name); one list of
    targets is compared with both attributes (SC-WEAT). ``list`` names a published test (``weat1``, ...); ``axis`` gives the
    attributes as ``a,b,c:d,e,f``. ``settings`` are the fields of ``AssociateSettings``.

    >>> import firthian as ft
    >>> words = ["rose", "lily", "wasp", "gnat", "love", "joy", "hate", "war"]
    >>> matrix = np.array([[1, 0.1], [1, 0.2], [0.1, 1], [0.2, 1], [1, 0], [1, 0.1], [0, 1], [0.1, 1]])
    >>> result = ft.associate(ft.Vectors(matrix, ft.Vocabulary(words)), [words[:2], words[2:4]], axis="love,joy:hate,war")
    >>> round(result.effect_size, 2), round(result.p, 3)
    (2.0, 0.167)
    """
    chosen = AssociateSettings(**settings)
    vectors = vectors if isinstance(vectors, Vectors) else open_vectors(vectors)
    source = None
    if list is not None:
        if targets is not None or attributes is not None or axis is not None:
            raise FirthianError("a published test has its own targets and attributes", hint="omit either")
        published = find_lists(list)
        targets, attributes, source = published.targets, published.attributes, published.source
    if axis is not None:
        if attributes is not None:
            raise FirthianError("`axis` and `attributes` exclude each other", hint="pass one of them")
        attributes = parse_axis(axis)
    if targets is None or attributes is None:
        raise FirthianError("no word lists", hint="pass `targets` with `attributes` or `axis`, or a published `list`")
    rows = _named(targets, "targets")
    columns = _named(attributes, "attributes")
    if len(rows) not in (1, 2) or len(columns) != 2:
        raise FirthianError(
            f"expected one or two lists of targets and two of attributes, got {len(rows)} and {len(columns)}",
            hint="pass one or two target lists, and two attribute lists or an axis",
        )
    _check_overlap([*rows.items(), *columns.items()])
    return _test(vectors, rows, columns, chosen, source)


def parse_axis(text: str) -> dict[str, Sequence[str]]:
    """Return the two poles of an axis such as ``he,him:she,her``.

    >>> parse_axis("he, him:she")
    {'he': ['he', 'him'], 'she': ['she']}
    """
    poles = [[word.strip() for word in pole.split(",") if word.strip()] for pole in text.split(":")]
    if len(poles) != 2 or not all(poles):
        raise FirthianError(f"expected two poles of words, got {text!r}", hint="write `axis` as he,him:she,her")
    if poles[0][0] == poles[1][0]:
        raise FirthianError(f"{poles[0][0]!r} is at both poles", hint="give each pole its own words")
    return {pole[0]: pole for pole in poles}


def _named(lists: Lists, what: str) -> dict[str, Sequence[str]]:
    """Return lists by name: files have the names of the files, others numbers."""
    if isinstance(lists, str):
        raise FirthianError(f"expected lists of words as {what}, got a text", hint="pass a list of lists, or of files")
    items: Iterable[tuple[str, Any]]
    if isinstance(lists, Mapping):
        items = lists.items()
    else:
        items = ((_name(one, place, what), one) for place, one in enumerate(lists, start=1))
    named: dict[str, Sequence[str]] = {}
    for name, words in items:
        found = _read(words)
        if not found:
            raise FirthianError(f"the list {name} is empty", hint="put at least two words in it")
        while name in named:
            name += "'"
        named[name] = found
    return named


def _name(words: Any, place: int, what: str) -> str:
    return Path(words).stem if isinstance(words, str | os.PathLike) else f"{what} {place}"


def _read(words: Any) -> Sequence[str]:
    if isinstance(words, str | os.PathLike):
        words = word_lines(words)
    return [*dict.fromkeys(str(word) for word in words)]


def _check_overlap(lists: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise if two lists share a word: as an attribute of itself it is nearer than any other word can be."""
    for (name, words), (other, others) in itertools.combinations(lists, 2):
        if both := [word for word in words if word in set(others)]:
            shown = ", ".join(both[:5]) + (f" and {len(both) - 5} more words" if len(both) > 5 else "")
            raise FirthianError(f"the lists {name} and {other} share {shown}", hint="keep a word in one list only")


def _find(vectors: Vectors, name: str, words: Sequence[str], missing: str, fewest: int) -> ListOfWords:
    """Look up a list; raise if too few of its words are known."""
    if missing == "auto":
        missing = "skip" if vectors.subwords is None else "compose"
    if missing == "compose" and vectors.subwords is None:
        raise FirthianError("these vectors have no subwords to compose words from", hint="use `missing=skip`")
    kept: list[str] = []
    composed: list[str] = []
    absent: list[str] = []
    for given in words:
        word = given if given in vectors.vocabulary else given.lower()
        if word in kept:
            continue
        if word in vectors.vocabulary:
            kept.append(word)
        elif missing == "compose":
            kept.append(word)
            composed.append(word)
        else:
            absent.append(given)
    if len(words) < fewest:
        raise FirthianError(f"the list {name} has only one word, {words[0]!r}", hint="add words to it")
    if len(kept) < max(fewest, _FEWEST * len(words)):
        raise FirthianError(
            f"only {len(kept)} of {len(words)} words of the list {name} have vectors (missing: {', '.join(absent[:5])})"
            if len(words) > 1
            else f"{words[0]!r}, the only word of the list {name}, has no vector",
            hint="use words of the vocabulary, or vectors of more text",
        )
    found = look_up(vectors, kept, missing)
    rows = np.asarray(found.vectors, dtype=np.float64)
    return ListOfWords(name, kept, absent, composed, rows, np.asarray(found.numbers))


def _test(
    vectors: Vectors,
    targets: Mapping[str, Sequence[str]],
    attributes: Mapping[str, Sequence[str]],
    settings: AssociateSettings,
    source: str | None,
) -> Association:
    fewest = 2 if len(targets) == 2 else 1
    rows = [_find(vectors, name, words, settings.missing, fewest) for name, words in targets.items()]
    columns = [_find(vectors, name, words, settings.missing, 1) for name, words in attributes.items()]
    sizes, widths = tuple(len(one.words) for one in rows), tuple(len(one.words) for one in columns)
    generator = np.random.default_rng([settings.seed, 0xA550C])
    raw = np.concatenate([one.rows for one in rows])
    units, poles = scale_to_unit(raw.copy()), scale_to_unit(np.concatenate([one.rows for one in columns]))
    cosines = units @ poles.T
    effect = associations.effect(cosines, sizes, widths)
    scores = cosines[:, : widths[0]].mean(axis=1) - cosines[:, widths[0] :].mean(axis=1)
    two_sided = settings.alternative == "two-sided"
    if len(sizes) == 2:
        measure, tested, what = "WEAT", scores, "target words"
    else:
        measure, tested, what = "SC-WEAT", cosines.mean(axis=0), "attribute words"
        if sum(widths) < 3:
            raise FirthianError("two attribute words allow no test", hint="add words to the poles")
    first = sizes[0] if len(sizes) == 2 else widths[0]
    p, how = associations.partition_p(tested, first, settings.permutations, generator, two_sided)
    effects = associations.resampled(cosines, sizes, widths, settings.resamples, generator)
    low, high = np.quantile(effects, (0.025, 0.975)).tolist()
    axis = poles[: widths[0]].mean(axis=0) - poles[widths[0] :].mean(axis=0)
    length = max(float(np.linalg.norm(axis)), 1e-300)
    owners = [one.name for one in rows for _ in one.words]
    words = [
        WordScore(
            word, owner, float(scores[n]), associations.standardized(cosines[n], widths[0]), float(scores[n]) / length,
            float(raw[n] @ axis) / length,
        )
        for n, (word, owner) in enumerate(zip([w for one in rows for w in one.words], owners, strict=True))
    ]  # fmt: skip
    measures = {"MAC (mean cosine distance)": associations.mean_cosine_distance(cosines, widths)}
    if len(sizes) == 2:
        for column, part in zip(columns, np.split(poles, [widths[0]]), strict=True):
            measures[f"RND of {column.name}"] = associations.norm_distance(units, sizes[0], part)
    side = "two-sided" if two_sided else "one-sided"
    notes = [f"p: {side}, {how} of the {what} into lists of these sizes", "interval: words drawn again from each list"]
    if source is not None:
        notes.append(f"lists: {source}")
    for one in (*rows, *columns):
        if one.missing:
            notes.append(f"{one.name}: {len(one.missing)} of {len(one.missing) + len(one.words)} words have no vector")
        if one.composed:
            notes.append(f"{one.name}: {len(one.composed)} words composed from parts: {', '.join(one.composed[:5])}")
    posterior = None
    if has_uncertainty(vectors) and not any(one.composed for one in (*rows, *columns)):
        posterior = _posterior(vectors, rows, columns, generator)
        notes.append(f"posterior: {_DRAWS} draws of all vectors")
    return Association(
        title=" and ".join(targets) + " by " + " against ".join(attributes), measure=measure, effect_size=effect, p=p,
        ci95=(min(low, effect), max(high, effect)), words=words, lists=[*rows, *columns], measures=measures,
        posterior=posterior, notes=notes, settings={**settings.as_dict()},
    )  # fmt: skip


_DRAWS = 500


def _posterior(
    vectors: Vectors, rows: Sequence[ListOfWords], columns: Sequence[ListOfWords], generator: np.random.Generator
) -> dict[str, Any]:
    """Return the median and the interval of the effect size over draws of the words' vectors."""
    lists = [*rows, *columns]
    means = np.concatenate([one.rows for one in lists])
    spread = np.linalg.cholesky(covariances(vectors, np.concatenate([one.numbers for one in lists])).astype(np.float64))
    sizes, widths = tuple(len(one.words) for one in rows), tuple(len(one.words) for one in columns)
    effects = np.empty(_DRAWS)
    for number in range(_DRAWS):
        noise = generator.standard_normal(means.shape)
        drawn = scale_to_unit(means + np.einsum("nij,nj->ni", spread, noise))
        effects[number] = associations.effect(drawn[: sum(sizes)] @ drawn[sum(sizes) :].T, sizes, widths)
    low, median, high = np.quantile(effects, (0.025, 0.5, 0.975)).tolist()
    return {"effect_size": median, "ci95": [low, high], "draws": _DRAWS}


def projection_strip(result: Association, *, width: float = 7.0) -> Any:
    """Return a figure with each target word at its projection on the axis of the attributes, a row per list."""
    matplotlib = require("matplotlib.figure", "ask")
    groups: dict[str, list[WordScore]] = {}
    for word in result.words:
        groups.setdefault(word.list, []).append(word)
    figure = matplotlib.Figure(figsize=(width, 1.2 + 1.6 * len(groups)), dpi=150, layout="constrained")
    axes = figure.subplots()
    span = float(np.ptp([word.projection for word in result.words])) or 1.0
    for place, words in enumerate(groups.values()):
        color = COLORS[place % len(COLORS)]
        for word, height in zip(words, _heights(words, span, width), strict=True):
            top = -place + 0.12 + 0.13 * height
            axes.plot([word.projection] * 2, (-place, top), color=color, linewidth=0.5, alpha=0.5)
            axes.text(word.projection, top, plain_text(word.word), fontsize=7, ha="center", parse_math=False)
        values = [word.projection for word in words]
        axes.scatter(values, [-place] * len(values), s=18, color=color)
        axes.scatter([float(np.mean(values))], [-place - 0.12], s=60, marker="^", color=color)
    axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_yticks([-place for place in range(len(groups))], [plain_text(name) for name in groups], parse_math=False)
    axes.set_ylim(-len(groups) + 0.6, 1)
    second, first = result.lists[-1].name, result.lists[-2].name
    axes.set_xlabel(plain_text(f"{second}  ←  projection (triangles: means)  →  {first}"), parse_math=False)
    axes.set_title(plain_text(f"{result.title}: {result.effect_size:.2f}"), loc="left", fontsize=11, parse_math=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return figure


def _heights(words: Sequence[WordScore], span: float, width: float) -> list[int]:
    """Return a height from 0 to 5 for each name, such that those at one height do not overlap, if there is room."""
    # A character of 7 points takes about 0.06 inches, and the axes are somewhat narrower than the figure.
    character = 0.06 * span / (0.8 * width)
    ends, heights = [-np.inf] * 6, [0] * len(words)
    for n in sorted(range(len(words)), key=lambda n: words[n].projection):
        half = character * (len(words[n].word) + 1) / 2
        start = words[n].projection - half
        free = [height for height, end in enumerate(ends) if end <= start]
        heights[n] = free[0] if free else int(np.argmin(ends))
        ends[heights[n]] = start + 2 * half
    return heights
