"""The comparison in a report's folder, proven again: its parts, then the few claims over them.

Each private mechanism is the report itself or a part, which states what is proven of it. Here follow that parts are
about the same problem, what their channels are worth under it and under other priors, the level of baselines, the
bound on every private mechanism, the order, and the verdict on the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dxopt.verify import claims
from dxopt.verify.comparison.order import WITNESSES, check_refined, check_remap
from dxopt.verify.comparison.regular import check_verdict
from dxopt.verify.files import PARTS, Arrays, check_digests, numbers, part, read_arrays, read_json
from dxopt.verify.folder import Result, as_number
from dxopt.verify.measures.evaluation import check_leakage
from dxopt.verify.measures.least_level import check_least_level
from dxopt.verify.parts.reading import COMPARISON, Checks, in_one, part_folders, unlike
from dxopt.verify.privacy import bound_pairs
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved

CLAIMS = "comparison.json"
OWN = "own"
_FORMAT = 1
_ROW = {"name", "part", "prior", "note"}
_FIGURES = {"value", "leakage", "remapped", "remapped_bound", "under"}
_MEASURED = {"epsilon", "private"}
_ENTRIES = {"format", "rows", "bound", "bounds", "verdict", "refinements", "interrupted"}
_SETS = ("prior_set", "belief_")
Row = dict[str, Any]


def holds_comparison(folder: Path) -> bool:
    """Tell whether the folder of a report has a comparison."""
    return (folder / PARTS / COMPARISON).is_dir()


def comparison_proofs(result: Result, checks: Checks) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield what is to be proven of the comparison in the folder of a report, by name.

    Parameters
    ----------
    result : Result
        The report itself.
    checks : callable
        The checks of a result folder, for the parts.

    Raises
    ------
    Broken
        If the comparison cannot be read.
    """
    found = Compared.read(result, checks)
    content = found.content
    yield "comparison", found.check_files
    for index, row in enumerate(content["rows"]):
        if row["part"] is not None or found.is_measured(index):
            yield f"comparison: {row['name']}", partial(found.check_row, index, row)
    if content["bound"] is not None:
        yield "comparison: bound", found.check_bound
    if found.priors or content["bounds"]:
        yield "comparison: other priors", found.check_priors
    for better in dict.fromkeys(entry["better"] for entry in content["refinements"]):
        yield f"comparison: what {better} refines", partial(found.check_order, better)
    if content["verdict"] is not None:
        yield "comparison: verdict", partial(check_verdict, result, content["verdict"]["status"])


