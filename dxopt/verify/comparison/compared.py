"""The comparison in a report's folder, proven again: its parts, then the few claims over them.

Each private mechanism is the report itself or a part, which states what is proven of it. Here follow that parts are
about the same problem, what their channels are worth under it and under other priors, their order, and the verdict on
the prior. The bound on every private mechanism is that of the parts. Of baselines no privacy is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dxopt.verify import claims
from dxopt.verify.comparison.order import WITNESSES, check_refined
from dxopt.verify.comparison.regular import check_verdict
from dxopt.verify.files import PARTS, Arrays, check_digests, numbers, part, read_arrays, read_json
from dxopt.verify.folder import Result
from dxopt.verify.parts.reading import COMPARISON, Checks, in_one, part_folders, require_all, unlike
from dxopt.verify.verdict import Broken, Check, Outcome

CLAIMS = "comparison.json"
OWN = "own"
_FORMAT = 2
_MISSING = {"name", "part", "prior", "note"}
_ROW = {*_MISSING, "value", "under"}
_ENTRIES = {"format", "rows", "verdict", "refinements", "interrupted"}
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
        if "value" in row:
            yield f"comparison: {row['name']}", partial(found.check_row, index, row)
    if found.priors:
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
    _known: dict[str, Result | Broken] = field(default_factory=dict)

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
            there = row["part"] is not None or f"{index}/matrix" in self.arrays
            if {*row} != (_ROW if there else _MISSING) or (row["prior"] and row["prior"] not in self.priors):
                raise Broken(f"{CLAIMS}: {row['name']} has {', '.join(row)}, and the prior {row['prior']!r}")
        return f"{len(rows)} rows, {len(self.parts)} parts"

    def _proven(self, row: Row) -> Result:
        """Return the part of a row.

        Raises
        ------
        Broken
            If it does not hold, or is about another problem.
        """
        if row["name"] not in self._known:
            try:
                self._known[row["name"]] = self._read_part(row["part"], row["prior"])
            except Broken as error:
                self._known[row["name"]] = error
        found = self._known[row["name"]]
        if isinstance(found, Result):
            return found
        raise found

    def _read_part(self, name: str, prior: str) -> Result:
        """Read a part; Broken as for `_proven`."""
        found = self.result
        if name != OWN:
            if self.parts[name].status is Outcome.FAILS:
                raise Broken(f"{PARTS}/{name}: {self.parts[name].detail}")
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
        named = result.named
        if result.objective in ("worst_expected_loss", "regret"):
            named = {**named, "objective": "expected_loss"}
        problem = {key: array for key, array in result.problem.items() if not key.startswith("prior_set")}
        return replace(result, named=named, problem={**problem, "prior": self.priors[prior]})

    def _channel(self, index: int, row: Row) -> Result:
        """Return the channel of a row as that of the report, under whose problem it is looked at."""
        source = f"{CLAIMS}: {row['name']}"
        if row["part"] is not None:
            return replace(self.result, mechanism=self._proven(row).mechanism, source=source, certificate=row)
        if row["prior"]:
            raise Broken(f"{source}: a baseline is the optimum for no prior")
        # what mechanism.npz says of its own privacy is not about this channel
        rest = {key: array for key, array in self.result.mechanism.items() if key not in ("epsilon", "delta")}
        matrix = numbers(self.arrays, f"{index}/matrix", *self.result.matrix.shape)
        return replace(self.result, mechanism={**rest, "matrix": matrix}, source=source, certificate=row)

    def check_row(self, index: int, row: Row) -> str:
        """Prove the part of a row, and check what its channel is worth, also under other priors."""
        about = self._channel(index, row)
        about.require_written()
        if row["part"] is None:
            claims.check_rows(about)
        claims.check_attained(about)
        if {*row["under"]} != {*self.priors}:
            raise Broken(f"{about.source}: it is evaluated under {', '.join(row['under']) or 'no other prior'}")
        for name in self.priors:
            under = replace(self._under(name), mechanism=about.mechanism)
            claims.check_attained(replace(under, certificate={"value": row["under"][name]}, source=about.source))
        if row["part"] is None:
            return "a baseline, of which no privacy is claimed"
        if row["part"] != OWN:
            require_all([self.parts[row["part"]]])
        return "proven as a part"

    def check_priors(self) -> str:
        """Check that each of the other priors is one."""
        for name in self.priors:
            try:
                claims.check_prior(self._under(name))
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
            if not {better, entry["worse"]} <= rows.keys() or entry["holds"] not in counts:
                raise Broken(f"{CLAIMS}: whether {better} refines {entry['worse']} is no question about two rows")
            one, other = (self._channel(*rows[name]).matrix for name in (better, entry["worse"]))
            check_refined(entry, one, other, part(self.arrays, f"refined/{number}"))
            counts[entry["holds"]] += 1
        return f"refines {counts[True]}, does not refine {counts[False]}, is left undecided beside {counts[None]}"


def _unlike(found: Result, like: Result) -> str | None:
    """Return where a part is about another problem than a report, apart from the names of both and of the priors."""
    named = {**like.named, **{key: found.named.get(key) for key in ("name", "prior")}}
    where = unlike(found, replace(like, named=named), "")
    sets = {key for key in (*found.problem, *like.problem) if key.startswith(_SETS) and key != "prior_set.proof"}
    for key in sorted(sets):
        mine, theirs = found.problem.get(key), like.problem.get(key)
        if mine is None or theirs is None or mine.shape != theirs.shape or (mine != theirs).any():
            where = where or key
    return where
