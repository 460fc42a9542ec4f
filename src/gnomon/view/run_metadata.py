"""What is small of an open run, checked once for all: locations, regions, paths, metrics."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from gnomon.errors import RunDirectoryError
from gnomon.model import forest, location_kinds, region_kinds
from gnomon.model.array_types import Cells, Flags, Floats, Ints, Texts
from gnomon.model.metric import Metric
from gnomon.model.region_kinds import RegionKind, RegionKinds
from gnomon.model.tables import METRICS
from gnomon.named_tuple import NamedTuple
from gnomon.store import moments, table_limits
from gnomon.store.kept_files import nothing_packed
from gnomon.view.database import Tables

_DAMAGED = "; restore it from a copy, or measure again"
# Deeper than any machine is made of; what is deeper goes in circles or is made up.
_DEPTH_LIMIT = 64
# Texts of regions, each as often as it is there, go to the page shortened if they are more.
_TEXTS_BYTES = 32 << 20
_SHORT = 256


class Location(NamedTuple):
    """A row of the table of locations, and a name to show."""

    location: int
    parent: int
    kind: str
    host: str
    rank: int
    pid: int
    tid: int
    name: str
    title: str


class Regions(NamedTuple):
    """The table of regions by position, texts as numbers of `texts`."""

    number: Ints
    kind: Texts
    name: Texts
    module: Texts
    file: Texts
    line: Ints
    inlined: Flags


class Paths(NamedTuple):
    """The table of paths by position.

    Attributes:
        number: as the profile has them.
        parent: position, -1 for roots.
        region: position.
        order: positions, parents before their children, in the order of a walk level by level.
        depth: 0 for roots.
    """

    number: Ints
    parent: Ints
    region: Ints
    order: Ints
    depth: Ints


class OverallTimes(NamedTuple):
    """A time of several places at once: values of paths by position, NaN where there are none.

    Attributes:
        inclusive, exclusive: of each path.
        has: which paths have any.
        told: which of several places' values they are, "" where there is but one.
    """

    inclusive: Floats
    exclusive: Floats
    has: Flags
    told: str


class Dataset:
    """One open run: its head, its small tables, and its large ones to be asked."""

    def __init__(
        self,
        name: str,
        head: Mapping[str, Any],
        tables: Tables,
        source_text: Callable[[str], bytes | None] = nothing_packed,
    ) -> None:
        self.source_text = source_text
        self.name = name
        self.head = head
        self.tables = tables
        self._together: dict[tuple[int, int], OverallTimes] = {}

    def with_tables(self, tables: Tables) -> Dataset:
        """Return the same run with tables in which metrics and values are others."""
        data = copy.copy(self)
        data.tables = tables
        data._together = {}
        for name in ("metrics", "metric_of", "is_dilated"):
            data.__dict__.pop(name, None)
        return data

    @cached_property
    def has_sections(self) -> bool:
        """Whether anything within the program is a section, and not only the program itself."""
        is_part = self.paths.parent >= 0
        return bool(self.is_section[is_part].any())

    @cached_property
    def region_kinds(self) -> RegionKinds:
        """The kinds that its regions may have."""
        return region_kinds.of_head(self.head)

    @cached_property
    def is_code(self) -> Flags:
        """Which paths are functions and lines of the source."""
        return self._of_regions(lambda kind: kind.is_code)

    @cached_property
    def has_call_paths(self) -> bool:
        """Whether functions are below the functions that called them, as samples of stacks are."""
        parent = self.paths.parent
        below = np.flatnonzero(self.is_code & (parent >= 0))
        return bool(self.is_code[parent[below]].any())

    @property
    def has_inlined(self) -> bool:
        """Whether some functions are told to stand in the code of their callers."""
        return bool(self.regions.inlined.any())

    @cached_property
    def walk(self) -> tuple[Ints, Ints]:
        """Where each path begins in a walk that goes down first, and where its last one ends."""
        return forest.preorder(self.paths.parent)

    @cached_property
    def is_section(self) -> Flags:
        """Which paths are the program or sections of it."""
        return self._of_regions(lambda kind: kind.is_section)

    @cached_property
    def is_recorded_once(self) -> Flags:
        """Which paths are of calls that have one location each: `RegionKinds.recorded_once`."""
        return self.is_section & (self.paths.parent >= 0)

    @cached_property
    def is_where(self) -> Flags:
        """Which locations are CPUs and cores: where something ran, not who."""
        return np.array([one.kind in location_kinds.WHERE for one in self.locations], dtype=bool)

    def _of_regions(self, has: Callable[[RegionKind], bool]) -> Flags:
        kinds = {kind: has(self.region_kinds.of(kind)) for kind in set(self.regions.kind.tolist())}
        flags = np.array([kinds[kind] for kind in self.regions.kind.tolist()], dtype=bool)
        return flags[self.paths.region] if len(flags) else np.zeros(len(self.paths.number), bool)

    def together(self, metric: int, location: int = -1) -> OverallTimes:
        """Return the values of a metric whose values are times of the same moments.

        Args:
            metric: its number.
            location: position of the only location that is wanted, with what is in it; -1 for all.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """
        sums = self._together.get((metric, location))
        if sums is None:
            only, wanted = "", []
            if location >= 0:
                only = "AND l.location IN (SELECT unnest(?::INTEGER[]))"
                inside = np.flatnonzero(self.within(location)).tolist()
                wanted = [[self.locations[at].location for at in inside]]
            rows = self.tables.arrays(moments.values_query(metric, self.region_kinds, only), wanted)
            position = positions(self.paths.number, rows["path"])
            n = len(self.paths.number)
            inclusive, exclusive = np.full(n, np.nan), np.full(n, np.nan)
            inclusive[position[position >= 0]] = rows["inclusive"][position >= 0]
            exclusive[position[position >= 0]] = rows["exclusive"][position >= 0]
            (places,) = self.tables.rows(
                moments.places_query(metric, self.region_kinds, only), wanted
            )
            told = moments.told(*map(int, places))
            sums = OverallTimes(inclusive, exclusive, ~np.isnan(inclusive), told)
            self._together[(metric, location)] = sums
        return sums

    def within(self, location: int) -> Flags:
        """Return which locations are a location or in it, by position."""
        inside = np.zeros(len(self.locations), dtype=bool)
        for at, parent in enumerate(self.location_parents.tolist()):
            inside[at] = at == location or (parent >= 0 and inside[parent])
        return inside

    @cached_property
    def is_of_threads(self) -> Flags:
        """Which paths are sections of single threads, in a run that has others, too."""
        arrays = self.tables.arrays(
            "SELECT p.path, BOOL_AND(l.kind = 'thread') AS is_thread "
            "FROM profile p JOIN locations l USING (location) JOIN paths t USING (path) "
            "JOIN regions r USING (region) "
            f"WHERE r.kind IN {self.region_kinds.sections()} AND t.parent <> -1 "
            "GROUP BY p.path ORDER BY p.path"
        )
        is_thread = arrays["is_thread"].astype(bool)
        flags = np.zeros(len(self.paths.number), dtype=bool)
        if not is_thread.all():
            at = positions(self.paths.number, arrays["path"])
            flags[at[(at >= 0) & is_thread]] = True
        return flags

    @property
    def repetitions(self) -> int:
        """How often the command was executed, at least 1."""
        return max(int(self.head.get("repetitions") or 1), 1)

    @cached_property
    def locations(self) -> tuple[Location, ...]:
        """Every location, parents before their children.

        Raises:
            RunDirectoryError: they do not form a forest.
        """
        kind, host, name = (
            table_limits.bounded_text(column) for column in ("kind", "host", "name")
        )
        rows = self.tables.rows(
            f"SELECT location, parent, {kind}, {host}, COALESCE(rank, -1), COALESCE(pid, -1), "
            f"COALESCE(tid, -1), {name} FROM locations WHERE location IS NOT NULL"
        )
        number = np.array([row[0] for row in rows], dtype=np.int32)
        parent = np.array([-1 if row[1] is None else row[1] for row in rows], dtype=np.int32)
        _, order, _ = self._forest("locations", number, parent, _DEPTH_LIMIT)
        located = [
            Location._make((rows[at][0], int(parent[at]), *rows[at][2:], _title(*rows[at][2:])))
            for at in order.tolist()
        ]
        # A rank is called so once: of several processes in one, each by its own name.
        at_of = {one.location: at for at, one in enumerate(located)}
        above = [at_of.get(one.parent, -1) for one in located]
        children = Counter(
            at for at, one in zip(above, located, strict=True) if one.kind == "process"
        )
        for index, location in enumerate(located):
            if (
                location.kind == "process"
                and children[above[index]] > 1
                and located[above[index]].kind == "rank"
            ):
                located[index] = location._replace(
                    title=_title("process", "", -1, location.pid, -1, location.name)
                )
        executions: dict[int, list[int]] = {}
        for index, location in enumerate(located):
            if location.kind == "command" and location.rank < 0:
                # Of a combination each run has its own.
                executions.setdefault(location.parent, []).append(index)
        for commands in executions.values():
            for nth, at in enumerate(commands, start=1) if len(commands) > 1 else ():
                title = f"execution {nth} of {len(commands)}: {located[at].name}"
                located[at] = located[at]._replace(title=title)
        return tuple(located)

    @cached_property
    def location_at(self) -> dict[int, int]:
        """Position of each location's number."""
        return {one.location: at for at, one in enumerate(self.locations)}

    @cached_property
    def location_parents(self) -> Ints:
        """Position of each location's parent, -1 for roots."""
        at = self.location_at
        return np.array([at.get(one.parent, -1) for one in self.locations], dtype=np.int32)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric in the run's order.

        Raises:
            RunDirectoryError: two have one number.
        """
        columns = ", ".join(
            table_limits.bounded_text(column.name) if column.type == "VARCHAR" else column.name
            for column in METRICS.columns
        )
        rows = self.tables.rows(
            f"SELECT {columns} FROM metrics WHERE metric IS NOT NULL ORDER BY metric"
        )
        if len({row[0] for row in rows}) < len(rows):
            raise RunDirectoryError(f"{self.name}: two of its metrics have one number{_DAMAGED}")
        return tuple(Metric(*row) for row in rows)

    @cached_property
    def metric_of(self) -> dict[int, Metric]:
        """Metrics by number."""
        return {one.metric: one for one in self.metrics}

    @cached_property
    def is_dilated(self) -> bool:
        """Whether the tool slowed the program so much that times are not the program's."""
        return any(one.dilated for one in self.metrics)

    @cached_property
    def regions(self) -> Regions:
        """Every region."""
        arrays = self.tables.arrays(
            "SELECT region, GREATEST(COALESCE(line, 0), 0) AS line, "
            "COALESCE(inlined, FALSE) AS inlined FROM regions WHERE region IS NOT NULL"
        )
        texts = ("kind", "name", "module", "file")
        sizes = " + ".join(
            f"LEAST(COALESCE(strlen({one}), 0), {table_limits.TEXT_MOST})" for one in texts
        )
        ((size,),) = self.tables.rows(f"SELECT COALESCE(SUM({sizes}), 0) FROM regions")
        most = table_limits.TEXT_MOST if size <= _TEXTS_BYTES else _SHORT
        kind, name, module, file = (self._texts(column, most) for column in texts)
        inlined = arrays["inlined"].astype(bool)
        return Regions(arrays["region"], kind, name, module, file, arrays["line"], inlined)

    def _texts(self, column: str, most: int) -> Texts:
        """Return a column of the regions, each text once in memory."""
        arrays = self.tables.arrays(
            f"SELECT {table_limits.bounded_text(column, most)} AS text FROM regions "
            "WHERE region IS NOT NULL"
        )
        known: dict[str, str] = {}
        texts = arrays["text"]
        texts[:] = [known.setdefault(one, one) for one in texts]
        return texts

    @cached_property
    def paths(self) -> Paths:
        """Every path.

        Raises:
            RunDirectoryError: they do not form a forest, are too deep, or have no region.
        """
        arrays = self.tables.arrays(
            "SELECT path, COALESCE(parent, -1) AS parent, COALESCE(region, -1) AS region "
            "FROM paths WHERE path IS NOT NULL"
        )
        number = arrays["path"].astype(np.int32)
        parent, order, depth = self._forest(
            "paths", number, arrays["parent"], table_limits.DEPTH_MOST
        )
        region = positions(self.regions.number, arrays["region"])
        if len(region) and region.min() < 0:
            raise RunDirectoryError(f"{self.name}: some of its paths have no region{_DAMAGED}")
        return self._of_program(Paths(number, parent, region, order, depth))

    def _of_program(self, paths: Paths) -> Paths:
        """Leave out paths that divide once more what others have: `RegionKind.is_division`."""
        kinds = self.regions.kind.tolist()
        divides = {kind: self.region_kinds.of(kind).is_division for kind in set(kinds)}
        if not any(divides.values()):
            return paths
        is_left_out = np.array([divides[kind] for kind in kinds], dtype=bool)[paths.region]
        for level in forest.levels(paths.parent)[1:]:
            is_left_out[level] |= is_left_out[paths.parent[level]]
        position = np.cumsum(~is_left_out) - 1
        stays = np.flatnonzero(~is_left_out)
        parent = paths.parent[stays]
        order = paths.order[~is_left_out[paths.order]]
        return Paths(
            paths.number[stays],
            np.where(parent >= 0, position[parent], -1).astype(np.int32),
            paths.region[stays],
            position[order].astype(np.int32),
            paths.depth[stays],
        )

    def _forest(
        self, what: str, number: Ints, parent: Ints, deepest: int
    ) -> tuple[Ints, Ints, Ints]:
        """Return positions of parents, an order with parents first, and depths."""
        ordered = np.sort(number)
        if np.any(ordered[1:] == ordered[:-1]):
            raise RunDirectoryError(f"{self.name}: two of its {what} have one number{_DAMAGED}")
        above = positions(number, parent)
        if np.any((above < 0) & (parent != -1)):
            raise RunDirectoryError(
                f"{self.name}: the parent of one of its {what} is missing{_DAMAGED}"
            )
        by_level = forest.levels(above, deepest + 1)
        if len(by_level) > deepest:
            raise RunDirectoryError(
                f"{self.name}: its {what} are nested more than {deepest} deep{_DAMAGED}"
            )
        order = np.concatenate(by_level) if by_level else np.zeros(0, dtype=np.int32)
        depth = np.full(len(number), -1, dtype=np.int32)
        for at, level in enumerate(by_level):
            depth[level] = at
        if np.any(depth < 0):
            raise RunDirectoryError(f"{self.name}: one of its {what} is its own ancestor{_DAMAGED}")
        return above, order.astype(np.int32), depth


def positions(numbers: Ints, wanted: Cells) -> Ints:
    """Return where each wanted number stands among the known ones, -1 where it does not."""
    if not len(numbers):
        return np.full(len(wanted), -1, dtype=np.int32)
    order = np.argsort(numbers, kind="stable")
    at = np.minimum(np.searchsorted(numbers[order], wanted), len(numbers) - 1)
    found = order[at]
    return np.where(numbers[found] == wanted, found, -1).astype(np.int32)


def _title(kind: str, host: str, rank: int, pid: int, tid: int, name: str) -> str:
    if kind == "run":
        return name
    if rank >= 0 and kind in ("process", "rank", "command"):
        return f"rank {rank}" + (f" on {host}" if host else "")
    if kind == "thread":
        return f"thread {tid} {name}".rstrip()
    if kind == "process":
        return f"process {pid} {name}".rstrip()
    if kind == "host":
        return host or name
    return f"{kind} {name}".strip()
