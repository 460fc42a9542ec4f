"""One set of the model's tables from several: those of capabilities, processes and tasks of a job.

Each set is numbered on its own. What is the same gets one number: a process or thread by its host
and number, a region by all its columns, a path by its parent and region, a metric by its name, unit
and how it was measured. The roots of all are one: what was started.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gnomon.model.collected import rows_of
from gnomon.model.metric import Aggregation, usual_aggregation
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Cell, Table

_TASKS = ("process", "thread")
# A job takes as long as its slowest task and has the peak of its largest; the rest is added up.
_PEAKS = (Aggregation.ELAPSED, Aggregation.MAX)
_ROUNDING = 1e-9


def assembled(
    parts: Iterable[Sequence[Table]], *, program: str, module: str, host: str, job: bool
) -> tuple[Table, ...]:
    """Return the five tables of all parts.

    Args:
        parts: each a set of tables that refer to each other only.
        program: name of what was started, the root of all paths.
        module: its path.
        host: where the command ran.
        job: the parts are of several tasks; the command's own values are then put together from
            those of kind `rank`.
    """
    whole = _Assembly(program, module, host)
    for part in parts:
        whole.add(part)
    if job:
        whole.add_up()
    return whole.tables()


def of_task(tables: Sequence[Table], rank: int) -> tuple[Table, ...]:
    """Return a task's tables as a part of its job: its command is a rank, below the job."""
    found = []
    for table in tables:
        if table.schema is LOCATIONS:
            changed = Table(LOCATIONS)
            for row in table.dicts():
                cells = dict(row) | {"rank": rank}
                if row["kind"] == "command":
                    cells["kind"] = "rank"
                changed.add(**cells)
            table = changed
        found.append(table)
    return tuple(found)


class _Row(NamedTuple):
    """A value of a path below the root."""

    location: int
    path: int
    inclusive: float
    exclusive: float | None


