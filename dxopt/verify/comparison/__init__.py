"""The comparison in claims.json, proven again: its rows, its bounds, and its verdict on the prior."""
