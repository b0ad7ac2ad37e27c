"""The executor of a Ray cluster does what threads do: order, bounds, errors, parts of arrays, arrays sent once."""

from __future__ import annotations

import socket
import sys

import numpy as np
import pytest

from firthian.errors import FirthianError
from firthian.runtime.executor import Part, Threads, constant
from firthian.runtime.run import Run


def test_the_order_of_results(ray_cluster):
    assert list(ray_cluster.map(lambda number: number * number, iter(range(20)))) == [n * n for n in range(20)]
    assert ray_cluster.collect(lambda number: -number, range(20)) == [-n for n in range(20)]
    assert ray_cluster.collect(lambda number: number, []) == []
    kept = list(ray_cluster.map_handles(lambda number: (number, str(number)), range(5), 2))
    assert [(one.get(), two.get()) for one, two in kept] == [(n, str(n)) for n in range(5)]
    again = ray_cluster.map_handles(lambda pair: (pair[0].get() + pair[1].get(),), [(kept[1][0], kept[2][0])], 1)
    assert next(again)[0].get() == 3


def test_only_a_few_items_are_read_ahead(ray_cluster):
    read = []
    results = ray_cluster.map(lambda number: number, (read.append(n) or n for n in range(100)))
    assert next(results) == 0
    assert len(read) <= 2 * ray_cluster.workers + 1
    results.close()


@pytest.mark.parametrize("kind", ["threads", "cluster"])
def test_tasks_write_to_the_parts_they_name(kind, request):
    executor = Threads(2) if kind == "threads" else request.getfixturevalue("ray_cluster")
    run = Run.create(executor=executor)
    rows = 1000
    source = np.arange(3.0 * rows).reshape(rows, 3)
    pointers = np.arange(rows + 1, dtype=np.int64) * 2
    written, updated, pairs = np.empty((rows, 3)), np.ones(rows), np.empty(2 * rows)

    def task(first: int, last: int) -> int:
        written[first:last] = source[first:last] * 2
        updated[first:last] += first
        pairs[pointers[first] : pointers[last]] = np.arange(pointers[first], pointers[last])
        return first

    firsts = run.over_rows(task, rows, 64, writes=[written], updates=[updated], pairs=[pairs], pointers=pointers)
    assert firsts == list(range(0, rows, 64))
    assert (written == source * 2).all()
    assert (updated == 1 + np.repeat(firsts, 64)[:rows]).all()
    assert (pairs == np.arange(2 * rows)).all()


def test_what_is_not_named_cannot_be_written(ray_cluster):
    secret = np.zeros(100_000)

    def task(number: int) -> None:
        secret[number] = 1

    with pytest.raises(Exception, match="read-only"):
        ray_cluster.collect(task, [1, 2, 3])
    assert not secret.any()
    with pytest.raises(ValueError, match="contiguous"):
        ray_cluster.collect(task, [1], [Part(np.zeros((9, 9))[:, :3], lambda number: number)])


def test_constant_arrays_are_sent_once(ray_cluster):
    from firthian.runtime.cluster.shipping import Store

    sent = []
    store = Store(lambda array: sent.append(array.size) or len(sent))
    array = np.arange(5)
    still = constant(array)
    assert store.reference(still) == store.reference(still) == 1
    assert store.reference(array) == 2
    assert store.reference(array) == 3
    assert constant(still) is still
    del still
    assert store._stored == {}


def test_an_error_arrives_as_it_was_raised(ray_cluster):
    def task(number: int) -> int:
        if number == 3:
            raise FirthianError("three is too many", hint="give two")
        return number

    results = ray_cluster.map(task, range(100))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(FirthianError, match="three is too many: give two"):
        next(results)
    with pytest.raises(FirthianError, match="three"):
        ray_cluster.collect(task, range(5))


def test_the_evaluation_of_analogies(ray_cluster):
    import firthian as ft
    from firthian.evaluate import Questions

    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(2500)]
    vectors = ft.Vectors(rng.standard_normal((2500, 10)).astype(np.float32), ft.Vocabulary(words))
    asked = [tuple(words[n] for n in rng.choice(2500, 4, replace=False)) for _ in range(50)]
    questions = Questions("mine", asked, ["all"], [None], np.zeros(50, dtype=np.int64))
    here = ft.evaluate(vectors, "analogy", [questions]).to_dict()
    assert ft.evaluate(vectors, "analogy", [questions], cluster=ray_cluster).to_dict() == here


def test_names_of_clusters(tmp_path, firth):
    (tmp_path / "text.txt").write_text("a b c\n" * 10)
    for name in ("", "local:", "local:many", "local:0", "nonsense", "ray://host", "host:port", "host:99999"):
        outcome = firth("count", tmp_path / "text.txt", "-o", tmp_path / "out", "--cluster", name)
        outcome.complains(f"invalid cluster {name!r}")
    assert [item.name for item in tmp_path.iterdir()] == ["text.txt"]


def test_nobody_answers(tmp_path, firth_process):
    pytest.importorskip("ray")
    (tmp_path / "text.txt").write_text("a b c\n" * 10)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for command, scheme in (("count", ""), ("train", "ray://"), ("compare", "")):
            name, more = f"{scheme}127.0.0.1:{port}", ["-m", "svd"] if command == "compare" else []
            # A process of its own: this one may have joined the cluster of the other tests.
            outcome = firth_process(command, tmp_path / "text.txt", "-o", tmp_path / "out", "--cluster", name, *more)
            outcome.complains(f"no Ray cluster answers at {name}")
    assert [item.name for item in tmp_path.iterdir()] == ["text.txt"]


def test_without_ray(tmp_path, firth, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "text.txt").write_text("a b c\n" * 10)
    firth("train", tmp_path / "text.txt", "-o", tmp_path / "v", "--cluster", "local:2").complains(
        "ray", "pip install 'firthian[cluster]'"
    )
