"""What is known of a run's MPI: ranks, sites, messages and other divisions of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple

if TYPE_CHECKING:
    from gnomon.model.array_types import Cells


class Ranks(NamedTuple):
    """The processes with MPI, each of its own execution: a column for each thing, NaN: not known.

    Attributes:
        repetition: number of the execution.
        location: number of the process's location.
        rank: in MPI_COMM_WORLD, -1 where MPI did not say.
        host: where it ran.
        pid: number of the process.
        elapsed: seconds between MPI_Init and MPI_Finalize.
        inside: seconds in MPI of these.
        calls: of MPI, all of them.
        sent: bytes.
        received: bytes.
        overhead: seconds that measuring took, estimated.
        waiting: seconds in collective operations until the last rank had come.
    """

    repetition: Cells
    location: Cells
    rank: Cells
    host: Cells
    pid: Cells
    elapsed: Cells
    inside: Cells
    calls: Cells
    sent: Cells
    received: Cells
    overhead: Cells
    waiting: Cells


class Site(NamedTuple):
    """Calls of a routine from one place, all ranks together.

    Attributes:
        path: its number.
        routine: with `MPI_`.
        function: the one that calls it, "" where it is not known.
        module: program or library that this is in.
        file: of its source, "" where that is not known.
        line: of the call, 0 likewise.
        ranks: how many called it, each execution counted.
        calls: how often.
        seconds: in all of them.
        least: seconds of the rank that took least of those that called it.
        most: and of the one that took most.
        sent: bytes.
        received: bytes.
        longest: seconds of the longest call; None where that is not known.
        completion: seconds of calls that completed what was started here.
        waiting: seconds until the last rank had come; None where nobody knows.
        callers: functions that lead to `function`, each with the line of its call, the nearest
            first.
    """

    path: int
    routine: str
    function: str
    module: str
    file: str
    line: int
    ranks: int
    calls: float
    seconds: float
    least: float
    most: float
    sent: float
    received: float
    longest: float | None
    completion: float
    waiting: float | None
    callers: tuple[str, ...] = ()

    @property
    def mean_bytes(self) -> float:
        """Bytes that a call moves, in the mean."""
        return (self.sent + self.received) / self.calls if self.calls else 0.0


class Pairs(NamedTuple):
    """Calls by two things: a routine and a size, or a communicator and a routine."""

    first: str
    second: str
    calls: float
    bytes: float
    seconds: float


class Message(NamedTuple):
    """What one rank sent another from one site; -1: the rank is not known."""

    sender: int
    receiver: int
    messages: float
    bytes: float
    routine: str
    file: str
    line: int


class Heaviest(NamedTuple):
    """What a run has of MPI in brief; shares are from 0 to 1.

    Attributes:
        processes: how many have MPI, those of each execution counted.
        least: which part of its time a process is in MPI, of that with the smallest part; None
            where no process's time is known.
        mean: of all of them.
        most: of that with the largest part.
        site: where most of the time in MPI is, without its sums; None where there is none.
        part: which part.
    """

    processes: int
    least: float | None
    mean: float | None
    most: float | None
    site: Site | None
    part: float
