"""The comparison in report.json, proven again: its rows, its bounds, and its verdict on the prior."""