class _Assembly:
    def __init__(self, program: str, module: str, host: str) -> None:
        self._locations: list[dict[str, Any]] = []
        self._place: dict[tuple[object, ...], int] = {}
        self._regions: list[tuple[Cell, ...]] = []
        self._region: dict[tuple[Cell, ...], int] = {}
        self._paths: list[tuple[int, int, int]] = []
        self._path: dict[tuple[int, int], int] = {}
        self._metrics: list[dict[str, Cell]] = []
        self._metric: dict[tuple[object, ...], int] = {}
        self._rows: dict[tuple[int, int, int, int], list[Any]] = {}
        self._locate({"kind": "command", "host": host, "rank": -1, "pid": -1, "tid": -1,
                      "name": program}, -1)  # fmt: skip
        self._step(-1, self._known_region(("hpm", program, module, "", 0)))

    # --- identity ---------------------------------------------------------------------------------

    def _locate(self, cells: dict[str, Any], parent: int, *, of_task: bool = False) -> int:
        kind = cells["kind"]
        key: tuple[object, ...]
        if kind == "command":
            key = ("command",)
        elif kind in _TASKS:
            key = (kind, cells["host"], cells["pid"], cells["tid"])
        else:
            key = (kind, cells["host"], cells["rank"], cells["name"])
        at = self._place.get((*key, cells["rank"]), self._place.get(key))
        if of_task and at is not None and 0 <= self._locations[at]["rank"] != cells["rank"]:
            # Containers with process numbers of their own have the same ones.
            key, at = (*key, cells["rank"]), None
        if at is None:
            at = self._place[key] = len(self._locations)
            self._locations.append({**cells, "location": at, "parent": parent})
            return at
        known = self._locations[at]
        for field in ("rank", "pid"):
            if known[field] < 0:
                known[field] = cells[field]
        if at and known["parent"] == 0 and parent != at:
            known["parent"] = parent
        return at

    def _known_region(self, cells: tuple[Cell, ...]) -> int:
        if cells not in self._region:
            self._region[cells] = len(self._regions)
            self._regions.append((len(self._regions), *cells))
        return self._region[cells]

    def _step(self, parent: int, region: int) -> int:
        key = (parent, region)
        if key not in self._path:
            self._path[key] = len(self._paths)
            self._paths.append((len(self._paths), parent, region))
        return self._path[key]

    def _measure(self, row: dict[str, Cell]) -> int:
        key = tuple(row[name] for name in ("name", "unit", "how", "formula"))
        at = self._metric.setdefault(key, len(self._metrics))
        if at == len(self._metrics):
            usual = usual_aggregation(str(row["name"]), str(row["formula"] or ""))
            self._metrics.append(
                {**row, "metric": at, "aggregation": row["aggregation"] or usual.value}
            )
        # Sections of a program that is emulated do not know that it is.
        elif row["dilated"]:
            self._metrics[at]["dilated"] = True
        return at

    def _is_ratio(self, metric: int) -> bool:
        return self._metrics[metric]["aggregation"] == Aggregation.NONE

    def _is_peak(self, metric: int) -> bool:
        return self._metrics[metric]["aggregation"] in _PEAKS

    # --- adding -----------------------------------------------------------------------------------

    def add(self, tables: Sequence[Table]) -> None:
        """Add a set of tables; parents come before their children in each."""
        places: dict[Cell, int] = {}
        of_task = any(row["kind"] == "rank" for row in rows_of(tables, "locations"))
        for row in rows_of(tables, "locations"):
            is_root = row["kind"] == "command"
            parent = -1 if is_root else places.get(row["parent"], 0)
            places[row["location"]] = self._locate(dict(row), parent, of_task=of_task)
        regions = {
            row["region"]: tuple(row[name] for name in ("kind", "name", "module", "file", "line"))
            for row in rows_of(tables, "regions")
        }
        paths: dict[Cell, int] = {}
        for row in rows_of(tables, "paths"):
            if row["parent"] == -1:
                paths[row["path"]] = 0
            else:
                region = self._known_region(regions[row["region"]])
                paths[row["path"]] = self._step(paths[row["parent"]], region)
        metrics = {row["metric"]: self._measure(row) for row in rows_of(tables, "metrics")}
        for table in tables:
            if table.schema is PROFILE:
                for repetition, location, path, metric, *values in table.rows:
                    key = (int(repetition or 0), places[location], paths[path], metrics[metric])
                    # The first capability that knows a value has it.
                    self._rows.setdefault(key, list(values))

    def add_up(self) -> None:
        """Give the command what its ranks have together; derived metrics are no sums."""
        ranks = {at for at, one in enumerate(self._locations) if one["kind"] == "rank"}
        sums: dict[tuple[int, int, int, int], list[Any]] = {}
        for (repetition, location, path, metric), values in self._rows.items():
            if location not in ranks or path != 0 or self._is_ratio(metric):
                continue
            key = (repetition, 0, 0, metric)
            known = sums.get(key)
            if known is None:
                sums[key] = [values[0], values[1], 1, None, None, None]
            elif self._is_peak(metric):
                known[0] = known[1] = max(known[0], values[0])
            else:
                known[0] += values[0]
                known[1] = None if None in (known[1], values[1]) else known[1] + values[1]
        self._rows.update({key: values for key, values in sums.items() if key not in self._rows})

    def _inside(self) -> dict[tuple[int, int, int], float]:
        """Return what paths below the root have, by repetition, location and metric.

        What a location has not itself is what those in it have; NaN where that is no sum.
        """
        below: dict[tuple[int, int], list[_Row]] = {}
        for (repetition, location, path, metric), values in self._rows.items():
            if self._paths[path][1] != -1:
                row = _Row(location, path, values[0], values[1])
                below.setdefault((repetition, metric), []).append(row)
        found: dict[tuple[int, int, int], float] = {}
        for (repetition, metric), rows in below.items():
            if self._is_ratio(metric) or not all(map(self._is_own, rows)):
                sums = self._of_outermost(rows, metric)
            else:
                sums = self._of_each_alone(rows, is_peak=self._is_peak(metric))
            for location, value in sums.items():
                found[(repetition, location, metric)] = value
        return found

    def _is_own(self, row: _Row) -> bool:
        """Return whether it is a section with a value that no other one has in its own."""
        region = self._regions[self._paths[row.path][2]]
        return row.exclusive is not None and region[1] == "hpm"

    def _of_each_alone(self, rows: Sequence[_Row], *, is_peak: bool) -> dict[int, float]:
        """Return the sums of exclusive values: a thread's are in its process, too, and so on."""
        if is_peak:
            return self._of_moments(rows)
        found: dict[int, float] = {}
        for location, _, _, exclusive in rows:
            above = location
            while above >= 0:
                found[above] = found.get(above, 0.0) + float(exclusive or 0)
                above = self._locations[above]["parent"]
        return found

    def _of_moments(self, rows: Sequence[_Row]) -> dict[int, float]:
        """Return the same of times, of which several threads of a process have the same ones.

        Of each path its longest thread counts. What is below an outermost path comes to no more
        than that; what other threads had at the same time is in it once.
        """
        found: dict[int, float] = {}
        own: dict[tuple[int, int], float] = {}
        whole: dict[tuple[int, int], float] = {}
        for location, path, inclusive, exclusive in rows:
            home = location
            if self._locations[location]["kind"] == "thread":
                found[location] = found.get(location, 0.0) + float(exclusive or 0)
                home = self._locations[location]["parent"]
            own[(home, path)] = max(own.get((home, path), 0.0), float(exclusive or 0))
            whole[(home, path)] = max(whole.get((home, path), 0.0), inclusive)
        below: dict[tuple[int, int], float] = {}
        for (home, path), value in own.items():
            top = path
            while self._paths[top][1] != 0:
                top = self._paths[top][1]
            below[(home, top)] = below.get((home, top), 0.0) + value
        homes: dict[int, float] = {}
        for (home, top), value in below.items():
            homes[home] = homes.get(home, 0.0) + min(value, whole.get((home, top), value))
        for home, value in homes.items():
            above = home
            while above >= 0:
                found[above] = math.nan if above in found else value
                above = self._locations[above]["parent"]
        return found

    def _of_outermost(self, rows: Sequence[_Row], metric: int) -> dict[int, float]:
        """Return the sums of inclusive values of the paths that are below no other with a value.

        What a location has of a path includes what those in it have of the path and below. Times
        of one that has some itself are no sums with those of others in it.
        """
        is_peak = self._is_peak(metric)
        has = {(row.location, row.path) for row in rows}
        timed = {row.location for row in rows} if is_peak else set()
        found: dict[int, float] = {}
        for location, path, inclusive, _ in rows:
            value = math.nan if self._is_ratio(metric) else inclusive
            at = location
            while at >= 0 and not self._has_above(has, at, path, is_own=at == location):
                if at != location and at in timed:
                    break
                is_sum = at == location or at not in found or not is_peak
                found[at] = found.get(at, 0.0) + value if is_sum else math.nan
                at = self._locations[at]["parent"]
        return found

    def _has_above(
        self, has: set[tuple[int, int]], location: int, path: int, *, is_own: bool
    ) -> bool:
        """Return whether a location has a value of a path above, or of this one not its own."""
        if not is_own and (location, path) in has:
            return True
        above = self._paths[path][1]
        while above > 0:
            if (location, above) in has:
                return True
            above = self._paths[above][1]
        return False

    def tables(self) -> tuple[Table, ...]:
        """Return the tables; what is on a root beside its parts is its own."""
        inside = self._inside()
        profile = Table(PROFILE)
        for (repetition, location, path, metric), values in self._rows.items():
            within = inside.get((repetition, location, metric)) if path == 0 else None
            if within is not None:
                own = values[0] - within
                # Parts that overlap, or that several processes had at a time, are more than it.
                is_known = own >= -_ROUNDING * abs(within)
                values = [values[0], max(own, 0.0) if is_known else None, *values[2:]]
            profile.append((repetition, location, path, metric, *values))
        locations = Table(LOCATIONS)
        for row in self._locations:
            # libhpm tells a process's rank; its threads have the same.
            above = self._locations[row["parent"]] if row["parent"] >= 0 else row
            if row["rank"] < 0 and row["kind"] == "thread":
                row["rank"] = above["rank"]
            locations.add(**row)
        metrics = Table(METRICS)
        for cells in self._metrics:
            metrics.add(**cells)
        return (
            locations, Table(REGIONS, self._regions), Table(PATHS, self._paths), metrics, profile,
        )  # fmt: skip
