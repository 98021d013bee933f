"""The restricted master problem, by Mehrotra's interior-point method, stopped while its prices are central.

The master mixes the columns known so far, those of V, with weights θ:

    min c·θ  over  V θ = b, θ ≥ 0;      its dual:  max b·y  over  V'y + s = c, s ≥ 0.

Here c_j is what column j costs in all, y_x the price of row x, s the slacks of the dual, and b the totals of the
rows: 1, but for shared rows (`coupling_rows`). The prices y tell what new columns are worth.

**Central prices.** A simplex method would return an extreme y, at which most new columns turn out useless. The
central path consists of the points with equal products θ_j s_j; y is central when it lies near the path, away from
its end. Every step aims at the path, and the method stops at the gap it is asked for, `accuracy`, which the caller
ties to the gap of the whole problem (`generation`). Nothing measures how central the result is.

**The box.** Bounds low ≤ y ≤ high on the prices are more columns of the master, the unit columns: +e_x at cost
high_x and -e_x at cost -low_x, as their constraints in the dual are y_x ≤ high_x and -y_x ≤ -low_x. While one of
these has weight, V θ misses b, and the value is no value of a channel.

From here on W = (V, I, -I), with unit columns where bounds are finite, and θ, c and s have entries for all of W.
Every iteration solves W diag(θ/s) W' dy = ... by one factorisation (`WithoutBlocks`); forming the matrix takes nearly
all the time. That is behind a contract (`matrices`), so that a graphics processor may do it (`on_device`).

**Blocks.** With variables u of blocks (`explicit_blocks`) the master and its dual are

    min c·θ + h·u  over  W θ + C u = b, G u = t, θ, t ≥ 0;      max b·y  over  W'y + s = c, C'y + G'λ = h, s, λ ≥ 0.

So the method works on x = (θ, t) and z = (s, λ), whose products go to 0 together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.explicit_blocks import Blocks
from dxopt.solving.solvers.columns.matrices import BoxMatrix, Stopped, current

Array = NDArray[np.float64]
RIDGE = 1e-13
"""Added to the matrix, relative to its mean diagonal, so that dependent rows do no harm."""
_NEWTON_REFINEMENTS = 2
_FACTOR, _SOLVE, _WORK = sl.get_lapack_funcs(("sytrf", "sytrs", "sytrf_lwork"), dtype=np.float64)
"""LAPACK's factorisation L D L' with pivoting, its solution, and the size of its working memory."""


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the method, primal and dual, where x and z are above 0.

    x `(q + p,)` is θ for the columns of W, then the slacks t of the rows of the blocks. z is their duals: the slacks
    s of the columns, then the multipliers λ of the rows. y `(n,)` is prices, u `(f,)` the variables of the blocks.
    """

    x: Array
    z: Array
    y: Array
    u: Array


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of a point: b - Wθ - Cu, t - Gu, c - W'y - s, and h - C'y - G'λ for the costs h of the blocks."""

    short: Array
    loose: Array
    unpriced: Array
    unbalanced: Array


class WithoutBlocks:
    """The Newton system at a point without blocks: W diag(θ/s) W' dy = short - W (target - θ unpriced) / s."""

    def __init__(self, coupling: BoxMatrix, at: Point, residuals: Residuals, scaling: Array) -> None:
        self.coupling = coupling
        self.at = at
        self.residuals = residuals
        self.scaling = scaling
        self.solve = coupling.solver(scaling, RIDGE)

    def direction(self, target: Array) -> Point:
        """Return the step that takes the residuals to 0 and changes the products x z by a target `(q + p,)`."""
        theta = self.at.x
        s = self.at.z
        unpriced = self.residuals.unpriced
        dy = self.solve(self.residuals.short - self.coupling.times((target - theta * unpriced) / s))
        ds = unpriced - self.coupling.priced(dy)
        return Point((target - theta * ds) / s, ds, dy, self.at.u)  # u is empty here

    def least_change(self, short: Array) -> tuple[Array, Array]:
        """Return the changes of θ and u, least by the scaling of θ, that make up for what rows `(n,)` miss."""
        return self.scaling * self.coupling.priced(self.solve(short)), self.at.u


