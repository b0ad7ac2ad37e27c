"""Pages that are programs: their ``sh`` and ``python`` blocks run in order, in one folder and one set of names.

A ``text`` block that follows is what the block before it printed. ``python -m tests.docs.pages`` runs the pages on the real
corpus and writes what was printed into them, so that nobody copies output by hand.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages that run from top to bottom.
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md")), DOCS / "formats.md"]
#: Pages with Python sessions.
SESSIONS = [*PAGES, *sorted((DOCS / "reference").glob("*.md"))]

#: Commands that prepare a machine; they are shown, and not run.
SETUP = ("pip", "git", "make", "cd", "python")

#: The groups of the page about few labels.
GROUPS = ("rec.sport.hockey", "sci.space", "rec.autos", "comp.graphics")

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\d+(?:\.\d+)? s\b(?: with \d+ workers?)?")


@dataclass(frozen=True)
class Block:
    """A block of a page, and where it stands."""

    language: str
    code: str
    span: tuple[int, int]
    line: int


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    return [
        Block(found[1], found[2], found.span(2), text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def hide_times(text: str) -> str:
    """Make seconds alike: they differ from run to run, and so do spaces that line them up."""
    return re.sub(r"[ \t]+", " ", _SECONDS.sub("N s", text)).strip()


@dataclass
class Reader:
    """Someone who types a page: a shell with a few variables, and a Python session."""

    #: Variables of the shell.
    variables: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def run(self, page: Path) -> Iterator[tuple[Block, str]]:
        """Run a page in the folder where we are; give each block that was run with what it printed."""
        for block in blocks(page.read_text(encoding="utf-8")):
            where = f"{page.name}, line {block.line}"
            if block.language == "sh":
                yield block, self._shell(block.code, where)
            elif block.language == "python":
                yield block, self._python(block.code, where)

    def _python(self, code: str, where: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(code, where, "exec"), self.names)
        return shown.getvalue()

    def _shell(self, code: str, where: str) -> str:
        return "".join(self._command(line, where) for line in code.replace("\\\n", " ").splitlines())

    def _command(self, line: str, where: str) -> str:
        """Run one line: ``firth …``, ``firth … > FILE``, ``name=$(firth …)``, ``echo … > FILE``; more is not needed."""
        if assigned := re.fullmatch(r"(\w+)=\$\((firth .*)\)", line):
            self.variables[assigned[1]] = self._command(assigned[2], where).strip()
            return ""
        words = [
            re.sub(r"\$(\w+)", lambda name: self.variables[name[1]], word) for word in shlex.split(line, comments=True)
        ]
        if not words or words[0] in SETUP:
            return ""
        target = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if ">" in words else words
        assert words[0] in ("firth", "cat"), f"{where}: cannot run {line}"
        shown = Path(words[1]).read_text("utf-8") if words[0] == "cat" else self._firth(words[1:], f"{where}: {line}")
        if target is not None:
            Path(target).write_text(shown, encoding="utf-8")
            return ""
        return shown

    def _firth(self, arguments: list[str], where: str) -> str:
        from firthian.cli.app import main

        with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(io.StringIO()) as complaint:
            code = main(arguments)
        assert code == 0, f"{where}\n{complaint.getvalue()}"
        return shown.getvalue()


def with_output(page: Path, reader: Reader) -> str:
    """Run a page; give its text with every ``text`` block as it was printed now."""
    text = page.read_text(encoding="utf-8")
    printed = {block.span: shown for block, shown in reader.run(page)}
    pieces, at, before = [], 0, None
    for block in blocks(text):
        if block.language == "text" and before is not None:
            shown = "".join(f"{line.rstrip()}\n" for line in printed[before.span].rstrip().splitlines())
            pieces += [text[at : block.span[0]], shown]
            at = block.span[1]
        before = block if block.span in printed else None
    return "".join([*pieces, text[at:]])


#: What the how-to pages take as the reader's own: small files, by name.
SMALL_FILES = {
    "pairs.txt": "space nasa 9\nhockey game 8\ncar bike 7\nhockey space 1\ncar nasa 1\ngame windows 2\n",
    "more.txt": "the zamboni cleaned the ice before the hockey game and the team went home\n" * 12,
    "new.txt": "the team won the game in the playoffs\nthe shuttle reached its orbit around the moon\n",
    "chinese.txt": "我喜欢喝茶。她喜欢喝咖啡。\n他不喜欢喝咖啡，他喜欢喝茶。\n我们在北京喝茶。\n" * 5,
    "pairs-zh.txt": "喜欢 咖啡 5\n我 她 8\n北京 咖啡 1\n",
}


def write_small_files(folder: Path) -> None:
    """Write the reader's own small files."""
    for name, text in SMALL_FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def write_speeches(folder: Path) -> None:
    """Write a small table of speeches in which two parties use *immigration* differently, vectors and a transform."""
    import numpy as np

    draw = np.random.default_rng(5)
    near = {"D": ["reform", "broken", "families"], "R": ["illegal", "amnesty", "border"]}
    others = ["people", "country", "house", "senate", "bill", "vote", "speaker", "time"]
    rows = ["doc\tparty\tgender\tnominate_dim1\ttext"]
    for number in range(60):
        party = "DR"[number % 2]
        words = [
            f"{draw.choice(near[party])} {target} {draw.choice(near[party])} {' '.join(draw.choice(others, 3))}"
            for target in ("immigration", "immigrants", "immigration", "immigration")
        ]
        rows.append(f"text{number}\t{party}\t{'FM'[number // 2 % 2]}\t0\t{' '.join(words)}")
    (folder / "speeches.tsv").write_text("\n".join(rows) + "\n")
    words = [*near["D"], *near["R"], *others, "immigration", "immigrants"]
    lines = [f"{word} {' '.join(f'{value:.3f}' for value in draw.normal(size=8))}\n" for word in words]
    (folder / "speech-vectors.txt").write_text("".join(lines))
    np.save(folder / "transform.npy", np.eye(8))


