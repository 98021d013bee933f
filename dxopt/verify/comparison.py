"""The comparison in a report's folder, proven again: its parts, their order, and the verdict on the prior.

- π: the prior; Φ[x, y] = e^{-εd(x, y)}; μ: the solution of Φμ = π. The prior is regular if some μ ≥ 0 solves it.
- r = μ / π, A: the system Ar = 1 on classes of secrets; Y: any matrix near its inverse, s: any vector near r.

Statement. Points are put in the coarsest classes in which all have the same probability and the same numbers of
points of each class at each distance, from them and to them. Averaging over classes commutes with Φ, so that there is
a solution μ ≥ 0 exactly where there is one that is constant on classes: Ar = 1 with A[i, j] = Σ_y Φ[x_i, y] π_j / π_i
over y in class j, and μ = rπ. For any Y with ‖I - YA‖ < 1 in the norm of largest row sums, A is invertible, and r is
within |Y(1 - As)| + rows ‖Y(1 - As)‖ / (1 - ‖rows‖) of any s, where rows are the row sums of |I - YA|.

A sum of k products in any order is off by less than (k + 2)·2^-53 of the sum of their sizes to first order, of which
twice is counted; A is within (k + 16)·2^-52 of its doubles relative, which counts that of e^{-εd}, enclosed by
rationals, of the sum and of the two scalings; factors below e^-700 count as 0 within 1e-290 of all entries.

Statement. For channels A `(n, a)` and B `(n, b)` let t be the least max_x Σ_w max(0, B[x, w] - (AR)[x, w]) of all
channels R. Then for any prior and any gain from 0 to 1 the best remap of A gains at most t less than that of B. Some
R of rows that sum to 1 at most proves that t is no more than a number, some Y ≥ 0 `(n, g)` that it is no less:
Σ_w max_y (Y'B)[y, w] ≤ Σ_z max_y (Y'A)[y, z] + t Σ_x max_y Y[x, y], as Σ max_y is convex and homogeneous.

Each private mechanism is the report itself or a part, which states what is proven of it. Here follow that parts are
about the same problem, what their channels are worth under it and under other priors, their order, and the verdict on
the prior. The bound on every private mechanism is that of the parts. Of baselines no privacy is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify import claims
from dxopt.verify.entries import NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, require_types
from dxopt.verify.exact import BITS, Exact, at_most, dot, exp_bounds
from dxopt.verify.files import PARTS, Arrays, check_digests, numbers, part, read_arrays, read_json, require_format
from dxopt.verify.folder import Result, as_number
from dxopt.verify.parts import COMPARISON, Checks, differing_entry, one_check, part_folders, require_all, under_prior
from dxopt.verify.values import AGREEMENT, Worth
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

Array = NDArray[np.float64]
_ROOM = 2.0**-52
_TINY = 1e-290
_MOST_SECRETS = 600
_SAFE = 700
_SPREAD = 1e9


def check_verdict(result: Result, verdict: Mapping[str, object]) -> str:
    """Prove the verdict on the prior again; Broken where it is proven to be wrong, Unproved where not decided."""
    require_types("comparison.json: verdict", verdict, {"status": TEXT, "reason": TEXT})
    status = verdict["status"]
    if status == "undecided":
        return "it claims nothing"
    if status not in ("regular", "not regular"):
        raise Broken(f"comparison.json: the verdict is {status!r}")
    if not result.private:
        raise Broken("comparison.json: there is a verdict, but no privacy was asked for")
    # What is true: a reason that is decided exactly, or else the sign of μ, enclosed by doubles.
    found = next(_proofs_of_irregularity(result), None)
    if found is None:
        enclosed = _enclosed_mu(result)
        low, high = (np.full(1, -np.inf), np.full(1, np.inf)) if enclosed is None else enclosed
        x = int(high.argmin())
        if high[x] < 0:
            found = f"μ is {high[x]:.3g} or less at {result.secret(x)}"
        elif (low < 0).any():
            raise Unproved("μ is not enclosed closely enough")
    known = "regular" if found is None else "not regular"
    if status != known:
        raise Broken(f"comparison.json: the verdict is {status}, but the prior is {known}: {found or 'μ ≥ 0'}")
    return found or "every entry of μ is 0 or more"


def _proofs_of_irregularity(result: Result) -> Iterator[str]:
    """Yield reasons, decided exactly, why no μ ≥ 0 solves Φμ = π."""
    prior = result.prior
    distances = result.distances
    # 1. Some μ_w > 0 makes π_y > 0; a secret at finite distance to y is at finite distance to w, so that it is likely
    #    as well.
    for x in np.flatnonzero(prior == 0).tolist():
        near = np.flatnonzero(np.isfinite(distances[x]) & (prior > 0))
        if len(near):
            yield f"{result.secret(x)} has probability 0, but not {result.secret(int(near[0]))}, which is near"
    # 2. Secrets with the same distances have the same row in Φ. Adding 0 makes -0 a 0, as rows are compared by bytes.
    seen: dict[bytes, int] = {}
    for x, row in enumerate(distances):
        twin = seen.setdefault((row + 0.0).tobytes(), x)
        if prior[twin] != prior[x]:
            yield f"{result.secret(twin)} and {result.secret(x)} differ in probability alone"
    # 3. Rows of Φ are alike up to a factor, and so are the probabilities that they make: no pair has π_a > t π_b,
    #    where t is the largest Φ[a, y] / Φ[b, y], e^{ε max (d(b, y) - d(a, y))}. The pair is chosen in doubles, as
    #    the one that exceeds e^{εd} most, and decided exactly.
    level = Fraction(result.epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.log(prior)[:, None] - np.log(prior)[None] - result.epsilon * distances.T
    excess[np.isnan(excess)] = -np.inf
    a, b = np.unravel_index(int(excess.argmax()), excess.shape)
    reached = np.flatnonzero(np.isfinite(distances[a]))
    if excess[a, b] <= 0 or not np.isfinite(distances[b, reached]).all():
        return
    longer = max(Fraction(float(distances[b, y])) - Fraction(float(distances[a, y])) for y in reached.tolist())
    more, less = (Fraction(float(prior[x])) for x in (a, b))
    scale = more.denominator * less.denominator
    if longer >= 0 and not at_most(int(more * scale), level * longer, int(less * scale)):
        yield f"{result.secret(int(a))} is more than e^(epsilon d) as likely as {result.secret(int(b))}"


def _enclosed_mu(result: Result) -> tuple[Array, Array] | None:
    """Return a lower and an upper bound on μ for each secret; None where doubles do not enclose it.

    As μ / π is constant on classes, there is one equation for each class. Unproved where there are too many secrets.
    """
    # 1. Secrets of probability 0 are far from all others here: μ is 0 there, and they are left out.
    support = np.flatnonzero(result.prior > 0)
    if len(support) > _MOST_SECRETS:
        raise Unproved(f"there are more than {_MOST_SECRETS} secrets")
    inside = result.distances[np.ix_(support, support)]
    # 2. One equation and one unknown for each class; `first` is a member of each, `weight` its probability.
    classes = _classes(inside, result.prior[support])
    first, sizes = np.unique(classes, return_index=True, return_counts=True)[1:]
    weight = result.prior[support][first]
    if weight.max() > _SPREAD * weight.min():  # scaled too badly for doubles
        return None
    # 3. A[i, j] = Σ_y Φ[x_i, y] π_j / π_i over y in class j: columns sorted by class are summed class by class.
    order = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    factors = _decay_factors(inside[np.ix_(first, order)], Fraction(result.epsilon))
    system = np.add.reduceat(factors, starts, axis=1) * (weight[None] / weight[:, None])
    solved = _enclosed_solution(system, (int(sizes.max()) + 16) * _ROOM)
    if solved is None:
        return None
    # 4. μ = rπ, rounded outwards, the same for all members of a class.
    low, high = np.zeros(result.size), np.zeros(result.size)
    for bounds, ratios, outwards in ((low, solved[0], -np.inf), (high, solved[1], np.inf)):
        bounds[support] = np.nextafter(ratios * weight, outwards)[classes]
    return low, high


def _decay_factors(distances: Array, level: Fraction) -> Array:
    """Return e^{-εd} within 2^-52 relative, 0 where d is infinite or the factor below e^-700."""
    distinct, which = np.unique(distances, return_inverse=True)
    found = []
    for distance in distinct.tolist():
        exponent = level * Fraction(distance) if np.isfinite(distance) else None
        large = exponent is None or exponent > _SAFE
        found.append(0.0 if large else float(Fraction(1 << BITS, exp_bounds(exponent or Fraction(0))[1])))
    return np.array(found)[which.reshape(distances.shape)]


def _enclosed_solution(system: Array, relative: float) -> tuple[Array, Array] | None:
    """Return lower and upper bounds on r, where Ar = 1, for all A within a relative error of a system `(k, k)`.

    None where no such A is proven to be invertible. Doubles throughout: Y is any approximate inverse, s any
    approximate solution, and all that is off is counted in bounds that are widened by the roundings of computing
    them.
    """
    size = len(system)
    if not np.isfinite(system).all():
        return None
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return None
    # A sum of k products is off by `grow` of the sum of their sizes, with every constant generously rounded up.
    grow = 2 * (size + 10) * 2.0**-53
    unit = np.eye(size)
    radius = system * relative + _TINY
    with np.errstate(over="ignore", invalid="ignore"):
        # 1. Row sums of |I - YA|: what the double computation gives, what A may differ from the system, and
        #    roundings. Below 1, which ½ leaves room for, A is invertible.
        off = np.abs(unit - inverse @ system) + 2 * grow * unit
        off += (np.abs(inverse) @ (radius + 2 * grow * system)) * (1 + 4 * grow) + _TINY
        rows = off.sum(axis=1) * (1 + 4 * grow)
        if not rows.max() < 0.5:
            return None
        # 2. s, refined twice: any s would do, and a good one gives narrow bounds.
        solution = inverse @ np.ones(size)
        for _ in range(2):
            solution = solution + inverse @ (1.0 - system @ solution)
        # 3. |1 - As| at most, and |Y(1 - As)| from it.
        left = np.abs(1.0 - system @ solution) + 2 * grow
        left += (radius + 2 * grow * system) @ np.abs(solution) * (1 + 4 * grow)
        moved = (np.abs(inverse) @ left) * (1 + 4 * grow)
        # 4. |r - s| ≤ |Y(1 - As)| + rows ‖Y(1 - As)‖ / (1 - ‖rows‖).
        error = (moved + rows * moved.max() / (1 - rows.max())) * (1 + 8 * grow) + _TINY
    return np.nextafter(solution - error, -np.inf), np.nextafter(solution + error, np.inf)


def _classes(distances: Array, prior: Array) -> NDArray[np.int64]:
    """Return the class `(s,)` of each point, numbered from 0: the coarsest classes of the statement above."""
    levels, kinds = np.unique(distances, return_inverse=True)
    kinds = kinds.reshape(distances.shape)
    # Classes are those of equal probability at first. They are split by which classes their points see at which
    # distances, from them and to them, until none splits. A pair (class, distance) is one integer; sorting counts.
    classes = np.unique(prior, return_inverse=True)[1]
    while True:
        views = [np.sort(classes[None] * len(levels) + view, axis=1) for view in (kinds, kinds.T)]
        keys = np.concatenate([classes[:, None], *views], axis=1)
        refined = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        if refined.max() == classes.max():
            return refined
        classes = refined


WITNESSES = "comparison.npz"


def _check_refined(entry: Mapping[str, Any], better: Array, worse: Array, proof: Arrays) -> None:
    """Broken unless one mechanism refines another, or does not, by the amount that is claimed, up to 1e-12."""
    source = f"comparison.json: whether {entry['better']} refines {entry['worse']}"
    if entry["holds"] is None:
        if entry["shortfall"] is not None:
            raise Broken(f"{source}: it is undecided, but has a shortfall")
        return
    claimed = Fraction(as_number(entry["shortfall"], f"{source}: shortfall"))
    if entry["holds"] is not (claimed <= _REFINED):
        raise Broken(f"{source}: holds is {entry['holds']}, by a shortfall of {float(claimed):.17g}")
    if entry["holds"]:
        found = _shortfall(better, worse, _nonnegative(proof, "remap", better.shape[1], worse.shape[1]))
    else:
        found = _advantage(better, worse, _nonnegative(proof, "gains", len(better), None))
    if (found - claimed) * (1 if entry["holds"] else -1) > AGREEMENT:
        raise Broken(f"{source}: the shortfall is {float(claimed):.17g}, but {WITNESSES} proves {float(found):.17g}")


def _shortfall(better: Array, worse: Array, remap: Array) -> Fraction:
    """Return max_x Σ_w max(0, B[x, w] - (AR)[x, w]), no less than t; Broken where R has more than 1 in a row."""
    entries, wanted = Exact.of(better), Exact.of(worse)
    columns = Exact.of(remap.T)
    if any(sum(row) > 1 << columns.bits for row in zip(*columns.rows, strict=True)):
        raise Broken(f"{WITNESSES}: a remap has more than 1 in a row")
    bits = max(entries.bits + columns.bits, wanted.bits)
    up, asked = bits - entries.bits - columns.bits, bits - wanted.bits
    most = 0
    for row, target in zip(entries.rows, wanted.rows, strict=True):
        made = (dot(row, column) << up for column in columns.rows)
        most = max(most, sum(max(0, (aim << asked) - got) for aim, got in zip(target, made, strict=True)))
    return Fraction(most, 1 << bits)


def _check_remap(about: Result, drawn: Arrays) -> None:
    """Broken unless a remap has the least worst loss: an adversary under the weights has no less, to 1e-6 of it."""
    losses = about.all_losses
    remap, weights = _nonnegative(drawn, "channel", *losses.T.shape), _nonnegative(drawn, "weights", len(losses))
    sums = {*map(math.fsum, remap)}
    if about.objective != "worst_loss" or sums != {1} or not 0 < weights.sum() < math.inf:
        raise Broken(f"{WITNESSES}: a remap that draws is no channel, has no weights, or is not about the worst loss")
    value = max(loss for loss, _ in Worth(about.matrix @ remap, weights).rows(losses, everywhere=True))
    bound = Worth(about.matrix, weights / weights.sum()).adversary_error(losses).low
    if value - bound > 1e-6 * abs(value) + 1e-8 * np.abs(losses[np.isfinite(losses)]).max():
        raise Broken(f"{about.source}: its remap loses {float(value):.10g}, its weights prove {float(bound):.10g}")


def _advantage(better: Array, worse: Array, gains: Array) -> Fraction:
    """Return (Σ_w max_y (Y'B)[y, w] - Σ_z max_y (Y'A)[y, z]) / Σ_x max_y Y[x, y], no more than t."""
    guesses = Exact.of(gains.T)
    size = sum(map(max, zip(*guesses.rows, strict=True)))
    if not size:
        raise Broken(f"{WITNESSES}: gains are all 0")
    return (_gained(worse, guesses) - _gained(better, guesses)) / Fraction(size, 1 << guesses.bits)


def _gained(channel: Array, guesses: Exact) -> Fraction:
    """Return Σ_z max_y Σ_x Y[x, y] K[x, z]: what the best answer y to each report gains, given gains Y."""
    columns = Exact.of(channel.T)
    best = sum(max(dot(guess, column) for guess in guesses.rows) for column in columns.rows)
    return Fraction(best, 1 << columns.bits + guesses.bits)


def _nonnegative(arrays: Arrays, key: str, *shape: int | None) -> Array:
    """Return an array of finite numbers of 0 or more; Broken where it is none."""
    found = numbers(arrays, key, *shape)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise Broken(f"{WITNESSES}: an entry of {key} is negative or infinite")
    return found


CLAIMS = "comparison.json"
OWN = "own"
OPTIMAL = "optimal"
"""The name of the first row."""
_MISSING = {"name": TEXT, "part": TEXT_OR_NULL, "prior": TEXT, "note": TEXT}
_ROW = {**_MISSING, "value": NUMBER_OR_NULL, "under": (dict,)}
_REFINEMENT = {"better": TEXT, "worse": TEXT, "holds": (bool, NoneType), "shortfall": NUMBER_OR_NULL}
_ENTRIES = {
    "format": (int,), "rows": (list,), "verdict": (dict, NoneType), "refinements": (list,), "interrupted": (bool,),
}  # fmt: skip
_REFINED = Fraction(1e-8)
"""A mechanism refines another where its shortfall is no more."""
Row = dict[str, Any]


def comparison_proofs(result: Result, checks: Checks) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the proofs of the comparison in the folder of a report by name; Broken where it cannot be read.

    Parameters
    ----------
    result : Result
        The report itself.
    checks : callable
        The checks of a result folder, for the parts.
    """
    found = _Compared.read(result, checks)
    content = found.content
    yield "comparison", found.check_files
    for index, row in enumerate(content["rows"]):
        if "value" in row:
            yield f"comparison: {row['name']}", partial(found.check_row, index, row)
    if found.priors:
        yield "comparison: other priors", found.check_priors
    for better in dict.fromkeys(entry["better"] for entry in content["refinements"]):
        yield f"comparison: what {better} refines", partial(found.check_order, better)
    if content["verdict"] is not None:
        yield "comparison: verdict", partial(check_verdict, result, content["verdict"])


