"""Group files of LIKWID, read as they are.

    SHORT title
    EVENTSET
    FIXC0 INSTR_RETIRED_ANY                 counter, options behind colons; event
    METRICS
    IPC  FIXC0/FIXC1                        name, blank, formula over counters without a blank
    LONG
    prose

Counters become the events that they count, `time` the elapsed time, `inverseClock` the time of a
cycle. What an event is called here is looked for among `spellings`. A metric whose formula is wrong
or names a counter that is not in the event set is left out with a note, not the file refused: of
LIKWID's own files some have such formulas, and LIKWID shows no value there either.

Source: LIKWID's page on performance groups (https://github.com/RRZE-HPC/likwid/wiki/Groups).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from gnomon.errors import FormulaError, UsageError
from gnomon.metrics.definitions import Metric, Metrics
from gnomon.metrics.formula import identifier, parse
from gnomon.metrics.formula_ast import FUNCTIONS
from gnomon.metrics.groups import NAME, Group
from gnomon.metrics.toml_document import quote, read_text
from gnomon.named_tuple import NamedTuple

SUFFIX = ".txt"
"""How LIKWID's group files end."""

NO_NUMBER = -1
"""The number of a group that has none."""

_SECTIONS = ("SHORT", "EVENTSET", "METRICS", "LONG")
_FLAGS = ("REQUIRE_NOHT",)  # hyperthreads must be off: LIKWID refuses the group; we count
_COUNTER = re.compile(r"[A-Z][A-Z0-9]*(?::[A-Za-z0-9_]+(?:=[A-Za-z0-9_]+)?)*")
_EVENT = re.compile(r"[A-Za-z0-9_]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?::[A-Za-z_][A-Za-z0-9_]*(?:=[A-Za-z0-9_]+)?)*")
# A number takes its exponent with it, so that 1.0E-06 is no name.
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MEANINGS = {
    "time": "wall_seconds",
    "inverseClock": "cycle_seconds",
    "num_numadomains": "numa_nodes",
    "num_sockets": "sockets",
}
_FIXED = {
    "INSTR_RETIRED_ANY": "instructions",
    "CPU_CLK_UNHALTED_CORE": "cycles",
    "CPU_CLK_UNHALTED_REF": "ref-cycles",
    "TOPDOWN_SLOTS": "cpu/slots/",
    "RETIRED_INSTRUCTIONS": "instructions",
    "CPU_CLOCKS_UNHALTED": "cycles",
}
_ENERGY = {
    "PWR_PKG_ENERGY": "energy-pkg",
    "PWR_PP0_ENERGY": "energy-cores",
    "PWR_PP1_ENERGY": "energy-gpu",
    "PWR_DRAM_ENERGY": "energy-ram",
    "PWR_PLATFORM_ENERGY": "energy-psys",
}
_MEMORY = {"CAS_COUNT_RD": "cas_count_read", "CAS_COUNT_WR": "cas_count_write"}


class EventSetLine(NamedTuple):
    """A line of an event set: counter with its options, event."""

    counter: str
    event: str
    line: int


class LikwidGroup(NamedTuple):
    """What a group file defines; `notes` say which metrics are left out, and why."""

    group: Group
    metrics: Metrics
    notes: tuple[str, ...]


def load(path: Path, is_known: Callable[[str], bool] | None = None) -> LikwidGroup:
    """Return the group of a file and its metrics.

    Args:
        path: the file; the group has its name.
        is_known: whether there is an event of such a name. Of an event's spellings the first that
            is known is taken; where none is, the event stays `EVENT@COUNTER`, which no event is
            called. Without it the first spelling is taken.

    Raises:
        UsageError: the file cannot be read or is no group file; names file and line.
    """
    source = str(path)
    title = ""
    counted: list[EventSetLine] = []
    formulas: list[tuple[int, str]] = []
    last = 1
    for section, line, row in _rows(read_text(path), source):
        last = line
        if section == "SHORT":
            title = row
        elif section == "EVENTSET":
            counted.append(_counted(source, line, row, counted))
        elif section == "METRICS":
            formulas.append((line, row))
    if not title:
        _refuse(source, 1, "has no SHORT line, which says what the group is for")
    if not counted:
        _refuse(source, last, "has no EVENTSET with at least one counter and event")
    if not re.fullmatch(NAME, path.stem):
        _refuse(source, 1, f"{quote(path.stem)} is no name of a group: letters, digits, _ or -")
    names: dict[str, str] = {}
    events: dict[str, None] = {}
    for counter_line in counted:
        options = spellings(counter_line.counter, counter_line.event)
        event = options[0]
        if is_known is not None:
            unknown = f"{counter_line.event}@{counter_line.counter}"
            event = next((option for option in options if is_known(option)), unknown)
        events[event] = None
        names[counter_line.counter] = identifier(event)
        names.setdefault(counter_line.counter.partition(":")[0], identifier(event))
    metrics: list[Metric] = []
    notes: list[str] = []
    for line, row in formulas:
        try:
            metrics.append(_metric(source, line, row, names))
        except FormulaError as error:
            notes.append(str(error))
    if formulas and not metrics:
        raise UsageError(notes[0])
    shown_first = tuple(dict.fromkeys(metric.name for metric in metrics))
    group = Group(NO_NUMBER, path.stem, title, tuple(events), shown_first)
    return LikwidGroup(group, Metrics(tuple(metrics)), tuple(notes))


