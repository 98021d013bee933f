"""The rooms of proof: what a false word of would be a false claim."""

from __future__ import annotations

from pathlib import Path

from tests.material.files import ROOT

ROOMS = {
    "proofs": ("dxopt/proofs",),
    "verify": ("dxopt/verify",),
    "numerics": tuple(
        f"dxopt/numerics/{name}.py"
        for name in (
            *("exact_rational", "hockey_stick", "number_syntax"),
            *("partition", "rounding", "row_deficit", "tropical", "tropical_loops"),
        )
    ),
    "regularity": ("dxopt/analysis/regularity",),
    "analysis": ("dxopt/analysis/evaluate.py", "dxopt/analysis/characterise.py", "dxopt/analysis/arguments.py"),
    "kernels": ("dxopt/spaces/kernels",),
    "tables": ("dxopt/release/tables",),
    "implicit": tuple(f"dxopt/mechanisms/{name}.py" for name in ("kernel", "product", "tight")),
}
"""Folders and files by name."""


def files_of(room: str) -> list[str]:
    """The Python files of a room, from the root of the repository."""
    found: list[Path] = []
    for name in ROOMS[room]:
        place = ROOT / name
        assert place.exists(), place
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [str(file.relative_to(ROOT)) for file in found]


def watched() -> list[str]:
    """All of them."""
    return [file for room in ROOMS for file in files_of(room)]
