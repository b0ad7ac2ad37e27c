"""Vectors: neighbors, analogies, uncertainty, and the formats of other tools."""
