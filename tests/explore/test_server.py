"""The explorer's server: right answers, and no answer to those who may not ask."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from firthian import Counts, FirthianError, Vectors, count
from firthian.explore.server.parameters import read_parameters
from firthian.explore.server.security import Hosts, _cookies
from firthian.explore.server.state import BackgroundJobs
from firthian.options import Option
from tests.explore.planted import HOSTILE, TOPICS, Served, planted, save

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None,
    reason="starlette and uvicorn are not installed (firthian[web])",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served")
    save(planted(), place / "first")
    save(planted(seed=2, noise=0.6, uncertain=True), place / "second")
    text = ["hot tea with milk", "cold tea with milk", "hot coffee with sugar", "a song on the violin"] * 5
    count(text, place / "counts", min_count=1, window=2)
    return place


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with Served(folder / "first", folder / "second", "--counts", folder / "counts") as server:
        yield server


def test_models_and_words(served: Served) -> None:
    found = served.ask("models")
    assert [one["name"] for one in found["models"]] == ["first", "second"]
    assert [one["uncertainty"] for one in found["models"]] == [False, True]
    assert found["counts"] is True
    assert served.ask("words", prefix="su")["words"] == ["sun", "sunset"]
    assert served.ask("words", prefix="SU", topn=1)["words"] == ["sun"]
    assert served.ask("words", prefix="<img")["words"] == [HOSTILE[0]]
    assert len(served.ask("words")["words"]) == 12


def test_neighbors_are_those_of_the_vectors(served: Served, folder: Path) -> None:
    vectors = Vectors.load(folder / "first")
    found = served.ask("neighbors", word="tea", topn=7)
    assert [(one["word"], one["score"]) for one in found["neighbors"]] == vectors.most_similar("tea", topn=7)
    assert {one["word"] for one in found["neighbors"]} == set(TOPICS["drink"].split()) - {"tea"}
    assert (found["model"], found["count"], found["rank"]) == ("first", 350, 1)
    wide = served.ask("neighbors", word="tea", model="second", topn=3)["neighbors"]
    assert all(one["low"] < one["score"] < one["high"] for one in wide)
    assert served.ask("neighbors", word=HOSTILE[1])["word"] == HOSTILE[1]


def test_analogy_similarity_compare(served: Served, folder: Path) -> None:
    assert served.ask("analogy", a="man", b="king", c="woman")["answers"][0]["word"] == "queen"
    vectors = Vectors.load(folder / "first")
    assert served.ask("similarity", a="sun", b="moon")["similarity"] == pytest.approx(vectors.similarity("sun", "moon"))
    wide, unsure = served.ask("similarity", a="sun", b="moon", model="second"), Vectors.load(folder / "second")
    assert (wide["similarity"], wide["low"], wide["high"]) == pytest.approx(unsure.similarity_estimate("sun", "moon"))
    assert wide["cosine_of_means"] == pytest.approx(unsure.similarity("sun", "moon"))
    found = served.ask("compare", word="sun", first="first", second="second", topn=5)
    near = [
        [word for word, _ in Vectors.load(folder / name).most_similar("sun", topn=5)] for name in ("first", "second")
    ]
    assert found["shared"] == len(set(near[0]) & set(near[1]))
    for side, other in ((0, 1), (1, 0)):
        assert [one["word"] for one in found["sides"][side]] == near[side]
        for one in found["sides"][side]:
            if one["word"] in near[other]:
                assert one["other_rank"] == near[other].index(one["word"]) + 1


def test_contexts_have_their_pmi(served: Served, folder: Path) -> None:
    counts = Counts.load(folder / "counts")
    found = served.ask("contexts", word="tea", min_count=1)["contexts"]
    assert {one["word"] for one in found} == {"hot", "cold", "with", "milk"}
    for one in found:
        i, j = counts.vocabulary["tea"], counts.vocabulary[one["word"]]
        expected = np.log(counts["tea", one["word"]] * counts.total / (counts.row_sums[i] * counts.column_sums[j]))
        assert one["pmi"] == pytest.approx(expected)
    assert found == sorted(found, key=lambda one: -one["pmi"])


def test_map_and_uncertainty(served: Served, folder: Path) -> None:
    found = served.ask("map", limit=20, clusters=3)
    assert len(found["words"]) == len(found["x"]) == len(found["y"]) == len(found["groups"]) == 20
    assert len(found["names"]) == 3
    assert found["ellipses"] == []
    assert len(served.ask("map", model="second")["ellipses"]) == len(planted())
    found = served.ask("uncertain", model="second", topn=3)
    assert len(found["words"]) == 3
    assert found["log_precisions"] == [0.1, 0.5, 4.0]
    assert "no uncertainty" in served.ask("uncertain", 400)["error"]


def test_long_work_is_asked_for_again(served: Served, folder: Path) -> None:
    pytest.importorskip("openTSNE")
    end = time.monotonic() + 100
    while time.monotonic() < end:
        status, _, body = served.get("/api/map", {"method": "tsne", "limit": 24})
        if status == 200:
            break
        assert status == 202, body
        assert json.loads(body)["status"] == "running"
        time.sleep(0.2)
    assert status == 200, body
    assert json.loads(body)["method"] == "tsne"
    assert [file.name[:5] for file in (folder / "first" / "maps").iterdir()] == ["tsne-"]


def test_openapi_names_every_path(served: Served) -> None:
    described = served.ask("openapi.json")
    for path in ("words", "neighbors", "analogy", "similarity", "map", "models"):
        assert "get" in described["paths"][f"/api/{path}"]
    topn = described["paths"]["/api/neighbors"]["get"]["parameters"][1]
    assert topn["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}


@pytest.mark.parametrize(
    ("path", "query", "status", "error", "hint"),
    [
        ("neighbors", {"word": "coffe"}, 404, "'coffe' is not in the vocabulary", "did you mean coffee"),
        ("neighbors", {"word": "teaa"}, 404, "not in the vocabulary", "did you mean tea?"),
        ("neighbors", {}, 400, "word is missing", "word="),
        ("neighbors", {"word": ""}, 400, "word is empty", ""),
        ("neighbors", {"word": "tea", "topn": -1}, 400, "topn must be an integer from 1 to 1000, got '-1'", "words"),
        ("neighbors", {"word": "tea", "topn": 10**9}, 400, "topn must be an integer from 1 to 1000", "words"),
        ("neighbors", {"word": "tea", "topn": "9" * 500}, 400, "integer", "words"),
        ("neighbors", {"word": "tea", "topn": "1e3"}, 400, "integer", ""),
        ("neighbors", {"word": "tea", "topn": "nan"}, 400, "integer", ""),
        ("neighbors", {"word": "x" * 201}, 400, "201 characters", "200"),
        ("neighbors", [("word", "tea"), ("word", "sun")], 400, "repeated", ""),
        ("neighbors", {"word": "tea", "wrod": "x"}, 400, "unknown parameter", "did you mean word?"),
        ("neighbors", {"word": "tea", "model": "third"}, 400, "unknown model", ""),
        ("neighbors", {"word": "tea", "model": "../first"}, 400, "unknown model", ""),
        ("analogy", {"a": "man", "b": "king", "c": "woman", "method": "x"}, 400, "method", ""),
        ("map", {"limit": 10**7}, 400, "limit must be an integer from 2 to 400000", "words"),
        ("map", {"method": "tsne", "limit": 400_000}, 400, "too long", "50,000"),
        ("contexts", {"word": "zebra"}, 404, "not in the vocabulary", ""),
        ("nowhere", {}, 404, "not found", "openapi"),
        ("words", {"prefix": "x" * 60_000}, 414, "too long", "8192"),
    ],
    ids=lambda value: str(value)[:24],
)  # fmt: skip
def test_bad_questions(served: Served, path: str, query: object, status: int, error: str, hint: str) -> None:
    found, headers, body = served.get(f"/api/{path}", query)
    facts = json.loads(body)
    assert (found, set(facts)) == (status, {"error", "hint"})
    assert error in facts["error"]
    assert hint in facts["hint"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert served.ask("neighbors", word="tea")["word"] == "tea"


def test_who_may_ask(served: Served) -> None:
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "", "192.168.1.7"):
        status, _, body = served.get("/api/models", headers={"Host": host})
        assert (status, set(json.loads(body))) == (403, {"error", "hint"}), host
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1:9", "[::1]:80"):
        assert served.get("/api/models", headers={"Host": host})[0] == 200, host
    assert served.get("/api/models", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert served.get("/api/models", headers={"Origin": "http://evil.example"})[0] == 403
    assert served.get("/api/models", headers={"Origin": "null"})[0] == 403
    assert served.get("/api/models", headers={"Origin": "http://127.0.0.1:8642"})[0] == 200
    assert served.get("/api/models", headers={"Sec-Fetch-Site": "same-origin"})[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert served.get("/api/models", method=method)[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2fstyle.css", "/page/index.html",
        "/static/../main.js", "/main.js%00", "/C:/x", "/__init__.py", "/api/../../x",
    ],
)  # fmt: skip
def test_only_the_files_of_the_page(served: Served, path: str) -> None:
    status, _, body = served.get(path)
    assert (status, set(json.loads(body))) == (404, {"error", "hint"})


def test_the_page_is_strict(served: Served) -> None:
    for path in ("/", "/main.js", "/style.css", "/icon.svg"):
        status, headers, body = served.get(path)
        assert status == 200
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in body
        assert served.get(path, headers={"If-None-Match": headers["etag"]})[0] == 304


def test_no_code_reads_markup() -> None:
    from firthian.explore.server.app import page_files

    for name, (data, _) in page_files().items():
        for danger in (b"innerHTML", b"outerHTML", b"insertAdjacentHTML", b"document.write", b"eval(", b"new Function"):
            assert danger not in data, name


def test_fifty_at_once(served: Served) -> None:
    words = [word for text in TOPICS.values() for word in text.split()]
    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(lambda i: served.ask("neighbors", word=words[i % len(words)], topn=5), range(50)))
    for i, one in enumerate(found):
        assert one["word"] == words[i % len(words)]
        assert len(one["neighbors"]) == 5


def test_answers_are_sent_at_once() -> None:
    """On a socket that is not named as TCP asyncio leaves Nagle's delay on: 40 ms for each question of a connection."""
    from firthian.explore.server.app import _bind

    with _bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_half_a_request_and_nonsense_leave_it_alive(served: Served) -> None:
    for data in (
        b"GET / HT",
        b"\x00\xff\x00 nonsense\r\n\r\n",
        b"GET /api/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as raw:
            raw.sendall(data)
    assert served.ask("models")["models"]


def test_endless_request_lines_are_not_held(served: Served) -> None:
    # The server answers 431, drops what follows, and hangs up a moment later.
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as raw:
        raw.sendall(b"GET /api/words?prefix=" + b"x" * 100_000)
        assert raw.recv(100).startswith(b"HTTP/1.1 431 ")
        until, ended = time.monotonic() + 30, False
        while not ended and time.monotonic() < until:
            try:
                raw.sendall(b"x" * 100_000)
            except ConnectionError:
                ended = True
        assert ended
    assert served.ask("models")["models"]


def test_work_that_fails_is_told_once_and_then_started_again() -> None:
    jobs, begun = BackgroundJobs(), []
    go_on = threading.Event()

    def work(progress: object) -> None:
        begun.append(1)
        go_on.wait(30)
        raise FirthianError("broken", hint="repair it")

    assert not jobs.ask("key", work).finished.is_set()
    go_on.set()
    for _ in range(2):
        failed = jobs.ask("key", work, patience=30)
        assert str(failed.error) == "broken: repair it"
    # The first was told of the work that was begun before it asked, the second started it again.
    assert len(begun) == 2
    go_on.clear()
    assert not jobs.ask("key", work).finished.is_set()
    go_on.set()
    while len(begun) < 3 or not jobs._jobs["key"].finished.is_set():
        time.sleep(0.01)
    assert str(jobs.ask("key", work).error) == "broken: repair it"
    assert len(begun) == 3


@pytest.mark.parametrize("other", ['prefs={"a":1}', "b=caf\xe9 x", "c=a b", 'd="x', "firthian_token=another", "=", "e"])
def test_cookies_of_others_do_not_hide_ours(other: str) -> None:
    for both in (f"firthian_token=abcdefgh; {other}", f"{other};firthian_token=abcdefgh"):
        assert "abcdefgh" in _cookies(both)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_an_answer_that_is_no_longer_wanted_is_not_an_empty_one(tmp_path: Path) -> None:
    api = resources.files("firthian.explore") / "page" / "api.js"
    script = tmp_path / "abort.mjs"
    (tmp_path / "api.mjs").write_text(api.read_text(encoding="utf-8"), encoding="utf-8")
    script.write_text(
        """
        import { ask } from "./api.mjs";
        const controller = new AbortController();
        globalThis.fetch = async () => new Response(new ReadableStream({
          start(stream) { setTimeout(() => { controller.abort(); stream.error(controller.signal.reason); }, 1); },
        }));
        await ask("map", {}, { signal: controller.signal }).then(
          (body) => console.log(JSON.stringify(body)), (error) => console.log(error.name));
        """
    )
    done = subprocess.run(["node", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "AbortError\n", done.stderr


def test_changes_on_disk_are_noticed(tmp_path: Path) -> None:
    path = save(planted(), tmp_path / "v")
    with Served(path) as server:
        assert server.ask("neighbors", word="tea")["generation"] == 1
        changed = planted(seed=3)
        changed.vocabulary.words[0] = "matcha"
        save(Vectors(changed.matrix, changed.vocabulary), path)
        assert server.ask("neighbors", word="matcha")["generation"] == 2
        assert "not in the vocabulary" in server.ask("neighbors", 404, word="tea")["error"]
        (path / "vectors.json").write_text("half")
        assert server.ask("neighbors", word="matcha")["generation"] == 2
        assert "cannot be read" in server.ask("models")["models"][0]["trouble"]


def test_a_file_that_is_cut_short_in_its_place(tmp_path: Path) -> None:
    """The old numbers are mapped from that very file; touching them would kill the server."""
    vectors = planted(size=4096)
    path = save(vectors, tmp_path / "v")
    with Served(path) as server:
        assert server.ask("neighbors", word="tea")["generation"] == 1
        os.truncate(path / "vectors.safetensors", 4096)
        assert "truncated" in server.ask("neighbors", 400, word="tea")["error"]
        assert "cannot be read" in server.ask("models")["models"][0]["trouble"]
        save(vectors, path)
        assert server.ask("neighbors", word="tea")["generation"] == 2


def test_token_and_proxy_path(tmp_path: Path) -> None:
    path = save(planted(), tmp_path / "v")
    options = ("--host", "0.0.0.0", "--root-path", "/words", "--allow-host", "proxy.example")
    with Served(path, *options, token="correct horse") as server:
        assert server.url.endswith("token=correct%20horse")
        assert server.get("/api/models")[0] == 401
        assert server.get("/api/models", {"token": "wrong horse"})[0] == 401
        assert server.get("/api/models", headers={"Authorization": "Bearer correct horse"})[0] == 200
        status, headers, _ = server.get("/", {"token": "correct horse"})
        assert (status, headers["location"]) == (303, "/words/")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]
        cookie = {"Cookie": headers["set-cookie"].partition(";")[0]}
        # A proxy may take its prefix away, or leave it.
        for place in ("/words/api/models", "/api/models", "/words/", "/"):
            assert server.get(place, headers={**cookie, "Host": "proxy.example"})[0] == 200
        assert server.get("/api/models", headers={**cookie, "Host": "evil.example"})[0] == 403


def test_starting_is_refused(firth, folder: Path, tmp_path: Path) -> None:
    first = folder / "first"
    firth("explore", first, "--host", "0.0.0.0").complains("no token is set", "--token")
    firth("explore", first, "--host", "::").complains("no token is set")
    firth("explore", first, "--token", "short").complains("8 to 200")
    firth("explore", first, "--root-path", "words").complains("must be a path")
    firth("explore", tmp_path / "none").complains("does not exist")
    firth("explore", folder / "counts").complains("counts, not vectors")
    firth("explore", first, "--counts", first).complains("counts.json")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        firth("explore", first, "--port", taken.getsockname()[1], "--no-browser").complains("cannot listen", "--port")


def test_hosts() -> None:
    far = Hosts("0.0.0.0", ["Words.Example"])
    assert far.allow("10.1.2.3:80")
    assert far.allow("words.example")
    assert not far.allow("evil.example")
    assert not Hosts("127.0.0.1").allow("10.1.2.3")


def test_defaults_of_parameters() -> None:
    options = {"word": Option("w", kind=str, default=""), "topn": Option("n", 1, 5, kind=int, default=3)}
    assert read_parameters(options, []) == {"word": "", "topn": 3}


def test_only_so_much_work_waits() -> None:
    import threading

    from firthian.explore.server.state import _MOST_UNFINISHED, BackgroundJobs

    jobs, go = BackgroundJobs(), threading.Event()
    started = [jobs.ask(key, lambda _: go.wait(30)) for key in range(_MOST_UNFINISHED)]
    assert jobs.ask(0, lambda _: None) is started[0]
    with pytest.raises(FirthianError, match="too many jobs"):
        jobs.ask("one more", lambda _: None)
    go.set()
    assert all(job.finished.wait(30) for job in started)
    assert jobs.ask("one more", lambda _: 3, patience=30).result == 3
