"""Mechanisms as tables of integers, proven by integers alone and sampled exactly from random bits."""

from dxopt.release.tables.making import integer_table
from dxopt.release.tables.table import IntegerTable

__all__ = ["IntegerTable", "integer_table"]
