"""Tables of pandas and measurements of OpenDP."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.release import mechanism_from_frame, prior_from_frame, to_frame, to_opendp
from dxopt.release.tables import integer_table

SPACE = dx.MetricSpace.from_points([[0.0], [1.0], [3.0]], labels=["bank", "café", "dock"])

LONG = [2**60 + 2**7 * k + 1 for k in range(60)]


@pytest.fixture
def mechanism() -> dx.Mechanism:
    return dx.classic.exponential(SPACE, epsilon=0.7)


@pytest.mark.parametrize(("library", "use"), [("pandas", to_frame), ("opendp.mod", to_opendp)])
def test_what_is_not_installed_is_named(
    mechanism: dx.Mechanism, library: str, use: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library.split(".")[0]]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library.split(".")[0], None)
    with pytest.raises(dx.UnsupportedError, match=r"install dxopt\["):
        use(mechanism)  # pyright: ignore


class TestFrames:
    @pytest.fixture(autouse=True)
    def _pandas(self) -> None:
        self.pd = pytest.importorskip("pandas")

    def test_rows_are_secrets_and_columns_reports(self, mechanism: dx.Mechanism) -> None:
        frame = to_frame(mechanism)
        assert list(frame.index) == list(frame.columns) == ["bank", "café", "dock"]
        assert (frame.index.name, frame.columns.name) == ("secret", "report")
        assert frame.loc["dock", "bank"] == mechanism.matrix[2, 0]
        frame.loc["dock", "bank"] = 5.0
        assert mechanism.matrix[2, 0] < 1

    def test_what_does_not_exist_is_a_row_with_the_reason(self) -> None:
        problem = dx.Problem(dx.grid((3, 3)), epsilon=0.5, prior="uniform", loss="squared")
        methods = {"tight": "tight", "bad": np.eye(9)}
        found = dx.compare(problem, methods)
        sweep = dx.sweep(problem, [0.5, 1.0], methods)
        for frame in (to_frame(found), to_frame(sweep)[:3]):
            assert frame["method"].tolist() == ["optimal", "tight", "bad"]
            assert np.isnan(frame["value"].astype(float)).tolist() == [False, True, True]
            assert frame["reason"].tolist() == ["", found.rows[1].note, found.rows[2].note]
            assert "it exists from epsilon = 0.8" in frame["reason"][1]
        frame = to_frame(sweep)[3:]
        assert frame["method"].tolist() == ["optimal", "tight", "bad"]
        assert (frame["reason"] != "").tolist() == [False, False, True]
        compared = sweep.reports[1].comparison
        assert compared is not None
        assert frame["excess"].tolist()[:2] == [row.excess for row in compared.rows[:2]]

    def test_tables_of_answers(self) -> None:
        problem = dx.Problem(SPACE, epsilon=1.0, prior="uniform")
        found = dx.compare(problem, ["randomised_response", "geometric"], priors={"skewed": [0.6, 0.2, 0.2]})
        frame = to_frame(found)
        assert frame["method"].tolist() == ["optimal", "randomised_response", "geometric", "optimal for skewed"]
        assert frame["value"].tolist() == [row.value for row in found.rows if row.value is not None]
        assert frame["under skewed"].tolist() == [row.under["skewed"] for row in found.rows if row.under]
        sweep = dx.sweep(problem, [0.5, 1.0], ["randomised_response"])
        assert to_frame(sweep).to_dict("records") == sweep.figures
        assert frame["reason"].tolist() == [""] * 4
        frontier = dx.frontier(problem, 0.5, 2.0, resolution=0.5)
        assert to_frame(frontier)["possible"].tolist() == frontier.values.tolist()
        with pytest.raises(dx.SpecError, match="answer: is of type MetricSpace; give a mechanism, a comparison"):
            to_frame(SPACE)  # pyright: ignore

    def test_any_order_is_matched_by_label(self, mechanism: dx.Mechanism) -> None:
        frame = to_frame(mechanism).loc[["dock", "bank", "café"], ["café", "dock", "bank"]]
        back = mechanism_from_frame(SPACE, frame, name="read")
        assert np.array_equal(back.matrix, mechanism.matrix)
        assert back.reports.secrets
        assert (back.privacy, back.name) == (None, "read")

    def test_other_reports(self) -> None:
        matrix = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
        frame = self.pd.DataFrame(matrix, index=["bank", "café", "dock"], columns=[1, 0])
        assert mechanism_from_frame(SPACE, frame).reports.labels == ("1", "0")
        ordered = mechanism_from_frame(SPACE, frame, dx.Reports(("0", "1")))
        assert np.array_equal(ordered.matrix, matrix[:, ::-1])
        with pytest.raises(dx.SpecError, match="columns: lacks label '2'"):
            mechanism_from_frame(SPACE, frame, dx.Reports(("0", "2")))

    def test_bad_frames(self, mechanism: dx.Mechanism) -> None:
        frame = to_frame(mechanism)
        for wrong, message in (
            (frame.loc[["bank", "café"]], "index: lacks label 'dock'"),
            (frame.rename(index={"dock": "pier"}), "index: lacks label 'dock'"),
            (self.pd.concat([frame, frame.rename(index={"dock": "pier"}).loc[["pier"]]]), "unknown label 'pier'"),
            (frame.rename(index={"dock": "bank"}), "index: has the label 'bank' twice"),
            (frame.astype(object).replace(frame.iloc[0, 0], "much"), "frame: .*not numbers"),
            (frame * 2, "row 0 sums to 2"),
        ):
            with pytest.raises(dx.SpecError, match=message):
                mechanism_from_frame(SPACE, wrong)
        with pytest.raises(dx.SpecError, match="labels: points 0 and 1 are both 'same'"):
            dx.MetricSpace.from_distances(np.zeros((2, 2)), labels=["same", "same"])

    def test_what_is_no_frame(self, mechanism: dx.Mechanism) -> None:
        frame = to_frame(mechanism)
        for attempt, message in (
            (lambda: mechanism_from_frame(SPACE, mechanism.matrix), "frame: is of type ndarray"),  # pyright: ignore
            (lambda: mechanism_from_frame(SPACE, frame["bank"]), "frame: is of type Series"),  # pyright: ignore
            (lambda: prior_from_frame(SPACE, [1, 2, 3]), "series: is of type list"),  # pyright: ignore
            (lambda: prior_from_frame(SPACE, frame), "series: is of type DataFrame"),  # pyright: ignore
            (lambda: to_frame(integer_table(mechanism)), "answer: is of type IntegerTable"),  # pyright: ignore
        ):
            with pytest.raises(dx.SpecError, match=message):
                attempt()

    def test_priors(self) -> None:
        series = self.pd.Series({"dock": 1.0, "bank": 2, "café": 5})
        assert prior_from_frame(SPACE, series).probabilities == pytest.approx(np.array([0.25, 0.625, 0.125]))
        with pytest.raises(dx.SpecError, match="lacks label 'dock'"):
            prior_from_frame(SPACE, series.drop("dock"))
        with pytest.raises(dx.SpecError, match="prior"):
            prior_from_frame(SPACE, -series)

    def test_columns_are_points_and_weights(self) -> None:
        frame = self.pd.DataFrame(
            {"name": ["a", "b"], "lat": [45.5, 45.6], "lon": [-73.5, -73.6], "trips": [1, 3]}
        ).set_index("name")
        space = dx.MetricSpace.from_points(frame[["lat", "lon"]], "haversine", labels=frame.index)
        plain = dx.MetricSpace.from_points(frame[["lat", "lon"]].to_numpy(), "haversine")
        assert space.labels == ("a", "b")
        assert np.array_equal(space.distances, plain.distances)
        prior = dx.Prior.from_weights(space, frame["trips"])
        assert prior.probabilities == pytest.approx(np.array([0.25, 0.75]))


class TestOpenDP:
    @pytest.fixture(autouse=True)
    def _opendp(self) -> None:
        self.dp = pytest.importorskip("opendp.prelude")
        self.dp.enable_features("contrib", "honest-but-curious")

    def test_asks_for_the_features(self, mechanism: dx.Mechanism) -> None:
        self.dp.disable_features("honest-but-curious")
        with pytest.raises(self.dp.OpenDPException, match="honest-but-curious"):
            to_opendp(mechanism)

    def test_draws_reports(self, mechanism: dx.Mechanism) -> None:
        for source in (mechanism, integer_table(mechanism)):
            measurement = to_opendp(source)
            drawn = [measurement("dock") for _ in range(600)] + [measurement("dock") for _ in range(600)]
            assert set(drawn) == set(SPACE.labels)
            assert drawn.count("dock") / 1200 == pytest.approx(mechanism.matrix[2, 2], abs=0.08)

    @pytest.mark.parametrize("secret", ["pier", 3, ["bank", "dock"]])
    def test_what_is_no_secret_is_refused(self, mechanism: dx.Mechanism, secret: object) -> None:
        measurement = to_opendp(mechanism)
        assert measurement.input_domain.member("dock")
        assert not measurement.input_domain.member("pier")
        with pytest.raises(self.dp.OpenDPException, match=r"SpecError|NoSuchPoint"):
            measurement(secret)

    def test_maps_distances_upwards(self, mechanism: dx.Mechanism) -> None:
        measurement = to_opendp(mechanism)
        privacy = mechanism.privacy
        assert privacy is not None
        for distance in [0.0, 0.1, 1, 2.5, 1e-300, *LONG, 10**308, *np.random.default_rng(0).random(50).tolist()]:
            budget = measurement.map(distance)
            exact = Fraction(privacy.epsilon) * Fraction(distance)
            assert exact <= Fraction(budget)
            assert type(budget) is float
            assert budget == 0.0 if not distance else Fraction(math.nextafter(budget, 0.0)) < exact
        assert measurement.map(math.inf) == math.inf
        assert measurement.check(2.0, 2 * privacy.epsilon)
        assert not measurement.check(2.0, 1.99 * privacy.epsilon)
        for wrong in (-1.0, math.nan):
            with pytest.raises(self.dp.OpenDPException, match="d_in"):
                measurement.map(wrong)

    def test_composes_on_the_same_space_only(self, mechanism: dx.Mechanism) -> None:
        first = to_opendp(mechanism)
        second = to_opendp(dx.classic.exponential(SPACE, epsilon=0.2))
        both = self.dp.c.make_composition([first, second])
        assert len(both("bank")) == 2
        assert both.map(1.0) == pytest.approx(first.map(1.0) + second.map(1.0))
        elsewhere = dx.MetricSpace.from_points([[0.0], [1.0], [4.0]], labels=SPACE.labels)
        with pytest.raises(self.dp.OpenDPException, match="must be the same"):
            self.dp.c.make_composition([first, to_opendp(dx.classic.exponential(elsewhere, epsilon=0.7))])
        loud = first >> (lambda label: label.upper())
        assert loud("bank") in {"BANK", "CAFÉ", "DOCK"}
        assert loud.map(1.0) == first.map(1.0)

    @pytest.mark.parametrize("pairs", ["all", "adjacent"])
    def test_delta(self, pairs: str) -> None:
        prior = dx.Prior.uniform(SPACE)
        problem = dx.Problem(SPACE, epsilon=0.5, prior=prior, loss="distance", delta=0.01, pairs=pairs)
        raw = dx.classic.exponential(SPACE, epsilon=1.5).matrix
        relaxed = certify(problem, Candidate(raw)).mechanism
        if pairs == "adjacent":
            with pytest.raises(dx.UnsupportedError, match="pairs"):
                to_opendp(relaxed)
            return
        assert relaxed.privacy is not None
        budget, delta = to_opendp(relaxed).map(3.0)
        assert (budget, delta) == (pytest.approx(1.5), relaxed.privacy.delta)
        assert 0 < delta <= 0.01

    def test_tables_are_checked_again(self) -> None:
        counts = np.array([[2**64, 0], [0, 2**64]], dtype=object)
        table = dx.IntegerTable(dx.line(2), dx.Reports(("a", "b")), counts, 64, 1.0)
        with pytest.raises(dx.CertificateError, match="told apart"):
            to_opendp(table)

    def test_needs_a_proof(self) -> None:
        with pytest.raises(dx.SpecError, match="proof"):
            to_opendp(dx.Mechanism.from_matrix(SPACE, np.eye(3)))

    def test_one_way_distances_count_the_longer_way(self) -> None:
        one_way = dx.MetricSpace.from_distances([[0, 1], [2, 0]])
        table = integer_table(dx.classic.exponential(one_way, epsilon=1.0))
        assert to_opendp(table).map(2.0) >= 2.0 * table.epsilon
