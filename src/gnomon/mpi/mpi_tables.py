"""Rows of the model for what wrappers left of every process."""

from __future__ import annotations

from pathlib import Path

from gnomon.model.capability_result import Collected


def collect(folder: Path) -> Collected:
    """Return them."""
    return Collected(facts={"processes": len(list(folder.glob("*.mpi.totals")))})
