"""List the files of Gnomon that a value goes through, from a trace of real calls.

    python packaging/walks [event|unknown]

Runs the commands with the Gnomon that is installed beside the Python that runs this, follows the
value and prints each file that it goes through, in order, with the first function there. Needs
gdb and binutils for what is written in C. docs/architecture.md shows the walks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from path import Walked, returns, walked

HERE = Path(__file__).resolve().parent
PATIENCE_S = 300
# An event that no text names by chance: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS.
EVENT = "alignment-faults"
ENCODING = {"type": 1, "config": 7}
UNKNOWN = "no-such-event"


class Walk(NamedTuple):
    """A walk: what it is, how to record it in a log, and what ends it."""

    title: str
    record: Callable[[Path], None]
    ends: tuple[str, ...]


def trace(log: Path, value: dict[str, Any], *words: str) -> list[str]:
    """Return the command that runs `gnomon` and records what Python calls with a value."""
    return [sys.executable, str(HERE / "python_calls.py"), str(log), json.dumps(value), *words]


def run(command: list[str], **environment: str) -> None:
    """Run a command to its end, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            command, cwd=folder, env=os.environ | environment, check=False, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def run_under_gdb(log: Path, value: dict[str, Any], command: list[str]) -> None:
    """Run a command to its end and record what its C functions do with a value."""
    gdb = ["gdb", "--nx", "--batch", "-x", str(HERE / "native_calls.py"), "--args", *command]
    run(gdb, GNOMON_WALKS_LOG=str(log), GNOMON_WALKS_VALUE=json.dumps(value))


def record_event(log: Path) -> None:
    """Count an event."""
    value = {"text": EVENT, "encoding": ENCODING}
    run_under_gdb(log, value, trace(log, value, "count", "-e", EVENT, "true"))


def record_unknown(log: Path) -> None:
    """Ask for an event that there is not."""
    run(trace(log, {"text": UNKNOWN}, "count", "-e", UNKNOWN, "true"))


WALKS = {
    "event": Walk(
        "an event name of gnomon count -e, to perf_event_open(2)", record_event, ("opened",)
    ),
    "unknown": Walk(
        "an unknown event name, to the line on the screen", record_unknown, ("raised", "written")
    ),
}


def show(walk: Walk, found: Walked) -> None:
    """Print a walk."""
    print(f"{walk.title}: {len(found.steps)} files")
    width = max((len(step.file) for step in found.steps), default=0)
    for number, step in enumerate(found.steps, 1):
        print(f"  {number:2}  {step.file:{width}}  {step.function}")
    print("  calls to a higher layer: " + (", ".join(found.upward) or "none"))
    print("  packages entered again: " + (", ".join(returns(found.steps)) or "none"))


def main() -> int:
    """Print the walks that are asked for, or all."""
    names = sys.argv[1:] or list(WALKS)
    unknown = [name for name in names if name not in WALKS]
    if unknown:
        print(f"walks: {unknown[0]}: choose from {', '.join(WALKS)}", file=sys.stderr)
        return 2
    status = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            log.touch()
            WALKS[name].record(log)
            found = walked(log, WALKS[name].ends)
        show(WALKS[name], found)
        status |= not found.steps
    return status


if __name__ == "__main__":
    sys.exit(main())
