"""What the server answers, as types: the page's types are generated from these.

`packaging/api_types.py` writes them to `web/src/contract.ts`; tests hold that file against this
one, and answers of the server against these types. What each address gives stands in `api.py`.

A text below a field says what it is. Fields are those of the JSON; arrays are
packed (`array_codec.py`).
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from gnomon.model.array_types import Floats, Ints
from gnomon.model.region_kinds import RegionKind
from gnomon.store.comparison import comparison_json
from gnomon.view import (
    contract_callgraph,
    contract_io,
    contract_nodes,
    contract_pictures,
    contract_ranks,
    contract_sources,
)
from gnomon.view.data_table import TableColumn
from gnomon.view.folder_listing import FolderEntry
from gnomon.view.node_kinds import NodeKind
from gnomon.view.open_run import MergedPart
from gnomon.view.run_metadata import Location

How = Literal["counted", "scaled", "sampled", "emulated", "modelled", "estimated"]
Grouping = Literal["region", "lines", "callers", "capability", "module", "file", "routine", "rank"]
Statistic = Literal["total", "mean", "min", "median", "max"]
Texts = npt.NDArray[np.uint32]
"""Numbers of `strings`."""
Numbers = npt.NDArray[np.uint8]
Cell = str | int | float | None
Locations = list[Location]
"""What can be chosen to see the values of."""
# What `gnomon compare --json` says.
ComparedSide = comparison_json.ComparedSide
ComparedMetric = comparison_json.ComparedMetric
ComparedPlace = comparison_json.ComparedPlace
ComparedMachine = comparison_json.ComparedMachine
ComparedRuns = comparison_json.ComparedRuns
ComparisonDocument = comparison_json.ComparisonDocument
# Of pictures of call paths.
Activity = contract_pictures.Activity
TimeOrder = contract_pictures.TimeOrder
NodeDifferences = contract_pictures.NodeDifferences
# Of source files.
Source = contract_sources.Source
MetricLines = contract_sources.MetricLines
LineValues = contract_sources.LineValues
AssemblyInstruction = contract_sources.AssemblyInstruction
AssemblyJump = contract_sources.AssemblyJump
Assembly = contract_sources.Assembly
# Of nodes.
Fact = contract_nodes.Fact
RegionRow = contract_nodes.RegionRow
NodeValue = contract_nodes.NodeValue
NodeDetails = contract_nodes.NodeDetails
# Of messages and ranks.
GraphModule = contract_callgraph.GraphModule
CallGraphData = contract_callgraph.CallGraphData
FlatRow = contract_callgraph.FlatRow
EntryCall = contract_callgraph.EntryCall
GraphEntry = contract_callgraph.GraphEntry
IndexRow = contract_callgraph.IndexRow
CallPair = contract_callgraph.CallPair
LibraryRow = contract_callgraph.LibraryRow
FileSpread = contract_callgraph.FileSpread
StatisticsRow = contract_callgraph.StatisticsRow
CallGraphReport = contract_callgraph.CallGraphReport
ProfilesToLoad = contract_callgraph.ProfilesToLoad
LoadedProfiles = contract_callgraph.LoadedProfiles
Division = contract_ranks.Division
Measure = contract_ranks.Measure
HeaviestPair = contract_ranks.HeaviestPair
MessageMatrix = contract_ranks.MessageMatrix
RankSeries = contract_ranks.RankSeries
RankValues = contract_ranks.RankValues
CallSite = contract_ranks.CallSite
RankSites = contract_ranks.RankSites
# Of calls on files.
Layer = contract_io.Layer
TracedPlace = contract_io.TracedPlace
CallTrace = contract_io.CallTrace
TracedFile = contract_io.TracedFile
TracedFiles = contract_io.TracedFiles
CallPlace = contract_io.CallPlace
AccessPattern = contract_io.AccessPattern
CallRates = contract_io.CallRates
AccessTotals = contract_io.AccessTotals
SizeTotals = contract_io.SizeTotals
SiteTotals = contract_io.SiteTotals
CallTotals = contract_io.CallTotals


class RunTitle(TypedDict):
    """What is open. `parts` names what a combination is made of."""

    id: str
    kind: Literal["run", "file", "combined"]
    path: str
    """Where it is on disk; "" for a combination."""
    title: str
    command: str
    started: float
    """Seconds since the epoch."""
    wallSeconds: float
    exitStatus: int | None
    signal: str
    """That killed the program; "" for none."""
    parts: list[MergedPart]


class State(TypedDict):
    """What is open, and what could be opened in the server's folder."""

    version: str
    runs: list[RunTitle]
    problems: list[str]
    """What could not be opened at the start."""
    folder: str
    openable: list[FolderEntry]
    sourceFolders: list[str]
    sourcesBeforeAsking: int
    """Source files opened before the page asks (peekperf -num)."""


