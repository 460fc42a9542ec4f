"""Queries of a profile that any number of processes can share.

An analysis is a pair of functions: `partial` makes a small table of a part of a run, `merge` one
table of such tables. `run` does the parts one after the other, or lets an executor of
`concurrent.futures` do them (threads, processes; those of mpi4py and Dask have the same `map`).
The parts are the same whichever worker does them and are merged in their order, so the results are
too, to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from gnomon.errors import UsageError
from gnomon.model.metric import Aggregation
from gnomon.model.region_kinds import OWN_KINDS
from gnomon.named_tuple import NamedTuple
from gnomon.store import outermost_paths, profile_sums
from gnomon.store.outermost_paths import OutermostPaths
from gnomon.store.profile_sums import MIXED, ONCE_OF_MIXED
from gnomon.store.profile_sums import Key as Key
from gnomon.store.profile_sums import Sum as Sum
from gnomon.store.run import Run, shared_run

if TYPE_CHECKING:
    from concurrent.futures import Executor

ROWS_PER_PART = 500_000
"""About so many rows of the profile are one part of a run."""

_PARTS_MOST = 256

BY_REGIONS = ("region", "file", "line")
BY = (*BY_REGIONS, "rank", "process", "thread", "metric")


class LocationRange(NamedTuple):
    """The part of a run for one call of `partial`: locations from `first` up to before `end`.

    `files` says where its tables are; without it, those of every run are in its directory. `code`
    are the kinds of regions that are functions and lines, as a list of SQL; `once` is which paths
    are of calls that are recorded once (`RegionKinds.recorded_once`).
    """

    run: Path
    first: int
    end: int
    files: Mapping[str, Path] | None = None
    code: str = OWN_KINDS.code()
    once: str = OWN_KINDS.recorded_once()


Part = LocationRange
"""The former name, which scripts may import."""

Result = TypeVar("Result")


class Analysis(Protocol[Result]):
    """What an analysis offers. It is sent to other processes, so it and its tables are plain."""

    def partial(self, part: LocationRange) -> Result:
        """Return a small table of a part of a run."""

    def merge(self, tables: Sequence[Result]) -> Result:
        """Return one table of those of several parts, in the order of the parts."""


def parts(run: Run) -> tuple[LocationRange, ...]:
    """Return the parts of a run, always the same ones.

    Raises:
        RunDirectoryError: its locations cannot be read.
    """
    ((first, last, rows),) = run.query(
        "SELECT MIN(location), MAX(location), (SELECT COUNT(*) FROM profile) FROM locations"
    )
    if first is None:
        return ()
    size = max(math.ceil((last - first + 1) * ROWS_PER_PART / max(rows, 1)), 1)
    # What else is in its directory is no table of it.
    files = {schema.name: run.file(schema) for schema in run.schemas}
    # Numbers of locations that are far apart are not to make as many parts.
    size = max(size, math.ceil((last - first + 1) / _PARTS_MOST))
    kinds = run.region_kinds
    return tuple(
        LocationRange(
            run.path, at, min(at + size, last + 1), files, kinds.code(), kinds.recorded_once()
        )
        for at in range(first, last + 1, size)
    )


def run(
    analysis: Analysis[Result], of: Iterable[LocationRange], executor: Executor | None = None
) -> Result:
    """Return an analysis of parts, done here or by an executor.

    Raises:
        RunDirectoryError: a part cannot be read.
    """
    do: Callable[[LocationRange], Result] = bound(_partial, analysis)
    return analysis.merge(list(map(do, of) if executor is None else executor.map(do, of)))


def _partial(analysis: Analysis[Result], part: LocationRange) -> Result:
    return analysis.partial(part)


ROOT = "(k.parent = -1)"
"""Whether a path `k` is a program's own."""
# Of a program, the value without its sections or, where that is not known, with them: `finest`
# finds out whether that is the same.
_ALONE = f"CASE WHEN isfinite(p.exclusive) THEN p.exclusive WHEN {ROOT} THEN p.inclusive END"
_IS_OPEN = f"BOOL_OR({ROOT} AND NOT COALESCE(isfinite(p.exclusive), FALSE))"
OF_PLACE = f"""COALESCE(SUM(p.inclusive) FILTER (WHERE {ROOT} AND isfinite(p.inclusive)),
             SUM(p.exclusive) FILTER (WHERE isfinite(p.exclusive)))"""
