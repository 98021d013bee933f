"""Repair of channels, bounds by duals, and the proof of privacy that every mechanism passes."""
