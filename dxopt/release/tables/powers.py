"""Lower bounds on e^{εd} by integers alone, for the real product of the doubles ε and d."""

from __future__ import annotations

PRECISION = 320
"""Binary places of every bound, enough to decide counts out of 2^256 to the unit."""
MOST = 700
"""Larger budgets count as this one, which is safe in a lower bound."""
_FINE = 8


def power_below(epsilon: float, distance: float) -> int:
    """P with P / 2^320 ≤ e^{εd}, at least 2^320, for finite ε and d of 0 or more.

    The budget is halved until it is at most 2^-8; Taylor's polynomial, all of whose terms are positive, is summed
    with every rounding downwards, and squared as often.
    """
    (level, scale), (length, unit) = epsilon.as_integer_ratio(), distance.as_integer_ratio()
    top, bottom = level * length, scale * unit
    if top > MOST * bottom:
        top, bottom = MOST, 1
    halvings = (top // bottom).bit_length() + _FINE
    budget = (top << PRECISION) // (bottom << halvings)
    power = term = 1 << PRECISION
    order = 0
    while term:
        order += 1
        term = (term * budget >> PRECISION) // order
        power += term
    for _ in range(halvings):
        power = power * power >> PRECISION
    return power
