"""Several open runs as one: their regions and metrics matched by name, a location above each.

So every view shows two runs beside each other: the tree is that of both, and the values of one are
those of its location.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import UsageError
from gnomon.model import region_kinds
from gnomon.model.inlining import UNIQUE_NAMES, has_unique_names
from gnomon.model.metric import Metric
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS
from gnomon.model.value import How
from gnomon.view import merged_tables
from gnomon.view.database import Arrays, Tables
from gnomon.view.run_metadata import Dataset

if TYPE_CHECKING:
    from gnomon.view.open_run import MergedPart, OpenRun

_HOWS = [how.value for how in How]


def combine(parts: Sequence[OpenRun]) -> tuple[Dataset, tuple[MergedPart, ...]]:
    """Return the combination of runs, and which location is which run.

    Raises:
        UsageError: one of them is a combination itself.
        RunDirectoryError: the tables of one cannot be read.
    """
    if any(part.parts for part in parts):
        raise UsageError("combine runs, not combinations: choose all of the runs at once")
    union = _Union(parts)
    name = " and ".join(part.title for part in parts)
    tables = Tables(name)
    for at, part in enumerate(parts):
        part.data.tables.lend(PROFILE, tables, f"profile{at}")
    for at, column, numbers in union.maps:
        tables.keep(f"map{at}_{column}", numbers)
    tables.execute(union.profile())
    merged_tables.merge([part.data.tables for part in parts], tables, union.maps)
    for schema, rows in union.rows():
        columns: list[Any] = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
        tables.insert(schema, columns)
    return Dataset(name, union.head(), tables, union.source_text), union.parts()


class _Union:
    def __init__(self, parts: Sequence[OpenRun]) -> None:
        self._parts = parts
        self._locations: list[tuple[Any, ...]] = []
        self._regions: dict[tuple[Any, ...], int] = {}
        self._paths: dict[tuple[int, int], int] = {}
        self._metrics: dict[tuple[Any, ...], Metric] = {}
        self._tops: list[int] = []
        self.maps: list[tuple[int, str, Arrays]] = []
        for at, part in enumerate(parts):
            self._add(at, part)

    def _add(self, part_index: int, part: OpenRun) -> None:
        data = part.data
        top = len(self._locations)
        self._tops.append(top)
        self._locations.append((top, -1, "run", "", -1, -1, -1, part.title))
        for location in data.locations:
            parent = top if location.parent < 0 else top + 1 + data.location_at[location.parent]
            number = top + 1 + data.location_at[location.location]
            self._locations.append(
                (
                    number,
                    parent,
                    location.kind,
                    location.host,
                    location.rank,
                    location.pid,
                    location.tid,
                    location.name,
                )
            )
        self._map(
            part_index, "location", [one.location for one in data.locations],
            range(top + 1, len(self._locations)),
        )  # fmt: skip
        regions = data.regions
        keys = zip(*(column.tolist() for column in regions[1:]), strict=True)
        region = [self._regions.setdefault(key, len(self._regions)) for key in keys]
        self._map(part_index, "region", regions.number.tolist(), region)
        paths = data.paths
        path = [0] * len(paths.number)
        parents, of_path = paths.parent.tolist(), paths.region.tolist()
        for one_path in paths.order.tolist():
            above = parents[one_path]
            pair = (path[above] if above >= 0 else -1, region[of_path[one_path]])
            path[one_path] = self._paths.setdefault(pair, len(self._paths))
        self._map(part_index, "path", paths.number.tolist(), path)
        numbers = []
        for metric in data.metrics:
            key = (metric.name, metric.unit, metric.domain, metric.component)
            merged = self._metrics.setdefault(key, metric._replace(metric=len(self._metrics)))
            self._metrics[key] = merged._replace(
                how=metric.how if _worse(metric.how, merged.how) else merged.how,
                reproducible=merged.reproducible and metric.reproducible,
                dilated=merged.dilated or metric.dilated,
            )
            numbers.append(merged.metric)
        self._map(part_index, "metric", [one.metric for one in data.metrics], numbers)

    def _map(self, part_index: int, name: str, old: Sequence[int], new: Sequence[int]) -> None:
        self.maps.append(
            (
                part_index,
                name,
                {"old": np.array(old, dtype=np.int32), "new": np.array(new, dtype=np.int32)},
            )
        )

    def rows(self) -> list[tuple[Any, list[tuple[Any, ...]]]]:
        """Return the rows of the small tables."""
        return [
            (LOCATIONS, self._locations),
            (REGIONS, [(number, *key) for key, number in self._regions.items()]),
            (PATHS, [(number, *pair) for pair, number in self._paths.items()]),
            (METRICS, list(self._metrics.values())),
        ]

    def profile(self) -> str:
        """Return the statement that makes the profile of both a view on theirs.

        Values are averages over each run's executions: runs of three and of five are alike then.
        """
        parts = []
        for part_index, part in enumerate(self._parts):
            executions = part.data.repetitions
            values = "p.inclusive, p.exclusive, p.calls"
            if executions > 1:
                values = ", ".join(f"p.{one} / {executions}" for one in _SUMMED)
            parts.append(
                f"SELECT 0 AS repetition, l.new AS location, t.new AS path, m.new AS metric, "
                f"{values}, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT) "
                f"FROM profile{part_index} p JOIN map{part_index}_location l ON p.location = l.old "
                f"JOIN map{part_index}_path t ON p.path = t.old "
                f"JOIN map{part_index}_metric m ON p.metric = m.old"
            )
        columns = (
            "repetition, location, path, metric, inclusive, exclusive, calls, raw, enabled_ns, "
            "running_ns"
        )
        return f"CREATE VIEW profile({columns}) AS " + " UNION ALL ".join(parts)

    def head(self) -> dict[str, Any]:
        """Return the head of a combination: what all of its runs have in common."""
        heads = [part.data.head for part in self._parts]
        hosts: list[Any] = []
        for head in heads:
            hosts += [host for host in head.get("hosts", []) if host not in hosts]
        return {
            "command": heads[0].get("command", []),
            "hosts": hosts,
            "started": min(head.get("started", 0) for head in heads),
            "wall_seconds": max(head.get("wall_seconds", 0) for head in heads),
            "exit_status": next(
                (head.get("exit_status") for head in heads if head.get("exit_status")), 0
            ),
            "repetitions": 1,
            "working_directory": heads[0].get("working_directory", ""),
            "unavailable": [],
            "warnings": self._warnings(),
            "sources": _common(heads),
            UNIQUE_NAMES: all(map(has_unique_names, heads)),
            **region_kinds.joined(heads),
        }

    def source_text(self, file: str) -> bytes | None:
        """Return a source file that one of the runs has itself; None if none has."""
        texts = (part.data.source_text(file) for part in self._parts)
        return next((text for text in texts if text is not None), None)

    def _warnings(self) -> list[str]:
        warnings = [
            f"{part.title}: {note}"
            for part in self._parts
            for note in part.data.head.get("warnings", [])
        ]
        names = {host.get("name") for part in self._parts for host in part.data.head["hosts"]}
        if len(names) > 1:
            warnings.insert(
                0, "these runs are of different machines: " + ", ".join(map(str, names))
            )
        return warnings

    def parts(self) -> tuple[MergedPart, ...]:
        """Return which location is which run."""
        from gnomon.view.open_run import MergedPart

        return tuple(
            MergedPart(part.id, part.title, top)
            for part, top in zip(self._parts, self._tops, strict=True)
        )


_SUMMED = ("inclusive", "exclusive", "calls")


def _worse(how: str, than: str) -> bool:
    if how not in _HOWS or than not in _HOWS:
        return False
    return _HOWS.index(how) > _HOWS.index(than)


def _common(heads: Sequence[Any]) -> dict[str, str]:
    """Return the digests that all runs have alike: a source that differs is known of neither."""
    by_file: dict[str, str] = {}
    for head in heads:
        recorded = head.get("sources")
        for file, digest in recorded.items() if isinstance(recorded, dict) else ():
            if isinstance(digest, str) and by_file.setdefault(file, digest) != digest:
                by_file[file] = "sha256:"
    return by_file
