"""The loops of `tree_loops`, compiled for arrays."""

from __future__ import annotations

from dxopt.numerics.kernels import FLAG, FLAGS, INDICES, POSITIONS, REAL, VECTOR, WHOLE, kernel
from dxopt.spaces.kernels import tree_loops as loops

adjacent = kernel(INDICES, INDICES, INDICES, INDICES)(loops.adjacent)
walk = kernel(INDICES, INDICES, POSITIONS, POSITIONS, POSITIONS, FLAGS)(loops.walk)
inwards = kernel(POSITIONS, VECTOR, REAL, VECTOR, VECTOR, VECTOR, FLAG)(loops.inwards)
outwards = kernel(POSITIONS, VECTOR, VECTOR, REAL, VECTOR, VECTOR, VECTOR, FLAG)(loops.outwards)
closure = kernel(POSITIONS, VECTOR, VECTOR)(loops.closure)
distances = kernel(POSITIONS, VECTOR, WHOLE, VECTOR)(loops.distances)
