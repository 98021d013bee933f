"""Mechanisms in other libraries: tables of pandas, measurements of OpenDP. Each is imported when it is used."""

from dxopt.release.frames import mechanism_from_frame, prior_from_frame, to_frame
from dxopt.release.opendp import to_opendp

__all__ = ["mechanism_from_frame", "prior_from_frame", "to_frame", "to_opendp"]
