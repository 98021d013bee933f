"""Noise added to numbers and points, private whatever they are (CABP13 §4.1, Figure 2)."""

from dxopt.noise.contract import LineNoise, Noise
from dxopt.noise.geometric import Geometric
from dxopt.noise.laplace import Laplace, ManhattanLaplace, PlanarLaplace
from dxopt.noise.staircase import Staircase

__all__ = ["Geometric", "Laplace", "LineNoise", "ManhattanLaplace", "Noise", "PlanarLaplace", "Staircase"]
