"""The checks of a result folder, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from dxopt.errors import SpecError
from dxopt.verify import claims
from dxopt.verify.figures import check_comparison, check_measure, unproved_rows
from dxopt.verify.files import DAMAGED, DIGESTS, PROOF, check_digests
from dxopt.verify.folder import Result
from dxopt.verify.geometry import check_distances
from dxopt.verify.tables import check_table
from dxopt.verify.verdict import Broken, Check, Outcome, Unproved, Verdict

_OTHERS = ("level.json", "frontier.json")
_CLAIMS: tuple[tuple[str, Callable[[Result], str]], ...] = (
    ("description", claims.check_description),
    ("prior", claims.check_prior),
    ("distances", check_distances),
    ("loss", claims.check_losses),
    ("rows", claims.check_rows),
    ("privacy", claims.check_privacy),
    ("value", claims.check_value),
    ("bound", claims.check_bound),
    ("gap", claims.check_gap),
    ("table", check_table),
)


def verify(folder: str | Path) -> Verdict:
    """Prove a result folder again from its files alone, in exact arithmetic.

    Nothing of what made the result is used: no solver, no certificate, no `exp` of any library. Doubles count as the
    rationals that they are; e^{εd} is enclosed by rationals.

    Parameters
    ----------
    folder : path
        That `Report.save` or `dxopt solve` wrote.

    Returns
    -------
    Verdict
        A check of the digests, then one for each claim: it holds, it fails (with the place), or it is not re-proved,
        as for channels that are not written down, and mechanisms of a comparison that are not in the files.

    Raises
    ------
    SpecError
        If the folder holds no result.
    """
    path = Path(folder)
    found = [name for name in (*PROOF, *_OTHERS, DIGESTS) if (path / name).is_file()]
    if not any(name in found for name in (*PROOF, *_OTHERS)):
        raise SpecError("folder", f"{path} is no result folder", "name one that `save` or `dxopt solve` wrote")
    return Verdict(str(path), tuple(_checks(path)))


def _checks(folder: Path) -> Iterator[Check]:
    yield _check("digests", lambda: check_digests(folder))
    for name in _OTHERS:
        if (folder / name).is_file():
            yield Check(name, Outcome.NOT_REPROVED, "what it says of other levels has no proof in the files")
    if not any((folder / name).is_file() for name in PROOF):
        return
    try:
        result = Result.read(folder)
    except Broken as error:
        yield Check("files", Outcome.FAILS, str(error))
        return
    for name, claim in _CLAIMS:
        yield _check(name, partial(claim, result))
    yield from _figures(result)


def _figures(result: Result) -> Iterator[Check]:
    evaluation, comparison = result.summary.get("evaluation"), result.summary.get("comparison")
    if not isinstance(evaluation, dict):
        yield Check("measures", Outcome.FAILS, "report.json: evaluation is no object")
    else:
        for name, claimed in evaluation.items():
            yield _check(f"measure: {name}", partial(check_measure, result, name, claimed))
    if comparison is None:
        return
    if not isinstance(comparison, dict):
        yield Check("comparison", Outcome.FAILS, "report.json: it is no object")
        return
    agreed = _check("comparison", partial(check_comparison, result, comparison))
    yield agreed
    if agreed.status is Outcome.HOLDS:
        yield from unproved_rows(result, comparison)


def _check(name: str, claim: Callable[[], str]) -> Check:
    try:
        return Check(name, Outcome.HOLDS, claim())
    except Broken as error:
        return Check(name, Outcome.FAILS, str(error))
    except Unproved as error:
        return Check(name, Outcome.NOT_REPROVED, str(error))
    except DAMAGED as error:
        return Check(name, Outcome.FAILS, f"damaged: {' '.join(str(error).split()) or type(error).__name__}")
