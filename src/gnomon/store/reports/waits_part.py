"""The part `waits` of a report: how long threads ran and waited, for what, and where."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.model.metric import WAITING_TIME
from gnomon.model.symbol_names import short_name
from gnomon.named_tuple import NamedTuple
from gnomon.store import waits
from gnomon.store.reports.report_part import (
    FILE,
    FUNCTION,
    HOW,
    LINE,
    METRIC,
    MODULE,
    PLACE,
    TOP,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import GAP, INDENT
from gnomon.store.waits import CodeWaits, ThreadWaits, code_waits, threads
from gnomon.terminal_text import filled, grid, shortened
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from gnomon.store.run import Run

BY_THREAD, BY_FUNCTION = "thread", "function"
_OF_METRIC = {"metric": WAITING_TIME, "unit": "s", "how": "counted"}
_REASONS_SHOWN = 4
_PLACES_BELOW = 8
_ABSENT = "-"
_NAME_LEAST = 12
_SECONDS = Key("seconds", "number", "of all executions, those that are estimated with them")
_ESTIMATE = Key(
    "estimated", "number",
    "seconds of these whose stacks were not taken, given to stacks of waits as long",
)  # fmt: skip
_REASON = Key("reason", "string", "what was waited for: lock, read: pipe, sleep, waiting for a CPU")
_KEYS = (
    *(key._replace(by=(BY_THREAD,)) for key in PLACE),
    Key("wall", "number", "seconds from the thread's begin to its end; null where not known",
        (BY_THREAD,)),
    Key("running", "number", "seconds on a CPU: the rest of `wall`, or else `cpu_time`",
        (BY_THREAD,)),
    Key("cpu_time", "number", "the same as CPU time by samples; null where there are none",
        (BY_THREAD,)),
    _REASON, _SECONDS, _ESTIMATE,
    METRIC, UNIT, HOW,
    *(key._replace(by=(BY_FUNCTION,)) for key in (FUNCTION, MODULE, FILE, LINE)),
    Key("waits", "integer", "how many there were whose stacks were taken", (BY_FUNCTION,)),
    Key("longest", "number", "seconds of the longest of these; null where there is none",
        (BY_FUNCTION,)),
    Key("woken_by", "string", "who ended most of the time; empty where that is not known",
        (BY_FUNCTION,)),
    Key("held_by", "string", "the thread that had the lock for most of the time, likewise",
        (BY_FUNCTION,)),
)  # fmt: skip


class Waits(NamedTuple):
    """How long threads ran and waited, for what, and where."""

    name: str = "waits"
    title: str = "how long threads ran and waited, for what and where"
    by: tuple[str, ...] = (BY_THREAD, BY_FUNCTION)
    argument: str = ""
    options: frozenset[str] = frozenset(("top",))
    keys: tuple[Key, ...] = _KEYS

    def is_in(self, run: Run) -> bool:
        """Return whether waits were recorded."""
        return bool(run.query(f"{waits.VALUES} LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return a table of threads, and below it of code; by function that alone.

        Raises:
            GnomonError: the run has no waits.
        """
        _check(self, run)
        top = TOP if request.top is None else request.top
        lines = [title(run, request.width)]
        if request.by != BY_FUNCTION:
            lines += _threads_text(threads(run), top, request.width)
        code = code_waits(run)
        most = top if request.by == BY_FUNCTION else _PLACES_BELOW
        lines += _code_text(code, most, request.width)
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each reason of a thread, or of a line; raises as `text`."""
        _check(self, run)
        if request.by == BY_FUNCTION:
            return PartData(
                [{**one._asdict(), **_OF_METRIC} for one in code_waits(run)[: request.top or None]]
            )
        return PartData(
            [
                {
                    **thread.place,
                    "wall": thread.wall,
                    "running": thread.running,
                    "cpu_time": thread.cpu_time,
                    "reason": reason,
                    "seconds": seconds,
                    "estimated": thread.estimated.get(reason, 0.0),
                    **_OF_METRIC,
                }
                for thread in threads(run)[: request.top or None]
                for reason, seconds in thread.reasons.items()
            ]
        )


def _check(part: Waits, run: Run) -> None:
    if not part.is_in(run):
        if run.query(waits.IS_TOLD):
            raise GnomonError(
                f"{run.path}: its waiting time has no reasons, which Gnomon alone tells; where it "
                f"was: gnomon report {shlex.quote(str(run.path))} profile -e '{WAITING_TIME}'"
            )
        raise GnomonError(
            f"{run.path}: no waits were recorded, or of less than 50 ms in all; to record them: "
            "gnomon record --off-cpu"
        )


def summary(run: Run, width: int) -> str:
    """Return what threads waited for in one line, "" if they did not.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    sums: dict[str, float] = {}
    locations = set()
    for location, name, seconds in run.query(waits.VALUES):
        reason, _ = waits.reason_of(str(name))
        sums[reason] = sums.get(reason, 0.0) + seconds
        locations.add(location)
    total = sum(sums.values())
    if not total:
        return ""
    largest = sorted(sums, key=lambda reason: (-sums[reason], reason))
    told = [f"{_head(reason)} {100 * sums[reason] / total:.0f} %" for reason in largest]
    threads = "1 thread" if len(locations) == 1 else f"{number(len(locations))} threads"
    text = f"{threads} waited for {quantity(total, 's', _ABSENT)} in sum: "
    shown = 1
    while shown < min(len(told), _REASONS_SHOWN) and sums[largest[shown]] >= 0.005 * total:
        if len(text + ", ".join(told[: shown + 1])) > width:
            break
        shown += 1
    return text + ", ".join(told[:shown])


