"""Profiles of other tools as runs: collapsed stacks, speedscope, pprof."""
