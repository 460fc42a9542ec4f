"""The screen that `gnomon run` ends with: times, top regions and metrics, what was missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.model.capability_result import rows_of
from gnomon.model.metric import Aggregation
from gnomon.model.symbol_names import short_name
from gnomon.model.tables import PATHS, PROFILE
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.run_facts import exit_text, without_values
from gnomon.store.reports.sampled_summary import sampled_tables
from gnomon.store.reports.screen_tables import ScreenTable, fitted
from gnomon.store.run import Run
from gnomon.terminal_text import cut, filled, shortened
from gnomon.units import duration, number, printable, quantity

if TYPE_CHECKING:
    from gnomon.model.inlining import FunctionFragment
    from gnomon.model.tables import Cell, Table
    from gnomon.store.moments import PathTimes

_SCREEN = 24
_REGIONS = 5
_METRICS = 6
_REASONS = 3
_WARNINGS = 3
_NAME = 40
# Of the measured ones those that say most first; the rest in the order of the tables.
_FIRST = ("instructions", "cycles", "task-clock", "page-faults", "context-switches", "peak memory")
# Of functions and lines, on the emulated PMU; times are not the program's there.
_INSTRUCTIONS = "PAPI_TOT_INS"
_UNKNOWN = "(unknown)"
_CPU = "task-clock"
_FEWEST_PROGRAMS = 2
_WALL = "wall time"
_TIMES = (_WALL, "user time", "system time")
# What is told of regions and programs, too.
_OF_PARTS = (_INSTRUCTIONS, _WALL, _CPU)
_COLUMNS = ("location", "path", "metric", "inclusive", "exclusive", "calls")
_ROWS_IN_MEMORY = 20_000
"""Of a profile that are looked at one by one; more of them a query adds up sooner."""


def render_run_summary(
    run: Run, tables: Sequence[Table], width: int, told: Sequence[str] = ()
) -> str:
    """Return the summary of a run, at most a screen of 24 lines where names are short.

    Args:
        run: the run that was written.
        tables: of the model, without those that are too large for memory.
        width: columns of the terminal.
        told: lines that capabilities have to say, below the times.
    """
    head = run.head
    what = printable(shlex.join(head["command"]))
    ranks = f", {head['ranks']} ranks" if head["ranks"] > 1 else ""
    values = _Values(tables, run)
    means = f", means of {values.times} executions" if values.times > 1 else ""
    ended = f"[{exit_text(head)}{ranks}{means}]"
    first = ["", f"{cut(what, width - len(ended) - 2)}  {ended}", *_times(values, width), *told]
    last = list(_missing(head, width))
    for note in head["warnings"][:_WARNINGS]:
        last += filled(f"note: {printable(note)}", width, "", "      ")
    if len(head["warnings"]) > _WARNINGS:
        more = len(head["warnings"]) - _WARNINGS
        last.append(f"note: {more} more: gnomon report {_word(run)} run")
    last.append(f"look at it: gnomon view {_word(run)}")
    parts = _functions(values, width) or _regions(values, width, head["ranks"])
    shown = [*sampled_tables(run, tables, width), *(parts or _programs(values))]
    # Where nobody asked for counts, and there is something else to say, the few that come of
    # themselves are not what was measured.
    if not told or not run.capabilities or "counters" in run.capabilities:
        shown += _metrics(values.of_command, width)
    return "\n".join([*first, *fitted(shown, _SCREEN - len(first) - len(last)), *last]) + "\n"


def _word(run: Run) -> str:
    return shlex.quote(str(run.path))


class _Values:
    """What the summary needs of a run's tables, by one pass over the profile.

    Of several executions it is the mean of each value.
    """

    def __init__(self, tables: Sequence[Table], run: Run) -> None:
        self.run = run
        self.times = times = max(int(run.head["repetitions"]), 1)
        self._tables = tables
        self.processes = {
            row["location"]: str(row["name"])
            for row in rows_of(tables, "locations")
            if row["kind"] == "process"
        }
        metrics = {row["metric"]: row for row in rows_of(tables, "metrics")}
        self.units = {str(row["name"]): str(row["unit"]) for row in metrics.values()}
        self.of_command: dict[str, tuple[float, Mapping[str, Any]]] = {}
        # Of locations and paths below the command: (location, path, inclusive, exclusive, calls).
        self.parts: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in _OF_PARTS}
        names = {number: str(row["name"]) for number, row in metrics.items()}
        self._numbers = {name: int(str(number)) for number, name in names.items()}
        self._elapsed = {
            str(row["name"])
            for row in metrics.values()
            if row["aggregation"] == Aggregation.ELAPSED
        }
        for location, path, metric, *values in self._rows(tables):
            if location == path == 0:
                known, _ = self.of_command.get(names[metric], (0.0, None))
                of = known + float(values[0] or 0) / times
                self.of_command[names[metric]] = (of, metrics[metric])
            elif names[metric] in self.parts:
                means = (None if one is None else float(one) / times for one in values)
                self.parts[names[metric]].append((location, path, *means))

    @cached_property
    def paths(self) -> dict[Cell, tuple[Cell, Cell]]:
        """Caller and region of each path: of a sampled program there are very many."""
        of_paths = next((one for one in self._tables if one.schema is PATHS), None)
        if of_paths is None:
            return {}
        path, parent, region = map(of_paths.values, ("path", "parent", "region"))
        return dict(zip(path, zip(parent, region, strict=True), strict=True))

    @cached_property
    def regions(self) -> dict[Cell, Mapping[str, Cell]]:
        """The regions by number."""
        return {row["region"]: row for row in rows_of(self._tables, "regions")}

    def _rows(self, tables: Sequence[Table]) -> Iterator[Sequence[Any]]:
        """Yield the profile rows that the summary needs, from memory or, if large, from the run."""
        for table in tables:
            if table.schema is PROFILE and len(table) <= _ROWS_IN_MEMORY:
                yield from zip(*map(table.values, _COLUMNS), strict=True)
                return
        wanted = ", ".join(str(self._numbers[name]) for name in _OF_PARTS if name in self._numbers)
        # Below the root one row for each path. One thread: sums in another order differ.
        for rows in self.run.stream(
            "SELECT CASE path WHEN 0 THEN location ELSE -1 END AS place, path, metric, "
            "SUM(inclusive), CASE WHEN COUNT(exclusive) = COUNT(*) THEN SUM(exclusive) END, "
            "SUM(calls), CASE path WHEN 0 THEN repetition END AS execution FROM profile "
            f"WHERE metric IN ({wanted or -1}) OR (path = 0 AND location = 0) "
            "GROUP BY place, path, metric, execution ORDER BY place, path, metric, execution",
            threads=1,
        ):
            yield from (row for *row, _ in rows)

    def together(self, metric: str) -> tuple[Mapping[int, PathTimes], str]:
        """Return what each path took of several places' times, and which that is; none of a sum."""
        if metric not in self._elapsed:
            return {}, ""
        from gnomon.store import moments

        values, told, _ = moments.of_run(self.run, self._numbers[metric])
        return values, told


