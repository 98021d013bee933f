"""The table of readers: every name in it is a function of arrays, and every kind of mechanism is read or refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.baselines import Cloaked
from dxopt.mechanisms.classic.on_grid import OnGrid
from dxopt.mechanisms.kernel import (
    KernelMechanism,
    RemappedMechanism,
    epsilon_of_base,
    epsilon_of_weights,
    kernel_mechanism,
    remapped,
)
from dxopt.mechanisms.lifted import LiftedMechanism
from dxopt.mechanisms.product import ProductMechanism, epsilon_of_factors, product_mechanism
from dxopt.model.mechanism import READERS, MatrixMechanism, Mechanism
from dxopt.spaces.kernels.systems import system

EPSILON = 1.5


def on_line(space: dx.MetricSpace, epsilon: float) -> KernelMechanism:
    """The tight-constraints mechanism of a line, without a matrix."""
    lowered = epsilon_of_weights(space, epsilon, system(space, epsilon))
    kernel = system(space, lowered)
    return kernel_mechanism(space, epsilon, kernel, lowered, kernel.approximate(np.ones(len(space))))


def of_matrix() -> Mechanism:
    return dx.classic.exponential(dx.line(4), epsilon=EPSILON)


def of_kernel() -> Mechanism:
    return on_line(dx.line(6), EPSILON)


def of_remap() -> Mechanism:
    space = dx.line(6)
    reports = dx.Reports.at([[0.5], [4.5]])
    base = on_line(space, epsilon_of_base(space, EPSILON))
    return remapped(base, np.array([0, 0, 0, 1, 1, 1]), reports, EPSILON)


def of_factors() -> Mechanism:
    sides = (dx.line(3), dx.line(4))
    space = dx.product(*sides)
    level = epsilon_of_factors(space, EPSILON, len(sides))
    return product_mechanism(space, [on_line(side, level) for side in sides], EPSILON)


def of_noise() -> Mechanism:
    return dx.classic.planar_laplace(dx.grid((20, 20)), epsilon=EPSILON)


def of_regions() -> Mechanism:
    return dx.classic.cloaking(dx.line(6), side=2.5)


def of_answers() -> Mechanism:
    universe = dx.Universe.databases([0, 1, 2], 2, absent=True, empty=False)
    query = dx.queries.QUERIES["sum"](universe)
    mechanism = dx.classic.geometric(query.space(), epsilon=EPSILON)
    return dx.lift(query, mechanism, universe.space("manhattan"))


SAVED: dict[str, tuple[type[Mechanism], Callable[[], Mechanism]]] = {
    "which": (ProductMechanism, of_factors),
    "table": (RemappedMechanism, of_remap),
    "noise": (OnGrid, of_noise),
    "weights": (KernelMechanism, of_kernel),
    "matrix": (MatrixMechanism, of_matrix),
}
UNSAVED: dict[str, tuple[type[Mechanism], Callable[[], Mechanism]]] = {
    "cloaking": (Cloaked, of_regions),
    "lifted": (LiftedMechanism, of_answers),
}


def kinds(base: type[Mechanism] = Mechanism) -> Iterator[type[Mechanism]]:
    """Every kind of mechanism in the project."""
    for kind in base.__subclasses__():
        if kind.__module__.startswith("dxopt."):
            yield kind
        yield from kinds(kind)


def test_every_kind_is_here() -> None:
    assert set(SAVED) == set(READERS)
    assert {kind for kind, _ in (SAVED | UNSAVED).values()} == set(kinds())


@pytest.mark.parametrize("name", READERS.values())
def test_a_name_is_a_function_of_arrays(name: str) -> None:
    module, colon, function = name.partition(":")
    assert colon
    found = getattr(import_module(module), function)
    assert inspect.isfunction(found)
    assert list(inspect.signature(found).parameters) == ["arrays"]


@pytest.mark.parametrize("key", SAVED)
def test_a_kind_comes_back_through_its_reader(key: str, tmp_path: Path) -> None:
    kind, make = SAVED[key]
    made = make()
    assert type(made) is kind
    packed = made.packed()
    assert next(first for first in READERS if first in packed) == key
    read = dx.Mechanism.load(made.save(tmp_path / "mechanism.npz"))
    assert type(read) is kind
    assert np.array_equal(read.matrix, made.matrix)
    assert (read.name, read.reports.labels) == (made.name, made.reports.labels)
    assert made.privacy is not None
    assert read.privacy is not None
    assert read.privacy.epsilon == made.privacy.epsilon <= EPSILON


@pytest.mark.parametrize("key", UNSAVED)
def test_a_kind_that_cannot_be_saved_says_so_in_one_line(key: str, tmp_path: Path) -> None:
    kind, make = UNSAVED[key]
    made = make()
    assert type(made) is kind
    with pytest.raises(dx.UnsupportedError, match="cannot be saved") as refused:
        made.save(tmp_path / "mechanism.npz")
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())
