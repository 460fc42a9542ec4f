"""The profile of a run as text: whatever capability wrote it, the tables are the same."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gnomon.store.rundir import Run
from gnomon.units import duration, printable, quantity

_PROFILE = """
SELECT l.location, l.kind, l.pid, l.tid, l.name, m.name, m.unit, m.how, p.inclusive, p.repetition
FROM profile p JOIN metrics m USING (metric) JOIN locations l USING (location)
WHERE l.kind = '{kind}' AND p.path IN (SELECT path FROM paths WHERE parent = -1)
ORDER BY p.repetition, l.location, m.metric
"""


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One value of one metric at one location, in one repetition."""

    location: int
    kind: str
    pid: int
    tid: int
    name: str
    metric: str
    unit: str
    how: str
    value: float
    repetition: int

    def as_dict(self) -> dict[str, Any]:
        """Return the row by field name."""
        return asdict(self)


def profile(run: Run, kind: str) -> tuple[ProfileRow, ...]:
    """Return the values at every location of a kind: command, process or thread.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return tuple(ProfileRow(*row) for row in run.query(_PROFILE.format(kind=kind)))


def text(run: Run, rows: Sequence[ProfileRow], kind: str) -> str:
    """Return the report of a run."""
    head = run.head
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(head["started"]))
    what = printable(shlex.join(head["command"])) or "attached process"
    lines = [
        f"{run.path}: {what}  [exit {head['exit_status']}]",
        f"  {started}, {duration(float(head.get('wall_seconds', 0)) * 1e9)}, "
        + ", ".join(str(host.get("name")) for host in head["hosts"]),
        "",
    ]
    if not rows:
        lines.append(f"this run has no values of each {kind}; measure with --per {kind}")
    at = (-1, -1)
    width = max((len(row.metric) for row in rows), default=0)
    cells = {id(row): quantity(row.value, row.unit) for row in rows}
    values = max((len(cell) for cell in cells.values()), default=0)
    for row in rows:
        if (row.repetition, row.location) != at:
            at = (row.repetition, row.location)
            lines += _place(row, head["repetitions"])
        lines.append(f"  {row.metric:<{width}}  {cells[id(row)]:>{values}}  {row.how}")
    by_reason: dict[str, list[str]] = {}
    for missing in head["unavailable"]:
        by_reason.setdefault(str(missing.get("reason")), []).append(str(missing.get("event")))
    lines += [f"not counted: {', '.join(names)}: {why}" for why, names in by_reason.items()]
    for warning in head["warnings"]:
        lines.append(f"note: {warning}")
    return "\n".join(lines) + "\n"


def _place(row: ProfileRow, repetitions: int) -> list[str]:
    parts = []
    if repetitions > 1:
        parts.append(f"repetition {row.repetition + 1} of {repetitions}")
    if row.kind != "command":
        parts.append(f"process {row.pid}" + (f", thread {row.tid}" if row.tid >= 0 else ""))
        parts.append(printable(row.name))
    return [", ".join(parts)] if parts else []