class WithBlocks:
    """The Newton system with blocks, whose rows have the matrix G and multipliers λ, and slacks t.

        | M   C | |dy|   | short - W (target_θ - θ unpriced) / s                |
        | C' -H | |du| = | unbalanced - G' (target_t + λ loose) / t             |,

    where M = W diag(θ/s) W' and H = G' diag(λ/t) G. Both are badly conditioned near the end, as few columns and rows
    matter then. So neither is eliminated: the whole matrix, quasi-definite, is factored as L D L' with pivoting,
    scaled to a diagonal of ±1, and its solutions are refined. Wherever the columns are computed with, this is done
    here.
    """

    def __init__(self, coupling: BoxMatrix, blocks: Blocks, at: Point, residuals: Residuals, scaling: Array) -> None:
        self.coupling = coupling
        self.blocks = blocks
        self.at = at
        self.residuals = residuals
        self.count = len(at.x) - len(blocks.ratios)
        self.rows = len(at.y)
        self.scaling = scaling[: self.count]
        size = self.rows + len(blocks.costs)

        # 1. the matrix
        matrix = np.zeros((size, size))
        matrix[: self.rows, : self.rows] = coupling.gram(self.scaling, RIDGE)
        matrix[self.rows :, : self.rows] = blocks.rows.toarray().T
        matrix[: self.rows, self.rows :] = matrix[self.rows :, : self.rows].T
        matrix[self.rows :, self.rows :] = -blocks.hessian(1 / scaling[self.count :])
        self.matrix = matrix

        # 2. its factors
        self.scale = 1 / np.sqrt(np.abs(matrix.diagonal()))
        scaled = self.scale[:, None] * matrix * self.scale
        work, _ = _WORK(size, lower=1)
        self.factor, self.pivots, failed = _FACTOR(scaled, lower=1, lwork=int(work), overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("singular")

    def _solved(self, right: Array) -> Array:
        """Solve with the factors, then refine, as the matrix is badly conditioned near the end."""
        solution = np.zeros(len(right))
        for _ in range(1 + _NEWTON_REFINEMENTS):
            left = right - self.matrix @ solution
            solution = solution + self.scale * _SOLVE(self.factor, self.pivots, self.scale * left, lower=1)[0]
        return solution

    def direction(self, target: Array) -> Point:
        """Return the same step as `WithoutBlocks.direction`, with that of the blocks' variables u and slacks t."""
        theta, t = np.split(self.at.x, [self.count])
        s, multipliers = np.split(self.at.z, [self.count])
        missing = self.residuals
        columns, rows = np.split(target, [self.count])

        needed = missing.short - self.coupling.times((columns - theta * missing.unpriced) / s)
        pushed = self.blocks.adjoint((rows + multipliers * missing.loose) / t)
        dy, du = np.split(self._solved(np.concatenate([needed, missing.unbalanced - pushed])), [self.rows])

        ds = missing.unpriced - self.coupling.priced(dy)
        dt = self.blocks.slacks(du) - missing.loose
        dx = np.concatenate([(columns - theta * ds) / s, dt])
        return Point(dx, np.concatenate([ds, (rows - multipliers * dt) / t]), dy, du)

    def least_change(self, short: Array) -> tuple[Array, Array]:
        """Return the same changes as `WithoutBlocks.least_change`, where u may change as well."""
        right = np.concatenate([short, np.zeros(len(self.blocks.costs))])
        dy, du = np.split(self._solved(right), [self.rows])
        return self.scaling * self.coupling.priced(dy), du


Box = tuple[Array, Array]
"""Lower and upper bounds on prices; infinite where there is none."""
_ITERATIONS = 80
_REFINEMENTS = 10
_FITTED = 1e-14
"""Rows that miss their totals, which are about 1, by less need no refinement."""
_START_RIDGE = 1e-10
"""As `RIDGE`, but the start may be rough."""
_NOTHING = 1e-24
"""At a mean product x_j z_j below this share of the value, the gap, their sum, is lost in its rounding."""
_LEAST = 1e-100
"""Variables and their duals stay above this."""
_TO_BOUNDARY = 0.99
"""The share of the way to the boundary that a step goes."""
_CORRECTIONS = 2
"""Corrections of a direction at most (Gondzio 1996)."""
_LONGER = 0.3
"""Longer steps tried by each correction."""
_NEAR = 0.1
"""Products nearer to the aim than this factor and its inverse are left as they are."""
_GAIN = 0.02
"""With less gain in the steps the corrections end."""


@dataclass(frozen=True, eq=False)
class Central:
    """A primal and dual point near the central path; after a normal end W θ = b, nearly always up to rounding.

    Stopped or broken down, it is the point reached, whose rows may miss their totals. Ended before it began, its
    value is infinite, its prices and weights 0.

    Attributes
    ----------
    value : float
        What θ and u cost, over all of W: what the unit columns of the box cost is included.
    prices : (n,) array
        y, the prices of the rows.
    weights : (k,) array
        θ for the columns of V alone; where the box has weight they do not sum to b.
    block : (f,) array
        u, the scaled variables of the blocks.
    """

    value: float
    prices: Array
    weights: Array
    block: Array


def solve_master(
    columns: Array,
    costs: Array,
    totals: Array,
    accuracy: float,
    should_stop: Callable[[], bool],
    box: Box,
    offset: float = 0.0,
    blocks: Blocks | None = None,
) -> Central:
    """Solve a restricted master problem to a gap relative to the value and the offset.

    Parameters
    ----------
    columns : (n, k) array
        V; of each column the greatest entry is about 1.
    costs, totals : (k,) and (n,) array
        c, not all 0, and b.
    should_stop : callable
        Asked several times an iteration, by several threads.
    box : pair of (n,) arrays
        Keep prices between the first and the second: where these are finite, V θ may miss the totals, at a cost.
    offset : float
        A constant of the objective that is not in c, nor in the value.
    """
    low, high = box
    above = np.flatnonzero(np.isfinite(high))
    below = np.flatnonzero(np.isfinite(low))
    costs = np.concatenate([costs, high[above], -low[below]])  # those of the unit columns are the bounds
    blocks = blocks or Blocks.none(len(columns))
    with current().holding(columns, should_stop) as matrix:
        return _Method(BoxMatrix(matrix, above, below), blocks, costs, totals).run(accuracy, offset)


class _Method:
    """Mehrotra's predictor-corrector method for one master problem."""

    def __init__(self, coupling: BoxMatrix, blocks: Blocks, costs: Array, totals: Array) -> None:
        self.coupling = coupling
        self.blocks = blocks
        self.costs = costs
        self.totals = totals

    def run(self, accuracy: float, offset: float) -> Central:
        """Iterate to the accuracy; return the point reached, also when stopped. x and z stay positive."""
        n, k = self.coupling.columns.shape
        point: Point | None = None
        newton: WithoutBlocks | WithBlocks | None = None
        try:
            point = self._start()
            for _ in range(_ITERATIONS):
                # 1. residuals of both sides, and the mean product x z, which is 0 at an optimum
                missing = self._residuals(point)
                mean = float(point.x @ point.z / len(point.x))

                # 2. enough?
                value = self._value(point)
                gap = self._largest_gap(point, missing, value)
                if gap < accuracy * (1e-12 + abs(value + offset)) or mean < _NOTHING * abs(value + offset):
                    break
                newton = self._newton(point, missing)

                # 3. predictor: how much of the mean product a full step to the optimum would leave
                predictor = newton.direction(-point.x * point.z)
                primal = min(1.0, _step_to_boundary(point.x, predictor.x))
                dual = min(1.0, _step_to_boundary(point.z, predictor.z))
                after = (point.x + primal * predictor.x) @ (point.z + dual * predictor.z)
                aim = float(after / len(point.x) / mean) ** 3 * mean

                # 4. corrector: aim at the central path, the nearer the optimum the better that step went; the
                #    products dx dz of the predictor make up for the linearisation
                point = self._stepped(point, newton, aim - point.x * point.z - predictor.x * predictor.z, aim)
            point = self._refitted(point, newton)
        except (Stopped, np.linalg.LinAlgError) as end:
            if point is None:
                return Central(np.inf, np.zeros(n), np.zeros(k), np.zeros(len(self.blocks.costs)))
            if isinstance(end, Stopped):
                point = self._refitted(point, newton)
        return Central(self._value(point), point.y, point.x[:k], point.u)

    def _start(self) -> Point:
        """Mehrotra's start: least squares for θ and y, then θ and s shifted until they are positive, and not small.

        θ is not 0, as b is not. s = 0 would say c = W'y, which the ridge allows only where c is 0 or next to the
        least positive number: then LinAlgError. Blocks start inside of the cone, with the products of the columns.
        """
        u = self.blocks.start
        solve = self.coupling.solver(np.ones(len(self.costs)), _START_RIDGE)
        theta = self.coupling.priced(solve(self.totals - self.blocks.rows @ u))
        y = solve(self.coupling.times(self.costs))
        s = self.costs - self.coupling.priced(y)
        theta = theta + max(-1.5 * theta.min(), 0.0)
        s = s + max(-1.5 * s.min(), 0.0)
        if not s.any():
            raise np.linalg.LinAlgError
        product = theta @ s
        theta, s = theta + 0.5 * product / s.sum(), s + 0.5 * product / theta.sum()
        t = self.blocks.slacks(u)
        return Point(np.append(theta, t), np.append(s, theta @ s / len(s) / t), y, u)

    def _residuals(self, point: Point) -> Residuals:
        """Return by how much a point misses the constraints of both sides."""
        theta, t = np.split(point.x, [len(self.costs)])
        s, multipliers = np.split(point.z, [len(self.costs)])
        return Residuals(
            self.totals - self.coupling.times(theta) - self.blocks.rows @ point.u,
            t - self.blocks.slacks(point.u),
            self.costs - self.coupling.priced(point.y) - s,
            self.blocks.costs - self.blocks.rows.T @ point.y - self.blocks.adjoint(multipliers),
        )

    def _value(self, point: Point) -> float:
        return float(self.costs @ point.x[: len(self.costs)] + self.blocks.costs @ point.u)

    def _largest_gap(self, point: Point, missing: Residuals, value: float) -> float:
        """Return the gap of primal and dual, or more where residuals may hide some of it; the method ends at it.

        That is c·θ + h·u - b·y = x·z + unpriced·θ + unbalanced·u - y·short - λ·loose, so residuals may hide
        some of it. The weights of V sum to n at most where V θ = 1, as the greatest entry of each column is 1.
        """
        multipliers = point.z[len(self.costs) :]
        return max(
            abs(value - point.y @ self.totals),
            np.abs(point.y) @ np.abs(missing.short),
            len(self.totals) * np.abs(missing.unpriced).max(),
            np.abs(missing.unbalanced) @ np.abs(point.u),
            multipliers @ np.abs(missing.loose),
        )

    def _newton(self, point: Point, missing: Residuals) -> WithoutBlocks | WithBlocks:
        """Factor the Newton system at a point."""
        scaling = point.x / np.maximum(point.z, _LEAST * point.x)  # θ/s and t/λ, capped so as not to overflow
        if len(self.blocks.costs):
            return WithBlocks(self.coupling, self.blocks, point, missing, scaling)
        return WithoutBlocks(self.coupling, point, missing, scaling)

    def _stepped(self, point: Point, newton: WithoutBlocks | WithBlocks, target: Array, aim: float) -> Point:
        """Return the point after a step towards a target, corrected while that allows a longer one (Gondzio 1996)."""
        step = newton.direction(target)
        primal = min(1.0, _TO_BOUNDARY * _step_to_boundary(point.x, step.x))  # lengths: of x and u, of z and y
        dual = min(1.0, _TO_BOUNDARY * _step_to_boundary(point.z, step.z))
        for _ in range(_CORRECTIONS):
            # products after a longer step that are far from the aim are to come nearer
            x = point.x + min(1.0, primal + _LONGER) * step.x
            z = point.z + min(1.0, dual + _LONGER) * step.z
            with np.errstate(over="ignore", invalid="ignore"):
                products = x * z
                target = target + np.maximum(np.clip(products, _NEAR * aim, aim / _NEAR) - products, -aim / _NEAR)
                other = newton.direction(target)
            if not (np.isfinite(other.x).all() and np.isfinite(other.z).all()):
                break
            other_primal = min(1.0, _TO_BOUNDARY * _step_to_boundary(point.x, other.x))
            other_dual = min(1.0, _TO_BOUNDARY * _step_to_boundary(point.z, other.z))
            if other_primal + other_dual < primal + dual + _GAIN:
                break
            step, primal, dual = other, other_primal, other_dual
        return Point(
            np.maximum(point.x + primal * step.x, _LEAST),
            np.maximum(point.z + dual * step.z, _LEAST),
            point.y + dual * step.y,
            point.u + primal * step.u,
        )

    def _refitted(self, point: Point, newton: WithoutBlocks | WithBlocks | None) -> Point:
        """Move θ and u so that their rows sum to b up to rounding: small weights move less.

        By least squares weighted by the last scaling. It takes several passes, as the ridge makes each one inexact,
        and weights stay positive.
        """
        if newton is None:
            return point
        count = len(self.costs)
        theta, u = point.x[:count], point.u
        for _ in range(_REFINEMENTS):
            short = self.totals - self.coupling.times(theta) - self.blocks.rows @ u
            if np.abs(short).max() < _FITTED:
                break
            change, du = newton.least_change(short)
            length = min(1.0, _TO_BOUNDARY * _step_to_boundary(theta, change))
            theta, u = theta + length * change, u + length * du
        return Point(np.append(theta, point.x[count:]), point.z, point.y, u)


def _step_to_boundary(values: Array, change: Array) -> float:
    """Return the step along `change` at which the first value is 0; infinite where none falls."""
    falling = change < 0
    with np.errstate(over="ignore"):
        return float((-values[falling] / change[falling]).min(initial=np.inf))
