"""Sections that a program marks with libhpm: its functions for Python, and what they measured."""
