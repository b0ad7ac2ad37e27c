"""PSDVec vectors after training: the scale of their model, the factor U behind them, and new words.

A new word is a weighted ridge regression on the vectors of the words it occurs with: the paper's online blockwise
regression (section 5.3). Existing vectors never change.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.linalg  # noqa: F401 - the BLAS of the kernel: it must be loaded to be limited to one thread

from firthian.arrays import Array, on_pattern
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.options import Option, option_of
from firthian.runtime.run import Run, one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

#: Extras with x_i/x and x_j/x of every word.
ROW_SHARES, COLUMN_SHARES = "row_shares", "column_shares"

#: The ridge mu of an added word, and the weight w0 of core words it does not occur with; chosen by ``studies.new_words``.
Ridge = Annotated[float, Option("ridge penalty mu on the new vectors", low=0)]
UnseenWeight = Annotated[
    float, Option("weight of pairs never seen, whose target is 0; 0 is the paper's", low=0, high=1)
]
DEFAULT_RIDGE, DEFAULT_UNSEEN_WEIGHT = 1.0, 0.15

#: Counting settings that the PMI of new words depends on.
_SAME_SETTINGS = (
    "window",
    "weighting",
    "context",
    "keep_positions",
    "sample",
    "tokenizer",
    "keep_case",
    "fold_numbers",
)

#: Words per block.
BLOCK_WORDS = 128

#: Words between two checkpoints; a multiple of the block.
SAVED_WORDS = 32 * BLOCK_WORDS


@dataclass(frozen=True)
class Scale:
    """How counts become targets and weights: part of the trained model, which later words are measured by."""

    kappa: float
    cut_root: float
    weight_power: float

    def targets(self, counts: Array, expected: Array) -> Array:
        """G = log((1 - kappa)·P(i,j) / (P(i)·P(j)) + kappa), eq. 7; ``expected`` is x_i·x_j/x."""
        return np.log((1 - self.kappa) * counts / expected + self.kappa)

    def weights(self, counts: Array) -> Array:
        """f(H) = min(sqrt(X) / C_cut, 1); the paper's square root is ``weight_power`` 0.5."""
        return np.minimum(counts**self.weight_power / self.cut_root, 1.0)


class PSDFactor:
    """Converts between vectors, which have an eigenvalue power and may be centered, and U, whose U·Uᵀ fits PMI."""

    def __init__(self, vectors: Vectors, purpose: str) -> None:
        state = vectors.state
        if "cut_root" not in state or "eigenvalues" not in vectors.extras:
            raise FirthianError(
                f"{purpose} needs vectors of the recipes psd and psd-blockwise, not {vectors.provenance.recipe}",
                hint="train with the recipe psd",
            )
        changes = [step.get("name") for step in vectors.provenance.transforms]
        if any(name != "subset" for name in changes):
            raise FirthianError(
                f"{purpose} needs vectors as they were trained; these were changed ({', '.join(map(str, changes))})",
                hint="pass the vectors that training returned",
            )
        numbers = ("kappa", "cut_root", "weight_power", "eigenvalue_power", "window")
        missing = [name for name in numbers if not isinstance(state.get(name), int | float)]
        # A subset may have lost its core.
        missing += [] if isinstance(state.get("core", ""), int | None) else ["core"]
        if missing or "center" not in vectors.extras:
            raise FirthianError(
                f"the vectors lack {', '.join(sorted(missing)) or 'their center'}, which {purpose} needs",
                hint="train them again",
            )
        self.scale = Scale(state["kappa"], state["cut_root"], state["weight_power"])
        #: The number of first words that were fitted together; None if a subset no longer has them first.
        self.core = state["core"]
        self._factors = np.asarray(vectors.extras["eigenvalues"]) ** (state["eigenvalue_power"] - 0.5)
        self._center = np.asarray(vectors.extras["center"])
        self._matrix = vectors.learned
        #: x_i/x and x_j/x of every word; None if the vectors do not have them.
        self.shares = tuple(_column(vectors, name) for name in (ROW_SHARES, COLUMN_SHARES))

    def rows(self, words: int | None = None) -> Array:
        """Return the factor of the first words, in double precision."""
        return np.asarray((np.asarray(self._matrix[:words], dtype=np.float64) + self._center) / self._factors)

    def to_vectors(self, factor: Array) -> Array:
        """Convert rows of the factor to vectors."""
        return np.asarray((factor * self._factors - self._center).astype(np.float32))


def _column(vectors: Vectors, name: str) -> Array | None:
    """Return an extra with one number per word, or None if there is none."""
    values = vectors.extras.get(name)
    if values is None:
        return None
    if np.shape(values) != (len(vectors),):
        raise FirthianError(
            f"the vectors have {len(vectors)} words, but {name} of shape {np.shape(values)}", hint="train them again"
        )
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class Relations:
    """Weights f and targets g of words against the core, in compressed rows."""

    indptr: Array
    indices: Array
    weights: Array
    targets: Array

    @property
    def unrelated(self) -> Array:
        """The words without a pair with the core."""
        return np.flatnonzero(np.diff(self.indptr) == 0)


