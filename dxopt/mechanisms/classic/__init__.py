"""Mechanisms known in closed form: `catalogue` is `dx.classic`, `base` has the tables of their names."""
