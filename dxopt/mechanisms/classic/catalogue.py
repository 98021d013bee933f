"""Mechanisms known in closed form, to compare with: classics, proven private, and baselines, which are not private.

Reports are the secrets; `exponential` and `laplace` take others as well, and `remapped` replaces each by the best
one.
"""

from dxopt.mechanisms.classic.base import BASELINES, CLASSICS
from dxopt.mechanisms.classic.baselines import RateDistortionChannel, cloaking
from dxopt.mechanisms.classic.exponential import exponential, graph_exponential, truncated_exponential
from dxopt.mechanisms.classic.geometric import geometric
from dxopt.mechanisms.classic.laplace import laplace, staircase
from dxopt.mechanisms.classic.multivariate_laplace import multivariate_laplace
from dxopt.mechanisms.classic.planar_laplace import planar_laplace
from dxopt.mechanisms.classic.remapping import moved_to_nearest, remapped
from dxopt.mechanisms.classic.response import randomised_response

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
