"""A Ray cluster of this machine alone, started for these tests and stopped after them.

``FIRTHIAN_TEST_CLUSTER=auto`` (or another name) runs them on a cluster that is there already.
"""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that share a cluster run in one process, so that only one is started (with ``--dist loadgroup``)."""
    for item in items:
        if "ray_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("ray"))


@pytest.fixture(scope="session")
def ray_cluster():
    """Two processors of a cluster of our own; tests make executors of one or two workers on it."""
    pytest.importorskip("ray")
    from firthian.runtime.cluster import connect

    with connect(os.environ.get("FIRTHIAN_TEST_CLUSTER", "local:2")) as executor:
        yield executor
