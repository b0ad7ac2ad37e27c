"""Maps, plots and the explorer in a notebook: what ``vectors.map()``, ``vectors.plot()`` and ``vectors.explore()`` return."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from firthian.counts.counts import Counts
from firthian.errors import FirthianError, require
from firthian.explore.map_plot import MapStyle, draw_map, map_page, write_map
from firthian.explore.projection import ProjectionOptions
from firthian.explore.server.app import start
from firthian.explore.word_map import WordMap, grouped, make_map
from firthian.runtime.figures import for_notebook
from firthian.vectors.vectors import Vectors


class InlineMap(WordMap):
    """A map that shows itself in a notebook and writes itself to a file."""

    def save(self, path: str | os.PathLike[str], *, force: bool = False, **style: Any) -> None:
        """Write the map; the suffix decides: ``.html``, ``.png``, ``.svg``, ``.pdf`` or ``.csv``.

        ``style`` has the fields of ``MapStyle``: ``title``, ``labels``, ``size``, ``dpi``, ``font``, ``highlight``, ``color``.
        """
        write_map(self, path, MapStyle(**style), force=force)

    def plot(self, **style: Any) -> Any:
        """Return a matplotlib figure of the map; ``style`` is that of ``save``."""
        return for_notebook(draw_map(self, MapStyle(**style))[0])

    def __repr__(self) -> str:
        return f"<Map of {len(self):,} words by {self.method}>"

    def _repr_html_(self) -> str:
        return _frame(f'srcdoc="{escape(map_page(self))}"', 560)


def _frame(source: str, height: int) -> str:
    return f'<iframe {source} title="Firthian" width="100%" height="{height}" style="border: 0"></iframe>'


def draw_inline(
    vectors: Vectors,
    *,
    words: Sequence[str] | None = None,
    limit: int = 2000,
    method: str = "tsne",
    clusters: int = 12,
    groups: dict[str, str] | None = None,
    perplexity: float = 30.0,
    seed: int = 1,
) -> InlineMap:
    """Return a map of words, by default of the most frequent ones (see ``firth map``).

    ``groups`` gives words groups of your own; without ``words``, these words are drawn.
    """
    if groups and words is None:
        words = list(groups)
    options = ProjectionOptions(method, perplexity, seed)
    made = make_map(vectors, limit=limit, words=words, options=options, clusters=clusters)
    made = grouped(made, groups) if groups else made
    return InlineMap(**vars(made))


def plot_words(
    vectors: Vectors, words: str | Sequence[str], *, topn: int = 20, method: str = "pca", **style: Any
) -> Any:
    """Return a matplotlib figure of some words, or of a word and its neighbors."""
    listed = [words, *(near for near, _ in vectors.most_similar(words, topn=topn))] if isinstance(words, str) else words
    if isinstance(words, str):
        style = {"highlight": [words], **style}
    return draw_inline(vectors, words=listed, method=method, clusters=1 if isinstance(words, str) else 6).plot(**style)


class InlineExplorer:
    """The explorer in a cell of a notebook, served by this process until it ends or ``close`` is called."""

    def __init__(self, vectors: Vectors, counts: Counts | str | os.PathLike[str] | None, height: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="firthian-")
        # The name comes from a file, and could be a path.
        recipe = vectors.provenance.recipe or ""
        path = Path(self._folder.name) / (recipe if re.fullmatch("[a-z][a-z0-9-]*", recipe) else "vectors")
        vectors.save(path)
        if isinstance(counts, Counts):
            if counts.path is None:
                raise FirthianError("these counts have no folder", hint="count them again")
            counts = counts.path
        self._height = height
        self._vocabulary = vectors.vocabulary
        self._selected: list[str] = []
        ready = threading.Event()
        #: The address of the page.
        self.url = ""

        def announce(url: str) -> None:
            self.url = url
            ready.set()

        folder = None if counts is None else os.fspath(counts)
        self._server = start([str(path)], counts=folder, selected=self._selected, ready=announce)
        ready.wait(10)

    def selection(self) -> Any:
        """Return the words that are selected on the map, as a data frame with their counts."""
        words = [word for word in self._selected if word in self._vocabulary]
        counts = [int(self._vocabulary.counts[self._vocabulary[word]]) for word in words]
        return require("pandas", "ask").DataFrame({"word": words, "count": counts})

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._folder.cleanup()

    def __repr__(self) -> str:
        return f"<Explorer at {self.url}>"

    def _repr_html_(self) -> str:
        return _frame(f'src="{escape(self.url)}"', self._height)


def explore_inline(
    vectors: Vectors, *, counts: Counts | str | os.PathLike[str] | None = None, height: int = 720
) -> InlineExplorer:
    """Open the explorer in a notebook; ``counts`` add the contexts of words."""
    return InlineExplorer(vectors, counts, height)
