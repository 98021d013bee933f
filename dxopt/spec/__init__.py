"""Problem files: YAML in, tasks out."""

from dxopt.spec.build import Task, build_tasks, load
from dxopt.spec.family import ProblemFile, read_problems
from dxopt.spec.fields import MAX_REGULAR
from dxopt.spec.levels import read_level, read_levels
from dxopt.spec.problems import json_schema
from dxopt.spec.sheet import Expected
from dxopt.spec.source import SpecFileError

__all__ = [
    "MAX_REGULAR",
    "Expected",
    "ProblemFile",
    "SpecFileError",
    "Task",
    "build_tasks",
    "json_schema",
    "load",
    "read_level",
    "read_levels",
    "read_problems",
]
