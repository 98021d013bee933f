"""Channel programs, linear programs and their solutions: the meeting point of formulations and solvers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.coupling import AnyCoupling, Coupling

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChannelProgram:
    """Minimise Σ_z c_z·v_z over columns v_z of one cone, where the columns sum to 1 in every row.

    With classes of rows (see `reductions.symmetry`), means of the columns over each class sum to 1 instead.

    Attributes
    ----------
    costs : (k, m) array
        A cost per row and report, scaled so that the optimum is about 1; non-negative where nothing is coupled.
    budgets : (k, k) array
        The cone: v_a ≤ e^{budgets[a, b]} v_b for every finite entry off the diagonal, and v ≥ 0.
    offset : float
        The gap of a solution is relative to its value and this.
    """

    costs: Array
    budgets: Array
    classes: Partition | None = None
    coupling: AnyCoupling | None = None
    offset: float = 0.0

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """Rows a and b of every constraint v_a ≤ e^{budget} v_b."""
        bound = np.isfinite(self.budgets)
        np.fill_diagonal(bound, False)
        return np.nonzero(bound)  # pyright: ignore[reportReturnType]

    def with_budgets(self, budgets: Array) -> ChannelProgram:
        """Return the same costs over another cone."""
        return replace(self, budgets=budgets)

    def coupled_by(self, rows: Coupling) -> ChannelProgram:
        """Return the same program with more rows that couple the columns."""
        joined = rows if self.coupling is None else self.coupling.written().joined(rows)
        return replace(self, coupling=joined)


@dataclass(frozen=True, eq=False)
class Rows:
    """Privacy constraints in a linear program: in report `report`, v_first ≤ e^{budget} v_second."""

    report: Indices
    first: Indices
    second: Indices

    def __len__(self) -> int:
        return len(self.report)

    @classmethod
    def everywhere(cls, program: ChannelProgram) -> Rows:
        """Return every pair of the cone in every report."""
        first, second = program.pairs
        reports = program.costs.shape[1]
        report = np.repeat(np.arange(reports), len(first))
        return cls(report, np.tile(first, reports), np.tile(second, reports))

    def joined(self, other: Rows) -> Rows:
        """Return these rows, then the other ones."""
        pairs = zip((self.report, self.first, self.second), (other.report, other.first, other.second), strict=True)
        return Rows(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise c·x subject to E x = f, A x ≥ h, and x ≥ 0 where `signed` says so; elsewhere that is implied."""

    cost: Array
    equalities: sp.csc_array
    totals: Array
    inequalities: sp.csc_array
    floors: Array
    signed: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """The number of inequalities."""
        return int(self.inequalities.shape[0])  # pyright: ignore[reportOptionalSubscript]

    @classmethod
    def of(cls, program: ChannelProgram, rows: Rows) -> LinearProgram:
        """Return a channel program under some of its privacy constraints; x holds the columns one after another.

        Where they are coupled, u follows them, and the rows of the coupling those of privacy.

        Constraints are scaled symmetrically (e^{d/2} v_b - e^{-d/2} v_a ≥ 0). An entry's sign is left to the
        constraints where a pair binds it both ways, which implies it.
        """
        size, reports = program.costs.shape
        budget = program.budgets[rows.first, rows.second]
        row = np.arange(len(rows))
        inequalities = sp.csc_array(
            (
                np.concatenate([np.exp(budget / 2), -np.exp(-budget / 2)]),
                (
                    np.concatenate([row, row]),
                    np.concatenate([rows.report * size + rows.second, rows.report * size + rows.first]),
                ),
            ),
            shape=(len(rows), size * reports),
        )
        entries = size * reports
        # each column of E has a single 1: an entry of row x of the channel counts in the total of that row alone
        rows_of_entries = np.tile(np.arange(size), reports)
        equalities = sp.csc_array((np.ones(entries), rows_of_entries, np.arange(entries + 1)), shape=(size, entries))
        signed = ~_bound_both_ways(program, rows)
        uncoupled = cls(program.costs.T.ravel(), equalities, np.ones(size), inequalities, np.zeros(len(rows)), signed)
        return uncoupled if program.coupling is None else uncoupled._coupled(program.coupling.written())

    def _coupled(self, coupling: Coupling) -> LinearProgram:
        """Return the program with the variables u of a coupling after its own, and the rows after its own."""
        extras = len(coupling.cost)
        return LinearProgram(
            np.concatenate([self.cost, coupling.cost]),
            sp.csc_array(sp.hstack([self.equalities, sp.csc_array((len(self.totals), extras))])),
            self.totals,
            sp.csc_array(
                sp.vstack(
                    [
                        sp.hstack([self.inequalities, sp.csc_array((self.rows, extras))]),
                        sp.hstack([coupling.columns, coupling.extras]),
                    ]
                )
            ),
            np.concatenate([self.floors, coupling.floors]),
            np.concatenate([self.signed, np.ones(extras, dtype=bool)]),
        )


def _bound_both_ways(program: ChannelProgram, rows: Rows) -> NDArray[np.bool_]:
    """Tell for each entry whether v_x ≤ e^d v_x' and v_x' ≤ e^d' v_x are rows, d + d' > 0: these imply v_x ≥ 0."""
    size, reports = program.costs.shape
    # the triples (z, a, b) and (z, b, a) of each row, as one number
    cell = (rows.report * size + rows.first) * size + rows.second
    mirrored = (rows.report * size + rows.second) * size + rows.first
    there_and_back = program.budgets[rows.first, rows.second] + program.budgets[rows.second, rows.first]
    paired = np.isin(cell, mirrored) & (there_and_back > 1e-9)
    implied = np.zeros(size * reports, dtype=bool)
    implied[rows.report[paired] * size + rows.first[paired]] = True
    return implied


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a linear program. Nothing in it is trusted: `certify` repairs and proves.

    The duals are a multiplier for each equality, and one of 0 or more for each inequality.
    """

    status: Status
    primal: Array | None = None
    equality_dual: Array | None = None
    inequality_dual: Array | None = None
    iterations: int = 0
    message: str = ""


@dataclass(frozen=True, eq=False)
class ChannelSolution:
    """A solved channel program: a raw channel `(k, m)` and a dual over its rows, or None where there is none.

    `coupled` holds a multiplier of 0 or more for each row of the coupling, and `reductions` what was applied on the
    way.
    """

    status: Status
    channel: Array | None
    dual: Dual | None
    iterations: int = 0
    message: str = ""
    coupled: Array | None = None
    reductions: tuple[AppliedReduction, ...] = ()

    @classmethod
    def read(cls, program: ChannelProgram, found: Solution) -> ChannelSolution:
        """Read the channel, row prices and multipliers of the coupling from a solution of the linear program.

        Its primal is the columns one after another, then u; rows of the coupling come last (see `LinearProgram.of`).
        """
        prices = found.equality_dual
        multipliers = found.inequality_dual
        rows = 0 if program.coupling is None else program.coupling.rows
        return cls(
            found.status,
            None if found.primal is None else found.primal[: program.costs.size].reshape(program.costs.shape[::-1]).T,
            None if prices is None else Dual(prices),
            found.iterations,
            found.message,
            None if multipliers is None else multipliers[len(multipliers) - rows :],
        )
