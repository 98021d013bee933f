"""A mechanism applied to people's data: frames and files, with what was done written beside them."""

from dxopt.release.applying.application import Applied, Output, apply
from dxopt.release.applying.plan import Columns

__all__ = ["Applied", "Columns", "Output", "apply"]
