"""How a corpus is cut, and by how many workers and in how much memory it is counted, changes no byte."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian.counts import counting, streams
from firthian.counts.counting import CountingContext, CountJob, run_job
from firthian.counts.counts import Counts, write_counts
from firthian.counts.rows import RowBlock, count_blocks
from firthian.counts.settings import WindowSettings
from firthian.runtime.executor import Threads
from firthian.runtime.progress import Silent
from firthian.text import spool
from firthian.text.types import NoWordsLeftError
from firthian.text.vocabulary import Vocabulary
from tests.counts.jobs import as_dict, count_with

Bytes = Callable[[Path], dict[str, bytes]]

WORDS = ["a", "bb", "ccc", "dddd", "éé", "日本", "don't"]
documents_ = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=15).filter(any)


@settings(max_examples=60)
@given(
    documents_,
    st.integers(10, 60),
    st.integers(1, 40),
    st.integers(1, 3),
    st.sampled_from([{}, {"sample": 0.1}, {"keep_positions": True, "min_count": 2, "window": 2}, {"window": 30}]),
)
def test_segments_groups_and_workers(
    folder_bytes: Bytes,
    documents: list[str],
    segment_bytes: int,
    group_tokens: int,
    workers: int,
    options: dict[str, Any],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            count_with(documents, folder / "whole", workers=1, **options)
        except NoWordsLeftError:
            return
        count_with(
            documents,
            folder / "cut",
            workers=workers,
            segment_bytes=segment_bytes,
            group_tokens=group_tokens,
            **options,
        )
        assert folder_bytes(folder / "whole") == folder_bytes(folder / "cut")
        assert sorted(item.name for item in folder.iterdir()) == ["cut", "whole"]


def test_a_group_filled_by_ends_of_documents_is_not_the_whole_corpus(tmp_path: Path, folder_bytes: Bytes) -> None:
    documents = ["a b"] * 50
    count_with(documents, tmp_path / "whole")
    count_with(documents, tmp_path / "cut", segment_bytes=16, group_tokens=100)
    assert folder_bytes(tmp_path / "whole") == folder_bytes(tmp_path / "cut")


def test_more_runs_than_may_be_open(tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [f"a b w{number % 7} c w{number % 3}" for number in range(60)]
    count_with(documents, tmp_path / "whole", window=2)
    monkeypatch.setattr(counting, "OPEN_RUNS", 3)
    count_with(documents, tmp_path / "cut", segment_bytes=24, group_tokens=1, window=2)
    assert folder_bytes(tmp_path / "whole") == folder_bytes(tmp_path / "cut")


def test_no_stream_is_longer_than_its_positions_can_say(
    tmp_path: Path, folder_bytes: Bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [f"a b w{number % 7} c w{number % 3}" for number in range(60)]
    count_with(documents, tmp_path / "whole", window=2)
    monkeypatch.setattr(streams, "LONGEST_STREAM", 60)
    seen = []

    def counted(stream: Any, *others: Any) -> Any:
        seen.append(stream.size)
        return count_blocks(stream, *others)

    monkeypatch.setattr(counting, "count_blocks", counted)
    count_with(documents, tmp_path / "cut", segment_bytes=100, window=2)
    assert len(seen) > 3
    assert max(seen) <= 60
    assert folder_bytes(tmp_path / "whole") == folder_bytes(tmp_path / "cut")


def test_a_small_budget_has_few_workers_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes up to sixteen times its text; with many workers that was more than the whole budget."""
    guard, now, most = threading.Lock(), 0, 0
    tokenize = spool.tokenize_segment

    def watched(*given: Any) -> Any:
        nonlocal now, most
        with guard:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with guard:
            now -= 1
        return tokenize(*given)

    monkeypatch.setattr(spool, "tokenize_segment", watched)
    job = CountJob.create(["a b c d"] * 200, min_count=1)
    for budget, wanted in ((256 * 10**6, 1), (1200 * 10**6, 15)):
        most = 0
        how = CountingContext(Threads(16), budget, Silent(), 24)
        run_job(job, tmp_path / str(budget), how)
        assert most <= how.readers.workers <= wanted
        assert how.rereaders.workers == max(1, wanted // 4)


def test_sums_that_floats_do_not_hold_are_written_as_they_come(tmp_path: Path) -> None:
    options = WindowSettings(window=3, weighting="harmonic")
    words, pairs = 200, 20_000
    vocabulary = Vocabulary([f"w{number}" for number in range(words)], [9] * words)

    def blocks() -> Iterator[RowBlock]:
        for _ in range(words):
            columns = np.arange(words, dtype=np.int32).repeat(pairs // words)
            yield RowBlock(np.array([pairs]), columns, np.full(pairs, 2**40 + 1))

    # Kernels are compiled before memory is watched.
    write_counts(tmp_path, iter([next(blocks())]), Vocabulary(["w0"], [9]), options, {})
    tracemalloc.start()
    try:
        write_counts(tmp_path, blocks(), vocabulary, options, {})
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 16 bytes for each of four million sums would be 64 MB.
    assert (tmp_path / "exact_sums.safetensors").stat().st_size > 30_000_000
    assert taken < 5_000_000


@given(documents_, st.data())
@settings(max_examples=30)
def test_split_into_files(documents: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(documents)), max_size=4)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = folder / "whole.txt"
        whole.write_text("".join(f"{document}\n" for document in documents))
        files = []
        for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, len(documents)], strict=True)):
            files.append(folder / f"{number}.txt")
            # The last line of a file need not end with a newline.
            files[-1].write_text("\n".join(documents[low:high]))
        one = ft.count(whole, min_count=1)
        several = ft.count(files, min_count=1)
        assert one.vocabulary == several.vocabulary
        assert as_dict(one) == as_dict(several)
        assert np.array_equal(one.row_sums, several.row_sums)
        assert one.record["corpus"]["documents"] == several.record["corpus"]["documents"]


