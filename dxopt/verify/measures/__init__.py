"""The measures in report.json, computed again: losses, leakage, beliefs, records, error bounds and least levels."""
