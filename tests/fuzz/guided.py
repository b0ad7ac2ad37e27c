"""Fuzz a target guided by coverage (atheris): ``python -m tests.fuzz.guided TARGET [libFuzzer's options]``. ``make fuzz``

Edits of our own make half of the inputs, libFuzzer's the other half. A failure stops the run and leaves its input in
``build/fuzz``.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Kernels are compiled from their bytecode, which must be as it was written; only what reads files is watched.
UNWATCHED = ["firthian.kernels", "firthian.learn"]


def main() -> None:
    """Run one target for as long as libFuzzer is told."""
    import atheris

    with atheris.instrument_imports(include=["firthian"], exclude=UNWATCHED):
        from tests.fuzz.edits import draw
        from tests.fuzz.targets import TARGETS, find_target

    name, *options = sys.argv[1:] or [""]
    if name not in {target.name for target in TARGETS}:
        raise SystemExit(f"targets are: {' '.join(target.name for target in TARGETS)}")
    target = find_target(name)
    seeds = target.seeds()
    corpus = ROOT / "build" / "fuzz" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(data)
        target.try_bytes(data)

    def change(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2:
            return bytes(atheris.Mutate(data, most))
        return target.edit(data, draw(random.Random(seed), seeds))[:most]

    def one(data: bytes) -> None:
        target.try_bytes(data)

    arguments = [
        sys.argv[0],
        str(corpus),
        f"-artifact_prefix={corpus}-",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=65536",
    ]
    atheris.Setup([*arguments, *options], one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
