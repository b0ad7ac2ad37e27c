"""``firth count``, ``merge`` and ``info`` as a user meets them: what they print, and how every mistake ends."""

from __future__ import annotations

import errno
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.text.readers import Files
from tests.conftest import folder_bytes

Firth = Callable[..., Any]

TEXT = "the cat sat on the mat\nthe dog sat on the log\n" * 5


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """Where counts go; whatever the test did, nothing half-written lies beside it."""
    yield tmp_path / "out" / "c"
    left = {item.name for item in (tmp_path / "out").iterdir()}
    assert left <= {"c"}, left


@pytest.fixture(autouse=True)
def _out(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()


def test_count_says_what_it_did(firth: Firth, corpus: Path, target: Path) -> None:
    done = firth("count", corpus, "-o", target, "--min-count", "6")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "60 tokens in 10 documents, 7 distinct words",
        "3 words kept (min count 6), 20 tokens of other words dropped",
        f"7 pairs in {target}",
    ]


def test_count_in_json(firth: Firth, corpus: Path, target: Path) -> None:
    done = firth("count", corpus, "-o", target, "--json", "--weighting", "harmonic", "--window", "2")
    facts = json.loads(done.out)
    assert facts["words"] == 7
    assert facts["corpus"]["tokens"] == 60
    assert facts["settings"]["weighting"] == "harmonic"
    assert ft.Counts.load(target).pairs == facts["pairs"]


def test_undecodable_bytes_and_absent_words_are_reported(firth: Firth, tmp_path: Path, target: Path) -> None:
    corpus = tmp_path / "latin1.txt"
    corpus.write_bytes(b"caf\xe9 bar caf\xe9 bar\n")
    words = tmp_path / "words.txt"
    words.write_text("\ufeffcaf\nbar\nqux\n", encoding="utf-8")
    done = firth("count", corpus, "-o", target, "--vocabulary", words)
    assert "replaced 2 bytes that are not UTF-8 (--strict makes this an error)" in done.out
    assert "1 words of the given list do not occur" in done.out
    assert "2 words kept" in done.out
    done = firth("count", corpus, "-o", target, "--vocabulary", words, "--max-vocab", "1", "--force")
    assert "2 words of the given list do not occur, or were excluded by other limits" in done.out


def test_info_describes_counts(firth: Firth, corpus: Path, target: Path) -> None:
    firth("count", corpus, "-o", target)
    shown = firth("info", target)
    assert shown.code == 0
    assert "counts" in shown.out
    facts = json.loads(firth("info", target, "--json").out)
    assert facts["kind"] == "counts"
    assert facts["shape"] == [7, 7]
    assert facts["provenance"]["corpus"]["names"] == ["corpus.txt"]


def test_merge(firth: Firth, corpus: Path, target: Path, tmp_path: Path) -> None:
    firth("count", corpus, "-o", tmp_path / "one")
    done = firth("merge", tmp_path / "one", tmp_path / "one", "-o", target)
    twice = f"{tmp_path / 'one'} and {tmp_path / 'one'} are counts of the same text, which now counts twice"
    assert (done.code, done.out.splitlines()) == (0, [f"7 words, 35 pairs in {target}", twice])
    assert ft.Counts.load(target)["the", "cat"] == 2 * ft.Counts.load(tmp_path / "one")["the", "cat"]
    assert firth("info", target).code == 0
    firth("merge", tmp_path / "one", "-o", tmp_path / "x").complains("nothing to merge")
    firth("merge", tmp_path / "one", tmp_path / "none", "-o", tmp_path / "x").complains("is not a folder of counts")
    firth("merge", tmp_path / "one", tmp_path / "one", "-o", target).complains("already exists", "--force")


