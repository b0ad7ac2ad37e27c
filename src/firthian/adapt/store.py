"""Classifiers on disk: a folder of arrays, words and a manifest. Nothing is pickled, and no file decides what is imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np

from firthian._version import __version__
from firthian.adapt.base import DocumentClassifier
from firthian.adapt.checks import ParameterError
from firthian.adapt.estimators import PAClassifier, RPAClassifier
from firthian.adapt.learner import Learner
from firthian.adapt.vectors import InitialPhi, OneHotPhi, PretrainedPhi, RandomPhi, initial_phi
from firthian.arrays import Array
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import new_folder
from firthian.errors import FirthianError
from firthian.options import Option
from firthian.text.tokenizer import Tokenizer, is_builtin
from firthian.text.types import TypeTable
from firthian.text.vocabulary import Vocabulary, WordsRecord
from firthian.vectors.vectors import Vectors

#: The numbers and names of classes: what ``numpy`` makes of them is again of one kind.
Labels = list[str] | list[int] | list[bool] | list[float]

Count = Annotated[int, Option("a number of things", low=0, high=2**62)]


class TokenizerRecord(TypedDict):
    """How texts were tokenized."""

    tokenizer: str
    keep_case: bool
    fold_numbers: bool


class Facts(TypedDict):
    """What fitting found."""

    n_empty_: Count
    n_unknown_words_: Count
    n_composed_words_: Count
    seed_: Annotated[int, Option("a seed", low=0, high=2**31)]
    classes_known_: bool


class LearnerRecord(TypedDict):
    """One binary classifier of the ensemble."""

    clock: Count
    history: list[dict[str, float]]


class Versions(TypedDict):
    """What wrote it."""

    firthian: str
    numpy: str


class ClassifierRecord(TypedDict):
    """The manifest of a classifier."""

    estimator: Literal["PAClassifier", "RPAClassifier"]
    parameters: dict[str, Any]
    tokenizer: TokenizerRecord
    vectors: str
    random: bool
    classes: Labels
    input: Literal["texts", "tokens", "matrix"]
    columns: Count | None
    names: list[str]
    facts: Facts
    learners: list[LearnerRecord]
    versions: Versions
    words: WordsRecord


CLASSIFIER = ArtifactKind("a classifier", "model.json", ClassifierRecord)

_KINDS: dict[str, type[DocumentClassifier]] = {"PAClassifier": PAClassifier, "RPAClassifier": RPAClassifier}


def save(estimator: DocumentClassifier, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a fitted classifier."""
    with new_folder(path, force) as folder:
        write(estimator, folder)


def write(estimator: DocumentClassifier, folder: Path) -> None:
    """Write a fitted classifier into an empty folder."""
    arrays = {"base": estimator.base_, "idf": estimator.idf_, "word_counts": estimator.vocabulary_.counts}
    learners = []
    for number, learner in enumerate(estimator.ensemble_.learners):
        words = learner.phi.words
        kept = {
            "moved": words,
            "rows": learner.phi.rows[: words.size],
            "drifts": learner.phi.drifts[: words.size],
            **{name: getattr(learner, name) for name in ("w", "v", "w_drift", "v_drift")},
        }
        arrays |= {f"{name}{number}": value for name, value in kept.items()}
        learners.append({"clock": learner.clock, "history": learner.history})
    parameters = estimator.get_params(deep=False)
    del parameters["vectors"]
    tokenizer = estimator._tokenizer()
    parameters["tokenizer"] = tokenizer.name
    if isinstance(parameters["class_weight"], dict):
        weights = parameters["class_weight"].items()
        parameters["class_weight"] = [[_plain(label), float(weight)] for label, weight in weights]
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = None
    first = estimator._first
    record = {
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "tokenizer": tokenizer.describe(),
        "vectors": first.describe(),
        "random": isinstance(first, RandomPhi),
        "classes": [_plain(label) for label in estimator.classes_],
        "input": estimator.input_kind_,
        "columns": getattr(estimator, "n_features_in_", None),
        "names": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "facts": {
            name: getattr(estimator, name)
            for name in ("n_empty_", "n_unknown_words_", "n_composed_words_", "seed_", "classes_known_")
        },
        "learners": learners,
        "versions": {"firthian": __version__, "numpy": np.__version__},
    }
    record["words"] = estimator.vocabulary_.save(folder)
    CLASSIFIER.write(folder, record, arrays)


