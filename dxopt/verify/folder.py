"""The contents of a result folder, as numbers of the right shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.beliefs import Beliefs
from dxopt.verify.bounds.dual import Asked
from dxopt.verify.files import CLAIMS, NOTES, Arrays, is_file, number, numbers, read_arrays, read_json, require_format
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.prior_sets import Priors, everyone, read_priors, read_regret
from dxopt.verify.privacy import Channel, Levels, bound_pairs
from dxopt.verify.values import Worth
from dxopt.verify.verdict import Broken, Unproved


def label(arrays: Arrays, index: int, prefix: str = "space") -> str:
    """Return the label of a point: as given, its index, or `(a, b)` of the parts of a product, the last fastest."""
    kind = str(arrays.get(f"{prefix}.kind", ""))
    if kind in ("lattice", "torus"):
        steps = np.unravel_index(index, arrays[f"{prefix}.shape"])
        return str(steps[0]) if len(steps) == 1 else f"({', '.join(map(str, steps))})"
    if kind == "product":
        parts = _parts(arrays, prefix)
        steps = np.unravel_index(index, [_size(arrays, part) for part in parts])
        names = [label(arrays, int(step), part) for part, step in zip(parts, steps, strict=True)]
        return f"({', '.join(names)})"
    labels = arrays.get(f"{prefix}.labels")
    return str(labels[index]) if labels is not None and index < labels.size else str(index)


def _parts(arrays: Arrays, prefix: str) -> list[str]:
    """Return the prefixes of the parts of a product, numbered from 0 until one is missing."""
    each = (f"{prefix}.{part}" for part in count())
    return list(takewhile(lambda part: f"{part}.kind" in arrays, each))


def _size(arrays: Arrays, prefix: str) -> int:
    """Return the number of points of a space, from its arrays."""
    kind = str(arrays[f"{prefix}.kind"])
    if kind == "product":
        return math.prod(_size(arrays, part) for part in _parts(arrays, prefix))
    if kind in ("lattice", "torus"):
        return math.prod(arrays[f"{prefix}.shape"].tolist())
    return arrays[f"{prefix}.labels"].size


Array = NDArray[np.float64]
_FILES = ("problem", "mechanism", "dual")
_ASIDE = 100_000_000
"""Bytes of arrays that a file may have whatever the numbers of secrets and reports: four million streets on a map."""
_SMALL = 10_000


def require_sizes(folder: Path) -> None:
    """Broken where large arrays have more than secrets and reports make of them, judged before they are unpacked."""
    there = [name for name in _FILES if is_file(folder / f"{name}.npz")]
    files = {name: read_arrays(folder, f"{name}.npz", _SMALL) for name in there}
    if all(sum(array.nbytes for array in arrays.values()) <= _ASIDE for arrays in files.values()):
        return
    mechanism = files["mechanism"]
    secrets = _size(mechanism, "space")
    reports = len(mechanism["reports"]) if "reports" in mechanism else secrets
    to_reports, between = (secrets, reports), (secrets, secrets)
    shapes = {"matrix": to_reports, "losses": to_reports, "distances": between, "space.distances": between}
    # of multipliers and beliefs there are no more than of pairs of secrets in each report
    most = _ASIDE + 8 * (secrets + reports) ** 3
    for name, arrays in files.items():
        left = {key: array for key, array in arrays.items() if array.shape != shapes.get(key)}
        if wrong := sorted(shapes.keys() & left.keys()):
            raise Broken(f"{name}.npz: {wrong[0]} is an array {left[wrong[0]].shape}, not {shapes[wrong[0]]}")
        if sum(array.nbytes for array in left.values()) > most:
            raise Broken(f"{name}.npz has too much for {secrets:,} secrets and {reports:,} reports")


@dataclass(frozen=True)
class Result:
    """Contents of the files of a result, none of them trusted.

    `named` and `certificate` are the problem and the proof in claims.json; `source` is the file that has the latter.
    """

    folder: Path
    claims: dict[str, Any]
    named: dict[str, Any]
    certificate: dict[str, Any]
    problem: Arrays
    mechanism: Arrays
    dual: Arrays
    source: str = CLAIMS

    @classmethod
    def read(cls, folder: Path) -> Result:
        """Read the files; Broken names the first one that cannot be read."""
        claims = read_json(folder, CLAIMS)
        require_format(CLAIMS, claims)
        require_format(NOTES, read_json(folder, NOTES))
        named, certificate = claims.get("problem"), claims.get("certificate")
        if not isinstance(named, dict) or not isinstance(certificate, dict):
            raise Broken(f"{CLAIMS}: problem or certificate is no object")
        require_sizes(folder)
        problem, mechanism, dual = (read_arrays(folder, f"{name}.npz") for name in _FILES)
        return cls(folder, claims, named, certificate, problem, mechanism, dual)

    @property
    def written(self) -> bool:
        """True if the channel is a matrix in the files, with its distances and losses."""
        given = "distances" in self.problem or "space.distances" in self.mechanism
        return "matrix" in self.mechanism and "losses" in self.problem and given

    def require_written(self) -> None:
        """Unproved where the channel follows from something else."""
        if not self.written:
            raise Unproved("the channel is not written down in the files")

    def claimed(self, name: str) -> float:
        """Return a number of the certificate, where null is infinite; Broken where it is none.

        A certificate without delta claims privacy without δ; all other numbers must be there.
        """
        return as_number(self.certificate.get(name, 0.0 if name == "delta" else None), f"{self.source}: {name}")

    @cached_property
    def epsilon(self) -> float:
        """The level ε that was asked for; infinite where no privacy was."""
        found = number(self.problem, "epsilon")
        if found < 0:
            raise Broken(f"problem.npz: epsilon is {found}")
        return found

    @cached_property
    def delta(self) -> float:
        """δ that was asked for."""
        found = number(self.problem, "delta")
        if not 0 <= found <= 1 or (found and not self.private):
            raise Broken(f"problem.npz: delta is {found} for an epsilon of {self.epsilon}")
        return found

    @property
    def private(self) -> bool:
        """True if privacy was asked for."""
        return math.isfinite(self.epsilon)

    @cached_property
    def prior(self) -> Array:
        """π, `(n,)`."""
        return numbers(self.problem, "prior", None)

    @cached_property
    def size(self) -> int:
        """The number of secrets."""
        return len(self.prior)

    @cached_property
    def distances(self) -> Array:
        """d, `(n, n)`, of 0 or more: in problem.npz, or in mechanism.npz where the space is given by them."""
        self.require_written()
        if "distances" in self.problem:
            found = numbers(self.problem, "distances", self.size, self.size)
        else:
            found = numbers(self.mechanism, "space.distances", self.size, self.size)
        if (found < 0).any():
            raise Broken(f"distances: d{np.argwhere(found < 0)[0].tolist()} is negative")
        return found

    @cached_property
    def matrix(self) -> Array:
        """K, `(n, m)`, finite and of 0 or more."""
        self.require_written()
        found = numbers(self.mechanism, "matrix", self.size, None)
        wrong = np.argwhere(~(np.isfinite(found) & (found >= 0)))
        if len(wrong):
            x, z = wrong[0].tolist()
            raise Broken(f"secret {self.secret(x)}, report {self.report(z)}: {found[x, z]} is no probability")
        return found

    @cached_property
    def all_losses(self) -> Array:
        """l, `(n, m)`, as in the file; infinite ones forbid reports (see `impossible`)."""
        self.require_written()
        return numbers(self.problem, "losses", self.size, self.matrix.shape[1])

    @cached_property
    def counted_losses(self) -> Array:
        """l, `(n, m)`; 0 where it does not count: at secrets of prior 0, or that no prior of a set has."""
        counted = self.prior > 0 if self.priors is None else self.priors.reach
        return np.where(counted[:, None], self.all_losses, 0.0)

    @cached_property
    def losses(self) -> Array:
        """The losses that count, finite: those of impossible reports are the largest of all others."""
        found = self.counted_losses
        if self.impossible is not None:
            found = np.where(self.impossible, found[~self.impossible].max(), found)
        return found

    @cached_property
    def impossible(self) -> NDArray[np.bool_] | None:
        """Reports that no channel makes, `(n, m)`: of infinite loss to the secret, or one at finite distance.

        None where all losses are finite. With δ nothing follows of other secrets.
        """
        found = np.isinf(self.all_losses)
        if not found.any():
            return None
        near = (self.bound & (self.delta == 0)).astype(np.float64) + np.eye(self.size)
        while not np.array_equal(wider := near @ found > 0, found):
            found = wider
        if found.all(axis=1).any():
            raise Broken(f"loss: it leaves no report to secret {self.secret(int(found.all(axis=1).argmax()))}")
        return found

    @property
    def objective(self) -> str:
        """The name of the objective, as in claims.json."""
        return str(self.named.get("objective"))

    @cached_property
    def priors(self) -> Priors | None:
        """The priors of which the worst counts: all of them, or those of a set; None where one alone does."""
        if self.objective == "worst_loss":
            return everyone(self.size)
        if self.objective == "worst_expected_loss":
            return read_priors(self.problem, self.prior)
        if self.objective == "regret":
            return read_regret(self.problem, self.prior)
        return None

    @property
    def sign(self) -> int:
        """1 where less is better, so that bounds are below values; -1 for an adversary's error, where more is."""
        return -1 if self.objective == "adversary_error" else 1

    @cached_property
    def bound(self) -> NDArray[np.bool_]:
        """The ordered pairs that privacy binds, `(n, n)`; with δ perhaps the adjacent ones alone."""
        if not self.private:
            return np.zeros((self.size, self.size), dtype=bool)
        pairs = self.named.get("pairs")
        if pairs not in ("all", "adjacent"):
            raise Broken(f"{CLAIMS}: pairs are {pairs!r}")
        return bound_pairs(self.distances, str(pairs) if self.delta else "all")

    @cached_property
    def channel(self) -> Channel:
        """The matrix K in integers, for exact proofs of privacy."""
        return Channel.of(self.matrix)

    @cached_property
    def worth(self) -> Worth:
        """The matrix K with the prior, from which values of objectives are computed."""
        if not np.isfinite(self.prior).all():
            raise Broken("prior: it is not finite")
        return Worth(self.matrix, self.prior)

    @cached_property
    def asked_levels(self) -> Levels:
        """Budgets at the requested ε, for the dual and for δ; the claimed, least ε has its own (claims.py)."""
        level = Fraction(self.epsilon) if self.private else Fraction(1)  # unused: no pair is bound; no Fraction is ∞
        return Levels.of(self.distances, self.bound, level)

    @cached_property
    def guessed(self) -> Array | None:
        """Costs of an adversary's guesses, `(n, g)`; None for other objectives."""
        if self.objective != "adversary_error":
            return None
        found = numbers(self.problem, "adversary_loss", self.size, None)
        if not np.isfinite(found).all():
            raise Broken("adversary_loss: it is not finite")
        return found

    @cached_property
    def asked(self) -> Asked:
        """The problem that the bound is about."""
        most = number(self.problem, "max_loss") if self.objective == "adversary_error" else math.inf
        if self.objective == "adversary_error" and not math.isfinite(most):
            raise Broken(f"problem.npz: max_loss is {most}")
        posed = (self.objective, self.losses, self.prior, self.asked_levels, Fraction(self.delta))
        return Asked(*posed, self.guessed, most, self.shape, self.beliefs, self.priors, self.impossible)

    @cached_property
    def beliefs(self) -> Beliefs | None:
        """The pairs of beliefs that must not be told apart; None where none were asked for."""
        return Beliefs.read(self.problem, self.size)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Numbers of points of the factors where the dual is of a product; empty elsewhere."""
        if "which" not in self.dual:
            return ()
        return tuple(map(len, Space.read(self.mechanism).axes))

    @property
    def secrets(self) -> bool:
        """True if the reports are the secrets, as in a product, and by default where the file does not say."""
        return "which" in self.mechanism or bool(self.mechanism.get("secrets", True))

    def secret(self, x: int) -> str:
        """Return the label of a secret."""
        return label(self.mechanism, x)

    def report(self, z: int) -> str:
        """Return the label of a report."""
        if self.secrets:
            return label(self.mechanism, z)
        labels = self.mechanism.get("reports")
        return str(labels[z]) if labels is not None and z < labels.size else str(z)


def as_number(content: object, claim: str) -> float:
    """Return a number of a JSON file, where null is infinite; Broken where it is none."""
    if content is None:
        return math.inf
    if isinstance(content, bool) or not isinstance(content, int | float) or not content > -math.inf:
        raise Broken(f"{claim} is {content!r}, no number")
    return float(content)
