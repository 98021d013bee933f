"""The optima that a regret is against: parts of a report, one for each member of a hull of priors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dxopt.verify.files import PARTS
from dxopt.verify.folder import Result
from dxopt.verify.parts.reading import part_folders, unlike
from dxopt.verify.verdict import Broken

_OWN = ("objective", "prior", "name")


def check_optima(folder: Path, result: Result) -> str:
    """That each part is about the same problem under one member, and proves what problem.npz says of its optimum."""
    if result.priors is None or not result.priors.regret:
        raise Broken(f"there are {PARTS}, but nothing rests on them")
    [part] = result.priors.parts
    if part.members is None:
        raise Broken("problem.npz: the regret is not about a hull of priors")
    folders = part_folders(folder)
    if len(folders) != part.rows:
        raise Broken(f"there are {len(folders)} {PARTS} for {part.rows} priors")
    names = [str(name) for name in result.problem["prior_set.names"].tolist()]
    each = zip(folders, part.members, names, result.priors.lowest, result.priors.highest, strict=True)
    for path, member, name, low, high in each:
        found = Result.read(path)
        if found.objective != "expected_loss" or found.named.get("prior") != name:
            raise Broken(f"{PARTS}/{path.name}: it is not about the expected loss under {name}")
        if not found.written or not result.written:
            raise Broken(f"{PARTS}/{path.name}: its channel is not written down")
        named = {**result.named, **{key: found.named.get(key) for key in _OWN}}
        where = unlike(found, replace(result, named=named, problem={**result.problem, "prior": member}), "")
        if where:
            raise Broken(f"{PARTS}/{path.name}: it is about another problem: another {where}")
        if found.claimed("bound") != low or found.claimed("value") != high:
            raise Broken(f"{PARTS}/{path.name}: its optimum is not the one in problem.npz")
    return f"{len(folders)} optima, each proven as a part"
