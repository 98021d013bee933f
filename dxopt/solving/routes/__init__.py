"""The ways to an answer, and the order in which they are tried."""
