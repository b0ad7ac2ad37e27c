"""Stochastic inference: a step at full rate is an update of full sweeps; natural parameters round-trip; streams grow."""

from __future__ import annotations

import copy
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.counts.counting import CountingContext, CountJob
from firthian.counts.tokens import Tokens
from firthian.kernels.packing import unpack
from firthian.learn.bayes import model as models
from firthian.learn.bayes import streaming, updates
from firthian.learn.bayes.model import BayesianLogistic, Likelihood, counts_from_matrix
from firthian.learn.bayes.stream import BayesStream
from firthian.learn.recipes import find_recipe
from firthian.runtime.executor import Threads
from firthian.runtime.memory import Problem, check_budget
from firthian.runtime.progress import Silent
from firthian.runtime.run import Run
from firthian.text.spool import tokenize_corpus
from firthian.text.vocabulary import Vocabulary
from firthian.vectors import uncertainty as ask


def batch_of(seed: int, words: int = 20) -> ft.Counts:
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    lines = [" ".join(f"w{k}" for k in random.choice(words, 12, p=weights / weights.sum())) for _ in range(40)]
    names = [f"w{k}" for k in range(words)]
    return ft.count([*lines, " ".join(names)], min_count=1, window=2, vocabulary=names)


def posterior_of(dimension: int, forgetting: float = 1.0, sweeps: int = 3, **options) -> streaming.OnlinePosterior:
    return streaming.OnlinePosterior(Likelihood(**options), dimension, Run.create(), forgetting, sweeps, inner=1)


def test_natural_parameters_of_the_first_batch_are_positive():
    """Precisions minus the priors are sums of squares of the data; wrong priors would make them indefinite."""
    stream = posterior_of(6)
    assert stream.step(batch_of(0)) is None
    # Some dimensions are nearly switched off, so their prior weighs much.
    assert stream.relevance.mean.max() > 10
    for side in (stream.words, stream.contexts):
        least = np.linalg.eigvalsh(unpack(side.half, 6)).min(axis=1)
        assert least.min() > -1e-3


@pytest.mark.parametrize("bound", ["jaakkola", "boehning"])
def test_a_step_at_full_rate_is_a_sweep(bound):
    """The same batch again, at rate 1, stands for twice the counts: temper 2."""
    run, batch = Run.create(), batch_of(1)
    stream = posterior_of(4, forgetting=0.0, bound=bound)
    stream.step(batch)
    state = copy.deepcopy(stream.state)
    state.words.covariances = np.zeros((state.words.rows, 10), np.float32)
    stream.step(batch)
    model = BayesianLogistic(batch, run, temper=2.0, bound=bound)
    masses = model.words.unlisted_mass(run)
    background, _ = updates.update_words(model, state, masses, run)
    updates.update_contexts(model, state, background, run)
    np.testing.assert_allclose(stream.state.words.means, state.words.means, rtol=1e-3, atol=2e-4)
    np.testing.assert_allclose(stream.state.contexts.means, state.contexts.means, rtol=1e-3, atol=2e-4)
    found = stream.final_state(calibrate=False).words.covariances
    np.testing.assert_allclose(found, state.words.covariances, rtol=1e-3, atol=1e-5)