def test_merged_counts_remember_how_words_were_cut(firth: Firth, corpus: Path, target: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        firth("count", corpus, "-o", tmp_path / name, "--tokenizer", "whitespace")
    firth("merge", tmp_path / "one", tmp_path / "two", "-o", target)
    words = {"tokenizer": "whitespace", "keep_case": False, "fold_numbers": False, "phrases": None}
    assert ft.Counts.load(target).record["settings"] == words


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tokenizer", "whitespace"], "tokenizer unicode and whitespace: count"),
        (["--keep-case"], "keep_case off and on: count"),
        (["--fold-numbers", "--window", "2"], "window 5 and 2, fold_numbers off and on: count"),
        (["--phrases", "npmi"], "phrases none and (score npmi, threshold 0.5, min_count 5, passes 1): count"),
    ],
)
def test_words_cut_in_two_ways_are_not_added(
    firth: Firth, corpus: Path, target: Path, tmp_path: Path, flags: list[str], message: str
) -> None:
    firth("count", corpus, "-o", tmp_path / "one")
    firth("count", corpus, "-o", tmp_path / "two", *flags)
    refused = firth("merge", tmp_path / "one", tmp_path / "two", "-o", target)
    refused.complains(f"counts with different settings cannot be added: {message}", "with the same settings")
    # What was merged before still knows how its words were cut.
    firth("merge", tmp_path / "one", tmp_path / "one", "-o", tmp_path / "both")
    firth("merge", tmp_path / "both", tmp_path / "two", "-o", target).complains(message)


def test_counts_that_do_not_say_how_words_were_cut_are_added(corpus: Path) -> None:
    one, two = ft.count([corpus]), ft.count([corpus], tokenizer="whitespace")
    for said in ({}, "damaged"):
        two.record["settings"] = said
        assert ft.merge([one, two]).record["settings"] == {}


def test_a_difference_names_only_what_matters(firth: Firth, corpus: Path, target: Path, tmp_path: Path) -> None:
    firth("count", corpus, "-o", tmp_path / "one")
    firth("count", corpus, "-o", tmp_path / "two", "--seed", "2", "--window", "2")
    refused = firth("merge", tmp_path / "one", tmp_path / "two", "-o", target)
    refused.complains("cannot be added: window 5 and 2: count")


def test_folders_that_are_no_corpus(firth: Firth, corpus: Path, target: Path, tmp_path: Path) -> None:
    firth("count", corpus, "-o", tmp_path / "one")
    ft.Vectors(np.eye(2), ft.Vocabulary(["a", "b"])).save(tmp_path / "v")
    firth("count", tmp_path / "one", "-o", target).complains("one is a folder that Firthian wrote (counts), not text")
    firth("train", tmp_path / "one", tmp_path / "one", "-o", target).complains("(counts), not text", "firth merge")
    firth("train", tmp_path / "v", "-o", target).complains("v is a folder that Firthian wrote (vectors), not text")


def test_a_dry_run_judges_what_was_asked_for(firth: Firth, corpus: Path) -> None:
    assert firth("count", corpus, "--dry-run", "--workers", "1").out.endswith("with 1 worker\n")
    assert json.loads(firth("count", corpus, "--dry-run", "--workers", "3", "--json").out)["workers"] == 3
    firth("count", corpus, "--dry-run", "--memory", "much").complains("cannot read the size")
    firth("count", corpus, "--dry-run", "--dtype", "float16").complains("--dtype must be one of")


