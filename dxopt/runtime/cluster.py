"""Clusters of Dask: how one is named, opened and closed, and the one that solves of this thread may use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from dxopt.errors import SpecError
from dxopt.runtime import devices
from dxopt.runtime.cluster_worker import HERE
from dxopt.runtime.process import Process

LOCAL = "local:"
_WORKER = "dxopt.runtime.cluster_worker"
_START = 10.0
"""Seconds more for each worker that is started here."""
_REPLACED = 3
"""Average number of times that each worker here is replaced."""
_LOOK = 1.0
"""Seconds between two looks whether one has died."""
TIMEOUT = 20.0
"""Seconds in which a scheduler has to answer."""
FIRST_WORKER = 20.0
"""Seconds in which the first worker has to be there, once the scheduler has answered."""


@contextmanager
def opened(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a cluster that is started here and ends with the context.

    Raises
    ------
    SpecError
        If Dask is not installed, the address is none, or nobody answers there.
    """
    require_address(address)
    from distributed import Client

    if address.startswith(LOCAL):
        count = int(address.removeprefix(LOCAL))
        with _started(count) as scheduler, Client(scheduler, set_as_default=False) as client:
            _wait_for(client, count, address, FIRST_WORKER + _START * count)
            yield client
        return
    try:
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise SpecError("cluster", f"{address} does not answer ({reason})", "start a scheduler there") from None
    try:
        yield client
    finally:
        with suppress(OSError):
            client.close()


def _wait_for(client: Any, count: int, address: str, seconds: float) -> None:
    """Wait until there are so many workers; raise SpecError where there are not."""
    try:
        client.wait_for_workers(count, timeout=seconds)
    except (OSError, TimeoutError):
        raise SpecError("cluster", f"{address} has too few workers", "start workers there") from None


def require_address(address: str) -> None:
    """Raise SpecError unless Dask is there and this asks for workers here, or is an address with a port.

    Without a port a client waits for nothing.
    """
    if find_spec("distributed") is None:
        raise SpecError("cluster", "needs Dask", "pip install 'dxopt[distributed]'")
    if not isinstance(address, str) or not _known(address):
        raise SpecError("cluster", f"is {address!r}", "write local:4, or the address of a scheduler with its port")


def _known(address: str) -> bool:
    from distributed.comm.addressing import get_address_host_port

    if address.startswith(LOCAL):
        count = address.removeprefix(LOCAL)
        return count.isdecimal() and int(count) > 0
    try:
        get_address_host_port(address)
    except ValueError:
        return False
    return True


@contextmanager
def _started(count: int) -> Iterator[Any]:
    """Yield a scheduler in this process, and workers in others that a terminal's Ctrl-C does not reach.

    Dask's own would run the script of this process again, and need `if __name__ == "__main__"` there.
    """
    from distributed import LocalCluster

    how: dict[str, Any] = {"host": HERE, "protocol": "tcp://", "dashboard_address": None}
    with LocalCluster(n_workers=0, **how) as cluster, _workers(count, cluster.scheduler_address):  # pyright: ignore[reportAttributeAccessIssue]
        yield cluster


@contextmanager
def _workers(count: int, scheduler: str) -> Iterator[None]:
    """Start processes that work for a scheduler; replace one that dies, a few times."""

    def put_to_work(process: Process) -> None:
        with suppress(OSError):  # it has died, which the next look finds
            process.line.send(scheduler)

    def attend() -> None:
        for process in processes:  # all of them are starting by now
            put_to_work(process)
        left = _REPLACED * count
        while left and not ended.wait(_LOOK):
            for number, process in enumerate(processes):
                if process.process.poll() is not None:
                    process.end()
                    processes[number] = Process(_WORKER)
                    put_to_work(processes[number])
                    left -= 1

    processes = [Process(_WORKER) for _ in range(count)]
    ended = threading.Event()
    watching = threading.Thread(target=attend, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
        for process in processes:
            process.end()


class Cluster:
    """A cluster that is opened when somebody first asks for its client.

    Parameters
    ----------
    address : str
        Of a scheduler, or "local:4" for four workers here.
    """

    def __init__(self, address: str) -> None:
        require_address(address)
        self.address = address
        self._client: Any = None
        self._open = ExitStack()

    @property
    def is_open(self) -> bool:
        """True if its client exists already."""
        return self._client is not None

    def client(self) -> Any:
        """Return the client, of a cluster whose workers have this version of dxopt.

        Raises
        ------
        SpecError
            If nobody answers, there is no worker, or a worker has no dxopt or another one.
        """
        if self._client is None:
            client = self._open.enter_context(opened(self.address))
            self._require_workers(client)
            self._client = client
        return self._client

    def close(self) -> None:
        """End what was started."""
        self._client = None
        self._open.close()

    def _require_workers(self, client: Any) -> None:
        _wait_for(client, 1, self.address, FIRST_WORKER)
        try:
            versions = set(client.run(_version).values())
        except Exception:  # whatever a worker without dxopt makes of a function of dxopt
            versions = {"none"}
        others = versions - {_version()}
        if others:
            wrong = f"{self.address} has dxopt {min(others)}, not {_version()}"
            raise SpecError("cluster", wrong, "install the same on its workers")


def _version() -> str:
    """Return the version of dxopt, whose name here would import everything above."""
    return sys.modules["dxopt"].__version__


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def using(cluster: str | None = None, device: str | None = None) -> Iterator[None]:
    """Let solves within this context use a cluster, closed at its end, and a device; None is the one around it.

    Raises
    ------
    SpecError
        If Dask is not installed, the address is none, or the device cannot be opened.
    """
    with devices.using(device):
        if cluster is None:
            yield
            return
        opened_here = Cluster(cluster)
        token = _current.set(opened_here)
        try:
            yield
        finally:
            _current.reset(token)
            opened_here.close()


def current() -> Cluster | None:
    """Return the cluster that may be used here."""
    return _current.get()
