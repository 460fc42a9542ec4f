"""Benchmarks: every figure is a ratio to a named peer and to the floor, taken in one run."""
