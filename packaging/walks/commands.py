"""The commands that record walks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PATIENCE_S = 300


class Part(NamedTuple):
    """A part of a walk, in one process: its log, and what ends it: events or functions."""

    log: Path
    ends: tuple[str, ...]


def trace(log: Path, value: dict[str, Any], *words: str) -> list[str]:
    """Return the command that runs `gnomon` and records what Python calls with a value."""
    return [sys.executable, str(HERE / "python_calls.py"), str(log), json.dumps(value), *words]


def run(command: list[str], folder: Path, **environment: str) -> None:
    """Run a command to its end in a folder."""
    subprocess.run(
        command, cwd=folder, env=os.environ | environment, check=False, timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def under_gdb(command: list[str]) -> list[str]:
    """Return a command that runs another and records what its C functions do with a value."""
    return ["gdb", "--nx", "--batch", "-x", str(HERE / "native_calls.py"), "--args", *command]


def environment_of(log: Path, value: dict[str, Any]) -> dict[str, str]:
    """Return what native_calls.py finds in the environment."""
    return {"GNOMON_WALKS_LOG": str(log), "GNOMON_WALKS_VALUE": json.dumps(value)}
