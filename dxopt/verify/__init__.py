"""Result folders proven again from their files alone, in exact arithmetic, by code that trusts no other room."""

from dxopt.verify.proving import verify
from dxopt.verify.verdict import Check, Outcome, Verdict

__all__ = ["Check", "Outcome", "Verdict", "verify"]
