"""Levels, frontiers and sweeps, proven again from the results that they rest on."""
