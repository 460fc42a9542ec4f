"""What the server answers about messages and ranks: a part of `contract.py`."""

from __future__ import annotations

from typing import Literal, TypedDict

from gnomon.model.array_types import Floats, Ints

Division = Literal["block", "host", "community"]
Measure = Literal["bytes", "messages"]


class HeaviestPair(TypedDict):
    """A sender and a receiver."""

    sender: str
    receiver: str
    bytes: float
    messages: float


class MessageMatrix(TypedDict):
    """Senders by receivers, in cells; only those with messages are here."""

    n: int
    """How many cells are here."""
    by: Division
    of: Measure
    ends: int
    """How many senders and receivers the run has; places are from 0 on."""
    groups: int
    """How many hosts or communities they are in; 0 where they are in none."""
    rows: list[str]
    """Names of cells of senders."""
    columns: list[str]
    totalBytes: float
    """Of all messages of the run."""
    totalMessages: float
    unknownMessages: float
    """Of those, messages of which the sender or receiver is not known: in no cell."""
    top: list[HeaviestPair]
    """Of all cells, those with most first."""
    rowEdges: Ints
    """The place where each row begins, and at the end where the last one ends."""
    columnEdges: Ints
    cell: Ints
    """Number of the row, times the number of columns, plus that of the column."""
    bytes: Floats
    messages: Floats
    pairs: Ints
    """How many senders and receivers have messages for each other."""
    heaviestSender: Ints
    """The rank of the sender of the pair that has most of the cell; -1 for what has none."""
    heaviestReceiver: Ints
    heaviestBytes: Floats
    heaviestMessages: Floats


class RankSeries(TypedDict):
    """A value of each rank."""

    key: str
    """A metric's number, or a name."""
    title: str
    unit: str
    how: str
    min: float | None
    """null where no rank has a value."""
    median: float | None
    max: float | None
    outliers: int
    """How many ranks stand out of the others."""


class RankValues(TypedDict):
    """Values of ranks in an order, in bands of consecutive ones; NaN where none has any."""

    n: int
    """How many bands are here."""
    what: Literal["rank", "process"]
    ranks: int
    """How many the run has."""
    hosts: list[str]
    series: list[RankSeries]
    edges: Ints
    """The place where each band begins, and at the end where the last one ends."""
    rank: Ints
    """The first of each band; -1 for processes."""
    location: Ints
    """Number of its location."""
    host: Ints
    """Number of `hosts`."""
    least: Floats
    """Of the bands of the first series, then of the second, ..."""
    middle: Floats
    most: Floats
    outliers: Ints
    """How many ranks of a band stand out, likewise."""
    outlierSeries: Ints
    """Which series an outlier is of: those farthest from the median of each."""
    outlierPlace: Ints
    outlierRank: Ints
    outlierLocation: Ints
    outlierValue: Floats


class CallSite(TypedDict):
    """A place in the program from which a rank calls MPI."""

    name: str
    caller: str
    """The function that calls; "" where not known."""
    file: str
    line: int
    calls: float | None
    value: float


class RankSites(TypedDict):
    """The call sites of a rank, those with most first."""

    location: int
    title: str
    host: str
    unit: str
    total: float
    """Of all of its sites."""
    sites: list[CallSite]
    more: int
    """How many sites are left out."""
