from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from firthian.datasets.sources import open_member
from firthian.errors import FirthianError


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "some.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("pkg/data.txt", b"wanted " * 1000)
        file.writestr("../../escape.txt", b"out of the folder")
        file.writestr("/etc/absolute.txt", b"an absolute path")
    return path


def read(path: Path, name: str, **limits: int) -> bytes:
    with open_member(path, name, **limits) as member:
        return member.read()


def test_reads_the_member_and_writes_nothing(archive: Path) -> None:
    before = sorted(archive.parent.rglob("*"))
    assert read(archive, "pkg/data.txt") == b"wanted " * 1000
    assert read(archive, "../../escape.txt") == b"out of the folder"
    assert sorted(archive.parent.rglob("*")) == before


def test_a_member_above_the_limit_is_refused_unread(archive: Path) -> None:
    assert read(archive, "pkg/data.txt", limit=7000)
    with pytest.raises(FirthianError, match=r"larger than 6,999 bytes"):
        read(archive, "pkg/data.txt", limit=6999)


def test_a_member_that_declares_less_than_it_holds_gives_no_more(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = (10).to_bytes(4, "little")
    archive.write_bytes(data)
    # The first 10 bytes have another checksum than the whole: damaged, and never the whole.
    with pytest.raises(FirthianError, match="damaged"):
        read(archive, "pkg/data.txt", limit=100)


@pytest.mark.parametrize("name", ["pkg/other.txt", "data.txt", "PKG/DATA.TXT", ""])
def test_a_missing_member_is_named(archive: Path, name: str) -> None:
    with pytest.raises(FirthianError, match=f"has no {name}"):
        read(archive, name)


def test_an_encrypted_member_is_refused(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(FirthianError, match="encrypted"):
        read(archive, "pkg/data.txt")


def test_every_truncation_is_an_error_of_ours(archive: Path) -> None:
    data = archive.read_bytes()
    for size in range(0, len(data), 7):
        archive.write_bytes(data[:size])
        with pytest.raises(FirthianError):
            read(archive, "pkg/data.txt")


def test_a_changed_byte_of_the_data_is_noticed(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[50] ^= 0xFF
    archive.write_bytes(data)
    with pytest.raises(FirthianError, match="damaged"):
        read(archive, "pkg/data.txt")
