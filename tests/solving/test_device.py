"""A GPU for a solve: how it is asked for, what is said where there is none, and the same answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.errors import SpecError
from dxopt.runtime import devices
from dxopt.solving.solvers.columns import on_device
from tests.material.devices import give_cupy, no_driver
from tests.material.studies import studies

USED = "the master problem is solved on Standing In 9000"


def town(size: int, **how: Any) -> dx.Problem:
    """Random places, of which few have most of the weight."""
    generator = np.random.default_rng(7)
    space = dx.MetricSpace.from_points(generator.uniform(0, 5, (size, 2)), "euclidean")
    prior = dx.Prior.from_weights(space, generator.pareto(1.2, size) + 0.01)
    return dx.Problem(space, epsilon=1.0, prior=prior, **{"loss": "distance", **how})


PROBLEMS: dict[str, Callable[[], dx.Problem]] = {
    "expected loss": lambda: town(30),
    "binary": lambda: town(15, loss="binary"),
    "worst loss": lambda: town(10, objective="worst_loss"),
    "adversary's error": lambda: town(8, objective=dx.AdversaryError(0.7, "binary")),
    "infinite and one-way": lambda: one_way(),
}


def one_way() -> dx.Problem:
    distances = np.random.default_rng(3).uniform(1, 2, (12, 12))
    distances[:6, 6:] = np.inf
    np.fill_diagonal(distances, 0.0)
    space = dx.MetricSpace.from_distances(distances)
    return dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss="binary")


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A CuPy that is there, and masters that are large enough for it."""
    monkeypatch.setattr(on_device, "LEAST_ROWS", 1)
    return give_cupy(monkeypatch)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_answer_is_as_good(cupy: list[str], name: str) -> None:
    problem = PROBLEMS[name]()
    asked: dict[str, Any] = {"solver": "columns", "tolerance": 1e-9}
    lines: list[str] = []
    there = dx.solve(problem, **asked, device="gpu", progress=lines.append)
    here = dx.solve(problem, **asked)
    assert there.certificate.private
    assert there.status == here.status
    assert there.certificate.value == pytest.approx(here.certificate.value, rel=1e-9, abs=1e-9)
    assert there.certificate.bound == pytest.approx(here.certificate.bound, rel=1e-9, abs=1e-9)
    assert lines.count(USED) == 1
    assert not any("lost" in line or "no room" in line for line in lines)
    assert cupy


