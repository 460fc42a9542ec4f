"""The events of processes as rows of the model: what each call on a file was, and when."""

from __future__ import annotations

import errno
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import FormatError
from gnomon.io.event_file import (
    CALL,
    NO_OPENING,
    READ,
    WRITE,
    event_path,
    read_event_file,
)
from gnomon.io.io_rows import file_names
from gnomon.measurement.call_rows import whole
from gnomon.measurement.totals_processes import names_of
from gnomon.model.tables import EVENTS, Table
from gnomon.store.file_head import MAGIC_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from gnomon.io.event_file import Events
    from gnomon.measurement.call_sites import CallSites
    from gnomon.measurement.totals_file import TotalsFile
    from gnomon.measurement.totals_processes import TotalsProcess

_ACCESS = {CALL: "", READ: "read", WRITE: "write"}
_BYTES_MOST = (1 << 63) - 1
# By errno, why events are missing.
_REASONS = {
    errno.ENOBUFS: "more than --trace-mb allows",
    errno.ENOSPC: "the disk was full",
    errno.EDQUOT: "the disk quota was reached",
    errno.EFBIG: "the limit of file sizes (ulimit -f) was reached",
}


class EventFiles:
    """The event files of a run, each read twice: to know that it can be, and for its rows.

    Attributes:
        n: how many events there are.
        warnings: of files that cannot be read.
    """

    def __init__(self) -> None:
        """Have no file yet."""
        self.n = 0
        self.warnings: list[str] = []
        self._openings: dict[Path, int] = {}
        # Of processes: how many there was no room for, and why.
        self._lost: Counter[tuple[str, int]] = Counter()
        self._errors: dict[tuple[str, int], int] = {}

    @property
    def lost(self) -> int:
        """How many events there was no room for."""
        return self._lost.total()

    def look(self, totals: TotalsFile) -> int:
        """Look at the events of a process, if it left any; return what it wrote them with.

        Returns:
            Bytes, by system calls, which the kernel counts.
        """
        path = event_path(totals.path)
        if not path.exists() or not _has_begun(path):
            return 0
        n, openings = 0, 0
        try:
            file = read_event_file(totals)
            for events in file.blocks():
                n += len(events.records)
                openings = max(openings, _openings(events))
        except (FormatError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = str(why).removeprefix(f"{path}: ")
            self.warnings.append(f"io: {path.name}: cannot be read: {why}")
            return 0
        self.n += n
        self._openings[totals.path] = openings
        if file.lost:
            process = totals.host, totals.pid
            self._lost[process] += file.lost
            self._errors[process] = file.stop_error
        return file.written_bytes

    def notes(self, processes: Sequence[TotalsProcess]) -> Iterator[str]:
        """Yield what is missing of processes."""
        for error in sorted(set(self._errors.values())):
            losers = [one for one in processes if self._errors.get((one.host, one.pid)) == error]
            lost = sum(self._lost[one.host, one.pid] for one in losers)
            why = _REASONS.get(error, f"errno {error}")
            yield f"io: {names_of(losers)}: {lost:,} calls are missing in the trace: {why}"

    def tables(
        self, location: int, process: TotalsProcess, sites: CallSites,
        numbers: Mapping[tuple[str, str], int],
    ) -> Iterator[Table]:  # fmt: skip
        """Yield the events of a process, in order of time within each table.

        Args:
            location: of the process.
            process: whose files were looked at.
            sites: which have the paths.
            numbers: of files, by host and path.
        """
        first_opening = 0
        for totals in process.files():
            if totals.path not in self._openings:
                continue
            paths = sites.of_sites(totals)
            regions, names = sites.paths.regions[paths], file_names(totals)
            files = np.array(
                [
                    numbers.get((totals.host, names.get(number, "")), -1)
                    for number in totals.sites["object"].tolist()
                ],
                np.int64,
            )
            for events in read_event_file(totals).blocks():
                own = _sorted(events)
                columns = _columns(own, first_opening)
                columns["location"] = np.full(len(own.kinds), location)
                columns["path"] = paths[own.sites]
                columns["region"] = regions[own.sites]
                columns["file"] = files[own.sites]
                yield Table.of(EVENTS, columns, _masks(own))
            first_opening += self._openings[totals.path]


def _has_begun(path: Path) -> bool:
    """Return whether a file has a header: a process may be killed before it wrote one."""
    try:
        with path.open("rb") as file:
            return any(file.read(MAGIC_BYTES))
    except OSError:
        return True


def _openings(events: Events) -> int:
    """Return a number above those of all open files."""
    numbers = events.records["opening"]
    return int(numbers[numbers != NO_OPENING].max(initial=0)) + 1


def _sorted(events: Events) -> Events:
    order = np.argsort(events.start_ns, kind="stable")
    return events._replace(**{name: column[order] for name, column in events._asdict().items()})


def _columns(events: Events, first_opening: int) -> dict[str, Any]:
    records = events.records
    return {
        "repetition": np.zeros(len(records), np.int64),
        "start_ns": events.start_ns,
        "duration_ns": events.duration_ns,
        "bytes": whole(records["delivered"], _BYTES_MOST),
        "access": list(map(_ACCESS.__getitem__, events.kinds.tolist())),
        "asked": whole(records["asked"], _BYTES_MOST),
        "file_offset": np.maximum(records["offset"], 0),
        "opening": records["opening"].astype(np.int64) + first_opening,
    }


def _masks(events: Events) -> dict[str, NDArray[np.bool_]]:
    records = events.records
    moves_none = (events.kinds == CALL) & (records["asked"] == 0) & (records["delivered"] == 0)
    return {
        "bytes": moves_none,
        "asked": moves_none,
        "file_offset": records["offset"] < 0,
        "opening": records["opening"] == NO_OPENING,
    }
