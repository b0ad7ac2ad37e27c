"""Several recipes on one corpus: trained, evaluated, timed, in one report."""

from __future__ import annotations

from firthian.compare.comparison import Candidate, Comparison, compare_recipes

__all__ = ["Candidate", "Comparison", "compare_recipes"]