"""Of a place, the value of its program, which has all sections in it; else what these have."""
_HAS_ROOT = f"COALESCE(BOOL_OR({ROOT} AND isfinite(p.inclusive)), FALSE)"
NOT_ADDED = (
    "(SELECT metric FROM metrics WHERE formula <> '' "
    f"OR aggregation IN ('{Aggregation.NONE}', '{Aggregation.MAX}'))"
)
"""Metrics whose values do not add up, neither of a place's sections nor of a section's calls."""
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
WITH RECURSIVE paths_ AS (
    SELECT t.path, t.parent, {once} AS once, {outermost}, {of_path}
    FROM paths t JOIN regions r USING (region) {with_outermost}
), locations_ AS (
    SELECT l.location, COALESCE(l.kind, '') AS kind, {of_location} FROM locations l
    WHERE l.location >= {first} AND l.location < {end} {more}
), numbered AS (
    SELECT *, CAST(dense_rank() OVER (ORDER BY k1, k2, k3, k4) AS INTEGER) AS key
    FROM {keyed}
), keys AS (SELECT DISTINCT key, k1, k2, k3, k4 FROM numbered
), kinds AS (SELECT location, kind FROM locations_
), each AS (
    SELECT {key}.key, p.metric, p.location, p.repetition, {value} AS v, {calls} AS c,
           BOOL_OR(NOT {root}) AS parts, {whole} AS whole, COUNT({alone}) AS places,
           {inclusive},
           CAST(BOOL_AND(k.once) AS INTEGER) AS once {of_mixed}
    FROM profile p JOIN {joined}
    WHERE p.location >= {first} AND p.location < {end} {only}
    GROUP BY {key}.key, p.metric, p.location, p.repetition HAVING isfinite(v)
), each_ AS (
    SELECT key, metric, location, v, c, parts, whole, places, inclusive, tops, is_code, has_calls,
           once
    FROM each {and_mixed}
), added AS (
    SELECT key, kind, metric, COUNT(*) AS n, SUM(v) AS v, MIN(v) AS least, MAX(v) AS most,
           SUM(c) AS c, BOOL_OR(parts) AS parts, whole,
           MAX(places) > 1 AND metric IN {not_added} AS is_mixed,
           CASE WHEN (COUNT(inclusive) = COUNT(*) OR once > 0)
                     AND isfinite(COALESCE(SUM(inclusive), 0))
                     AND NOT (MAX(tops) > 1 AND metric IN {not_added})
                THEN COALESCE(SUM(inclusive), 0) END AS inclusive,
           BOOL_OR(is_code) AS is_code, BOOL_OR(has_calls) AS has_calls, once
    FROM each_ JOIN kinds USING (location) GROUP BY key, kind, metric, whole, once
), unknown AS ({unknown})
SELECT k1, k2, k3, k4, kind, metric, n, v, least, most, c, parts, whole, is_mixed,
       CASE WHEN (key, kind, metric) NOT IN (FROM unknown) THEN inclusive END, is_code, has_calls,
       NULL, NULL, once
FROM added JOIN keys USING (key) ORDER BY k1, k2, k3, k4, kind, metric, whole, once
"""
# Of files and lines, which may be those of the program, of functions and of sections at once, what
# is recorded once is known by itself, too.
_OF_MIXED = f""",
           SUM({_ALONE}) FILTER (WHERE k.once) AS v_once,
           SUM(p.calls) FILTER (WHERE k.once) AS c_once,
           COUNT({_ALONE}) FILTER (WHERE k.once) AS places_once,
           SUM(p.inclusive) FILTER (WHERE k.once AND k.top = p.path) AS inclusive_once,
           COUNT(*) FILTER (WHERE k.once AND k.top = p.path) AS tops_once"""
_AND_MIXED = f"""
    UNION ALL
    SELECT key, metric, location, v_once, c_once, TRUE, whole, places_once, inclusive_once,
           tops_once, FALSE, FALSE, {ONCE_OF_MIXED}
    FROM each WHERE once = {MIXED} AND isfinite(v_once)"""
# What was measured of a path within one of the same key, and not of the outermost one. Of calls
# that are recorded once this may be at a place around: a section of all threads.
_UNKNOWN = """
    WITH RECURSIVE around AS (
        SELECT location, location AS at FROM kinds
        UNION SELECT a.location, l.parent FROM around a JOIN locations l ON l.location = a.at
    ), outer_ AS (
        SELECT p.location AS inner_, p.location, p.repetition, p.metric, p.path FROM profile p
        WHERE p.location >= {first} AND p.location < {end} {only}
            AND p.path IN (SELECT top FROM paths_ WHERE top <> path)
        UNION ALL
        SELECT a.location, p.location, p.repetition, p.metric, p.path
        FROM profile p JOIN around a ON a.at = p.location AND a.location <> p.location
        WHERE p.path IN (SELECT top FROM paths_ WHERE top <> path AND once) {only}
    )
    SELECT DISTINCT k.key, l.kind, p.metric
    FROM profile p JOIN numbered k USING (path) JOIN kinds l USING (location)
    ANTI JOIN outer_ o ON o.inner_ = p.location AND o.repetition = p.repetition
        AND o.metric = p.metric AND o.path = k.top AND (k.once OR o.location = p.location)
    WHERE p.location >= {first} AND p.location < {end} AND k.top <> p.path {only}