@pytest.mark.parametrize(
    ("content", "arguments", "parts"),
    [
        (None, [], ["missing.txt does not exist", "check the path"]),
        (b"", [], ["no words in missing.txt"]),
        (b"\n\n \n", [], ["no words in missing.txt"]),
        (b"... !!! ---\n", [], ["no words in missing.txt"]),
        (b"\x7fELF\0\0\1", [], ["is not text (it contains NUL bytes)", "iconv"]),
        (b"a word\n" * (1 << 18) + b"\0\n", [], ["is not text (it contains NUL bytes)", "iconv"]),
        ("text".encode("utf-16"), [], ["is not text"]),
        (b"a b c\n", [], ["none of the 3 distinct words is left with --min-count 5", "--min-count"]),
        (b"a b c\n", ["--window", "0"], ["window must be an integer from 1 to 10000, got 0"]),
        (b"a b c\n", ["--window", "-3"], ["window must be an integer from 1"]),
        (b"a b c\n", ["--window", "x"], ["--window", "--window must be an integer"]),
        (b"a b c\n", ["--weighting", "harmnic"], ["weighting must be one of", "did you mean harmonic?"]),
        (b"a b c\n", ["--context", "up"], ["context must be one of"]),
        (b"a b c\n", ["--sample", "2"], ["sample must be a number from 0 to below 1"]),
        (b"a b c\n", ["--sample", "nan"], ["sample must be a number from 0 to below 1"]),
        (b"a b c\n", ["--min-count", "0"], ["--min-count must be an integer of at least 1"]),
        (b"a b c\n", ["--max-vocab", "0"], ["--max-vocab must be an integer of at least 1"]),
        (b"a b c\n", ["--seed", "-1"], ["seed must be an integer from 0"]),
        (b"a b c\n", ["--workers", "0"], ["workers must be an integer of at least 1"]),
        (b"a b c\n", ["--memory", "10MB"], ["a memory budget of 10 MB is too small", "--memory 256MB"]),
        (b"a b c\n", ["--memory", "much"], ["cannot read the size 'much'"]),
        (b"a b c\n", ["--memory", "9" * 400], ["larger than any memory"]),
        (b"a b c\n", ["--dtype", "float16"], ["dtype must be one of"]),
        (b"a b c\n", ["--tokenizer", "spacy"], ["unknown tokenizer 'spacy'"]),
        (b"a b c\n", ["--tokenizer", ":words"], ["the tokenizer :words cannot be loaded"]),
        (b"a b c\n", ["--tokenizer", ".here:words"], ["the tokenizer .here:words cannot be loaded"]),
        (
            b"a b c\n",
            ["--format", "xml"],
            [
                "--format must be one of auto, lines, files, wiki, csv, tsv, jsonl, parquet, arrow, tei, html, duckdb, ",
                "got 'xml'",
            ],
        ),
        (b"a b c\n", ["--phrases", "pmi"], ["--phrases must be one of npmi, word2vec"]),
        (b"a b c\n", ["--phrase-passes", "2"], ["without --phrases"]),
        (
            b"a b c\n",
            ["--phrases", "npmi", "--phrase-passes", "9"],
            ["--phrase-passes must be an integer from 1 to 5"],
        ),
        (
            b"a b c\n",
            ["--phrases", "npmi", "--phrase-threshold", "nan"],
            ["--phrase-threshold must be a number, got nan"],
        ),
        (b"a b c\n", ["--vocabulary", "/no/such/file"], ["/no/such/file: no such file or folder"]),
        (b"a b c\n", ["--stop-words", "/"], ["it is a folder"]),
        (b"a b c\n", ["--frobnicate"], ["unknown option --frobnicate", "firth count --help"]),
        (b"caf\xc3\xa9\nol\xe9\n", ["--strict", "--min-count", "1"], ["missing.txt, line 2: a byte is not UTF-8"]),
        (gzip.compress(os.urandom(9999).hex().encode())[:5000], [], ["missing.txt is truncated or damaged"]),
        (lzma.compress(os.urandom(9999).hex().encode())[:5000], [], ["missing.txt is truncated or damaged"]),
        (b"text\nx", ["--format", "csv", "--text-column", "body"], ["has no column 'body'"]),
        (b"text\nx", ["--format", "csv", "--text-column", "\u00b2"], ["has no column '\u00b2'"]),
        (b"text\nx", ["--format", "csv", "--where", "text"], ["expected COLUMN=VALUE, got 'text'"]),
        (b"text\nx", ["--format", "csv", "--where", "year=1"], ["has no column 'year': its columns are 'text'"]),
        (b"text\nx", ["--format", "csv", "--where", "text=y"], ["1 rows excluded by --where, 0 without text"]),
        (b"x", ["--where", "year=1"], ["--where has no effect", "is read as lines"]),
        (b"PAR1nothing", ["--format", "parquet"], ["missing.txt is truncated or damaged (it has no footer)"]),
        (b"ARROW1nothing", ["--format", "arrow"], ["missing.txt is truncated or damaged"]),
        (b"{}\n", ["--format", "jsonl"], ["has no column 'text'"]),
    ],
)
def test_mistakes(
    firth: Firth, tmp_path: Path, target: Path, content: bytes | None, arguments: list[str], parts: list[str]
) -> None:
    path = tmp_path / "missing.txt"
    if content is not None:
        path.write_bytes(content)
    firth("count", path, "-o", target, *arguments).complains(*parts)
    assert not target.exists()


def test_mistakes_in_json(firth: Firth, tmp_path: Path) -> None:
    done = firth("count", tmp_path / "none", "-o", tmp_path / "c", "--json")
    assert (done.code, done.out) == (2, "")
    assert json.loads(done.err).keys() == {"error", "hint"}


def test_no_place_for_the_counts(firth: Firth, corpus: Path, tmp_path: Path) -> None:
    firth("count", corpus).complains("no output folder: pass -o FOLDER")
    firth("count", corpus, "-o", tmp_path / "no" / "c").complains("is not a folder", "create it first")
    firth("count", "-o", tmp_path / "c").complains("missing CORPUS", "see firth count --help")


