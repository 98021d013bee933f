"""Mechanisms known in closed form, to compare with; their reports are the secrets, and each is proven private."""

from dxopt.classic.contract import CLASSICS
from dxopt.classic.exponential import exponential
from dxopt.classic.geometric import geometric
from dxopt.classic.planar_laplace import planar_laplace
from dxopt.classic.response import randomised_response

__all__ = ["CLASSICS", "exponential", "geometric", "planar_laplace", "randomised_response"]