class Folder(TypedDict):
    """What a folder of the server's machine has."""

    path: str
    parent: str | None
    entries: list[FolderEntry]
    truncated: bool
    """There were more entries than are listed."""


class OpenResult(TypedDict):
    """What was opened, and what could not be."""

    runs: list[RunTitle]
    problems: list[str]


class SourceFolders(TypedDict):
    """Where sources are looked for, and which of the run's were found."""

    sourceFolders: list[str]
    found: list[str]


class Unavailable(TypedDict):
    """An event that could not be counted, and why."""

    event: str
    reason: str
    remedy: str
    errno: int


class Component(TypedDict):
    """A source of events, and whether it could be used."""

    name: str
    available: bool
    reason: str
    remedy: str
    errno: int


class Capability(TypedDict):
    """A kind that regions of the run have."""

    kind: str
    title: str
    regions: int


class GroupingTitle(TypedDict):
    """A grouping that the run has a tree of."""

    by: Grouping
    label: str
    """A word or two for it."""
    title: str
    sort: Literal["inclusive", "exclusive"]
    """Which values its nodes are sorted by at first."""


class Counts(TypedDict):
    """How much the run has."""

    locations: int
    regions: int
    paths: int
    metrics: int
    sources: int


class Run(RunTitle):
    """Everything of the run page."""

    head: dict[str, Any]
    """run.json, or what a file says of its run, as it is."""
    hosts: list[dict[str, Any]]
    workingDirectory: str
    environment: dict[str, str]
    repetitions: int
    isDilated: bool
    """The tool slowed the program so much that times are the tool's."""
    hasInlined: bool
    """Of some functions it is known that they stand in the code of their callers."""
    components: list[Component]
    unavailable: list[Unavailable]
    warnings: list[str]
    capabilities: list[Capability]
    regionKinds: list[RegionKind]
    """Kinds that regions of this run may have."""
    groupings: list[GroupingTitle]
    counts: Counts
    firstMetric: int
    """The metric to show first; -1 where the run has none."""
    sampledNs: int
    """For how long there are samples with a time, and other calls with one; 0 without samples."""
    tracedCalls: list[str]
    """Kinds of calls that were recorded one by one, with their times: "io", "mpi"."""
    sourceFiles: list[str]
    missingFiles: list[str]
    """Those of them that are not on this machine, when the run was looked at."""


class Metric(TypedDict):
    """A row of the run's table of metrics, and what may be done with its values."""

    metric: int
    name: str
    unit: str
    """"" for plain counts; "ns", "B", "%", ..."""
    formula: str
    how: str
    """One of `How`; a damaged run may have something else."""
    component: str
    domain: str
    scope: str
    description: str
    aggregation: str
    """How values of several locations make one: sum, max, elapsed or none."""
    absent_is_zero: bool
    """A code location without a value had none."""
    reproducible: bool
    """Every execution gives the same number: any difference is one."""
    dilated: bool
    """A time of the tool that slowed the program, not its own."""
    group: str
    """Heading under which it is listed."""
    additive: bool
    """Values of several places may be added up. A derived one is computed anew instead
    (`recomputed`); other ones have no value where several places come together."""
    atOnce: bool
    """Values of several places are times of the same moments, whose sum is no time."""
    recomputed: bool
    worse: Literal["more", "less"] | None
    """Which way is worse; null where nobody can say."""
    hasRegions: bool
    """There are values below the whole program (sections, functions, lines)."""
    hasLocations: bool
    """There are values of single processes, threads, cores or CPUs."""
    sampleWeight: float | None
    """What one sample adds to a value: the error of a sum is the root of its product with this.
    null where the metric was not sampled, or nobody knows how often."""
    ofThreads: Literal["running", "waiting"] | None
    """Which part of the wall time of threads it is; null where it is none."""


