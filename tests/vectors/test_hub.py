"""Vectors pushed to a hub and loaded from it: the real client library against a small hub on the loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.vectors import hub

pytest.importorskip("huggingface_hub")

# Of the client's network library, about the client.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload:DeprecationWarning")


class Hub(ThreadingHTTPServer):
    """Repositories of commits of files, in memory, as much of them as the client asks for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.commits: dict[str, list[tuple[str, dict[str, bytes]]]] = {}
        self.uploads: dict[str, bytes] = {}
        self.private: set[str] = set()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def files(self, name: str, revision: str = "main") -> tuple[str, dict[str, bytes]] | None:
        commits = self.commits[name]
        return commits[-1] if revision == "main" else next((one for one in commits if one[0] == revision), None)

    def commit(self, name: str, lines: list[dict[str, Any]]) -> str:
        files = dict(self.commits[name][-1][1])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.uploads[value["oid"]]
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        self.commits[name].append((hashlib.sha1(f"{name} {len(self.commits[name])}".encode()).hexdigest(), files))
        return self.commits[name][-1][0]


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *given: Any) -> None:
        pass

    def answer(self, body: Any, status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def missing(self, what: str) -> None:
        self.answer({"error": f"{what} not found"}, 404, X_Error_Code=f"{what}NotFound")

    def content(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_POST(self) -> None:
        body, parts = self.content(), self.path.strip("/").split("/")
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            if asked.get("private") or asked.get("visibility") == "private":
                self.server.private.add(name)
            if name in self.server.commits:
                self.answer({"error": "exists", "url": f"{self.server.url}/{name}"}, 409)
                return
            self.server.commits[name] = [("0" * 40, {".gitattributes": b""})]
            self.answer({"url": f"{self.server.url}/{name}"})
        elif self.path == "/api/validate-yaml":
            assert json.loads(body)["content"].startswith("---\n")
            self.answer({"errors": [], "warnings": []})
        elif parts[-2] == "preupload":
            asked = json.loads(body)["files"]
            modes = {True: "lfs", False: "regular"}
            answers = [
                {
                    "path": file["path"],
                    "uploadMode": modes[file["path"].endswith(".safetensors")],
                    "shouldIgnore": False,
                    "oid": None,
                }
                for file in asked
            ]
            self.answer({"files": answers})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {
                    "oid": one["oid"],
                    "size": one["size"],
                    "actions": {"upload": {"href": f"{self.server.url}/put/{one['oid']}"}},
                }
                for one in json.loads(body)["objects"]
            ]
            self.answer({"transfer": "basic", "objects": objects}, Content_Type="application/vnd.git-lfs+json")
        elif parts[-2] == "commit":
            name = "/".join(parts[2:4])
            oid = self.server.commit(name, [json.loads(line) for line in body.splitlines()])
            self.answer({"commitOid": oid, "commitUrl": f"{self.server.url}/{name}/commit/{oid}", "success": True})
        else:
            self.missing("Entry")

    def do_PUT(self) -> None:
        self.server.uploads[self.path.rpartition("/")[2]] = self.content()
        self.answer(b"")

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
        if name not in self.server.commits:
            self.missing("Repo")
            return
        at = next((number for number, part in enumerate(parts) if part in ("revision", "tree", "resolve")), None)
        found = self.server.files(name, "main" if at is None else parts[at + 1])
        if found is None:
            self.missing("Revision")
            return
        commit, files = found
        if at is not None and parts[at] == "resolve":
            path = "/".join(parts[at + 2 :])
            if path not in files:
                self.missing("Entry")
                return
            tag = hashlib.sha256(files[path]).hexdigest()
            self.answer(files[path], X_Repo_Commit=commit, ETag=f'"{tag}"')
        elif at is not None and parts[at] == "tree":
            self.answer([{"type": "file", "path": path, "size": len(data), "oid": "1"} for path, data in files.items()])
        else:
            self.answer(
                {"id": name, "sha": commit, "siblings": [{"rfilename": path} for path in files], "private": False}
            )

    do_HEAD = do_GET


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with Hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def vectors() -> ft.Vectors:
    return ft.Vectors(np.arange(6, dtype=np.float32).reshape(3, 2) + 1, ft.Vocabulary(["tea", "milk", "cup"]))


def test_what_is_pushed_is_loaded(served: Hub, vectors: ft.Vectors) -> None:
    address = hub.push(vectors, "me/tea", language="en", license="cc-by-4.0")
    loaded = ft.load(address)
    assert loaded.vocabulary.words == vectors.vocabulary.words
    assert np.array_equal(loaded.matrix, vectors.matrix)
    commit, files = served.commits["me/tea"][-1]
    assert address.startswith(f"hf://me/tea@{commit}#sha256=")
    assert {"README.md", "vectors.json", "vectors.safetensors", "words.txt"} <= files.keys()
    assert b'license: "cc-by-4.0"' in files["README.md"]
    assert b'ft.load("hf://me/tea@COMMIT")' in files["README.md"]
    # Again without the checksum, and from the cache when the hub is gone.
    served.commits.clear()
    assert ft.load(address.partition("#")[0]).vocabulary.words == ["tea", "milk", "cup"]


def test_a_branch_is_no_address(served: Hub, vectors: ft.Vectors) -> None:
    commit = hub.push(vectors, "me/tea").partition("@")[2][:40]
    for address in ("hf://me/tea", "hf://me/tea@main"):
        with pytest.raises(ft.FirthianError, match=f"may change: name its commit: hf://me/tea@{commit}"):
            ft.load(address)


def test_other_bytes_are_refused(served: Hub, vectors: ft.Vectors) -> None:
    address = hub.push(vectors, "me/tea")
    files = served.commits["me/tea"][-1][1]
    whole = files["vectors.safetensors"]
    files["vectors.safetensors"] = whole[:-1] + b"\x7f"
    with pytest.raises(ft.FirthianError, match="has other bytes"):
        ft.load(address)
    # Without the checksum of the address, the folder's own ones notice damage.
    with pytest.raises(ft.FirthianError, match="damaged"):
        ft.load(address.partition("#")[0])


def test_programs_and_pickles_are_not_fetched(served: Hub, vectors: ft.Vectors) -> None:
    address = hub.push(vectors, "me/tea")
    served.commits["me/tea"][-1][1].update({"pytorch_model.bin": b"\x80\x04N.", "run.py": b"1/0"})
    names = {path.name for path in hub.fetch(address).iterdir()}
    assert names == {"vectors.json", "vectors.safetensors", "words.txt"}


def test_a_repository_with_files_is_replaced_by_force_only(served: Hub, vectors: ft.Vectors) -> None:
    first = hub.push(vectors, "me/tea")
    with pytest.raises(ft.FirthianError, match="already has files: choose another name or add force"):
        hub.push(vectors, "me/tea")
    served.commits["me/tea"].append(("f" * 40, served.commits["me/tea"][-1][1] | {"old.txt": b"x"}))
    second = hub.push(vectors.subset(2), "me/tea", force=True)
    assert "old.txt" not in served.commits["me/tea"][-1][1]
    assert (len(ft.load(first)), len(ft.load(second))) == (3, 2)


def test_the_command(served: Hub, vectors: ft.Vectors, firth: Callable[..., Any], tmp_path: Path) -> None:
    vectors.save(tmp_path / "v")
    done = firth("push", tmp_path / "v", "me/tea", "--private", "--json")
    assert done.code == 0, done.err
    assert "me/tea" in served.private
    address = json.loads(done.out)["address"]
    assert firth("neighbors", address, "tea", "--topn", 1).out.count("milk") + 1
    firth("push", tmp_path / "v", "tea").complains("tea is not the name of a repository", "OWNER/NAME")
    firth("push", tmp_path / "v", "me/tea").complains("already has files", "--force")
    firth("neighbors", "hf://me/nothing@" + "1" * 40, "tea").complains("there is no repository me/nothing")
    firth("neighbors", "hf://me/tea@" + "1" * 40, "tea").complains("has no such commit")
    firth("neighbors", "hf://me", "tea").complains("is not an address on the hub")


def test_a_hub_that_is_gone(
    served: Hub, vectors: ft.Vectors, monkeypatch: pytest.MonkeyPatch, firth: Callable[..., Any]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    # The client waits before it tries again.
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    firth("neighbors", "hf://me/tea@" + "1" * 40, "tea").complains("cannot be reached")
    with pytest.raises(ft.FirthianError, match="cannot be reached"):
        hub.push(vectors, "me/tea")
