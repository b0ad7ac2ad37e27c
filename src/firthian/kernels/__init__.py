"""Numba kernels: arrays in, arrays out; no classes, no files, no Python objects.

Each kernel has a slow, obvious numpy twin in ``tests/reference``.
"""
