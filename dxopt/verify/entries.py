"""The entries of the files of a result: those of their kind, of their types, and no others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import NoneType

from dxopt.verify.files import Arrays, part
from dxopt.verify.verdict import Broken

TEXT, NUMBER, NUMBER_OR_NULL, TEXT_OR_NULL = (str,), (int, float), (int, float, NoneType), (str, NoneType)
"""Types of entries of JSON, by `type`, of which a truth value is no number."""
_MECHANISMS = {
    "which": {"which", "held", "slack"},
    "table": {"table"},
    "noise": {"noise"},
    "weights": {"weights", "level", "slack"},
    "matrix": {"matrix"},
}
_LEVELS = {"epsilon", "how", "delta", "pairs"}
_LINE, _SPARSE = {"prices", "roots"}, {"prices", "report", "first", "second", "multiplier"}
_DUALS = {
    "which": {"which"},
    "belief": {"belief", "report", "multiplier"},
    "weights": {"weights"},
    "guesses": {"guesses", "price"},
    "roots": _LINE,
    "prices": _SPARSE,
}
"""The arrays of a mechanism or a dual by the first of these that it has; parts are named by numbers."""
_ASKED, _GIVEN = {"prior", "epsilon", "delta"}, {"distances", "losses", "prior_set.proof"}
_BELIEFS = {f"belief_{name}" for name in ("first", "second", "distances", "epsilon", "names", "left_out")}
_OF_OBJECTIVE = {
    "adversary_error": {"max_loss", "adversary_loss"},
    "worst_expected_loss": {"prior_set"},
    "regret": {"prior_set", "prior_set.lowest", "prior_set.highest"},
}
_OF_SET = {
    "hull": {"members", "names"},
    "ball": {"radius"},
    "box": {"lower", "upper"},
    "fitting": {"forms", "low", "high", "within"},
}
"""The arrays of a problem: those of all, those that some have, and those of beliefs, its objective and its priors."""
_STRUCTURED = {"which", "roots"}
_MOST_WRITTEN = 5_000_000


def require_types(where: str, content: object, kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Broken unless content of a file is an object of these entries and no others, of these types and finite."""
    if not isinstance(content, dict) or {*content} != {*kinds}:
        wrong = ", ".join(sorted({*content} ^ {*kinds})) if isinstance(content, dict) else f"{content!r:.40}"
        raise Broken(f"{where}: {wrong} is unknown or missing")
    for key, kind in kinds.items():
        if type(content[key]) not in kind or (isinstance(content[key], float) and not math.isfinite(content[key])):
            raise Broken(f"{where}: {key} is {str(content[key])[:40]!r}")


def require_posed(problem: Arrays, objective: str) -> None:
    """Broken unless a problem has the arrays of its objective, and no others."""
    own = _ASKED | _OF_OBJECTIVE.get(objective, set())
    if "prior_set" in own & problem.keys():
        own |= {f"prior_set.{name}" for name in _OF_SET.get(str(problem["prior_set"]), ())}
    if any(key.startswith("belief_") for key in problem):
        own |= _BELIEFS
    may = _GIVEN if "prior_set.forms" in own else _GIVEN - {"prior_set.proof"}
    _require_same(own, problem.keys() - may, "problem.npz: ")


def require_entries(problem: Arrays, mechanism: Arrays, dual: Arrays) -> None:
    """Broken unless the files of a mechanism and its dual have the arrays of their kind, and no others."""
    _require_mechanism({key: array for key, array in mechanism.items() if key != "format"}, "mechanism.npz: ")
    _require_dual(dual, "dual.npz: ")
    if "matrix" in mechanism:
        small = mechanism["matrix"].size <= _MOST_WRITTEN or not _STRUCTURED & dual.keys()
        given = "distances" in problem or "space.distances" in mechanism
        if small and not ("losses" in problem and given):
            raise Broken("problem.npz: distances or losses are missing")


def _require_mechanism(arrays: Arrays, where: str) -> None:
    own = _own(arrays, _MECHANISMS, where)
    keys = {key for key in arrays if not key.startswith("space.")} - _inner(arrays)
    if "secrets" in keys and own & {"matrix", "table"}:
        own = own | {"name", "secrets"} | (set() if arrays["secrets"] else {"reports"})
    elif own & {"matrix", "table"}:
        raise Broken(f"{where}secrets is missing")
    else:
        own = own | {"name"}
    may = {"report_points"} if "reports" in own else set()
    # what was proven of a matrix of a result is in claims.json
    if not (where == "mechanism.npz: " and "matrix" in own) and _LEVELS & keys:
        own |= _LEVELS
    _require_same(own, keys - may, where)
    names = arrays.get("reports")
    count = arrays["matrix"].shape[-1] if "matrix" in own else None if names is None else len(names)
    for key in ("reports", "report_points"):
        if key in keys and (arrays[key].ndim != (1 if key == "reports" else 2) or len(arrays[key]) != count):
            raise Broken(f"{where}{key} are not one for each of {count} reports")
    _require_parts(arrays, int(arrays["which"].max()) + 1 if "which" in own else int("table" in own), where)
    for name in _part_names(arrays):
        _require_mechanism(part(arrays, name), f"{where}{name}/")


def _require_dual(arrays: Arrays, where: str) -> None:
    own = _own(arrays, _DUALS, where)
    keys = arrays.keys() - _inner(arrays)
    _require_same(own, keys - ({"members"} if own == {"weights"} else set()), where)
    inner = int(arrays["which"].max()) + 1 if "which" in own else int(own not in (_LINE, _SPARSE))
    _require_parts(arrays, inner, where)
    for name in _part_names(arrays):
        _require_dual(part(arrays, name), f"{where}{name}/")


def _own(arrays: Arrays, kinds: Mapping[str, set[str]], where: str) -> set[str]:
    """Return the arrays of the kind of a mechanism or a dual; Broken where it is none."""
    found = next((kinds[kind] for kind in kinds if kind in arrays), None)
    if found is None:
        raise Broken(f"{where}there is none of {', '.join(kinds)}")
    return found


def _inner(arrays: Arrays) -> set[str]:
    return {key for key in arrays if "/" in key}


def _part_names(arrays: Arrays) -> list[str]:
    return sorted({key.partition("/")[0] for key in _inner(arrays)})


def _require_parts(arrays: Arrays, count: int, where: str) -> None:
    _require_same({str(index) for index in range(count)}, set(_part_names(arrays)), where)


def _require_same(asked: set[str], found: set[str], where: str) -> None:
    if wrong := sorted(asked ^ found):
        raise Broken(f"{where}{wrong[0]:.40} is unknown or missing")
