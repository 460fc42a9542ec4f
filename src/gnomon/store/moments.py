"""Times of several places at once: what a region took in a run of many ranks or threads.

Wall times of ranks, processes and threads are of the same moments: their sum is no time that
anybody waited. Of a rank, a region took what it took its longest thread. Of a job it is the mean
over all ranks, those among them that never were in the region, but not one whose time nobody knows;
of processes without ranks it is the longest one's. So what is within a region never takes longer
than the region where all ranks know both, and the values of regions apart from each other add up to
the whole, unless they are of several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite, nan

from gnomon.model import location_kinds
from gnomon.model.metric import Aggregation
from gnomon.model.region_kinds import RegionKinds
from gnomon.model.tables import Cell
from gnomon.named_tuple import NamedTuple
from gnomon.store import profile_query
from gnomon.store.profile_sums import Key, Sum
from gnomon.store.run import Run, RunIdentity, shared_run

# Of the rows of a path those of the widest places count: of a rank, or of a command. Calls that are
# recorded once are at all of theirs.
_THERE = """
WITH RECURSIVE of_run(location, run) AS (
    SELECT location, location FROM locations WHERE kind = 'run'
    UNION
    SELECT l.location, o.run FROM locations l JOIN of_run o ON l.parent = o.location
), places AS (
    SELECT l.location, COALESCE(o.run, -1) AS run, COALESCE(l.rank, -1) AS rank,
           CASE l.kind WHEN 'thread' THEN 2 WHEN 'process' THEN 1 ELSE 0 END AS level,
           CASE l.kind WHEN 'thread' THEN COALESCE(l.parent, -1) ELSE l.location END AS process
    FROM locations l LEFT JOIN of_run o ON o.location = l.location
    WHERE COALESCE(l.kind, '') NOT IN {where} {only}
), given AS MATERIALIZED (
    SELECT o.run, o.rank, o.level, o.process, COALESCE(p.repetition, 0) AS repetition, p.path,
           p.inclusive, CASE WHEN isfinite(p.exclusive) THEN p.exclusive END AS exclusive
    FROM profile p JOIN places o USING (location)
    WHERE p.metric = {metric} AND p.path IS NOT NULL AND p.inclusive IS NOT NULL
), rows_ AS (SELECT * FROM given WHERE isfinite(inclusive)
), of_paths AS (
    SELECT *, MAX(rank) OVER (PARTITION BY run, repetition, path) >= 0 AS has_ranks FROM rows_
), of_ranks AS (
    SELECT *, MIN(level) OVER (PARTITION BY run, repetition, path, rank) AS widest
    FROM of_paths WHERE rank >= 0 OR NOT has_ranks
), there AS MATERIALIZED (
    SELECT * FROM of_ranks WHERE level = widest OR path IN (
        SELECT t.path FROM paths t JOIN regions r USING (region) WHERE {once})
)
"""
_ROOTS = "SELECT path FROM paths WHERE parent = -1"
_VALUES = """
, longest AS (
    SELECT run, repetition, path, rank, MAX(inclusive) AS inclusive,
           CASE WHEN COUNT(exclusive) = COUNT(*) THEN MAX(exclusive) END AS exclusive
    FROM there GROUP BY ALL
), ranks AS MATERIALIZED (
    SELECT DISTINCT run, repetition, rank FROM rows_ WHERE rank >= 0
), numbers AS (
    SELECT run, repetition, COUNT(*) AS n FROM ranks GROUP BY ALL
), unknown AS (
    SELECT run, repetition, path, COUNT(*) AS n_unknown
    FROM (SELECT DISTINCT run, repetition, path, rank FROM given WHERE NOT isfinite(inclusive))
    JOIN ranks USING (run, repetition, rank)
    ANTI JOIN longest USING (run, repetition, path, rank) GROUP BY ALL
), added AS (
    SELECT run, repetition, path, SUM(inclusive) AS inclusive, MAX(rank) >= 0 AS of_ranks,
           CASE WHEN COUNT(exclusive) = COUNT(*) THEN SUM(exclusive) END AS exclusive
    FROM longest GROUP BY ALL
), shares AS (
    SELECT added.*, CASE WHEN of_ranks THEN n - COALESCE(n_unknown, 0) ELSE 1 END AS parts
    FROM added LEFT JOIN numbers USING (run, repetition)
    LEFT JOIN unknown USING (run, repetition, path)
), together AS (
    SELECT run, repetition, path, inclusive / parts AS inclusive, exclusive / parts AS exclusive
    FROM shares
), values_ AS (
    SELECT path, SUM(inclusive) / executions AS inclusive,
           CASE WHEN COUNT(exclusive) = COUNT(*) THEN SUM(exclusive) / executions
                ELSE 'nan'::DOUBLE END AS exclusive
    FROM together, (SELECT COUNT(DISTINCT repetition) AS executions FROM rows_)
    GROUP BY path, executions
)
"""
_PLACES = """
, places_ AS (
    SELECT COUNT(DISTINCT rank) FILTER (WHERE rank >= 0) AS ranks,
           COALESCE(MAX(processes) FILTER (WHERE rank < 0), 0) AS processes,
           COALESCE(MAX(n), 0) AS places
    FROM (SELECT rank, COUNT(DISTINCT process) AS processes, COUNT(*) AS n
          FROM there GROUP BY run, repetition, path, rank)
)
"""


class PathTimes(NamedTuple):
    """Values of a path over all places, of one execution; exclusive is NaN where not known."""

    inclusive: float
    exclusive: float


def together_query(metric: int, once: str, only: str = "") -> str:
    """Return the tables of a query of which `together` has run, repetition, path and its values.

    Args:
        metric: number of the metric.
        once: which paths are of calls that are recorded once (`RegionKinds.recorded_once`).
        only: further conditions on locations `l`, as " AND ..."; "" for all.
    """
    return f"{_there(metric, once, only)}{_VALUES}"


def values_query(metric: int, kinds: RegionKinds, only: str = "") -> str:
    """Return the query for path, inclusive and exclusive value of each path over all places.

    Args:
        metric: number of the metric.
        kinds: those of the run's regions.
        only: further conditions on locations `l`, as " AND ..."; "" for all.
    """
    together = together_query(metric, kinds.recorded_once(), only)
    return f"{together} SELECT * FROM values_ ORDER BY path"


def places_query(metric: int, kinds: RegionKinds, only: str = "") -> str:
    """Return the query for what `told` gets."""
    return f"{_there(metric, kinds.recorded_once(), only)}{_PLACES} SELECT * FROM places_"


def _there(metric: int, once: str, only: str) -> str:
    return _THERE.format(metric=metric, only=only, where=location_kinds.where(), once=once)


def told(ranks: int, processes: int, places: int) -> str:
    """Return which value of several places is shown, "" where each path has but one.

    Args:
        ranks: how many ranks have values.
        processes: how many processes without a rank have values of one path, at most.
        places: how many places of one rank, or without one, have values of a path, at most.
    """
    if ranks > 1:
        return f"mean of {ranks} ranks"
    if processes > 1:
        return "max of processes"
    return "max of threads" if places > 1 else ""


class RunTimes(NamedTuple):
    """Values of each path, which of several places these are, and the program's total."""

    values: Mapping[int, PathTimes]
    told: str
    whole: float | None


