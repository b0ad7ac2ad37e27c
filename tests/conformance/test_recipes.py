"""Every recipe goes through the same tests; a new one is included by being in the table of recipes."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.learn.forecast import forecast
from firthian.learn.recipes import RECIPES, Recipe, find_recipe

NAMES = [recipe.name for recipe in RECIPES]

#: More than 5, because the association of a topic's words is log TOPICS and some recipes subtract log 5.
TOPICS = 8
WORDS_A_TOPIC = 6
DIMENSION = 8


def corpus() -> list[str]:
    """Return sentences of one topic each: words of different topics never co-occur."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(2, WORDS_A_TOPIC + 2)
    shares /= shares.sum()
    return [
        " ".join(f"t{topic}w{word}" for word in rng.choice(WORDS_A_TOPIC, size=15, p=shares))
        for topic in rng.integers(TOPICS, size=400)
    ]


def fit(recipe: Recipe, text: list[str], dimension: int = DIMENSION, **arguments):
    """Train from counts, tokens or vectors, whichever the recipe needs."""
    size = dimension if recipe.dimension else None
    if recipe.source == "vectors":
        return ft.train(given(tuple(text)), recipe.name, vector_size=size, **arguments)
    # Frequent words are sub-sampled in real corpora; here every word is frequent.
    return ft.train(text, recipe.name, vector_size=size, counting={"min_count": 1, "sample": 0.0}, **arguments)


@functools.cache
def given(text: tuple[str, ...]):
    words = len({word for line in text for word in line.split()})
    return ft.train(list(text), "svd", vector_size=min(DIMENSION, words), counting={"min_count": 1, "sample": 0.0})


def dense(vectors) -> np.ndarray:
    matrix = vectors.matrix
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def fingerprint(vectors) -> bytes:
    """Every byte of the result."""
    parts = [dense(vectors).tobytes()]
    if vectors.contexts is not None:
        parts.append(np.asarray(vectors.contexts).tobytes())
    parts += [name.encode() + np.asarray(array).tobytes() for name, array in sorted(vectors.extras.items())]
    return b"|".join(parts)


@functools.cache
def fitted(name: str):
    return fit(find_recipe(name), corpus())


def test_names_and_aliases_are_unique_and_rows_complete():
    names = [name for recipe in RECIPES for name in (recipe.name, *recipe.aliases)]
    assert len(names) == len(set(names))
    for recipe in RECIPES:
        assert recipe.summary
        assert recipe.paper
        assert recipe.source in ("counts", "tokens", "vectors")
        assert all(option.help for option in recipe.options.values())
        defaults = {option.name: option.default for option in recipe.options.values()}
        assert recipe.settings({}) == {**recipe.fixed, **defaults}


@pytest.mark.parametrize("name", NAMES)
def test_it_fits(name):
    vectors = fitted(name)
    matrix = dense(vectors)
    assert matrix.dtype == np.float32
    assert matrix.shape[0] == len(vectors) == TOPICS * WORDS_A_TOPIC
    assert np.isfinite(matrix).all()
    if find_recipe(name).dimension:
        assert matrix.shape[1] == DIMENSION
    record = vectors.provenance.to_dict()
    assert record["recipe"] == name
    assert record["vector_size"] == matrix.shape[1]
    assert record["status"] in ("exact", "converged", "stopped")
    assert set(record["options"]) == {*find_recipe(name).options, *find_recipe(name).fixed}


@pytest.mark.parametrize("name", NAMES)
def test_words_of_a_topic_are_similar(name):
    vectors = fitted(name)
    matrix = dense(vectors).astype(np.float64)
    matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    topic = np.array([word[:2] for word in vectors.vocabulary.words])
    same = topic[:, None] == topic[None, :]
    off = ~np.eye(len(topic), dtype=bool)
    cosines = matrix @ matrix.T
    assert cosines[same & off].mean() > cosines[~same].mean() + 0.05


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_back_from_disk_with_its_neighbors(name, tmp_path):
    vectors = fitted(name)
    vectors.save(tmp_path / "v")
    loaded = ft.load(tmp_path / "v")
    assert fingerprint(loaded) == fingerprint(vectors)
    assert loaded.vocabulary == vectors.vocabulary
    assert loaded.provenance.to_dict() == json.loads(json.dumps(vectors.provenance.to_dict()))
    assert loaded.state == vectors.state
    for word in vectors.vocabulary.words[:3]:
        near = loaded.most_similar(word, topn=3)
        assert len(near) == 3
        assert word not in dict(near)
        assert near == vectors.most_similar(word, topn=3)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_gives_the_same_bytes_for_any_number_of_workers(name):
    wanted = fingerprint(fitted(name))
    for workers in (1, 2):
        assert fingerprint(fit(find_recipe(name), corpus(), workers=workers)) == wanted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [["a b"], ["a b c a b c c"]], ids=["two words", "three words"])
def test_a_tiny_vocabulary_works_or_raises(name, text):
    works_or_raises(find_recipe(name), text, 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [["a"], ["a a a"]], ids=["one token", "one word"])
