"""Run the studies of all papers and of chunking; each resumes where it stopped. ``make studies[-quick]``"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from studies import overview
from studies.overview import BESIDE

#: One after another, each with all cores.
STUDIES = ("psdvec", "iwlrls", "emf", "defaults", "bayes", "rpa")


def _start(name: str, flags: list[str], niceness: int = 0) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", f"studies.{name}", *flags], preexec_fn=lambda: os.nice(niceness))


def main(flags: list[str]) -> int:
    """Run each study in its own process, so that none inherits another's memory."""
    failed = []

    def finish(name: str, process: subprocess.Popen[bytes], begin: float) -> None:
        code = process.wait()
        print(f"== {name}: {'failed' if code else 'done'} after {time.perf_counter() - begin:.0f} s", flush=True)
        if code:
            failed.append(name)

    start = time.perf_counter()
    beside = _start(BESIDE, flags, niceness=10)
    for name in STUDIES:
        begin = time.perf_counter()
        finish(name, _start(name, flags), begin)
    finish(BESIDE, beside, start)
    print(f"== all: {(time.perf_counter() - start) / 60:.0f} minutes", flush=True)
    if "--quick" not in flags:
        overview.main()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
