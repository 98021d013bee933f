"""Nouns of a problem: prior, loss, objective, problem, and the mechanism that answers it."""
