"""Exponential families: models that maximize the likelihood of the counts."""