# --- text -----------------------------------------------------------------------------------------


def _threads_text(rows: Sequence[ThreadWaits], top: int, width: int) -> list[str]:
    total: dict[str, float] = {}
    for row in rows:
        for reason, seconds in row.reasons.items():
            total[reason] = total.get(reason, 0.0) + seconds
    largest = sorted(total, key=lambda reason: (-total[reason], reason))
    listed = rows[:top] if top else rows
    names, cells = _columns(rows, listed, largest[:_REASONS_SHOWN], len(largest))
    n_reasons = min(len(largest), _REASONS_SHOWN)
    while n_reasons > 1 and _taken(names, cells) > width - INDENT - _NAME_LEAST:
        n_reasons -= 1
        names, cells = _columns(rows, listed, largest[:n_reasons], len(largest))
    room = max(width - INDENT - _taken(names, cells), _NAME_LEAST)
    for cell, own in zip(cells, listed, strict=True):
        rank = f"rank {own.place['rank']} " if int(own.place["rank"]) >= 0 else ""
        tid = f"{own.place['tid']} " if int(own.place["tid"]) >= 0 else ""
        name = f"{rank}{tid}{own.place['name']}"
        cell.append(shortened(printable(name), room))
    lines = list(grid([(name,) for name in (*names, "thread")], cells, len(names)).lines)
    if len(rows) > len(cells):
        lines.append(f"  and {number(len(rows) - len(cells))} more (--top 0 for all)")
    lines += filled(_of_what(rows), width)
    return lines


def _columns(
    rows: Sequence[ThreadWaits], listed: Sequence[ThreadWaits], shown: Sequence[str], n_reasons: int
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and cells of threads, reasons that are not shown in one column."""
    has_more = n_reasons > len(shown)
    cells = []
    for row in listed:
        others = row.waiting - sum(row.reasons.get(reason, 0.0) for reason in shown)
        cells.append(
            [
                quantity(row.whole, "s", _ABSENT),
                _share(row.running, row.whole),
                *(_share(row.reasons.get(reason, 0.0), row.whole) for reason in shown),
                *([_share(others, row.whole)] if has_more else []),
            ]
        )
    names = [
        "wall" if all(row.wall for row in rows) else "sum",
        "running",
        *(printable(_head(reason)) for reason in shown),
        *(["other"] if has_more else []),
    ]
    return names, cells


def _taken(names: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    return sum(
        max(len(name), *(len(row[column]) for row in cells)) + GAP
        for column, name in enumerate(names)
    )


def _code_text(rows: Sequence[CodeWaits], most: int, width: int) -> list[str]:
    total = sum(row.seconds for row in rows)
    shown = rows[:most] if most else rows
    columns = [
        ("of waiting", [f"{100 * row.seconds / total:.1f} %" for row in shown]),
        ("total", [quantity(row.seconds, "s", _ABSENT) for row in shown]),
        ("longest", [quantity(row.longest, "s", _ABSENT) for row in shown]),
        ("waits", [number(row.waits) if row.waits else _ABSENT for row in shown]),
    ]
    fixed = sum(max(map(len, (head, *cells)), default=0) + GAP for head, cells in columns)
    # Of the text reasons have no more than half.
    half = max((width - INDENT - fixed) // 2, _NAME_LEAST)
    reasons = [shortened(printable(_head(row.reason)), half) for row in shown]
    fixed += max(map(len, (*reasons, "for")), default=0) + GAP
    room = max(width - INDENT - fixed, _NAME_LEAST)
    places = [short_name(printable(_code(row)), room) for row in shown]
    cells = list(zip(*(cells for _, cells in columns), reasons, places, strict=True))
    lines = list(
        grid([(head,) for head, _ in columns] + [("for",), ("in",)], cells, len(columns)).lines
    )
    if len(rows) > len(shown):
        lines.append(f"  and {number(len(rows) - len(shown))} more (--by function --top 0 for all)")
    lines += _who(shown, width)
    estimated = sum(row.estimated for row in rows)
    if estimated:
        lines += filled(
            f"{100 * estimated / total:.1f} % of waiting is estimated by function: the stacks of "
            "these waits were not taken; waits and longest are of the others",
            width,
        )
    return lines


def _who(rows: Sequence[CodeWaits], width: int) -> list[str]:
    lines = []
    for row in rows:
        if row.woken_by in ("", "interrupt", "kernel") and not row.held_by:
            continue
        told = [f"woken by {row.woken_by}"] if row.woken_by else []
        told += [f"held by {row.held_by}"] if row.held_by else []
        text = f"{_head(row.reason)} in {_code(row)}: mostly {', '.join(told)}"
        lines += filled(printable(text), width, "", "  ")
    return lines


def _code(row: CodeWaits) -> str:
    if not row.function:
        return "(not known)"
    return f"{row.function}:{row.line}" if row.line else row.function


def _head(reason: str) -> str:
    return {"waiting for a CPU": "a CPU", "waiting, stack not taken": "(no stack)"}.get(
        reason, reason
    )


def _of_what(rows: Sequence[ThreadWaits]) -> str:
    if all(row.wall for row in rows):
        return "shares of each thread's wall time"
    return "shares of each thread's running, as CPU time by samples, and waiting"


def _share(seconds: float | None, wall: float | None) -> str:
    if seconds is None or not wall:
        return _ABSENT
    return f"{100 * seconds / wall:.1f} %"
