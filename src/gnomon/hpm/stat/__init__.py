"""Watching a machine: `gnomon stat` and `hpmstat`."""
