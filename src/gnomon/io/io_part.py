"""The part `io` of a report: what a program did to its files, where, and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError
from gnomon.model.value import How
from gnomon.named_tuple import NamedTuple
from gnomon.store.reports.report_part import (
    CALLS,
    FILE,
    FUNCTION,
    HOW,
    LINE,
    MODULE,
    REPETITION,
    TOP,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.io.io_sums import IoSums
    from gnomon.io.io_values import Access, Coverage, File, Process, Site, SizeSum
    from gnomon.store.run import Run

SUMMARY, PATH, CALL, SITE, SIZE, PROCESS = "summary", "file", "call", "site", "size", "process"

_SECONDS = Key("seconds", "number", "in these calls, all processes together, of one execution")
_ASKED = Key("bytes_asked", "number", "that calls were to move, of one execution")
_BYTES = Key("bytes", "number", "that calls moved, of one execution")
_FAILURES = Key("failures", "number", "calls that failed, of one execution")
_NAME = Key("name", "string", "of the call: variants of a call have the name of the plain one")
_LAYER = Key("layer", "string", "posix, or stdio for calls of streams")
_OPERATION_KEYS = (_NAME, _LAYER, CALLS, _ASKED, _BYTES, _SECONDS, _FAILURES)
_SIZE_KEYS = (
    Key("name", "string", "reads or writes"),
    Key("size", "string", "of what was asked for: nothing, up to 8 bytes, ..."),
    CALLS, _SECONDS,
)  # fmt: skip
_ACCESS_KEYS = (
    Key("forward", "number", "requests behind the end of the last one of the open file"),
    Key("forward_bytes", "number", "that these left out"),
    Key("backward", "number", "requests before the end of the last one"),
    Key("backward_bytes", "number", "that these went back"),
    Key("unaligned", "number", "requests that are no whole blocks of the file system"),
    Key("end", "number", "offset behind the last byte that was reached"),
)
_FILE_KEYS = (
    Key("path", "string", "as the kernel has it; as the program does where it was not opened"),
    Key("kind", "string", "file, directory, pipe, socket or device; empty where not known"),
    Key("file_system", "string", "its kind, empty where not known"),
    CALLS, _SECONDS,
    Key("opens", "number", "descriptors that were opened"),
    Key("file_bytes", "number", "its size when it was first opened; null where not known"),
    Key("fetched_pages", "number", "of a mapping, from storage; null where not known",
        is_nullable=True),
    Key("read", "number", "bytes, of one execution"),
    Key("written", "number", "bytes, of one execution"),
    Key("read_again", "number", "bytes that were read more than once, at least"),
    Key("reads", "rows", "how reads were placed: one row, or none", rows=_ACCESS_KEYS),
    Key("writes", "rows", "how writes were placed: one row, or none", rows=_ACCESS_KEYS),
    Key("unaligned", "number", "requests that are no whole blocks of the file system, of both"),
    Key("sizes", "rows", "requests by size", rows=_SIZE_KEYS),
    Key("operations", "rows", "its calls, those with most time first", rows=_OPERATION_KEYS),
)  # fmt: skip
_MPI_IO_KEYS = (
    Key("path", "string", "of the file"),
    Key("name", "string", "kind of calls of MPI-IO: collective writes, ..."),
    CALLS, _BYTES, _SECONDS,
)  # fmt: skip
_COVERAGE_KEYS = (
    Key("processes", "integer", "with calls that were seen"),
    Key("counted", "integer", "of these, whose counts of the kernel are known: not of killed ones"),
    Key("kernel_read", "number", "bytes that system calls read, as the kernel counts"),
    Key("kernel_written", "number", "bytes that they wrote"),
    Key("posix_read", "number", "bytes that calls of POSIX were seen to read"),
    Key("posix_written", "number", "and to write"),
    Key("stdio_read", "number", "bytes that calls of stdio were seen to read from buffers"),
    Key("stdio_written", "number", "and to write to them"),
    Key("unseen_read", "number", "bytes by the kernel beyond all these and what buffers may hold"),
    Key("unseen_written", "number", "likewise"),
    Key("device_read", "number", "bytes that came from storage, not from memory"),
    Key("device_written", "number", "bytes that went to storage"),
    Key("major_faults", "number", "pages that were fetched when they were touched: mapped files"),
    Key("uring_requests", "number", "of io_uring, of one execution; null where not counted",
        is_nullable=True),
    Key("uring_reads", "number", "of these, those that read"),
    Key("uring_writes", "number", "of these, those that wrote"),
    Key("with_modules", "integer", "processes with modules of MIO: there requests are others"),
    Key("is_complete", "boolean", "what was seen accounts for the kernel's counts; null: unknown",
        is_nullable=True),
)  # fmt: skip
_SITE_KEYS = (
    _NAME, _LAYER, FUNCTION, MODULE, FILE, LINE,
    Key("called_from", "string", "functions that lead there, the nearest first, each with the line "
        "of its call: f:3 ← main:9"),
    Key("path", "integer", "number of the path: stacks that differ are sites of their own"),
    CALLS, _ASKED, _BYTES, _SECONDS, _FAILURES,
)  # fmt: skip
_PROCESS_KEYS = (
    REPETITION,
    Key("location", "integer", "number of the location"),
    Key("rank", "integer", "as the launcher has it, -1 for none"),
    Key("host", "string", "where it ran"),
    Key("pid", "integer", "number of the process"),
    Key("name", "string", "what it is called"),
    CALLS, _SECONDS,
    Key("read", "number", "bytes"),
    Key("written", "number", "bytes"),
)  # fmt: skip
_KEYS_BY = {
    SUMMARY: (Key("name", "string", "of a quantity"), Key("value", "number", "what it is"), UNIT,
              HOW),
    PATH: _FILE_KEYS,
    CALL: _OPERATION_KEYS,
    SITE: _SITE_KEYS,
    SIZE: (_NAME, Key("size", "string", "of what was asked for: nothing, up to 8 bytes, ..."),
           CALLS, _BYTES, _SECONDS),
    PROCESS: _PROCESS_KEYS,
}  # fmt: skip
_KEYS = tuple(key._replace(by=(by,)) for by, keys in _KEYS_BY.items() for key in keys)


class IoCalls(NamedTuple):
    """What a program did to its files."""

    name: str = "io"
    title: str = "I/O: time, calls, bytes and seeks by file, call, site, size or process"
    by: tuple[str, ...] = tuple(_KEYS_BY)
    argument: str = ""
    options: frozenset[str] = frozenset(("top",))
    keys: tuple[Key, ...] = _KEYS
    lists: Mapping[str, tuple[Key, ...]] = {"files": _FILE_KEYS, "mpi_io": _MPI_IO_KEYS}
    objects: Mapping[str, tuple[Key, ...]] = {"coverage": _COVERAGE_KEYS}

    def is_in(self, run: Run) -> bool:
        """Return whether the run has calls on files."""
        from gnomon.io.io_sums import IoSums

        return IoSums(run).is_there

    def text(self, run: Run, request: Request) -> PartText:
        """Return a screen of the whole, or a table.

        Raises:
            GnomonError: the run has no calls on files.
        """
        from gnomon.io import io_text
        from gnomon.io.io_summary import trace_lines

        sums = _sums(run)
        width, top = request.width, TOP if request.top is None else request.top
        lines = [title(run, width)]
        if request.by == PATH:
            lines += io_text.file_lines(sums.files(), width, top)
        elif request.by == CALL:
            lines += io_text.operation_lines(io_text.operations_of(sums.files()), width, top)
        elif request.by == SITE:
            lines += io_text.site_lines(sums.sites(), width, top)
        elif request.by == SIZE:
            lines += io_text.size_lines(sums.by_size(), width, top)
        elif request.by == PROCESS:
            lines += io_text.process_lines(sums.processes(), width, top)
        else:
            shown = io_text.SHOWN if request.top is None else top
            lines += io_text.screen(sums, width, shown)
            lines += trace_lines(run, width)
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each thing; by summary with all files; raises as `text`."""
        from gnomon.io.io_summary import events_of

        sums, top = _sums(run), request.top or None
        if request.by == PATH:
            return PartData([_file_row(file) for file in sums.files()[:top]])
        if request.by == CALL:
            from gnomon.io.io_text import operations_of

            return PartData([own._asdict() for own in operations_of(sums.files())[:top]])
        if request.by == SITE:
            return PartData([_site_row(site) for site in sums.sites()[:top]])
        if request.by == SIZE:
            return PartData([own._asdict() for own in sums.by_size()[:top]])
        if request.by == PROCESS:
            return PartData([_process_row(own) for own in sums.processes()[:top]])
        files, coverage = sums.files(), sums.coverage()
        return PartData(
            _summary_rows(files, coverage, events_of(run)),
            {"coverage": _coverage_row(coverage)},
            {
                "files": map(_file_row, files),
                "mpi_io": (own._asdict() for own in sums.mpi_io()),
            },
        )


