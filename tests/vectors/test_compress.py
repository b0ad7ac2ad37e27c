"""Compressed vectors: codes as the slow ones, answers as of the originals, sizes as asked for."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import firthian as ft
from firthian import FirthianError, Vectors, Vocabulary
from firthian.kernels import codes as kernels
from firthian.vectors.codes import Codes, Layout
from firthian.vectors.compress import compress
from firthian.vectors.subwords import Subwords
from tests.reference import codes as slow
from tests.reference.neighbors import nearest

R = np.random.default_rng(3)


def planted(words: int = 1500, dimension: int = 24, subwords: bool = False) -> Vectors:
    """Vectors in clusters, so that neighbors are clear, of unequal lengths and unequal spread of dimensions."""
    centers = R.normal(size=(words // 5, dimension))
    rows = np.repeat(centers, 5, axis=0) + 0.3 * R.normal(size=(words, dimension))
    rows *= np.linspace(2, 0.5, dimension) * R.lognormal(size=(words, 1))
    names = [f"w{number}" for number in range(words)]
    table = None
    if subwords:
        ngrams = R.normal(size=(4000, dimension)).astype(np.float32)
        table = Subwords(np.arange(4000, dtype=np.uint32), ngrams, buckets=4000)
    counts = np.sort(R.integers(1, 10_000, words))[::-1]
    return Vectors(rows.astype(np.float32), Vocabulary(names, counts), subwords=table, state={"tokenizer": "unicode"})


VECTORS = planted()


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one * other).sum(axis=1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_kernels_agree_with_the_slow_ones(width: int) -> None:
    points = R.normal(size=(300, width)).astype(np.float32)
    centers = R.normal(size=(width, 256)).astype(np.float32)
    codes = np.empty(300, np.uint8)
    kernels.assign(points, centers, codes)
    np.testing.assert_array_equal(codes, slow.assign(points, centers))
    weights, moved = R.random(300), centers.copy()
    kernels.move_centers(points, weights, codes, moved)
    np.testing.assert_allclose(moved, slow.moved_centers(points, weights, codes, centers), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("dimension", "width", "further"), [(6, 6, 0), (7, 5, 0), (8, 4, 0), (8, 6, 2), (9, 8, 2), (8, 8, 4)]
)
def test_numbers_of_rounded_rows_come_back(dimension: int, width: int, further: int) -> None:
    wide = 2 * (width - further) - dimension
    bits = np.tile(np.arange(wide, dimension), 4)[: 8 * further].astype(np.uint16)
    layout = Layout(dimension, width, bits)
    codes = R.integers(0, 256, (50, width)).astype(np.uint8)
    numbers = layout.unpack(codes)
    np.testing.assert_array_equal(numbers - layout.middles, slow.decode_rounded(codes, dimension, bits))
    packed = np.empty_like(codes)
    layout.pack(numbers, packed)
    np.testing.assert_array_equal(packed, codes)


@pytest.mark.parametrize("size", [4, 8, 15, 20, 26])
def test_products_straight_on_codes_are_those_of_decoded_rows(size: int) -> None:
    codes = compress(VECTORS, size).stored
    query = R.normal(size=codes.shape[1]).astype(np.float32)
    decoded = codes[:]
    out = np.empty(len(codes), np.float32)
    codes.scorer(query)(slice(0, len(codes)), out)
    lengths = np.linalg.norm(decoded, axis=1) * np.linalg.norm(query)
    np.testing.assert_allclose(out / lengths, decoded @ query / lengths, atol=1e-5)
    if codes.method == "product":
        np.testing.assert_array_equal(
            decoded, slow.decode_products(codes.codes, codes.books, codes.groups) * codes.multipliers[:, None]
        )
    np.testing.assert_array_equal(codes[[3, 1]], decoded[[3, 1]])
    np.testing.assert_array_equal(codes[5], decoded[5])
    assert codes.row_bytes == size


def test_more_bytes_lose_less() -> None:
    before = [word for word, _ in VECTORS.most_similar("w7", topn=4)]
    errors = []
    for size in (4, 8, 12, 15, 17, 20, 23, 26):
        small = compress(VECTORS, size)
        note = small.provenance.transforms[-1]
        assert note["bytes"] == size
        errors.append(1 - note["cosine"])
        if size >= 12:
            assert sorted(word for word, _ in small.most_similar("w7", topn=4)) == sorted(before)
            pairs = [(f"w{n}", f"w{n + 3}") for n in range(0, 300, 10)]
            off = [abs(small.similarity(*pair) - VECTORS.similarity(*pair)) for pair in pairs]
            assert max(off) < 4 * np.sqrt(errors[-1] + 5e-5)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 2e-4
    # The reported loss is that of the user's own check: lengths and cosines of pairs of words.
    lengths = np.linalg.norm(compress(VECTORS, 26).matrix, axis=1) / np.linalg.norm(VECTORS.matrix, axis=1)
    assert abs(lengths - 1).max() < 0.02


def test_a_byte_for_each_dimension_has_no_single_bits() -> None:
    assert not compress(VECTORS, 26).stored.bits.size
    assert compress(VECTORS, 18).stored.bits.size


def test_the_reported_cosine_is_the_mean_cosine() -> None:
    """With all dimensions the rotation can be found again by Procrustes, independently of the code."""
    small = compress(VECTORS, 14)
    left, _, right = np.linalg.svd(small.matrix.T.astype(np.float64) @ VECTORS.matrix)
    measured = cosines(small.matrix @ (left @ right), VECTORS.matrix).mean()
    assert abs(measured - small.provenance.transforms[-1]["cosine"]) < 2e-3


def test_searches_agree_with_sorting_all_decoded_rows() -> None:
    for size in (8, 20):
        small = compress(VECTORS, size)
        expected = nearest(small.matrix, small.matrix[9], [9], 10)
        found = small.most_similar("w9")
        assert [word for word, _ in found] == [f"w{n}" for n, _ in expected]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=1e-5)
        many = small.most_similar_many(["w9", "w10"])[0]
        assert [word for word, _ in many] == [word for word, _ in found]


def test_leading_dimensions_hold_the_most() -> None:
    small = compress(VECTORS, 20, dim=6)
    assert small.vector_size == 6
    spread = np.square(small.matrix / np.linalg.norm(VECTORS.matrix, axis=1, keepdims=True))
    weighted = np.average(spread, axis=0, weights=np.sqrt(VECTORS.vocabulary.counts))
    assert (np.diff(weighted) < 0).all()
    # No six dimensions of the original, or of a random rotation, hold as much of the directions of words.
    units = VECTORS.normalized().matrix
    turned = units @ np.linalg.qr(R.normal(size=(24, 24)))[0]
    for other in (units, turned):
        held = np.sort(np.average(np.square(other), axis=0, weights=np.sqrt(VECTORS.vocabulary.counts)))[-6:].sum()
        assert weighted.sum() > held


def test_same_bytes_with_any_number_of_workers(tmp_path, folder_bytes) -> None:
    for workers in (1, 3):
        compress(VECTORS, 10, workers=workers).save(tmp_path / str(workers))
    assert folder_bytes(tmp_path / "1") == folder_bytes(tmp_path / "3")


def test_saved_and_opened_again(tmp_path) -> None:
    for size in (9, 19):
        small = planted(subwords=True).compressed(size)
        small.save(tmp_path / str(size))
        again = ft.load(tmp_path / str(size))
        assert isinstance(again.stored, Codes)
        assert isinstance(again.subwords.rows, Codes)
        np.testing.assert_array_equal(again.matrix, small.matrix)
        np.testing.assert_array_equal(again["unseen"], small["unseen"])
        assert again.most_similar("w3") == small.most_similar("w3")
        assert isinstance(again.subset(10).stored, Codes)
        np.testing.assert_array_equal(again.subset(["w4", "w2"]).matrix, small.matrix[[4, 2]])
        np.testing.assert_array_equal(copy.deepcopy(again).matrix, again.matrix)
        assert again.provenance.transforms[-1]["name"] == "compressed"


def test_composed_vectors_stay() -> None:
    vectors = planted(subwords=True)
    small = vectors.compressed(26)
    words = ["w1x", "unseen", "w17w18"]
    for word in words:
        assert small.similarity(word, "w3") == pytest.approx(vectors.similarity(word, "w3"), abs=0.02)


def test_words_that_ngrams_replace_are_removed_first() -> None:
    vectors = planted(subwords=True)
    counts = np.full(len(vectors), 7)
    matrix = vectors.matrix.copy()
    # The first thousand words are exactly what their n-grams compose.
    matrix[:1000] = vectors.subwords.compose(vectors.vocabulary.words[:1000])
    vectors = Vectors(matrix, Vocabulary(vectors.vocabulary.words, counts), subwords=vectors.subwords)
    small = vectors.compressed(26, words=500)
    assert small.vocabulary.words == [f"w{n}" for n in range(1000, 1500)]
    assert small.similarity("w3", "w4") == pytest.approx(vectors.similarity("w3", "w4"), abs=0.02)
    assert small.composed["w3"] == 1
    assert len(vectors.compressed(26, ngrams=100).subwords) == 100
    assert len(vectors.compressed(26, ngrams=0).subwords) == 0
    without = Vectors(matrix, vectors.vocabulary).compressed(26, words=500)
    assert without.vocabulary.words == [f"w{n}" for n in range(500)]


def test_zeros_stay_zeros_and_few_words_are_exact_enough() -> None:
    matrix = np.array([[0, 0, 0, 0], [3, 4, 0, 0], [0, 1e-3, 1e-3, 0]], np.float32)
    for size in (3, 4, 5, 6):
        small = Vectors(matrix, Vocabulary(["none", "a", "b"])).compressed(size)
        assert not small["none"].any()
        assert small.most_similar("none") == []
        np.testing.assert_allclose(np.linalg.norm(small.matrix, axis=1), [0, 5, 1.414e-3], rtol=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bytes": 0}, "bytes must be an integer of at least 3, got 0"),
        ({"bytes": -5}, "bytes must be"),
        ({"bytes": 96}, "saves nothing: the vectors of 24 dimensions take 96"),
        ({"bytes": 10, "method": "rounded"}, "needs at least 14 bytes for 24 dimensions"),
        ({"bytes": 10, "method": "zip"}, "method must be one of auto, rounded, product"),
        ({"bytes": 10, "dim": 25}, "cannot keep 25 of 24 dimensions"),
        ({"bytes": 10, "words": 0}, "words must be an integer of at least 1"),
        ({"bytes": 10, "speed": 1}, "has no option 'speed'"),
    ],
)
def test_sizes_that_make_no_sense(options, message) -> None:
    with pytest.raises(FirthianError, match=message):
        compress(VECTORS, **options)


def test_sparse_and_empty_vectors_are_refused() -> None:
    import scipy.sparse

    with pytest.raises(FirthianError, match="needs dense vectors"):
        Vectors(scipy.sparse.csr_array(np.eye(3)), Vocabulary(["a", "b", "c"])).compressed()
    with pytest.raises(FirthianError, match="no words"):
        Vectors(np.zeros((0, 3)), Vocabulary([])).compressed(5)


def test_command(tmp_path, firth) -> None:
    VECTORS.save(tmp_path / "v")
    done = firth("compress", tmp_path / "v", "-o", tmp_path / "s", "--bytes", 20, "--words", 1000)
    assert done.code == 0
    assert "1,000 words × 24 dimensions" in done.out
    assert "20 bytes per vector" in done.out
    shown = firth("info", tmp_path / "s").out
    assert "bytes per vector" in shown
    assert "neighbors_kept" in shown
    assert firth("neighbors", tmp_path / "s", "w1").code == 0
    assert firth("convert", tmp_path / "s", tmp_path / "s.txt").code == 0
    np.testing.assert_array_equal(ft.load(tmp_path / "s.txt").matrix, ft.load(tmp_path / "s").matrix)
    firth("compress", tmp_path / "v", "-o", tmp_path / "s").complains("already exists")
    firth("compress", tmp_path / "v", "-o", tmp_path / "t", "--bytes", 900).complains("--bytes 900 saves nothing")
    firth("compress", tmp_path / "v").complains("no output folder")
    assert not (tmp_path / "t").exists()


def test_files_with_parts_that_do_not_fit_are_damaged() -> None:
    good = compress(VECTORS, 20).stored.arrays()
    for name, wrong in [
        ("codes", np.zeros((5, 18), np.uint8)), ("lengths", np.zeros(1500, np.float32)), ("steps", np.ones(23, np.float32)),
        ("bits", np.full(16, 24, np.uint16)), ("bits", np.zeros(40, np.uint16)), ("bits", np.zeros(3, np.uint16)),
        ("books", np.ones((256, 24), np.float32)),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"fit|shape|bits"):
            Codes.from_arrays({**good, name: wrong}, 1.0, (1500, 24))
    product = compress(VECTORS, 8).stored.arrays()
    with pytest.raises(ValueError, match="fit"):
        Codes.from_arrays({**product, "groups": np.full(24, 6, np.uint16)}, 1.0, (1500, 24))


def test_rows_of_very_many_dimensions_take_memory_like_their_numbers() -> None:
    """A matrix of bits by dimensions would have 54 GB."""
    dimension = 60_000
    bits = np.repeat(np.arange(dimension, dtype=np.uint16), 4)
    codes = np.zeros((2, dimension // 2 + bits.size // 8), np.uint8)
    steps = np.ones(dimension, np.float32)
    assert Codes(codes, np.ones(2, np.float16), steps=steps, bits=bits)[:].shape == (2, dimension)