def test_one_word_works_or_raises(name, text):
    works_or_raises(find_recipe(name), text, 1)


def works_or_raises(recipe: Recipe, text: list[str], dimension: int) -> None:
    raised = None
    try:
        vectors = fit(recipe, text, dimension)
    except FirthianError as error:
        raised = error
    if raised is not None:
        assert raised.message
        assert raised.hint
        return
    assert np.isfinite(dense(vectors)).all()
    assert len(vectors) == len(set(text[0].split()))


@pytest.mark.parametrize("name", NAMES)
def test_a_word_without_neighbors_does_no_harm(name):
    vectors = fit(find_recipe(name), [*corpus(), "lonely"])
    assert "lonely" in vectors.vocabulary
    assert np.isfinite(dense(vectors)).all()


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if recipe.dimension])
def test_more_dimensions_than_words_are_refused(name):
    with pytest.raises(FirthianError, match="larger than the vocabulary"):
        fit(find_recipe(name), corpus(), TOPICS * WORDS_A_TOPIC + 1)


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if not recipe.dimension])
def test_a_dimension_that_cannot_be_chosen_is_refused(name):
    with pytest.raises(FirthianError, match="omit vector_size"):
        ft.train(corpus(), name, vector_size=5, counting={"min_count": 1})


@pytest.mark.parametrize("name", NAMES)
def test_options_are_checked(name):
    with pytest.raises(FirthianError, match="has no option"):
        find_recipe(name).settings({"no_such_option": 1})
    for option in find_recipe(name).options.values():
        if isinstance(option.default, int | float) and not isinstance(option.default, bool):
            with pytest.raises(FirthianError, match=option.name):
                option.check("much")
            if np.isfinite(option.low):
                with pytest.raises(FirthianError, match=option.name):
                    option.check(option.low - 1)
            for odd in ("inf", float("inf"), float("nan"), True, *([] if option.optional else [None])):
                with pytest.raises(FirthianError, match=option.name):
                    option.check(odd)
    nothing = dict.fromkeys(find_recipe(name).options)
    assert find_recipe(name).settings(nothing) == find_recipe(name).settings({})


@pytest.mark.parametrize(
    ("recipe", "idle", "other"),
    [
        ("sgns", {"damping": 0.2}, {"step": "newton"}),
        ("sgns", {"prior_events": 5}, {"step": "newton"}),
        ("tweedie", {"cg_steps": 3}, {"solver": "adagrad"}),
        ("poisson", {"cg_steps": 3}, {"solver": "adagrad"}),
    ],
)
def test_options_without_effect_are_refused(recipe, idle, other):
    chosen = find_recipe(recipe)
    (name,), (switch,) = idle, other
    with pytest.raises(FirthianError, match=rf"{name} has no effect with {switch}=\w+: omit it, or use {switch}="):
        chosen.settings({**idle, **other})
    assert chosen.settings(idle)[name] == idle[name]
    # as a record has them: all options, most of them at their defaults
    everything = chosen.settings(other)
    assert chosen.settings(everything) == everything


def test_options_that_depend_on_another_name_an_existing_one():
    for recipe in RECIPES:
        for option in recipe.options.values():
            if option.only_with is not None and option.only_with[0] in recipe.options:
                other, value = option.only_with
                assert value in recipe.options[other].choices
    assert find_recipe("semf").settings({"damping": 0.5})["damping"] == 0.5


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if recipe.source == "vectors"])
def test_recipes_of_vectors_take_vectors_or_their_path(name, tmp_path):
    pytest.importorskip("firthian.vectors.formats")
    with pytest.raises(FirthianError, match="learns from vectors"):
        ft.train(corpus(), name, vector_size=4)
    vectors = given(tuple(corpus()))
    vectors.save(tmp_path / "vectors")
    again = ft.train(tmp_path / "vectors", name, vector_size=DIMENSION)
    assert fingerprint(again) == fingerprint(fitted(name))
    assert again.provenance.vectors["recipe"] == "svd"


@pytest.mark.parametrize("name", NAMES)
def test_a_dry_run_knows_every_recipe(name):
    recipe = find_recipe(name)
    size = DIMENSION if recipe.dimension else None
    if recipe.source == "vectors":
        with pytest.raises(FirthianError, match="learns from vectors"):
            forecast(corpus(), name, vector_size=size)
        return
    found = forecast(corpus(), name, vector_size=size)
    assert found.minimum_budget > 0
    if found.training is not None and "epochs" in recipe.options:
        # more epochs take longer, also where the usual number depends on the text
        assert forecast(corpus(), name, vector_size=size, epochs=100).training.seconds > found.training.seconds


@pytest.mark.parametrize("name", [recipe.name for recipe in RECIPES if recipe.source != "vectors"])
def test_text_without_pairs_is_refused(name):
    with pytest.raises(FirthianError, match="no pairs of words"):
        fit(find_recipe(name), [f"w{number}" for number in range(40)], dimension=1)