def _sums(run: Run) -> IoSums:
    from gnomon.io.io_sums import IoSums

    sums = IoSums(run)
    if not sums.is_there:
        raise GnomonError(
            f"{run.path}: no calls on files were recorded; gnomon io -- PROGRAM, or "
            "gnomon run --with io -- PROGRAM, records them"
        )
    return sums


def _summary_rows(
    files: list[File], coverage: Coverage, events: tuple[int, int]
) -> list[dict[str, Any]]:
    from gnomon.io.io_values import total

    rows = (
        ("processes", coverage.processes, ""),
        ("files", len(files), ""),
        ("calls", sum(file.calls for file in files), ""),
        ("time in calls", total(file.seconds for file in files), "s"),
        ("read", sum(file.moved("read") for file in files), "bytes"),
        ("written", sum(file.moved("write") for file in files), "bytes"),
        ("read from storage", coverage.device_read if coverage.counted else None, "bytes"),
        ("written to storage", coverage.device_written if coverage.counted else None, "bytes"),
        ("events", events[0], ""),
        ("events missing", events[1], ""),
    )
    return [
        {"name": name, "value": value, "unit": unit, "how": How.COUNTED.value}
        for name, value, unit in rows
    ]


def _file_row(file: File) -> dict[str, Any]:
    size = file.reads.file_bytes if file.reads else None
    return {
        "path": file.path,
        "kind": file.kind,
        "file_system": file.file_system,
        "calls": file.calls,
        "seconds": file.seconds,
        "opens": file.reads.opens if file.reads else 0,
        "file_bytes": size,
        "fetched_pages": file.fetched,
        "read": file.moved("read"),
        "written": file.moved("write"),
        "read_again": file.read_again,
        "reads": _access_rows(file.reads),
        "writes": _access_rows(file.writes),
        "unaligned": file.unaligned,
        "sizes": [_size_row(own) for own in file.sizes],
        "operations": [own._asdict() for own in file.operations],
    }


