"""Arithmetic in doubles with every rounding counted."""
