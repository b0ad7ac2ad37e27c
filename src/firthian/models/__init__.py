"""WHAT is fitted: one file a family of models. A model knows its data, weights, objective and derivatives."""
