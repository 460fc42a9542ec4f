"""Watching a machine in intervals: `gnomon stat` and `hpmstat`."""
