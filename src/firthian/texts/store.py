"""Encoders on disk: a folder of vectors with ``encoder.json`` and ``encoder.safetensors`` beside them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.artifact import ArtifactKind, sha256
from firthian.disk.atomic import new_folder
from firthian.disk.opening import read_regular
from firthian.disk.tensors import damage
from firthian.errors import FirthianError, os_errors
from firthian.text.tokenizer import Tokenizer
from firthian.texts.pooling import Pooling, Weights
from firthian.vectors.store import VECTORS, write_vectors
from firthian.vectors.vectors import Vectors

if TYPE_CHECKING:
    from firthian.texts.encoder import Encoder

ENCODER = ArtifactKind("an encoder", "encoder.json")


def is_encoder(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds an encoder."""
    return (Path(path) / ENCODER.manifest).is_file()


def save(target: str | os.PathLike[str], encoder: Encoder, force: bool = False) -> None:
    """Write the vectors and the encoder as one folder, which appears only when it is complete."""
    with new_folder(target, force) as folder:
        write_vectors(encoder.vectors, folder)
        record, arrays = parts(encoder)
        ENCODER.write(folder, {**record, "vectors": _fingerprint(folder)}, arrays)


def parts(encoder: Encoder) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what an encoder is besides its vectors: a record and arrays."""
    pooling = encoder.pooling
    record = {"options": encoder.options, "fitted": encoder.fitted, "unknown_weight": pooling.weights.unknown}
    return record, {"weights": pooling.weights.words, "center": pooling.center, "map": pooling.map}


def load(
    source: str | os.PathLike[str], tokenizer: Tokenizer | None = None, workers: int | None = None, **changes: Any
) -> Encoder:
    """Open a folder, with other options where ``changes`` are not None; the vectors are mapped into memory."""
    folder = Path(source)
    artifact = ENCODER.read(folder)
    if artifact.record.get("vectors") != _fingerprint(folder):
        raise FirthianError(f"the vectors in {folder} are not those of its encoder", hint="fit and save it again")
    damaged = damage(folder / ENCODER.manifest)
    return join(Vectors.load(folder), artifact.record, artifact.arrays, damaged, tokenizer, workers, **changes)


def join(
    vectors: Vectors,
    record: Mapping[str, Any],
    arrays: Mapping[str, Array],
    damaged: FirthianError,
    tokenizer: Tokenizer | None = None,
    workers: int | None = None,
    **changes: Any,
) -> Encoder:
    """Build an encoder from its ``parts``; raise ``damaged`` if they do not fit each other."""
    from firthian.texts.encoder import Encoder

    try:
        changed = {name: value for name, value in changes.items() if value is not None}
        options, unknown = record["options"], float(record["unknown_weight"])
        weights, center, map_ = (np.array(arrays[name]) for name in ("weights", "center", "map"))
        encoder = Encoder(vectors, **{**options, **changed}, tokenizer=tokenizer, workers=workers)
        fitted = bool(record["fitted"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged from error
    if (
        [array.dtype.name for array in (weights, center, map_)] != ["float64", "float32", "float32"]
        or weights.shape != (len(vectors),)
        or center.shape != (vectors.vector_size,)
        or map_.shape[:1] != center.shape
        or map_.ndim != 2
        or not all(np.isfinite(array).all() for array in (weights, center, map_, unknown))
        or min(unknown, weights.min(initial=0)) < 0
    ):
        raise damaged
    encoder.pooling = Pooling(Weights(weights, unknown), center, map_)
    encoder.fitted = fitted
    return encoder


def _fingerprint(folder: Path) -> str:
    """Return the checksum of the vectors' manifest, which has those of everything else."""
    with os_errors():
        return sha256(read_regular(folder / VECTORS.manifest))
