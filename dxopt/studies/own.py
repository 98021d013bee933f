"""Mechanisms of one's own beside those that have names: what comparisons and sweeps take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import numpy as np

from dxopt.errors import CertificateError, SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import require_values
from dxopt.proofs.repair import expected_above
from dxopt.proofs.user_channel import proven_or_mended
from dxopt.results.comparison import OPTIMAL
from dxopt.runtime.plugins import error_text
from dxopt.solving.routes.choice import COMPARABLE, COMPARABLE_NAMES, MECHANISM_PLUGINS

Given = Mechanism | np.ndarray | list[Any] | Callable[[float], Any]
"""A mechanism, a matrix of probabilities, or a function from ε to one of these."""
_MATRIX = np.ndarray | list
_LONGEST = 100
_TAKEN = "optimal for "  # begins the names of the optima for other priors


@dataclass(frozen=True, eq=False)
class Own:
    """A mechanism of one's own, and the name of its row.

    Attributes
    ----------
    given : Mechanism, (n, m) array, list of n rows or callable
        A function is given ε, per unit of distance, and makes one of the others.
    """

    name: str
    given: Given

    def proven(self, problem: Problem) -> tuple[Mechanism, float]:
        """Prove the mechanism as private as the problem asks for, and within its budget; by how much entries moved.

        They are moved where privacy fails by what a solver, or rounding, left. SpecError where it does not fit the
        problem, is not private, or its expected loss is over the budget.
        """
        given = self.given
        if callable(given):
            if not problem.private:
                raise SpecError("epsilon", "is not asked for, which the function needs", "give a mechanism")
            try:
                given = given(problem.epsilon)
            except SpecError:
                raise
            except Exception as error:  # whatever a function of the user raises
                fix = "mend the function, which is called with epsilon alone"
                wrong = f"the function of {self.name!r} raises {error_text(error)}"
                raise SpecError("methods", wrong, fix) from error
            if not isinstance(given, Mechanism | _MATRIX):
                wrong = f"the function of {self.name!r} gives {type(given).__name__}"
                raise SpecError("methods", wrong, "return a mechanism or an array of probabilities")
        try:
            found, moved = proven_or_mended(problem, given, self.name)
        except CertificateError as error:
            raise SpecError("mechanism", str(error)) from None
        budget = problem.objective.max_loss
        if budget < np.inf and (spent := expected_above(problem, found.matrix)) > budget:
            wrong = f"the expected loss {spent:.6g} is over its budget {budget:.6g}"
            raise SpecError("mechanism", wrong)
        return found, moved


Method = str | Given | tuple[str, Given] | Own
Methods = Iterable[Method] | Mapping[str, Given] | str | Given


def checked_methods(methods: Methods | None) -> list[str | Own]:
    """Return the methods of a comparison as names or `Own`, the optimum first; None stands for all that have names.

    SpecError where a name is unknown, something is no mechanism, or the name given to one is taken.
    """
    asked = [OPTIMAL, *(COMPARABLE if methods is None else _as_list(methods))]
    # names once each; mechanisms of one's own in their place, under names that no other row has
    found: dict[str, str | Own] = {}
    for method in asked:
        if isinstance(method, str):
            if method not in COMPARABLE:
                if not MECHANISM_PLUGINS.offered(method):
                    fix = COMPARABLE_NAMES.fix(method, ", give a mechanism of your own")
                    raise SpecError("methods", f"there is no {method!r}", fix)
                MECHANISM_PLUGINS.find(method)
            found.setdefault(method, method)
        else:
            own = _as_own(method, found)
            found[own.name] = own
    return list(found.values())


def _as_list(methods: Methods) -> list[Any]:
    """Return the methods as a list: one alone as a list of one, a mapping as pairs of name and mechanism."""
    if isinstance(methods, Mapping):
        # a name under itself is that mechanism, as where names and mechanisms of one's own are given together
        return [
            name if isinstance(given, str) and name == given else (name, given) for name, given in methods.items()
        ]
    alone = isinstance(methods, str | Mechanism | Own) or callable(methods)
    if alone or (isinstance(methods, np.ndarray) and methods.dtype.kind != "U"):  # "U": an array of names
        return [methods]
    if not isinstance(methods, Iterable):
        raise SpecError("methods", f"are of type {type(methods).__name__}", "give a list of names or mechanisms")
    listed: list[Any] = list(methods)
    # a list of lists is a matrix of probabilities, row by row, unless the entries of its rows are lists again
    rows = isinstance(methods, list) and bool(listed) and all(isinstance(row, list) for row in listed)
    return [methods] if rows and not any(isinstance(entry, list) for row in listed for entry in row) else listed


def _as_own(method: Any, taken: Mapping[str, Any]) -> Own:
    """Return a user's mechanism with the name of its row: the one given, else its own made unique.

    SpecError if it is no mechanism, or the name given is none or taken by another row.
    """
    if isinstance(method, Own):
        return method
    if isinstance(method, tuple) and len(method) == 2:
        name, given = method
        if not isinstance(name, str):
            raise SpecError("methods", f"the name {str(name)[:_LONGEST]!r} is no text", "give names as text")
        free = 0 < len(name) <= _LONGEST and name.isprintable() and name == name.strip()
        if not free or name in (*COMPARABLE, *taken) or name.startswith(_TAKEN):
            wrong = f"the name {name[:_LONGEST]!r} is taken" if free else f"{name[:_LONGEST]!r} is no name"
            raise SpecError("methods", wrong, "give one of your own, of up to 100 letters on one line")
        return Own(name, _require_mechanism(given))
    given = _require_mechanism(method)
    name = given.name if isinstance(given, Mechanism) else getattr(given, "__name__", "")
    return Own(_free_name("" if name.startswith("<") else name, taken), given)  # "<lambda>" is no name


def _require_mechanism(given: Any) -> Given:
    """Return what is given if it has the type of a mechanism, matrix or function; else raise SpecError."""
    if isinstance(given, Mechanism | _MATRIX) or callable(given):
        return given
    if isinstance(given, str):
        wrong = f"{given!r} is given under another name"
        raise SpecError(
            "methods", wrong, f"give it by itself, as [{given!r}, ('mine', matrix)], or under its own name"
        )
    wrong = f"something of type {type(given).__name__} is no mechanism"
    fix = "give names, mechanisms, matrices of probabilities, or functions of epsilon"
    require_values(given, "methods")
    if hasattr(given, "columns"):
        fix = "use dx.mechanism_from_frame(space, frame), which matches labels"
    raise SpecError("methods", wrong, fix)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name on one line of limited length, with a number where another row has it already."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())[:_LONGEST]
    plain = plain or "own mechanism"
    if plain.startswith(_TAKEN) or plain in COMPARABLE:  # rows are read by name: such a row would pass for ours
        plain = f"own {plain}"
    names = chain([plain], (f"{plain} {number}" for number in count(2)))
    return next(name for name in names if name not in taken)
