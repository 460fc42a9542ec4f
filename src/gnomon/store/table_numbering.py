"""One numbering of the small tables of several sets: the first half of their merge.

What is the same gets one number: a process or thread by its host and number, a region by all its
columns, a path by its parent and region, a metric by its name, unit and how it was measured. The
roots of all are one, what was started, but for those of divisions, which are none of its parts
(`RegionKind.is_division`). Numbers are given in the order of the sets.

The sets of a job are alike: of those whose small tables have the same bytes one is looked at.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.errors import RunDirectoryError
from gnomon.model.metric import usual_aggregation
from gnomon.model.region_kinds import OWN_KINDS, RegionKinds
from gnomon.model.tables import (
    ALL_SCHEMAS,
    LOCATIONS,
    METRICS,
    PATHS,
    REGIONS,
    Cell,
    Column,
    Schema,
    Table,
)
from gnomon.named_tuple import NamedTuple
from gnomon.store.path_numbers import PathNumbers
from gnomon.store.table_set import TableSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TASKS = ("process", "thread")
_ROOT_NAME = "hpm"
# Tables that get one numbering. Regions come before what refers to them.
NUMBERED = tuple(schema for schema in ALL_SCHEMAS if not schema.is_bulk)
_SHARED = frozenset(schema.name for schema in NUMBERED) - {LOCATIONS.name}
_WANTED = frozenset(schema.name for schema in NUMBERED)
_OF_METRICS = tuple(column.name for column in METRICS.columns[1:])
BULK = tuple(schema for schema in ALL_SCHEMAS if schema.is_bulk)

Key = tuple[Cell, ...]


class Numbers(NamedTuple):
    """The numbers that rows of a table have in the merged one.

    Attributes:
        own: the numbers that they have in their set; None where those are 0, 1, 2, ...
        new: what each becomes.
    """

    own: Sequence[int] | None
    new: Sequence[int]

    @property
    def is_same(self) -> bool:
        """Whether every row keeps its number."""
        return self.own is None and all(number == at for at, number in enumerate(self.new))

    def then(self, second: Numbers) -> Numbers:
        """Return the numbers that come of a second numbering of the first one's result."""
        return self._replace(new=array("i", (second.new[number] for number in self.new)))

    def of(self, cells: NDArray[Any], origin: str, what: str) -> NDArray[Any]:
        """Return the new numbers of a column; -1, for none, stays.

        Raises:
            RunDirectoryError: the table has no such number.
        """
        import numpy as np

        # -1 becomes -1 by what is behind the last one.
        new = np.append(np.asarray(self.new, dtype=np.int32), np.int32(-1))
        is_none = cells == -1
        if self.own is None:
            places, is_known = cells, (cells >= -1) & (cells < len(self.new))
        else:
            own = np.array([*self.own, -1])
            order = np.argsort(own, kind="stable")
            places = order[np.minimum(np.searchsorted(own[order], cells), len(own) - 1)]
            is_known = is_none | (own[places] == cells)
        if not is_known.all():
            number = cells[~is_known][0]
            raise RunDirectoryError(
                f"{origin}: it is damaged: it refers to {what} {number}, which it does not have; "
                "remove it, and repair gives what the rest has"
            )
        return np.asarray(new[places])


Maps = Mapping[str, Numbers]

NO_NUMBERS = Numbers(None, array("i"))
"""Those of a table that the set does not have."""


class NumberedSet(NamedTuple):
    """A set and the numbers that its rows get.

    Attributes:
        set: the tables.
        maps: by table; None where the rows have their numbers already.
        rows: how many it has of each bulk table.
    """

    set: TableSet
    maps: Maps | None
    rows: dict[str, int]

    def numbers(self, column: Column) -> Numbers | None:
        """Return the new numbers of a column's numbers; None if they stay the same."""
        if not column.refers or self.maps is None:
            return None
        return self.maps.get(column.refers, NO_NUMBERS)

    def chunks(self, schema: Schema) -> Iterator[Table]:
        """Yield the rows of a bulk table with their numbers.

        Raises:
            GnomonError: the set is damaged; names its file.
            OSError: it cannot be read.
        """
        for table in self.set.chunks({schema.name}):
            columns = {
                column.name: numbers.of(
                    table.numbers(column.name), self.set.origin, column.refers.removesuffix("s")
                )
                for column in schema.columns
                if (numbers := self.numbers(column)) is not None
            }
            yield table.replaced(**columns) if columns else table


class SetNumbers(NamedTuple):
    """What a batch found of one of its sets.

    Attributes:
        shape: which of the batch's maps are its.
        locations: its own.
        rows: how many rows it has of each bulk table.
    """

    shape: int
    locations: Table
    rows: Mapping[str, int]


