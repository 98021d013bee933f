"""Mechanisms known in closed form, to compare with: classics, proven private, and baselines, which are not private.

Reports are the secrets; `exponential` and `laplace` take others as well, and `remapped` replaces each by the best
one.
"""

from dxopt.mechanisms.classic.cloaking import cloaking
from dxopt.mechanisms.classic.contract import BASELINES, CLASSICS
from dxopt.mechanisms.classic.exponential import exponential
from dxopt.mechanisms.classic.geometric import geometric
from dxopt.mechanisms.classic.graph_exponential import graph_exponential
from dxopt.mechanisms.classic.laplace import laplace
from dxopt.mechanisms.classic.multivariate_laplace import multivariate_laplace
from dxopt.mechanisms.classic.planar_laplace import planar_laplace
from dxopt.mechanisms.classic.rate_distortion import RateDistortionChannel
from dxopt.mechanisms.classic.remapping import moved_to_nearest, remapped
from dxopt.mechanisms.classic.response import randomised_response
from dxopt.mechanisms.classic.staircase import staircase
from dxopt.mechanisms.classic.truncated_exponential import truncated_exponential

__all__ = [
    "BASELINES",
    "CLASSICS",
    "RateDistortionChannel",
    "cloaking",
    "exponential",
    "geometric",
    "graph_exponential",
    "laplace",
    "moved_to_nearest",
    "multivariate_laplace",
    "planar_laplace",
    "randomised_response",
    "remapped",
    "staircase",
    "truncated_exponential",
]
