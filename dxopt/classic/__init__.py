"""Mechanisms known in closed form, to compare with: classics, proven private, and baselines, which are not private.

Reports are the secrets; `exponential` and `laplace` take others as well, and `remapped` says what is best to say.
"""

from dxopt.classic.cloaking import cloaking
from dxopt.classic.contract import BASELINES, CLASSICS
from dxopt.classic.exponential import exponential
from dxopt.classic.geometric import geometric
from dxopt.classic.laplace import laplace
from dxopt.classic.planar_laplace import planar_laplace
from dxopt.classic.rate_distortion import RateDistortionChannel
from dxopt.classic.remapping import remapped
from dxopt.classic.response import randomised_response
from dxopt.classic.staircase import staircase

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
