"""Questions that take many solves: comparisons, levels, frontiers, sweeps."""
