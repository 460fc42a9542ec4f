"""What stops the harness, said as the rest of Gnomon says it: the thing, the cause, the remedy."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


class GuestError(Exception):
    """No machine, or no result of one; never a test that failed in it."""


def run(*command: str | Path, purpose: str, remedy: str = "", folder: Path | None = None) -> str:
    """Return what a command wrote to stdout.

    Raises:
        GuestError: it is not there or failed; with the last lines that it wrote.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise GuestError(explained(f"{purpose}: {words[0]}: {error.strerror}", remedy)) from error
    if done.returncode:
        said = last_lines(done.stdout + done.stderr)
        raise GuestError(
            explained(f"{purpose}: {words[0]} returned {done.returncode}", remedy, said)
        )
    return done.stdout


def explained(what: str, remedy: str, said: Sequence[str] = ()) -> str:
    """Return a message of several lines."""
    lines = [what, *(f"    {line}" for line in said)]
    return "\n".join([*lines, f"remedy: {remedy}"] if remedy else lines)


def last_lines(text: str, n: int = 20) -> list[str]:
    """Return the last lines of a text that say something."""
    return [line for line in text.splitlines() if line.strip()][-n:]
