"""Measurements as the tables of a run (`gnomon.model.tables`), in a run directory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnomon.counters.emulation.engine import Line
from gnomon.launch.resource_usage import PEAK_MEMORY
from gnomon.launch.run_environment import Host, component_states, kept_environment
from gnomon.measurement import measurement_metrics, process_counts
from gnomon.measurement.measurement import Emulation, Measurement
from gnomon.measurement.measurement_json import document
from gnomon.model.contention import IDLE, OTHERS, STOLEN, WAITED
from gnomon.model.metric import usual_aggregation
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.model.value import How
from gnomon.store import run_directory

# Readings have 64 bits, and the column one for the sign.
_RAW_END = 1 << 63
# Recorded times that are metrics of their own beside the counters.
_TIMES = (("wall time", "wall_ns"), ("user time", "user_ns"), ("system time", "system_ns"))


def save(
    name: str, measurements: Sequence[Measurement], host: Host, report: str, *, force: bool = False
) -> Path:
    """Write a run directory of one command's measurements and return its path.

    Args:
        name: with or without the suffix.
        measurements: of the command, one for each repetition.
        host: where they were made.
        report: the text of their report.
        force: replace a run of that name.

    Raises:
        RunDirectoryError: the name is taken, or the disk refuses.
    """
    first, last = measurements[0], measurements[-1]
    head: dict[str, Any] = {
        "capability": "hpm",
        "command": list(first.command),
        "pid": last.pid,
        "environment": kept_environment(),
        "working_directory": str(Path.cwd()),
        "hosts": [host._asdict()],
        "started": first.started,
        "ended": last.started + last.wall_ns / 1e9,
        "wall_seconds": last.wall_ns / 1e9,
        "exit_status": last.exit_status,
        "signal": last.signal,
        "repetitions": len(measurements),
        "components": component_states(),
        "unavailable": [u._asdict() for u in last.unavailable],
        "warnings": list(dict.fromkeys(note for one in measurements for note in one.notes)),
    }
    texts = {
        "count.txt": report,
        "count.json": json.dumps(document(measurements, host), indent=2) + "\n",
    }
    return run_directory.write(
        name, head, measurement_tables(measurements, host), texts, force=force
    )


def measurement_tables(measurements: Sequence[Measurement], host: Host) -> tuple[Table, ...]:
    """Return the rows of one command's measurements."""
    return _Rows(measurements, host).tables()