def real_speeches(folder: Path) -> None:
    """Write the sample of speeches of conText, if it is here."""
    import lzma

    from firthian.datasets import data_folder
    from tools.local_data import use_local_data

    use_local_data()
    place = (data_folder() or Path()) / "speeches"
    for source, target in (("congress.tsv.xz", "speeches.tsv"), ("glove-subset.txt.xz", "speech-vectors.txt")):
        if (place / source).exists():
            (folder / target).write_bytes(lzma.decompress((place / source).read_bytes()))
            (folder / "transform.npy").write_bytes((place / "transform.npy").read_bytes())


def real_reader() -> Reader:
    """Return a reader in an empty folder with the demonstration's corpus, and 25 labeled postings of each of four groups."""
    from firthian.datasets import locate

    os.environ["COLUMNS"] = "100"
    os.chdir(tempfile.mkdtemp(prefix="firthian-pages-"))
    write_small_files(Path())
    write_speeches(Path())
    real_speeches(Path())
    Path("corpus.txt").symlink_to(locate("20newsgroups-text").resolve())
    taken: dict[tuple[str, str], int] = {}
    with locate("20newsgroups").open(encoding="utf-8") as lines, open("labeled.tsv", "w", encoding="utf-8") as kept:
        for line in lines:
            split, label, _ = line.split("\t", 2)
            taken[split, label] = taken.get((split, label), 0) + 1
            if label in GROUPS and (split == "test" or taken[split, label] <= 25):
                kept.write(line)
    return Reader()


def refresh(pages: list[Path]) -> None:
    """Write what pages print into them."""
    for page in pages:
        page.write_text(with_output(page, real_reader()), encoding="utf-8")


if __name__ == "__main__":
    refresh([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
