"""Mechanisms known in closed form, to compare with: classics, proven private, and baselines, which are not private.

Reports are the secrets; `exponential` and `laplace` take others as well, and `remapped` replaces each by the best
one.
"""

from dxopt.mechanisms.classic.cloaking import cloaking
from dxopt.mechanisms.classic.contract import BASELINES, CLASSICS
from dxopt.mechanisms.classic.exponential import exponential
from dxopt.mechanisms.classic.geometric import geometric
from dxopt.mechanisms.classic.laplace import laplace
from dxopt.mechanisms.classic.planar_laplace import planar_laplace
from dxopt.mechanisms.classic.rate_distortion import RateDistortionChannel
from dxopt.mechanisms.classic.remapping import remapped
from dxopt.mechanisms.classic.response import randomised_response
from dxopt.mechanisms.classic.staircase import staircase

__all__ = [
    "BASELINES",
    "CLASSICS",
    "RateDistortionChannel",
    "cloaking",
    "exponential",
    "geometric",
    "laplace",
    "planar_laplace",
    "randomised_response",
    "remapped",
    "staircase",
]
