"""A mechanism in one file: its matrix, or what its rows follow from; proven again when it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dxopt.archives import pack_reports, read, unpack_reports, write
from dxopt.certify import proven_privacy
from dxopt.classic.planar_laplace import OnGrid
from dxopt.derived import ProductMechanism, RemappedMechanism, product_mechanism, remapped
from dxopt.errors import SpecError, UnsupportedError
from dxopt.kernel import KernelMechanism, prove_kernel
from dxopt.loss import Loss, Reports
from dxopt.mechanism import MatrixMechanism, Mechanism
from dxopt.prior import Prior
from dxopt.problem import Problem
from dxopt.regularity.systems import system
from dxopt.report.parts import Arrays, distinct, nested, part, which
from dxopt.rounding import SMALLEST
from dxopt.spaces.archive import pack, unpack

FORMAT = 1


def save_mechanism(mechanism: Mechanism, file: Path) -> Path:
    """Write a mechanism to a file; see `Mechanism.save`."""
    return write(file, _packed(mechanism), FORMAT)


def load_mechanism(file: Path) -> Mechanism:
    """Read a mechanism that `save_mechanism` wrote, and prove its privacy again; see `Mechanism.load`."""
    return read(file, _unpacked, FORMAT, "mechanism")


def _packed(mechanism: Mechanism) -> Arrays:
    arrays: Arrays = {"name": mechanism.name, **pack(mechanism.space)}
    if mechanism.privacy is not None:
        arrays |= {name: getattr(mechanism.privacy, name) for name in ("epsilon", "how", "delta", "pairs")}
    match mechanism:
        case KernelMechanism():
            return arrays | {"weights": mechanism.weights, "level": mechanism.level, "slack": mechanism.slack}
        case RemappedMechanism():
            return arrays | {
                "table": mechanism.table,
                **pack_reports(mechanism.reports),
                **nested(0, _packed(mechanism.base)),
            }
        case ProductMechanism():
            kept = distinct(mechanism.factors)
            arrays |= {"which": which(mechanism.factors, kept), "doubt": mechanism.doubt}
            arrays |= {"held": mechanism.held, "slack": mechanism.slack}
            for place, factor in enumerate(kept):
                arrays |= nested(place, _packed(factor))
            return arrays
        case OnGrid():
            return arrays | {"noise": "planar_laplace"}
        case MatrixMechanism():
            return arrays | {"matrix": mechanism.matrix, **pack_reports(mechanism.reports)}
    raise UnsupportedError("mechanism", f"{mechanism.name} cannot be saved", "save its matrix")


def _unpacked(arrays: Arrays) -> Mechanism:
    if "which" in arrays:
        return _product(arrays)
    if "table" in arrays:
        return _remapped(arrays)
    if "noise" in arrays:
        return OnGrid.of(unpack(arrays), float(arrays["epsilon"]))
    return _kernel(arrays) if "weights" in arrays else _matrix(arrays)


def _product(arrays: Arrays) -> Mechanism:
    places = arrays["which"].tolist()
    kept = [_unpacked(part(arrays, place)) for place in range(max(places) + 1)]
    factors = [kept[place] for place in places]
    return product_mechanism(unpack(arrays), factors, float(arrays["epsilon"]), float(arrays["doubt"]))


def _remapped(arrays: Arrays) -> Mechanism:
    base = _kernel(part(arrays, 0))
    return remapped(base, arrays["table"], unpack_reports(arrays, base.space), float(arrays["epsilon"]))


def _kernel(arrays: Arrays) -> KernelMechanism:
    space, weights, level = unpack(arrays), arrays["weights"], float(arrays["level"])
    if weights.shape != (len(space),) or not 0 <= int(arrays["slack"]) < len(space):
        raise SpecError("weights", f"have shape {weights.shape}", f"there are {len(space)} points")
    weights.flags.writeable = False
    privacy = prove_kernel(space, float(arrays["epsilon"]), system(space, level), level, weights)
    return KernelMechanism(
        space, Reports.of(space), weights, level, int(arrays["slack"]), str(arrays["name"]), privacy
    )


def _matrix(arrays: Arrays) -> Mechanism:
    space, matrix = unpack(arrays), arrays["matrix"]
    reports = unpack_reports(arrays, space)
    privacy = None
    if "epsilon" in arrays:
        loss = Loss(np.zeros((len(space), len(reports))), reports, "none")
        problem = Problem(
            space,
            epsilon=max(float(arrays["epsilon"]), SMALLEST),
            prior=Prior.uniform(space),
            loss=loss,
            delta=float(arrays["delta"]),
            pairs=str(arrays["pairs"]),
        )
        privacy = replace(proven_privacy(problem, matrix), how=str(arrays["how"]))
    return Mechanism.from_matrix(space, matrix, reports, name=str(arrays["name"]), privacy=privacy)
