"""Join or start a Ray cluster, and leave it when the work is done; results have the same bytes (docs/cluster.md)."""

from __future__ import annotations

import os
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firthian.errors import FirthianError, os_errors, require
from firthian.runtime.executor import Executor, Threads, check_workers
from firthian.runtime.memory import available_bytes

if TYPE_CHECKING:
    from firthian.runtime.cluster.executor import RayExecutor

#: The object store of a cluster we start: its share of the free memory, and its maximum in bytes.
STORE_SHARE, MOST_STORE_BYTES = 0.25, 8 * 10**9

#: Seconds to wait for a cluster to answer, and the highest port number.
ANSWER_SECONDS, MOST_PORT = 10, 65535

#: Attempts to start a cluster.
STARTS = 3

#: No usage statistics; workers at normal priority (Ray starts them with nice 15, but we wait for them); and long timeouts,
#: so that slow workers on a busy machine are not declared dead.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "60000",
}

_FORMS = "pass auto (a running cluster), ray://HOST:PORT, or local:N to start one here"


@contextmanager
def open_executor(cluster: str | Executor | None, workers: int | None) -> Iterator[Executor]:
    """Yield an executor: threads if no cluster is named, else a cluster, which is left at the end.

    >>> with open_executor(None, 2) as executor:
    ...     executor.workers
    2
    """
    if cluster is None:
        yield Threads(workers)
    elif isinstance(cluster, str):
        with connect(cluster, workers) as executor:
            yield executor
    else:
        yield cluster


@contextmanager
def connect(cluster: str, workers: int | None = None) -> Iterator[RayExecutor]:
    """Join a Ray cluster: ``auto`` one running here, ``ray://HOST:PORT`` or ``HOST:PORT`` another, ``local:N`` a new one.

    ``workers`` limits the number of concurrent tasks; default: the processors of the cluster.
    """
    if workers is not None:
        check_workers(workers)
    kind, _, number = cluster.partition(":")
    processors = int(number) if kind == "local" and number.isdecimal() else 0
    if kind == "local" and processors < 1:
        raise FirthianError(f"invalid cluster {cluster!r}", hint=_FORMS)
    server = _host_and_port(cluster) if kind not in ("local", "auto") else None
    ray = require("ray", "cluster")
    from firthian.runtime.cluster.executor import RayExecutor

    started_here = not ray.is_initialized()
    if started_here:
        if kind == "local":
            _start(ray, processors)
        else:
            _join(ray, cluster, server)
    try:
        yield RayExecutor(workers)
    finally:
        if started_here:
            ray.shutdown()


def _quiet() -> dict[str, Any]:
    """Return settings that keep Ray from writing to the terminal and reporting to its makers."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    return {"log_to_driver": False, "logging_level": "ERROR"}


def _start(ray: Any, processors: int) -> None:
    """Start a cluster on this machine; it ends with this process."""
    store = min(MOST_STORE_BYTES, int(available_bytes() * STORE_SHARE))
    # Sockets are in this folder, and their paths must be short.
    folder = _own_folder(os.path.join(tempfile.gettempdir(), f"firthian-ray-{os.getuid()}"))
    settings = {"num_cpus": processors, "object_store_memory": store, "_temp_dir": folder, "include_dashboard": False}
    for attempt in range(STARTS):
        try:
            ray.init(address="local", **settings, **_quiet())
            return
        except Exception as error:
            # Ray times out after half a minute with a plain Exception, which may happen on a busy machine.
            ray.shutdown()
            if "timed out" not in str(error) or attempt + 1 == STARTS:
                hint = "try again when the machine is less busy"
                raise FirthianError(f"Ray does not start ({_first_line(error)})", hint) from error


def _own_folder(folder: str) -> str:
    """Create a folder in a public place; raise if it is another user's, or a link, which would expose our sockets."""
    with os_errors():
        os.makedirs(folder, mode=0o700, exist_ok=True)
        is_ours = os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder)
    if not is_ours:
        raise FirthianError(f"{folder} belongs to another user", hint="remove it, or set TMPDIR to your own folder")
    return folder


def _first_line(error: Exception) -> str:
    """Return the first line of an error, or its type if it has no text."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > MOST_PORT:
        raise FirthianError(f"invalid cluster {address!r}", hint=_FORMS)
    return host.strip("[]"), int(port)


def _join(ray: Any, address: str, server: tuple[str, int] | None) -> None:
    where = "no Ray cluster is running here" if server is None else f"no Ray cluster answers at {address}"
    hint = "start one with: ray start --head, or pass local:N"
    try:
        if server is not None:
            # Ray would retry for minutes and write to the terminal, so first check that something listens.
            socket.create_connection(server, timeout=ANSWER_SECONDS).close()
            where = f"cannot join the Ray cluster at {address}"
            hint = "check its versions of Ray and Python; if it requires a token, set RAY_AUTH_MODE=token"
        with warnings.catch_warnings(action="ignore"):
            ray.init(address=address, **_quiet())
    except (OSError, ValueError, RuntimeError, ImportError, ray.exceptions.RayError) as error:
        raise FirthianError(f"{where} ({_first_line(error)})", hint) from None
