"""Vectors of texts: encoding, search, near-duplicates."""
