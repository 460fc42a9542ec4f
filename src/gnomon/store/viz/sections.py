"""Sections of a .viz file as tables of the model: what hpmcount and libhpm write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.model.metric import Metric
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.model.value import Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.symbols import Address, resolve_lines

TIMES = {
    "wall": "wall time", "cycle": "cycle time", "user": "user time", "system": "system time",
    "overhead": "overhead",
}  # fmt: skip
"""Elements `time` that are values of a place, and what the metrics are called."""


class Program(NamedTuple):
    """What was run, of element `run`; pid and task are -1 where they are not known."""

    name: str
    host: str
    pid: int
    task: int


class Section(NamedTuple):
    """An element `section`; thread and process are 0, task is -1 where they are not known.

    Attributes:
        start: where it was started first in its program, if it told no place in the source.
    """

    kind: str
    id: int
    label: str
    file: str
    line: int
    parent: int | None
    thread: int
    process: int
    task: int
    values: list[ValueGroup]
    start: Address | None


class ValueGroup(NamedTuple):
    """A `values`: each metric by name, with its value, and how often the section was entered."""

    exclusive: bool
    continues: bool
    repetition: int
    calls: int | None
    values: dict[str, float]


def with_lines(
    sections: Sequence[Section], ended: float
) -> tuple[list[Section], tuple[Unavailable, ...]]:
    """Return sections with the lines of their starts, and why some have none.

    Args:
        sections: what a file holds.
        ended: when the program ended; 0 if that is not known.
    """
    places, missing = resolve_lines((one.start for one in sections if one.start), ended)
    return [
        one._replace(**places[one.start]._asdict()) if one.start in places else one
        for one in sections
    ], missing


class SectionRows:
    """Fills the tables of the model from sections."""

    def __init__(
        self, run: Program, sections: list[Section], metrics: Mapping[str, Metric]
    ) -> None:
        self._locations, self._regions = Table(LOCATIONS), Table(REGIONS)
        self._paths, self._metrics, self._profile = Table(PATHS), Table(METRICS), Table(PROFILE)
        self._host = run.host
        self._program = run.name.rpartition("/")[2] or run.name
        self._pid = run.pid
        task = run.task
        self._places: dict[tuple[str, int, int], int] = {}
        self._nodes: dict[tuple[int, str, str, str, int], int] = {}
        self._numbers = {
            name: self._metrics.add(**one._replace(metric=at)._asdict())
            for at, (name, one) in enumerate(metrics.items())
        }
        self._place("process" if task >= 0 else "command", -1, self._pid, -1, task, self._program)
        self._path(-1, "hpm", self._program, run.name, "", 0)
        by_id = {(one.task, one.thread, one.id): one for one in sections if one.kind == "region"}
        outer = [self._outer(one, by_id) for one in sections if one.parent is not None]
        with_parts = {(one.task, one.thread, one.id) for one in outer if one is not None}
        for one in sections:
            self._section(one, by_id, has_inner=(one.task, one.thread, one.id) in with_parts)

    def add_usage(self, used: Mapping[str, float]) -> None:
        """Add times of the whole program, in nanoseconds by name."""
        for name, value in used.items():
            if name not in self._numbers:
                about = Metric(
                    len(self._metrics), name, "ns", "", "counted", "", "all", "process",
                    "of the whole program",
                )  # fmt: skip
                self._numbers[name] = self._metrics.add(**about._asdict())
            self._profile.append(
                (0, 0, 0, self._numbers[name], value, None, None, None, None, None)
            )

    def tables(self) -> tuple[Table, ...]:
        """Return the tables, filled."""
        return (self._locations, self._regions, self._paths, self._metrics, self._profile)

    def _section(
        self, section: Section, by_id: Mapping[tuple[int, int, int], Section], *, has_inner: bool
    ) -> None:
        place, path = 0, 0
        if section.kind == "process":
            place = self._place(
                "process", 0, section.process or section.id, -1, section.task, section.label
            )
        elif section.kind == "core":
            place = self._place(
                "core", 0, self._pid, -1, section.task, section.label or f"CPU {section.id}"
            )
        elif section.thread or section.kind == "thread":
            tid = section.thread or section.id
            pid = section.process or self._pid
            name = section.label if section.kind == "thread" else ""
            place = self._place("thread", 0, pid, tid, section.task, name)
        if section.kind in ("region", "cgroup", "interval"):
            path = self._chain(section, by_id)
        by_metric: dict[tuple[int, str], list[float | int | None]] = {}
        for group in section.values:
            for name, value in group.values.items():
                cells = by_metric.setdefault((group.repetition, name), [None, None, group.calls])
                column = 1 if group.exclusive else 0
                before = cells[column]
                if before is None:
                    cells[column] = value
                elif group.continues and name in TIMES.values():
                    cells[column] = before + value
        for (repetition, name), (whole, alone, calls) in by_metric.items():
            if whole is None:
                # With nothing in it, a section's own values are all it has.
                whole = alone if not has_inner else None
            elif alone is None and not has_inner and path > 0:
                alone = whole
            self._profile.append(
                (repetition, place, path, self._numbers[name], whole, alone, calls,
                 None, None, None)
            )  # fmt: skip

    def _chain(self, section: Section, by_id: Mapping[tuple[int, int, int], Section]) -> int:
        """Return the path of a section, below those of the sections that it is in."""
        above = [section]
        seen = {id(section)}
        while above[-1].parent is not None:
            last = above[-1]
            outer = self._outer(last, by_id)
            if outer is None or id(outer) in seen:
                break
            seen.add(id(outer))
            above.append(outer)
        path = 0
        for each in reversed(above):
            path = self._path(path, "hpm", each.label, self._program, each.file, each.line)
        return path

    @staticmethod
    def _outer(section: Section, by_id: Mapping[tuple[int, int, int], Section]) -> Section | None:
        """Return the section that one is in: of its thread, or of all threads."""
        return by_id.get((section.task, section.thread, section.parent or 0)) or by_id.get(
            (section.task, 0, section.parent or 0)
        )

    def _path(self, above: int, kind: str, name: str, module: str, file: str, line: int) -> int:
        key = (above, kind, name, file, line)
        path = self._nodes.get(key)
        if path is None:
            region = self._regions.add(
                region=len(self._regions), kind=kind, name=name, module=module, file=file,
                line=line,
            )  # fmt: skip
            path = self._nodes[key] = self._paths.add(
                path=len(self._paths), parent=above, region=region
            )
        return path

    def _place(self, kind: str, above: int, pid: int, tid: int, task: int, name: str) -> int:
        key = (kind, pid, tid if kind != "core" else hash(name))
        location = self._places.get(key)
        if location is None:
            location = self._places[key] = self._locations.add(
                location=len(self._locations), parent=above, kind=kind, host=self._host,
                rank=task, pid=pid, tid=tid, name=name,
            )  # fmt: skip
        return location
