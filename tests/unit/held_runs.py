"""Runs whose tables stay open while a test asks for them again and again."""

from __future__ import annotations

from gnomon.store import run_directory
from gnomon.store.run import Run


def held(name: str) -> Run:
    """Return a run: as long as it lives, who reads it by this name takes its database.

    To open one takes 30 ms, most of a small report. It is opened anew where a file has changed.
    """
    run = run_directory.find(name)
    run.query("SELECT 1")
    return run
