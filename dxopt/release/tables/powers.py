"""Lower bounds on e^{εd} by integers alone, for the real product of the doubles ε and d."""

from __future__ import annotations

PRECISION = 320
"""Binary digits after the point of every bound, enough to decide counts out of 2^256 to the unit."""
MOST = 700
"""Larger budgets count as this one, which is safe in a lower bound."""
_FINE = 8


def power_below(epsilon: float, distance: float) -> int:
    """P with P / 2^320 ≤ e^{εd}, at least 2^320, for finite ε and d of 0 or more.

    The budget is halved until it is at most 2^-8; Taylor's polynomial, all of whose terms are positive, is summed
    with every rounding downwards, and squared as often.
    """
    # The budget εd as a quotient of integers, exactly.
    epsilon_top, epsilon_bottom = epsilon.as_integer_ratio()
    distance_top, distance_bottom = distance.as_integer_ratio()
    top = epsilon_top * distance_top
    bottom = epsilon_bottom * distance_bottom
    if top > MOST * bottom:
        top = MOST
        bottom = 1
    # Halved so often that it is at most 2^-8, in units of 2^-320 and rounded down.
    halvings = (top // bottom).bit_length() + _FINE
    budget = (top << PRECISION) // (bottom << halvings)
    # Σ budget^k / k!, until a term is below 2^-320: each term from the one before it.
    power = 1 << PRECISION
    term = power
    order = 0
    while term:
        order += 1
        term = (term * budget >> PRECISION) // order
        power += term
    # e^{2b} = (e^b)², as often as the budget was halved.
    for _ in range(halvings):
        power = power * power >> PRECISION
    return power
