"""Composition: joint privacy of several independent releases about one secret."""

from dxopt.analysis.composition.composed import Composed
from dxopt.analysis.composition.composing import Composition, compose

__all__ = ["Composed", "Composition", "compose"]