@dataclass(frozen=True)
class Compared:
    """A comparison, none of it trusted.

    Attributes
    ----------
    result : Result
        The report in whose folder it is.
    folder : Path
    content : dict
        comparison.json.
    arrays : mapping of names to arrays
        comparison.npz.
    priors : mapping of names to arrays
        The other priors.
    parts : mapping of names to Check
        What was found of each part.
    """

    result: Result
    folder: Path
    content: dict[str, Any]
    arrays: Arrays
    priors: Mapping[str, Any]
    parts: Mapping[str, Check]
    _known: dict[str, Result | Broken | Unproved] = field(default_factory=dict)

    @classmethod
    def read(cls, result: Result, checks: Checks) -> Compared:
        """Read the files and prove the parts; Broken names a file that cannot be read."""
        folder = result.folder / PARTS / COMPARISON
        content = read_json(folder, CLAIMS)
        if {*content} != _ENTRIES or content["format"] != _FORMAT:
            raise Broken(f"{CLAIMS} has the entries {', '.join(content)}, format {content.get('format')!r}")
        arrays = read_arrays(folder, WITNESSES)
        names = [str(name) for name in arrays.get("priors", ())]
        priors = numbers(arrays, "probabilities", len(names), result.size) if names else ()
        parts = {path.name: in_one(path.name, list(checks(path))) for path in part_folders(folder)}
        return cls(result, folder, content, arrays, dict(zip(names, priors, strict=True)), parts)

    def check_files(self) -> str:
        """Check the digests, and that the parts are those of the rows, once each."""
        check_digests(self.folder)
        rows = self.content["rows"]
        if len({row["name"] for row in rows}) < len(rows):
            raise Broken(f"{CLAIMS}: two rows have the same name")
        named = [row["part"] for row in rows if row["part"] not in (None, OWN)]
        if sorted(named) != sorted(self.parts):
            raise Broken(f"{CLAIMS}: the rows are about the parts {named}, but there are {[*self.parts]}")
        for index, row in enumerate(rows):
            self._check_entries(index, row)
        return f"{len(rows)} rows, {len(self.parts)} parts"

    def _check_entries(self, index: int, row: Row) -> None:
        """Broken where a row has other entries than such a row has."""
        expected = _ROW
        if row["part"] is not None:
            expected = _ROW | _FIGURES
        elif self.is_measured(index):
            expected = _ROW | _FIGURES | _MEASURED
        if {*row} != expected:
            raise Broken(f"{CLAIMS}: {row['name']} has the entries {', '.join(row)}")
        if row["prior"] and row["prior"] not in self.priors:
            raise Broken(f"{CLAIMS}: {row['name']} is about {row['prior']}, which is none of the priors")

    def is_measured(self, index: int) -> bool:
        """Tell whether a row is a baseline."""
        return f"{index}/matrix" in self.arrays

    def _proven(self, row: Row) -> Result:
        """Return the part of a row.

        Raises
        ------
        Broken, Unproved
            If it does not hold or is about another problem, or is not re-proved.
        """
        if row["name"] not in self._known:
            try:
                self._known[row["name"]] = self._read_part(row["part"], row["prior"])
            except (Broken, Unproved) as error:
                self._known[row["name"]] = error
        found = self._known[row["name"]]
        if isinstance(found, Result):
            return found
        raise found

    def _read_part(self, name: str, prior: str) -> Result:
        """Read a part; Broken or Unproved as for `_proven`."""
        found = self.result
        if name != OWN:
            check = self.parts[name]
            if check.status is not Outcome.HOLDS:
                raise (Broken if check.status is Outcome.FAILS else Unproved)(f"{PARTS}/{name}: {check.detail}")
            found = Result.read(self.folder / PARTS / name)
        elif not prior:
            return found
        where = _unlike(found, self._under(prior) if prior else self.result)
        if where:
            raise Broken(f"{PARTS}/{name}: it is about another problem: another {where}")
        return found

    def _under(self, prior: str) -> Result:
        """Return the report under another prior, alone where there is a set: losses are then expected under it."""
        result = self.result
        summary = result.summary
        if result.objective in ("worst_expected_loss", "regret"):
            summary = {**summary, "objective": "expected_loss"}
        problem = {key: array for key, array in result.problem.items() if not key.startswith("prior_set")}
        return replace(result, summary=summary, problem={**problem, "prior": self.priors[prior]})

    def _channel(self, index: int, row: Row) -> Result:
        """Return the channel of a row as that of the report, under whose problem it is looked at."""
        source = f"{CLAIMS}: {row['name']}"
        if row["part"] is not None:
            return replace(self.result, mechanism=self._proven(row).mechanism, source=source, certificate=row)
        # what mechanism.npz says of its own privacy is not about this channel
        rest = {key: array for key, array in self.result.mechanism.items() if key not in ("epsilon", "delta")}
        matrix = numbers(self.arrays, f"{index}/matrix", *self.result.matrix.shape)
        return replace(self.result, mechanism={**rest, "matrix": matrix}, source=source, certificate=row)

    def check_row(self, index: int, row: Row) -> str:
        """Prove the part of a row, or measure its baseline, and check its figures."""
        about = self._channel(index, row)
        about.require_written()
        level = "proven as a part" if row["part"] is not None else _check_baseline(about, row)
        claims.check_attained(about)
        check_leakage(about, f"the comparison's leakage of {row['name']}", as_number(row["leakage"], "leakage"))
        self._check_remapped(about, index, row)
        if {*row["under"]} != {*self.priors}:
            raise Broken(f"{about.source}: it is evaluated under {', '.join(row['under']) or 'no other prior'}")
        for name in self.priors:
            claimed = as_number(row["under"][name], f"{about.source}: under {name}")
            exact = claims.attained(replace(self._under(name), mechanism=about.mechanism))
            if not exact.agrees(claimed):
                raise Broken(f"{about.source}: under {name} it is {float(exact.low):.17g}, not {claimed:.17g}")
        return level

    def _check_remapped(self, about: Result, index: int, row: Row) -> None:
        """Check what the best remap is worth: a table, or one that draws where that is among the witnesses."""
        averaged = about.objective == "expected_loss"
        drawn = part(self.arrays, f"{index}/remap")
        if (averaged or bool(drawn)) != (row["remapped"] is not None):
            raise Broken(f"{about.source}: remapped is {row['remapped']}")
        if bool(drawn) != (row["remapped_bound"] is not None) or (drawn and about.objective != "worst_loss"):
            raise Broken(f"{about.source}: remapped_bound is {row['remapped_bound']}")
        if drawn:
            check_remap(about.worth, about.all_losses, row, drawn, about.source)
        if averaged:
            exact = about.worth.adversary_error(about.losses)
            if not exact.agrees(as_number(row["remapped"], f"{about.source}: remapped")):
                raise Broken(f"{about.source}: remapped is {float(exact.low):.17g}, not {row['remapped']:.17g}")

    def check_bound(self) -> str:
        """Check that some part proves the bound on every private mechanism."""
        limit = as_number(self.content["bound"], f"{CLAIMS}: bound")
        proven = self._bounds("")
        if not proven:
            raise Unproved("no part holds that proves a bound")
        return self._check_limit("the bound", limit, proven)

    def check_priors(self) -> str:
        """Check that each is a prior, and that the optimum for it proves the bound under it."""
        limits = self.content["bounds"]
        for name in self.priors:
            try:
                claims.check_prior(self._under(name))
            except Broken as error:
                raise Broken(f"{WITNESSES}: the prior {name}: {error}") from None
        for name, limit in limits.items():
            proven = self._bounds(name)
            if not proven:
                raise Broken(f"{CLAIMS}: nothing proves the bound under {name}")
            self._check_limit(f"the bound under {name}", as_number(limit, f"{CLAIMS}: {name}"), proven)
        return f"{len(self.priors)} priors, {len(limits)} bounds"

    def _bounds(self, prior: str) -> list[float]:
        """Return the bounds of the parts under a prior that hold."""
        found = []
        for row in self.content["rows"]:
            if row["part"] is None or row["prior"] != prior:
                continue
            try:
                found.append(self._proven(row).claimed("bound"))
            except (Broken, Unproved):
                continue
        return found

    def _check_limit(self, what: str, limit: float, proven: list[float]) -> str:
        """Broken where a bound is stronger than the sharpest that is proven."""
        sign = self.result.sign
        best = sign * max(sign * bound for bound in proven)
        if not math.isfinite(limit) or sign * (Fraction(limit) - Fraction(best)) > 0:
            raise Broken(f"{CLAIMS}: {what} is {limit:.17g}, but {best:.17g} is proven")
        return f"no such mechanism has {self.result.better} than {limit:.12g}"

    def check_order(self, better: str) -> str:
        """Prove which others a mechanism refines, and which it does not, from a remap or gains for each."""
        rows = {row["name"]: (index, row) for index, row in enumerate(self.content["rows"]) if "value" in row}
        counts = {True: 0, False: 0, None: 0}
        for number, entry in enumerate(self.content["refinements"]):
            if entry["better"] != better:
                continue
            if not {better, entry["worse"]} <= rows.keys() or entry["holds"] not in counts:
                raise Broken(f"{CLAIMS}: whether {better} refines {entry['worse']} is no question about two rows")
            one, other = (self._channel(*rows[name]).matrix for name in (better, entry["worse"]))
            check_refined(entry, one, other, part(self.arrays, f"refined/{number}"))
            counts[entry["holds"]] += 1
        return f"refines {counts[True]}, does not refine {counts[False]}, is left undecided beside {counts[None]}"


