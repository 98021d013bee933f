"""Measures of a result computed again."""
