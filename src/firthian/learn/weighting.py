"""Moved to ``firthian.arrays``; this goes once nobody imports it."""

from firthian.arrays import on_pattern as on_pattern