def test_a_window_longer_than_every_document(firth: Firth, corpus: Path, target: Path) -> None:
    assert firth("count", corpus, "-o", target, "--window", "500", "--weighting", "flat").code == 0
    assert ft.Counts.load(target)["the", "mat"] == 10.0


def test_one_word(firth: Firth, tmp_path: Path, target: Path) -> None:
    (tmp_path / "one.txt").write_text("word\n" * 7)
    assert firth("count", tmp_path / "one.txt", "-o", target).code == 0
    counts = ft.Counts.load(target)
    assert (counts.pairs, counts.total, list(counts.vocabulary)) == (0, 0.0, ["word"])
    assert firth("info", target).code == 0


def test_targets_that_exist(firth: Firth, corpus: Path, target: Path, tmp_path: Path) -> None:
    assert firth("count", corpus, "-o", target).code == 0
    firth("count", corpus, "-o", target).complains("already exists", "--force")
    assert firth("count", corpus, "-o", target, "--force", "--window", "2").code == 0
    assert ft.Counts.load(target).options.window == 2
    firth("count", tmp_path / "none.txt", "-o", target, "--force").complains("does not exist")
    assert ft.Counts.load(target).options.window == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "essay.txt").write_text("x")
    firth("count", corpus, "-o", tmp_path / "mine", "--force").complains("a folder that Firthian did not write")
    firth("count", corpus, "-o", corpus, "--force").complains("is a file")
    assert corpus.read_text() == TEXT


def test_stores_of_other_versions_and_damaged_ones(firth: Firth, corpus: Path, target: Path) -> None:
    firth("count", corpus, "-o", target)
    manifest = target / "counts.json"
    good = manifest.read_text()
    manifest.write_text(good.replace('"version": 2', '"version": 1'))
    firth("info", target).complains("was written by container version 1", "make it again")
    manifest.write_text(good.replace('"window": 5', '"window": 6'))
    firth("info", target).complains("is damaged", "make it again")
    manifest.write_text(good)
    values = bytearray((target / "values.safetensors").read_bytes())
    values[-1] ^= 1
    (target / "values.safetensors").write_bytes(values)
    firth("info", target).complains("values.safetensors is damaged")
    (target / "values.safetensors").unlink()
    firth("info", target).complains("values.safetensors: no such file")
    firth("info", corpus).complains(str(corpus))
    firth("info", target / "none").complains("does not exist")


