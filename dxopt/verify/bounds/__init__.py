"""Bounds of a result proven again from its dual."""
