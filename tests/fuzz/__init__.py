"""Fuzzing: random problems of every kind, solved and judged by exact code. `python -m tests.fuzz --help`."""
