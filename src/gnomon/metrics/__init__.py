"""Formulas, event groups and derived metrics as data: HPM's and LIKWID's job."""
