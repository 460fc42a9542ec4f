"""How much of each thread's stack is copied with a sample."""

from __future__ import annotations

STACK_KB = 32
STACK_KB_MOST = 63
"""Kilobytes that the kernel copies at most: as many of Python processes, whose libraries keep
buffers on their stacks."""
