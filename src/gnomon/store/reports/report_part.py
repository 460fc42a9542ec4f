"""What a part of `gnomon report` is: its name, what it can be by, its text, and its rows for JSON.

The parts that every run can have are in `report_parts`; a capability adds its own. Each is asked
for as `gnomon report RUN PART [ARGUMENT] [--by ...]`; what comes of it is written by the command,
so every part is text, JSON (`report_schema` makes its schema of the keys) and CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from gnomon.named_tuple import NamedTuple
from gnomon.store.inlined_calls import CALLER
from gnomon.store.run import Run

VERSION = 2
"""Of the JSON; 1 had other keys and no number."""
TOP = 25
"""Rows of a text that did not ask for more or fewer."""


class Key(NamedTuple):
    """What the rows of a part have under a name.

    Attributes:
        name: the same in every part that has such a thing.
        type: string, integer, boolean, number (null where it is not known), numbers (an object
            with a number for each metric, whose unit and how are in `metrics` of the document), or
            rows (a list of objects).
        text: what it is.
        by: rows by these have it; () for all.
        is_nullable: it may be null, though it is no number.
        rows: of the type `rows`, the keys of its objects.
    """

    name: str
    type: str
    text: str
    by: tuple[str, ...] = ()
    is_nullable: bool = False
    rows: tuple[Key, ...] = ()


METRIC = Key("metric", "string", "what was measured")
UNIT = Key("unit", "string", "ns, bytes, %, ...; empty for plain counts")
HOW = Key("how", "string", "counted, scaled, sampled, emulated, modelled or estimated")
SELF = Key("self", "number", "without what is called from there, of one execution")
TOTAL = Key(
    "total", "number",
    "with what is called from there (inclusive), of one execution; null where it is not known "
    "(`notes` says why), and of several locations where `sum` is",
)  # fmt: skip
SUM = Key(
    "sum", "number",
    "over all locations, of one execution; null where values cannot be added up: ratios, peaks, "
    "what is of the whole machine, and times of several locations at once",
)  # fmt: skip
MIN = Key("min", "number", "the least of one location")
MEAN = Key("mean", "number", "the mean of the locations")
MAX = Key("max", "number", "the most of one location")
LOCATIONS = Key("locations", "integer", "how many have a value, those of each execution counted")
OF = Key(
    "of",
    "string",
    "the kind of these locations: thread, process, rank, command, core, cpu; or process and thread",
)
CALLS = Key(
    "calls", "number",
    "how often it was entered, in one execution; by rank, process, thread and metric the program",
)  # fmt: skip
SAMPLES = Key(
    "samples", "number",
    "how many samples stand behind `self`, or behind `total` where there is none; null of what was "
    "not sampled",
)  # fmt: skip
REPETITION = Key("repetition", "integer", "number of the execution, from 0")
DILATED = Key(
    "dilated", "boolean", "a time in which the tool slowed the program: the tool's, no program's"
)
FUNCTION = Key("function", "string", "empty for files, and where it is not known")
MODULE = Key("module", "string", "program or library that it is in; empty for files")
FILE = Key("file", "string", "source file, empty where it is not known")
LINE = Key("line", "integer", "0 for functions and files, and where it is not known")
CODE = (FUNCTION, MODULE, FILE, LINE, METRIC, SELF, TOTAL, SAMPLES)
PLACE = (
    Key("location", "integer", "number of the location"),
    Key("kind", "string", "of the location"),
    Key("rank", "integer", "of the location, -1 for none"),
    Key("pid", "integer", "of the location, -1 for none"),
    Key("tid", "integer", "of the location, -1 for none"),
    Key("name", "string", "of the location"),
)
OVER_LOCATIONS = (LOCATIONS, OF, SUM, MIN, MEAN, MAX)


class Request(NamedTuple):
    """What is wanted of a part; what it does not take is as here.

    Attributes:
        by: one of the part's `by`, "" if it has none.
        argument: what stood behind its name, "" for nothing.
        metrics: names of metrics (`-e`), in any case and with or without PAPI_.
        sort: the metric that orders rows (`--sort`), "" for the part's own order.
        top: so many rows at most, 0 for all; None for the part's own number.
        counts: whether counts of all metrics are wanted beside shares (`--counts`).
        file: the source file that alone is wanted (`--file`), "" for all.
        threshold: only what has at least so many percent of the whole (`--threshold`); None for
            the part's own number.
        depth: so many calls deep at most (`--depth`), 0 for all; None for the part's own number.
        bottom_up: from functions up to their callers (`--bottom-up`), not from the program down.
        inlined: whom inlined code is charged to (`--inlined`), origin or caller; "" if it was not
            said. The run that a part gets is so already.
        width: columns that text may take.
    """

    by: str = ""
    argument: str = ""
    metrics: tuple[str, ...] = ()
    sort: str = ""
    top: int | None = None
    counts: bool = False
    file: str = ""
    threshold: float | None = None
    depth: int | None = None
    bottom_up: bool = False
    inlined: str = ""
    width: int = 80

    @property
    def charged(self) -> str:
        """What is to be added to what values are, where inlined code is charged to callers."""
        return ", inlined code charged to callers" if self.inlined == CALLER else ""


class PartText(NamedTuple):
    """A part as text; `is_empty`: the run has nothing of it, and the text says so."""

    text: str
    is_empty: bool = False


class PartData(NamedTuple):
    """A part as data.

    Attributes:
        rows: one for each thing that has values, with the part's keys. Where they are no sequence
            they are taken one by one, once, and all have the same keys.
        facts: what the document has beside its rows.
        lists: further rows, by their names in the document, likewise taken once.
    """

    rows: Iterable[Mapping[str, Any]]
    facts: Mapping[str, Any] = {}
    lists: Mapping[str, Iterable[Mapping[str, Any]]] = {}


class ReportPart(Protocol):
    """A part of a report."""

    @property
    def name(self) -> str:
        """As it is typed."""

    @property
    def title(self) -> str:
        """What it shows, in one line of help."""

    @property
    def by(self) -> tuple[str, ...]:
        """What `--by` may be, the default first; () if it has none."""

    @property
    def argument(self) -> str:
        """What its argument stands for, as help has it (FILE), "" if it takes none."""

    @property
    def options(self) -> frozenset[str]:
        """Which of the optional fields of a request it looks at: metrics, sort, top and so on."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """What its rows have."""

    def is_in(self, run: Run, /) -> bool:
        """Return whether a run has anything of it.

        Raises:
            RunDirectoryError: the tables cannot be read.
        """

    def text(self, run: Run, request: Request, /) -> PartText:
        """Return it as text.

        Raises:
            UsageError: the run has no such metric, file or the like.
            RunDirectoryError: the tables cannot be read.
        """

    def data(self, run: Run, request: Request, /) -> PartData:
        """Return it as rows; raises as `text`."""


def json_pieces(run: Run, part: ReportPart, request: Request, data: PartData) -> Iterator[str]:
    """Yield the JSON document of a part, a line for each row: they need not all be held."""
    whole = {
        "schema": "gnomon/report",
        "version": VERSION,
        "run": dict(run.head),
        "part": part.name,
        "by": request.by or None,
        "argument": request.argument or None,
        "inlined": request.inlined or None,
        **data.facts,
    }
    yield json.dumps(whole, indent=2).removesuffix("\n}")
    for name, rows in (*data.lists.items(), ("rows", data.rows)):
        yield f",\n  {json.dumps(name)}: ["
        separator, end = "\n    ", ""
        for row in rows:
            yield separator + json.dumps(row)
            separator, end = ",\n    ", "\n  "
        yield f"{end}]"
    yield "\n}\n"


def lists_of(part: ReportPart) -> Mapping[str, tuple[Key, ...]]:
    """Return the further lists that a part's document may have, and what their rows have."""
    lists: Mapping[str, tuple[Key, ...]] = getattr(part, "lists", {})
    return lists


def objects_of(part: ReportPart) -> Mapping[str, tuple[Key, ...]]:
    """Return the objects that a part's document may have beside its rows, and their keys."""
    objects: Mapping[str, tuple[Key, ...]] = getattr(part, "objects", {})
    return objects
