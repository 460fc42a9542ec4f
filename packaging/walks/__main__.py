"""List the files of Gnomon that a value goes through, from a trace of real calls.

    python packaging/walks [event|count|unknown]

Runs the commands with the Gnomon that is installed beside the Python that runs this, follows the
value and prints each file that it goes through, in order, with the first function there. Needs
gdb and binutils for what is written in C, a compiler, Node and Chromium for `count`.
docs/design/walks.md shows the walks and says what is on one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from commands import Part, environment_of, run, trace, under_gdb
from count import record_count
from path import Walked, joined, returns, walked

# An event that no text names by chance: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS.
EVENT = "alignment-faults"
ENCODING = {"type": 1, "config": 7}
UNKNOWN = "no-such-event"


class Walk(NamedTuple):
    """A walk: what it is, and how to record it in a folder."""

    title: str
    record: Callable[[Path], list[Part]]


def record_event(folder: Path) -> list[Part]:
    """Count an event."""
    log = folder / "log"
    value = {"text": EVENT, "encoding": ENCODING}
    command = under_gdb(trace(log, value, "count", "-e", EVENT, "true"))
    run(command, folder, **environment_of(log, value))
    return [Part(log, ("opened",))]


def record_unknown(folder: Path) -> list[Part]:
    """Ask for an event that there is not."""
    log = folder / "log"
    run(trace(log, {"text": UNKNOWN}, "count", "-e", UNKNOWN, "true"), folder)
    return [Part(log, ("raised", "written"))]


WALKS = {
    "event": Walk("an event name of gnomon count -e, to perf_event_open(2)", record_event),
    "count": Walk("the count of an hpmStop, to the cell in the page", record_count),
    "unknown": Walk("an unknown event name, to the line on the screen", record_unknown),
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
            parts = WALKS[name].record(Path(folder))
            found = joined([walked(part.log, part.ends) for part in parts])
        show(WALKS[name], found)
        status |= not found.steps
    return status


if __name__ == "__main__":
    sys.exit(main())