def _unlike(found: Result, like: Result) -> str | None:
    """Return where a part is about another problem than a report, apart from the names of both and of the priors."""
    summary = {**like.summary, **{key: found.summary.get(key) for key in ("problem", "prior")}}
    where = unlike(found, replace(like, summary=summary), "")
    sets = {key for key in (*found.problem, *like.problem) if key.startswith(_SETS) and key != "prior_set.proof"}
    for key in sorted(sets):
        mine, theirs = found.problem.get(key), like.problem.get(key)
        if mine is None or theirs is None or mine.shape != theirs.shape or (mine != theirs).any():
            where = where or key
    return where


def _check_baseline(about: Result, row: Row) -> str:
    """Check that the level of a baseline is its least one; it counts as private if that is no more than asked for."""
    if row["prior"]:
        raise Broken(f"{about.source}: a baseline is the optimum for no prior")
    claims.check_rows(about)
    if about.objective == "adversary_error":
        claims.check_budget(about)
    level = about.claimed("epsilon")
    if row["private"] is not (level <= about.epsilon):
        raise Broken(f"{about.source}: private is {row['private']}")
    bound = bound_pairs(about.distances, str(about.summary.get("pairs")) if about.delta else "all")
    check_least_level(about, bound, level, Fraction(about.delta), about.source)
    return f"a baseline, epsilon {level:.10g}"