def relate(
    counts: Counts, words: Array, core_ids: Array, scale: Scale, sums: tuple[Array, Array] | None = None
) -> Relations:
    """Compute weights and targets of ``words`` against a core; ``core_ids`` maps ids of the counts to the core's, or -1.

    f = f12 + f21 and g is the weighted mean of both directions (eq. 18). ``sums`` are x_i and x_j, by
    default those of the counts.
    """
    import scipy.sparse

    rows, columns = sums or (counts.row_sums, counts.column_sums)
    forward = _part(counts.to_scipy(), rows, columns / counts.total, words, core_ids, scale)
    if counts.options.context == "both":
        weight, product = forward
        weight, product = weight * 2, product * 2
    else:
        backward = _part(counts.to_scipy().T.tocsr(), columns, rows / counts.total, words, core_ids, scale)
        weight, product = forward[0] + backward[0], forward[1] + backward[1]
    # A sum of sparse matrices drops its zeros. Products of both directions may cancel, weights cannot.
    weight, product = scipy.sparse.csr_array(weight), scipy.sparse.csr_array(product)
    weight.sort_indices()
    product.sort_indices()
    return Relations(
        weight.indptr.astype(np.int64),
        weight.indices.astype(np.int32),
        weight.data.astype(np.float32),
        (on_pattern(weight, product) / weight.data).astype(np.float32),
    )


def _part(matrix: Any, sums: Array, shares: Array, words: Array, core_ids: Array, scale: Scale) -> tuple[Any, Any]:
    """Return (W, W∘G) of one direction as sparse matrices, words by core; ``sums`` are of rows, ``shares`` of columns."""
    import scipy.sparse

    rows = matrix[words].tocoo()
    column = core_ids[rows.col]
    known = (column >= 0) & (rows.data > 0)
    row, column, value = rows.row[known], column[known], rows.data[known].astype(np.float64)
    expected = sums[words[row]] * shares[rows.col[known]]
    weight = scale.weights(value)
    shape = (words.size, int(core_ids.max(initial=0)) + 1)
    weights = scipy.sparse.coo_array((weight, (row, column)), shape=shape).tocsr()
    weight = weight * scale.targets(value, expected)
    return weights, scipy.sparse.coo_array((weight, (row, column)), shape=shape).tocsr()


def regress(relations: Relations, core: Array, ridge: Array, unseen: float, run: Run) -> Array:
    """Return the rows of the factor of related words: mu of each word in ``ridge``, w0 of its unseen pairs in ``unseen``."""
    with one_blas_thread():
        core = np.asarray(core, dtype=np.float64)
        # Rotated so that UᵀU is diagonal.
        squares, axes = np.linalg.eigh(core.T @ core)
        core = np.ascontiguousarray(core @ axes, dtype=np.float32)
    shared = (core, axes.astype(np.float32), unseen, squares)
    words = relations.indptr.size - 1
    out = np.empty((words, core.shape[1]), dtype=np.float32)
    ridge = np.ascontiguousarray(ridge, dtype=np.float64)

    stage = run.stage("regression")
    state = stage.restore()
    done = 0
    if state is not None:
        done = state.step
        out[:done] = state.arrays["vectors"]
        run.progress.advance(done)
    for begin in range(done, words, SAVED_WORDS):
        end = min(begin + SAVED_WORDS, words)
        pointers, mu, rows = relations.indptr[begin : end + 1], ridge[begin:end], out[begin:end]
        task = functools.partial(_fold_in, relations, pointers, shared, mu, rows)
        run.over_rows(task, end - begin, BLOCK_WORDS, writes=[rows])
        run.progress.advance(end - begin)
        stage.save(end, {"vectors": out[:end]})
    return out


def _fold_in(
    relations: Relations,
    pointers: Array,
    shared: tuple[Array, Array, float, Array],
    ridge: Array,
    out: Array,
    first: int,
    last: int,
) -> None:
    from firthian.kernels.regression import fold_in

    core, axes, unseen, squares = shared
    known = (pointers, relations.indices, relations.weights, relations.targets)
    fold_in(*known, core, unseen, squares, ridge, first, last, out)
    out[first:last] = out[first:last] @ axes.T


@dataclass(frozen=True)
class Added:
    """Vectors with new words, and the words left out because they occur with none of the core."""

    vectors: Vectors
    new: list[str]
    unrelated: list[str]
    #: New words that occur with one word of the core only.
    uncertain: list[str]


