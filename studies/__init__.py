"""The papers' experiments, ours beside theirs. ``make studies`` runs all of them and writes ``docs/studies``."""

from tools.local_data import use_local_data

use_local_data()
