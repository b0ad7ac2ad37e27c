"""Bayesian logistic factorization: every word a Gaussian."""
