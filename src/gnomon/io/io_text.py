"""The part `io` of a report as text: a screen of the whole, and a table by each division."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.io.io_values import Operation, total
from gnomon.measurement.size_bars import size_bars
from gnomon.terminal_text import ABSENT, facts, filled, share, short_path, table
from gnomon.units import number, quantity, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.io.io_sums import IoSums
    from gnomon.io.io_values import Coverage, File, Process, Site, SizeSum
    from gnomon.io.mpi_io_sums import MpiIoCalls
    from gnomon.store.site_places import SitePlace

SHOWN = 10
"""Files and sites of the whole screen."""
_FETCHED = 3
"""Files whose fetched pages are told."""
_PATH_LEAST = 20
_COLUMNS_BESIDE_PATH = 58


def screen(sums: IoSums, width: int, top: int) -> Iterator[str]:
    """Yield the whole: sums, files, sites, sizes, and whether anything was not seen."""
    files, coverage = sums.files(), sums.coverage()
    yield from _sum_lines(files, coverage, width)
    yield "files with most time"
    yield from file_lines(files, width, top)
    if sums.has_sites:
        yield "call sites with most time"
        yield from site_lines(sums.sites(), width, top)
    else:
        yield "calls with most time"
        yield from operation_lines(operations_of(files), width, top)
    mpi_io = sums.mpi_io()
    if mpi_io:
        yield "calls of MPI-IO, which made some of these"
        yield from mpi_io_lines(mpi_io, width, top)
    sizes = ((own.size, own.calls, own.bytes, own.seconds) for own in sums.by_size())
    bars = size_bars(sizes, width)
    if bars:
        yield "sizes of requests"
        yield from bars
    yield from coverage_lines(coverage, files, width)


def _sum_lines(files: Sequence[File], coverage: Coverage, width: int) -> list[str]:
    calls, seconds = sum(file.calls for file in files), _whole(files)
    read, written = (sum(file.moved(way) for file in files) for way in ("read", "write"))
    asked = sum(own.bytes_asked or 0.0 for file in files for own in file.operations)
    several = f"{number(len(files))} file{'' if len(files) == 1 else 's'}"
    rows = [
        ("processes", number(coverage.processes), ""),
        ("calls", number(rounded(calls)),
         f"on {several}, {quantity(seconds, 's')} in all processes together"),
        ("read", quantity(rounded(read), "bytes"), _storage(coverage, coverage.device_read)),
        ("written", quantity(rounded(written), "bytes"),
         _storage(coverage, coverage.device_written, "to")),
    ]  # fmt: skip
    if asked > read + written:
        rows.append(("asked for", quantity(rounded(asked), "bytes"), "at ends of files fewer came"))
    return facts(rows, width)


def _storage(coverage: Coverage, moved: float, way: str = "from") -> str:
    if not coverage.counted:
        return ""
    cached = ": cached" if way == "from" and not moved else ""
    return f"{quantity(rounded(moved), 'bytes')} {way} storage{cached}"


# --- tables ---------------------------------------------------------------------------------------


def file_lines(files: Sequence[File], width: int, top: int) -> list[str]:
    """Return files: `top` rows, 0 for all."""
    whole = _whole(files)
    room = max(width - _COLUMNS_BESIDE_PATH, _PATH_LEAST)
    rows = [
        (
            *_time(file.seconds, whole), number(rounded(file.calls)),
            _moved(file, "read"), _moved(file, "write"), _seeks(file), short_path(file.path, room),
        )
        for file in (files[:top] if top else files)
    ]  # fmt: skip
    heads = ("of I/O", "time", "calls", "read", "written", "seeks", "file")
    return table(heads, rows, width, len(files))


def _moved(file: File, way: str) -> str:
    return quantity(rounded(file.moved(way)), "bytes") if file.requests(way) else ABSENT


def _seeks(file: File) -> str:
    """Return how many requests did not follow the last one: forward, and backward."""
    forward, backward = (
        total(getattr(own, name) for own in (file.reads, file.writes) if own is not None)
        for name in ("forward", "backward")
    )
    if not forward and not backward:
        return ABSENT
    return " ".join(
        f"{sign}{number(rounded(seeks))}"
        for sign, seeks in (("+", forward), ("-", backward))
        if seeks is not None
    )


def operation_lines(operations: Sequence[Operation], width: int, top: int) -> list[str]:
    """Return calls by name."""
    whole = _whole(operations)
    rows = [
        (
            *_time(own.seconds, whole), _number(own.calls),
            _bytes(own.bytes_asked), _bytes(own.bytes), _number(own.failures),
            f"{own.name} (stdio)" if own.layer == "stdio" else own.name,
        )
        for own in (operations[:top] if top else operations)
    ]  # fmt: skip
    heads = ("of I/O", "time", "calls", "asked", "moved", "failed", "call")
    return table(heads, rows, width, len(operations))


def operations_of(files: Sequence[File]) -> list[Operation]:
    """Return the calls on all files together, those with most time first."""
    several: dict[tuple[str, str], list[Operation]] = {}
    for file in files:
        for own in file.operations:
            several.setdefault((own.name, own.layer), []).append(own)
    listed = [
        Operation(
            *key, total(own.calls for own in group), total(own.bytes_asked for own in group),
            sum(own.bytes for own in group), total(own.seconds for own in group),
            total(own.failures for own in group),
        )
        for key, group in several.items()
    ]  # fmt: skip
    return sorted(listed, key=lambda own: (-(own.seconds or 0.0), own.name))


def _whole(rows: Sequence[File | Operation | Process | Site | SizeSum]) -> float:
    """Return the time of all that is known."""
    return sum(row.seconds or 0.0 for row in rows)


def _time(seconds: float | None, whole: float) -> tuple[str, str]:
    """Return a time's share of the whole, and itself."""
    return (ABSENT, ABSENT) if seconds is None else (share(seconds, whole), quantity(seconds, "s"))