class BatchNumbers(NamedTuple):
    """The small tables of several sets under one numbering, and how each set is numbered in it."""

    tables: tuple[Table, ...]
    shapes: tuple[Maps, ...]
    sets: tuple[SetNumbers, ...]


class Numbering:
    """One numbering of regions, paths, metrics and the like; locations are not among them.

    Args:
        program: the name of what was started, the root of all paths but those of divisions.
        module: its path.
        kinds: what regions may be.
    """

    def __init__(self, program: str, module: str, kinds: RegionKinds = OWN_KINDS) -> None:
        self._kinds = kinds
        self._keys: dict[str, dict[Key, int]] = {name: {} for name in _SHARED - {PATHS.name}}
        self._rows: dict[str, list[Key]] = {name: [] for name in self._keys}
        region = self._number(REGIONS, (_ROOT_NAME, program, module, "", 0, None))
        self._paths = PathNumbers(region)

    def _number(self, schema: Schema, key: Key, row: Key | None = None) -> int:
        keys = self._keys[schema.name]
        number = keys.get(key)
        if number is None:
            number = keys[key] = len(keys)
            self._rows[schema.name].append(key if row is None else row)
        return number

    def _measure(self, row: Key) -> int:
        """Return the number of a metric, a row without it."""
        cells = dict(zip(_OF_METRICS, row, strict=True))
        key = tuple(cells[name] for name in ("name", "unit", "how", "formula"))
        if not cells["aggregation"]:
            usual = usual_aggregation(str(cells["name"]), str(cells["formula"] or ""))
            cells["aggregation"] = usual.value
        number = self._number(METRICS, key, tuple(cells.values()))
        if cells["dilated"]:
            # Sections of a program that is emulated do not know that it is.
            before = dict(zip(_OF_METRICS, self._rows[METRICS.name][number], strict=True))
            self._rows[METRICS.name][number] = tuple({**before, "dilated": True}.values())
        return number

    def add(self, tables: Mapping[str, Table], origin: str) -> dict[str, Numbers]:
        """Take in a set's tables and return its numbers.

        Raises:
            RunDirectoryError: they do not fit together.
        """
        numbers_of = self._paths_and_regions(tables, origin)
        for schema in NUMBERED:
            table = tables.get(schema.name)
            if table is None or schema.name in numbers_of or schema is LOCATIONS:
                continue
            columns = [table.values(column.name) for column in schema.columns]
            # The first column of those that others refer to is the number.
            rows: list[Key] = list(zip(*(columns[1:] if schema.number else columns), strict=True))
            if schema is METRICS:
                numbers = list(map(self._measure, rows))
            else:
                numbers = [self._number(schema, row) for row in rows]
            own = columns[0] if schema.number else range(len(numbers))
            numbers_of[schema.name] = _numbers(own, numbers)
        return numbers_of

    def _paths_and_regions(self, tables: Mapping[str, Table], origin: str) -> dict[str, Numbers]:
        regions = tables.get(REGIONS.name, Table(REGIONS))
        names = [column.name for column in REGIONS.columns]
        own, *cells = (regions.values(name) for name in names)
        keys = dict(zip(own, zip(*cells, strict=True), strict=True))
        paths = tables.get(PATHS.name, Table(PATHS))
        regions_of, parents = paths.values("region"), paths.values("parent")
        of_region: dict[Cell, int] = {}
        divisions = {own for own, key in keys.items() if self._kinds.of(str(key[0])).is_division}
        below = (
            one for one, at in zip(regions_of, parents, strict=True) if at != -1 or one in divisions
        )
        try:
            for region in dict.fromkeys(below):
                of_region[region] = self._number(REGIONS, keys[region])
            for region in dict.fromkeys(regions_of):
                of_region.setdefault(region, 0)
            own_roots = {of_region[region] for region in divisions if region in of_region}
            of_path = self._paths.add(
                paths, [of_region[region] for region in regions_of], own_roots
            )
        except KeyError as error:
            raise RunDirectoryError(
                f"{origin}: it is damaged: a path refers to number {error.args[0]}, which it does "
                "not have before it; remove it, and repair gives what the rest has"
            ) from None
        for region in own:
            if region not in of_region:
                of_region[region] = self._number(REGIONS, keys[region])
        return {
            REGIONS.name: _numbers(own, [of_region[region] for region in own]),
            PATHS.name: _numbers(paths.values("path"), of_path),
        }

    def tables(self) -> tuple[Table, ...]:
        """Return the tables."""
        return tuple(
            self._paths.table() if schema is PATHS else self._table(schema)
            for schema in NUMBERED
            if schema is not LOCATIONS
        )

    def _table(self, schema: Schema) -> Table:
        rows = enumerate(self._rows[schema.name])
        return Table(schema, ((at, *row) if schema.number else row for at, row in rows))


