"""What sections of a program with libhpm measured, as rows of the model's tables.

libhpm leaves it in the folder that GNOMON_RUN_DIR names (native/hpm/section_staging.c): items of
every process that called hpmTerminate, and for each a link to its raw file, which is what remains
of one that was killed; where its sections start, if they did not say it themselves; and the call
stacks that they start from, if values were kept by these.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path

from gnomon.errors import GnomonError
from gnomon.measurement.items import (
    IS_NODE_WIDE,
    SYSTEM,
    USER,
    WALLCLOCK,
    Item,
    RankFile,
)
from gnomon.measurement.measurement_items import domain_of, has_value, how_of, metrics_of
from gnomon.measurement.measurement_metrics import Definitions
from gnomon.model.capability_result import Collected
from gnomon.model.metric import usual_aggregation
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Cell, Table
from gnomon.model.value import How, Unavailable
from gnomon.sections import start_lines, start_stacks
from gnomon.sections.section_files import complaint, owners_of, read_items
from gnomon.store.record_blocks import BlockWriter, read_blocks
from gnomon.symbols import SourceLine
from gnomon.units import printable

_TIMES = (("wall time", WALLCLOCK), ("user time", USER), ("system time", SYSTEM))
_NS = 1e9
_ROWS_HELD = 100_000
_ROUNDING_NS = 1e3
# What hpm-repair says where people run it; here nobody did.
_BY_HAND = ", put together by gnomon repair"
_NO_EXCLUSIVE = Unavailable(
    "exclusive values of sections", "libhpm did not keep them",
    "unset HPM_EXCLUSIVE_VALUES, and link the program with this Gnomon's libhpm",
)  # fmt: skip


def collect(folder: Path) -> Collected:
    """Return the results of the sections of all processes that had the folder.

    A file that cannot be read costs a warning, never the others. One process is in memory at a
    time; of many, the rows are in a file of the folder until they are asked for.
    """
    unreadable: dict[str, str] = {}
    owners = owners_of(folder, unreadable)
    of_places: list[str] = []
    lines, missing = start_lines.lines_of_processes(sorted(owners), folder, of_places)
    stacks, of_stacks = start_stacks.stacks_of_processes(sorted(owners), folder, of_places)
    missing += of_stacks
    rows = _Rows(folder / "sections.blocks")
    notes: list[str] = []
    unavailable: dict[tuple[str, str], Unavailable] = {}
    for stem in sorted(owners, key=lambda stem: owners[stem]):
        try:
            file = _with_lines(read_items(folder, stem), lines.get(stem, {}))
        except (OSError, GnomonError) as error:
            unreadable[stem] = complaint(stem, error)
            continue
        rows.add(file, stacks.get(stem, {}))
        of_file = f"process {file.process}" if file.task < 0 else f"rank {file.task}"
        said = file.notes.replace(_BY_HAND, "").splitlines()
        notes += (f"{of_file}: {note}" for note in said if note)
        for event in (event for item in file.items if not item.is_rusage for event in item.data):
            if not has_value(event) and event.reason:
                reason, _, remedy = event.reason.partition("; ")
                key = (event.name, reason)
                unavailable.setdefault(
                    key, Unavailable(event.name, f"in sections: {reason}", remedy)
                )
    tables = rows.tables()
    if rows.has_sections and not rows.has_exclusive:
        missing += (_NO_EXCLUSIVE,)
    warnings = [*(unreadable[stem] for stem in sorted(unreadable)), *of_places, *notes]
    return Collected(
        tables, (*unavailable.values(), *missing),
        tuple(dict.fromkeys([*warnings, *rows.warnings()])),
    )  # fmt: skip


def _with_lines(file: RankFile, lines: Mapping[int, SourceLine]) -> RankFile:
    """Return a file with the lines of sections that had none."""
    items = tuple(
        item._replace(**lines[item.instr_id]._asdict())
        if item.instr_id in lines and not item.file
        else item
        for item in file.items
    )
    return file._replace(items=items)


class _Rows:
    """Fills the tables: processes and threads that have sections, and a path for each section.

    Args:
        file: where rows are put when there are many.
    """

    def __init__(self, file: Path) -> None:
        self._locations: dict[tuple[str, int, int, int], int] = {}
        self._places = Table(LOCATIONS)
        self._regions = Table(REGIONS)
        self._region: dict[tuple[Cell, ...], int] = {}
        self._paths = Table(PATHS)
        self._path: dict[tuple[int, int], int] = {}
        self._metrics = Table(METRICS)
        self._metric: dict[tuple[str, ...], int] = {}
        self._definitions: Definitions = {}
        # Of the process that is added: others have other locations.
        self._owner = (-1, -1)
        self._values: dict[tuple[int, int, int], list[float | None]] = {}
        self._profile = Table(PROFILE)
        self._file = file
        self._writer: BlockWriter | None = None
        self._overlapping: set[str] = set()
        self.has_sections = self.has_exclusive = False
        self._regions.add(
            region=0, kind="hpm", name="program", module="", file="", line=0, inlined=None
        )
        self._paths.add(path=0, parent=-1, region=0)

    def tables(self) -> Iterable[Table]:
        """Return the tables when all processes were added."""
        self._settle()
        tables = (self._places, self._regions, self._paths, self._metrics, self._profile)
        if self._writer is None:
            return tables
        for table in tables:
            self._writer.append(table)
        self._writer.close()
        return (block.rows() for block in read_blocks(self._file))

    def _settle(self) -> None:
        """Make rows of a process's values."""
        self._find_overlaps()
        for (location, path, metric), values in self._values.items():
            self._profile.append((0, location, path, metric, *values[:2], _whole(values[2]), None,
                                 _whole(values[3]), _whole(values[4])))  # fmt: skip
        self._values.clear()
        if len(self._profile) >= _ROWS_HELD:
            self._writer = self._writer or BlockWriter(self._file)
            self._writer.append(self._profile)
            self._profile = Table(PROFILE)

    def _find_overlaps(self) -> None:
        """Find sections whose parts do not add up to them."""
        wall = next((key for (name, *_), key in self._metric.items() if name == _TIMES[0][0]), -1)
        parts: dict[tuple[int, int], float] = {}
        above, of_region = self._paths.cells("parent"), self._paths.cells("region")
        for (place, path, metric), values in self._values.items():
            if metric == wall:
                key = (place, int(above[path]))
                parts[key] = parts.get(key, 0.0) + (values[0] or 0.0)
        for (place, path), total in parts.items():
            whole = self._values.get((place, path, wall))
            if whole and whole[0] is not None and total > whole[0] + _ROUNDING_NS:
                self._overlapping.add(self._regions.texts("name")[int(of_region[path])])

    def warnings(self) -> list[str]:
        """Return why a section's parts do not add up to it."""
        return [
            f"sections within '{printable(name)}' come to more than it: some overlap, or were "
            "started in other sections, too; each stands below the one it was started in last"
            for name in sorted(self._overlapping)
        ]

    def add(self, file: RankFile, stacks: Mapping[int, start_stacks.Functions]) -> None:
        """Add a process.

        Args:
            file: its items.
            stacks: the functions that lead to starts, by the number of the place that items have.
        """
        sections = [item for item in file.items if not item.is_rusage and item.instr_id > 0]
        if not sections:
            return
        if (file.task, file.process) != self._owner:
            self._settle()
            self._owner = (file.task, file.process)
        process = self._place(file, 0)
        by_id = {item.instr_id: item for item in sections}
        alone = {_part_of(one): one for one in sections if one.is_exclusive}
        self.has_sections = True
        self.has_exclusive |= bool(alone)
        for item in sections:
            if item.is_exclusive:
                continue
            place = self._place(file, item.thread_id) if item.thread_id > 0 else process
            module = file.command or file.program
            functions = stacks.get(item.xml_element_id, ())
            if functions:
                path = self._path_below(item, functions, module)
            else:
                path = self._path_of(item, by_id, module)
            own = alone.get(_part_of(item))
            # A section that asked for exclusive values later than at its first start.
            if own is not None and own.count != item.count:
                own = None
            self._add_values(item, own, place, path)

    def _add_values(self, item: Item, own: Item | None, place: int, path: int) -> None:
        for name, time_index in _TIMES:
            seconds = item.times[time_index]
            if isfinite(seconds) and not item.is_mplex_cont:
                part = (
                    own.times[time_index] * _NS if own and isfinite(own.times[time_index]) else None
                )
                metric = self._measured(name, "ns", "counted", description="of a section")
                self._put(place, path, metric, seconds * _NS, part, item.count, None, None)
        parts = {event.name: event for event in own.data} if own else {}
        for event in item.data:
            if not has_value(event):
                continue
            part_of = parts.get(event.name)
            metric = self._measured(
                event.name, event.unit, how_of(event).value, component=event.component,
                domain=domain_of(event).value, description=event.description,
                scope="node" if event.flags & IS_NODE_WIDE else "process",
            )  # fmt: skip
            self._put(
                place, path, metric, event.value,
                part_of.value if part_of and has_value(part_of) else None, item.count,
                event.enabled_s * _NS, event.running_s * _NS,
            )  # fmt: skip
        of_own = metrics_of(own, self._definitions) if own else ()
        own_metrics = {one.name: one.value for one in of_own}
        for derived in metrics_of(item, self._definitions):
            metric = self._measured(
                derived.name, derived.unit, derived.how.value, formula=derived.formula,
                scope=derived.scope.value if derived.scope else "process",
                description=derived.description,
            )  # fmt: skip
            key = (place, path, metric)
            if key not in self._values:
                self._values[key] = [derived.value, own_metrics.get(derived.name), item.count,
                                     None, None]  # fmt: skip

    def _put(self, place: int, path: int, metric: int, *values: float | None) -> None:
        previous = self._values.get((place, path, metric))
        if previous is None:
            self._values[(place, path, metric)] = list(values)
            return
        # Two sections of one name on one line are one path.
        for at, value in enumerate(values):
            before = previous[at]
            previous[at] = None if before is None or value is None else before + value

    def _place(self, file: RankFile, tid: int) -> int:
        # Tasks in containers of their own may have the same process numbers.
        key = (file.host, file.task, file.process, tid or -1)
        if key not in self._locations:
            parent = self._place(file, 0) if tid else -1
            self._locations[key] = self._places.add(
                location=len(self._places), parent=parent,
                kind="thread" if tid else "process", host=file.host, rank=file.task,
                pid=file.process, tid=tid or -1, name=file.program or Path(file.command).name,
            )  # fmt: skip
        return self._locations[key]

    def _path_of(
        self, item: Item, by_id: Mapping[int, Item], module: str, seen: Sequence[int] = ()
    ) -> int:
        above = by_id.get(item.parent_id)
        # Sections may be each other's parents, at different times.
        if above is None or above.instr_id in seen or above.instr_id == item.instr_id:
            parent = 0
        else:
            parent = self._path_of(above, by_id, module, (*seen, item.instr_id))
        return self._child(parent, _section_cells(item, module, item.file, item.line))

    def _path_below(self, item: Item, functions: start_stacks.Functions, module: str) -> int:
        """Return the path of a section below the functions that lead to its start."""
        parent = 0
        for function in functions:
            parent = self._child(parent, ("cpu", *function))
        place = functions[-1]
        is_own = place.line > 0 and place.file != api_file()
        file, line = (place.file, place.line) if is_own else (item.file, item.line)
        return self._child(parent, _section_cells(item, module, file, line))

    def _child(self, parent: int, cells: tuple[Cell, ...]) -> int:
        if cells not in self._region:
            self._region[cells] = len(self._regions)
            self._regions.append((len(self._regions), *cells))
        key = (parent, self._region[cells])
        if key not in self._path:
            self._path[key] = self._paths.add(
                path=len(self._paths), parent=parent, region=self._region[cells]
            )
        return self._path[key]

    def _measured(
        self, name: str, unit: str, how: str, *, formula: str = "", component: str = "",
        domain: str = "all", scope: str = "process", description: str = "",
    ) -> int:  # fmt: skip
        key = (name, unit, how, formula)
        if key not in self._metric:
            self._metric[key] = self._metrics.add(
                metric=len(self._metrics), name=name, unit=unit, formula=formula, how=how,
                component=component, domain=domain, scope=scope, description=description,
                aggregation=usual_aggregation(name, formula).value, absent_is_zero=False,
                reproducible=how == How.EMULATED, dilated=False,
            )  # fmt: skip
        return self._metric[key]


def _section_cells(item: Item, module: str, file: str, line: int) -> tuple[Cell, ...]:
    name = item.label or f"section {item.instr_id}"
    return ("hpm", name, Path(module).name, file, max(line, 0), None)


def _part_of(item: Item) -> tuple[int, int, str | None]:
    """Return what inclusive and exclusive values of a section have in common."""
    return item.instr_id, item.xml_element_id, item.group


def api_file() -> str:
    """Return the file that has the functions which decorated ones are wrapped in."""
    return os.fspath(Path(__file__).with_name("api.py"))


def _whole(value: float | None) -> int | None:
    # The columns' integers have 64 bits; what needs more is no count and no time.
    return None if value is None or not abs(value) < 2.0**63 else round(value)
