"""The rooms of the package form a directed acyclic graph, files stay readable, and docs/flow.md shows the real graph."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "firthian"
FLOW = Path(__file__).parents[1] / "docs" / "flow.md"

#: A room imports only rooms that stand before it. Modules at the root, such as ``errors``, come first.
ROOMS = (
    "kernels", "disk", "runtime", "text", "counts", "vectors", "datasets", "learn", "texts", "adapt", "evaluate", "compare",
    "ask", "explore", "cli",
)  # fmt: skip

#: Families of models, in the same order: a family imports only those before it.
FAMILIES = ("linalg", "spectral", "psd", "stochastic", "likelihood", "bayes")


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "firthian":
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.startswith("firthian.")}
    return {name.removeprefix("firthian.") for name in found} - {"firthian"}


def edges(folder: Path, prefix: str, rooms: tuple[str, ...]) -> set[tuple[str, str]]:
    """Return (room, imported room) for the folders of a package."""
    found = set()
    for room in rooms:
        for path in (folder / room).rglob("*.py"):
            heads = {name.removeprefix(prefix).split(".")[0] for name in imports(path) if name.startswith(prefix)}
            found |= {(room, head) for head in heads & set(rooms) if head != room}
    return found


#: A row of a table in docs/flow.md: a room and the rooms it imports.
_ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)*) ?\|(.*)$", flags=re.MULTILINE)


def with_graph(page: str) -> str:
    """Return the page with the imports of rooms and families as they are now."""
    links = edges(PACKAGE, "", ROOMS) | edges(PACKAGE / "learn", "learn.", FAMILIES)

    def row(room: str, rest: str) -> str:
        heads = [f"`{head}`" for head in (*ROOMS, *FAMILIES) if (room, head) in links]
        return f"| `{room}` | {', '.join(heads)}{' ' if heads else ''}|{rest}"

    head, title, _ = page.partition("| folder | imports |\n|---|---|\n")
    head = _ROW.sub(lambda match: row(match[1], match[3]), head)
    return head + title + "".join(f"{row(room, '')}\n" for room in ROOMS)


def test_the_page_of_the_flow_shows_the_real_graph():
    page = FLOW.read_text(encoding="utf-8")
    assert with_graph(page) == page, "run: python -m tests.test_house"
    assert len(_ROW.findall(page)) == len(ROOMS) + len(FAMILIES)


@pytest.mark.parametrize(("folder", "prefix", "rooms"), [("", "", ROOMS), ("learn", "learn.", FAMILIES)])
def test_rooms_import_only_rooms_before_them(folder, prefix, rooms):
    back = [
        (room, head) for room, head in edges(PACKAGE / folder, prefix, rooms) if rooms.index(head) > rooms.index(room)
    ]
    assert not back


def test_every_folder_is_a_room_and_the_root_is_nearly_empty():
    folders = {path.parent.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE}
    assert folders == set(ROOMS)
    root = {path.name for path in PACKAGE.glob("*.py")}
    assert root == {"__init__.py", "__main__.py", "_version.py", "arrays.py", "errors.py", "options.py"}


def test_files_stay_readable():
    sizes = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path: size for path, size in sizes.items() if size > 400} == {}
    assert len(sizes) <= 280


if __name__ == "__main__":
    FLOW.write_text(with_graph(FLOW.read_text(encoding="utf-8")), encoding="utf-8")
