"""Measure mechanisms and priors: utility, leakage, inference, regularity."""
