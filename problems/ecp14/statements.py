"""What ECP14 says in sections 4 to 6 and their examples, beside what comes out here."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import dxopt as dx
from problems.ecp14 import leakage, regions
from problems.ecp14.settings import PRINTED, RECORD, STEP, accepted_from, databases, independent_records, least_mu

LEVELS = (0.5, 0.8, 1.3)
"""Levels at which formulas are checked."""


class Row(NamedTuple):
    """One number or formula of the paper.

    `accepted` is what comes out where entries of μ down to -1e-4 pass as 0; a dash where no such choice is made.
    """

    what: str
    printed: str
    reproduced: str
    exact: str
    accepted: str
    source: str


DASH = "–"


def proposition_1() -> list[Row]:
    """Return a prior whose ratios are small enough, and which is not regular."""
    level = PRINTED.example_3_level
    steepest, allowed = max(RECORD) / min(RECORD), math.exp(level)
    status = dx.regularity.verdict(leakage.record_prior(), regions.record(), level).status
    return [
        Row(
            "ratios of at most e^{d(y, y')} make a prior regular",
            "not in general",
            yes(steepest <= allowed and status == "not regular"),
            f"one record of Example 3 at ε = {level}: ratios up to {steepest:.2f} ≤ {allowed:.2f}, {status}",
            DASH,
            "after Prop 1",
        )
    ]


def example_1() -> list[Row]:
    """Corner priors of three answers."""
    found = []
    for name, space in regions.three_answers().items():
        for level in regions.LEVELS:
            corners = dx.regularity.region(space, level).corners
            exact = ", ".join(
                f"c{i} = ({', '.join(f'{p:.4f}' for p in corner)})" for i, corner in enumerate(corners, 1)
            )
            what = f"corner priors of the {name}, ε = {level}"
            found.append(Row(what, "3 of them", f"{len(corners)} of them", exact, DASH, "Example 1, Def 5"))
        small, large = (dx.regularity.region(space, level).volume for level in regions.LEVELS)
        found.append(
            Row(
                f"regular share of all priors of the {name}",
                "larger at ε = 1.6 than at 0.7; all as ε → ∞",
                yes(small < large and dx.regularity.region(space, 40.0).volume > 1 - 1e-9),
                f"{small:.4f} at 0.7, {large:.4f} at 1.6",
                DASH,
                "Example 1",
            )
        )
    return found


def example_2() -> list[Row]:
    """Return the share of the regular priors of four answers."""
    shares = {distance: dx.regularity.region(regions.record(), distance).volume for distance in regions.DISTANCES}
    grows = (
        sorted(shares.values()) == list(shares.values())
        and dx.regularity.region(regions.record(), 40.0).volume > 1 - 1e-9
    )
    exact = ", ".join(f"{share:.4f} at D = {distance}" for distance, share in shares.items())
    return [Row("regular share of all priors", "grows with D; all as D → ∞", yes(grows), exact, DASH, "Example 2")]


def theorem_3() -> list[Row]:
    """Return the μ of the uniform prior on databases, and the bound that follows."""
    space, values, individuals = databases(3), len(RECORD), 3
    off_one, off_bound = 0.0, 0.0
    for level in LEVELS:
        mu = (math.exp(level) / (values * (values - 1 + math.exp(level)))) ** individuals
        off_one = max(off_one, float(np.abs(mu * dx.regularity.phi(space, level).sum(axis=0) * len(space) - 1).max()))
        formula = individuals * math.log2(values * math.exp(level) / (values - 1 + math.exp(level)))
        off_bound = max(off_bound, abs(dx.regularity.leakage_bound(None, space, level) - formula))
    checked = f"at ε = {', '.join(map(str, LEVELS))} on V³"
    return [
        Row(
            "μ of the uniform prior on V^u",
            "(e^ε / (|V|(|V| - 1 + e^ε)))^u",
            yes(off_one < 1e-12),
            f"nμΦ is 1 within {off_one:.0e} {checked}",
            DASH,
            "before Thm 3",
        ),
        Row(
            "leakage under every prior",
            "u log₂(|V|e^ε / (|V| - 1 + e^ε))",
            yes(off_bound < 1e-9),
            f"log₂(nΣμ) is the same within {off_bound:.0e} {checked}",
            DASH,
            "Thm 3, Cor 2",
        ),
    ]


def example_3() -> list[Row]:
    """Return the threshold of the prior, and the two bounds at ε = 0.5."""
    prior, level = independent_records(), PRINTED.example_3_level
    accepted = accepted_from(least_mu(databases(), prior), PRINTED.example_3_end)
    exact = dx.regularity.threshold(regions.record(), leakage.record_prior())
    formula, every = leakage.printed_bound(level), leakage.every_prior_bound(level)
    return [
        threshold_row("the prior is regular from", PRINTED.example_3_threshold, exact, accepted, "Example 3"),
        Row(
            f"bound for this prior at ε = {level} (bits)",
            f"{PRINTED.example_3_bound}",
            f"{formula:.4f} by the formula, but the prior is not regular there",
            f"{leakage.proven_bound(level):.4f} (proven); a private mechanism leaks {leakage.leaked(level):.4f}",
            f"{formula:.4f}",
            "Example 3, Prop 5",
        ),
        Row(
            f"bound for every prior at ε = {level} (bits)",
            f"{PRINTED.example_3_every_prior}",
            f"{every:.4f}",
            f"{every:.4f}",
            DASH,
            "Example 3, Thm 3",
        ),
    ]


def proposition_9() -> list[Row]:
    """Return the mechanism of ball-size symmetric spaces: the printed sign, and the right one."""
    distances = 0.7 * regions.three_answers()["circle"].distances
    printed, corrected = (
        float((np.exp(sign * distances) / np.exp(-distances).sum(axis=1)[0]).sum(axis=1)[0]) for sign in (1, -1)
    )
    return [
        Row(
            "row sums on the circle of Example 1, ε = 0.7",
            "e^{+d} / Σ nᵣe^{-r}",
            f"no: rows sum to {printed:.4f}",
            f"{corrected:.4f} with e^{{-d}}",
            DASH,
            "Prop 9",
        )
    ]


def counting_query() -> list[Row]:
    """Return the tight-constraints mechanism on a line, beside the formula of the truncated geometric mechanism."""
    space, level = dx.line(11), 1.0
    rate = math.exp(-level)
    weights = np.full(11, (1 - rate) / (1 + rate))
    weights[[0, -1]] = 1 / (1 + rate)
    off = float(np.abs(dx.tight_constraints(space, level).matrix - dx.regularity.phi(space, level) * weights).max())
    return [
        Row(
            "tight-constraints mechanism of a counting query",
            "the truncated geometric one",
            yes(off < 1e-9),
            f"the same within {off:.0e} (10 people, ε = 1)",
            DASH,
            "§6.1",
        )
    ]


def threshold_row(what: str, printed: float, exact: dx.regularity.Threshold, accepted: float, source: str) -> Row:
    """Return the printed level is reproduced by the exact threshold, only by accepting negative entries, or not."""
    if math.isclose(math.ceil(exact.value / STEP) * STEP, printed):
        reproduced = "yes"
    else:
        reproduced = "only with negative entries" if math.isclose(accepted, printed) else "no"
    return Row(what, f"{printed}", reproduced, f"{exact.value:.6f} ({proven(exact)})", f"{accepted:.2f}", source)


def proven(threshold: dx.regularity.Threshold) -> str:
    return "proven" if threshold.proven else "sampled"


def yes(holds: bool) -> str:
    return "yes" if holds else "no"