def _number(value: float | None) -> str:
    return ABSENT if value is None else number(rounded(value))


def _bytes(value: float | None) -> str:
    return quantity(rounded(value), "bytes") if value else ABSENT


def site_lines(sites: Sequence[Site], width: int, top: int) -> list[str]:
    """Return call sites."""
    whole = _whole(sites)
    rows = [
        (
            *_time(site.seconds, whole), _number(site.calls),
            _bytes(site.bytes / site.calls if site.calls else 0.0), site_label(site),
        )
        for site in (sites[:top] if top else sites)
    ]  # fmt: skip
    heads = ("of I/O", "time", "calls", "mean size", "site")
    return table(heads, rows, width, len(sites))


def site_label(site: Site) -> str:
    """Return a site as text: its call, function and line, and who called that."""
    return place_label(site.place)


def place_label(place: SitePlace) -> str:
    """Return the place of a site likewise."""
    where = f"{Path(place.file).name}:{place.line}" if place.file else place.module
    text = " ".join(part for part in (place.routine, "in", place.function, where) if part)
    caller = f" ← {place.callers[0]}" if place.callers else ""
    return text + caller


def mpi_io_lines(calls: Sequence[MpiIoCalls], width: int, top: int) -> list[str]:
    """Return calls of MPI-IO by file."""
    room = max(width - _COLUMNS_BESIDE_PATH, _PATH_LEAST)
    rows = [
        (
            ABSENT if own.seconds is None else quantity(own.seconds, "s"), _number(own.calls),
            _bytes(own.bytes), own.name, short_path(own.path, room),
        )
        for own in (calls[:top] if top else calls)
    ]  # fmt: skip
    return table(("time", "calls", "moved", "call", "file"), rows, width, len(calls))


