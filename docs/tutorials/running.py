"""Notebooks executed in a fresh folder by the Python that runs this, and written without what changes by itself."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
DATA = ("csv", "geojson", "graphml")
"""Kinds of files of problems/ that notebooks read."""
SECONDS = 120
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(file: Path) -> Any:
    """Return a notebook as it lies in its file."""
    return nbformat.read(file, as_version=4)


def write(notebook: Any, file: Path) -> None:
    """Write a notebook, if it is a valid one."""
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


def executed(notebook: Any) -> tuple[Any, str]:
    """Return a notebook with new outputs, and how it failed, in a line that is empty if it did not.

    It runs in a folder as `docs/tutorials`, which is gone afterwards, with the data of `problems/`.
    """
    fresh: Any = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory() as folder:
        place = laid_out(Path(folder))
        client = NotebookClient(
            fresh,
            km=_manager(),
            timeout=SECONDS,
            record_timing=False,
            resources={"metadata": {"path": str(place)}},
        )
        try:
            client.execute(env=surroundings(Path(folder)), cleanup_kc=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            return fresh, failure(fresh, error)
    return fresh, ""


def failure(notebook: Any, error: Exception) -> str:
    """Which cell failed, and with what."""
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                return f"cell {number} ({cell.id}): {output.ename}: {output.evalue}"
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


def laid_out(folder: Path) -> Path:
    """Return the folder that notebooks run in, with the data where they lie beside it."""
    for kind in DATA:
        for file in (ROOT / "problems").rglob(f"*.{kind}"):
            copy = folder / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    place = folder / FOLDER.relative_to(ROOT)
    place.mkdir(parents=True)
    return place


def surroundings(folder: Path) -> dict[str, str]:
    """Return the environment of a kernel: commands of this Python first, no settings of IPython's user."""
    return {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))),
        "IPYTHONDIR": str(folder / ".ipython"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


def tidied(notebook: Any) -> Any:
    """Return a notebook without what differs from one run or machine to the next."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in ("tags",) if key in cell.metadata})
        cell.get("outputs", [])[:] = [_tidied(output) for output in joined(cell.get("outputs", ()))]
    return notebook


def joined(outputs: Any) -> list[Any]:
    """Join successive pieces of a stream in outputs: how it is cut is chance."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            found.append(output)
    return found


def _tidied(output: Any) -> Any:
    if "metadata" in output:
        output.metadata = nbformat.from_dict({})
    if output.output_type == "stream":
        output.text = output.text.replace("\r\n", "\n")
    return output


class _ThisPython(AsyncKernelManager):
    """Starts the Python that runs this, whatever kernels are installed for the user or the system."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


def _manager() -> AsyncKernelManager:
    return _ThisPython(kernel_name="python3")