def of_run(run: Run, metric: int) -> RunTimes:
    """Return the value of each path, and which of several places it is.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    return _of_run(run.identity(), metric, run.region_kinds.recorded_once())


# A report asks for them twice: for its rows, and for what their shares are of.
@lru_cache(maxsize=2)
def _of_run(identity: RunIdentity, metric: int, once: str) -> RunTimes:
    # One thread: means of the same numbers in another order differ in their last digit.
    rows = shared_run(identity).query(
        f"{together_query(metric, once)}{_PLACES} "
        f"SELECT v.*, path IN ({_ROOTS}), p.* FROM values_ v, places_ p ORDER BY path",
        threads=1,
    )
    values = {int(path): PathTimes(*rest) for path, *rest, _, _, _, _ in rows}
    roots = [inclusive for _, inclusive, _, is_root, *_ in rows if is_root]
    return RunTimes(
        values, told(*map(int, rows[0][-3:])) if rows else "", sum(roots) if roots else None
    )


def told_of(run: Run, sums: Sequence[Sum], by: str) -> tuple[list[Sum], str]:
    """Return sums of a profile with the totals of such times over all places, and which these are.

    Args:
        run: the run.
        sums: sums of its profile.
        by: of what they are. Those of ranks and threads are each of one place, that of a whole
            command is what it took.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    times = run.query(f"SELECT metric FROM metrics WHERE aggregation = '{Aggregation.ELAPSED}'")
    wanted = {int(metric) for (metric,) in times} & {one.metric for one in sums}
    if by in ("rank", "process", "thread") or not wanted:
        return list(sums), ""
    keys = profile_query.keys_of_paths(run, "path" if by == "metric" else by)
    roots = {int(path) for (path,) in run.query(_ROOTS)}
    told_of_all = ""
    together: dict[tuple[int, Key, bool], float] = {}
    inclusive: dict[tuple[int, Key], float] = {}
    programs: dict[tuple[int, Key], float] = {}
    tops = _tops(run, by, keys)
    for metric in sorted(wanted):
        values, told_of_one, _ = of_run(run, metric)
        told_of_all = told_of_all or told_of_one
        for path, value in values.items():
            if by == "metric":
                is_known, number = path in roots, value.inclusive
            else:
                is_known, number = isfinite(value.exclusive), value.exclusive
            if is_known:
                key = (metric, sums[0].key if by == "metric" else keys[path], path in roots)
                together[key] = together.get(key, 0.0) + number
            elif path in roots:
                programs[metric, keys[path]] = value.inclusive
        for path, top in tops.items():
            if path in values:
                # Not known of the outermost call: of the region it is not, either.
                value_of = values[path].inclusive if path == top else 0.0
                value_of = value_of if top in values else nan
                inclusive[metric, keys[path]] = inclusive.get((metric, keys[path]), 0.0) + value_of
    return [
        row._replace(
            together=(programs.get((row.metric, row.key)) if row.whole else _of_key(together, row)),
            inclusive_together=(
                None if row.inclusive is None else inclusive.get((row.metric, row.key))
            ),
        )
        if row.metric in wanted and (by != "metric" or row.kind != "command")
        else row
        for row in sums
    ], told_of_all


