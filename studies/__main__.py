"""Run the studies of all papers and of chunking, one after another; each goes on where it stopped. ``make studies[-quick]``"""

from __future__ import annotations

import subprocess
import sys
import time

STUDIES = ("psdvec", "iwlrls", "emf", "defaults", "chunking", "bayes", "rpa")


def main(flags: list[str]) -> int:
    """Run each as a process of its own: what one leaves in memory does not slow down the next."""
    failed = []
    for name in STUDIES:
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", f"studies.{name}", *flags], check=False)
        print(
            f"== {name}: {'failed' if done.returncode else 'done'} after {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
        if done.returncode:
            failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