def _times(values: _Values, width: int) -> Iterator[str]:
    times = {name: values.of_command[name][0] for name in _TIMES if name in values.of_command}
    if not times:
        yield "  time: not known"
        return
    wall = times.get(_WALL, 0.0)
    parts = [f"{name.split()[0]} {duration(ns)}" for name, ns in times.items()]
    used = sum(ns for name, ns in times.items() if name != _WALL)
    # The kernel may have counted neither of a short program.
    if wall > 0 and used > 0:
        parts.append(f"{used / wall:.2f} CPUs busy")
    processes = len(values.processes) // values.times
    if processes > 1:
        parts.append(f"{processes} processes")
    yield from filled("time: " + ", ".join(parts), width, "  ", "    ")


class _Sums(NamedTuple):
    """Sums of a region over all processes and threads; None where one has no value."""

    inclusive: float
    exclusive: float | None
    calls: float
    place: str


def _functions(values: _Values, width: int) -> list[ScreenTable]:
    """Return the functions with most instructions, without what they call, where they are known."""
    weights: dict[FunctionFragment, float] = {}
    for _, path, _, exclusive, _ in values.parts[_INSTRUCTIONS]:
        region = values.regions[values.paths[path][1]]
        if values.run.region_kinds.of(str(region["kind"])).is_code:
            from gnomon.model.inlining import FunctionFragment

            part = FunctionFragment(str(region["module"]), str(region["name"]), str(region["file"]))
            weights[part] = weights.get(part, 0.0) + float(exclusive or 0)
    if not weights:
        return []
    from gnomon.model.inlining import defining_files, has_unique_names

    sums: dict[FunctionFragment, float] = {}
    unique = has_unique_names(values.run.head)
    for part, home in defining_files(weights, has_unique_names=unique).items():
        of = part._replace(file=home)
        sums[of] = sums.get(of, 0.0) + weights[part]
    total = sum(weights.values()) or 1.0
    # The share, the count and what is between them and the file take the rest of the line.
    wide = min(max(width - 53, 27), _NAME)
    words = f"{'of total':>11}{'exclusive':>14}"
    rows = []
    for of in sorted(sums, key=lambda one: (-sums[one], one))[:_REGIONS]:
        name = short_name(printable(of.function) or _UNKNOWN, wide)
        share = f"{100 * sums[of] / total:.1f} %"
        line = f"    {name:<{wide}}{share:>11}{number(sums[of]):>14}"
        file = printable(Path(of.file).name)
        rows.append(f"{line}  {file}" if file and len(line) + 2 + len(file) <= width else line)
    return [ScreenTable(_heading(f"top functions by {_INSTRUCTIONS}", words, wide + 2), rows)]


