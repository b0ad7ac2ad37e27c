"""How work runs: workers, memory, progress, randomness."""
