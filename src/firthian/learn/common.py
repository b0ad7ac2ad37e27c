"""Options and counting settings that recipes of several families share."""

from __future__ import annotations

from firthian.learn.recipe import DYNAMIC, Option
from firthian.runtime.cost import memory_of
from firthian.vectors.transform import COMBINATIONS

__all__ = ["COMBINE", "DYNAMIC", "POWER", "SEARCH", "SMOOTHING"]

SMOOTHING = Option("ns_exponent", 0.75, "power of the context distribution", low=0, high=2)
POWER = Option("eigenvalue_power", 0.5, "vectors are U·s^power", "solver", low=0, high=2)

COMBINE = Option("combine", "u", "vectors are u, u+c or their mean", "solver", choices=COMBINATIONS)

#: A matrix as sparse as the counts, and a Krylov search: a basis of twice the dimensions and 256 more, and its image.
SEARCH = memory_of("svd")