def spellings(counter: str, event: str) -> tuple[str, ...]:
    """Return how an event of LIKWID may be called here, the most likely first; at least one.

    LIKWID writes event and unit mask as one word; libpfm4 has a colon between them, and which of
    the underscores that is the word does not tell. Options that change what is counted have no
    counterpart here, so such an event keeps them in its name, which no event has.
    """
    register, _, options = counter.partition(":")
    kind = register.rstrip("0123456789")
    if options and options != "EDGEDETECT":
        return (f"{event}@{counter}",)
    if kind == "PWR" and event in _ENERGY:
        return (f"power:::{_ENERGY[event]}",)
    box = re.fullmatch(r"MBOX([0-9]+)C[0-9]+", register)
    if box and event in _MEMORY:
        return tuple(f"uncore_imc_{number}/{_MEMORY[event]}/" for number in (box[1],))
    if kind not in ("PMC", "FIXC"):
        return (f"{event}@{counter}",)
    edge = ":e" if options else ""
    if event in _FIXED and not edge:
        return (_FIXED[event], event)
    cuts = [at for at, letter in enumerate(event) if letter == "_"]
    split = [f"{event[:at]}:{event[at + 1 :]}{edge}" for at in reversed(cuts)]
    return (f"{event}{edge}", *split)


def _rows(text: str, source: str) -> Iterator[tuple[str, int, str]]:
    """Yield (section, line, stripped text) of every line that says something."""
    section = ""
    seen: dict[str, int] = {}
    for line, whole in enumerate(text.split("\n"), 1):
        row = whole.strip()
        word, _, rest = row.partition(" ")
        if section != "LONG" and (row in _SECTIONS or word == "SHORT"):
            if word in seen:
                _refuse(source, line, f"has {word} again, after line {seen[word]}")
            seen[word] = line
            section = word
            row = rest.strip()
        if not row or row in _FLAGS or section == "LONG":
            continue
        if not row.replace("\t", " ").isprintable():
            _refuse(source, line, "has characters that are not text")
        if not section:
            _refuse(
                source,
                line,
                f"expected SHORT, the first word of a group file, not {quote(row)}",
            )
        yield section, line, row if section == "SHORT" else whole.rstrip()
        if section == "SHORT":
            section = " "  # one line only
        elif section == " ":
            _refuse(source, line, f"expected EVENTSET, METRICS or LONG, not {quote(row)}")


def _counted(source: str, line: int, row: str, before: list[EventSetLine]) -> EventSetLine:
    words = row.split()
    if len(words) != 2:
        _refuse(source, line, f"expected a counter and an event, not {quote(row.strip())}")
    counter, event = words
    if not _COUNTER.fullmatch(counter):
        _refuse(source, line, f"{quote(counter)} is no counter, such as PMC0 or CBOX0C0:STATE=0x1")
    if not _EVENT.fullmatch(event):
        _refuse(source, line, f"{quote(event)} is no event: letters, digits and _")
    for one in before:
        if one.counter == counter:
            _refuse(source, line, f"{quote(counter)} counts already, see line {one.line}")
    return EventSetLine(counter, event, line)


def _metric(source: str, line: int, row: str, names: Mapping[str, str]) -> Metric:
    name, _, formula = row.replace("\t", " ").rpartition(" ")
    name = " ".join(name.split())
    if not name:
        _refuse(
            source,
            line,
            f"expected a metric's name and its formula, not {quote(row.strip())}",
        )
    title, _, unit = name.rpartition("[")
    start = len(row) - len(formula)
    text, columns = _translated(source, line, start, formula, names)
    try:
        parsed = parse(text, source, line)
    except FormulaError as error:
        problem = str(error).removeprefix(f"{source}:{error.line}:{error.column}: ")
        problem = re.sub(r" at column [0-9]+", "", problem)
        column = start + columns[min(error.column, len(columns)) - 1]
        raise FormulaError(source, line, column, problem) from None
    is_united = bool(title.strip()) and unit.endswith("]")
    return Metric(
        name=name,
        unit=unit.removesuffix("]") if is_united else "",
        formula=parsed,
        description=(title if is_united else name).strip(),
    )


def _translated(
    source: str, line: int, start: int, formula: str, names: Mapping[str, str]
) -> tuple[str, list[int]]:
    """Return a formula over our names, and for each of its columns the one in LIKWID's."""
    text: list[str] = []
    columns: list[int] = []
    position = 0
    while position < len(formula):
        number = _NUMBER.match(formula, position)
        word = None if number else _WORD.match(formula, position)
        found = number or word
        old = new = found[0] if found else formula[position]
        if word:
            new = _MEANINGS.get(old) or names.get(old, "")
            if not new and old not in FUNCTIONS:
                problem = f"{quote(old)} is neither a counter of the event set nor a variable"
                raise FormulaError(source, line, start + position + 1, problem)
            new = new or old
        text.append(new)
        columns += [position + 1] * len(new)
        position += len(old)
    return "".join(text), [*columns, len(formula) + 1]


def _refuse(source: str, line: int, problem: str) -> NoReturn:
    raise UsageError(f"{source}:{line}: {problem}")
