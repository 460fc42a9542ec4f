"""Comparing runs: the samples of each side, how they differ, and that as text and JSON."""