def _heading(title: str, words: str, wide: int) -> list[str]:
    """Return a table's title and its columns' heads: a line where the first column holds it."""
    if len(title) > wide:
        return [f"  {title}", " " * (wide + 2) + words]
    return [f"  {title:<{wide}}{words}"]


def _regions(values: _Values, width: int, ranks: int) -> list[ScreenTable]:
    """Return the regions with most of the metric that most regions have: time, or instructions."""
    for wanted in (_INSTRUCTIONS, _WALL):
        totals, told = _sums(values, wanted)
        if not totals:
            continue
        is_exclusive = all(one.exclusive is not None for one in totals.values())
        heads = ("exclusive", "inclusive") if is_exclusive else ("inclusive",)
        shown = {
            name: (one.exclusive or 0.0, one.inclusive) if is_exclusive else (one.inclusive,)
            for name, one in totals.items()
        }
        has_calls = any(one.calls for one in totals.values())
        # The values, the calls and what is between take the rest of the line.
        wide = min(max(width - 50, 24), _NAME)
        words = "".join(f"{head:>11}" for head in heads) + ("     calls" if has_calls else "")
        of_all = f", of {ranks} ranks" if ranks > 1 else ""
        of_all = f", {told}" if told else of_all
        rows = []
        # Those with a value that nobody knows come last.
        ordered = sorted(shown, key=lambda one: (isnan(shown[one][0]), -shown[one][0]))
        for name in ordered[:_REGIONS]:
            total = totals[name]
            cells = "".join(f"{quantity(value, values.units[wanted]):>11}" for value in shown[name])
            calls = f"{total.calls:,.0f}".replace(",", " ") if total.calls else ""
            line = f"    {short_name(printable(name), wide):<{wide}}{cells}{calls:>10}"
            fits = len(line) + len(total.place) + 2 <= width
            rows.append((f"{line}  {total.place}" if fits else line).rstrip())
        heading = _heading(f"top regions by {wanted}{of_all}", words, wide + 2)
        return [ScreenTable(heading, rows)]
    return []


