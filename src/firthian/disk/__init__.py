"""Artifacts on disk: one container, atomic writes, locks, checkpoints."""
