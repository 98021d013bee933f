"""Result folders proven again from their files alone, in exact arithmetic, by code that trusts no other room."""

from dxopt.verify.proving import verify, verify_all, verify_table
from dxopt.verify.published.proving import verify_published
from dxopt.verify.verdict import Check, Outcome, Verdict, Verdicts

__all__ = ["Check", "Outcome", "Verdict", "Verdicts", "verify", "verify_all", "verify_published", "verify_table"]