def _sums(values: _Values, wanted: str) -> tuple[dict[str, _Sums], str]:
    # What a region calls itself is in its outermost call already.
    rows = [row for row in values.parts[wanted] if row[1] != 0]
    inner = {path for path in {row[1] for row in rows} if _is_within_itself(values.paths, path)}
    totals: dict[str, _Sums] = {}
    together, told = values.together(wanted) if rows else ({}, "")
    seen = set()
    for _, path, inclusive, exclusive, calls in rows:
        if values.paths[path][0] == -1:
            continue
        region = values.regions[values.paths[path][1]]
        place = f"{Path(str(region['file'])).name}:{region['line']}" if region["line"] else ""
        name = str(region["name"]) or _UNKNOWN
        previous = totals.get(name, _Sums(0.0, 0.0, 0.0, place))
        if told and path in together:
            # Once for all places.
            inclusive, exclusive = together[int(str(path))] if path not in seen else (0.0, 0.0)
            seen.add(path)
        if exclusive is not None and not isfinite(float(exclusive)):
            exclusive = None
        has_own = exclusive is not None and previous.exclusive is not None
        totals[name] = _Sums(
            previous.inclusive + (0.0 if path in inner else float(inclusive or 0)),
            (previous.exclusive or 0.0) + float(exclusive or 0) if has_own else None,
            previous.calls + float(calls or 0),
            place if place == previous.place else "",
        )
    return totals, told


def _is_within_itself(paths: Mapping[Cell, tuple[Cell, Cell]], path: Cell) -> bool:
    above, region = paths[path]
    while above != -1:
        above, around = paths[above]
        if around == region:
            return True
    return False


def _programs(values: _Values) -> list[ScreenTable]:
    """Return the programs of a command that ran several, by the CPU time of their processes."""
    totals: dict[str, list[float]] = {}
    for location, path, inclusive, *_ in values.parts[_CPU]:
        if path == 0 and location in values.processes:
            sums = totals.setdefault(values.processes[location], [0.0, 0])
            sums[0] += float(inclusive or 0)
            sums[1] += 1
    if len(totals) < _FEWEST_PROGRAMS:
        return []
    rows = []
    for name, (value, n) in sorted(totals.items(), key=lambda one: -one[1][0])[:_REGIONS]:
        ran = f"{n:,.0f} process{'' if n == 1 else 'es'}"
        rows.append(f"    {printable(name)[:_NAME]:<{_NAME}} {duration(value):>12}  {ran}")
    return [ScreenTable([f"  top programs by {_CPU}:"], rows)]


def _metrics(
    of_command: Mapping[str, tuple[float, Mapping[str, Any]]], width: int
) -> list[ScreenTable]:
    values = {name: one for name, one in of_command.items() if name not in _TIMES}
    ordered = [name for name in _FIRST if name in values]
    ordered += [name for name in values if name not in ordered]
    if not ordered:
        return []
    rows = []
    # The value and how it came to be take the rest of the line.
    wide = min(_NAME, width - 28)
    for name in ordered[:_METRICS]:
        value, metric = values[name]
        unit = str(metric["unit"])
        label = shortened(printable(name), wide)
        rows.append(f"    {label:<{wide}} {quantity(value, unit):>12}  {metric['how']}")
    return [ScreenTable(["  top metrics:"], rows, fewest=2)]


def _missing(head: Mapping[str, Any], width: int) -> Iterator[str]:
    by_reason = without_values(head)
    for reason, names in list(by_reason.items())[:_REASONS]:
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield from filled(printable(f"not available: {some}: {reason}"), width, "  ", "    ")
    if len(by_reason) > _REASONS:
        yield f"  not available: {len(by_reason) - _REASONS} more reasons: gnomon doctor"
    for capability in head["capabilities"]:
        if not capability["used"] and not capability["available"]:
            why = f"{capability['name']}: {capability['reason']}; {capability['remedy']}"
            yield from filled(printable(f"not available: {why}"), width, "  ", "    ")
