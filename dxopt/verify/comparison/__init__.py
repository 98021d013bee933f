"""The comparison in a report's folder, proven again: its bound, its order, and its verdict on the prior."""
