"""NAME.viz files (gnomon/hpm/viz.xsd) as tables of the model.

Read by expat, which fetches nothing; a document type, and with it every entity, is refused. Each
message names the file and the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from gnomon.errors import RunDirectoryError
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.model.value import How

_LIMIT_BYTES = 256 << 20
_VERSION = 1
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WITHIN = {
    "hpm": "", "run": "hpm", "argument": "run", "usage": "hpm", "field": "usage", "section": "hpm",
    "values": "section", "time": "values", "event": "values", "metric": "values", "note": "hpm",
}  # fmt: skip
_TIMES = {
    "wall": "wall time", "cycle": "cycle time", "user": "user time", "system": "system time",
    "overhead": "overhead",
}  # fmt: skip
_USED = {"ru_utime": "user time", "ru_stime": "system time"}
# Points in time, no values of a place.
_MOMENTS = ("start", "stop", "init")
_KINDS = ("program", "region", "process", "thread", "core", "cgroup", "interval")
_HOWS = [how.value for how in How]
_NS = 1e9
_LARGEST = 2**31 - 1


class Document(NamedTuple):
    """A .viz file: what a run directory has in run.json, and its tables."""

    head: dict[str, Any]
    tables: tuple[Table, ...]


class _Section(NamedTuple):
    kind: str
    id: int
    label: str
    file: str
    line: int
    parent: int | None
    thread: int
    process: int
    task: int
    values: list[_Group]


class _Group(NamedTuple):
    """A `values`: each metric by name, with its value, and how often the section was entered."""

    exclusive: bool
    continues: bool
    repetition: int
    calls: int | None
    values: dict[str, float]


class _Metric(NamedTuple):
    unit: str
    formula: str
    how: str
    component: str
    domain: str
    scope: str
    description: str


def read(path: Path) -> Document:
    """Return what a .viz file holds.

    Raises:
        RunDirectoryError: it cannot be read, or is no such file; names the line.
    """
    try:
        if path.stat().st_size > _LIMIT_BYTES:
            raise RunDirectoryError(f"{path}: too large for a .viz file")
        data = path.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
    return _Reader(path).document(data)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[str] = []
        self._text: list[str] = []
        self._run: dict[str, str] = {}
        self._arguments: list[str] = []
        self._notes: list[str] = []
        self._refused: dict[str, str] = {}
        self._used: dict[str, float] = {}
        self._sections: list[_Section] = []
        self._metrics: dict[str, _Metric] = {}
        self._root: dict[str, str] = {}
        # Whatever a file says of its encoding: those that Gnomon writes are in this one.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._doctype

    def document(self, data: bytes) -> Document:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            self._fail(f"no XML: {what}", error.lineno)
        if not self._run:
            self._fail("it has no element 'run'")
        head = self._head()
        if head["wall_seconds"]:
            self._used["wall time"] = head["wall_seconds"] * _NS
        has_program = any(one.kind == "program" for one in self._sections)
        rows = _Rows(self._run, self._sections, self._metrics)
        if not has_program:
            rows.add_usage(self._used)
        return Document(head, rows.tables())

    def _fail(self, problem: str, line: int | None = None) -> NoReturn:
        at = line or self._parser.CurrentLineNumber
        raise RunDirectoryError(
            f"{self._path}:{at}: {problem}; no .viz file of Gnomon, or a damaged one"
        )

    def _doctype(self, *_: object) -> None:
        self._fail("it has a document type, which .viz files do not have")

    def _start(self, name: str, given: dict[str, str]) -> None:
        above = self._open[-1] if self._open else ""
        if _WITHIN.get(name) != above:
            self._fail(f"an element '{name[:40]}' within '{above}'")
        self._open.append(name)
        self._text.clear()
        if name == "hpm":
            self._root = given
            version = given.get("version", "")
            if version != str(_VERSION):
                self._fail(
                    f"version {version[:20]!a} of the format; this Gnomon reads {_VERSION}: "
                    "use the Gnomon that wrote it, or a newer one"
                )
        elif name == "run":
            if self._run:
                self._fail("a second element 'run'")
            self._needs(given, "program", "host", "started")
            self._run = given
        elif name == "section":
            self._section(given)
        elif name == "values":
            self._sections[-1].values.append(
                _Group(
                    given.get("exclusive") in ("true", "1"),
                    given.get("continues") in ("true", "1"),
                    max(self._whole(given, "repetition", 1), 1) - 1,
                    self._whole(given, "calls", -1) if "calls" in given else None,
                    {},
                )
            )
        elif name == "field":
            if given.get("name") in _USED and "value" in given:
                self._used[_USED[given["name"]]] = self._finite(given["value"]) * _NS
        elif name in ("time", "event", "metric"):
            self._number(name, given)

    def _end(self, name: str) -> None:
        self._open.pop()
        text = "".join(self._text).strip()
        self._text.clear()
        if name == "argument":
            self._arguments.append(text)
        elif name == "note":
            self._notes.append(text)

    def _needs(self, given: Mapping[str, str], *names: str) -> None:
        for name in names:
            if name not in given:
                self._fail(f"no attribute '{name}' in '{self._open[-1]}'")

    def _whole(self, given: Mapping[str, str], name: str, default: int) -> int:
        text = given.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > _LARGEST:
            self._fail(f"{name}={text[:40]!a} is no number that it can have")
        return int(text)

    def _section(self, given: dict[str, str]) -> None:
        self._needs(given, "kind", "id", "label")
        if given["kind"] not in _KINDS:
            self._fail(f"a section of kind {given['kind'][:40]!a}")
        self._sections.append(
            _Section(
                given["kind"], self._whole(given, "id", 0), given["label"], given.get("file", ""),
                self._whole(given, "line", 0),
                self._whole(given, "parent", 0) if "parent" in given else None,
                self._whole(given, "thread", 0), self._whole(given, "process", 0),
                self._whole(given, "task", -1), [],
            )
        )  # fmt: skip

    def _number(self, element: str, given: dict[str, str]) -> None:
        self._needs(given, "name")
        name = given["name"]
        if element == "time":
            if name in _MOMENTS:
                return
            if name not in _TIMES:
                self._fail(f"a time {name[:40]!a}")
            self._needs(given, "seconds")
            value = self._finite(given["seconds"]) * _NS
            self._keep(_TIMES[name], value, _Metric("ns", "", "counted", "", "all", "process", ""))
            return
        if "value" not in given:
            if element == "metric":
                self._fail("no attribute 'value' in 'metric'")
            self._refused.setdefault(name, given.get("reason", ""))
            return
        self._needs(given, "how")
        if given["how"] not in _HOWS:
            self._fail(f"how={given['how'][:40]!a}")
        if element == "metric":
            self._needs(given, "formula")
        self._keep(
            name, self._finite(given["value"]),
            _Metric(
                given.get("unit", ""), given.get("formula", ""), given["how"],
                given.get("component", ""), given.get("modes", "all"),
                given.get("scope", "process"), given.get("description", ""),
            ),
        )  # fmt: skip

    def _keep(self, name: str, value: float, metric: _Metric) -> None:
        self._sections[-1].values[-1].values[name] = value
        known = self._metrics.setdefault(name, metric)
        if _HOWS.index(metric.how) > _HOWS.index(known.how):
            # A metric is as good as the worst of its values.
            self._metrics[name] = known._replace(how=metric.how)

    def _finite(self, text: str) -> float:
        if not _NUMBER.fullmatch(text) or not isfinite(float(text)):
            self._fail(f"{text[:40]!a} is no number")
        return float(text)

    def _moment(self, name: str) -> float:
        text = self._run.get(name)
        if text is None:
            return 0.0
        try:
            found = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            self._fail(f"{name}={text[:40]!a} is no time")
        return max(found, 0.0)

    def _head(self) -> dict[str, Any]:
        run = self._run
        started = self._moment("started")
        wall = self._finite(run["wall_seconds"]) if "wall_seconds" in run else 0.0
        host: dict[str, Any] = {"name": run["host"], "kernel": run.get("system", "")}
        if "cpu" in run:
            host["cpu_model"] = run["cpu"]
        if "cpus" in run:
            host["cpus"] = self._whole(run, "cpus", 0)
        return {
            "capability": "hpm",
            "producer": self._root.get("producer", ""),
            "gnomon_version": self._root.get("release", ""),
            "command": self._arguments or [run["program"]],
            "pid": self._whole(run, "process", 0),
            "hosts": [host],
            "started": started,
            "ended": self._moment("stopped") or started + wall,
            "wall_seconds": wall,
            "exit_status": self._whole(run, "exit_status", 0) if "exit_status" in run else None,
            "repetitions": 1 + max(
                (one.repetition for section in self._sections for one in section.values), default=0
            ),
            "events": run.get("events", ""),
            "unavailable": [
                {"event": name, "reason": reason, "remedy": "", "errno": 0}
                for name, reason in self._refused.items()
                if name not in self._metrics
            ],
            "warnings": self._notes,
        }  # fmt: skip


class _Rows:
    """Fills the tables of the model from sections."""

    def __init__(
        self, run: Mapping[str, str], sections: list[_Section], metrics: Mapping[str, _Metric]
    ) -> None:
        self._locations, self._regions = Table(LOCATIONS), Table(REGIONS)
        self._paths, self._metrics, self._profile = Table(PATHS), Table(METRICS), Table(PROFILE)
        self._host = run["host"]
        self._program = run["program"].rpartition("/")[2] or run["program"]
        self._pid = int(run.get("process", "-1"))
        task = int(run.get("task", "-1"))
        self._places: dict[tuple[str, int, int], int] = {}
        self._nodes: dict[tuple[int, str, str, str, int], int] = {}
        self._numbers = {
            name: self._metrics.add(metric=at, name=name, **one._asdict())
            for at, (name, one) in enumerate(metrics.items())
        }
        self._place("process" if task >= 0 else "command", -1, self._pid, -1, task, self._program)
        self._path(-1, "hpm", self._program, run["program"], "", 0)
        inner = {(one.task, one.thread, one.parent) for one in sections if one.parent is not None}
        by_id = {(one.task, one.thread, one.id): one for one in sections if one.kind == "region"}
        for one in sections:
            self._section(one, by_id, has_inner=(one.task, one.thread, one.id) in inner)

    def add_usage(self, used: Mapping[str, float]) -> None:
        """Add times of the whole program, in nanoseconds by name."""
        for name, value in used.items():
            if name not in self._numbers:
                about = _Metric("ns", "", "counted", "", "all", "process", "of the whole program")
                self._numbers[name] = self._metrics.add(
                    metric=len(self._metrics.rows), name=name, **about._asdict()
                )
            self._profile.rows.append(
                (0, 0, 0, self._numbers[name], value, None, None, None, None, None)
            )

    def tables(self) -> tuple[Table, ...]:
        return (self._locations, self._regions, self._paths, self._metrics, self._profile)

    def _section(
        self, one: _Section, by_id: Mapping[tuple[int, int, int], _Section], *, has_inner: bool
    ) -> None:
        place, path = 0, 0
        if one.kind == "process":
            place = self._place("process", 0, one.process or one.id, -1, one.task, one.label)
        elif one.kind == "core":
            place = self._place("core", 0, self._pid, -1, one.task, one.label or f"CPU {one.id}")
        elif one.thread or one.kind == "thread":
            tid = one.thread or one.id
            pid = one.process or self._pid
            name = one.label if one.kind == "thread" else ""
            place = self._place("thread", 0, pid, tid, one.task, name)
        if one.kind in ("region", "cgroup", "interval"):
            path = self._chain(one, by_id)
        found: dict[tuple[int, str], list[float | int | None]] = {}
        for group in one.values:
            for name, value in group.values.items():
                cells = found.setdefault((group.repetition, name), [None, None, group.calls])
                column = 1 if group.exclusive else 0
                before = cells[column]
                if before is None:
                    cells[column] = value
                elif group.continues and name in _TIMES.values():
                    cells[column] = before + value
        for (repetition, name), (whole, alone, calls) in found.items():
            if whole is None:
                # With nothing in it, a section's own values are all it has.
                whole = alone if not has_inner else None
            elif alone is None and not has_inner and path > 0:
                alone = whole
            self._profile.rows.append(
                (repetition, place, path, self._numbers[name], whole, alone, calls,
                 None, None, None)
            )  # fmt: skip

    def _chain(self, one: _Section, by_id: Mapping[tuple[int, int, int], _Section]) -> int:
        """Return the path of a section, below those of the sections that it is in."""
        above = [one]
        seen = {id(one)}
        while above[-1].parent is not None:
            last = above[-1]
            outer = by_id.get((last.task, last.thread, last.parent or 0))
            if outer is None or id(outer) in seen:
                break
            seen.add(id(outer))
            above.append(outer)
        path = 0
        for each in reversed(above):
            path = self._path(path, "hpm", each.label, self._program, each.file, each.line)
        return path

    def _path(self, above: int, kind: str, name: str, module: str, file: str, line: int) -> int:
        key = (above, kind, name, file, line)
        known = self._nodes.get(key)
        if known is None:
            region = self._regions.add(
                region=len(self._regions.rows), kind=kind, name=name, module=module, file=file,
                line=line,
            )  # fmt: skip
            known = self._nodes[key] = self._paths.add(
                path=len(self._paths.rows), parent=above, region=region
            )
        return known

    def _place(self, kind: str, above: int, pid: int, tid: int, task: int, name: str) -> int:
        key = (kind, pid, tid if kind != "core" else hash(name))
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = self._locations.add(
                location=len(self._locations.rows), parent=above, kind=kind, host=self._host,
                rank=task, pid=pid, tid=tid, name=name,
            )  # fmt: skip
        return known
