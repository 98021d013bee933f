"""The measures in claims.json, computed again: losses, leakage, beliefs, records, error bounds and least levels."""