def size_lines(sizes: Sequence[SizeSum], width: int, top: int) -> list[str]:
    """Return calls by name and size of what was asked for."""
    whole = _whole(sizes)
    rows = [
        (
            *_time(own.seconds, whole), number(rounded(own.calls)),
            ABSENT if own.bytes is None else quantity(rounded(own.bytes), "bytes"),
            own.name, own.size,
        )
        for own in (sizes[:top] if top else sizes)
    ]  # fmt: skip
    heads = ("of I/O", "time", "calls", "bytes", "call", "size asked for")
    return table(heads, rows, width, len(sizes))


def process_lines(processes: Sequence[Process], width: int, top: int) -> list[str]:
    """Return processes."""
    whole = _whole(processes)
    rows = [
        (
            *_time(own.seconds, whole), number(rounded(own.calls)),
            _bytes(own.read), _bytes(own.written),
            number(own.rank) if own.rank >= 0 else ABSENT,
            str(own.pid) if own.pid >= 0 else ABSENT,
            f"{own.name} on {own.host}" if own.host else own.name,
        )
        for own in (processes[:top] if top else processes)
    ]  # fmt: skip
    heads = ("of I/O", "time", "calls", "read", "written", "rank", "pid", "process")
    return table(heads, rows, width, len(processes))


# --- coverage -------------------------------------------------------------------------------------


def coverage_lines(coverage: Coverage, files: Sequence[File], width: int) -> list[str]:
    """Return whether what was seen accounts for what the kernel counted."""
    if not coverage.is_countable:
        text = "coverage: not known: what was imported has no counts of the kernel beside its calls"
    elif coverage.with_modules:
        text = (
            "coverage: not known, as files had modules of MIO, whose requests are not the "
            f"program's: the kernel counted {_kernel_counts(coverage)}"
        )
    elif not coverage.counted:
        text = (
            "coverage: not known, as every process was killed, or ended by a system call of its "
            "own: the kernel's counts are read at the end"
        )
    elif not coverage.is_short:
        text = (
            "coverage: the calls seen account for what the kernel counted: "
            f"{_kernel_counts(coverage)}"
        )
        if coverage.unseen_read or coverage.unseen_written:
            text += (
                f"; but for {_bytes_of(coverage.unseen_read)} read and "
                f"{_bytes_of(coverage.unseen_written)} written"
            )
    else:
        text = (
            f"coverage: the kernel counted {_bytes_of(coverage.unseen_read)} read and "
            f"{_bytes_of(coverage.unseen_written)} written that no call was seen to move: by "
            "system calls without the C library, or what the C library does itself"
        )
    if coverage.uring_requests:
        text += (
            f"; io_uring: {number(rounded(coverage.uring_requests))} requests "
            f"({number(rounded(coverage.uring_reads))} reads, "
            f"{number(rounded(coverage.uring_writes))} writes), whose files and bytes are not known"
        )
    elif coverage.is_countable and coverage.uring_requests is None:
        text += (
            "; requests of io_uring were not counted: gnomon io does, where this user may have "
            "the event io_uring:io_uring_submit_req"
        )
    if coverage.major_faults:
        n = rounded(coverage.major_faults)
        pages = "1 page was" if n == 1 else f"{number(n)} pages were"
        text += f"; mapped files: {pages} fetched"
        text += _fetched(files)
    return filled(text, width, "", "  ")


def _kernel_counts(coverage: Coverage) -> str:
    text = f"{_bytes_of(coverage.kernel_read)} read, {_bytes_of(coverage.kernel_written)} written"
    if coverage.counted < coverage.processes:
        text += f" (of {number(coverage.counted)} of {number(coverage.processes)} processes)"
    return text


def _fetched(files: Sequence[File]) -> str:
    """Return of which files most pages were, as far as they were opened by calls."""
    most = sorted((file for file in files if file.fetched), key=lambda file: -(file.fetched or 0))
    told = [f"{number(rounded(file.fetched or 0))} of {file.path}" for file in most[:_FETCHED]]
    return f", {', '.join(told)}" if told else ""


def _bytes_of(value: float) -> str:
    return quantity(rounded(value), "bytes")
