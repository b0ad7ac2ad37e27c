"""Stochastic gradients: GloVe and skip-gram."""