def limited(corpus: Path, target: Path, before: str) -> subprocess.CompletedProcess[str]:
    """Count in a process that first imports and warms everything up, then limits itself."""
    program = f"""
import contextlib, io, os, resource, sys, tempfile
from firthian.cli.app import main
arguments = ["count", {str(corpus)!r}, "--min-count", "1", "--window", "10", "-o"]
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    main([*arguments, folder + "/c"])
{before}
sys.exit(main([*arguments, {str(target)!r}]))
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr


@pytest.mark.parametrize("limit", [4_000, 60_000, 300_000])
def test_files_larger_than_allowed(firth: Firth, tmp_path: Path, target: Path, limit: int) -> None:
    corpus = tmp_path / "corpus.txt"
    numbers = np.random.default_rng(0).integers(0, 3000, (3000, 10)).astype(str)
    corpus.write_text("\n".join(map(" ".join, numbers)))
    before = f"""
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"""
    one_line(limited(corpus, target, before), "the file would be larger than the system allows")
    assert not target.exists()
    # What was done so far is kept for a resumed run, which ends with the same bytes.
    arguments = ("count", corpus, "--min-count", "1", "--window", "10")
    assert firth(*arguments, "-o", target, "--resume").code == 0
    assert firth(*arguments, "-o", tmp_path / "whole").code == 0
    assert folder_bytes(target) == folder_bytes(tmp_path / "whole")


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_a_place_that_cannot_be_written(tmp_path: Path, corpus: Path) -> None:
    for folder in (*tmp_path.parents[:3], tmp_path):
        if folder != Path("/tmp"):
            folder.chmod(0o755)
    one_line(limited(corpus, tmp_path / "out" / "c", "os.setgid(65534); os.setuid(65534)"), "is not writable")
    corpus.chmod(0)
    before = f"os.chmod({str(tmp_path / 'out')!r}, 0o777); os.setgid(65534); os.setuid(65534)"
    one_line(limited(corpus, tmp_path / "out" / "c", before), "corpus.txt: permission denied")
    assert not list((tmp_path / "out").iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a file system")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk(firth: Firth, small_disk: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    numbers = np.random.default_rng(0).integers(0, 3000, (3000, 10)).astype(str)
    corpus.write_text("\n".join(map(" ".join, numbers)))
    one_line(limited(corpus, small_disk / "c", ""), "the disk is full", "then continue with --resume")
    assert [item.name for item in small_disk.iterdir()] == ["c.partial"]
    subprocess.run(["mount", "-o", "remount,size=30m", small_disk], check=True)
    arguments = ("count", corpus, "--min-count", "1", "--window", "10")
    assert firth(*arguments, "-o", small_disk / "c", "--resume").code == 0
    assert firth(*arguments, "-o", tmp_path / "whole").code == 0
    assert folder_bytes(small_disk / "c") == folder_bytes(tmp_path / "whole")
    assert [item.name for item in small_disk.iterdir()] == ["c"]
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    one_line(limited(corpus, small_disk / "d", ""), "is not writable")


def test_a_disk_that_is_full_while_an_old_target_is_there(
    firth: Firth, corpus: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from firthian.disk.tensors import TensorWriter

    assert firth("count", corpus, "-o", target).code == 0
    old = {item.name: item.read_bytes() for item in target.iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(TensorWriter, "append", full)
        firth("count", corpus, "-o", target, "--force", "--window", "2").complains("the disk is full")
    assert {item.name: item.read_bytes() for item in target.iterdir()} == old
    # The spooled text is kept until the run is resumed or started over.
    assert firth("count", corpus, "-o", target, "--force").code == 0
    assert {item.name: item.read_bytes() for item in target.iterdir()} == old
    monkeypatch.setattr(TensorWriter, "append", full)
    other = target.parent.parent / "other"
    shutil.copytree(target, other)
    firth("merge", other, other, "-o", target, "--force").complains("the disk is full")
    assert {item.name: item.read_bytes() for item in target.iterdir()} == old


def test_help_is_quick_and_needs_no_compiler() -> None:
    # Processor seconds, not those of the clock: other tests run beside this one.
    best = np.inf
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, "-m", "firthian", "--help"], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        best = min(best, sum(after[2:4]) - sum(before[2:4]))
    program = "import sys; from firthian.cli.app import main; main(['--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "scipy", "sklearn", "safetensors"} & set(loaded)
    assert best < 0.4


def test_the_reader_of_our_output_may_go_away(corpus: Path, target: Path) -> None:
    command = f"{sys.executable} -m firthian info {target} | head -n 1"
    subprocess.run([sys.executable, "-m", "firthian", "count", corpus, "-o", target], check=True, capture_output=True)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_dry_run_of_compressed_text_without_a_suffix_looks_at_its_bytes(tmp_path: Path) -> None:
    text = TEXT.encode() * 100
    for name, packed in (("a.gz", gzip.compress(text)), ("b", gzip.compress(text)), ("c", lzma.compress(text))):
        (tmp_path / name).write_bytes(packed)
        assert Files([str(tmp_path / name)]).size() == len(text), name


def test_a_dry_run_refuses_what_the_run_refuses(firth: Firth, corpus: Path, target: Path) -> None:
    assert firth("count", corpus, "-o", target).code == 0
    for dry in ((), ("--dry-run",)):
        command = ("train", target, "-o", target.with_name("v"), "--dim", "2", *dry)
        firth(*command, "--window", "3").complains("do not apply to ready counts", "pass the corpus")
        firth(*command, "-m", "sgns-sgd").complains("learns from text, not from counts")
        firth(*command, "-m", "svd", "--memory", "1MB").complains("1.0 MB is too small")
    firth("train", corpus, "--dry-run", "--dim", "2", "--memory", "1MB").complains("1.0 MB is too small")


def test_dry_run_of_a_small_corpus_is_exact(firth: Firth, corpus: Path, tmp_path: Path) -> None:
    done = firth("count", corpus, "--dry-run")
    assert "the whole corpus was read" in done.out
    facts = json.loads(firth("count", corpus, "--dry-run", "--json").out)
    assert (facts["tokens"], facts["words"], facts["exact"]) == (60, 7, True)
    firth("count", "-", "--dry-run").complains("a dry run cannot read standard input")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["corpus.txt", "out"]
