"""Vectors: neighbours, analogies, uncertainty, and the formats of other tools."""
