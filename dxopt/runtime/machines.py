"""Resources of solves besides this machine: a cluster, and a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dxopt.runtime import cluster as clusters
from dxopt.runtime import devices


@contextmanager
def using(cluster: str | None = None, device: str | None = None) -> Iterator[None]:
    """Yield a context in which solves may use a cluster and a device; None is the one around it, if any.

    Raises
    ------
    SpecError
        If either cannot be had; see `cluster` and `devices`.
    """
    with devices.using(device), clusters.using(cluster):
        yield
