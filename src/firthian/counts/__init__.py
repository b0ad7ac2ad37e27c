"""Ids -> Counts: windows, counting, merging out of memory, the store on disk."""
