"""Where vectors come from, and the settings their methods need again.

``Provenance`` is for readers: nothing computes with it. The *state* of vectors, a flat mapping of JSON scalars, is for
methods: how text is tokenized, the scale of PSD, the power of the eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class Provenance:
    """What happened to make a set of vectors.

    >>> Provenance.from_dict({"source": {"format": "glove"}}).transformed("normalized").to_dict()
    {'transforms': [{'name': 'normalized'}], 'source': {'format': 'glove'}}
    """

    recipe: str | None = None
    paper: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    vector_size: int | None = None
    seed: int | None = None
    #: The objective after each iteration.
    objective: list[float] = field(default_factory=list)
    status: str | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    #: Options and record of the counts that were trained on.
    counts: dict[str, Any] = field(default_factory=dict)
    #: Provenance of the vectors that were trained on, for recipes that start from vectors.
    vectors: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    #: Transforms applied after training, oldest first: ``{"name": ..., option: value}``.
    transforms: list[dict[str, Any]] = field(default_factory=list)
    #: Words folded in after training, one entry per call of ``add_words``.
    added: list[dict[str, Any]] = field(default_factory=list)
    #: Settings of the n-grams, and how well they predict hidden words.
    subwords: dict[str, Any] = field(default_factory=dict)
    #: The file that was imported: its name, format, and repairs.
    source: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as JSON values; a trained model has all fields of training."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        kept = ("options", "objective", "stats") if self.status is not None else ()
        return {name: value for name, value in values.items() if value not in (None, {}, []) or name in kept}

    @classmethod
    def from_dict(cls, given: Any) -> Provenance:
        """Check and take what a file says; raise ValueError if a field is unknown or has the wrong type."""
        if not isinstance(given, Mapping) or not given.keys() <= _TYPES.keys():
            raise ValueError("unknown fields of provenance")
        for name, value in given.items():
            entries = value if name in ("transforms", "added") and isinstance(value, list) else []
            if not isinstance(value, _TYPES[name]) or not all(isinstance(entry, dict) for entry in entries):
                raise ValueError(f"the provenance has a wrong {name}")
        return cls(**given)

    def transformed(self, name: str, **settings: Any) -> Provenance:
        """Return the provenance of vectors after one more transform."""
        return replace(self, transforms=[*self.transforms, {"name": name, **settings}])


_TYPES: dict[str, Any] = {"recipe": str, "paper": str, "vector_size": int, "seed": int, "status": str} | {
    item.name: item.default_factory for item in fields(Provenance) if item.default_factory is not MISSING
}


#: The part of the state that counting decides, which vectors made from these vectors share.
COUNTING_STATE = ("window", "tokenizer", "keep_case", "fold_numbers", "phrase_passes")


def check_state(given: Any) -> dict[str, Any]:
    """Return the state that a file holds; raise ValueError unless it is a mapping of names to finite scalars."""
    if not isinstance(given, Mapping) or not all(
        isinstance(value, str | int | float | None) for value in given.values()
    ):
        raise ValueError("the state is not a mapping of scalars")
    if any(isinstance(value, float) and not math.isfinite(value) for value in given.values()):
        raise ValueError("the state has a number that is not finite")
    return dict(given)


def counting_state(settings: Any, window: int) -> dict[str, Any]:
    """Return the part of the state that counting decides: how text is tokenized, phrases are joined, and the window.

    ``settings`` are those in the record of counts; tokens made elsewhere, and merged counts that disagree, have no tokenizer.

    >>> counting_state({"tokenizer": "icu:zh", "keep_case": True, "phrases": {"passes": 2}}, window=5)
    {'window': 5, 'tokenizer': 'icu:zh', 'keep_case': True, 'fold_numbers': False, 'phrase_passes': 2}
    """
    state: dict[str, Any] = {"window": int(window)}
    if isinstance(settings, Mapping) and isinstance(settings.get("tokenizer"), str):
        state |= {"tokenizer": settings["tokenizer"], "keep_case": bool(settings.get("keep_case"))}
        state["fold_numbers"] = bool(settings.get("fold_numbers"))
        phrases = settings.get("phrases")
        passes = phrases.get("passes") if isinstance(phrases, Mapping) else None
        if isinstance(passes, int):
            state["phrase_passes"] = passes
    return state
