"""Elements of a .viz file (gnomon/hpm/viz.xsd), one after the other, as a head and rows of tables.

Read by expat, which fetches nothing; a document type, and with it every entity, is refused. Each
message names the file and the line. No more of a file is held than its sections or, of the tables
that `gnomon export` writes, a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn
from xml.parsers import expat

from gnomon.errors import RunDirectoryError
from gnomon.model.metric import Metric
from gnomon.model.tables import PROFILE, Cell, Column
from gnomon.model.value import How
from gnomon.store import run_head
from gnomon.store.unpacked_run import Sink
from gnomon.store.viz import encoding
from gnomon.store.viz.sections import TIMES, Program, Section, SectionRows, ValueGroup, with_lines
from gnomon.symbols import Address

_VERSIONS = ("1", "2")
# Without tables and with them: sections are held until the last one is read.
_LARGEST_BYTES = (256 << 20, 16 << 30)
_AT_ONCE_BYTES = 1 << 20
_TAG_LIMIT_BYTES = 16 << 20
_WORDS_LIMIT = 1_000_000
_DIGITS_MOST = 400
_OFFSET = re.compile("0x[0-9a-f]{1,16}")
_TEXT_LIMIT = run_head.HEAD_LIMIT_BYTES
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NO_NUMBERS = {"INF": "inf", "-INF": "-inf", "NaN": "nan"}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_SIZES = {"INTEGER": 1 << 31, "BIGINT": 1 << 63}
_WITHIN = {
    "hpm": "", "run": "hpm", "argument": "run", "usage": "hpm", "field": "usage", "section": "hpm",
    "values": "section", "time": "values", "event": "values", "metric": "values", "note": "hpm",
}  # fmt: skip
_WITHIN_2 = {"head": "hpm", "tables": "hpm"}
_WITHIN_TABLES = {
    ("profile", "value"),
    *(("tables", name) for name in (*encoding.ELEMENTS, "profile")),
}
# What an element has for each column of its row: the attribute, and the column.
_COLUMNS = {
    name: [(encoding.attribute(schema, column.name), column) for column in schema.columns]
    for name, schema in encoding.ELEMENTS.items()
}
_PROFILE = {column.name: column for column in PROFILE.columns}
_SHARED = [(name, _PROFILE[name]) for name in encoding.SHARED]
_ALONE = [(name, _PROFILE[name]) for name in encoding.ALONE]
_USED = {"ru_utime": "user time", "ru_stime": "system time"}
# Points in time, no values of a place.
_MOMENTS = ("start", "stop", "init")
_KINDS = ("program", "region", "process", "thread", "core", "cgroup", "interval")
_HOWS = [how.value for how in How]
_NS = 1e9
_LARGEST = 2**31 - 1


def parse(path: Path, file: IO[bytes], sink: Sink) -> dict[str, Any]:
    """Return the head of a .viz file, and hand each row of its tables to `sink`.

    Args:
        path: what to call it in errors.
        file: its content.
        sink: takes the rows.

    Raises:
        RunDirectoryError: it is no such file; names the line.
        OSError: it cannot be read, or what `sink` raises.
    """
    return _Reader(path, sink).head(file)


class _Reader:
    def __init__(self, path: Path, sink: Sink) -> None:
        self._path = path
        self._sink = sink
        self._open: list[str] = []
        self._text: list[str] = []
        self._run: dict[str, str] = {}
        self._arguments: list[str] = []
        self._notes: list[str] = []
        self._refused: dict[str, str] = {}
        self._used: dict[str, float] = {}
        self._sections: list[Section] = []
        self._metrics: dict[str, Metric] = {}
        self._root: dict[str, str] = {}
        self._version = ""
        self._said: dict[str, Any] | None = None
        self._has_tables = False
        self._shared: list[Cell] = []
        # Whatever a file says of its encoding: those that Gnomon writes are in this one.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._doctype

    def head(self, file: IO[bytes]) -> dict[str, Any]:
        try:
            read = 0
            while data := file.read(_AT_ONCE_BYTES):
                self._parser.Parse(data, False)
                read += len(data)
                self._bear(read)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            self._fail(f"no XML: {what}", error.lineno)
        if not self._run:
            self._fail("it has no element 'run'")
        if self._has_tables and self._said is None:
            self._fail("it has tables, but no element 'head'")
        head = self._head() if self._said is None else self._said
        problem = run_head.problem_of(head)
        if problem:
            self._fail(problem)
        if not self._has_tables:
            self._rows(head)
        return head

    def _bear(self, read: int) -> None:
        """Refuse what would take more memory than a run does.

        Raises:
            RunDirectoryError: a tag, a text or the file is too large.
        """
        if read - self._parser.CurrentByteIndex > _TAG_LIMIT_BYTES:
            self._fail(f"a tag of more than {_TAG_LIMIT_BYTES >> 20} MiB")
        if sum(map(len, self._text)) > _TEXT_LIMIT:
            self._fail(f"a text of more than {_TEXT_LIMIT >> 20} MiB")
        most = _LARGEST_BYTES[self._has_tables]
        if read > most:
            self._fail(f"too large: more than {most >> 20} MiB")

    def _rows(self, head: Mapping[str, Any]) -> None:
        """Pass on the rows made from sections."""
        if head["wall_seconds"]:
            self._used["wall time"] = head["wall_seconds"] * _NS
        run = self._run
        rows = SectionRows(
            Program(
                run["program"], run["host"], self._whole(run, "process", -1),
                self._whole(run, "task", -1),
            ),
            self._sections, self._metrics,
        )  # fmt: skip
        if not any(one.kind == "program" for one in self._sections):
            rows.add_usage(self._used)
        for table in rows.tables():
            for row in table.rows:
                self._sink(table.schema, row)

    def _fail(self, problem: str, line: int | None = None) -> NoReturn:
        at = line or self._parser.CurrentLineNumber
        raise RunDirectoryError(
            f"{self._path}:{at}: {problem}; not a .viz file of Gnomon, or damaged"
        )

    def _doctype(self, *_: object) -> None:
        self._fail("it has a document type, which .viz files do not have")

    def _start(self, name: str, given: dict[str, str]) -> None:
        above = self._open[-1] if self._open else ""
        self._open.append(name)
        self._text.clear()
        if above in ("profile", "tables") and (above, name) in _WITHIN_TABLES:
            self._row(name, given)
            return
        if _WITHIN.get(name) != above and not (
            self._version != "1" and _WITHIN_2.get(name) == above
        ):
            self._fail(f"an element '{name[:40]}' within '{above}'")
        if self._version != "1" and any("\\" in text for text in given.values()):
            given = {key: self._meant(text) for key, text in given.items()}
        if name == "hpm":
            self._root = given
            self._version = given.get("version", "")
            if self._version not in _VERSIONS:
                self._fail(
                    f"version {self._version[:20]!a} of the format; this Gnomon reads "
                    f"{' and '.join(_VERSIONS)}: use the Gnomon that wrote it, or a newer one"
                )
        elif name == "run":
            if self._run:
                self._fail("a second element 'run'")
            self._needs(given, "program", "host", "started")
            self._run = given
        elif name in ("head", "tables"):
            if self._sections or self._has_tables or (name == "head" and self._said is not None):
                self._fail(f"an element '{name}' where it must not be")
            self._has_tables = name == "tables"
        elif name == "section":
            if self._has_tables or self._said is not None:
                self._fail("a section beside tables")
            self._section(given)
        elif name == "values":
            self._sections[-1].values.append(
                ValueGroup(
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
        if name == "value":
            return
        text = "".join(self._text)
        self._text.clear()
        if name == "head":
            self._said = self._json(text)
        elif name in ("argument", "note"):
            kept = self._arguments if name == "argument" else self._notes
            kept.append(text.strip() if self._version == "1" else self._meant(text))
            if len(kept) > _WORDS_LIMIT:
                self._fail(f"more than {_WORDS_LIMIT} of '{name}'")

    def _json(self, text: str) -> dict[str, Any]:
        try:
            head = json.loads(text)
        except (ValueError, RecursionError):
            self._fail("its element 'head' is no JSON")
        if not isinstance(head, dict):
            self._fail("its element 'head' is no object of JSON")
        return head

    def _meant(self, text: str) -> str:
        """Return a text of version 2 without its escapes."""
        try:
            return encoding.decode_text(text)
        except ValueError as error:
            self._fail(f"{text[:40]!a}: {error}")

    def _row(self, name: str, given: Mapping[str, str]) -> None:
        """Hand on a row of version 2's tables."""
        if name == "value":
            path, *rest = self._cells(given, _ALONE)
            metric, repetition, location = self._shared
            self._sink(PROFILE, (repetition, location, path, metric, *rest))
        elif name == "profile":
            self._shared = self._cells(given, _SHARED)
        else:
            self._sink(encoding.ELEMENTS[name], self._cells(given, _COLUMNS[name]))

    def _cells(self, given: Mapping[str, str], columns: Sequence[tuple[str, Column]]) -> list[Cell]:
        cells: list[Cell] = []
        for name, column in columns:
            text = given.get(name)
            if text is None:
                if column.type != "VARCHAR" and not column.nullable:
                    self._needs(given, name)
                cells.append(None if column.nullable else "")
            elif column.type == "VARCHAR":
                cells.append(self._meant(text) if "\\" in text else text)
            elif column.type == "BOOLEAN":
                if text not in _BOOLEANS:
                    self._fail(f"{name}={text[:40]!a} is neither true nor false")
                cells.append(_BOOLEANS[text])
            elif column.type == "DOUBLE":
                cells.append(float(_NO_NUMBERS.get(text) or self._finite(text)))
            else:
                size = _SIZES[column.type]
                if not _WHOLE.fullmatch(text) or not -size <= int(text) < size:
                    self._fail(f"{name}={text[:40]!a} is no number that it can have")
                cells.append(int(text))
        return cells

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
            Section(
                given["kind"], self._whole(given, "id", 0), given["label"], given.get("file", ""),
                self._whole(given, "line", 0),
                self._whole(given, "parent", 0) if "parent" in given else None,
                self._whole(given, "thread", 0), self._whole(given, "process", 0),
                self._whole(given, "task", -1), [], self._start_of(given),
            )
        )  # fmt: skip

    def _start_of(self, given: Mapping[str, str]) -> Address | None:
        """Return where a section that has no line was started first."""
        module = given.get("module", "")
        if not module.startswith("/") or "offset" not in given or given.get("file"):
            return None
        if not _OFFSET.fullmatch(given["offset"]):
            self._fail(f"offset={given['offset'][:40]!a} is no address")
        return Address(module, int(given["offset"], 16), given.get("build_id", "").lower())

    def _number(self, element: str, given: dict[str, str]) -> None:
        self._needs(given, "name")
        name = given["name"]
        if element == "time":
            if name in _MOMENTS:
                return
            if name not in TIMES:
                self._fail(f"a time {name[:40]!a}")
            self._needs(given, "seconds")
            value = self._finite(given["seconds"]) * _NS
            self._keep(
                value, Metric(-1, TIMES[name], "ns", "", "counted", "", "all", "process", "")
            )
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
            self._finite(given["value"]),
            Metric(
                -1, name, given.get("unit", ""), given.get("formula", ""), given["how"],
                given.get("component", ""), given.get("modes", "all"),
                given.get("scope", "process"), given.get("description", ""),
            ),
        )  # fmt: skip

    def _keep(self, value: float, metric: Metric) -> None:
        self._sections[-1].values[-1].values[metric.name] = value
        previous = self._metrics.setdefault(metric.name, metric)
        if _HOWS.index(metric.how) > _HOWS.index(previous.how):
            # A metric is as good as the worst of its values.
            self._metrics[metric.name] = previous._replace(how=metric.how)

    def _finite(self, text: str) -> float:
        if len(text) > _DIGITS_MOST or not _NUMBER.fullmatch(text) or not isfinite(float(text)):
            self._fail(f"{text[:40]!a} is no number")
        return float(text)

    def _moment(self, name: str) -> float:
        text = self._run.get(name)
        if text is None:
            return 0.0
        try:
            seconds = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            self._fail(f"{name}={text[:40]!a} is no time")
        return max(seconds, 0.0)

    def _head(self) -> dict[str, Any]:
        run = self._run
        started, stopped = self._moment("started"), self._moment("stopped")
        self._sections, without_lines = with_lines(self._sections, stopped)
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
            "ended": stopped or started + wall,
            "wall_seconds": wall,
            "exit_status": self._whole(run, "exit_status", 0) if "exit_status" in run else None,
            "repetitions": 1 + max(
                (one.repetition for section in self._sections for one in section.values), default=0
            ),
            "events": run.get("events", ""),
            "unavailable": [
                *(
                    {"event": name, "reason": reason, "remedy": "", "errno": 0}
                    for name, reason in self._refused.items()
                    if name not in self._metrics
                ),
                *(one._asdict() for one in without_lines),
            ],
            "warnings": self._notes,
        }  # fmt: skip
