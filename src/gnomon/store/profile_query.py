"""Queries of a profile that any number of processes can share.

An analysis is a pair of functions: `partial` makes a small table of a part of a run, `merge` one
table of such tables. `run` does the parts one after the other, or lets an executor of
`concurrent.futures` do them (threads, processes; those of mpi4py and Dask have the same `map`).
The parts are the same whoever does them and are merged in their order, so the results are too, to
the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial as bound
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from gnomon.errors import UsageError
from gnomon.model.metric import Aggregation
from gnomon.model.region_kinds import OWN_KINDS
from gnomon.store import outermost_paths
from gnomon.store.outermost_paths import OutermostPaths
from gnomon.store.rundir import Run

ROWS_PER_PART = 500_000
"""About so many rows of the profile are one part of a run."""

_PARTS_MOST = 256

BY_REGIONS = ("region", "file", "line")
BY = (*BY_REGIONS, "rank", "process", "thread", "metric")


class Part(NamedTuple):
    """What of a run one call of `partial` looks at: locations from `first` up to before `end`.

    Its tables are in the run's directory, unless `files` says where. `code` are the kinds of
    regions that are functions and lines, as a list of SQL.
    """

    run: Path
    first: int
    end: int
    files: Mapping[str, Path] | None = None
    code: str = OWN_KINDS.code()


class Sum(NamedTuple):
    """A row of the small table: values of one metric under one key, over the locations of a part.

    Attributes:
        key: of what; see `Profile`.
        kind: of the locations: thread, process, command, cpu or core.
        metric: its number.
        locations: how many have values (each repetition's count).
        total: of all of them.
        least, most: of one of them.
        calls: how often the regions were entered; None where not known.
        parts: regions below a program have a part in it.
        whole: a program's value with all below it has.
        is_mixed: it is a sum of what does not add up, which is no value.
        inclusive: of all of them, with what is called from there: that of the outermost path of the
            key, within which others may be. None where it is not known.
        is_code: there are functions or lines in it.
        has_calls: some of these are called from another.
        together: of a time of several places at once, that of one execution over all of them; None
            where values add up.
        inclusive_together: likewise, with what is called from there.
    """

    key: Key
    kind: str
    metric: int
    locations: int
    total: float
    least: float
    most: float
    calls: int | None
    parts: bool
    whole: bool
    is_mixed: bool
    inclusive: float | None = None
    is_code: bool = False
    has_calls: bool = False
    together: float | None = None
    inclusive_together: float | None = None


Key = tuple[str, str, str, int]
Result = TypeVar("Result")


class Analysis(Protocol[Result]):
    """What an analysis offers. It is sent to other processes, so it and its tables are plain."""

    def partial(self, part: Part) -> Result:
        """Return a small table of a part of a run."""

    def merge(self, tables: Sequence[Result]) -> Result:
        """Return one table of those of several parts, in the order of the parts."""


def parts(run: Run) -> tuple[Part, ...]:
    """Return the parts of a run: the same ones whoever asks.

    Raises:
        RunDirectoryError: its locations cannot be read.
    """
    ((first, last, rows),) = run.query(
        "SELECT MIN(location), MAX(location), (SELECT COUNT(*) FROM profile) FROM locations"
    )
    if first is None:
        return ()
    size = max(math.ceil((last - first + 1) * ROWS_PER_PART / max(rows, 1)), 1)
    # Numbers of locations that are far apart are not to make as many parts.
    size = max(size, math.ceil((last - first + 1) / _PARTS_MOST))
    return tuple(
        Part(run.path, at, min(at + size, last + 1), run.files, run.region_kinds.code())
        for at in range(first, last + 1, size)
    )


def run(analysis: Analysis[Result], of: Iterable[Part], executor: Executor | None = None) -> Result:
    """Return what an analysis makes of parts, done here or by an executor.

    Raises:
        RunDirectoryError: a part cannot be read.
    """
    do: Callable[[Part], Result] = bound(_partial, analysis)
    return analysis.merge(list(map(do, of) if executor is None else executor.map(do, of)))


def _partial(analysis: Analysis[Result], part: Part) -> Result:
    return analysis.partial(part)


_ROOT = "(k.parent = -1)"
# Of a program, the value without its sections or, where that is not known, with them: `finest`
# finds out whether that is the same.
_ALONE = f"CASE WHEN isfinite(p.exclusive) THEN p.exclusive WHEN {_ROOT} THEN p.inclusive END"
_IS_OPEN = f"BOOL_OR({_ROOT} AND NOT COALESCE(isfinite(p.exclusive), FALSE))"
# Of a place, the value of its program, which has all sections in it; else what its sections have.
_OF_PLACE = f"""COALESCE(SUM(p.inclusive) FILTER (WHERE {_ROOT} AND isfinite(p.inclusive)),
             SUM(p.exclusive) FILTER (WHERE isfinite(p.exclusive)))"""
_HAS_ROOT = f"COALESCE(BOOL_OR({_ROOT} AND isfinite(p.inclusive)), FALSE)"
# Ratios and the like cannot be added up: neither of a place's sections nor of a section's calls.
_NOT_ADDED = (
    "(SELECT metric FROM metrics WHERE formula <> '' "
    f"OR aggregation IN ('{Aggregation.NONE}', '{Aggregation.MAX}'))"
)
_OF_REGIONS = {
    "region": (
        "COALESCE(r.kind, '')",
        "COALESCE(r.name, '')",
        "''",
        "CASE WHEN r.region IN (SELECT region FROM paths WHERE parent = -1) THEN 1 ELSE 0 END",
    ),
    "file": ("''", "''", "COALESCE(r.file, '')", "0"),
    "line": ("''", "COALESCE(r.name, '')", "COALESCE(r.file, '')", "COALESCE(r.line, 0)"),
    "path": ("''", "''", "''", "t.path"),
}
_OF_LOCATIONS = {
    "rank": ("''", "'rank'", "''", "COALESCE(l.rank, -1)"),
    "process": ("COALESCE(l.host, '')", "COALESCE(l.name, '')", "''", "l.location"),
    "thread": ("COALESCE(l.host, '')", "COALESCE(l.name, '')", "''", "l.location"),
    "metric": ("''", "''", "''", "0"),
}
_ONLY = {"rank": "AND l.rank >= 0", "process": "AND l.kind = 'process'"}
# Values are added up by numbers and named afterwards, which takes a tenth of the time.
_QUERY = """
WITH paths_ AS (
    SELECT t.path, t.parent, {outermost}, {of_path} FROM paths t JOIN regions r USING (region)
    {with_outermost}
), locations_ AS (
    SELECT l.location, COALESCE(l.kind, '') AS kind, {of_location} FROM locations l
    WHERE l.location >= {first} AND l.location < {end} {more}
), numbered AS (
    SELECT *, CAST(dense_rank() OVER (ORDER BY k1, k2, k3, k4) AS INTEGER) AS key
    FROM {keyed}
), keys AS (SELECT DISTINCT key, k1, k2, k3, k4 FROM numbered
), kinds AS (SELECT location, kind FROM locations_
), each AS (
    SELECT {key}.key, p.metric, p.location, p.repetition, {value} AS v, SUM(p.calls) AS c,
           BOOL_OR(NOT {root}) AS parts, {whole} AS whole, COUNT({alone}) AS places,
           {inclusive}
    FROM profile p JOIN {joined}
    WHERE p.location >= {first} AND p.location < {end} {only}
    GROUP BY {key}.key, p.metric, p.location, p.repetition HAVING isfinite(v)
), added AS (
    SELECT key, kind, metric, COUNT(*) AS n, SUM(v) AS v, MIN(v) AS least, MAX(v) AS most,
           SUM(c) AS c, BOOL_OR(parts) AS parts, whole,
           MAX(places) > 1 AND metric IN {not_added} AS is_mixed,
           CASE WHEN COUNT(inclusive) = COUNT(*) AND isfinite(SUM(inclusive))
                     AND NOT (MAX(tops) > 1 AND metric IN {not_added})
                THEN SUM(inclusive) END AS inclusive,
           BOOL_OR(is_code) AS is_code, BOOL_OR(has_calls) AS has_calls
    FROM each JOIN kinds USING (location) GROUP BY key, kind, metric, whole
), unknown AS ({unknown})
SELECT k1, k2, k3, k4, kind, metric, n, v, least, most, c, parts, whole, is_mixed,
       CASE WHEN (key, kind, metric) NOT IN (FROM unknown) THEN inclusive END, is_code, has_calls
FROM added JOIN keys USING (key) ORDER BY k1, k2, k3, k4, kind, metric, whole
"""
# What was measured of a path within one of the same key, and not of the outermost one.
_UNKNOWN = """
    SELECT DISTINCT k.key, l.kind, p.metric
    FROM profile p JOIN numbered k USING (path) JOIN kinds l USING (location)
    ANTI JOIN (
        SELECT p.location, p.repetition, p.metric, p.path FROM profile p
        WHERE p.location >= {first} AND p.location < {end} {only}
            AND p.path IN (SELECT top FROM paths_ WHERE top <> path)
    ) o ON o.location = p.location AND o.repetition = p.repetition
        AND o.metric = p.metric AND o.path = k.top
    WHERE p.location >= {first} AND p.location < {end} AND k.top <> p.path {only}
"""
_INCLUSIVE = """SUM(p.inclusive) FILTER (WHERE k.top = p.path) AS inclusive,
           COUNT(*) FILTER (WHERE k.top = p.path) AS tops,
           BOOL_OR(k.is_code) AS is_code, BOOL_OR(k.has_calls) AS has_calls"""
_NO_INCLUSIVE = "NULL::DOUBLE AS inclusive, 0 AS tops, FALSE AS is_code, FALSE AS has_calls"
_ALL_OUTERMOST = "t.path AS top, FALSE AS is_code, FALSE AS has_calls"
_NONE_UNKNOWN = "SELECT 0, '', 0 WHERE false"


def _query(profile: Profile, part: Part, paths: OutermostPaths | None) -> str:
    by = profile.by
    in_regions = by in _OF_REGIONS
    named = (_OF_REGIONS | _OF_LOCATIONS)[by]
    columns = ", ".join(f"{column} AS k{at}" for at, column in enumerate(named, start=1))
    only = "" if profile.metric < 0 else f"AND p.metric = {profile.metric}"
    if not in_regions:
        only += f" AND ({_ROOT} OR p.metric NOT IN {_NOT_ADDED})"
    nested = _UNKNOWN.format(first=part.first, end=part.end, only=only)
    return _QUERY.format(
        inclusive=_NO_INCLUSIVE if paths is None else _INCLUSIVE,
        outermost=_ALL_OUTERMOST if paths is None else "o.top, o.is_code, o.has_calls",
        with_outermost="" if paths is None else "JOIN outermost_ o ON o.path = t.path",
        unknown=nested if paths is not None and paths.is_nested else _NONE_UNKNOWN,
        of_path=columns if in_regions else "0 AS k0",
        of_location="0 AS k0" if in_regions else columns,
        first=part.first,
        end=part.end,
        more=_ONLY.get(by, ""),
        keyed="paths_" if in_regions else "locations_",
        key="k" if in_regions else "n",
        root=_ROOT,
        value=f"SUM({_ALONE})" if in_regions else _OF_PLACE,
        whole=_IS_OPEN if in_regions else _HAS_ROOT,
        alone=_ALONE,
        not_added=_NOT_ADDED,
        only=only,
        joined=(
            "numbered k USING (path)"
            if in_regions
            else "numbered n USING (location) JOIN paths_ k USING (path)"
        ),
    )


@dataclass(frozen=True, slots=True)
class Profile:
    """Sums of a profile's values without and with what is called, by region, file, line, ...

    Keys have four fields: of a region its kind, name and, fourth, 1 for a program's own, which may
    have the name of a section; of a file its path, third; of a line the function, file and line; of
    a path or a rank its number, fourth; of a thread its host, name and, fourth, location.

    Attributes:
        by: one of `BY`, or "path".
        metric: number of the only metric that is wanted; -1 for all.
    """

    by: str
    metric: int = -1

    def partial(self, part: Part) -> list[Sum]:
        """Return the sums over a part's locations.

        Raises:
            UsageError: there is no such key.
            RunDirectoryError: the run cannot be read.
        """
        if self.by not in (*BY, "path"):
            raise UsageError(f"{self.by}: a profile is by {', '.join(BY)}")
        # One thread: sums of the same numbers in another order differ in their last digit.
        run = Run(part.run, {}, part.files)
        paths = outermost(run, self.by, part.code) if self.by in BY_REGIONS else None
        arrays = {} if paths is None else {"outermost_": paths._asdict()}
        rows = run.query(_query(self, part, paths), threads=1, arrays=arrays)
        return [Sum((str(a), str(b), str(c), int(d)), *rest) for a, b, c, d, *rest in rows]

    def merge(self, tables: Sequence[Sequence[Sum]]) -> list[Sum]:
        """Return the sums over all parts."""
        found: dict[tuple[Key, str, int, bool], Sum] = {}
        for table in tables:
            for row in table:
                key = (row.key, row.kind, row.metric, row.whole)
                known = found.get(key)
                found[key] = row if known is None else _both(known, row)
        return [found[key] for key in sorted(found)]

    def finest(self, sums: Iterable[Sum]) -> list[Sum]:
        """Return each value once: what a process has, its threads and the command have too.

        Of places, those whose value is of all that ran there come first: the sums of threads or,
        where there are none, those of processes, else of the command, else of CPUs. By rank, what
        is known of a whole rank comes before; by thread, what sections of threads have comes before
        what only the command has.

        What functions and lines have with all that they call is not known where no call of one
        from another is: the rows of each are then of what it has itself.

        Of regions and lines, what a program has without its sections is the value of places that
        have the sections, too. Where it is known of no such place, it is not in the result.
        """
        found = list(sums)
        with_parts: dict[int, str] = {}
        if self.by in _OF_REGIONS:
            for row in found:
                widest = with_parts.get(row.metric, "")
                if row.parts and _place(_WIDEST, row.kind) < _place(_WIDEST, widest):
                    with_parts[row.metric] = row.kind
        with_calls = {row.metric for row in found if row.has_calls}
        kept = [
            row._replace(inclusive=None) if row.is_code and row.metric not in with_calls else row
            for row in found
            if not row.is_mixed
        ]
        best: dict[tuple[Key, int], tuple[int, int]] = {}
        orders = [self._order(row, with_parts.get(row.metric, "")) for row in kept]
        for row, order in zip(kept, orders, strict=True):
            best[self._group(row)] = min(best.get(self._group(row), order), order)
        return [
            row
            for row, order in zip(kept, orders, strict=True)
            if best[self._group(row)] == order and not (row.whole and row.metric in with_parts)
        ]

    def _order(self, row: Sum, with_parts: str) -> tuple[int, int]:
        """Return what is least for the sums that stand for a value."""
        if self.by in _OF_REGIONS:
            if not with_parts:
                return 0, _place(_FINEST, row.kind)
            return int(row.whole), _place((with_parts, *_WIDEST), row.kind)
        if row.kind == self.by == "rank":
            return -1, 0
        if self.by == "thread" and row.kind == "command":
            return 2, 0
        if self.by in ("process", "thread"):
            return int(not row.whole), _place(_OF_THREADS, row.kind)
        return int(not row.whole), _place(_FINEST if row.whole else _WIDEST, row.kind)

    def _group(self, row: Sum) -> tuple[Key, int]:
        return (("", "", "", 0) if self.by in ("process", "thread") else row.key), row.metric


def outermost(run: Run, by: str, code: str) -> OutermostPaths:
    """Return which path is the outermost one of the key of each, in a profile by regions, ...

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return outermost_paths.of_keys(run, ", ".join(_OF_REGIONS[by]), code)


def keys_of_paths(run: Run, by: str) -> dict[int, Key]:
    """Return the key that each path's values are under in a profile by regions, lines, ...

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    columns = ", ".join(_OF_REGIONS[by])
    rows = run.query(f"SELECT t.path, {columns} FROM paths t JOIN regions r USING (region)")
    return {int(path): (str(a), str(b), str(c), int(d)) for path, a, b, c, d in rows}


_FINEST = ("thread", "process", "command", "core", "cpu")
_OF_THREADS = ("thread", "process", "rank", "core", "cpu")
_WIDEST = ("rank", "command", "process", "thread", "core", "cpu")


def _place(order: tuple[str, ...], kind: str) -> int:
    return order.index(kind) if kind in order else len(order)


def _both(one: Sum, other: Sum) -> Sum:
    calls = None if one.calls is None and other.calls is None else 0
    return one._replace(
        locations=one.locations + other.locations,
        total=one.total + other.total,
        least=min(one.least, other.least),
        most=max(one.most, other.most),
        calls=calls if calls is None else (one.calls or 0) + (other.calls or 0),
        parts=one.parts or other.parts,
        is_mixed=one.is_mixed or other.is_mixed,
        inclusive=_both_known(one.inclusive, other.inclusive),
        is_code=one.is_code or other.is_code,
        has_calls=one.has_calls or other.has_calls,
    )


def _both_known(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
