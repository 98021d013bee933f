"""Many problem files: one that fails never stops the others."""

from dxopt.batch.jobs import Overrides, problem_files
from dxopt.batch.outcome import Outcome
from dxopt.batch.performing import Answer
from dxopt.batch.running import run, run_apart

__all__ = ["Answer", "Outcome", "Overrides", "problem_files", "run", "run_apart"]
