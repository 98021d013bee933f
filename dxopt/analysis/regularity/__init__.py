"""Regular priors: which they are, from which ε on, and what they bound (ECP14 §4 to §6).

Orientation: Φ[x, x'] = e^{-εd(x, x')}, and a prior is regular when π_x = Σ_y Φ[x, y] μ_y for some μ ≥ 0, that is
π = μΦᵀ; for symmetric distances that is ECP14's π = μΦ. A prior in doubles sums to 1 only up to rounding, which does
not matter: regularity is a cone condition, so scaling the prior changes nothing.
"""

from dxopt.analysis.regularity.bounds import (
    binary_utility_bound,
    database_leakage_bound,
    leakage_bound,
    utility_bound,
)
from dxopt.analysis.regularity.corner import corner_prior, corner_priors, phi
from dxopt.analysis.regularity.optimality import RegionVerdict, is_optimal_on_region
from dxopt.analysis.regularity.regions import Region, region
from dxopt.analysis.regularity.thresholds import Threshold, threshold
from dxopt.analysis.regularity.verdicts import Verdict, verdict

__all__ = [
    "Region",
    "RegionVerdict",
    "Threshold",
    "Verdict",
    "binary_utility_bound",
    "corner_prior",
    "corner_priors",
    "database_leakage_bound",
    "is_optimal_on_region",
    "leakage_bound",
    "phi",
    "region",
    "threshold",
    "utility_bound",
    "verdict",
]
