"""``--cluster auto|ray://...|local:N`` -> an executor, and back to nothing when the work is done."""

from __future__ import annotations

import os
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firthian.errors import FirthianError, from_os_error, require
from firthian.runtime.executor import Executor, Threads, check_workers
from firthian.runtime.memory import available_bytes

if TYPE_CHECKING:
    from firthian.runtime.cluster.executor import RayExecutor

#: The object store of a cluster that we start ourselves takes this part of the free memory, and at most so many bytes.
STORE_SHARE, MOST_STORE_BYTES = 0.25, 8 * 10**9

#: A cluster that is there answers in so many seconds, at a port up to the last there is.
ANSWER_SECONDS, MOST_PORT = 10, 65535

#: How often we try to start one.
STARTS = 3

#: No statistics to anyone; workers that are not put behind all else (Ray starts them with nice 15, but we wait for them); and
#: patience with a machine that is busy: nobody is declared dead for being slow.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "60000",
}

_FORMS = "give auto (a running cluster), ray://HOST:PORT, or local:N to start one here"


@contextmanager
def open_executor(cluster: str | Executor | None, workers: int | None) -> Iterator[Executor]:
    """Return what runs the tasks: threads where no cluster is named, else a cluster, which is left when the work is done.

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
    """Join a Ray cluster: ``auto`` the one that runs here, ``ray://HOST:PORT`` or ``HOST:PORT`` another, ``local:N`` a new one.

    ``workers`` limits how many tasks run at once; without it, as many as the cluster has processors.
    """
    if workers is not None:
        check_workers(workers)
    kind, _, number = cluster.partition(":")
    processors = int(number) if kind == "local" and number.isdecimal() else 0
    if kind == "local" and processors < 1:
        raise FirthianError(f"cannot read the cluster {cluster!r}", hint=_FORMS)
    place = _host_and_port(cluster) if kind not in ("local", "auto") else None
    ray = require("ray", "cluster")
    from firthian.runtime.cluster.executor import RayExecutor

    began_here = not ray.is_initialized()
    if began_here:
        if kind == "local":
            _start(ray, processors)
        else:
            _join(ray, cluster, place)
    try:
        yield RayExecutor(workers)
    finally:
        if began_here:
            ray.shutdown()


def _quiet() -> dict[str, Any]:
    """Settings without which Ray talks to the terminal, and to its makers."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    return {"log_to_driver": False, "logging_level": "ERROR"}


def _start(ray: Any, processors: int) -> None:
    """Start a cluster of this machine alone; it ends with this process."""
    store = min(MOST_STORE_BYTES, int(available_bytes() * STORE_SHARE))
    # Sockets live in this folder, and their paths must be short.
    folder = _own_folder(os.path.join(tempfile.gettempdir(), f"firthian-ray-{os.getuid()}"))
    settings = {"num_cpus": processors, "object_store_memory": store, "_temp_dir": folder, "include_dashboard": False}
    for attempt in range(STARTS):
        try:
            ray.init(address="local", **settings, **_quiet())
            return
        except Exception as error:
            # Ray gives up after half a minute with a plain Exception, which a busy machine may take.
            ray.shutdown()
            if "timed out" not in str(error) or attempt + 1 == STARTS:
                raise FirthianError(
                    f"Ray does not start here ({_first_line(error)})",
                    hint="try again when the machine is less busy",
                ) from error


def _own_folder(folder: str) -> str:
    """Make a folder where everyone may write; another user's, or a link, would let them into our sockets."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        mine = os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder)
    except OSError as error:
        raise from_os_error(error) from error
    if not mine:
        raise FirthianError(f"{folder} belongs to somebody else", hint="remove it, or set TMPDIR to a folder of yours")
    return folder


def _first_line(error: Exception) -> str:
    """Say what an error says, in one line; some say nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > MOST_PORT:
        raise FirthianError(f"cannot read the cluster {address!r}", hint=_FORMS)
    return host.strip("[]"), int(port)


def _join(ray: Any, address: str, place: tuple[str, int] | None) -> None:
    try:
        if place is not None:
            # Ray tries for minutes, and complains to the terminal; we ask first whether anyone listens.
            socket.create_connection(place, timeout=ANSWER_SECONDS).close()
        with warnings.catch_warnings(action="ignore"):
            ray.init(address=address, **_quiet())
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        where = "no Ray cluster runs here" if address == "auto" else f"no Ray cluster answers at {address}"
        raise FirthianError(
            f"{where} ({_first_line(error)})",
            hint="start one with: ray start --head, or let us start one with local:N",
        ) from None
