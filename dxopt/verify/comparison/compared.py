"""The comparison in claims.json, proven again from the channels, priors and duals of compared.npz.

A row without a channel of its own there is about the mechanism of the folder; a bound without a dual is that of the
certificate.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from dxopt.verify import claims
from dxopt.verify.bounds.dual import bound
from dxopt.verify.comparison.named import check_named
from dxopt.verify.comparison.order import check_refined, check_remap
from dxopt.verify.comparison.regular import check_verdict
from dxopt.verify.files import COMPARED, Arrays, numbers, part, read_arrays
from dxopt.verify.folder import Result, as_number
from dxopt.verify.measures.evaluation import check_leakage
from dxopt.verify.measures.least_level import check_least_level
from dxopt.verify.privacy import bound_pairs
from dxopt.verify.values import AGREEMENT, LEAST
from dxopt.verify.verdict import Broken, Unproved

Row = dict[str, Any]
TITLES = {
    "expected_loss": "expected loss",
    "worst_loss": "worst loss",
    "worst_expected_loss": "worst expected loss",
    "regret": "worst regret",
    "adversary_error": "adversary's error",
}
"""What the values of an objective are called."""
_LARGEST = Fraction(sys.float_info.max)
_OPTIMUM = "optimal for "
_FIGURES = ("remapped", "gap", "epsilon", "leakage", "delta", "excess", "remapped_excess", "remapped_bound")


def check_comparison(result: Result, comparison: dict[str, Any]) -> str:
    """What follows from other figures, and that the file of the channels is there and can be read."""
    rows = comparison["rows"]
    limit = comparison["bound"]
    # 1. What it repeats of the problem.
    repeated = {
        "problem": (comparison["problem"], result.named.get("name")),
        "epsilon": (comparison["epsilon"], result.epsilon if result.private else None),
        "delta": (comparison["delta"], result.delta),
        "objective": (comparison["objective"], TITLES.get(result.objective)),
    }
    for name, (found, known) in repeated.items():
        if found != known:
            raise Broken(f"claims.json: the comparison's {name} is {found!r}, not {known!r}")
    # 2. All figures are numbers, and names are unique.
    for row in rows:
        for key in ("value", *_FIGURES):
            if row.get(key) is not None:
                as_number(row[key], f"claims.json: the comparison's {key} of {row['name']}")
    if limit is not None:
        as_number(limit, "claims.json: the comparison's bound")
    if len({row["name"] for row in rows}) < len(rows):
        raise Broken("claims.json: two rows of the comparison have the same name")
    # 3. The bound is no worse than the certificate's, and figures follow from the values.
    best = next((row["value"] for row in rows if row["name"] == "optimal"), None)
    if limit is not None and result.sign * (Fraction(result.claimed("bound")) - Fraction(limit)) > 0:
        raise Broken(f"claims.json: the comparison's bound {limit:.17g} is worse than the certificate's")
    for row in rows:
        _check_figures(result, row, best, limit)
    return f"{len(rows)} rows agree with each other and with the certificate"


def _check_figures(result: Result, row: Row, best: float | None, limit: float | None) -> None:
    """Gap and excess follow from the value, the bound and the optimum; no private value is better than the bound."""
    name = row["name"]
    value = row["value"]
    remapped = row["remapped"]
    if value is None:
        present = [key for key in _FIGURES if row.get(key) is not None]
        if present or row["private"] or row["under"]:
            raise Broken(f"claims.json: the comparison has figures of {name}, which has no value")
        return
    follows = {
        "gap": None if limit is None else abs(Fraction(value) - Fraction(limit)) / Fraction(max(abs(value), 1e-12)),
        "excess": _above(value, best),
        "remapped_excess": None if remapped is None else _above(remapped, best),
    }
    for key, found in follows.items():
        if not _follows(row[key], found, relative=key == "gap"):
            raise Broken(f"claims.json: the comparison's {key} of {name} is {row[key]}, which does not follow")
    worse = limit is None or result.sign * (Fraction(limit) - Fraction(value)) <= AGREEMENT * abs(Fraction(value))
    elsewhere = result.objective == "adversary_error" and name.startswith(_OPTIMUM)
    if row["private"] and not worse and not elsewhere:
        raise Broken(f"claims.json: the comparison's value of {name} is better than the bound")


def _follows(claimed: float | None, found: Fraction | None, *, relative: bool) -> bool:
    """Whether a figure is what follows from others, up to rounding; beyond all doubles it is infinite."""
    if claimed is None or found is None:
        return claimed is found
    if math.isinf(claimed):
        return abs(found) > _LARGEST and (found > 0) is (claimed > 0)
    room = abs(found) if relative else max(1, abs(found))
    return abs(found - Fraction(claimed)) <= AGREEMENT * room + LEAST


def _above(value: float, best: float | None) -> Fraction | None:
    """How much of the best value another is above it."""
    return None if not best else (Fraction(value) - Fraction(best)) / abs(Fraction(best))


def proofs(result: Result, comparison: dict[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is to be proven of a comparison whose figures agree, by name."""
    found = Compared(result, comparison)
    for index, row in enumerate(comparison["rows"]):
        if row["value"] is not None:
            yield f"comparison: {row['name']}", partial(found.check_row, index, row)
    if comparison["bound"] is not None:
        yield "comparison: bound", found.check_bound
    if comparison["bounds"] or any(row["under"] for row in comparison["rows"]):
        yield "comparison: other priors", found.check_priors
    for better in dict.fromkeys(entry["better"] for entry in comparison.get("refinements", ())):
        yield f"comparison: what {better} refines", partial(found.check_order, better)
    if comparison["verdict"] is not None:
        yield "comparison: verdict", partial(check_verdict, result, comparison["verdict"])


