"""What is known of a run's I/O: files, calls, call sites, sizes, processes.

What is not known is None: of Gnomon's own runs all is, of logs of others that were imported part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.io.calls import direction_of
from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gnomon.store.site_places import SitePlace

_UNSEEN_LEAST = 1 << 20
_UNSEEN_SHARE = 0.05
_STREAM_BUFFER = 4096
"""Bytes that a call of stdio may read ahead: st_blksize of most file systems."""


class Operation(NamedTuple):
    """Calls of a name on a file.

    Attributes:
        name: of the call.
        layer: "posix" or "stdio".
        calls: how many.
        bytes_asked: that they were to move.
        bytes: that they moved.
        seconds: in them.
        failures: how many failed.
    """

    name: str
    layer: str
    calls: float | None
    bytes_asked: float | None
    bytes: float
    seconds: float | None
    failures: float | None


class Access(NamedTuple):
    """How reads, or writes, were placed in a file.

    Attributes:
        forward: requests that began behind the end of the last one of the open file.
        forward_bytes: what these left out.
        backward: requests that began before it.
        backward_bytes: how far these went back.
        unaligned: requests that are no whole blocks of the file system.
        opens: descriptors that were opened, of both.
        fetched: pages that were fetched from storage when a mapping was touched, of both.
        end: the offset that requests reached.
        file_bytes: size when it was first opened.
    """

    forward: float | None
    forward_bytes: float | None
    backward: float | None
    backward_bytes: float | None
    unaligned: float | None
    opens: float | None
    fetched: float | None
    end: float | None
    file_bytes: float | None


class SizeSum(NamedTuple):
    """Calls with requests of a size; `name` is a call, or of a file "reads" or "writes"."""

    name: str
    size: str
    calls: float
    bytes: float | None
    seconds: float | None


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum of values that are known, None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def or_zero(value: float | None) -> float:
    """Return a value, 0 where it is not known: for what looks at Gnomon's own runs alone."""
    return value or 0.0


class File(NamedTuple):
    """A file and what was done with it.

    Attributes:
        path: as the kernel has it, or the program where it was not opened.
        kind: file, directory, pipe, socket or device; "" if unknown.
        file_system: its kind, "" if unknown.
        operations: those with most time first.
        reads: how they were placed, None without any.
        writes: likewise.
        sizes: of requests.
        unaligned: requests that are no whole blocks of the file system, of both.
    """

    path: str
    kind: str
    file_system: str
    operations: tuple[Operation, ...]
    reads: Access | None
    writes: Access | None
    sizes: tuple[SizeSum, ...]
    unaligned: float | None

    @property
    def seconds(self) -> float | None:
        """In all calls on it."""
        return total(own.seconds for own in self.operations)

    @property
    def calls(self) -> float:
        """How many there were."""
        return sum(own.calls or 0.0 for own in self.operations)

    def moved(self, direction: str) -> float:
        """Return bytes of reads or writes ("read", "write")."""
        return sum(own.bytes for own in self.operations if direction_of(own.name) == direction)

    def requests(self, direction: str) -> float:
        """Return how many calls read or wrote."""
        own = (one for one in self.operations if direction_of(one.name) == direction)
        return sum(one.calls or 0.0 for one in own)

    @property
    def fetched(self) -> float | None:
        """Pages of it that were fetched when a mapping was touched, None where not known."""
        return self.reads.fetched if self.reads else None

    @property
    def read_again(self) -> float:
        """Bytes that were read more than once, at least: those beyond the furthest offset."""
        reach = self.reads.end if self.reads else None
        return max(self.moved("read") - reach, 0.0) if reach else 0.0


class Site(NamedTuple):
    """Calls from one place, all processes together."""

    place: SitePlace
    calls: float | None
    bytes_asked: float | None
    bytes: float
    seconds: float | None
    failures: float | None


class Process(NamedTuple):
    """A process of an execution, and what it moved."""

    repetition: int
    location: int
    rank: int
    host: str
    pid: int
    name: str
    calls: float
    seconds: float | None
    read: float
    written: float


class Coverage(NamedTuple):
    """What the kernel counted of processes that ended by themselves, and what calls moved.

    Attributes:
        counted: processes of which the kernel's counts are known.
        processes: all of them.
        kernel_read: bytes, by system calls.
        kernel_written: likewise.
        device_read: bytes, from storage.
        device_written: likewise.
        major_faults: pages that were fetched when they were touched.
        read: bytes, by the calls of POSIX that were seen.
        written: likewise.
        stream_read: bytes, by those of stdio.
        stream_written: likewise.
        buffers: that streams may have read ahead: when they were opened, at seeks, at reads of
            which it is not known how much they took, and of input that a process began with.
        is_countable: the run has counts of the kernel at all.
        with_modules: processes with modules of MIO, which move bytes in requests of their own.
        uring_requests: of io_uring, None where they could not be counted.
        uring_reads: of these, those that read.
        uring_writes: those that wrote.
    """

    counted: int
    processes: int
    kernel_read: float
    kernel_written: float
    device_read: float
    device_written: float
    major_faults: float
    read: float
    written: float
    stream_read: float
    stream_written: float
    buffers: float
    is_countable: bool
    with_modules: int
    uring_requests: float | None
    uring_reads: float
    uring_writes: float

    @property
    def unseen_read(self) -> float:
        """Bytes that no call was seen to read, beyond what streams may read ahead."""
        ahead = self.buffers * _STREAM_BUFFER
        return max(self.kernel_read - self.read - self.stream_read - ahead, 0.0)

    @property
    def unseen_written(self) -> float:
        """Bytes that no call was seen to write."""
        return max(self.kernel_written - self.written - self.stream_written, 0.0)

    @property
    def is_complete(self) -> bool | None:
        """Whether calls that were seen account for the kernel's counts; None: those are unknown."""
        if self.uring_reads or self.uring_writes:
            return False
        if not self.counted or self.with_modules:
            return None
        return not self.is_short

    @property
    def is_short(self) -> bool:
        """Whether calls that were seen moved less than the kernel counted."""
        return any(
            unseen > max(_UNSEEN_LEAST, _UNSEEN_SHARE * whole)
            for unseen, whole in (
                (self.unseen_read, self.kernel_read), (self.unseen_written, self.kernel_written),
            )
        )  # fmt: skip
