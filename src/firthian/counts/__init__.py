"""Ids -> Counts: settings, windows, counting, merging, the store on disk."""
