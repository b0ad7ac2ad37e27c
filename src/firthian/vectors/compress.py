"""Small vectors: rotate, cut trailing dimensions, store each row in a few bytes, keep the words that matter.

The rotation diagonalizes the second moments of the directions of words, each weighted by the square root of its count, so that
the leading dimensions hold most of what running text needs. Rows are then coded (see ``vectors/codes.py``): a length in half
precision, and a direction that is rounded to a byte or half a byte for each dimension, or, below half a byte, in product codes:

* the groups of dimensions are those that minimize the expected error Σ k·(Π variances)^(1/k) of groups of k dimensions;
* the values of a group are the centers of k-means on a sample of words, with the same weights.

N-grams, where there are any, are rotated and coded in the same way, so unknown and removed words still have vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.options import Option, check_all, declared
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run, one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.codes import Codes, Layout
from firthian.vectors.provenance import COUNTING_STATE
from firthian.vectors.rows import row_slices, scale_to_unit
from firthian.vectors.subwords import Subwords
from firthian.vectors.vectors import Vectors

METHODS = ("auto", "rounded", "product")

#: Rows whose directions decide the codes, and steps of k-means on them.
_SAMPLE, _STEPS = 32_768, 10

#: How many standard deviations the codes of a dimension may reach; the best is found for each dimension.
_REACHES = np.arange(1.6, 8.1, 0.4)

#: Bytes of a row that may hold single bits.
_MOST_FURTHER = 32

#: Words whose neighbors before and after are compared, from the most frequent ones, and how many neighbors.
_PROBES, _FREQUENT, _NEIGHBORS = 500, 20_000, 10

#: Bytes of the length of a row.
_LENGTH = 2


@dataclass(frozen=True)
class CompressOptions:
    """Settings of compression."""

    dim: Annotated[int | None, Option("keep the N leading dimensions after the rotation", low=1)] = None
    words: Annotated[
        int | None, Option("keep N words: the most frequent, or those that n-grams replace worst", low=1)
    ] = None
    ngrams: Annotated[int | None, Option("keep the N n-grams that matter most to known words", low=0)] = None
    method: Annotated[str, Option("rounded: 4 to 8 bits per dimension; product: any size", choices=METHODS)] = "auto"


def compress(
    vectors: Vectors,
    bytes: int = 100,
    *,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Vectors:
    """Return vectors that take ``bytes`` bytes per word, besides its spelling and count.

    Options: ``dim`` and ``words`` keep that many leading dimensions and words, ``ngrams`` that many n-grams; ``method`` is
    ``rounded``, ``product`` or ``auto``. The dimensions of the result are rotated; cosines and lengths stay. Context vectors
    and uncertainty are dropped. ``provenance.transforms`` has the measured loss.
    """
    settings = CompressOptions(**check_all("compress", declared(CompressOptions), options))
    whole = Option("100 is usual", low=_LENGTH + 1, name="bytes", kind=int).check(bytes)
    run = Run.create(seed, workers, progress=progress)
    if hasattr(vectors.stored, "tocsr"):
        raise FirthianError("compression needs dense vectors, these are sparse", hint="reduce their dimensions by svd")
    if not len(vectors):
        raise FirthianError("there are no words to compress", hint="pass vectors of at least one word")
    dimension = min(settings.dim or vectors.vector_size, vectors.vector_size)
    if settings.dim is not None and settings.dim > vectors.vector_size:
        raise FirthianError(f"cannot keep {settings.dim} of {vectors.vector_size} dimensions", hint="lower `dim`")
    if whole >= 4 * vectors.vector_size:
        raise FirthianError(
            f"`bytes={whole}` saves nothing: the vectors of {vectors.vector_size} dimensions take {4 * vectors.vector_size}",
            hint=f"choose fewer; {vectors.vector_size + _LENGTH} keeps a byte for each dimension",
        )
    width = min(whole - _LENGTH, dimension)
    method = settings.method
    if method == "auto":
        method = "rounded" if 2 * width > dimension else "product"
    if method == "rounded" and 2 * width < dimension:
        raise FirthianError(
            f"`method=rounded` needs at least {-(-dimension // 2) + _LENGTH} bytes for {dimension} dimensions, got {whole}",
            hint=f"use `method=product`, or `dim={2 * width}`",
        )
    run.progress.start("compressing")
    kept = _kept_words(vectors, settings.words)
    small = vectors if kept is None else vectors.subset([vectors.vocabulary.words[i] for i in kept])
    weights = _weights(small.vocabulary)
    rotation = _rotation(small, weights)[:, :dimension]
    codes = encode_rows(lambda rows: small.matrix[rows] @ rotation, weights, width, method, run)
    notes = {"bytes": width + _LENGTH, "method": method, "dimensions": dimension}
    if kept is not None:
        notes |= {"words": len(small), "words_removed": len(vectors) - len(small)}
    subwords = vectors.subwords
    if subwords is not None:
        subwords = _coded_ngrams(subwords, small.vocabulary, rotation, width, method, settings.ngrams, run)
        notes["ngrams"] = len(subwords)
    result = Vectors(
        codes,
        Vocabulary(small.vocabulary.words, small.vocabulary.counts),
        state={name: vectors.state[name] for name in COUNTING_STATE if name in vectors.state},
        subwords=subwords,
    )
    result.provenance = vectors.provenance.transformed("compressed", **notes, **_loss(small, result, rotation))
    return result


def _weights(vocabulary: Vocabulary) -> Array:
    """Return the weight of each word, the square root of its count."""
    return np.sqrt(np.maximum(vocabulary.counts, 1).astype(np.float64))


def _kept_words(vectors: Vectors, number: int | None) -> Array | None:
    """Return the rows to keep, in order; None if these are all.

    With n-grams, a word is worth its count times the part of its direction that they do not give.
    """
    if number is None or number >= len(vectors):
        return None
    if vectors.subwords is None:
        return np.arange(number)
    lost = np.empty(len(vectors))
    words, counts = vectors.vocabulary.words, vectors.vocabulary.counts
    for block in row_slices(len(vectors)):
        composed = scale_to_unit(vectors.subwords.compose(words[block]))
        own = scale_to_unit(vectors.matrix[block])
        lost[block] = (1 - np.einsum("ij,ij->i", own, composed)) * np.maximum(counts[block], 1)
    return np.sort(np.argsort(-lost, kind="stable")[:number])


def _rotation(vectors: Vectors, weights: Array) -> Array:
    """Return the eigenvectors of the weighted second moments of directions, strongest first."""
    moments = np.zeros((vectors.vector_size, vectors.vector_size))
    with one_blas_thread():
        for block in row_slices(len(vectors)):
            rows = scale_to_unit(vectors.matrix[block].astype(np.float64)) * np.sqrt(weights[block, None])
            moments += rows.T @ rows
        axes = np.linalg.eigh(moments)[1][:, ::-1]
    # The sign of an eigenvector is arbitrary; the largest number is made positive.
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    rotation: Array = (axes * np.where(largest < 0, -1, 1)).astype(np.float32)
    return rotation


def encode_rows(rows: Callable[[Any], Array], weights: Array, width: int, method: str, run: Run) -> Codes:
    """Code rows, which a function returns by their numbers, in ``width`` bytes each."""
    number = len(weights)
    chosen = np.arange(number)
    if number > _SAMPLE:
        chosen = np.sort(run.generator("codes of rows").choice(number, _SAMPLE, replace=False))
    with one_blas_thread():
        sample = scale_to_unit(rows(chosen))
    code = (_rounding if method == "rounded" else _products)(sample, weights[chosen], width, run)
    codes = np.empty((number, width), np.uint8)
    lengths = np.empty(number, np.float32)

    def encode(first: int, last: int) -> None:
        block = rows(slice(first, last))
        units = scale_to_unit(block)
        code.assign(units, codes[first:last])
        decoded = code.directions(codes[first:last])
        # The length that minimizes the squared error.
        squares = np.maximum(np.einsum("ij,ij->i", decoded, decoded), 1e-30)
        lengths[first:last] = np.maximum(np.einsum("ij,ij->i", block, decoded) / squares, 0)

    run.over_rows(encode, number, 8192, here=True)
    peak = float(lengths.max(initial=0)) or 1.0
    return code.codes(codes, (lengths / np.float32(peak)).astype(np.float16), peak)


@dataclass(frozen=True)
class _Code:
    """How rows are coded: ``empty`` has the values of all codes and no rows."""

    empty: Codes
    assign: Callable[[Array, Array], None]

    def directions(self, codes: Array) -> Array:
        """Return decoded rows of length about 1."""
        return self.codes(codes, np.ones(len(codes), np.float16), 1.0)[:]

    def codes(self, codes: Array, lengths: Array, scale: float) -> Codes:
        """Return coded rows."""
        return replace(self.empty, codes=codes, lengths=lengths, scale=scale)


def _none(width: int) -> dict[str, Any]:
    return {"codes": np.empty((0, width), np.uint8), "lengths": np.empty(0, np.float16)}


def _rounding(sample: Array, weights: Array, width: int, run: Run) -> _Code:
    """Find the bits and the step of each dimension, those of least weighted squared error on the sample."""
    dimension = sample.shape[1]
    spread = np.average(np.square(sample, dtype=np.float64), axis=0, weights=weights)
    layout = Layout(dimension, width, _further_bits(spread, width))
    steps = np.empty(dimension, np.float32)

    def find(first: int, last: int) -> None:
        for j in range(first, last):
            values, middle = sample[:, j].astype(np.float64), float(layout.middles[j])
            tried = _REACHES * max(float(np.sqrt(spread[j])), 1e-30) / (middle + 0.5)
            errors = [weights @ np.square(_rounded(values / step, middle) * step - values) for step in tried]
            steps[j] = tried[int(np.argmin(errors))]

    run.over_rows(find, dimension, 8, here=True)

    def assign(units: Array, codes: Array) -> None:
        layout.pack(_rounded(units / steps, layout.middles) + layout.middles, codes)

    return _Code(Codes(**_none(width), steps=steps, bits=layout.bits), assign)


def _rounded(values: Array, middle: Any) -> Array:
    """Return the nearest of the values -middle, 1 - middle, …, middle."""
    nearest: Array = np.clip(np.floor(values) + np.float32(0.5), -middle, middle)
    return nearest


def _further_bits(spread: Array, width: int) -> Array:
    """Return the dimension of each bit beyond half a byte, the most useful first.

    A bit divides the error of a dimension by four. Of all ways to divide a row into whole bytes, half bytes and up to
    ``_MOST_FURTHER`` bytes of single bits, which are slower to search, the one of least error is chosen.
    """
    dimension = spread.size
    best, least = np.empty(0, np.uint16), np.inf
    for extra in range(min(width - (dimension + 1) // 2, _MOST_FURTHER) + 1):
        # Dimensions that are not wide come in pairs.
        wide = 2 * (width - extra) - dimension
        if 8 * extra > 4 * (dimension - wide):
            break
        errors, given = spread / 16**2, np.zeros(dimension, np.int64)
        errors[:wide] /= 16**2
        given[:wide] = 4
        bits = np.empty(8 * extra, np.uint16)
        for place in range(bits.size):
            bits[place] = np.argmax(np.where(given < 4, errors, -1))
            errors[bits[place]] /= 4
            given[bits[place]] += 1
        if errors.sum() < least * (1 - 1e-9):
            best, least = bits, errors.sum()
    return best


def _products(sample: Array, weights: Array, width: int, run: Run) -> _Code:
    """Find the groups of dimensions and the values of their codes."""
    from firthian.kernels.codes import VALUES, assign, move_centers

    spread = np.average(np.square(sample, dtype=np.float64), axis=0, weights=weights)
    groups = _groups(spread, width)
    books = np.zeros((VALUES, sample.shape[1]), np.float32)
    members = [np.flatnonzero(groups == group) for group in range(width)]

    def learn(group: int, _: int) -> None:
        points = np.ascontiguousarray(sample[:, members[group]])
        distinct = run.generator("first centers", group).permutation(len(points))[:VALUES]
        centers = np.zeros((points.shape[1], VALUES), np.float32)
        centers[:, : distinct.size] = points[distinct].T
        codes = np.empty(len(points), np.uint8)
        for _ in range(_STEPS):
            assign(points, centers, codes)
            move_centers(points, weights, codes, centers)
        books[:, members[group]] = centers.T

    run.over_rows(learn, width, 1, here=True)

    def encode(units: Array, codes: Array) -> None:
        for group, columns in enumerate(members):
            points = np.ascontiguousarray(units[:, columns])
            assign(points, np.ascontiguousarray(books[:, columns].T), codes[:, group])

    return _Code(Codes(**_none(width), books=books, groups=groups), encode)


def _groups(spread: Array, width: int) -> Array:
    """Assign dimensions to groups, strongest first, each where the expected error grows least.

    A code of B bits for k dimensions of variances v has an error near k·(Π v)^(1/k)·2^(-2B/k) (high-rate theory).
    """
    order = np.argsort(-spread, kind="stable")
    logs = np.log(np.maximum(spread, 1e-30))
    groups = np.empty(spread.size, np.uint16)
    total, sizes = np.zeros(width), np.zeros(width)
    for place, dimension in enumerate(order):
        if place < width:
            group = place
        else:
            before = sizes * np.exp((total - 2 * 8 * np.log(2)) / sizes)
            after = (sizes + 1) * np.exp((total + logs[dimension] - 2 * 8 * np.log(2)) / (sizes + 1))
            group = int(np.argmin(after - before))
        groups[dimension] = group
        total[group] += logs[dimension]
        sizes[group] += 1
    return groups


def _coded_ngrams(
    table: Subwords, vocabulary: Vocabulary, rotation: Array, width: int, method: str, limit: int | None, run: Run
) -> Subwords:
    """Rotate and code the rows of n-grams, and keep those that matter most: by their use in known words and their length."""
    if not len(table):
        return table.rotated(rotation)
    used = np.zeros(len(table))
    for block in row_slices(len(vocabulary)):
        buckets, indptr = table.hashed(vocabulary.words[block])
        places = table.places(buckets)
        shares = np.repeat(np.log1p(vocabulary.counts[block]) + 1, np.diff(indptr))
        used += np.bincount(places[places >= 0], shares[places >= 0], minlength=len(table))
    kept = np.arange(len(table))
    if limit is not None and limit < len(table):
        squares = np.concatenate(
            [np.square(np.asarray(table.rows[block], np.float32)).sum(axis=1) for block in row_slices(len(table))]
        )
        kept = np.sort(np.argsort(-used * squares, kind="stable")[:limit])
        if not kept.size:
            return replace(table, ids=table.ids[:0], rows=np.zeros((0, rotation.shape[1]), np.float32), variance=None)
    scale = np.float32(table.scale)

    def rows(numbers: Any) -> Array:
        return (np.asarray(table.rows[kept[numbers]], np.float32) * scale) @ rotation

    codes = encode_rows(rows, np.sqrt(used[kept] + 1), width, method, run)
    return replace(table, ids=np.asarray(table.ids)[kept], rows=codes, scale=1.0, blend=0.0, variance=None)


def _loss(before: Vectors, after: Vectors, rotation: Array) -> dict[str, Any]:
    """Measure how close directions stay, and how many of the nearest neighbors of frequent words stay the same."""
    cosines = np.zeros(len(before))
    for block in row_slices(len(before)):
        own = scale_to_unit(before.matrix[block]) @ rotation
        cosines[block] = np.einsum("ij,ij->i", own, scale_to_unit(after.stored[block]))
    number = min(len(before), _FREQUENT)
    probes = np.unique(np.linspace(0, number - 1, min(number, _PROBES)).astype(np.int64))
    words = [before.vocabulary.words[i] for i in probes]
    names = [{word for word, _ in found} for found in before.most_similar_many(words, _NEIGHBORS)]
    same = [{word for word, _ in found} for found in after.most_similar_many(words, _NEIGHBORS)]
    kept = sum(len(one & other) for one, other in zip(names, same, strict=True))
    share = kept / max(1, sum(map(len, names)))
    return {"cosine": round(float(cosines.mean()), 4), "neighbors_kept": round(share, 4)}
