"""Clusters of Dask: how one is named, opened and closed, and the one that solves of this thread may use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from dxopt.errors import SpecError, required
from dxopt.runtime import devices
from dxopt.runtime.cluster_worker import HERE
from dxopt.runtime.process import Process

LOCAL = "local:"
_WORKER = "dxopt.runtime.cluster_worker"
_START = 10.0
"""Seconds to wait longer for each worker that is started here."""
_REPLACED = 3
"""Workers here that die are replaced up to so many times the number of workers, all of them together."""
_LOOK = 1.0
"""Seconds after which it is checked again that no worker has died."""
TIMEOUT = 20.0
"""Seconds in which a scheduler has to answer."""
FIRST_WORKER = 20.0
"""Seconds in which the first worker has to be there, once the scheduler has answered."""


@contextmanager
def open_client(address: str) -> Iterator[Any]:
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
    """Wait until a scheduler has `count` workers; SpecError if it has fewer after so many seconds."""
    try:
        client.wait_for_workers(count, timeout=seconds)
    except (OSError, TimeoutError):
        raise SpecError("cluster", f"{address} has too few workers", "start workers there") from None


def require_address(address: str) -> None:
    """Raise SpecError unless Dask is installed, and the address is "local:4" or a scheduler's with its port.

    Dask's client would accept an address without a port, and wait in vain.
    """
    if not all(map(find_spec, ("distributed", "cryptography"))):
        raise SpecError("cluster", "needs Dask and cryptography", "pip install 'dxopt[distributed]'")
    fix = "write local:4, or the address of a scheduler with its port"
    required("cluster", address, str, fix)
    if not _is_address(address):
        raise SpecError("cluster", f"is {address!r}", fix)


def _is_address(address: str) -> bool:
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
    """Yield a scheduler in this process, with workers in others that a terminal's Ctrl-C does not reach.

    Whoever has the key of this cluster may let it run anything: it is made here, and sent to the workers alone, so
    that other users of this machine cannot connect.
    Workers started by Dask itself would run the user's script again, which would need `if __name__ == "__main__"`.
    """
    from distributed import LocalCluster, Security

    own = Security.temporary()
    how: dict[str, Any] = {"host": HERE, "protocol": "tls://", "security": own, "dashboard_address": None}
    with LocalCluster(n_workers=0, **how) as cluster, _workers(count, cluster.scheduler_address, own):  # pyright: ignore[reportAttributeAccessIssue]
        yield cluster


@contextmanager
def _workers(count: int, scheduler: str, security: Any) -> Iterator[None]:
    """Run processes that work for a scheduler during this context, and replace those that die (`_REPLACED`)."""

    def give_scheduler(process: Process) -> None:
        with suppress(OSError):  # it has died, which the next look finds
            process.line.send((scheduler, security))

    def watch() -> None:
        for process in processes:  # all of them are starting by now
            give_scheduler(process)
        left = _REPLACED * count  # replacements that may still be started
        while left > 0 and not ended.wait(_LOOK):
            for number, process in enumerate(processes):
                if process.process.poll() is not None:
                    process.end()
                    processes[number] = Process(_WORKER)
                    give_scheduler(processes[number])
                    left -= 1

    processes = [Process(_WORKER) for _ in range(count)]
    ended = threading.Event()
    watching = threading.Thread(target=watch, daemon=True)
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
            client = self._open.enter_context(open_client(self.address))
            self._require_workers(client)
            self._client = client
        return self._client

    def close(self) -> None:
        """Close the client, and end the workers that were started here."""
        self._client = None
        self._open.close()

    def _require_workers(self, client: Any) -> None:
        """Raise SpecError unless there is a worker, and all workers have this version of dxopt."""
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
    """Return the version of dxopt, also on a worker; an `import dxopt` here would be one upwards."""
    return sys.modules["dxopt"].__version__


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def using(cluster: str | None = None, device: str | None = None) -> Iterator[None]:
    """Let solves in this context use a cluster, which is closed at its end, and a device; None changes nothing.

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
    """Return the cluster that the innermost `using` of this thread named; None outside of any."""
    return _current.get()
