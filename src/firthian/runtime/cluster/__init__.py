"""More than one machine: the same work on a Ray cluster, with the same bytes as a result (docs/cluster.md)."""

from firthian.runtime.cluster.connection import connect, open_executor

__all__ = ["connect", "open_executor"]
