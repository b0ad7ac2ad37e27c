"""A Ray cluster of this machine alone, started for these tests and stopped after them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def ray_cluster():
    """Two processors of a cluster of our own; tests make executors of one or two workers on it."""
    pytest.importorskip("ray")
    from firthian.cluster import connect

    with connect("local:2") as executor:
        yield executor
