"""How many problems a batch solves with two processes beside one: python -m benchmarks.throughput."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

FAMILIES: dict[str, str] = {
    "delta-16": "space: {kind: grid, shape: [4, 4]}\nepsilon: {from: 0.1, to: 2, step: 0.1}\ndelta: 0.01\n",
    "worst-20": "objective: worst_loss\nspace: {kind: grid, shape: [4, 5]}\nepsilon: {from: 0.1, to: 2, step: 0.1}\n",
    "euclidean-25": "space: {kind: grid, shape: [5, 5]}\nepsilon: {from: 0.1, to: 4, step: 0.1}\n",
    "l1-36": "space: {kind: grid, shape: [6, 6], metric: manhattan}\nepsilon: {from: 0.1, to: 4, step: 0.1}\n",
    "line-30": "space: {kind: line, size: 30}\nepsilon: {from: 0.1, to: 4, step: 0.1}\nloss: squared\n",
    "torus-36": "space: {kind: torus, shape: [6, 6]}\nepsilon: {from: 0.2, to: 4, step: 0.2}\nloss: binary\n",
    "euclidean-64": "space: {kind: grid, shape: [8, 8]}\nepsilon: {from: 0.2, to: 4, step: 0.2}\n",
}
_SKEWED = {"euclidean-25": 25, "l1-36": 36, "euclidean-64": 64}


def main(
    jobs: Annotated[int, typer.Option(min=2, help="Processes beside one.")] = 2,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the medians count.")] = 3,
) -> None:
    """Time `dxopt batch` on 200 problems of 16 to 64 secrets, start and end included, and compare what it wrote."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "problems")
        seconds: dict[int, list[float]] = {1: [], jobs: []}
        values: dict[int, dict[str, float]] = {}
        for turn in range(repeat):
            for count, times in seconds.items():
                times.append(timed(folder / "problems", folder / f"results-{turn}-{count}", count))
                values[count] = solved(folder / f"results-{turn}-{count}")
                typer.echo(f"-j {count}: {times[-1]:.2f} s, {len(values[count]) / times[-1]:.1f} problems a second")
        if values[1] != values[jobs]:
            typer.echo("the results differ", err=True)
            raise typer.Exit(1)
    one, several = (statistics.median(times) for times in seconds.values())
    typer.echo(f"{len(values[1])} problems, medians of {repeat}: -j {jobs} has {one / several:.2f} x the throughput")


def write(folder: Path) -> None:
    """Write the problem files."""
    folder.mkdir()
    for name, text in FAMILIES.items():
        size = _SKEWED.get(name)
        if size:
            weights = [place % 7 + 1 for place in range(size)]
            shares = ", ".join(f"{weight}/{sum(weights)}" for weight in weights)
            text += f"prior: {{kind: explicit, values: [{shares}]}}\n"
        if "\nloss:" not in text:
            text += "loss: distance\n"
        (folder / f"{name}.yaml").write_text(f"name: {name}\n{text}", encoding="utf-8")


def timed(problems: Path, output: Path, jobs: int) -> float:
    """Seconds of a batch as a process of its own."""
    command = [sys.executable, "-m", "dxopt.cli", "batch", problems, "-o", output, "-j", str(jobs)]
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def solved(output: Path) -> dict[str, float]:
    """Return the value of each problem of a batch."""
    lines = json.loads((output / "summary.json").read_text(encoding="utf-8"))["problems"]
    return {line["problem"]: line["value"] for line in lines if line["status"] == "optimal"}


if __name__ == "__main__":
    typer.run(main)