def add_words(
    vectors: Vectors,
    counts: Counts,
    ridge: Ridge = DEFAULT_RIDGE,
    unseen_weight: UnseenWeight = DEFAULT_UNSEEN_WEIGHT,
    run: Run | None = None,
) -> Added:
    """Fold the words that only ``counts`` has into vectors of the recipes ``psd`` and ``psd-blockwise``.

    Each new word is regressed on the core words, with the scale and the unigrams of the trained model. Core words that
    it does not occur with have a small weight and the target 0: pairs that occur have mostly positive PMI, so without
    them (``unseen_weight=0``, the paper's formula) new words point to one side and are each other's neighbors.
    A word that occurs with no core word is left out and listed as unrelated.
    """
    base = PSDFactor(vectors, "adding words")
    if not base.core:
        raise FirthianError(
            "the words that were trained together are no longer the first of these vectors",
            hint="pass the vectors that training returned, or a subset in their order",
        )
    ridge = option_of("ridge", Ridge).check(ridge)
    unseen_weight = option_of("unseen_weight", UnseenWeight).check(unseen_weight)
    _check_settings(vectors, counts)
    run = run or Run()
    index = vectors.vocabulary.index
    new = np.array([n for n, word in enumerate(counts.vocabulary) if word not in index], dtype=np.int64)
    if new.size == 0:
        raise FirthianError("the counts have no words that the vectors lack", hint="pass counts of other text")
    old = np.array([index.get(word, -1) for word in counts.vocabulary], dtype=np.int64)
    if new.size == old.size:
        raise FirthianError(
            "the counts and the vectors have no words in common", hint="count text in the language of the vectors"
        )
    # Words are regressed on the core alone, never on words that were added before.
    core_ids = np.where(old < base.core, old, -1)
    run.progress.start("adding words", new.size)
    relations = relate(counts, new, core_ids, base.scale, _trained_sums(base, counts, old))
    rows = base.to_vectors(regress(relations, base.rows(base.core), np.full(new.size, ridge), unseen_weight, run))
    pairs = np.diff(relations.indptr)
    placed = pairs > 0
    kept = [counts.vocabulary.words[n] for n in new[placed]]
    vocabulary = Vocabulary(
        [*vectors.vocabulary.words, *kept],
        np.concatenate([vectors.vocabulary.counts, counts.vocabulary.counts[new[placed]]]),
    )
    unrelated = [counts.vocabulary.words[n] for n in new[~placed]]
    options = {"ridge": ridge, "unseen_weight": unseen_weight}
    note = {"words": len(kept), "unrelated": unrelated, **options, "counts": counts.record}
    provenance = replace(vectors.provenance, added=[*vectors.provenance.added, note])
    rows, subwords = rows[placed], vectors.subwords
    if subwords is not None and subwords.blend and kept:
        rows = rows + subwords.blended(kept, counts.vocabulary.counts[new[placed]])
    matrix = np.concatenate([np.asarray(vectors.matrix), rows])
    extras = dict(vectors.extras)
    for name, sums in ((ROW_SHARES, counts.row_sums), (COLUMN_SHARES, counts.column_sums)):
        if name in extras:
            # One row per word, so that a subset selects the right ones.
            extras[name] = np.concatenate([np.asarray(extras[name]), sums[new[placed]] / counts.total])
    result = Vectors(matrix, vocabulary, extras=extras, provenance=provenance, state=vectors.state, subwords=subwords)
    return Added(result, kept, unrelated, [counts.vocabulary.words[n] for n in new[pairs == 1]])


def _check_settings(vectors: Vectors, counts: Counts) -> None:
    """Raise if the counts were made with other settings than those of the training text; merged counts may not know theirs."""
    source = vectors.provenance.counts or {}
    trained, own = (
        {**(record.get("settings") or {}), **options}
        for record, options in ((source, source.get("options") or {}), (counts.record, counts.options.as_dict()))
    )
    for name in _SAME_SETTINGS:
        if name in trained and name in own and trained[name] != own[name]:
            raise FirthianError(
                f"the counts were made with `{name}={own[name]}`, the vectors with `{name}={trained[name]}`",
                hint="count the new text with the settings of the training text",
            )


def _trained_sums(base: PSDFactor, counts: Counts, old: Array) -> tuple[Array, Array]:
    """Return x_i and x_j of a text of the new text's size with the unigrams of the trained model.

    Words that the model has no unigrams of keep the sums of the new text.
    """
    sums = []
    for shares, own in zip(base.shares, (counts.row_sums, counts.column_sums), strict=True):
        trained = np.where(old >= 0, shares[old], 0.0) if shares is not None else np.zeros(old.size)
        known = (trained > 0) & (trained <= 1)
        sums.append(np.where(known, trained * counts.total, own))
    return sums[0], sums[1]
