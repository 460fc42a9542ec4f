"""The profile of a run as text: whatever capability wrote it, the tables are the same."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gnomon.errors import RunDirectoryError
from gnomon.store.run import Run
from gnomon.store.table_limits import ROWS_TOLD_MOST
from gnomon.terminal_text import WIDTH, cut, fact_rows, filled
from gnomon.units import duration, printable, quantity, signal_name

_PROFILE = """
SELECT l.location, l.kind, l.rank, l.pid, l.tid, COALESCE(l.name, ''), COALESCE(m.name, ''),
       COALESCE(m.unit, ''), COALESCE(m.how, ''), p.inclusive, p.repetition, m.dilated
FROM profile p JOIN metrics m USING (metric) JOIN locations l USING (location)
WHERE l.kind = '{kind}' AND p.path IN (SELECT path FROM paths WHERE parent = -1)
ORDER BY p.repetition, l.location, m.metric
"""
_KINDS_OF_PARTS = """
SELECT DISTINCT r.kind FROM paths t JOIN regions r USING (region) WHERE t.parent <> -1
"""
# A command is not cut to less, however long the path of its run is.
_COMMAND_LEAST = 20


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One value of one metric at one location, in one repetition.

    Attributes:
        location, kind, rank, pid, tid, name: where; numbers that there are not are -1.
        metric, unit, how, value: what.
        repetition: number of the execution, from 0.
        dilated: a time of the emulation, not of the program.
    """

    location: int
    kind: str
    rank: int
    pid: int
    tid: int
    name: str
    metric: str
    unit: str
    how: str
    value: float
    repetition: int
    dilated: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the row by the keys of a report's JSON; whole numbers as such."""
        fields = asdict(self)
        del fields["value"]
        from gnomon.store.hotspots import whole

        return fields | {"total": whole(self.value)}


def profile(run: Run, kind: str) -> tuple[ProfileRow, ...]:
    """Return the values at every location of a kind: command, process or thread.

    Raises:
        RunDirectoryError: the tables cannot be read, or have too many values.
    """
    values: list[ProfileRow] = []
    for rows in run.stream(_PROFILE.format(kind=kind)):
        values += [ProfileRow(*row) for row in rows]
        if len(values) > ROWS_TOLD_MOST:
            raise RunDirectoryError(
                f"{run.path}: more than a million values of each {kind}, too many to print; see "
                "gnomon report RUN profile, or gnomon export"
            )
    return tuple(values)


def is_emulated(run: Run) -> bool:
    """Return whether the program ran on an emulated PMU, whose times are not the program's.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return bool(run.query("SELECT 1 FROM metrics WHERE dilated LIMIT 1"))


def command_text(head: Mapping[str, Any]) -> str:
    """Return the program and its arguments as a shell takes them."""
    return printable(shlex.join(head["command"])) or "attached process"


def title(run: Run, width: int, end: str = "") -> str:
    """Return the line that says which run it is, a long command cut; `run` has all of it.

    Args:
        run: the run.
        width: columns of the terminal.
        end: what stands behind the command.
    """
    begin = f"{run.path}: "
    room = max(width - len(begin) - len(end), _COMMAND_LEAST)
    return f"{begin}{cut(command_text(run.head), room)}{end}"


def render_run_facts(
    run: Run,
    rows: Sequence[ProfileRow],
    kind: str,
    *,
    width: int = WIDTH,
    emulated: bool = False,
) -> str:
    """Return the report of a run.

    Args:
        run: the run.
        rows: its values at every location of a kind.
        kind: command, process or thread.
        width: columns of the terminal.
        emulated: the program ran on an emulated PMU; its times are not the program's.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    head = run.head
    lines = [
        title(run, width, f"  [{exit_text(head)}]"),
        "  "
        + ", ".join(
            [
                started_text(head, "time not known"),
                wall_text(head, "wall time not known") + (" of emulation" if emulated else ""),
                *(str(host.get("name")) for host in head["hosts"]),
            ]
        ),
        "",
    ]
    if not rows:
        lines += filled(_nothing(kind, emulated), width)
    table = fact_rows(
        [(printable(row.metric), quantity(row.value, row.unit), _how(row)) for row in rows], width
    )
    previous = (-1, -1)
    for row, own in zip(rows, table, strict=True):
        if (row.repetition, row.location) != previous:
            previous = (row.repetition, row.location)
            lines += _place(row, head["repetitions"])
        lines += own
    lines += not_counted(head, width)
    for warning in head["warnings"]:
        lines += filled(f"note: {printable(warning)}", width, "", "      ")
    lines += _more(run) if kind == "command" else []
    return "\n".join(lines) + "\n"


