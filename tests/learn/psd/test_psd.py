"""PSDVec against its dense twin, and what the paper and the mathematics promise."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import scipy.sparse

import firthian as ft
from firthian.datasets import locate
from firthian.errors import FirthianError
from firthian.learn.linalg.krylov import top_eigen, top_singular
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.psd.block_descent import BlockDescent
from firthian.learn.psd.model import WeightedPMI
from firthian.runtime.run import Run
from firthian.vectors.likelihood import TextModel, calibrate
from firthian.vectors.psd import PSDFactor, Relations, Scale, add_words, regress, relate
from tests.learn.common import counts_of
from tests.reference import psd as twin


def corpus(documents=300, length=30, words=60, seed=0):
    """Documents of one of four topics, so that PMI has structure."""
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(documents):
        topic = generator.integers(4)
        weights = np.where(np.arange(words) % 4 == topic, 6.0, 1.0) / (1 + np.arange(words))
        chosen = generator.choice(words, size=length, p=weights / weights.sum())
        texts.append(" ".join(f"w{n}" for n in chosen))
    return texts


@pytest.fixture(scope="module", params=["both", "left", "right"])
def counts(request):
    return ft.count(corpus(), window=3, context=request.param, min_count=1)


@pytest.fixture(scope="module")
def english():
    """The first 8 MB of a real corpus, one document per item."""
    try:
        path = locate("enwiki17m")
    except FirthianError as error:
        pytest.skip(str(error))
    with open(path, encoding="utf-8") as file:
        return file.read(8_000_000).split("\n")


def dense_problem(counts, kappa=0.02, cut=0.05):
    x = counts.to_scipy().toarray().astype(np.float64)
    g, w = twin.targets_and_weights(x, kappa, cut)
    seen = x > 0
    if counts.options.context != "both":
        weight = (w + w.T) / 2
        product = (np.where(seen, w * g, 0) + np.where(seen, w * g, 0).T) / 2
        g, w, seen = np.divide(product, weight, out=np.zeros_like(g), where=weight > 0), weight, weight > 0
    return g, w, seen


@pytest.mark.parametrize(("ridge", "start"), [(0.0, "seen"), (1.5, "seen"), (0.0, "paper")])
def test_block_descent_equals_its_dense_twin(counts, ridge, start):
    g, w, seen = dense_problem(counts)
    expected, losses = twin.block_descent(g, w, seen, 5, 6, ridge, np.log(0.02) / 2 if start == "paper" else 0.0)
    model = WeightedPMI(counts, Run(), cut=0.05)
    solution = BlockDescent(iterations=6, ridge=ridge, step=1.0, center=False, start=start).solve(model, 5, Run())
    fitted = solution.words.astype(np.float64) @ solution.words.T
    assert np.abs(fitted - expected).max() < 1e-5 * max(1, np.abs(expected).max()) * 10
    assert np.allclose(solution.objective, losses, rtol=1e-4)


def test_targets_and_weights_are_those_of_the_dense_twin(counts):
    g, w, seen = dense_problem(counts)
    model = WeightedPMI(counts, Run(), cut=0.05)
    rows = np.repeat(np.arange(model.words), np.diff(model.indptr))
    assert model.indices.size == seen.sum()
    assert np.allclose(model.weights, w[rows, model.indices], rtol=1e-6, atol=0)
    assert np.allclose(model.targets, g[rows, model.indices], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("core", [None, 2])
def test_directions_that_cancel_or_meet_a_round_number_stay_in_their_places(core):
    """Sums of sparse matrices leave out zeros, so a target that happens to be 0 (or -1) must not shift the others."""
    x = np.array([[0.0, 1, 2, 3], [1, 0, 3, 1], [2, 1, 0, 4], [5, 1, 1, 0]])
    counts = counts_of(x, "left")

    class Chosen(Scale):
        def targets(self, counts, expected):
            # 1 for a count of 1, -1 for the others: the directions of some pairs cancel, others add up to -1
            return np.where(counts == 1, 1.0, -1.0)

        def weights(self, counts):
            return np.full(counts.shape, 0.5)

    chosen = Chosen(0.02, 1.0, 0.5)
    g = np.where(x == 1, 1.0, -1.0)
    mean = (g + g.T) / 2
    if core is None:
        model = WeightedPMI(counts, Run())
        model.indptr, model.indices, values = model_arrays(counts)
        rows = np.repeat(np.arange(4), np.diff(model.indptr))
        model.targets = chosen.targets(values, None).astype(np.float32)
        model.weights = np.where(rows == model.indices, 0, 0.5).astype(np.float32)
        model._symmetrize(4)
        rows, columns, targets = np.repeat(np.arange(4), np.diff(model.indptr)), model.indices, model.targets
    else:
        ids = np.array([0, 1, -1, -1])
        relations = relate(counts, np.array([2, 3]), ids, chosen)
        rows = np.repeat([2, 3], np.diff(relations.indptr))
        columns, targets = relations.indices, relations.targets
    assert targets.size == (12 if core is None else 4)
    assert np.allclose(targets, mean[rows, columns])


def model_arrays(counts):
    return np.asarray(counts.indptr), np.asarray(counts.indices), np.asarray(counts.values)


def test_longer_steps_get_further(counts):
    model = WeightedPMI(counts, Run())
    plain, longer = (BlockDescent(iterations=5, step=step).solve(model, 4, Run()).objective for step in (1.0, 1.9))
    assert longer[0] == plain[0]
    assert longer[-1] < plain[-1]


@pytest.mark.parametrize("step", [1.0, 1.9])
def test_the_loss_never_rises_and_auto_converges(counts, step):
    model = WeightedPMI(counts, Run())
    solution = BlockDescent(iterations=12, step=step).solve(model, 4, Run())
    assert len(solution.objective) == 12
    steps = np.diff(solution.objective)
    assert (steps <= 1e-6 * np.abs(solution.objective[0])).all()
    automatic = BlockDescent(iterations="auto").solve(model, 4, Run())
    assert automatic.status == "converged"
    assert automatic.objective[-1] <= automatic.objective[0]


def test_a_rank_beyond_the_positive_eigenvalues_gives_what_there_is():
    counts = ft.count(corpus(words=20), window=3, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=20)
    positive = vectors.provenance.stats["positive_dimensions"]
    assert 0 < positive < 20
    assert vectors.vector_size == positive


def test_a_larger_ridge_gives_shorter_vectors():
    counts = ft.count(corpus(), window=3, min_count=1)
    free, held = (ft.train(counts, "psd", vector_size=5, ridge=ridge) for ridge in (0, 3))
    assert np.square(held.matrix).sum() < np.square(free.matrix).sum()


def test_eigenvalue_power_scales_the_columns():
    counts = ft.count(corpus(), window=3, min_count=1)
    half, none = (ft.train(counts, "psd", vector_size=5, eigenvalue_power=power, center=False) for power in (0.5, 0.0))
    scale = np.sqrt(half.extras["eigenvalues"])
    assert np.allclose(half.matrix, none.matrix * scale, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pairs", [3, 5, 40, 200])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("unseen", [0.0, 0.05, 0.7])
def test_regression_solves_its_normal_equations(pairs, ridge, unseen):
    generator = np.random.default_rng(pairs)
    core = generator.standard_normal((250, 5)).astype(np.float32)
    indices = generator.choice(250, pairs, replace=False)
    weights, targets = generator.uniform(0.1, 2, pairs), generator.standard_normal(pairs)
    relations = Relations(
        np.array([0, pairs, pairs]), indices.astype(np.int32), weights.astype(np.float32), targets.astype(np.float32)
    )
    found = regress(relations, core, np.full(2, ridge), unseen, Run())
    assert not found[1].any()
    f, g = np.full(250, unseen), np.zeros(250)
    f[indices], g[indices] = weights, targets
    gradient = core.T @ (f * (core @ found[0] - g)) + ridge * found[0]
    assert np.abs(gradient).max() < 1e-4 * max(1, np.abs(core.T @ (f * g)).max())
    if ridge or unseen or pairs >= 5:
        seen = np.zeros(250)
        seen[indices] = weights
        assert np.allclose(found[0], twin.regression(core.astype(np.float64), seen, g, ridge, unseen), atol=2e-4)


@pytest.mark.parametrize(
    ("dimension", "pairs", "rank"), [(20, 40, 3), (50, 60, 5), (100, 300, 8), (100, 50, 3), (20, 15, 1)]
)
@pytest.mark.parametrize("ridge", [0.0, 1e-9])
def test_regression_without_a_ridge_takes_the_shortest_vector(dimension, pairs, rank, ridge):
    """A word whose company lies in few directions has a singular Gram matrix; the others say nothing of it."""
    generator = np.random.default_rng(pairs)
    core = generator.standard_normal((pairs, rank)) @ generator.standard_normal((rank, dimension))
    weights, targets = generator.uniform(0.1, 2, pairs), generator.standard_normal(pairs)
    relations = Relations(
        np.array([0, pairs]), np.arange(pairs, dtype=np.int32), weights.astype(np.float32), targets.astype(np.float32)
    )
    found = regress(relations, core.astype(np.float32), np.full(1, ridge), 0.0, Run())[0]
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(root[:, np.newaxis] * core, root * targets, rcond=1e-9)[0]
    assert np.allclose(found, expected, atol=1e-3 * np.linalg.norm(expected))


def test_words_without_a_ridge_that_see_one_topic_only():
    generator = np.random.default_rng(0)
    texts = []
    for _ in range(600):
        topic, words = generator.integers(6), np.minimum(generator.geometric(0.06, 25), 60)
        texts.append(" ".join(f"t{topic}w{word}" for word in words))
    counts = ft.count(texts, window=5, min_count=1)
    blockwise = ft.train(counts, "psd-blockwise", vector_size=60, core=150, band_ridges="0", unseen_weight=0)
    assert np.abs(blockwise.matrix).max() < 100
    added = ft.train(ft.count(texts, window=5, min_count=5), "psd", vector_size=60).add_words(
        counts, ridge=0, unseen_weight=0
    )
    assert np.abs(added.matrix).max() < 100


def test_vectors_are_centered_and_lead_back_to_the_factor():
    counts = ft.count(corpus(), window=3, min_count=1)
    plain, centered = (
        ft.train(counts, "psd", vector_size=5, eigenvalue_power=0.25, center=center) for center in (False, True)
    )
    assert np.abs(centered.matrix.mean(axis=0)).max() < 1e-5
    factors = [PSDFactor(vectors, "a test").rows() for vectors in (plain, centered)]
    assert np.allclose(*factors, atol=1e-5)
    assert np.allclose(PSDFactor(centered, "a test").to_vectors(factors[0]), centered.matrix, atol=1e-5)
    with pytest.raises(FirthianError, match=r"a test needs vectors as they were trained; .*normalized"):
        PSDFactor(centered.normalized(), "a test")
    PSDFactor(centered.subset(5), "a test")


def test_blockwise_with_every_word_in_the_core_is_psd():
    counts = ft.count(corpus(), window=3, min_count=1)
    whole = ft.train(counts, "psd", vector_size=5)
    blockwise = ft.train(counts, "psd-blockwise", vector_size=5, core=len(counts.vocabulary))
    assert np.array_equal(whole.matrix, blockwise.matrix)


@pytest.mark.parametrize("context", ["both", "left"])
def test_blockwise_words_are_regressions_on_the_core(context):
    counts = ft.count(corpus(), window=3, min_count=1, context=context)
    core = 30
    vectors = ft.train(counts, "psd-blockwise", vector_size=5, core=core, band_ridges="2,4", center=False)
    x = counts.to_scipy().toarray().astype(np.float64)
    total, row, column = x.sum(), x.sum(axis=1), x.sum(axis=0)
    stats = vectors.state
    weight = np.where(x > 0, np.minimum(np.sqrt(x) / stats["cut_root"], 1), 0)
    g = np.log((1 - stats["kappa"]) * x * total / np.outer(row, column) + stats["kappa"])
    for word, ridge in ((core, 2.0), (len(x) - 1, 4.0)):
        one, other = weight[word, :core], weight[:core, word]
        f = one + other
        target = np.divide(one * g[word, :core] + other * g[:core, word], f, out=np.zeros(core), where=f > 0)
        expected = twin.regression(vectors.matrix[:core].astype(np.float64), f, target, ridge, 0.15)
        assert np.allclose(vectors.matrix[word], expected, atol=1e-3)


def test_adding_words_leaves_old_vectors_bit_for_bit(tmp_path):
    texts = corpus()
    counts = ft.count(texts, window=3, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=6)
    new = ft.count([text.replace("w7 ", "novel ") for text in texts] + ["lonely island"], window=3, min_count=1)
    added = add_words(vectors, new, ridge=0.5)
    assert added.new == ["novel"]
    assert sorted(added.unrelated) == ["island", "lonely"]
    assert np.array_equal(added.vectors.matrix[: len(vectors)], vectors.matrix)
    assert added.vectors.vocabulary.words[: len(vectors)] == vectors.vocabulary.words
    nearest = [word for word, _ in added.vectors.most_similar("novel", topn=3)]
    assert "w7" in nearest
    for ridge in (-1.0, np.nan, np.inf):
        with pytest.raises(FirthianError, match="ridge must be"):
            add_words(vectors, new, ridge)


@pytest.mark.realdata
@pytest.mark.parametrize("how", ["add", "blockwise"])
def test_the_neighbors_of_added_words_are_those_of_training_on_everything(how, english):
    """Seen pairs alone have mostly positive PMI: with no others, added words would be neighbors of each other."""
    counts = ft.count(english, min_count=50)
    words = counts.vocabulary.words
    whole = ft.train(counts, "psd", vector_size=50)
    if how == "add":
        hidden = words[50::15]
        kept = [word for word in words if word not in set(hidden)]
        grown = ft.train(ft.count(english, min_count=50, vocabulary=kept), "psd", vector_size=50).add_words(counts)
    else:
        core = len(words) * 9 // 10
        hidden = words[core:]
        grown = ft.train(counts, "psd-blockwise", vector_size=50, core=core)
    found, right = ([{word for word, _ in vectors.most_similar(name)} for name in hidden] for vectors in (grown, whole))
    assert np.mean([len(one & other) for one, other in zip(found, right, strict=True)]) >= 7
    assert np.mean([len(some & set(hidden)) for some in found]) <= 2 * 10 * (len(hidden) - 1) / (len(words) - 1)


def test_words_that_cannot_be_added_are_refused_or_named():
    texts = corpus()
    vectors = ft.train(ft.count(texts, window=3, min_count=1), "psd", vector_size=6)
    with pytest.raises(FirthianError, match="no words in common: count text in the language"):
        add_words(vectors, ft.count(["ein kleiner text"] * 3, window=3, min_count=1))
    once = add_words(vectors, ft.count([*texts, "novel w0"], window=3, min_count=1))
    assert once.uncertain == ["novel"]
    assert np.isfinite(once.vectors["novel"]).all()
    for settings in ({"window": 4}, {"window": 3, "context": "left"}, {"window": 3, "sample": 1e-2}):
        with pytest.raises(
            FirthianError, match=r"the counts were made with .*, the vectors with .*: count the new text"
        ):
            add_words(vectors, ft.count([*texts, "novel w0"], min_count=1, **settings))
    for weight in (-0.1, 2, np.nan):
        with pytest.raises(FirthianError, match="unseen_weight must be a number from 0 to 1"):
            add_words(vectors, ft.count([*texts, "novel w0"], window=3, min_count=1), unseen_weight=weight)


def test_added_words_are_measured_by_the_unigrams_of_training():
    """A text of one topic makes its words look common, so that their company with a new word would say little."""
    texts = corpus(documents=1000)
    vectors = ft.train(ft.count(texts, window=3, min_count=1), "psd", vector_size=6)
    own = [text.replace("w8 ", "novel ") for text in texts if " w0 w4 " in text or " w8 w0 " in text]
    new = ft.count(own, window=3, min_count=1)
    added = vectors.add_words(new)
    shares = {word: vectors.extras["row_shares"][n] for word, n in vectors.vocabulary.index.items()}
    sums = np.array([shares.get(word, 0) * new.total for word in new.vocabulary])
    sums[new.vocabulary["novel"]] = new.row_sums[new.vocabulary["novel"]]
    base = PSDFactor(vectors, "a test")
    ids = np.array([vectors.vocabulary.index.get(word, -1) for word in new.vocabulary])
    relations = relate(new, np.array([new.vocabulary["novel"]]), ids, base.scale, (sums, sums))
    row = new.to_scipy().toarray()[new.vocabulary["novel"]].astype(np.float64)
    seen = (row > 0) & (ids >= 0)
    trained = np.array([shares[word] for word, here in zip(new.vocabulary, seen, strict=True) if here])
    expected = base.scale.targets(row[seen], row.sum() * trained)
    assert np.allclose(relations.targets[np.argsort(relations.indices)], expected[np.argsort(ids[seen])], atol=1e-5)
    found = base.to_vectors(regress(relations, base.rows(), np.full(1, 1.0), 0.15, Run()))
    assert np.array_equal(added["novel"], found[0])
    # The shares stay beside their words, whatever is done with the vectors.
    assert added.extras["row_shares"].shape == (len(added),)
    some = added.subset(["w4", "novel", "w0"])
    assert some.extras["column_shares"].tolist() == [
        added.extras["column_shares"][added.vocabulary[word]] for word in ("w4", "novel", "w0")
    ]


def test_words_are_added_to_vectors_older_than_their_unigrams():
    texts = corpus()
    vectors = ft.train(ft.count(texts, window=3, min_count=1), "psd-blockwise", vector_size=6, core=40)
    assert vectors.extras["row_shares"].sum() == pytest.approx(1)
    new = ft.count([text.replace("w7 ", "novel ") for text in texts[:50]], window=3, min_count=1)
    known = vectors.add_words(new)
    for name in ("row_shares", "column_shares"):
        del vectors.extras[name]
    old = vectors.add_words(new)
    assert old.extras.keys() == {"eigenvalues", "center", "calibration"}
    assert not np.array_equal(old["novel"], known["novel"])
    base = PSDFactor(vectors, "a test")
    relations = relate(new, np.array([new.vocabulary["novel"]]), _core_ids(vectors, new, 40), base.scale)
    assert np.array_equal(
        old["novel"], base.to_vectors(regress(relations, base.rows(40), np.full(1, 1.0), 0.15, Run()))[0]
    )
    vectors.extras["row_shares"] = np.ones(3)
    with pytest.raises(FirthianError, match=r"row_shares of shape \(3,\): train them again"):
        vectors.add_words(new)


def _core_ids(vectors, counts, core):
    ids = np.array([vectors.vocabulary.index.get(word, -1) for word in counts.vocabulary])
    return np.where(ids < core, ids, -1)


def test_a_word_added_to_a_subset_is_no_witness_for_later_ones():
    texts = corpus()
    whole = ft.train(ft.count(texts, window=3, min_count=1), "psd", vector_size=6)
    new = ft.count([text.replace("w7 ", "novel ") for text in texts], window=3, min_count=1)
    later = ft.count(["novel another"] * 9, window=3, min_count=1)
    grown = whole.subset(30).add_words(new)
    assert "novel" in grown
    assert add_words(grown, later).unrelated == ["another"]
    assert add_words(whole.subset(whole.vocabulary.words[9:3:-1]), new).new
    for words in (["novel", *whole.vocabulary.words[:30]], ["novel"]):
        with pytest.raises(FirthianError, match="no longer the first of these vectors: pass the vectors"):
            add_words(grown.subset(words), later)
    # The likelihood needs no core.
    assert TextModel(grown.subset(["novel", "w0", "w4"])).log_prob(["w0", "novel"]).unknown == 0


def test_a_text_model_that_is_deleted_is_gone(monkeypatch):
    monkeypatch.setattr("firthian.vectors.likelihood._CACHED", 2)
    counts = ft.count(corpus(), window=3, min_count=1)
    model = TextModel(ft.train(counts, "psd", vector_size=6), counts, "seen")
    tokens = ["w0", "w4", "w8", "w0", "w1"]
    assert np.array_equal(model.log_prob(tokens).terms, model.log_prob(tokens).terms)
    assert len(model._cache) == 2
    gone = weakref.ref(model)
    del model
    assert gone() is None


def test_text_with_an_added_word_is_scored_with_the_counts_of_training():
    texts = corpus()
    counts = ft.count(texts, window=3, min_count=1)
    new = ft.count([text.replace("w7 ", "novel ") for text in texts], window=3, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=6).add_words(new)
    tokens = ["w0", "novel", "w4"]
    models = {name: TextModel(vectors, counts, name) for name in ("none", "seen")}
    assert np.isfinite(models["seen"].log_prob(tokens).terms).all()
    # Nothing is known of the new word's pairs: without the partition its term is what the vectors say.
    after = {name: dict(model.next_word(["novel"], len(vectors))) for name, model in models.items()}
    assert after["none"] == pytest.approx(after["seen"])
    terms = {name: model.log_prob(tokens).terms for name, model in models.items()}
    assert terms["seen"][0] == pytest.approx(terms["none"][0])
    assert terms["seen"][2] != pytest.approx(terms["none"][2])


def test_adding_to_other_vectors_is_refused():
    counts = ft.count(corpus(), min_count=1)
    vectors = ft.train(counts, "ppmi")
    with pytest.raises(FirthianError, match="psd"):
        add_words(vectors, counts)
    with pytest.raises(FirthianError, match="no words that the vectors lack"):
        add_words(ft.train(counts, "psd", vector_size=3), counts)


@pytest.mark.parametrize("context", ["both", "left", "right"])
@pytest.mark.parametrize("residuals", ["none", "seen"])
@pytest.mark.parametrize("link", ["calibrated", "paper"])
def test_the_likelihood_agrees_with_brute_force(context, residuals, link):
    counts = ft.count(corpus(), window=3, min_count=1, context=context)
    vectors = ft.train(counts, "psd", vector_size=5, eigenvalue_power=0.25)
    model = TextModel(vectors, counts, residuals, link)
    factor = ft.train(counts, "psd", vector_size=5, center=False).matrix.astype(np.float64)
    x = counts.to_scipy().toarray().astype(np.float64)
    g, _ = twin.targets_and_weights(x, 0.02, 0.01)
    calibrated = link == "calibrated"
    products = factor * (vectors.extras["calibration"] if calibrated else 1) @ factor.T
    if residuals == "seen":
        # X[i, j] counts j before i, with context "right" after it; products have the earlier word first.
        weight = np.minimum(np.sqrt(x) / vectors.state["cut_root"], 1) if calibrated else 1
        missing = np.where(x > 0, weight * (g - products), 0)
        products = products + (missing if context == "right" else missing.T)
    distances = 1 / np.arange(1, 4) if calibrated else np.ones(3)
    tokens = ["w0", "w4", "unheard", "w8", "w1", "w0", "w5"]
    score = model.log_prob(tokens)
    ids = [vectors.vocabulary[token] for token in tokens if token in vectors.vocabulary]
    unigram = vectors.vocabulary.counts / vectors.vocabulary.counts.sum()
    expected = twin.document_log_prob(products, np.log(unigram), ids, 3, distances)
    assert score.unknown == 1
    assert np.allclose(score.terms, expected, atol=1e-4)
    assert score.total == pytest.approx(expected.sum(), abs=1e-3)
    assert score.perplexity == pytest.approx(np.exp(-expected.mean()), rel=1e-3)
    assert score.unigram_perplexity == pytest.approx(np.exp(-np.log(unigram[ids]).mean()))


@pytest.mark.parametrize("residuals", ["none", "seen"])
@pytest.mark.parametrize("link", ["calibrated", "paper"])
def test_the_probabilities_of_all_words_sum_to_one_after_every_context(residuals, link):
    counts = ft.count(corpus(), window=3, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=5)
    model = TextModel(vectors, counts, residuals, link)
    for context in ([], ["w0"], ["w0", "w4"], ["w50", "w1", "w0"]):
        total = sum(np.exp(model.log_prob([*context, word]).terms[-1]) for word in vectors.vocabulary)
        assert total == pytest.approx(1)
        assert dict(model.next_word(context, 3))["w0"] == pytest.approx(
            np.exp(model.log_prob([*context, "w0"]).terms[-1])
        )


@pytest.mark.realdata
def test_text_that_was_held_out_is_likelier_than_under_its_unigrams(english):
    """The products of vectors are no PMI and the words of a window are not independent; eq. 8 alone is worse than unigrams."""
    cut = len(english) * 4 // 5
    counts = ft.count(english[:cut], min_count=20)
    vectors = ft.train(counts, "psd", vector_size=100)
    gains = {}
    for name, model in (
        ("default", TextModel(vectors)),
        ("counts", TextModel(vectors, counts, "seen")),
        ("paper", TextModel(vectors, link="paper")),
    ):
        scores = [model.log_prob(document.split()[:60]) for document in english[cut : cut + 25]]
        gains[name] = np.concatenate([score.terms - score.unigram for score in scores]).mean()
    assert gains["default"] > 0.3
    assert gains["counts"] > gains["default"]
    assert gains["paper"] < 0


def test_vectors_without_calibration_take_it_from_the_counts():
    counts = ft.count(corpus(), window=3, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=5)
    stored = TextModel(vectors).log_prob(["w0", "w4", "w8"]).terms
    del vectors.extras["calibration"]
    with pytest.raises(FirthianError, match=r"no calibration .*: train them again, or pass the training counts"):
        TextModel(vectors)
    assert np.allclose(TextModel(vectors, counts).log_prob(["w0", "w4", "w8"]).terms, stored, atol=1e-3)


def test_calibration_finds_the_scale_of_planted_counts():
    """Counts drawn from P(w | c) ∝ P(w)·exp(Σ s_k v_wk v_ck): larger s are found larger."""
    generator = np.random.default_rng(0)
    factor, right = generator.standard_normal((80, 3)), np.array([0.2, 0.7, 1.5])
    share = generator.dirichlet(np.full(80, 5.0))
    joint = np.outer(share, share) * np.exp(factor * right @ factor.T)
    counts = counts_of(generator.multinomial(3_000_000, (joint / joint.sum()).ravel()).reshape(80, 80))
    # The shares of the counts are those of the joint distribution, close to P(w) only for small s.
    found = calibrate(counts, factor, Run())
    assert (np.diff(found) > 0).all()
    assert np.allclose(calibrate(counts, 2 * factor, Run()) * 4, found, atol=0.1)


@pytest.mark.parametrize("window", [1, 3])
def test_drawn_text_has_the_pairs_of_the_model(window):
    texts = corpus(documents=400)
    counts = ft.count(texts, window=window, min_count=1)
    model = TextModel(ft.train(counts, "psd", vector_size=5))
    drawn = model.sample(6000, np.random.default_rng(0))
    assert drawn[:50] == model.sample(50, np.random.default_rng(0))
    ids = model._ids(drawn)
    size = len(model.vectors)
    contexts = [ids[max(0, place - window) : place] for place in range(1, ids.size)]
    chances = np.exp(model._log_probs(contexts))
    # Of each pair (word before, word): how often it was drawn, and what the model expects after the same contexts.
    drawn_pairs, expected, variance = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    np.add.at(drawn_pairs, (ids[:-1], ids[1:]), 1)
    np.add.at(expected, ids[:-1], chances)
    np.add.at(variance, ids[:-1], chances * (1 - chances))
    often = expected > 5
    assert often.sum() > 100
    z = (drawn_pairs - expected)[often] / np.sqrt(variance[often])
    assert np.square(z).mean() == pytest.approx(1, abs=0.25)
    assert np.abs(z).max() < 5


def test_surprising_words_are_those_of_another_topic():
    counts = ft.count(corpus(documents=2000), window=5, min_count=1)
    vectors = ft.train(counts, "psd", vector_size=8)
    score = TextModel(vectors).log_prob(["w0", "w4", "w8", "w12", "w16", "w5", "w20"])
    assert score.surprises(1)[0][0] == "w5"


def test_appendix_a_eigenvectors_see_the_sign_that_svd_loses():
    """The paper's Appendix A: two matrices with the same singular vectors, of which only the first is all positive."""
    attract = scipy.sparse.csr_array(np.array([[1.4, 0.8, 0], [0.8, 2.6, 0], [0, 0, 2]]))
    repel = scipy.sparse.csr_array(np.array([[0.2, -1.6, 0], [-1.6, -2.2, 0], [0, 0, 2]]))
    dots = {}
    for name, matrix in (("attract", attract), ("repel", repel)):
        operator = SparseOperator.of(matrix, symmetric=True)
        left, values, _ = top_singular(operator, 2, Run())
        by_svd = left * np.sqrt(values)
        eigenvalues, vectors = top_eigen(operator, 2, Run())
        by_eigen = vectors * np.sqrt(eigenvalues)
        dots[name] = by_svd[0] @ by_svd[1], by_eigen[0] @ by_eigen[1]
    assert dots["attract"] == pytest.approx((1.2, 1.2))
    assert dots["repel"] == pytest.approx((1.2, -0.4))
