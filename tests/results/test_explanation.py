"""Explanations: numbers counted again, sentences, units, what is left out, and what cannot be explained."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis.radii import radii
from dxopt.numerics.number_syntax import at_most, three_digits
from dxopt.studies.explaining import load_explainable

PLACES = [[45.0, 4.0], [45.0, 4.02], [45.01, 4.0], [45.02, 4.03]]


@pytest.fixture(scope="module")
def city() -> dx.Report:
    space = dx.geo.points(PLACES, labels="ABCD")
    return dx.solve(dx.Problem(space, epsilon="ln(4)", prior=[0.5, 0.3, 0.2, 0.0], name="city"))


@pytest.fixture(scope="module")
def counts() -> dx.Report:
    return dx.solve(
        dx.Problem(dx.line(6, unit="people"), epsilon="ln(2)", prior=[0.1, 0.2, 0.4, 0.2, 0.1, 0], name="counts")
    )


def told(found: dx.Explanation) -> dict[str, str]:
    return dict(found.sentences)


def test_what_one_report_can_tell(city: dx.Report) -> None:
    privacy = told(dx.explain(city))["privacy"]
    assert privacy == (
        "Seeing one report, nobody can change the odds between two places 1 km apart by more than a factor of 4."
    )
    assert "ε proven 1.39 per km (asked 1.39)" in told(dx.explain(city))["level"]
    assert (
        "after 10 reports it is 1.05·10^6 (hardly anything is hidden). A" in told(dx.explain(city))["several reports"]
    )
    assert "For a factor of 4 after all 10, take ε = 0.138 per km." in told(dx.explain(city))["several reports"]
    assert "factor of 4 at most, 10 reports by 1.05·10^6" in str(city)


def test_the_radius_is_counted_again(city: dx.Report) -> None:
    found = dx.explain(city)
    apart, matrix = city.problem.space.distances, city.mechanism.matrix
    joint = city.problem.prior.probabilities[:, None] * matrix
    for radius, share in ((found.radius, 0.95), (found.half, 0.5)):
        assert radius is not None
        assert joint[apart <= radius].sum() >= share - 1e-9
        assert joint[apart < radius].sum() < share
    within = [row[far <= found.worst_radius].sum() for far, row in zip(apart, matrix, strict=True)]
    assert min(within) >= 0.95 - 1e-9
    assert found.radius_at in list("ABCD")
    assert (
        f"{three_digits(found.half or 0)} km" in told(found)["radius"]
        or "name the true place" in told(found)["radius"]
    )


def test_who_loses_and_who_is_left_out(city: dx.Report) -> None:
    found = dx.explain(city)
    losses = (city.mechanism.matrix * city.problem.losses).sum(axis=1)
    assert (found.worst_loss, found.worst_at) == (pytest.approx(losses.max()), "ABCD"[int(losses.argmax())])
    assert told(found)["prior 0"].startswith("1 of 4 places has prior 0")
    assert f"{three_digits(losses[3])} km for place D" in told(found)["prior 0"]
    nearest = city.problem.space.nearest
    assert f"{three_digits(nearest)} km or more" in told(found)["positions"]


def test_other_objectives_and_losses() -> None:
    space = dx.line(3, unit="km")
    costs = dx.Loss.of([[0, 1, 4], [1, 0, 1], [4, 1, 0]], space, unit="EUR")
    worst = dx.solve(dx.Problem(space, epsilon=1.0, loss=costs, objective="worst_loss", delta=0.1))
    lines = told(dx.explain(worst))
    assert lines["worst loss"].startswith(
        f"Whatever the value, a report costs {three_digits(worst.certificate.value)} EUR"
    )
    assert "δ = 0.1" in lines["delta"] and "apart from δ" in lines["privacy"]
    assert lines["radius"].startswith("Whatever the value, 95 % of reports lie within")
    binary = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform", loss="binary"))
    assert "does not name the true value with probability" in told(dx.explain(binary))["expected loss"]
    hull = dx.Prior.hull([dx.Prior.of([0.6, 0.2, 0.2], space), dx.Prior.of([0.2, 0.2, 0.6], space)])
    several = told(dx.explain(dx.solve(dx.Problem(space, epsilon=1.0, prior=hull))))
    assert "Under the worst of the priors" in several["worst expected loss"] and "priors" in several
    pairs = dx.BeliefPairs.markov("ab", 2, [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])
    believed = dx.solve(dx.Problem(dx.line(4), epsilon=None, prior="uniform", beliefs=pairs.at(1.0)))
    lines = told(dx.explain(believed))
    assert "for the pairs of beliefs below alone" in lines["privacy"] and "Nobody who holds" in lines["beliefs"]


def test_another_distance_and_more_reports(city: dx.Report) -> None:
    found = dx.explain(city, distance=0.5, reports=5)
    assert "two places 0.5 km apart by more than a factor of 2." in str(found)
    assert "after 5 reports it is 32 (an even chance becomes 97 % at most)" in str(found)
    assert found.factor == pytest.approx(2.0, rel=1e-6) and dx.explain(city).reports == 10
    assert "after 1 report it is 4 (an even" in told(dx.explain(city, reports=1))["several reports"]
    for wrong in ({"distance": 0}, {"distance": math.nan}, {"reports": 0}, {"reports": 2.5}, {"values": 0}):
        with pytest.raises(dx.SpecError, match=next(iter(wrong))):
            dx.explain(city, **wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("metric", "project"), [("haversine", False), ("geodesic", False), ("haversine", True)])
def test_positions_in_cells(metric: str, project: bool) -> None:
    """No two positions are further apart by their cells than is said, and their mean way is that of the corners."""
    options = {"metric": metric, "project": project, "shape": (3, 4)}
    space = dx.geo.bounding_grid(45.41, -73.72, 45.61, -73.48, **options)  # pyright: ignore[reportArgumentType]
    found = dx.explain(dx.Problem(space, epsilon=0.5, prior="uniform"), distance=0.5)
    assert found.cell is not None and found.mean_way is not None
    # positions 0.5 km apart at most, drawn on the sphere, and the distances of their cells
    rng = np.random.default_rng(3)
    places = rng.uniform([45.41, -73.72], [45.61, -73.48], (400, 2))
    others = np.clip(places + rng.uniform(-0.003, 0.003, (400, 2)), [45.41, -73.72], [45.61, -73.48])
    globe = dx.geo.positions(space).degrees
    near, beside = (dx.geo.nearest(dx.geo.points(globe), rows) for rows in (places, others))
    between = [dx.geo.points(pair).distances[0, 1] for pair in zip(places, others, strict=True)]
    apart = space.distances[near, beside]
    assert (apart <= (np.array(between) * 1.1 + 2 * found.cell)).all() and apart.max() > 0
    ways = [dx.geo.points([here, globe[cell]]).distances[0, 1] for here, cell in zip(places, near, strict=True)]
    assert max(ways) <= found.cell and np.mean(ways) == pytest.approx(found.mean_way, rel=0.15)
    far = found.across
    assert far is not None and far <= 0.5 + 2 * found.cell and far >= apart[np.array(between) <= 0.5].max()
    assert f"within 0.5 km of each other by more than a factor of {at_most(math.exp(0.5 * far))}" in str(found)
    text = told(found)["places"]
    assert (
        f"two positions 0.5 km apart may lie in different ones, whose centres are at most {at_most(far)} km apart"
        in text
    )
    asked = float(text.rsplit("take ε = ", 1)[1].split(" ", maxsplit=1)[0])
    assert 0.25 * 0.99 <= asked * far <= 0.25


def test_losses_from_positions_are_told_beside_those_of_places(city: dx.Report) -> None:
    space = dx.geo.bounding_grid(45.41, -73.72, 45.61, -73.48, shape=(2, 3))
    found = dx.explain(dx.solve(dx.Problem(space, epsilon=0.5, prior="uniform")))
    assert "from centre to centre" in told(found)["expected loss"]
    assert found.mean_way is not None and found.value is not None
    assert f"at most {at_most(found.value + found.mean_way)} km" in told(found)["from positions"]
    assert "at 45.4" in told(found)["worst off"] or "at 45.5" in told(found)["worst off"]
    assert found.cell is not None and "from positions" not in told(dx.explain(city))


def test_the_largest_error_is_counted_again(counts: dx.Report) -> None:
    found = dx.explain(counts)
    off, matrix = counts.problem.space.distances, counts.mechanism.matrix
    assert found.rare is not None and found.most_off is not None and found.most_off == off[matrix > 0].max()
    assert found.most_off_chance == pytest.approx(max(np.where(off >= found.most_off, matrix, 0).sum(axis=1)))
    assert found.rare_chance == pytest.approx(max(np.where(off > found.rare, matrix, 0).sum(axis=1)))
    assert "people off" in told(found)["largest error"] and "largest error" in dict(counts.lines())


@pytest.mark.parametrize(
    ("epsilon", "chance"),
    [(1.0, "% of reports"), (2.2, "at most one in"), (9.0, "at most one in a million reports")],
)
def test_shares_of_reports_are_told_so_that_they_can_be_read(epsilon: float, chance: str) -> None:
    space = dx.line(6)
    found = dx.explain(dx.classic.geometric(space, epsilon=epsilon), prior="uniform", loss="distance")
    text = told(found)["largest error"]
    assert chance in text and "e-" not in text
    if (share := re.search(r"at most one in ([\d,]+) reports", text.partition(";")[2])) is not None:
        assert found.most_off_chance is not None and found.most_off_chance <= 1 / int(share[1].replace(",", ""))


@pytest.mark.parametrize("factor", [1.001, 3, 98, 99, 101, 404, 162_755, 999_000])
def test_even_chances_are_never_larger_than_they_are_told(factor: float) -> None:
    problem = dx.Problem(dx.line(3), epsilon=math.log(factor), prior="uniform")
    text = told(dx.explain(problem, reports=1))["several reports"]
    found = re.search(r"an even chance becomes ([\d.]+) % at most", text)
    assert found is not None
    exact = 100 * factor / (1 + factor)
    assert exact * (1 - 1e-9) <= float(found[1]) < 100 and float(found[1]) - exact <= max(0.1, 100 - exact)


def test_several_values_are_within_what_is_told(counts: dx.Report) -> None:
    """All that two values can become, with their chances: no pair is further off than is told, on average or 95 %."""
    matrix, prior = counts.mechanism.matrix, counts.problem.prior.probabilities
    found = dx.explain(counts, values=2)
    assert (found.values, found.all_within) != (None, None) and dx.explain(counts).values is None
    off = np.arange(6)[None, :] - np.arange(6)[:, None]
    total, square = np.zeros((2, 6, 6))
    for x in range(6):
        for y in range(6):
            chances = np.outer(matrix[x], matrix[y])
            assert chances[np.maximum(*np.meshgrid(abs(off[y]), abs(off[x]))) <= found.all_within].sum() >= 0.95
            both = off[x][:, None] + off[y][None, :]
            total[x, y], square[x, y] = (chances * abs(both)).sum(), (chances * both**2).sum()
    assert found.total_off is not None and found.total_off_prior is not None
    assert max(total.max(), math.sqrt(square.max())) <= found.total_off <= 2 * total.max()
    assert float(prior @ total @ prior) <= found.total_off_prior
    assert found.total_off_prior == pytest.approx(math.sqrt(prior @ square @ prior))
    # with one value less, 95 % need no larger distance
    one = dx.explain(counts, values=1)
    assert one.all_within == one.worst_radius and one.total_off is not None and one.total_off < found.total_off
    text = told(found)["several values"]
    assert text.startswith("2 published values, each drawn by itself, all lie within 3 people of the true values")
    assert f"off by at most {at_most(found.total_off_prior)} people if" in text
    assert f"and at most {at_most(found.total_off)} people whatever they are" in text


def test_totals_are_of_numbers_alone(city: dx.Report) -> None:
    places = told(dx.explain(city, values=3))["several values"]
    assert "3 published places" in places and "total" not in places
    mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    alone = told(dx.explain(mechanism, values=3))["several values"]
    assert "On average their total is off by at most" in alone and "prior" not in alone
    with pytest.raises(dx.SpecError, match="values: is 3, which asks about a mechanism"):
        dx.explain(city.problem, values=3)


def test_ends_that_never_come_out() -> None:
    def ends(step: float, epsilon: float) -> str:
        line = dx.line(21, step=step)
        return told(dx.explain(dx.solve(dx.Problem(line, epsilon=epsilon / step, prior="uniform")))).get(
            "never reported", ""
        )

    assert ends(1, 0.5).endswith(
        "0, 20. So 0 is always reported as 1 or more, and 20 is always reported as 19 or less."
    )
    assert "So 0 is always reported as 10 or more" in ends(10, 0.5)
    assert ends(1, 0.7) == ""  # from ln(2) on, the best guess given 0 is 0
    days = dx.MetricSpace.from_points([[k] for k in range(21)], labels=[f"day {k}" for k in range(21)])
    found = dx.explain(dx.solve(dx.Problem(days, epsilon=0.5, prior="uniform")))
    assert found.never == 2 and found.lowest is None and "So" not in told(found)["never reported"]


def test_infinite_distances_and_losses() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, np.inf], [2, 0, np.inf], [np.inf, np.inf, 0]])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5, 0.0], loss="binary"))
    lines = told(dx.explain(report))
    assert "at infinite distance are not hidden" in lines["not hidden"] and "direction" in lines
    assert json.dumps(dx.explain(report).content(), allow_nan=False)


def test_a_mechanism_alone_is_told_of_what_is_proven() -> None:
    space = dx.line(5, unit="visits")
    proven = told(dx.explain(dx.classic.geometric(space, epsilon=1.0)))
    assert "factor of 2.72" in proven["privacy"] and "ε proven 1 per visit." in proven["level"]
    assert "expected loss" not in proven
    own = dx.Mechanism.from_matrix(space, np.eye(5))
    lines = told(dx.explain(own, prior="uniform", loss="binary"))
    assert lines["privacy"].startswith("Nothing is proven")
    assert lines["expected loss"] == "A report does not name the true value with probability 0."


def test_the_distance_that_is_told_is_one_that_occurs() -> None:
    for space, apart in ((dx.line(5, step=500), 500.0), (dx.line(5, step=0.01), 0.01), (dx.line(5), 1.0)):
        assert dx.explain(dx.Problem(space, epsilon=0.1, prior="uniform")).apart == apart
    assert "nothing proven yet" in str(dx.explain(dx.Problem(dx.line(3), epsilon=1.0, prior="uniform")))


def test_many_secrets_are_told_without_all_of_them() -> None:
    mechanism = dx.classic.geometric(dx.line(20_000), epsilon=1.0)
    found = radii(mechanism)
    assert found is not None and len(found.secrets) == 1
    explained = dx.explain(mechanism)
    assert explained.few and "left out" in told(explained)
    assert explained.worst_radius == 2.0
    # the radius is that of the likeliest secret where there is a prior
    likeliest = replace(explained, expected_loss=1.0)
    assert told(likeliest)["left out"] != told(explained)["left out"]
    assert told(replace(explained, few=False))["radius"] != told(explained)["radius"]


@pytest.mark.parametrize("space", [dx.line(1), dx.geo.points([[45.0, 4.0]])], ids=["line", "earth"])
def test_the_radius_of_a_single_point_is_nothing(space: dx.MetricSpace) -> None:
    explained = dx.explain(dx.classic.exponential(space, epsilon=1.0))
    assert explained.worst_radius == 0.0 and not explained.few and "radius" in told(explained)


def test_a_table_of_levels(counts: dx.Report, tmp_path: Path) -> None:
    levels = [0.5, counts.problem.epsilon, 1.0]
    found = dx.explain(counts, epsilons=levels)
    assert [choice.asked for choice in found.choices] == sorted(levels)
    values = [choice.value or 0.0 for choice in found.choices]
    assert values == sorted(values, reverse=True)
    assert values[1] == pytest.approx(counts.certificate.value)
    head, *rows = str(found).splitlines()[-4:]
    assert head.startswith("ε per person  factor at 1 person  expected loss (people)")
    assert [row.split()[1] for row in rows][1] == "*"
    assert "<table>" in found._repr_html_()
    folder = dx.sweep(counts.problem, levels).save(tmp_path / "sweep")
    assert [choice.value for choice in dx.explain(load_explainable(folder)).choices] == pytest.approx(values)


def test_what_cannot_be_explained_says_what_to_give(counts: dx.Report, tmp_path: Path) -> None:
    counts.save(tmp_path / "one")
    with pytest.raises(dx.SpecError, match=r"is a folder of 1 results; name those to explain"):
        load_explainable(tmp_path)
    with pytest.raises(dx.SpecError) as missing:
        load_explainable(tmp_path / "nothing")
    assert missing.value.field == "result"
    with pytest.raises(dx.SpecError, match="give a report, a mechanism or a problem"):
        dx.explain(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(dx.SpecError, match=r"^prior"):
        dx.explain(counts, prior="uniform")


def test_loaded_results_say_the_same(city: dx.Report, tmp_path: Path) -> None:
    again = dx.load(city.save(tmp_path / "city"))
    assert dx.explain(again).sentences == dx.explain(city).sentences
    assert dx.explain(city).sentences[0][1].split("; ")[0][:30] in str(city.explanation)


def test_numbers_are_never_flattered() -> None:
    assert [at_most(x) for x in (4 * (1 + 1e-12), 4.001, 0.84712, 1234.2, 999.99)] == [
        "4",
        "4.01",
        "0.848",
        "1,235",
        "1,000",
    ]
    assert [three_digits(x) for x in (0.84751, 1234.4, 12.0, math.inf, 999.96)] == [
        "0.848",
        "1,234",
        "12",
        "infinite",
        "1,000",
    ]


def test_a_bound_that_nobody_looked_for_is_not_told() -> None:
    report = dx.solve(dx.Problem(dx.line(5), epsilon=0.5, prior="uniform"), method="exponential")
    found = report.explanation
    assert found.bound == 0 and "no mechanism" not in dict(found.sentences)["expected loss"]
    assert "no mechanism" in dict(replace(found, bound=0.1).sentences)["expected loss"]
