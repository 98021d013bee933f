"""Packages with plug-ins, made in folders that Python looks for packages in."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "dxopt-example-plugin"
_BUILD = "from setuptools import build_meta; build_meta.build_wheel('..')"


def installed_example(folder: Path) -> Path:
    """Build the wheel of the example and unpack it into a folder, as pip does."""
    source = copytree(EXAMPLE, folder / "source")
    subprocess.run([sys.executable, "-W", "ignore", "-c", _BUILD], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def package(folder: Path, points: Mapping[str, Mapping[str, str]], code: str, version: str = "1.0") -> Path:
    """Write a package with entry points, by group and name, of functions that its one module has.

    Its name, and that of its module, are those of the folder.
    """
    name = folder.name
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{one} = {name}:{function}\n" for one, function in offered.items())
        for group, offered in points.items()
    )
    (about / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    return folder


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, points: dict[str, dict[str, str]], code: str) -> None:
    """Install a package of the name of a folder."""
    monkeypatch.syspath_prepend(package(folder, points, code))


def with_version(site: Path, folder: Path, version: str) -> Path:
    """Another folder, in which the one package of a folder says that it has another version."""
    copytree(site, folder)
    (about,) = folder.glob("*.dist-info")
    text = (about / "METADATA").read_text(encoding="utf-8")
    (about / "METADATA").write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", text), encoding="utf-8")
    return folder
