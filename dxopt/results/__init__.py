"""Results: reports, comparisons, sweeps and frontiers, their folders, figures, maps and pages."""
