"""Many problem files: one that fails never stops the others."""

from dxopt.batch.overrides import Overrides
from dxopt.batch.run import run, run_apart

__all__ = ["Overrides", "run", "run_apart"]