def _tops(run: Run, by: str, paths: Iterable[int]) -> dict[int, int]:
    """Return the outermost path of the same region, file or line; {} where it is by another."""
    if by not in profile_query.BY_REGIONS:
        return {}
    outermost = profile_query.outermost_paths_by(run, by, run.region_kinds.code())
    if outermost is None:
        return {path: path for path in paths}
    return dict(zip(outermost.path.tolist(), outermost.top.tolist(), strict=True))


def _of_key(together: dict[tuple[int, Key, bool], float], one: Sum) -> float | None:
    known = [together.get((one.metric, one.key, is_root)) for is_root in (True, False)]
    values = [value for value in known if value is not None]
    return sum(values) if values else None


def whole(run: Run, metric: Mapping[str, Cell]) -> float | None:
    """Return the program's inclusive total of one execution; None if not known.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    if metric["formula"]:
        return None
    number = int(str(metric["metric"]))
    if metric["aggregation"] == Aggregation.ELAPSED:
        return of_run(run, number).whole
    rows = run.query(
        "SELECT l.kind, SUM(p.inclusive) FROM profile p JOIN locations l USING (location) "
        f"WHERE p.metric = {number} AND p.path IN ({_ROOTS}) AND isfinite(p.inclusive) "
        "GROUP BY l.kind"
    )
    sums = {str(kind): float(value) for kind, value in rows}
    widest = next((kind for kind in ("command", "rank", "process", "thread") if kind in sums), "")
    return sums[widest] / max(int(run.head["repetitions"]), 1) if widest else None