def _numbers(own: Sequence[Cell], new: Sequence[int]) -> Numbers:
    is_plain = all(number == at for at, number in enumerate(own))
    return Numbers(
        None if is_plain else array("q", [int(number or 0) for number in own]),
        new if isinstance(new, array) else array("i", new),
    )


def batch_numbers(
    sets: Sequence[TableSet], program: str, module: str, kinds: RegionKinds = OWN_KINDS
) -> BatchNumbers:
    """Return one numbering of several sets.

    Raises:
        FormatError: a file is damaged; names it.
        RunDirectoryError: tables do not fit together.
        OSError: a file cannot be read.
    """
    numbering = Numbering(program, module, kinds)
    shapes: list[Maps] = []
    of_content: dict[tuple[bytes, ...], int] = {}
    set_numbers = []
    for each in sets:
        content: list[bytes] = []
        rows: dict[str, int] = {}
        tables: dict[str, Table] = {}
        locations = Table(LOCATIONS)
        blocks = []
        if each.file is None:
            for table in each.tables:
                if table.schema.is_bulk:
                    rows[table.schema.name] = rows.get(table.schema.name, 0) + len(table)
                elif table.schema is LOCATIONS:
                    locations = _joined(locations, each.own(table))
                else:
                    tables[table.schema.name] = _joined(tables.get(table.schema.name), table)
        else:
            for block in each.blocks(_WANTED):
                if block.table in _SHARED:
                    content += [block.descriptor, block.payload]
                    blocks.append(block)
                elif block.table == LOCATIONS.name:
                    locations = _joined(locations, each.own(block.rows()))
                elif block.table:
                    rows[block.table] = rows.get(block.table, 0) + block.n
        key = tuple(content)
        shape = of_content.get(key) if key else None
        if shape is None:
            for block in blocks:
                tables[block.table] = _joined(tables.get(block.table), block.rows())
            shape = len(shapes)
            shapes.append(numbering.add(tables, each.origin))
            of_content[key] = shape
        set_numbers.append(SetNumbers(shape, locations, rows))
    return BatchNumbers(numbering.tables(), tuple(shapes), tuple(set_numbers))


def _joined(before: Table | None, more: Table) -> Table:
    """Return rows of a small table with those that follow."""
    return Table(more.schema, [*before.rows, *more.rows]) if before else more


class Locations:
    """One numbering of locations, those of each set in their order.

    Args:
        program: the name of what was started, by the command's location, from which all come.
        host: where it ran.
    """

    def __init__(self, program: str, host: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._place({"kind": "command", "host": host, "rank": -1, "pid": -1, "tid": -1,
                     "name": program}, -1)  # fmt: skip

    def add(self, locations: Table, *, knows_ranks: bool = False) -> Numbers:
        """Take in a set's locations, parents before their children; return its numbers.

        Args:
            locations: of the set.
            knows_ranks: of processes it has the ranks from MPI itself, not by their environment.
        """
        new: dict[Cell, int] = {}
        rows = list(locations.dicts())
        # Ranks without a host are those that messages go to.
        of_task = any(row["kind"] == "rank" and row["host"] for row in rows)
        for row in rows:
            parent = -1 if row["kind"] == "command" else new.get(row["parent"], 0)
            location = new[row["location"]] = self._place(row, parent, of_task=of_task)
            rank = int(row["rank"] or 0)
            if knows_ranks and row["kind"] == "process" and rank >= 0:
                self.rows[location]["rank"] = rank
        return _numbers(list(new), list(new.values()))

    def _place(self, row: Mapping[str, Any], parent: int, *, of_task: bool = False) -> int:
        kind = row["kind"]
        key: tuple[object, ...]
        if kind == "command":
            key = ("command",)
        elif kind in _TASKS:
            key = (kind, row["host"], row["pid"], row["tid"])
        else:
            key = (kind, row["host"], row["rank"], row["name"])
        location = self._places.get((*key, row["rank"]), self._places.get(key))
        if of_task and location is not None and 0 <= self.rows[location]["rank"] != row["rank"]:
            # Containers with process numbers of their own have the same ones.
            key, location = (*key, row["rank"]), None
        if location is None:
            location = self._places[key] = len(self.rows)
            self.rows.append({**row, "location": location, "parent": parent})
            return location
        before = self.rows[location]
        for field in ("rank", "pid"):
            if before[field] < 0:
                before[field] = row[field]
        if location and before["parent"] == 0 and parent != location:
            before["parent"] = parent
        return location

    def table(self) -> Table:
        """Return the table."""
        table = Table(LOCATIONS)
        for row in self.rows:
            # libhpm tells a process's rank, and so does MPI; its threads have the same.
            above = self.rows[row["parent"]] if row["parent"] >= 0 else row
            if row["kind"] == "thread" and (row["rank"] < 0 or above["kind"] == "process"):
                row["rank"] = above["rank"] if above["rank"] >= 0 else row["rank"]
            table.add(**row)
        return table
