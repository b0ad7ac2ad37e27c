"""What other tools read: gensim, spaCy, model2vec, sentence-transformers, viewers, and a model card."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from firthian.vectors.habits import Habits

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors


class Exports(Habits):
    """The part of ``Vectors`` that writes for other tools."""

    def to_gensim(self) -> Any:
        """Return a ``gensim.models.KeyedVectors`` with the same words, vectors and counts."""
        from firthian.vectors.formats.gensim import to_gensim

        return to_gensim(cast("Vectors", self))

    def to_spacy(self, path: str | os.PathLike[str], *, language: str | None = None, **options: Any) -> None:
        """Write a folder for ``spacy.load``; ``language`` is a spaCy code such as ``en``."""
        self._export(path, "spacy", language=language, **options)

    def to_model2vec(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder for ``model2vec.StaticModel.from_pretrained``, whose ``encode`` is ``document_vector``.

        ``name``, ``language``, ``license`` and ``scores`` (from ``firthian.evaluate``) go into its model card;
        ``tokenizer`` replaces that of the corpus; ``limit`` keeps the N most frequent words; ``force`` replaces an
        existing folder. The other exports take the same options.
        """
        self._export(path, "model2vec", **options)

    def to_sentence_transformers(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder for ``sentence_transformers.SentenceTransformer``, whose ``encode`` is ``document_vector``."""
        self._export(path, "sentence-transformers", **options)

    def to_projector(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a folder with ``vectors.tsv`` and ``metadata.tsv`` for TensorFlow's Embedding Projector."""
        self._export(path, "projector", **options)

    def to_atlas(self, path: str | os.PathLike[str], *, coordinates: Any = None, **options: Any) -> None:
        """Write Parquet for embedding-atlas; ``coordinates`` has two numbers per word, by default from a PCA."""
        self._export(path, "atlas", coordinates=coordinates, **options)

    # Pictures; their modules come after this one and are loaded by name.

    def plot(self, words: str | Sequence[str], **options: Any) -> Any:
        """Return a matplotlib figure of some words, or of a word and its neighbors.

        ``topn``, ``method`` (``pca``), and the style: ``title``, ``size``, ``dpi``, ``font``, ``highlight``, ``color``.
        """
        return self._picture("plot_words", words, **options)

    def map(self, **options: Any) -> Any:
        """Return a map of words that shows itself in a notebook, with ``save(path)``, ``plot()`` and ``to_pandas()``.

        ``words``, or the ``limit`` most frequent ones; ``method`` (``tsne``), ``clusters``, ``groups`` (by word),
        ``perplexity`` and ``seed``.
        """
        return self._picture("draw_inline", **options)

    def explore(self, **options: Any) -> Any:
        """Open the explorer in a notebook; ``counts`` add the contexts of words, ``height`` is in pixels."""
        return self._picture("explore_inline", **options)

    def _picture(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module("firthian.explore.inline"), name)(self, *arguments, **options)

    def model_card(self, **options: Any) -> str:
        """Return a model card in Markdown: what the vectors are, where they come from, and their ``scores``."""
        from firthian.vectors.cards import model_card

        return model_card(cast("Vectors", self), **options)

    def _export(self, path: str | os.PathLike[str], format: str, **options: Any) -> None:
        from firthian.vectors.formats import write_vectors

        write_vectors(cast("Vectors", self), path, format, **options)

    def _repr_html_(self) -> str:
        from firthian.vectors.cards import notebook_view

        return notebook_view(cast("Vectors", self))