def _access_rows(access: Access | None) -> list[dict[str, float | None]]:
    if access is None:
        return []
    return [{key.name: getattr(access, key.name) for key in _ACCESS_KEYS}]


def _size_row(own: SizeSum) -> dict[str, Any]:
    return {"name": own.name, "size": own.size, "calls": own.calls, "seconds": own.seconds}


def _site_row(site: Site) -> dict[str, Any]:
    from gnomon.io.calls import layer_of

    place = site.place
    return {
        "name": place.routine,
        "layer": layer_of(place.routine),
        "function": place.function,
        "module": place.module,
        "file": place.file,
        "line": place.line,
        "called_from": " ← ".join(place.callers),
        "path": place.path,
        "calls": site.calls,
        "bytes_asked": site.bytes_asked,
        "bytes": site.bytes,
        "seconds": site.seconds,
        "failures": site.failures,
    }


def _process_row(process: Process) -> dict[str, Any]:
    return dict(process._asdict())


def _coverage_row(coverage: Coverage) -> dict[str, Any]:
    return {
        "processes": coverage.processes,
        "counted": coverage.counted,
        "kernel_read": coverage.kernel_read,
        "kernel_written": coverage.kernel_written,
        "posix_read": coverage.read,
        "posix_written": coverage.written,
        "stdio_read": coverage.stream_read,
        "stdio_written": coverage.stream_written,
        "unseen_read": coverage.unseen_read,
        "unseen_written": coverage.unseen_written,
        "device_read": coverage.device_read,
        "device_written": coverage.device_written,
        "major_faults": coverage.major_faults,
        "uring_requests": coverage.uring_requests,
        "uring_reads": coverage.uring_reads,
        "uring_writes": coverage.uring_writes,
        "with_modules": coverage.with_modules,
        "is_complete": coverage.is_complete,
    }
