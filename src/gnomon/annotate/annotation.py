"""A function of a run with what its lines and its instructions took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.annotate.assembly import Assembly, InstructionValue, assembly
from gnomon.annotate.function_choice import Function, choose, paths_of
from gnomon.annotate.line_values import LineValue, line_values
from gnomon.errors import GnomonError, UsageError
from gnomon.model.metric import Aggregation
from gnomon.named_tuple import NamedTuple
from gnomon.store import path_values
from gnomon.store.call_paths import Code
from gnomon.store.hotspots import named, whole
from gnomon.store.reports import code_rows
from gnomon.store.reports.code_report import share_text
from gnomon.store.reports.code_rows import CodeMetric, CodeRow
from gnomon.units import number, printable, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gnomon.model.tables import Cell
    from gnomon.store.run import Run

VERSION = 1
TICK_SECONDS = 0.01
"""A tick of gprof and Xprofiler, of 100 samples a second."""
TICKS = "ticks"
_OF_SAMPLES = "sample that event: gnomon record -e EVENT"
_OF_CALLGRIND = "record it with them: valgrind --tool=callgrind --dump-instr=yes"


class Shown(NamedTuple):
    """A metric and how its values are shown.

    Attributes:
        metric: what the program has of it.
        in_ticks: in ticks of 0.01 s, not in its own unit.
    """

    metric: CodeMetric
    in_ticks: bool = False

    @property
    def unit(self) -> str:
        """The unit that is shown."""
        return TICKS if self.in_ticks else self.metric.unit

    def value(self, value: float) -> float:
        """Return a value in that unit."""
        return value / TICK_SECONDS if self.in_ticks else value

    def text(self, value: float) -> str:
        """Return a value as tables have it."""
        if self.in_ticks:
            return number(round(self.value(value), 2))
        return quantity(value, self.metric.unit, "-")

    def share(self, own: float, samples: float | None) -> str:
        """Return the share that own values are of the program's, with its error."""
        row = CodeRow(Code(), self.metric.name, own, None, samples)
        return share_text(row, self.metric)


class Annotation(NamedTuple):
    """A function with what its code took, of one execution.

    Attributes:
        function: what it is.
        shown: the metric.
        lines: of its source.
        assembly: its instructions; None where there are none.
        why_no_assembly: why, "" if there are some or none were asked for.
    """

    function: Code
    shown: Shown
    lines: tuple[LineValue, ...]
    assembly: Assembly | None
    why_no_assembly: str

    @property
    def own(self) -> float:
        """What the function has itself, with what was inlined into it."""
        return sum(line.own for line in self.lines)

    @property
    def samples(self) -> float | None:
        """How many samples stand behind that, None where not known."""
        counts = [line.samples for line in self.lines]
        return None if any(n is None for n in counts) else sum(n or 0.0 for n in counts)

    @property
    def has_source(self) -> bool:
        """Whether any line is known."""
        return any(line.code.file and line.code.line for line in self.lines)


def chosen_metric(run: Run, name: str) -> Mapping[str, Cell]:
    """Return the metric of a name; for "" the usual one.

    Raises:
        UsageError: there is none.
        RunDirectoryError: the tables cannot be read.
    """
    listed = code_rows.metrics(run)
    if not listed:
        raise UsageError(
            printable(f"{run.path}: no function has a value; see gnomon report RUN for what it has")
        )
    if not name:
        return listed[0]
    names = [str(row["name"]) for row in listed]
    return listed[names.index(named(name, names, "line"))]


def annotate(
    run: Run, name: str, metric: str = "", *, file: str = "", with_assembly: bool = True,
    in_ticks: bool = False, is_intel: bool = False,
) -> Annotation:  # fmt: skip
    """Return a function with what its lines and instructions took.

    Args:
        run: the run.
        name: of the function; see `function_choice.choose`.
        metric: its name, "" for the usual one.
        file: of which it is, where several have the name; "" if that is not known.
        with_assembly: whether instructions are wanted.
        in_ticks: values in ticks of 0.01 s.
        is_intel: x86 code in Intel's syntax.

    Raises:
        UsageError: there is no such function or metric, or it has no ticks.
        RunDirectoryError: the tables cannot be read.
    """
    row = chosen_metric(run, metric)
    if in_ticks and row["unit"] != "s":
        raise UsageError(f"--ticks: {row['name']} is no time; ticks are of 0.01 s")
    function = choose(run, name, file)
    chosen = paths_of(run, function)
    shown = Shown(code_rows.table(run, "function", [row]).metrics[0], in_ticks)
    is_elapsed = row["aggregation"] == Aggregation.ELAPSED
    values = path_values.of_metric(run, int(str(row["metric"])), is_elapsed=is_elapsed)
    lines = tuple(line_values(run, chosen, values))
    code: Assembly | None = None
    why = ""
    if with_assembly:
        try:
            _check_addresses(run, function, row)
            code = assembly(run, function, chosen, row, values, is_intel=is_intel)
        except UsageError:
            raise
        except GnomonError as error:
            why = str(error)
    return Annotation(function.code, shown, lines, code, why)