def _plain(value: Any) -> Any:
    """Convert a value for JSON; raise if it cannot be stored."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | int | float | bool | list):
        return value
    raise ParameterError(f"{value!r} cannot be saved", hint="use strings or numbers")


#: Larger numbers are refused, so that products of two are finite.
LARGEST_NUMBER = 1e15

#: Larger IDF weights are refused: they are logarithms of a number of documents.
LARGEST_IDF = 1e3


def load(
    path: str | os.PathLike[str], tokenizer: Tokenizer | str | None = None, vectors: Any = None
) -> DocumentClassifier:
    """Read a classifier that ``save`` wrote.

    A saved classifier has the vectors of its own words; pass ``vectors`` for words that ``partial_fit`` may still bring.
    If it was fitted with a tokenizer function of your own, pass that as ``tokenizer``, itself or by name: a file does
    not decide what is imported.
    """
    folder = Path(path)
    artifact = CLASSIFIER.read(folder)
    # Copied, because learning continues in these arrays.
    arrays = {name: np.array(array) for name, array in artifact.arrays.items()}
    try:
        _check_numbers(folder / CLASSIFIER.tensors, arrays)
        return _assemble(folder, artifact.record, arrays, tokenizer, vectors)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, FirthianError):
            raise
        raise FirthianError(f"{folder / CLASSIFIER.manifest} is damaged", hint="fit the classifier again") from error


def _damaged(path: Path, why: str) -> FirthianError:
    return FirthianError(f"{path} is damaged ({why})", hint="fit the classifier again")


def _assemble(
    folder: Path, record: dict[str, Any], arrays: dict[str, Array], tokenizer: Tokenizer | str | None, vectors: Any
) -> DocumentClassifier:
    tensors = folder / CLASSIFIER.tensors

    def array(name: str, *shape: int) -> Array:
        result = arrays[name]
        if shape and result.shape != shape:
            raise _damaged(tensors, f"{name} has shape {result.shape}, expected {shape}")
        return result

    parameters = dict(record["parameters"])
    parameters["tokenizer"] = _tokenizer(folder, record["tokenizer"], tokenizer, bool(parameters["keep_case"]))
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    vocabulary = Vocabulary.load(folder, record["words"], arrays["word_counts"])
    base = array("base")
    if base.ndim != 2 or base.shape[0] != len(vocabulary) or base.dtype != np.float32:
        raise _damaged(tensors, f"vectors of shape {base.shape} for {len(vocabulary)} words")
    words, dimension = base.shape
    columns, names = record["columns"], record["names"]
    if columns not in (None, words) or len(names) not in (0, words) or len(set(names)) != len(names):
        raise _damaged(folder / CLASSIFIER.manifest, "its columns do not fit its words")
    if len(set(record["classes"])) != len(record["classes"]):
        raise _damaged(folder / CLASSIFIER.manifest, "it has a class twice")
    first: InitialPhi = OneHotPhi()
    if dimension:
        seed = int(record["facts"]["seed_"])
        first = RandomPhi(dimension, seed) if record["random"] else PretrainedPhi(Vectors(base, vocabulary))
    if vectors is not None:
        first = initial_phi(vectors, int(record["facts"]["seed_"]))
        if first.dimension != dimension:
            sizes = f"{first.dimension} dimensions for a classifier of {dimension}"
            raise ParameterError(f"vectors of {sizes}", hint="pass the vectors it was fitted with")
    estimator = _KINDS[record["estimator"]](first.describe(), **parameters)
    # A file may contain anything, so the checks of fitting apply.
    estimator._check_parameters()
    estimator._first = first
    if isinstance(first, PretrainedPhi):
        estimator.vectors = first.vectors
    estimator.base_, estimator.vocabulary_, estimator.idf_ = base, vocabulary, array("idf", words)
    if not (np.abs(estimator.idf_) < LARGEST_IDF).all():
        raise _damaged(tensors, "idf has impossible values")
    estimator._table = TypeTable.of_words(vocabulary.words)
    estimator.classes_ = np.array(record["classes"])
    estimator.input_kind_ = record["input"]
    if record["columns"] is not None:
        estimator.n_features_in_ = record["columns"]
    if record["names"]:
        estimator.feature_names_in_ = np.array(record["names"], dtype=object)
    facts: Facts = record["facts"]
    estimator.n_empty_, estimator.n_unknown_words_ = facts["n_empty_"], facts["n_unknown_words_"]
    estimator.n_composed_words_ = facts["n_composed_words_"]
    estimator.seed_, estimator.classes_known_ = facts["seed_"], facts["classes_known_"]
    ensemble = estimator._new_ensemble()
    for number, (learner, kept) in enumerate(zip(ensemble.learners, record["learners"], strict=True)):
        _fill(learner, number, array)
        learner.clock, learner.history = int(kept["clock"]), list(kept["history"])
        if not 0 <= learner.clock < 2**63:
            raise _damaged(folder / CLASSIFIER.manifest, "clock")
    estimator.ensemble_ = ensemble
    return estimator


def _check_numbers(path: Path, arrays: dict[str, Array]) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not (np.abs(array) < LARGEST_NUMBER).all():
            raise _damaged(path, f"{name} has impossible values")


def _fill(learner: Learner, number: int, array: Any) -> None:
    """Restore the saved arrays of one learner; raise if their shapes are wrong."""
    moved = array(f"moved{number}")
    words, dimension = learner.phi.base.shape
    if moved.ndim != 1 or (moved.size and not (moved.min() >= 0 and moved.max() < words)):
        raise FirthianError("the saved classifier names words that it does not have", hint="fit the classifier again")
    learner.phi.slots[moved] = np.arange(moved.size, dtype=np.int32)
    learner.phi.size = moved.size
    learner.phi.rows = array(f"rows{number}", moved.size, dimension)
    learner.phi.drifts = array(f"drifts{number}", moved.size, dimension)
    for name in ("w", "v", "w_drift", "v_drift"):
        setattr(learner, name, array(f"{name}{number}", *getattr(learner, name).shape))


def _tokenizer(folder: Path, described: dict[str, Any], given: Tokenizer | str | None, keep_case: bool) -> Any:
    """Return the tokenizer as a parameter: its name, if that and ``keep_case`` describe it completely."""
    name = described["tokenizer"]
    if isinstance(given, str):
        given = Tokenizer(given, described["keep_case"], described["fold_numbers"])
    if given is not None:
        if given.describe() != described:
            shown = ", ".join(f"{key} {value}" for key, value in described.items())
            raise ParameterError(f"{folder} was fitted with another tokenizer ({shown})", hint="pass that one")
        return given
    if not is_builtin(name):
        raise ParameterError(f"{folder} was fitted with a custom tokenizer, {name}", hint=f"pass `tokenizer={name}`")
    plain = described == {"tokenizer": name, "keep_case": keep_case, "fold_numbers": False}
    return name if plain else Tokenizer(name, bool(described["keep_case"]), bool(described["fold_numbers"]))