@dataclass(frozen=True)
class Compared:
    """A comparison in the claims.json of a result."""

    result: Result
    comparison: dict[str, Any]

    @cached_property
    def arrays(self) -> Arrays:
        """Those of compared.npz; Unproved where there is none."""
        self.result.require_written()
        if not (self.result.folder / COMPARED).is_file():
            raise Unproved(f"there is no {COMPARED}, as in results of earlier versions")
        return read_arrays(self.result.folder, COMPARED)

    def check_row(self, index: int, row: Row) -> str:
        """The channel of a row, its privacy at the level that it claims, which is the least, and its figures."""
        source = f"claims.json: the comparison's {row['name']}"
        result = replace(self._of_row(index), source=source, certificate=self._claims(row))
        sums = claims.check_rows(result)
        level = _check_baseline(result, row) if row["baseline"] else claims.check_privacy(result)
        claims.check_attained(result)
        if result.objective == "adversary_error":
            self._check_budget(result, row)
        check_leakage(result, f"the comparison's leakage of {row['name']}", as_number(row["leakage"], "leakage"))
        self._check_remapped(result, index, row, source)
        self._check_under(result, row)
        return f"{sums}; {level}; {check_named(result, row['name'])}"

    def _check_remapped(self, result: Result, index: int, row: Row, source: str) -> None:
        """What the best remap is worth: a table, or one that draws where that is in the file."""
        averaged = result.objective == "expected_loss"
        drawn = part(self.arrays, f"{index}/remap")
        if (averaged or bool(drawn)) != (row["remapped"] is not None):
            raise Broken(f"{source}: remapped is {row['remapped']}")
        if bool(drawn) != (row.get("remapped_bound") is not None) or (drawn and result.objective != "worst_loss"):
            raise Broken(f"{source}: remapped_bound is {row.get('remapped_bound')}")
        if drawn:
            check_remap(result.worth, result.all_losses, row, drawn, source)
        if averaged and not result.worth.adversary_error(result.losses).agrees(row["remapped"]):
            exact = result.worth.adversary_error(result.losses).low
            raise Broken(f"{source}: remapped is {float(exact):.17g}, not {row['remapped']:.17g}")

    def check_order(self, better: str) -> str:
        """Which others a mechanism refines, and which it does not, from a remap or gains for each."""
        rows = {row["name"]: index for index, row in enumerate(self.comparison["rows"]) if row["value"] is not None}
        counts = {True: 0, False: 0, None: 0}
        for number, entry in enumerate(self.comparison["refinements"]):
            if entry["better"] != better:
                continue
            if not {better, entry["worse"]} <= rows.keys() or entry["holds"] not in counts:
                raise Broken(f"claims.json: whether {better} refines {entry['worse']} is no question about two rows")
            one, other = (self._of_row(rows[name]).matrix for name in (better, entry["worse"]))
            check_refined(entry, one, other, part(self.arrays, f"refined/{number}"))
            counts[entry["holds"]] += 1
        return f"refines {counts[True]}, does not refine {counts[False]}, is left undecided beside {counts[None]}"

    def _of_row(self, index: int) -> Result:
        """The result with the channel of a row as its mechanism."""
        arrays = self.arrays
        known = self.result
        if f"{index}/left_out" in arrays:
            raise Unproved(str(arrays[f"{index}/left_out"]))
        own = f"{index}/matrix" not in arrays
        if own:
            return known
        # what mechanism.npz says of its own privacy is not about this channel
        rest = {key: array for key, array in known.mechanism.items() if key not in ("epsilon", "delta")}
        matrix = numbers(arrays, f"{index}/matrix", *known.matrix.shape)
        return replace(known, mechanism={**rest, "matrix": matrix})

    def _claims(self, row: Row) -> dict[str, Any]:
        """The claims of a row as those of a certificate."""
        name = row["name"]
        if row["epsilon"] is not None and not self.result.private:
            raise Broken(
                f"claims.json: the comparison's epsilon of {name} is {row['epsilon']}, but none was asked for"
            )
        if (row["delta"] is None) is not (self.result.delta == 0):
            raise Broken(f"claims.json: the comparison's delta of {name} is {row['delta']}")
        return {key: row[key] for key in ("private", "epsilon", "value")} | {"delta": row["delta"] or 0.0}

    def _check_budget(self, result: Result, row: Row) -> None:
        """The loss is within the budget under the prior that the mechanism is for."""
        prior = self._priors().get(row["name"].removeprefix(_OPTIMUM))
        try:
            claims.check_budget(result if prior is None else _under(result, prior))
        except Broken as error:
            raise Broken(f"{result.source}: {error}") from None

    def _check_under(self, result: Result, row: Row) -> None:
        """The values of a row under all other priors."""
        if set(row["under"]) != set(self._priors()):
            raise Broken(f"{result.source}: it is evaluated under {', '.join(row['under']) or 'no other prior'}")
        for name, prior in self._priors().items():
            exact = claims.attained(_under(result, prior))
            claimed = as_number(row["under"][name], name)
            if not exact.agrees(claimed):
                raise Broken(f"{result.source}: under {name} it is {float(exact.low):.17g}, not {claimed:.17g}")

    def _priors(self) -> dict[str, Any]:
        """The other priors of compared.npz by name."""
        names = [str(name) for name in self.arrays.get("priors", ())]
        if not names:
            return {}
        return dict(zip(names, numbers(self.arrays, "probabilities", len(names), self.result.size), strict=True))

    def check_bound(self) -> str:
        """That of the certificate, or one that a dual of its own proves."""
        result = self.result
        limit = self.comparison["bound"]
        dual = part(self.arrays, "bound")
        if not dual:
            if limit != result.claimed("bound"):
                raise Broken(f"claims.json: the comparison's bound is {limit:.17g}, which is not the certificate's")
            return "that of the certificate"
        return _proven(result, dual, limit, "the comparison's bound")

    def check_priors(self) -> str:
        """Each is a prior, and its bound holds under it."""
        priors = self._priors()
        limits = self.comparison["bounds"]
        if not set(limits) <= set(priors):
            raise Broken(f"claims.json: the comparison's bounds are under {', '.join(limits)}")
        for index, (name, prior) in enumerate(priors.items()):
            other = _under(self.result, prior)
            try:
                claims.check_prior(other)
            except Broken as error:
                raise Broken(f"{COMPARED}: the prior {name}: {error}") from None
            dual = part(self.arrays, f"bounds/{index}")
            if bool(dual) != (name in limits):
                raise Broken(f"{COMPARED}: there is {'a' if dual else 'no'} dual for the prior {name}")
            if dual:
                _proven(other, dual, as_number(limits[name], name), f"the comparison's bound under {name}")
        return f"{len(priors)} priors, {len(limits)} bounds by weak duality"


