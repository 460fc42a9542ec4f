"""Gnomon tells where a program's time, cache misses, messages and bytes go."""

__version__ = "0.1.0"

__all__ = ["__version__"]