@dataclass(frozen=True)
class _Compared:
    """A comparison in the folder of a report: its files, other priors by name, and a check of each part by name.

    `_known` keeps what `_result_of_row` returned, by the name of the row.
    """

    result: Result
    folder: Path
    content: dict[str, Any]
    arrays: Arrays
    priors: Mapping[str, Any]
    parts: Mapping[str, Check]
    _known: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def read(cls, result: Result, checks: Checks) -> _Compared:
        """Read the files and prove the parts; Broken names a file that cannot be read."""
        folder = result.folder / PARTS / COMPARISON
        content = read_json(folder, CLAIMS)
        require_types(CLAIMS, content, _ENTRIES)
        require_format(CLAIMS, content)
        for number, entry in enumerate(content["refinements"]):
            require_types(f"{CLAIMS}: refinements[{number}]", entry, _REFINEMENT)
        arrays = read_arrays(folder, WITNESSES)
        names = [str(name) for name in arrays.get("priors", ())]
        priors = numbers(arrays, "probabilities", len(names), result.size) if names else ()
        parts = {path.name: one_check(path.name, list(checks(path))) for path in part_folders(folder)}
        return cls(result, folder, content, arrays, dict(zip(names, priors, strict=True)), parts)

    def check_files(self) -> str:
        """Check the digests, and that the parts are those of the rows, once each."""
        check_digests(self.folder)
        rows = self.content["rows"]
        if not rows or rows[0]["name"] != OPTIMAL:
            raise Broken(f"{CLAIMS}: the first row is not {OPTIMAL!r}, to which the others are compared")
        if len({row["name"] for row in rows}) < len(rows):
            raise Broken(f"{CLAIMS}: two rows have the same name")
        pairs = [(entry["better"], entry["worse"]) for entry in self.content["refinements"]]
        if len({*pairs}) < len(pairs):
            raise Broken(f"{CLAIMS}: it is said twice whether one row refines another")
        known = {"priors", "probabilities"}
        known |= {f"{row}/{key}" for row in range(len(rows)) for key in ("matrix", "remap/channel", "remap/weights")}
        known |= {f"refined/{number}/{key}" for number in range(len(pairs)) for key in ("remap", "gains")}
        if unknown := sorted(self.arrays.keys() - known):
            raise Broken(f"{WITNESSES}: {unknown[0]:.40} is unknown")
        named = [row["part"] for row in rows if row["part"] not in (None, OWN)]
        if sorted(named) != sorted(self.parts):
            raise Broken(f"{CLAIMS}: the rows are about the parts {named}, but there are {[*self.parts]}")
        for index, row in enumerate(rows):
            there = row["part"] is not None or f"{index}/matrix" in self.arrays
            require_types(f"{CLAIMS}: rows[{index}]", row, _ROW if there else _MISSING)
            if row["prior"] and row["prior"] not in self.priors:
                raise Broken(f"{CLAIMS}: {row['name']} has the prior {row['prior']!r:.40}")
        return f"{len(rows)} rows, {len(self.parts)} parts"

    def _proven_part(self, name: str, prior: str) -> Result:
        """Return a part, or the report itself; Broken where it fails, or is about another problem or prior."""
        found = self.result
        if name != OWN:
            if self.parts[name].status is Outcome.FAILS:
                raise Broken(f"{PARTS}/{name}: {self.parts[name].detail}")
            found = Result.read(self.folder / PARTS / name)
        elif not prior:
            return found
        like = self._under_prior(prior) if prior else self.result
        if where := differing_entry(found, like, names=["name", "prior"]):
            raise Broken(f"{PARTS}/{name}: it is about another problem: another {where}")
        return found

    def _under_prior(self, prior: str) -> Result:
        """Return the report with another prior, given by name."""
        return under_prior(self.result, self.priors[prior], prior)

    def _result_of_row(self, index: int, row: Row) -> Result:
        """Return the report with the channel of a row in place of its own, and the row as what is claimed of it.

        The channel is that of a part, or of a baseline, whose matrix is in comparison.npz.
        """
        source = f"{CLAIMS}: {row['name']}"
        if row["name"] in self._known:
            return self._known[row["name"]]
        if row["part"] is not None:
            mechanism = self._proven_part(row["part"], row["prior"]).mechanism
        elif row["prior"]:
            raise Broken(f"{source}: a baseline is the optimum for no prior")
        else:
            # what mechanism.npz says of its own privacy is not about this channel
            rest = {key: array for key, array in self.result.mechanism.items() if key not in ("epsilon", "delta")}
            mechanism = {**rest, "matrix": numbers(self.arrays, f"{index}/matrix", *self.result.matrix.shape)}
        found = replace(self.result, mechanism=mechanism, source=source, certificate=row)
        self._known[row["name"]] = found
        return found

    def check_row(self, index: int, row: Row) -> str:
        """Prove the part of a row, and check what its channel is worth, also under other priors."""
        about = self._result_of_row(index, row)
        about.require_written()
        if row["part"] is None:
            claims.check_rows(about)
        claims.require_value(about, claims.attained_value(about))
        if {*row["under"]} != {*self.priors}:
            raise Broken(f"{about.source}: it is evaluated under {', '.join(row['under']) or 'no other prior'}")
        for name in self.priors:
            other = self._under_prior(name)
            claimed = {"value": row["under"][name]}
            moved = replace(about, named=other.named, problem=other.problem, certificate=claimed)
            claims.require_value(moved, claims.attained_value(moved))
        if drawn := part(self.arrays, f"{index}/remap"):
            _check_remap(about, drawn)
        if row["part"] is None:
            return "a baseline, of which no privacy is claimed"
        if row["part"] != OWN:
            require_all([self.parts[row["part"]]])
        return "proven as a part"

    def check_priors(self) -> str:
        """Check that each of the other priors is a distribution."""
        for name in self.priors:
            try:
                claims.check_prior(self._under_prior(name))
            except Broken as error:
                raise Broken(f"{WITNESSES}: the prior {name}: {error}") from None
        return f"{len(self.priors)} priors"

    def check_order(self, better: str) -> str:
        """Prove which others a mechanism refines, and which it does not, from a remap or gains for each."""
        rows = {row["name"]: (index, row) for index, row in enumerate(self.content["rows"]) if "value" in row}
        counts = {True: 0, False: 0, None: 0}
        for number, entry in enumerate(self.content["refinements"]):
            if entry["better"] != better:
                continue
            if not {better, entry["worse"]} <= rows.keys():
                raise Broken(f"{CLAIMS}: whether {better} refines {entry['worse']} is no question about two rows")
            one, other = (self._result_of_row(*rows[name]).matrix for name in (better, entry["worse"]))
            _check_refined(entry, one, other, part(self.arrays, f"refined/{number}"))
            counts[entry["holds"]] += 1
        return f"refines {counts[True]}, does not refine {counts[False]}, is left undecided beside {counts[None]}"
