"""Exponential families: likelihoods of the counts themselves."""
