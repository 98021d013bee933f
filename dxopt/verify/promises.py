"""Claims about pairs of beliefs, proven again."""

from __future__ import annotations

from fractions import Fraction

from dxopt.verify.beliefs import is_least, violated
from dxopt.verify.files import TABLE
from dxopt.verify.folder import Result
from dxopt.verify.verdict import Broken

LEVEL = "belief_level"


def claims_beliefs(result: Result) -> bool:
    """Return whether any file claims something about pairs of beliefs."""
    arrays = any(key.startswith("belief_") for key in result.problem)
    return arrays or result.certificate.get(LEVEL) is not None or "belief" in result.dual


def check_beliefs(result: Result) -> str:
    """Every pair in every report at the certificate's level, and at no smaller one; the files agree about them."""
    pairs = result.beliefs
    if pairs is None:
        raise Broken("pairs of beliefs are claimed, but there are none in problem.npz")
    if result.certificate.get(LEVEL) is None:
        raise Broken(f"{result.source}: there is no {LEVEL}, but there are pairs of beliefs")
    claimed = result.claimed(LEVEL)
    if not 0 <= claimed <= pairs.epsilon:
        raise Broken(f"{result.source}: {LEVEL} is {claimed:.17g}, but {float(pairs.epsilon):.17g} was asked for")
    if not result.written:
        raise Broken("pairs of beliefs are claimed of a channel that is not written down")
    if (result.folder / TABLE).is_file():
        raise Broken(f"there is a {TABLE}, of which nothing is proven for pairs of beliefs")
    if result.delta or result.objective not in ("expected_loss", "worst_expected_loss", "worst_loss"):
        raise Broken(f"pairs of beliefs do not go with delta or {result.objective}")
    sums = pairs.expected(result.channel)
    found = violated(pairs, sums, Fraction(claimed))
    if found is not None:
        pair, report = found
        raise Broken(
            f"the beliefs of pair {pair}, {pairs.names[pair]}, are told apart by report {result.report(report)} "
            f"at {LEVEL} {claimed:.17g}"
        )
    if not is_least(pairs, sums, Fraction(claimed)):
        raise Broken(f"{result.source}: {LEVEL} {claimed:.17g} is not the least")
    reports = result.matrix.shape[1]
    return f"epsilon {claimed:.10g} holds for {len(pairs.first):,} ordered pairs of beliefs in {reports:,} reports"