"""
_NO_INCLUSIVE = "NULL::DOUBLE AS inclusive, 0 AS tops, FALSE AS is_code, FALSE AS has_calls"
_ALL_OUTERMOST = "t.path AS top, FALSE AS is_code, FALSE AS has_calls"
_NONE_UNKNOWN = "SELECT 0, '', 0 WHERE false"


def _inclusive(paths: OutermostPaths | None) -> str:
    """Return the columns of values with all that is called; only what differs is looked at."""
    where = "FILTER (WHERE k.top = p.path)" if paths is not None and paths.is_nested else ""
    is_code = "BOOL_OR(k.is_code)" if paths is not None and paths.is_code.any() else "FALSE"
    has_calls = "BOOL_OR(k.has_calls)" if paths is not None and paths.has_calls.any() else "FALSE"
    return (
        f"SUM(p.inclusive) {where} AS inclusive, COUNT(*) {where} AS tops, "
        f"{is_code} AS is_code, {has_calls} AS has_calls"
    )


def _query(profile: Profile, part: LocationRange, paths: OutermostPaths | None) -> str:
    by = profile.by
    in_regions = by in _OF_REGIONS
    named = (_OF_REGIONS | _OF_LOCATIONS)[by]
    columns = ", ".join(f"{column} AS k{at}" for at, column in enumerate(named, start=1))
    only = "" if profile.metric < 0 else f"AND p.metric = {profile.metric}"
    if not in_regions:
        only += f" AND ({ROOT} OR p.metric NOT IN {NOT_ADDED})"
    nested = _UNKNOWN.format(first=part.first, end=part.end, only=only)
    may_mix = by in ("file", "line")
    return _QUERY.format(
        inclusive=_inclusive(paths) if by in BY_REGIONS else _NO_INCLUSIVE,
        once=part.once,
        of_mixed=_OF_MIXED if may_mix else "",
        and_mixed=_AND_MIXED if may_mix else "",
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
        root=ROOT,
        value=f"SUM({_ALONE})" if in_regions else OF_PLACE,
        # Of a place those of its program: calls of different regions are no number of anything.
        calls="SUM(p.calls)" if in_regions else f"SUM(p.calls) FILTER (WHERE {ROOT})",
        whole=_IS_OPEN if in_regions else _HAS_ROOT,
        alone=_ALONE,
        not_added=NOT_ADDED,
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

    def partial(self, part: LocationRange) -> list[Sum]:
        """Return the sums over a part's locations.

        Raises:
            UsageError: there is no such key.
            RunDirectoryError: the run cannot be read.
        """
        if self.by not in (*BY, "path"):
            raise UsageError(f"{self.by}: a profile is by {', '.join(BY)}")
        # One thread: sums of the same numbers in another order differ in their last digit.
        # Whoever made the parts has read the run.
        run = shared_run(Run(part.run, {}, part.files, is_checked=True).identity())
        paths = outermost_paths_by(run, self.by, part.code) if self.by in BY_REGIONS else None
        arrays = {} if paths is None else {"outermost_": paths._asdict()}
        rows = run.query(_query(self, part, paths), threads=1, arrays=arrays)
        return [Sum((str(a), str(b), str(c), int(d)), *rest) for a, b, c, d, *rest in rows]

    def merge(self, tables: Sequence[Sequence[Sum]]) -> list[Sum]:
        """Return the sums over all parts."""
        merged: dict[tuple[Key, str, int, bool, int], Sum] = {}
        for table in tables:
            for row in table:
                key = (row.key, row.kind, row.metric, row.whole, row.once)
                known = merged.get(key)
                merged[key] = row if known is None else profile_sums.both(known, row)
        return [merged[key] for key in sorted(merged)]

    def finest(self, sums: Iterable[Sum]) -> list[Sum]:
        """Return each value once: see `profile_sums.each_once`."""
        return profile_sums.each_once(sums, self.by, of_regions=self.by in _OF_REGIONS)


def outermost_paths_by(run: Run, by: str, code: str) -> OutermostPaths | None:
    """Return which path is the outermost one of the key of each, in a profile by regions, ...

    None means that each is, and none is code.

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
