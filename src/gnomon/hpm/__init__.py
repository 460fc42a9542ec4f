"""Whole-program counting: `gnomon count` and `hpmcount`."""
