"""Problem files: YAML in, tasks out."""

from dxopt.spec.build import Expect, Task, load
from dxopt.spec.family import names_and_files
from dxopt.spec.fields import MAX_REGULAR
from dxopt.spec.levels import read_levels
from dxopt.spec.schema import json_schema
from dxopt.spec.source import SpecFileError

__all__ = [
    "MAX_REGULAR",
    "Expect",
    "SpecFileError",
    "Task",
    "json_schema",
    "load",
    "names_and_files",
    "read_levels",
]
