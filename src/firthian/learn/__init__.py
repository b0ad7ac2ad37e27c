"""Counts -> Vectors: train, plan, recipes, and one folder per family of models."""