class _Rows:
    """Fills the tables: a location for the command, one for each process and thread known."""

    def __init__(self, measurements: Sequence[Measurement], host: Host) -> None:
        self._locations = Table(LOCATIONS)
        self._regions = Table(REGIONS)
        self._paths = Table(PATHS)
        self._metrics = Table(METRICS)
        self._profile = Table(PROFILE)
        self._numbers: dict[str, int] = {}
        self._lines: dict[tuple[str, Line], int] = {}
        self._host = host.name
        program = measurements[0].command[0] if measurements[0].command else "attached process"
        self._program = Path(program).name
        region = self._regions.add(
            region=0, kind="hpm", name=self._program, module=program, file="", line=0
        )
        self._paths.add(path=0, parent=-1, region=region)
        for at, one in enumerate(measurements):
            self._add(at, one)

    def tables(self) -> tuple[Table, ...]:
        return (self._locations, self._regions, self._paths, self._metrics, self._profile)

    def _add(self, repetition: int, measurement: Measurement) -> None:
        whole = self._location(-1, "command", measurement.pid, -1, self._program)
        whose = "measured by Gnomon" + (" (of the emulation)" if measurement.emulation else "")
        for name, attribute in _TIMES:
            ns = getattr(measurement, attribute)
            if ns is not None:
                metric = self._metric(
                    name, "ns", "counted", whose, dilated=measurement.emulation is not None
                )
                self._value(repetition, whole, metric, ns)
        for row in measurement.rusage:
            if row.field == "ru_maxrss" and row.value is not None:
                metric = self._metric(
                    PEAK_MEMORY, "bytes", "counted", row.description, component="rusage"
                )
                self._value(repetition, whole, metric, row.value * 1024)
        self._add_contention(repetition, measurement, whole)
        for value in measurement.values:
            metric = self._metric(
                value.event, value.unit, value.how.value, "",
                component=value.component, domain=value.domain.value, scope=value.scope.value,
                in_lines=measurement.emulation is not None,
            )  # fmt: skip
            if value.value is not None:
                self._value(
                    repetition, whole, metric, value.value,
                    raw=None if value.is_derived else value.raw,
                    enabled_ns=value.enabled_ns, running_ns=value.running_ns,
                    in_lines=measurement.emulation is not None,
                )  # fmt: skip
        for derived in measurement_metrics.derive_metrics(measurement):
            metric = self._metric(
                derived.name, derived.unit, derived.how.value, derived.description,
                formula=derived.formula,
                scope=derived.scope.value if derived.scope else "process",
            )  # fmt: skip
            self._value(repetition, whole, metric, derived.value)
        self._add_places(repetition, measurement, whole)
        self._add_tasks(repetition, measurement, whole)

    def _add_contention(self, repetition: int, measurement: Measurement, whole: int) -> None:
        contention = measurement.contention
        if contention is None:
            return
        rows: list[tuple[str, str, str, float | None, str]] = [
            (WAITED, "ns", "process", contention.waited_ns, "could have run, and had no CPU"),
            (OTHERS, "CPUs", "node", contention.others_ns / max(measurement.wall_ns, 1),
             "that all other programs used meanwhile, from CPU time known to 10 ms"),
            (IDLE, "CPUs", "node", contention.idle_ns / max(measurement.wall_ns, 1),
             "that nobody used meanwhile, from CPU time known to 10 ms"),
            (STOLEN, "ns", "node", contention.stolen_ns,
             "CPU time that the virtual machine's host gave to others, of all CPUs"),
        ]  # fmt: skip
        for name, unit, scope, value, description in rows:
            if value is not None:
                metric = self._metric(
                    name, unit, "counted", description, component="machine", scope=scope
                )
                self._value(repetition, whole, metric, value)

    def _add_places(self, repetition: int, measurement: Measurement, whole: int) -> None:
        for row in measurement.places or ():
            kind = "core" if row.is_core else "cpu"
            cpus = ", ".join(map(str, row.cpus))
            name = f"socket {row.socket}, core {row.core}, CPU {cpus}"
            place = self._location(whole, kind, measurement.pid, -1, name)
            for event, value in row.values.items():
                # An event that has a value on each CPU and none on all is no metric of the run.
                if value.value is not None and event in self._numbers:
                    self._value(
                        repetition, place, self._numbers[event], value.value,
                        raw=None if value.is_derived else value.raw,
                        enabled_ns=value.enabled_ns, running_ns=value.running_ns,
                    )  # fmt: skip

    def _add_tasks(self, repetition: int, measurement: Measurement, whole: int) -> None:
        of_pid: dict[int, int] = {}
        ranks = {task.pid: task.rank for task in measurement.tasks or ()}
        for row in process_counts.process_rows(measurement):
            rank = ranks.get(row.pid, -1)
            of_pid[row.pid] = self._location(whole, "process", row.pid, -1, row.name, rank)
            for event, value in zip(
                process_counts.process_events(measurement), row.values, strict=True
            ):
                if value is not None:
                    self._value(
                        repetition, of_pid[row.pid], self._numbers[event], value,
                        in_lines=measurement.emulation is not None,
                    )  # fmt: skip
        for task in measurement.tasks or ():
            place = self._location(
                of_pid[task.pid], "thread", task.pid, task.tid, task.name, task.rank
            )
            for at, event in enumerate(measurement.task_values):
                value = process_counts.task_value(measurement, task.counts, at)
                if value is not None:
                    self._value(repetition, place, self._numbers[event], value)
        if measurement.emulation is not None:
            self._add_lines(repetition, measurement.emulation, of_pid)

    def _add_lines(self, repetition: int, emulation: Emulation, of_pid: dict[int, int]) -> None:
        """Add what each line of each process did; a line is a path of its own below the program."""
        if not emulation.processes:
            return
        metrics = [self._numbers[event] for event in emulation.events]
        for process in emulation.processes:
            program = process_counts.program_name(process.command)
            paths, numbers, values = array("i"), array("i"), array("d")
            for line, counts in process.lines.items():
                path = self._line(program, line)
                for metric, value in zip(metrics, emulation.of(counts), strict=True):
                    if value:
                        paths.append(path)
                        numbers.append(metric)
                        values.append(value)
            n = len(paths)
            self._profile.extend(
                repetition=[repetition] * n, location=[of_pid[process.pid]] * n, path=paths,
                metric=numbers, inclusive=values, exclusive=values,
            )  # fmt: skip

    def _line(self, program: str, line: Line) -> int:
        key = (program, line)
        path = self._lines.get(key)
        if path is None:
            region = self._regions.add(
                region=len(self._regions), kind="cpu", name=line.function, module=program,
                file=line.file, line=line.line,
            )  # fmt: skip
            path = self._lines[key] = self._paths.add(
                path=len(self._paths), parent=0, region=region
            )
        return path

    def _location(
        self, parent: int, kind: str, pid: int, tid: int, name: str, rank: int = -1
    ) -> int:
        return self._locations.add(
            location=len(self._locations), parent=parent, kind=kind, host=self._host,
            rank=rank, pid=pid, tid=tid, name=name,
        )  # fmt: skip

    def _metric(
        self, name: str, unit: str, how: str, description: str, *,
        formula: str = "", component: str = "", domain: str = "all", scope: str = "process",
        in_lines: bool = False, dilated: bool = False,
    ) -> int:  # fmt: skip
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._metrics.add(
                metric=len(self._metrics), name=name, unit=unit, formula=formula, how=how,
                component=component, domain=domain, scope=scope, description=description,
                aggregation=usual_aggregation(name, formula).value, absent_is_zero=in_lines,
                reproducible=how == How.EMULATED, dilated=dilated,
            )  # fmt: skip
        return number

    def _value(
        self, repetition: int, location: int, metric: int, value: float, *,
        raw: int | None = None, enabled_ns: int | None = None, running_ns: int | None = None,
        in_lines: bool = False,
    ) -> None:  # fmt: skip
        if raw is not None and raw >= _RAW_END:
            raw = None
        self._profile.append(
            (repetition, location, 0, metric, value, 0 if in_lines else value, 1, raw, enabled_ns,
             running_ns)
        )  # fmt: skip