def _check_baseline(result: Result, row: Row) -> str:
    """The level of a baseline is its least one; it counts as private if that is no more than was asked for."""
    level = result.claimed("epsilon")
    delta = result.claimed("delta")
    if delta != result.delta:
        raise Broken(f"{result.source}: delta is {delta:.17g}, but {result.delta:.17g} was asked for")
    if row["private"] is not (level <= result.epsilon):
        raise Broken(f"{result.source}: private is {row['private']}")
    pairs = str(result.named.get("pairs")) if result.delta else "all"
    bound = bound_pairs(result.distances, pairs)
    check_least_level(result, bound, level, Fraction(delta), result.source)
    return f"a baseline, epsilon {level:.10g}"


def _under(result: Result, prior: Any) -> Result:
    """The result with another prior, alone where there is a set of them: then losses are expected under it."""
    named = {**result.named, "prior": ""}
    if result.objective in ("worst_expected_loss", "regret"):
        named = {**named, "objective": "expected_loss"}
    problem = {key: array for key, array in result.problem.items() if not key.startswith("prior_set")}
    return replace(result, named=named, problem={**problem, "prior": prior})


def _proven(result: Result, dual: Arrays, claimed: float, what: str) -> str:
    """A bound is no more than its dual proves, up to 1e-12 relative."""
    proven, how = bound(result.asked, dual)
    if not result.sign * (Fraction(claimed) - proven) <= AGREEMENT * abs(proven) + claims.lost(result):
        raise Broken(f"claims.json: {what} is {claimed:.17g}, but {COMPARED} proves {float(proven):.17g}")
    return f"{claimed:.12g}, {how}"
