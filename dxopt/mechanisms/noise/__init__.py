"""Noise added to numbers and points, private whatever they are (CABP13 §4.1, Figure 2)."""

from dxopt.mechanisms.noise.base import LineNoise, Noise
from dxopt.mechanisms.noise.geometric import Geometric
from dxopt.mechanisms.noise.laplace import Laplace, ManhattanLaplace, MultivariateLaplace, PlanarLaplace
from dxopt.mechanisms.noise.staircase import Staircase

__all__ = [
    "Geometric",
    "Laplace",
    "LineNoise",
    "ManhattanLaplace",
    "MultivariateLaplace",
    "Noise",
    "PlanarLaplace",
    "Staircase",
]