def test_small_batches_get_more_rounds():
    def rounds(inner: int | str, tokens: int) -> int:
        posterior = streaming.OnlinePosterior(Likelihood(), 2, Run.create(), 1.0, 1, inner)
        matrix = batch_of(0).to_scipy()
        words = Vocabulary([f"w{k}" for k in range(20)], [tokens // 20] * 20)
        return posterior.rounds(counts_from_matrix(matrix, words, batch_of(0).options))

    assert [rounds("auto", tokens) for tokens in (1000, 190_000, 200_000, 10**7)] == [4, 4, 2, 2]
    assert rounds(3, 1000) == rounds(3, 10**7) == 3


def test_words_missing_from_a_batch_keep_their_vectors():
    stream = posterior_of(3, sweeps=2)
    stream.step(batch_of(0))
    before = stream.state.words.means.copy()
    only = ft.count(["w0 w1 w2 w1 w0 w2"] * 5, min_count=1, window=2, vocabulary=[f"w{k}" for k in range(20)])
    grown = stream.words.mass.copy()
    # Words of a fixed list that do not occur are absent: put the batch back on the stream's own numbering.
    matrix = np.zeros((20, 20))
    places = [batch_of(0).vocabulary[word] for word in only.vocabulary.words]
    matrix[np.ix_(places, places)] = only.to_scipy().toarray()
    import scipy.sparse

    stream.step(counts_from_matrix(scipy.sparse.csr_array(matrix), batch_of(0).vocabulary, only.options))
    moved = np.abs(stream.state.words.means - before).max(axis=1) > 1e-3
    assert set(np.flatnonzero(moved)) == set(places)
    assert np.array_equal(np.flatnonzero(stream.words.mass > grown), np.sort(places))


def test_several_batches_are_nearly_as_good_as_one():
    random = np.random.default_rng(0)
    topics = random.integers(6, size=900)
    lines = [" ".join(f"t{topic}w{k}" for k in random.integers(5, size=12)) for topic in topics]
    counting = {"min_count": 1, "sample": 0.0}
    vectors = ft.train(lines, "bayes-svi", vector_size=6, counting=counting, batch_tokens=2000)
    assert vectors.provenance.stats["batches"] > 3
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    topic = np.array([word[:2] for word in vectors.vocabulary.words])
    same = topic[:, None] == topic[None, :]
    cosines = unit @ unit.T
    assert cosines[same].min() > cosines[~same].max()
    scores = vectors.provenance.objective
    assert np.mean(scores[-3:]) > np.mean(scores[:1]) - 0.05


def test_large_batches_have_the_requested_number_of_tokens(monkeypatch):
    """A segment of the text is smaller than they are."""
    monkeypatch.setattr(models, "SMALL_BATCH", 1000)
    job = CountJob.create(["a b c d e f g h"] * 1000, min_count=1, window=2)
    how = CountingContext(Threads(2), check_budget(None), Silent())
    with tempfile.TemporaryDirectory() as folder:
        spool = tokenize_corpus(job.corpus, job.tokenizer, Path(folder), how.executor, how.progress, segment_bytes=4000)
        words = Vocabulary(list("abcdefgh"), [1000] * 8)
        tokens = Tokens(spool, words, job.options, {}, how.executor, keep=True)
        sizes, masses = {}, {}
        for asked in (100, 1000, 1001, 2000, 5000, 10**6):
            batches = list(models.StreamedLogistic(tokens, Run(), batch_tokens=asked).batches())
            sizes[asked] = [int(batch.vocabulary.counts.sum()) for batch in batches]
            masses[asked] = sum(batch.total for batch in batches)
    assert {sum(found) for found in sizes.values()} == {8000}
    assert len(set(masses.values())) == 1
    # those up to the usual size are parts of one segment of 2,000 tokens
    assert 80 <= len(sizes[100]) <= 90
    assert 4 <= len(sizes[1000]) <= 9
    # ends of documents count as places of the text: one after eight words
    for asked in (1001, 2000, 5000):
        assert all(0.7 * asked <= size < 0.9 * asked + 2000 for size in sizes[asked][:-1])
    assert sizes[10**6] == [8000]


def test_larger_batches_need_more_memory():
    recipe, problem = find_recipe("bayes-svi"), Problem(1000, 0, 50, 10**8)
    usual, small, least, large = (
        recipe.memory_for(recipe.settings(given)).needed(problem)
        for given in ({}, {"batch_tokens": 1000}, {"batch_tokens": 10**6}, {"batch_tokens": 10**7})
    )
    # a segment of the text is in memory, whatever the batch
    assert small == least < usual
    assert large > usual + 10**9


def test_a_text_that_is_read_twice_is_not_twice_as_much_text():
    lines = [line for seed in range(4) for line in documents(seed)]
    counting = {"min_count": 1, "sample": 0.0}
    once, thrice = (
        ft.train(lines, "bayes-svi", vector_size=2, counting=counting, batch_tokens=600, epochs=epochs)
        for epochs in (1, 3)
    )
    relative = [ask.uncertainty(vectors, "t0w0").relative for vectors in (once, thrice)]
    # three times the events would make it 1/sqrt(3)
    assert 0.8 < relative[1] / relative[0] < 1.25


def test_weights_that_only_counting_knows_are_refused():
    counting = {"min_count": 1, "sample": 0.1, "sample_mode": "expected"}
    with pytest.raises(ft.FirthianError, match="sample_mode=expected"):
        ft.train(["a b c a b"] * 9, "bayes-svi", vector_size=2, counting=counting)


def test_no_negative_events_is_refused():
    with pytest.raises(ft.FirthianError, match="vectors are all alike"):
        ft.train(["a b c a b"] * 9, "bayes-svi", vector_size=2, negative=0)


def documents(seed: int, topics: int = 3, extra: str = "") -> list[str]:
    random = np.random.default_rng(seed)
    return [
        " ".join(f"t{topic}w{k}" for k in random.integers(4, size=10)) + extra
        for topic in random.integers(topics, size=120)
    ]


def test_new_words_and_contexts_have_their_priors():
    stream = posterior_of(6)
    stream.step(batch_of(0))
    stream._make_room(stream.words.mass.size + 2)
    for side, precision in ((stream.words, np.ones(6)), (stream.contexts, stream.relevance.mean)):
        assert not side.means[-2:].any()
        moments = unpack(side.moments[-1:, :21], 6)[0]
        np.testing.assert_allclose(moments, np.diag(1 / precision), rtol=1e-6)
    # what is known of them is nothing, so recomputed posteriors are the same
    stream.lift = np.ones(stream.words.mass.size)
    final = stream.final_state()
    np.testing.assert_allclose(unpack(final.words.covariances[-1:], 6)[0], np.eye(6), rtol=1e-6)


def test_priors_of_new_words_improve_the_score_of_the_text_after_them(monkeypatch):
    """A variance of 1 for contexts, in a basis where ARD holds most dimensions far narrower, is noise for all words."""

    def scores():
        stream = BayesStream(vector_size=6, min_count=3, window=2)
        for seed, topics in enumerate((3, 6, 6, 6)):
            stream.partial_fit(documents(seed, topics))
        return stream.scores

    honest = scores()
    start = streaming.Side.of
    monkeypatch.setattr(streaming.Side, "of", lambda means, variance, curved: start(means, 1.0, curved))
    assert np.mean(honest[1:]) > np.mean(scores()[1:])


def test_a_stream_adds_new_words_and_resumes(tmp_path):
    whole = BayesStream(vector_size=4, min_count=3, window=2)
    for part in (documents(0), documents(1, 5)):
        whole.partial_fit(part)
    broken = BayesStream(vector_size=4, min_count=3, window=2).partial_fit(documents(0))
    assert len(broken.vectors()) == 12
    broken.save(tmp_path / "stream")
    resumed = BayesStream.load(tmp_path / "stream", seed=1).partial_fit(documents(1, 5))
    assert len(resumed.vectors()) == 20
    assert resumed.vectors().matrix.tobytes() == whole.vectors().matrix.tobytes()
    assert resumed.vectors().extras["covariances"].tobytes() == whole.vectors().extras["covariances"].tobytes()
    with pytest.raises(ft.FirthianError, match="was started with seed 1, not 2"):
        BayesStream.load(tmp_path / "stream", seed=2)


def test_a_rejected_first_batch_leaves_no_trace():
    once, again = (BayesStream(vector_size=4, min_count=3, window=2) for _ in range(2))
    with pytest.raises(ft.FirthianError, match="the first batch has 1 words"):
        again.partial_fit(["t0w0 t0w0 t0w0"])
    for stream in (once, again):
        stream.partial_fit(documents(0))
    assert again.tokens == once.tokens == 1200
    assert again.vectors().vocabulary == once.vectors().vocabulary


def test_batches_without_words_do_not_end_a_stream(tmp_path):
    """Empty lines in the middle, and a row of stars that is all the last batch holds."""
    from firthian.learn.bayes.model import read_batches
    from firthian.learn.bayes.stream import follow, stream_settings
    from firthian.text.readers import open_corpus

    lines = [*documents(0), *[""] * 1200, *documents(1), "* * *"]
    assert [set(batch) for batch in read_batches(open_corpus(lines), 1200)][1::2] == [{""}, {"* * *"}]
    settings = stream_settings(
        find_recipe("bayes-svi"), {"batch_tokens": 1200}, {"min_count": 3, "window": 2, "sample": 0.0}, 4, 1
    )
    assert follow(open_corpus(lines), tmp_path / "stream", settings).tokens == 2400
    assert BayesStream.load(tmp_path / "stream").tokens == 2400


def test_more_data_makes_words_more_certain():
    stream = BayesStream(vector_size=2, min_count=3, window=2).partial_fit(documents(0))
    before = stream.vectors()
    for seed in (1, 2, 3):
        stream.partial_fit(documents(seed))
    after = stream.vectors()
    relative = [ask.uncertainty(vectors, "t0w0").relative for vectors in (before, after)]
    assert relative[1] < 0.8 * relative[0]


@pytest.fixture
def feed(firth, tmp_path, monkeypatch):
    """Run a command in an empty folder, with a text as its standard input."""
    monkeypatch.chdir(tmp_path)

    def run(text, *arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return firth(*arguments)

    return run


def test_the_command_learns_from_a_stream_and_resumes_it(feed, tmp_path):
    """Two runs give the bytes of one; another seed, setting or kind of folder is rejected."""
    command = ["train", "-", "-m", "bayes-svi", "--dim", "4", "--min-count", "3", "--window", "2", "--sample", "0"]
    command += ["--set", "batch_tokens=1200"]
    first, second = documents(0), documents(1, 5)
    texts = ["\n".join(lines) + "\n" for lines in (first, second)]
    for number, text in enumerate(texts):
        done = feed(text, *command, "--stream", "parts", "-o", f"v{number}")
        assert done.code == 0, done.err
    one, two = (ft.Vectors.load(tmp_path / f"v{number}") for number in (0, 1))
    assert len(two) == 20 > len(one) == 12
    whole = BayesStream(
        vector_size=4, min_count=3, window=2, population=0, counting={"weighting": "dynamic", "sample": 0.0}
    )
    for part in (first, second):
        whole.partial_fit(part)
    assert whole.vectors().matrix.tobytes() == two.matrix.tobytes()
    for change, message in (
        (["--seed", "2"], "started with seed 1, not 2"),
        (["--window", "3"], "started with --window 2, not 3"),
    ):
        done = feed(texts[0], *command, *change, "--stream", "parts", "-o", "v2")
        assert done.code == 2
        assert message in done.err
    assert "exists but is not a stream" in feed(texts[0], *command, "--stream", "v0", "-o", "v2").err
    feed("\n\n", *command, "--stream", "none", "-o", "v2").complains("the stream contained no words")
    feed(texts[0], *command, "--stream", "parts", "-o", "v1").complains("v1")
    assert not (tmp_path / "none").exists()


def test_a_stream_that_ends_early_is_reported_and_saved(tmp_path, feed):
    command = [
        "train",
        "-",
        "-m",
        "bayes-svi",
        "--dim",
        "3",
        "--min-count",
        "3",
        "--sample",
        "0",
        "--stream",
        "s",
        "-o",
        "v",
    ]
    done = feed("\n".join(documents(0)), *command, "--set", "population=5000")
    assert "the stream ended after 1,200 of 5,000 tokens" in done.out
    # Cut short in the middle of a compressed file: an error, with what came before kept.
    random = np.random.default_rng(5)
    long = "\n".join(" ".join(f"w{k}" for k in random.integers(40, size=30)) for _ in range(14_000)).encode()
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(long)[:-2000])
    command[1], command[-3] = "cut.txt.gz", "cut"
    done = feed("", *command, "--set", "batch_tokens=50000", "--force")
    assert done.code == 2
    assert "truncated" in done.err
    assert BayesStream.load(tmp_path / "cut").tokens > 50_000


@pytest.mark.parametrize(("given", "message"), [
    (["-m", "svd"], "svd cannot learn from a stream"),
    (["-m", "bayes-svi", "--epochs", "2"], "a stream is read only once"),
    (["-m", "bayes-svi", "--max-vocab", "5"], "--max-vocab needs the whole text"),
    (["-m", "bayes-svi", "--dim", "auto"], "bayes-svi cannot choose --dim"),
    (["-m", "bayes-svi", "--negative", "0"], "without negative events"),
    (["-m", "bayes-svi", "--resume"], "--resume has no effect on a stream"),
    (["-m", "bayes-svi", "--memory", "1GB"], "--memory has no effect on a stream"),
    (["-m", "bayes-svi", "--checkpoint-every", "5"], "--checkpoint-every has no effect on a stream"),
])  # fmt: skip
def test_unsupported_settings_of_a_stream_are_rejected(feed, given, message):
    feed("a b\n", "train", "-", *given, "--stream", "s", "-o", "v").complains(message)


def test_bytes_that_are_not_utf8_in_a_stream(tmp_path):
    """With ``strict`` they are an error that names the line, otherwise they are replaced."""
    from firthian.learn.bayes.model import read_batches
    from firthian.text.readers import open_corpus

    (tmp_path / "latin1.txt").write_bytes(b"a b c\n" * 70 + b"caf\xe9\nd\n")
    corpus = open_corpus(tmp_path / "latin1.txt")
    assert [line for batch in read_batches(corpus, 10) for line in batch][70:] == ["caf\ufffd", "d"]
    with pytest.raises(ft.FirthianError, match="line 71 of the stream: a byte is not UTF-8"):
        list(read_batches(corpus, 10, strict=True))


def test_replaced_bytes_in_a_stream_are_reported(firth, tmp_path):
    (tmp_path / "latin1.txt").write_bytes("\n".join(documents(0)).encode() + b" caf\xe9 \xff\xfe\n")
    command = [
        "train",
        tmp_path / "latin1.txt",
        "-m",
        "bayes-svi",
        "--dim",
        "4",
        "--min-count",
        "3",
        "--stream",
        tmp_path / "s",
    ]
    assert "replaced 3 bytes that are not UTF-8" in firth(*command, "-o", tmp_path / "v").out


def test_a_stopped_stream_saves_the_batch(tmp_path):
    from firthian.disk.stopping import Interrupted, Stop
    from firthian.learn.bayes.stream import follow, stream_settings
    from firthian.text.readers import open_corpus

    settings = stream_settings(
        find_recipe("bayes-svi"), {"batch_tokens": 300}, {"min_count": 3, "window": 2, "sample": 0.0}, 4, 1
    )
    stop = Stop()
    stop.requested = 15
    with pytest.raises(Interrupted, match="signal 15"):
        follow(open_corpus(documents(0)), tmp_path / "stream", settings, stop=stop)
    kept = BayesStream.load(tmp_path / "stream")
    assert 300 <= kept.tokens < 700


def test_documents_in_batches_lose_nothing():
    from firthian.learn.bayes.model import read_batches
    from firthian.text.readers import open_corpus

    lines = [*documents(3), "one " * 3000]
    batches = list(read_batches(open_corpus(lines), 200))
    assert " ".join(" ".join(batch) for batch in batches).split() == " ".join(lines).split()
    assert len(batches) > 5


def test_an_empty_or_too_small_stream_is_an_error(tmp_path):
    stream = BayesStream(vector_size=30, min_count=2)
    for call in (stream.vectors, lambda: stream.save(tmp_path / "x")):
        with pytest.raises(ft.FirthianError, match="nothing has been learned yet"):
            call()
    with pytest.raises(ft.FirthianError, match="the first batch has 2 words that occur 2 times, fewer than the 30"):
        stream.partial_fit(["a b", "a b"])
    assert stream.tokens == 0, "a batch that is refused has not been seen"
    whole = BayesStream(vector_size=2, min_count=1, window=2)
    again = BayesStream(vector_size=2, min_count=1, window=2)
    with pytest.raises(ft.FirthianError, match="the first batch has 1 words"):
        again.partial_fit(["a a a"])
    for one in (whole, again):
        one.partial_fit(["a b c a c"] * 9)
    assert again.vectors().vocabulary == whole.vectors().vocabulary


def test_a_document_is_not_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("secret content\n")
    stream = BayesStream(vector_size=2, min_count=1, window=2)
    stream.partial_fit([*["tea with milk", "coffee with milk"] * 20, "-", ".", "mine"])
    stream.partial_fit(["mine"] * 3)
    assert "mine" in stream.vectors().vocabulary
    assert "secret" not in stream.vectors().vocabulary


def test_vectors_of_a_stream_are_in_the_order_of_counts_and_know_their_tokenizer():
    from firthian.vectors.documents import tokenizer_of

    stream = BayesStream(vector_size=2, min_count=1, window=2, counting={"tokenizer": "whitespace", "keep_case": True})
    stream.partial_fit(["Tea. with, milk", "Coffee. with, milk"] * 20)
    before = stream.vectors()
    vectors = stream.partial_fit(["zebra zebra zebra Tea."] * 200).vectors()
    assert list(zip(vectors.vocabulary.words, vectors.vocabulary.counts.tolist(), strict=True)) == [
        ("zebra", 600), ("Tea.", 220), ("milk", 40), ("with,", 40), ("Coffee.", 20),
    ]  # fmt: skip
    assert not vectors.provenance.transforms
    assert tokenizer_of(vectors).tokens("Tea. with, milk") == ["Tea.", "with,", "milk"]
    # Rows went with their words: the posteriors, in the stream's own order, are the same.
    order = [vectors.vocabulary[word] for word in stream._words]
    wanted = streaming.online_solution(stream._stream, stream.scores, 0.25, False)
    assert np.array_equal(vectors.matrix[order], wanted.words)
    assert np.array_equal(vectors.contexts[order], wanted.contexts)
    for name, array in wanted.extras.items():
        if array.shape[:1] == (5,):
            assert np.array_equal(vectors.extras[name][order], array), name
    assert before.provenance.counts["settings"]["min_count"] == 1


def test_batches_have_the_requested_size(tmp_path):
    from firthian.learn.bayes.model import read_batches
    from firthian.text.readers import open_corpus

    (tmp_path / "text").write_text("one two three four five\n" * 100_000)
    sizes = [5 * len(batch) for batch in read_batches(open_corpus(tmp_path / "text"), 10_000)]
    assert sizes == [10_000] * 50


def test_two_processes_cannot_follow_one_stream(tmp_path):
    from firthian.learn.bayes.stream import follow, stream_settings
    from firthian.learn.recipes import find_recipe
    from firthian.text.readers import open_corpus

    settings = stream_settings(find_recipe("bayes-svi"), {}, {"min_count": 3, "window": 2, "sample": 0.0}, 4, 1)

    class Second:
        """Documents that come while another command begins with the same folder."""

        tokenized = False

        def pieces(self):
            with pytest.raises(ft.FirthianError, match="stream is being written by another process"):
                follow(open_corpus(documents(1)), tmp_path / "stream", settings)
            yield from open_corpus(documents(0)).pieces()

    follow(Second(), tmp_path / "stream", settings)
    assert follow(open_corpus(documents(1)), tmp_path / "stream", settings).tokens == 2400
    assert [item.name for item in tmp_path.iterdir()] == ["stream"]
