"""Formulas such as ``party * gender + year``: columns and a few operators, nothing that could run as Python.

The formula is read by a grammar of our own. What reaches the library formulaic has neutral names in place of columns, so that
no text of the user is evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.corpus import Covariate, TextTable
from firthian.errors import FirthianError, require

#: A column (in backquotes if its name has other characters), an operator, or a space.
_TOKEN = re.compile(
    r"\s*(?:(?P<category>C\s*\(\s*(?P<inner>`[^`]+`|[^\W\d][\w.]*)\s*\))|(?P<quoted>`[^`]+`)|(?P<name>[^\W\d][\w.]*)"
    r"|(?P<digit>[01](?![\w.]))|(?P<operator>[-+*:()]))"
)

#: The longest formula, and the most coefficients, which interactions multiply.
_LONGEST, _MOST_COEFFICIENTS = 1000, 200


@dataclass(frozen=True)
class Formula:
    """A formula: its text, its neutral form, and which column stands behind each neutral name.

    >>> formula = Formula.parse("party * C(year)")
    >>> formula.neutral, formula.columns
    ('v0 * v1', {'v0': 'party', 'v1': 'year'})
    >>> Formula.parse("f(x)")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: cannot read the formula "f(x)" at "(x)": use column names, + - * : ( ) 0 1 and C(column)
    """

    text: str
    neutral: str
    columns: dict[str, str]
    #: Neutral names of columns that are factors although their values are numbers.
    factors: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; raise if it contains anything else."""
        if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
            raise FirthianError("the formula is empty or too long", hint="write for example party + gender")
        names: dict[tuple[str, bool], str] = {}
        parts: list[str] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise _unreadable(text, at)
            found = match["inner"] or match["quoted"] or match["name"]
            if found is not None:
                key = (found.strip("`"), match["category"] is not None)
                parts.append(names.setdefault(key, f"v{len(names)}"))
            else:
                parts.append(match["digit"] or match["operator"])
            at = match.end()
            if found is not None and text[at:].lstrip().startswith("("):
                raise _unreadable(text, at)
        formula = cls(
            text.strip(),
            " ".join(parts),
            {neutral: column for (column, _), neutral in names.items()},
            frozenset(neutral for (_, is_factor), neutral in names.items() if is_factor),
        )
        if not names:
            raise FirthianError(f"the formula {text!r} names no column", hint="write for example party + gender")
        return formula

    def covariates(self, table: TextTable) -> dict[str, Covariate]:
        """Return the covariate behind each neutral name; raise if the table lacks its column."""
        return {neutral: table.covariate(column) for neutral, column in self.columns.items()}

    def design(self, covariates: Mapping[str, Covariate], rows: Array) -> Design:
        """Return the design matrix of some documents, none of which lacks a value."""
        pandas, formulaic = require("pandas", "ask"), require("formulaic", "ask")
        data: dict[str, Any] = {}
        spellings: dict[tuple[str, str], str] = {}
        for neutral, covariate in covariates.items():
            if covariate.numbers is not None and neutral not in self.factors:
                data[neutral] = covariate.numbers[rows]
                continue
            codes, used = covariate.codes[rows], np.unique(covariate.codes[rows])
            if used.size < 2:
                only = f" ({covariate.levels[used[0]]})" if used.size else ""
                raise FirthianError(
                    f"the covariate {covariate.name} has only one level{only} where the target occurs",
                    hint="remove it from the formula" if rows.size > 1 else "choose a more frequent target",
                )
            data[neutral] = pandas.Categorical.from_codes(
                np.searchsorted(used, codes), categories=[f"l{place}" for place in range(used.size)]
            )
            spellings |= {(neutral, f"l{place}"): covariate.levels[code] for place, code in enumerate(used)}
        unreadable = FirthianError(
            f"cannot read the formula {self.text!r}", hint="write for example party * gender + year"
        )
        try:
            terms = _terms(self.neutral.split())
        except (IndexError, KeyError):
            raise unreadable from None
        # Before the library builds them: interactions multiply, and would take all memory.
        levels = {name: len(column.categories) for name, column in data.items() if hasattr(column, "categories")}
        if _coefficients(terms, levels, _MOST_COEFFICIENTS) > _MOST_COEFFICIENTS:
            raise FirthianError(
                f"the formula {self.text!r} has more than {_MOST_COEFFICIENTS} coefficients",
                hint="omit terms, or columns that have many values",
            )
        try:
            parsed = formulaic.Formula(self.neutral)
            if not isinstance(parsed, formulaic.formula.SimpleFormula):
                raise ValueError
            matrix = parsed.get_model_matrix(pandas.DataFrame(data), context={}, output="numpy", na_action="raise")
        except (formulaic.errors.FormulaicError, SyntaxError, ValueError, TypeError):
            raise unreadable from None
        names = [self._spelled(name, spellings) for name in matrix.model_spec.column_names]
        design = Design(np.asarray(matrix, dtype=np.float64), names)
        if not design.coefficients:
            raise FirthianError(
                f"the formula {self.text!r} has no coefficients", hint="write for example party + gender"
            )
        return design

    def _spelled(self, name: str, spellings: Mapping[tuple[str, str], str]) -> str:
        """Return the name of a coefficient with the user's columns and levels, as in ``party_R:year``."""
        if name == "Intercept":
            return INTERCEPT
        parts = []
        for part in name.split(":"):
            neutral, _, level = part.partition("[")
            level = level.removesuffix("]").removeprefix("T.")
            column = self.columns[neutral]
            parts.append(f"{column}_{spellings[neutral, level]}" if level else column)
        return ":".join(parts)


INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Design:
    """A design matrix, a row per document, and the names of its columns."""

    matrix: Array
    names: list[str]

    @property
    def coefficients(self) -> list[int]:
        """The columns other than the intercept."""
        return [place for place, name in enumerate(self.names) if name != INTERCEPT]

    def check_rank(self, matrix: Array) -> None:
        """Raise if a column is determined by those before it, in some rows of the matrix."""
        basis: list[Any] = []
        for place, name in enumerate(self.names):
            column = matrix[:, place]
            rest = column.astype(np.float64)
            for _ in range(2):
                for one in basis:
                    rest = rest - (one @ rest) * one
            length, size = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
            if length <= 1e-9 * size or size == 0:
                raise FirthianError(
                    f"the coefficient {name} cannot be told from the others: they determine it",
                    hint="remove one of the columns that agree from the formula",
                )
            basis.append(rest / length)


def _terms(tokens: Sequence[str]) -> set[frozenset[str]]:
    """Return the terms of a formula, each the set of its columns, without the intercept; stop where they are too many.

    >>> sorted(map(sorted, _terms("v0 * v1 - v1".split())))
    [['v0'], ['v0', 'v1']]
    """
    values: list[set[frozenset[str]]] = []
    waiting: list[str] = []

    def apply() -> None:
        operator, right, left = waiting.pop(), values.pop(), values.pop()
        products = set[frozenset[str]]()
        if operator in "*:":
            # More would be too many coefficients, unless they are subtracted again.
            both = ((one, other) for one in left for other in right)
            products = {one | other for one, other in islice(both, 100 * _MOST_COEFFICIENTS)}
        values.append({"+": left | right, "-": left - right, ":": products, "*": products | left | right}[operator])

    expects_value = True
    for token in tokens:
        if token == "(":
            waiting.append(token)
        elif token == ")":
            while waiting and waiting[-1] != "(":
                apply()
            waiting.pop()
        elif token in _RANKS:
            if expects_value:
                # A sign.
                values.append(set())
            else:
                while waiting and _RANKS.get(waiting[-1], 0) >= _RANKS[token]:
                    apply()
            waiting.append(token)
            expects_value = True
            continue
        else:
            values.append(set() if token in "01" else {frozenset((token,))})
        expects_value = token == "("
    while waiting:
        apply()
    return values.pop()


def _coefficients(terms: set[frozenset[str]], levels: Mapping[str, int], most: int) -> int:
    """Return the number of coefficients of terms, with the intercept; stop counting after ``most``.

    A term spans the products of all subsets of its factors, where one of n levels has n - 1 columns.

    >>> _coefficients({frozenset("a"), frozenset("ab"), frozenset("x")}, {"a": 3, "b": 5}, 200)
    16
    """
    number, spanned = 1, {frozenset[str]()}
    for term in terms:
        factors = [name for name in term if name in levels]
        for size in range(len(factors) + 1):
            for some in combinations(factors, size):
                part = term.difference(factors).union(some)
                if part not in spanned:
                    spanned.add(part)
                    number += math.prod(levels[name] - 1 for name in some)
                if number > most:
                    return number
    return number


#: How strongly operators bind.
_RANKS = {"+": 1, "-": 1, "*": 2, ":": 3}


def _unreadable(text: str, at: int) -> FirthianError:
    return FirthianError(
        f'cannot read the formula "{text[:60]}" at "{text[at:].strip()[:20]}"',
        hint="use column names, + - * : ( ) 0 1 and C(column)",
    )


def drop_missing(covariates: Iterable[Covariate], documents: Array) -> tuple[Array, list[str]]:
    """Return which documents have every value, and a note for each column that lacks some."""
    kept = np.ones(documents.size, dtype=bool)
    notes = []
    for covariate in covariates:
        missing = covariate.missing[documents]
        if missing.any():
            notes.append(f"{int(missing.sum()):,} documents without {covariate.name}")
        kept &= ~missing
    return kept, notes


def constant_within(design: Array, clusters: Array) -> bool:
    """Return whether the rows of a design are the same within each cluster.

    >>> constant_within(np.array([[1.0], [1.0], [2.0]]), np.array([0, 0, 1]))
    True
    """
    first = np.zeros(int(clusters.max()) + 1, dtype=np.int64)
    first[clusters[::-1]] = np.arange(clusters.size)[::-1]
    return bool((design == design[first[clusters]]).all())


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return a few names, and how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
