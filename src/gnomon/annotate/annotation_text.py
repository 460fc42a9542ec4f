"""An annotated function as text: its source, its instructions, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gnomon.annotate.arrow_text import LANES_MOST, arrow_texts
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.run_facts import title
from gnomon.store.source_listing import AROUND, folded_lines
from gnomon.terminal_text import cut, filled, grid, short_path, suffixes
from gnomon.units import number, printable

if TYPE_CHECKING:
    from gnomon.annotate.annotation import Annotation
    from gnomon.annotate.assembly import Assembly, InstructionValue
    from gnomon.annotate.line_values import LineValue
    from gnomon.store.run import Run
    from gnomon.store.source_digests import Sources

SOURCE, ASSEMBLY, BOTH = "source", "assembly", "both"
_NONE = "."
_ROOM_LEAST = 24
_TOTAL_TAKEN = 10
_TAKEN = 34
"""Columns for shares, values and numbers of lines beside the source."""


class Look(NamedTuple):
    """How an annotation is shown.

    Attributes:
        view: SOURCE, ASSEMBLY or BOTH.
        width: columns of the terminal.
        around: so many lines beside one with a value are shown; None for the usual number.
        top: only so many lines or instructions; 0 for all.
        with_bytes: the bytes of instructions, too.
    """

    view: str = SOURCE
    width: int = 80
    around: int | None = None
    top: int = 0
    with_bytes: bool = False


def annotation_text(run: Run, annotation: Annotation, sources: Sources, look: Look) -> str:
    """Return an annotated function as text."""
    from gnomon.store.reports.hotspot_report import stale_note

    shown, function = annotation.shown, annotation.function
    what = f"by {'instruction' if look.view != SOURCE else 'line'}"
    unit = ", in ticks of 0.01 s" if shown.in_ticks else ""
    place = f"{function.module}, {function.file}" if function.file else function.module
    lines = [
        title(run, look.width),
        *filled(printable(f"{function.function} ({place})"), look.width, "", "  "),
        printable(f"{shown.metric.name} {what}, {shown.metric.how}{unit}"),
    ]
    code = annotation.assembly
    if look.view == SOURCE:
        lines += _source(annotation, sources, look)
    elif code is not None:
        lines += _assembly(annotation, code, sources, look)
    notes: list[str] = []
    if annotation.samples and shown.metric.is_sampled:
        notes.append(
            f"{number(annotation.samples)} of {number(shown.metric.samples)} samples; ± is the "
            "standard error of a share"
        )
    if code is not None and look.view != SOURCE:
        notes += _code_notes(annotation, code)
    elif annotation.why_no_assembly and look.view != SOURCE:
        notes.append(annotation.why_no_assembly)
    if look.view == SOURCE and not annotation.has_source:
        notes.append("no lines are known: compile with -g; --assembly has the instructions")
    for note in notes:
        lines += filled(note, look.width)
    lines += stale_note(run, sources, suffixes(_files(annotation)), look.width)
    return "\n".join(lines) + "\n"


def _files(annotation: Annotation) -> set[str]:
    return {line.code.file for line in annotation.lines}


def _code_notes(annotation: Annotation, code: Assembly) -> list[str]:
    notes = []
    if code.elsewhere:
        notes.append(
            f"{annotation.shown.text(code.elsewhere)} of it is at no address, or at one that is "
            "not in this code"
        )
    if code.why_no_lines:
        notes.append(f"no source lines: {code.why_no_lines}")
    left_out = sum(arrow.lane >= LANES_MOST for arrow in code.arrows)
    if left_out:
        notes.append(f"{number(left_out)} arrows that are further left are not drawn")
    return notes


def _cells(annotation: Annotation, own: float, samples: float | None) -> tuple[str, str]:
    if not own:
        return _NONE, _NONE
    return annotation.shown.share(own, samples), annotation.shown.text(own)


def _head(annotation: Annotation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return ("of total",), ("ticks" if annotation.shown.in_ticks else "self",)


def _source(annotation: Annotation, sources: Sources, look: Look) -> list[str]:
    """Return the lines of the function, then those of each function that was inlined into it."""
    lines = annotation.lines
    has_totals = any(line.total > line.own for line in lines)
    room = max(look.width - _TAKEN - (_TOTAL_TAKEN if has_totals else 0), _ROOM_LEAST)
    if look.top:
        lines = tuple(sorted(lines, key=lambda line: -line.own)[: look.top])
    labels = suffixes(_files(annotation))
    by_block: dict[tuple[bool, str, str], list[LineValue]] = {}
    for line in lines:
        is_part = bool(line.inlined_from)
        key = (is_part, line.code.file, line.code.function if is_part else "")
        by_block.setdefault(key, []).append(line)
    blocks = []
    around = AROUND if look.around is None else look.around
    none = (_NONE,) * (3 if has_totals else 2)
    for (is_part, file, name), of_block in sorted(by_block.items()):
        cells = {
            line: _line_cells(annotation, [one for one in of_block if one.code.line == line])
            for line in sorted({one.code.line for one in of_block})
        }
        cells = {line: some[: len(none)] for line, some in cells.items()}
        rows = folded_lines(cells, none, sources.lines(file), room, around)
        blocks.append((_block_head(file, name if is_part else "", of_block, labels, look), rows))
    heads = [*_head(annotation), *([("total",)] if has_totals else []), ("line",), ("source",)]
    first = (*_cells(annotation, annotation.own, annotation.samples), *[""] * (len(none) - 2), "",
             "total of the function")  # fmt: skip
    table = grid(heads, [first, *(row for _, rows in blocks for row in rows)], len(none) + 1)
    text, begin = [*table.heading, table.rows[0]], 1
    for head, rows in blocks:
        text += ["", *head, *table.rows[begin : begin + len(rows)]]
        begin += len(rows)
    missing = sorted(file for file in _files(annotation) if file and not sources.lines(file))
    if missing:
        text += ["", *filled(printable(f"cannot be read here: {', '.join(missing)}"), look.width)]
    return [*text, ""]


def _line_cells(annotation: Annotation, lines: Sequence[LineValue]) -> tuple[str, ...]:
    """Return the cells of one line, which several functions may have."""
    samples = [line.samples for line in lines]
    known = None if None in samples else sum(one or 0.0 for one in samples)
    total = sum(line.total for line in lines)
    own = _cells(annotation, sum(line.own for line in lines), known)
    return (*own, annotation.shown.text(total) if total else _NONE)


def _block_head(
    file: str, inlined: str, lines: Sequence[LineValue], labels: Mapping[str, str], look: Look
) -> list[str]:
    """Return the lines above those of a file, or of a function that was inlined."""
    path = short_path(printable(file), look.width) if file else "(no file known)"
    if not inlined:
        return [path]
    places = sorted({place for line in lines for place in line.inlined_from})
    calls = ", ".join(f"{labels.get(one.file, one.file)}:{one.line}" for one in places)
    return filled(printable(f"{path}: {inlined}, inlined at {calls}"), look.width, "", "  ")


def _assembly(annotation: Annotation, code: Assembly, sources: Sources, look: Look) -> list[str]:
    """Return the instructions with arrows, with the lines of the source between them for BOTH."""
    arrows = arrow_texts(code.arrows, len(code.instructions))
    labels = suffixes(
        {value.file for value in code.instructions if value.file} | _files(annotation)
    )
    wanted = _wanted(code.instructions, look)
    digits = max((len(f"{value.instruction.address:x}") for value in code.instructions), default=1)
    rows: list[tuple[str, ...]] = []
    before, place = -1, ("", 0)
    for position in wanted:
        value = code.instructions[position]
        if position > before + 1:
            rows.append(("", "", _folded(position - before - 1), ""))
        if position in code.parts:
            rows.append(("", "", f"{printable(code.parts[position])}:", ""))
        if look.view == BOTH and (value.file, value.line) != place and value.line:
            text = sources.line(value.file, value.line).strip()
            label = f"{printable(labels.get(value.file, value.file))}:{value.line}"
            rows.append(("", "", f"{label}  {text}", ""))
        place, before = (value.file, value.line), position
        source = (
            f"{printable(labels.get(value.file, value.file))}:{value.line}" if value.line else ""
        )
        raw = f"{value.instruction.code.hex(' ')}  " if look.with_bytes else ""
        drawn = f"{arrows[position]} " if arrows[position] else ""
        text = f"{drawn}{value.instruction.address:>{digits}x}: {raw}{_text(value)}"
        cells = _cells(annotation, value.own, value.samples)
        rows.append((*cells, text, source if look.view == ASSEMBLY else ""))
    left = len(code.instructions) - before - 1
    if left > 0:
        rows.append(("", "", _folded(left), ""))
    first = (*_cells(annotation, annotation.own, annotation.samples), "total of the function", "")
    taken = [max(len(row[column]) for row in (first, *rows)) for column in (0, 1, 3)]
    room = max(look.width - sum(taken) - 10, _ROOM_LEAST)
    cells_ = [(*row[:2], cut(row[2], room), row[3]) for row in (first, *rows)]
    heads = [*_head(annotation), ("assembly",), ("source" if look.view == ASSEMBLY else "",)]
    table = grid(heads, cells_, 2)
    return [*(line.rstrip() for line in table.lines), ""]


def _folded(n: int) -> str:
    return f"-- {number(n)} instruction{'' if n == 1 else 's'} --"


def _text(value: InstructionValue) -> str:
    """Return an instruction as the assembler has it, and where it goes by name."""
    named = (
        f"  <{printable(value.target)}>" if value.target and "0x" not in value.target[:2] else ""
    )
    return f"{value.instruction.text}{named}"


def _wanted(instructions: Sequence[InstructionValue], look: Look) -> list[int]:
    """Return the positions of the instructions that are shown."""
    if not look.top:
        return list(range(len(instructions)))
    hottest = sorted(range(len(instructions)), key=lambda at: -instructions[at].own)[: look.top]
    around = AROUND if look.around is None else look.around
    near = {
        at
        for one in hottest if instructions[one].own
        for at in range(one - around, one + around + 1)
    }  # fmt: skip
    return sorted(at for at in near if 0 <= at < len(instructions))
