"""The papers' experiments, ours beside theirs. ``make studies`` runs all of them and writes ``docs/studies``."""
