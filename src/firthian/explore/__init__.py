"""Explore vectors: maps, word clouds, and a web page."""