def test_blocks_of_the_master_as_well(cupy: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One place has nearly all the weight, so that its report is a block."""
    from dxopt.solving.solvers.columns import master as newton

    made = 0
    begin = newton.WithBlocks.__init__

    def counted(*given: Any) -> None:
        nonlocal made
        made += 1
        begin(*given)

    monkeypatch.setattr(newton.WithBlocks, "__init__", counted)
    generator = np.random.default_rng(5)
    points = generator.normal(size=(60, 2)) * 3
    weights = generator.pareto(1.2, 60) + 0.05
    weights[int(np.linalg.norm(points, axis=1).argmin())] = 4 * weights.sum()
    space = dx.MetricSpace.from_points(points, "euclidean")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, weights), loss="distance")
    lines: list[str] = []
    there = dx.solve(problem, solver="columns", tolerance=1e-4, device="gpu", progress=lines.append)
    assert made
    assert not any("lost" in line or "no room" in line for line in lines)
    here = dx.solve(problem, solver="columns", tolerance=1e-4)
    assert there.certificate.value == pytest.approx(here.certificate.value, rel=3e-4)


def test_a_device_that_is_lost_costs_time_only(cupy: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> None:
        raise RuntimeError("cudaErrorIllegalAddress")

    def told(line: str) -> None:
        lines.append(line)
        if "column generation, round 3:" in line:
            stream.synchronize = lost

    stream = sys.modules["cupy"].cuda.get_current_stream()
    monkeypatch.setattr(stream, "synchronize", lambda: None)
    lines: list[str] = []
    problem = town(30)
    found = dx.solve(problem, solver="columns", tolerance=1e-8, device="gpu", progress=told)
    expected = dx.solve(problem, solver="columns", tolerance=1e-8)
    assert found.certificate.value == pytest.approx(expected.certificate.value, rel=1e-8)
    reason = "RuntimeError: cudaErrorIllegalAddress"
    assert [line for line in lines if "lost" in line] == [
        f"Standing In 9000 is lost ({reason}); master problems are solved on the CPU"
    ]


def test_small_masters_and_other_ways_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    give_cupy(monkeypatch)
    line = dx.line(300)
    prior = dx.Prior.uniform(line)
    lines: list[str] = []
    dx.solve(town(20), solver="columns", device="gpu", progress=lines.append)
    dx.solve(dx.Problem(line, epsilon=0.5, prior=prior, loss="distance"), device="gpu", progress=lines.append)
    assert lines
    assert USED not in lines


def test_cpu_is_this_machine(cupy: list[str]) -> None:
    lines: list[str] = []
    with devices.using("gpu"):
        dx.solve(town(8), solver="columns", device="cpu", progress=lines.append)
        assert USED not in lines
        dx.solve(town(8), solver="columns", progress=lines.append)
        assert USED in lines
    assert devices.current() is None


@pytest.mark.parametrize("name", ["tpu", "cuda", "", "GPU", 3])
def test_a_bad_name_is_named(name: Any) -> None:
    with pytest.raises(SpecError, match=r"^device: "):
        dx.solve(town(5), device=name)


def test_without_cupy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"^device: "):
        dx.solve(town(5), device="gpu")


@pytest.mark.parametrize("count", [no_driver, lambda: 0])
def test_without_a_gpu_that_is_said(monkeypatch: pytest.MonkeyPatch, count: Callable[[], int]) -> None:
    give_cupy(monkeypatch, count)
    with pytest.raises(SpecError, match=r"^device: "):
        dx.solve(town(5), device="gpu")


def test_a_gpu_that_does_not_work_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(matrix: Any) -> Any:
        raise ImportError("libcusolver.so.11:\ncannot open shared object file")

    give_cupy(monkeypatch, cholesky=broken)
    said = "the GPU cannot be used (ImportError: libcusolver.so.11: cannot open shared object file)"
    with pytest.raises(SpecError) as caught:
        dx.solve(town(5), device="gpu")
    assert str(caught.value) == f"device: {said}; leave it out, or mend its driver and CuPy"


def test_all_that_solve_take_a_device() -> None:
    for ask in studies(town(5)):
        with pytest.raises(SpecError, match=r"^device: "):
            ask({"device": "tpu"})


def test_all_solves_of_a_sweep_use_it(cupy: list[str]) -> None:
    lines: list[str] = []
    dx.sweep(town(8), [1.0, 1.5], solver="columns", device="gpu", progress=lines.append)
    assert lines.count(USED) == 2


@pytest.mark.parametrize("command", [["solve"], ["compare"], ["sweep", "--epsilon", "1,2"]])
def test_the_command_line_takes_a_device(
    cupy: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("town.yaml").write_text(
        "space: {kind: grid, shape: [3, 2], spacing: 1.0, metric: euclidean}\nepsilon: 1\nprior: {kind: uniform}\n"
        "loss: distance\nsolver: columns\ncompare: [exponential]\n",
        encoding="utf-8",
    )
    bad = CliRunner().invoke(app, [*command, "town.yaml", "--device", "tpu"])
    assert bad.exit_code == 2
    assert bad.stderr == "device: is 'tpu'; choose one of cpu, gpu\n"
    good = CliRunner().invoke(app, [*command, "town.yaml", "--device", "gpu"])
    assert good.exit_code == 0, good.output
    assert cupy
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    without = CliRunner().invoke(app, [*command, "town.yaml", "--device", "gpu", "--force"])
    assert without.exit_code == 2
    assert without.stderr == "device: needs CuPy; pip install 'dxopt[gpu]'\n"
