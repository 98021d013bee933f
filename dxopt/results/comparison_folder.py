"""The folder of a comparison: each mechanism a result folder of its own, and the few claims over them.

It is `parts/comparison` in the folder of a report. `comparison.json` names the part of each row, which is "own" for
the report itself, and has what is claimed of several parts, or of a part under another prior. `comparison.npz` has
the witnesses: for row k the channel of a baseline as `k/matrix` `(n, m)`, and its remap that draws as
`k/remap/channel` `(m, w)` with the weights of secrets that bound every remap as `k/remap/weights` `(n,)`; the other
priors as `priors` (names) and `probabilities` `(k, n)`; and for entry k of the refinements `refined/k/remap`
`(m, m)`, which makes the worse channel of the better one, or `refined/k/gains` `(n, g)`, which shows that nothing
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from dxopt.analysis.order.evidence import exact_channel
from dxopt.errors import CertificateError, SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.objective import AdversaryError, WorstLoss
from dxopt.model.prior import Prior
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.proofs.privacy import require_channel
from dxopt.results.claims import FORMAT
from dxopt.results.compared import Refined, Regularity
from dxopt.results.comparison import OPTIMAL, Answered, Comparison, Entry, Evidence
from dxopt.results.folder import COMPARISON, PARTS, Contents
from dxopt.results.packing import pack_beliefs
from dxopt.runtime.archive import Arrays, nested, part
from dxopt.runtime.reading import is_file, read_arrays, read_json
from dxopt.spaces.archive import are_same


def difference(problem: Problem, other: Problem) -> str | None:
    """Return in words what differs between two problems, so that a result for one is none for the other; else None.

    More than 100 million distances or losses are compared by the structure of the space and the name of the loss.
    """
    if other is problem:
        return None
    if (problem.epsilon, problem.delta, problem.pairs) != (other.epsilon, other.delta, other.pairs):
        return "another level of privacy"
    if problem.shape != other.shape:
        return "more or fewer secrets or reports"
    alike = are_same(problem.space, other.space)
    large = len(problem.space) ** 2 > PROBLEM_CELLS
    if not alike and (large or not np.array_equal(problem.space.distances, other.space.distances)):
        return "other distances"
    if not np.array_equal(problem.prior.probabilities, other.prior.probabilities):
        return "another prior"
    if _losses_differ(problem, other, alike=alike):
        return "other losses"
    if _differ(_objective_settings(problem), _objective_settings(other)):
        return "another objective"
    return "other beliefs" if _differ(pack_beliefs(problem.beliefs), pack_beliefs(other.beliefs)) else None


def _losses_differ(mine: Problem, other: Problem, *, alike: bool) -> bool:
    """Return True if the losses differ, by their entries unless names decide; `alike`: the spaces are the same."""
    if mine.loss is other.loss:
        return False
    # losses that are functions of the distance, over the same distances, have names that tell them apart
    if mine.loss.by_distance and other.loss.by_distance and mine.reports.secrets and other.reports.secrets and alike:
        return mine.loss.name != other.loss.name
    if mine.variables > PROBLEM_CELLS:
        return (mine.loss.name, mine.loss.by_distance) != (other.loss.name, other.loss.by_distance)
    return not np.array_equal(mine.losses, other.losses)


def comparable(mine: Problem, other: Problem) -> bool:
    """Return True if the values of two problems can stand side by side: one objective, kind of loss and unit.

    Without a unit they can where the secrets and their losses are the same.
    """
    if (mine.objective.title, mine.unit) != (other.objective.title, other.unit):
        return False
    guesses = [one.objective.guesses for one in (mine, other) if isinstance(one.objective, AdversaryError)]
    if not guesses and mine.loss.name != other.loss.name:
        return False
    if mine.unit or mine is other:
        return True
    if mine.shape != other.shape or mine.space.labels != other.space.labels:
        return False
    if guesses:
        return np.array_equal(guesses[0], guesses[1])
    return not _losses_differ(mine, other, alike=are_same(mine.space, other.space))


def _objective_settings(problem: Problem) -> dict[str, Any]:
    """Return the settings of the objective as numbers and names, to compare two problems by."""
    found: dict[str, Any] = {"name": problem.objective.name}
    if problem.priors is not None:
        found |= {"kind": problem.priors.kind, **problem.priors.arrays()}
    if isinstance(problem.objective, AdversaryError):
        found |= {"max_loss": problem.objective.max_loss, "guesses": problem.objective.guesses}
    return found


def _differ(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    return mine.keys() != other.keys() or not all(np.array_equal(mine[key], other[key]) for key in mine)


CLAIMS = "comparison.json"
WITNESSES = "comparison.npz"
OWN = "own"
"""Part of a row whose mechanism is that of the report itself, so that it is not saved twice."""


class _Row(BaseModel):
    """Model of a row, whose figures follow from its part."""

    name: str
    part: Annotated[str, Field(pattern=rf"^({OWN}|\d{{3,9}})$")] | None
    prior: str
    note: str


class _File(BaseModel):
    """Model of comparison.json."""

    format: Literal[2]
    rows: list[_Row]
    refinements: list[Refined]
    verdict: Regularity | None
    interrupted: bool


def comparison_contents(comparison: Comparison, own: Answered) -> Contents:
    """Return the folder of a comparison, for the files of its report `own`; empty if it has no evidence to save."""
    evidence = comparison.evidence
    if evidence is None:
        return {}
    parts: Contents = {}
    arrays: Arrays = {}
    rows = []
    for index, row in enumerate(comparison.rows):
        entry = evidence.entries[row.name]
        place = None
        if entry.report is not None and entry.report.mechanism is own.mechanism and not entry.prior:
            place = OWN
        elif entry.report is not None:
            place = f"{len(parts):03}"
            # a table is for drawing reports from the answer itself
            parts[f"{PARTS}/{place}"] = entry.report.contents(table=False)
        rows.append({"name": row.name, "part": place, "prior": entry.prior, "note": row.note})
        if entry.mechanism is not None:
            rows[-1] |= {"value": row.value, "under": dict(row.under)}
        if entry.measured is not None:
            arrays |= nested(index, {"matrix": entry.measured.matrix})
        if row.name in evidence.remaps:
            remap, weights = evidence.remaps[row.name]
            arrays |= nested(f"{index}/remap", {"channel": remap, "weights": weights})
    for number, proof in enumerate(evidence.refinements.values()):
        arrays |= nested(f"refined/{number}", proof)
    if evidence.others:
        priors = [other.prior.probabilities for other in evidence.others.values()]
        arrays |= {"priors": list(evidence.others), "probabilities": np.stack(priors)}
    claims = {
        "format": FORMAT,
        "rows": rows,
        "verdict": None if comparison.verdict is None else asdict(comparison.verdict),
        "refinements": [asdict(one) for one in comparison.refinements],
        "interrupted": comparison.interrupted,
    }
    return {f"{PARTS}/{COMPARISON}": {CLAIMS: claims, WITNESSES: arrays, **parts}}


def read_comparison(folder: Path, own: Answered, load: Callable[[Path], Answered]) -> Comparison | None:
    """Read the comparison in the folder of a report `own` that is proven; None if there is none.

    `load` reads and proves each part. It is an argument since its module, `reading`, imports this one.

    Raises
    ------
    SpecError, ValueError
        If a file is damaged.
    CertificateError
        If a part does not hold, or is about another problem.
    """
    inside = folder / PARTS / COMPARISON
    if not is_file(inside / CLAIMS):
        return None
    read = _File.model_validate(read_json(inside / CLAIMS))
    if [row.name for row in read.rows[:1]] != [OPTIMAL]:
        raise SpecError("comparison", f"has not the row {OPTIMAL!r} first", "compare again")
    arrays = read_arrays(inside / WITNESSES)
    named = zip(arrays.get("priors", ()), arrays.get("probabilities", ()), strict=True)
    others = {str(name): own.problem.but(prior=Prior(one, str(name))) for name, one in named}
    entries: dict[str, Entry] = {}
    remaps = {}
    for index, row in enumerate(read.rows):
        if row.name in entries:
            raise SpecError("comparison", f"has two rows {row.name!r}", "compare again")
        entries[row.name] = entry = _read_row(inside, own, load, others, row, part(arrays, str(index)))
        if entry.mechanism is not None and (drawn := part(arrays, f"{index}/remap")):
            remaps[row.name] = _checked_remap(own.problem, entry.mechanism, drawn)
    known = {"priors", "probabilities", *(f"{row}/matrix" for row in range(len(read.rows)))}
    known |= {f"{row}/remap/{key}" for row in range(len(read.rows)) for key in ("channel", "weights")}
    known |= {f"refined/{number}/{key}" for number in range(len(read.refinements)) for key in ("remap", "gains")}
    if unknown := arrays.keys() - known:
        raise ValueError(f"{WITNESSES} has {min(unknown):.40}")
    refinements = {one: part(arrays, f"refined/{number}") for number, one in enumerate(read.refinements)}
    evidence = Evidence(own.problem, entries, others, remaps, refinements)
    return Comparison.of(evidence, read.verdict, interrupted=read.interrupted)


def _read_row(
    inside: Path,
    own: Answered,
    load: Callable[[Path], Answered],
    others: Mapping[str, Problem],
    row: _Row,
    arrays: Mapping[str, NDArray[Any]],
) -> Entry:
    """Return the mechanism of a row with its proof: a report, a baseline's channel in `arrays`, or only a note.

    CertificateError if the report answers another problem than the comparison, or than its other prior.
    """
    problem = own.problem
    if row.part is None:
        if "matrix" not in arrays:
            return Entry(note=row.note)
        require_channel(arrays["matrix"])
        channel = Mechanism.from_matrix(problem.space, arrays["matrix"], problem.reports, name=row.name)
        return Entry(measured=channel, note=row.note)
    report = own if row.part == OWN else load(inside / PARTS / row.part)
    differs = difference(others[row.prior] if row.prior else problem, report.problem)
    if differs:
        raise CertificateError(f"the comparison's {row.name} is about a problem with {differs}")
    return Entry(report, prior=row.prior, note=row.note)


def _checked_remap(problem: Problem, mechanism: Mechanism, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Any]:
    """Return a random remap `(m, w)` and the weights `(n,)` of secrets that bound every remap.

    CertificateError unless the rows of the remap sum to 1 exactly and no weight is negative: both proofs need that.
    """
    remap, weights = arrays["channel"], arrays["weights"]
    fits = remap.shape == (len(mechanism.reports), problem.losses.shape[1]) and weights.shape == problem.shape[:1]
    if not isinstance(problem.objective, WorstLoss) or not fits or not np.array_equal(exact_channel(remap), remap):
        raise CertificateError("a remap of the comparison is no channel between the reports, for the worst loss")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise CertificateError("the weights of a remap of the comparison are all 0, or negative or infinite")
    return remap, weights