class Tree(TypedDict):
    """A tree in pre-order: a node's descendants are those from its number + 1 to `end` - 1.

    A tree that grows (by callers) has its nodes in the order in which they came, parents first.
    """

    n: int
    """How many nodes the tree has."""
    first: int
    """The first one that is here; those before it were asked for earlier."""
    by: Grouping
    strings: list[str]
    kinds: list[NodeKind]
    """What `kind` counts."""
    notes: list[str]
    """Said to the user: what was left out of the tree, and why."""
    parent: Ints
    end: Ints
    name: Texts
    """Numbers of `strings`."""
    kind: Numbers
    region: Ints
    """-1 where a node is more than one region."""
    location: Ints
    """-1 where a node is no location (by rank only)."""
    file: Texts
    """Numbers of `strings`; the empty one where not known."""
    module: Texts
    line: Ints
    """0 where not known."""
    pending: Numbers
    """1 where nodes below have yet to be asked for."""
    calls: Floats
    """Of all locations together; NaN where not known."""


class NodeOfLine(TypedDict):
    """Where a line of the source is in a call tree."""

    node: int
    """-1 where it is not in it."""


class Values(TypedDict):
    """In the order of the tree's nodes; NaN where there is no value."""

    n: int
    """How many values are here."""
    first: int
    """The node of the first one."""
    metric: int
    unit: str
    how: str
    told: str
    """Which value of several places: "mean of 4 ranks"; "" for their sum, or of one place."""
    isShared: bool
    """A node's value is a part of the root's: not where parts are at the same time."""
    inclusive: Floats
    exclusive: Floats


class Summary(TypedDict):
    """Values over the places that have one."""

    places: int
    min: float
    median: float | None
    mean: float | None
    max: float
    total: float | None
    """null where values of several places do not add up."""
    deviation: float | None
    """Standard deviation over the places."""
    minLocation: int
    medianLocation: int
    maxLocation: int
    imbalance: float | None
    """max / mean - 1: 0 for a perfect balance; null where the mean is 0."""


class SpreadSummary(TypedDict):
    """Of both columns, over the places that have a value; null where none has."""

    inclusive: Summary | None
    exclusive: Summary | None


class Spread(TypedDict):
    """One value for each place (rank, thread, core) of the finest kind that has any."""

    n: int
    unit: str
    how: str
    rows: str
    """What the rows of a heat map are: "rank", "process", "core", "thread"..."""
    columns: str
    rowNames: list[str]
    columnNames: list[str]
    location: Ints
    row: Ints
    column: Ints
    inclusive: Floats
    exclusive: Floats
    summary: SpreadSummary


class SourceLine(TypedDict):
    """A place in the source."""

    file: str
    line: int


class TableName(TypedDict):
    """A table that the run has, or a page that a capability adds."""

    name: str
    title: str
    group: str
    """Heading under which it is listed."""
    about: str
    """What a row is."""
    columns: list[str]
    """Columns that are shown at first; [] for all."""
    sort: str
    """The column that it is sorted by at first; "" for none, or the first metric's."""
    descending: bool


class TablePage(TypedDict):
    """Some rows of a table."""

    name: str
    columns: list[TableColumn]
    rows: list[list[Cell]]
    total: int
    """Rows that the filter lets through, not only of this page."""
    offset: int
    sources: list[SourceLine | None]
    """For each row the source it belongs to, where there is one."""


ALIASES = ("How", "Grouping", "Statistic", "Division", "Measure", "Layer")
"""Types that have a name in the page, too."""
