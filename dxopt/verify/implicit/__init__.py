"""Mechanisms that are not written down, proven again."""
