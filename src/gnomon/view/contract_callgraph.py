"""What the server answers about call graphs: a part of `contract.py`."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt

from gnomon.model.array_types import Floats, Ints


class GraphModule(TypedDict):
    """A program or library whose functions are in a call graph."""

    name: str
    path: str
    """Where it is; the name where that is not known."""


class CallGraphData(TypedDict):
    """The functions of a run and the calls between them, as `gnomon callgraph` has them."""

    n: int
    """How many functions."""
    program: str
    metric: str
    unit: str
    how: str
    whole: float
    """What the program has of the metric."""
    counted: float
    """What functions have themselves that the selection lets through."""
    files: int
    """Of how many profiles it is the sum."""
    isEstimated: bool
    """What calls came to follows from their numbers."""
    names: list[str]
    modules: list[GraphModule]
    sources: list[str]
    """Source files that functions name by number."""
    own: Floats
    total: Floats
    """With what they call, those of their own cycle left out."""
    calls: Floats
    """From others; -1 where nobody counted them."""
    selfCalls: Floats
    cycle: Ints
    """Number of the cycle, 0 for none."""
    index: Ints
    """The number in brackets of reports: those with most first."""
    module: Ints
    source: Ints
    line: Ints
    isShown: npt.NDArray[np.uint8]
    """Not greyed by what was left out."""
    caller: Ints
    callee: Ints
    arcCalls: Floats
    """-1 where nobody counted them."""
    arcTotal: Floats
    """What these calls came to; 0 within a cycle."""


class FlatRow(TypedDict):
    """A function in the flat profile."""

    function: str
    index: int
    module: str
    file: str
    line: int
    self: float
    total: float
    calls: int | None
    self_calls: int | None


class EntryCall(TypedDict):
    """A caller or callee in an entry of the call graph profile."""

    function: str
    index: int
    calls: int | None
    self: float
    children: float


class GraphEntry(TypedDict):
    """A function, or a cycle, in the call graph profile."""

    function: str
    index: int
    cycle: int
    self: float
    children: float
    calls: int | None
    self_calls: int | None
    members: list[int]
    """Of a cycle alone: the indices of its functions."""
    callers: list[EntryCall]
    """Of functions alone, as callees."""
    callees: list[EntryCall]


class IndexRow(TypedDict):
    """A function or cycle in the function index."""

    function: str
    index: int
    has_entry: bool


class CallPair(TypedDict):
    """Calls of one function by another in the function call summary."""

    caller: str
    caller_index: int
    callee: str
    callee_index: int
    calls: int
    share: float


class LibraryRow(TypedDict):
    """A program or library in the library statistics."""

    library: str
    self: float
    share: float | None
    calls_into: int | None
    calls_within: int | None
    calls_out: int | None


class FileSpread(TypedDict):
    """What the files of a profile have of one quantity of a function."""

    average: float
    deviation: float
    maximum: float
    maximum_file: str
    minimum: float
    minimum_file: str


class StatisticsRow(TypedDict):
    """A function in the function level statistics."""

    function: str
    index: int
    self: float
    total: float
    self_spread: FileSpread
    total_spread: FileSpread
    calls_spread: FileSpread | None
    """None where calls were not counted."""


class CallGraphReport(TypedDict):
    """A report of a call graph: the rows of its kind; lists of other kinds are empty."""

    kind: str
    files: int
    """Of statistics: how many files they are over."""
    flat: list[FlatRow]
    graph: list[GraphEntry]
    index: list[IndexRow]
    calls: list[CallPair]
    libraries: list[LibraryRow]
    statistics: list[StatisticsRow]


class ProfilesToLoad(TypedDict):
    """What the window Load Files asks for; names of options are those of `xprofiler`."""

    program: str
    """"" for the one beside the first file."""
    files: list[str]
    """gmon.out files; none for the usual one of the server's folder."""
    config: str
    """-c; "" for none."""
    displayMax: int | None
    """-disp_max; None for all."""
    hidden: list[str]
    """-e"""
    dropped: list[str]
    """-E"""
    shown: list[str]
    """-f"""
    counted: list[str]
    """-F"""
    sourcePaths: list[str]
    """-a"""
    libraryPaths: list[str]
    """-L"""
    sum: bool
    """-s"""


class LoadedProfiles(TypedDict):
    """The run that was opened, and what the page starts with."""

    run: str
    displayMax: int | None
    hidden: list[str]
    dropped: list[str]
    shown: list[str]
    counted: list[str]
    notes: list[str]