def _more(run: Run) -> list[str]:
    """Return the lines that lead to what the run has beside values of the whole command."""
    kinds = [run.region_kinds.of(str(kind)) for (kind,) in run.query(_KINDS_OF_PARTS)]
    name = printable(shlex.quote(str(run.path)))
    lines = []
    if any(kind.is_section for kind in kinds):
        lines.append(f"its sections: gnomon report {name} profile --by region")
    if any(kind.is_code for kind in kinds):
        lines.append(f"its functions: gnomon report {name} hotspots")
    ranks = run.head.get("ranks")
    if isinstance(ranks, int) and ranks > 1:
        lines.append(f"its {ranks} ranks: gnomon report {name} profile --by rank")
    return lines


def without_values(head: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the events that have no values by the reason.

    Of the whole command and of its sections the reason is the same most often: it is said once.
    """
    by_reason: dict[str, list[str]] = {}
    for entry in head["unavailable"]:
        reason = str(entry.get("reason"))
        common = reason.removeprefix("in sections: ")
        names = by_reason.setdefault(common if common in by_reason else reason, [])
        if str(entry.get("event")) not in names:
            names.append(str(entry.get("event")))
    return by_reason


def not_counted(head: Mapping[str, Any], width: int) -> list[str]:
    """Return the lines that say what a run could not count, each reason once."""
    lines: list[str] = []
    for why, names in without_values(head).items():
        lines += filled(printable(f"not counted: {', '.join(names)}: {why}"), width, "", "    ")
    return lines


def killed_by(head: Mapping[str, Any]) -> str:
    """Return the name of the signal that killed a run's program, "" for none."""
    signal = head.get("signal")
    return signal_name(signal) if isinstance(signal, int) and signal > 0 else ""


def started_text(head: Mapping[str, Any], none: str, moment: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return when a run began, or a text where nobody knows: an imported file may not say."""
    started = float(head["started"])
    return time.strftime(moment, time.localtime(started)) if started else none


def wall_text(head: Mapping[str, Any], none: str) -> str:
    """Return how long a run's program ran, or a text where its end was not seen."""
    is_known = head["wall_seconds"] or head["exit_status"] is not None
    return duration(float(head["wall_seconds"]) * 1e9) if is_known else none


def exit_text(head: Mapping[str, Any]) -> str:
    """Return how a run's program ended."""
    status, killer = head["exit_status"], killed_by(head)
    if killer:
        return f"killed by {killer}"
    return "exit status not known" if status is None else f"exit {status}"


def _how(row: ProfileRow) -> str:
    return "of the emulation, not of the program" if row.dilated else row.how


def _nothing(kind: str, emulated: bool) -> str:
    if kind == "command":
        return "this run has no values of the whole command"
    what = f"this run has no values of each {kind}"
    if emulated and kind == "thread":
        return f"{what}: an emulated PMU tells processes apart, not threads; see --per process"
    return f"{what}; measure with: gnomon count --per {kind} --name NAME -- program"


def _place(row: ProfileRow, repetitions: int) -> list[str]:
    parts = []
    if repetitions > 1:
        parts.append(f"repetition {row.repetition + 1} of {repetitions}")
    if row.kind in ("core", "cpu"):
        parts.append(printable(row.name))
    elif row.kind != "command":
        parts += [f"rank {row.rank}"] if row.rank >= 0 else []
        parts.append(f"process {row.pid}" + (f", thread {row.tid}" if row.tid >= 0 else ""))
        parts.append(printable(row.name))
    return [", ".join(parts)] if parts else []