def _check_addresses(run: Run, function: Function, metric: Mapping[str, Cell]) -> None:
    """Make sure that it is known which instructions have a metric.

    Raises:
        GnomonError: it is not.
    """
    from gnomon.annotate.machine_code import module_of

    module_of(run, function.code)
    has_addresses = run.query(
        f"SELECT 1 FROM samples WHERE metric = {metric['metric']} AND address IS NOT NULL LIMIT 1"
    )
    if not has_addresses:
        # Source: callgrind/dump.c: "creator: callgrind-VERSION".
        is_callgrind = str(run.head.get("producer", "")).startswith("callgrind")
        raise GnomonError(
            f"{printable(str(metric['name']))}: the run does not say at which instructions; "
            f"{_OF_CALLGRIND if is_callgrind else _OF_SAMPLES}"
        )


def document(annotation: Annotation, source: Callable[[str, int], str]) -> dict[str, Any]:
    """Return an annotation as JSON has it; what is not known is None.

    Args:
        annotation: what it is of.
        source: returns the text of a line of a file, "" where it is not to be had.
    """
    shown, code, metric = annotation.shown, annotation.assembly, annotation.shown.metric
    return {
        "schema": "gnomon/annotation",
        "version": VERSION,
        "function": annotation.function.function,
        "module": annotation.function.module,
        "file": annotation.function.file,
        "metric": metric.name,
        "unit": shown.unit,
        "how": metric.how,
        "whole": whole(shown.value(metric.whole)),
        "total": whole(shown.value(annotation.own)),
        "samples": whole(annotation.samples),
        "lines": line_rows(annotation, source),
        "instructions": instruction_rows(annotation),
        "jumps": jump_rows(code) if code else [],
        "parts": [
            {"name": name, "address": code.instructions[at].instruction.address}
            for at, name in code.parts.items()
        ] if code else [],
        "elsewhere": whole(shown.value(code.elsewhere)) if code else None,
        "no_instructions": annotation.why_no_assembly,
        "no_lines": code.why_no_lines if code else "",
    }  # fmt: skip


def line_rows(annotation: Annotation, source: Callable[[str, int], str]) -> list[dict[str, Any]]:
    """Return the lines as rows; `source` as of `document`."""
    shown = annotation.shown
    return [
        {
            "file": line.code.file,
            "line": line.code.line,
            "function": line.code.function,
            "text": source(line.code.file, line.code.line),
            "value": whole(shown.value(line.own)),
            "with_calls": whole(shown.value(line.total)),
            "samples": whole(line.samples),
            "inlined_from": [place._asdict() for place in line.inlined_from],
        }
        for line in annotation.lines
    ]


def instruction_rows(annotation: Annotation) -> list[dict[str, Any]]:
    """Return the instructions as rows, none where there are none."""
    code = annotation.assembly
    return [_instruction_row(one, annotation.shown) for one in code.instructions] if code else []


def _instruction_row(value: InstructionValue, shown: Shown) -> dict[str, Any]:
    instruction = value.instruction
    return {
        "address": instruction.address,
        "bytes": instruction.code.hex(),
        "text": instruction.text,
        "value": whole(shown.value(value.own)),
        "samples": value.samples,
        "file": value.file,
        "line": value.line,
        "function": value.function,
        "block": value.block,
        "kind": instruction.kind,
        "target": value.target,
        "target_address": instruction.target,
    }


def jump_rows(code: Assembly) -> list[dict[str, Any]]:
    """Return the arrows of jumps as rows."""
    address = [one.instruction.address for one in code.instructions]
    return [
        {
            "target": address[arrow.target],
            "sources": [address[source] for source in arrow.sources],
            "lane": arrow.lane,
        }
        for arrow in code.arrows
    ]
