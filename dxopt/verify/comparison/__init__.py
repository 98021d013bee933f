"""Rows of a comparison proven again."""
