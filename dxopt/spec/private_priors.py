"""Draw the private priors of a problem file, once: solving reads what was drawn, and never the people's data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dxopt.model.private_counts import Ledger, PrivateCounts, count_check_ins, counts_by_label, with_noise
from dxopt.runtime.atomic_write import require_free
from dxopt.runtime.identity import identity
from dxopt.spec.family import Member, read_problems
from dxopt.spec.locations import Secrets, build_space
from dxopt.spec.priors import BallPriors, BoxPriors, HullPriors, PrivatePrior, labels_in, places_in
from dxopt.spec.source import FieldPath, Source
from dxopt.spec.tables import Column, Table, columns_of


def draw_private_priors(
    path: str | Path, *, ledger: Ledger | None = None, release: str | None = None, force: bool = False
) -> dict[Path, PrivateCounts]:
    """Draw the noisy counts of all private priors of a problem file, and write each to the file that its prior names.

    Parameters
    ----------
    path : path
        The problem file.
    ledger : Budgets, optional
        Each person in the check-ins pays the level of each prior from it.
    release : str, optional
        The name of the draws in the ledger; the name of the problem by default.
    force : bool
        Draw again where there is such a file, which costs the level again.

    Returns
    -------
    dict
        The counts by the files that were written.

    Raises
    ------
    BudgetExceeded
        If somebody has too little left; nothing is drawn for this prior and those after it.
    SpecError
        If anything is wrong with the file or its data, it has no private prior, or one is drawn already.
    """
    file = read_problems(Path(path))
    asked: dict[Path, tuple[Member, FieldPath, PrivatePrior]] = {}
    for member in file.members:
        for where, prior in _private_priors(member):
            output = member.source.resolve(prior.file)
            other = asked.setdefault(output, (member, where, prior))[2]
            if other.drawn != prior.drawn:
                wrong = "is that of another prior as well, which is drawn otherwise"
                raise member.source.error((*where, "file"), wrong, "name a file for each")
    if not asked:
        raise file.source.error(("prior",), "is not private", "write one of kind: private")
    for output in asked:
        require_free(output, force=force)
    first = next(iter(asked.values()))[0]
    secrets = build_space(first.source, first.sheet.space)
    found = {}
    for output, (member, where, prior) in asked.items():
        named = release or f"prior of {member.sheet.name or file.path.stem}"
        with member.source.within(*where, keys=PrivatePrior.model_fields):
            counted = _count(member.source, where, prior, secrets)
        level = {"epsilon": prior.epsilon, "per_person": prior.per_person}
        counts = with_noise(secrets.space, counted, **level, ledger=ledger, release=named)
        found[counts.save(output, force=force)] = counts
    return found


def _private_priors(member: Member) -> Iterator[tuple[FieldPath, PrivatePrior]]:
    """Yield the private priors of a member of a file, each with its place in the file."""
    prior, sheet = member.sheet.prior, member.sheet
    match prior:
        case HullPriors():
            every = [(("prior", "priors", place), one) for place, one in enumerate(prior.priors)]
        case BallPriors() | BoxPriors():
            every = [(("prior", "around"), prior.around)]
        case _:
            every = [(("prior",), prior)]
    every += [(("priors", name), one) for name, one in sheet.priors.items()]
    yield from ((where, one) for where, one in every if isinstance(one, PrivatePrior))


def _count(
    source: Source, where: FieldPath, asked: PrivatePrior, secrets: Secrets
) -> tuple[NDArray[np.int64], list[str]]:
    """Count the check-ins of one prior, without noise, and return them with all persons in the data."""
    blame = partial(source.blame, *where)
    if asked.columns is None:
        columns = [Column(asked.label or "", blame("label"), told=True)]
    else:
        columns = columns_of(asked.columns, blame)
    names = [asked.person, *(column.name for column in columns)]
    table = Table.read(source.resolve(asked.check_ins), blame("check_ins"), asked, names, whole=False)
    person = Column(asked.person, blame("person"), told=True)
    drop = asked.unusable == "drop"
    if not drop:
        table.require_filled([*columns, person])
    persons = [identity(cell, "person", asked.decimal) for cell in table.column(person.name, person.blame)]
    space = secrets.space
    if asked.columns is None or counts_by_label(space):
        seen = labels_in(table, columns, space)
    else:
        seen = places_in(table, columns, table.usable(columns, drop=drop), space)
    limits = {"per_person": asked.per_person, "within": asked.within, "unusable": asked.unusable}
    return count_check_ins(space, seen, persons, **limits, at=lambda row: f"{table.name} line {table.lines[row]}")