@given(documents_, st.data(), st.sampled_from(["flat", "harmonic", "dynamic"]))
@settings(max_examples=40)
def test_merging_is_counting_together(documents: list[str], data: st.DataObject, weighting: str) -> None:
    cut = data.draw(st.integers(0, len(documents)))
    parts = [part for part in (documents[:cut], documents[cut:]) if any(part)]
    options: dict[str, Any] = {"min_count": 1, "window": 3, "weighting": weighting}
    whole = ft.count(documents, **options)
    merged = ft.merge([ft.count(part, **options) for part in parts] + [ft.count(["a"], **options)])
    extra = ft.count([*documents, "a"], **options)
    assert merged.vocabulary == extra.vocabulary
    assert as_dict(merged) == as_dict(extra) == as_dict(whole) | as_dict(extra)
    for name in ("row_sums", "column_sums", "indptr", "indices", "values"):
        assert np.array_equal(getattr(merged, name), getattr(extra, name)), name


def stored(folder: Path, sums: list[int], dtype: str) -> Counts:
    """Counts of two words with the given integer sums for (a, a), (a, b), (b, a), (b, b)."""
    options = WindowSettings(window=3, weighting="harmonic", dtype=dtype)
    block = RowBlock(np.array([2, 2]), np.array([0, 1, 0, 1], dtype=np.int32), np.array(sums, dtype=np.int64))
    folder.mkdir()
    write_counts(folder, iter([block]), Vocabulary(["a", "b"], [9, 9]), options, {})
    return Counts.load(folder)


@given(st.lists(st.integers(1, 2**60), min_size=8, max_size=8), st.sampled_from(["float32", "float64"]))
def test_merging_is_exact_where_floats_are_not(sums: list[int], dtype: str) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        one, two = stored(folder / "1", sums[:4], dtype), stored(folder / "2", sums[4:], dtype)
        merged = ft.merge([one, two], folder / "3")
        assert merged.integer_sums(0, 4).tolist() == [a + b for a, b in zip(sums[:4], sums[4:], strict=True)]
        assert one.integer_sums(1, 3).tolist() == sums[1:3]
    finally:
        shutil.rmtree(folder)


def test_merging_more_than_64_bits_hold_is_refused(tmp_path: Path) -> None:
    options = WindowSettings(window=23, weighting="harmonic")
    weights, _ = options.integer_weights()
    most = 2**62 // (2 * int(weights.sum())) - 1
    block = RowBlock(np.array([1]), np.array([0], dtype=np.int32), np.array([int(weights.sum()) * 2 * most]))
    (tmp_path / "part").mkdir()
    write_counts(tmp_path / "part", iter([block]), Vocabulary(["a"], [most]), options, {})
    with pytest.raises(ft.FirthianError, match="would overflow 64 bits") as caught:
        ft.merge([tmp_path / "part"] * 3, tmp_path / "merged")
    assert "lower window" in caught.value.hint
    assert not (tmp_path / "merged").exists()


def test_merging_counts_of_other_options_is_refused(tmp_path: Path) -> None:
    one = ft.count(["a b"], min_count=1)
    with pytest.raises(ft.FirthianError, match="window 5 and 3"):
        ft.merge([one, ft.count(["a b"], min_count=1, window=3)])
    with pytest.raises(ft.FirthianError, match="nothing to merge"):
        ft.merge([one])
    expected = ft.count(["a b"] * 9, min_count=1, sample=0.01, sample_mode="expected")
    with pytest.raises(ft.FirthianError, match="cannot be added up exactly"):
        ft.merge([expected, expected], tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_seed_that_was_not_used_does_not_stop_a_merge() -> None:
    merged = ft.merge([ft.count(["a b"], min_count=1, seed=1), ft.count(["a b"], min_count=1, seed=2)])
    assert merged["a", "b"] == 2.0
