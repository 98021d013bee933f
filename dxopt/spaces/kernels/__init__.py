"""Φw = b for kernel matrices Φ = e^{-εd} that are known by their structure, with a bound on every error.

For b = 1 the solution is the weighting of the space, in the words of magnitude theory. Which one is taken:

- `Path`, `Forest`: numbers on a line, graphs without cycles. Φ⁻¹ is as sparse as the graph: O(n).
- `Kronecker`: products under d_1, among them Manhattan grids and tuples under the Hamming distance. Factor by factor.
- `Circulant`: tori. Fourier transforms diagonalise Φ.
- `Toeplitz`: Euclidean and Chebyshev grids. Products by Fourier transforms, conjugate gradients
  with a circulant preconditioner.
- `Dense`: anything else, by Cholesky.
"""

from dxopt.spaces.kernels.base import ROOM as ROOM
from dxopt.spaces.kernels.base import System as System
from dxopt.spaces.kernels.dense import Dense as Dense
from dxopt.spaces.kernels.forest import Forest as Forest
from dxopt.spaces.kernels.forest import Path as Path
from dxopt.spaces.kernels.kronecker import Kronecker as Kronecker
from dxopt.spaces.kernels.lattice import Circulant as Circulant
from dxopt.spaces.kernels.lattice import Toeplitz as Toeplitz
from dxopt.spaces.kernels.lattice import least_eigenvalue as least_eigenvalue
