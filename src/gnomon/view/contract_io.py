"""What the server answers about calls on files as they happened: a part of `contract.py`."""

from __future__ import annotations

from typing import Literal, TypedDict

from gnomon.model.array_types import Bytes, Floats, Ints

Layer = Literal["posix", "stdio"]


class TracedPlace(TypedDict):
    """A process with calls on files, and what they came to."""

    location: int
    title: str
    rank: int
    host: str
    read: float
    """Bytes."""
    written: float
    seconds: float


class CallTrace(TypedDict):
    """What is recorded of calls on files one by one; with `lengthNs` 0 nothing is."""

    lengthNs: int
    """Of the run's time: of its samples and of its calls with a time."""
    layers: list[Layer]
    places: list[TracedPlace]
    """By rank and number."""


class TracedFile(TypedDict):
    """A file, and what calls on it came to."""

    file: int
    name: str
    kind: str
    filesystem: str
    requests: int
    """Reads and writes."""
    placed: int
    """Those of them of which it is known where in the file they were."""
    read: float
    """Bytes."""
    written: float
    seconds: float
    places: int
    """How many processes used it."""


class TracedFiles(TypedDict):
    """Files by what was moved, most first."""

    total: int
    """How many there are, with those that are left out here."""
    files: list[TracedFile]


class CallPlace(TypedDict):
    """A call, and the place in the program that it is made from."""

    name: str
    caller: str
    """The function that calls; "" where not known."""
    file: str
    line: int


class AccessPattern(TypedDict):
    """Requests of a file in a window: each of them, or what of them a picture can show."""

    n: int
    isExact: bool
    """Each request is here; else `first` to `counts` are, and not `start` to `opening`."""
    requests: int
    """Of the window, those that are wholly or partly in it."""
    beginNs: int
    endNs: int
    low: int
    """The first byte of the window."""
    high: int
    """The byte behind its last one."""
    fileEnd: int
    """The byte behind the last request of the file, whichever process it was of."""
    columns: int
    """How many points the window is divided into; 0 for requests one by one."""
    rows: int
    sites: list[CallPlace]
    access: Bytes
    """1 for writes, 0 for reads."""
    bytes: Floats
    start: Floats
    """Nanoseconds since the run's time began."""
    duration: Floats
    offset: Floats
    asked: Floats
    site: Ints
    """Number of `sites`."""
    location: Ints
    """Number of its location."""
    opening: Floats
    """Which open file of its process; -1 where not known."""
    first: Ints
    """The column that requests begin in."""
    last: Ints
    """The one that they end in."""
    lower: Ints
    """The row of their first bytes."""
    upper: Ints
    """That of their last bytes."""
    counts: Floats
    """How many they are."""


class CallRates(TypedDict):
    """What calls come to in the cells of a grid: rows of processes or files by parts of the time.

    Only cells with calls are here. What a call moves is spread over the time that it takes.
    """

    n: int
    beginNs: int
    endNs: int
    bins: int
    """Into how many equal parts the time is divided."""
    by: Literal["location", "file"]
    """What rows are of: locations by rank, or files in the order of the first calls on them."""
    rows: list[str]
    """Names of processes or files, or of several consecutive ones."""
    number: Ints
    """Of each row the number of its location or file; -1 where it is of several."""
    cell: Ints
    """Number of the row, times `bins`, plus that of the part."""
    read: Floats
    """Bytes."""
    written: Floats
    seconds: Floats
    """In calls, of all processes and threads together."""


class AccessTotals(TypedDict):
    """Reads or writes."""

    requests: int
    failed: int
    bytes: float
    asked: float
    seconds: float
    consecutive: int
    """Those that begin where the one before them of the same open file ended."""
    forward: int
    """Behind that place."""
    backward: int
    """Before it."""


class SizeTotals(TypedDict):
    """Requests of some sizes."""

    name: str
    """"up to 4 KiB"."""
    reads: int
    writes: int
    bytes: float


class SiteTotals(CallPlace):
    """Calls from one place."""

    calls: int
    bytes: float
    seconds: float


class CallTotals(TypedDict):
    """What the calls that begin in a part of the time come to."""

    beginNs: int
    endNs: int
    reads: AccessTotals
    writes: AccessTotals
    otherCalls: int
    otherSeconds: float
    sizes: list[SizeTotals]
    sites: list[SiteTotals]
    """Those with most time, most first."""
