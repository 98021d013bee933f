"""Proofs that a dual has the claimed bound: weak duality, in integers, for multipliers, lines and products."""
