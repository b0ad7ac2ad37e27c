"""A process that counts in small steps, to be killed: CORPUS TARGET [resume]."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.counts.jobs import count_with

if __name__ == "__main__":
    count_with(
        [Path(sys.argv[1])],
        Path(sys.argv[2]),
        workers=2,
        segment_bytes=20_000,
        group_tokens=8_000,
        window=4,
        min_count=3,
        sample=0.01,
        resume="resume" in sys.argv[3:],
    )
