"""What a process called of what is measured, as it left it: native/call_sites/totals_file.h.

A file is taken for hostile: whatever it holds, reading it gives records or a `FormatError`. Records
of a process that was killed are as it left them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store.file_head import FileKind, check_regular, read_header, record_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

KIND = FileKind("a file of totals", b"\x89GNMPI\n\0", version=1)
SUFFIX = ".totals"
"""Behind a dot and the name of the capability."""
NONE = 0xFFFFFFFF
"""In the place of a number: there is no communicator, frame or module."""
CODE = 1 << 31
"""Of a frame's module: the rest is the number of a Python function, whose line is its offset."""
CLOSED, FINALIZED, SPAWNED, HAS_MODULES = 1, 2, 4, 8
RECORD_BYTES = 64

_NAME_BYTES = 40
_ROUTINES_MOST = 1 << 16
_HEADER = (
    ("magic", "S8"), ("byte_order", "u4"), ("version", "u4"), ("header_bytes", "u4"),
    ("flags", "u4"), ("features", "u8"), ("n_routines", "u4"), ("pid", "u4"), ("names", "u8"),
    ("records", "u8"), ("tail", "u8"), ("lost", "u8"), ("realtime_ns", "u8"), ("ticks", "u8"),
    ("ticks_hz", "f8"), ("up_ticks", "u8"), ("down_ticks", "u8"), ("rank", "i4"),
    ("n_ranks", "i4"), ("thread_level", "i4"), ("zero", "u4"), ("cost_ticks_call", "u8"),
    ("cost_ticks_nonblocking", "u8"), ("host", "S256"), ("library", "S256"),
    ("name", "S16"), ("program", "S1024"), ("job", "S64"),
)  # fmt: skip
_HEADER_BYTES = 1760
# By their numbers, behind the kind itself.
_KINDS: Mapping[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "thread": (1, (("zero", "u2"), ("thread", "u4"), ("tid", "i4"), ("pad", "u4"),
                   ("name", "S16"), ("last_ticks", "u8"))),
    "site": (2, (("routine", "u2"), ("thread", "u4"), ("object", "u4"), ("frame", "u4"),
                 ("calls", "u8"), ("sent", "u8"), ("received", "u8"), ("ticks", "u8"),
                 ("most_ticks", "u8"), ("completion_ticks", "u8"))),
    "size": (3, (("routine", "u2"), ("thread", "u4"), ("size_class", "u4"), ("file", "u4"),
                 ("calls", "u8"), ("bytes", "u8"), ("ticks", "u8"))),
    "messages": (4, (("zero", "u2"), ("thread", "u4"), ("site", "u4"), ("peer", "i4"),
                     ("messages", "u8"), ("bytes", "u8"), ("most_bytes", "u8"))),
    "communicator": (5, (("flags", "u2"), ("communicator", "u4"), ("rank", "i4"), ("size", "i4"),
                         ("remote_size", "i4"), ("first", "i4"))),
    "frame": (6, (("zero", "u2"), ("frame", "u4"), ("caller", "u4"), ("module", "u4"),
                  ("offset", "u8"))),
    "module": (7, (("build_id_bytes", "u2"), ("module", "u4"), ("build_id", "V32"))),
    "text": (8, (("of", "u2"), ("number", "u4"), ("part", "u4"), ("zero", "u4"),
                 ("text", "S48"))),
    "waiting": (9, (("zero", "u2"), ("thread", "u4"), ("site", "u4"), ("pad", "u4"),
                    ("calls", "u8"), ("ticks", "u8"))),
    "file": (11, (("type", "u2"), ("file", "u4"), ("device", "u8"), ("inode", "u8"),
                  ("bytes", "u8"), ("block_bytes", "u8"), ("how_opened", "u4"))),
    "access": (12, (("writes", "u2"), ("thread", "u4"), ("file", "u4"), ("unaligned", "u4"),
                    ("forward", "u8"), ("forward_bytes", "u8"), ("backward", "u8"),
                    ("backward_bytes", "u8"), ("end", "u8"), ("opens", "u8"))),
    "process_io": (13, (("is_last", "u2"), ("parent", "u4"), ("read_bytes", "u8"),
                        ("written_bytes", "u8"), ("thread_read_bytes", "u8"),
                        ("thread_written_bytes", "u8"), ("device_read_bytes", "u8"),
                        ("device_written_bytes", "u8"), ("major_faults", "u8"))),
}  # fmt: skip
_CODE_KIND = 10
_NUMBERS = (0, *(number for number, _ in _KINDS.values()))
_TEXT_PARTS_MOST = 1024
_FILE_TYPE_MOST = 7
_SIZE_CLASS_MOST = 64
_BUILD_ID_MOST = 32
# CAPACITY_BYTES of native/call_sites/totals_file.c.
_BYTES_MOST = 1 << 32
_HZ_LEAST, _HZ_MOST = 1e3, 1e12
_REALTIME_MOST = 1 << 62


class TotalsFile(NamedTuple):
    """The calls of a process.

    Attributes:
        path: the file.
        host: where the process ran.
        pid: its number there.
        name: what the kernel calls it.
        program: the path of what it executed.
        realtime_ns: when the file was made, in nanoseconds since 1970.
        ticks: the same on the clock that times are of.
        rank: in MPI_COMM_WORLD, -1 where MPI was never up.
        n_ranks: of MPI_COMM_WORLD.
        world: what tells its MPI_COMM_WORLD from others of a run: its launcher's name for it, and
            whether another program started it.
        library: what the MPI calls itself.
        is_closed: the process ended by itself, not by a kill, _exit or exec.
        is_finalized: it called MPI_Finalize.
        has_modules: files of it had modules of MIO, which make requests of their own.
        lost: records that there was no room for.
        ticks_hz: ticks of times in a second.
        up_ticks: between MPI_Init and MPI_Finalize, or the last call of all where that was not
            called; 0 where MPI was never up.
        cost_ticks_call: what the profile adds to a call, as the process measured it; 0: it did not.
        cost_ticks_nonblocking: what it adds to an operation that has a request, with its
            completion, beyond that of the calls.
        routines: their names by number.
        sites: of struct gn_site_record; `messages` have their places among all records. With files
            `sent` and `received` are bytes asked for and delivered, `completion_ticks` failures.
        site_places: the place of each of `sites`.
        sizes: of struct gn_size_record.
        messages: of struct gn_messages_record.
        waiting: of struct gn_waiting_record, with places of sites likewise.
        communicators: of struct gn_communicator_record.
        frames: of struct gn_frame_record, by their numbers; each after its caller.
        modules: of struct gn_module_record.
        files: of struct gn_file_record.
        accesses: of struct gn_access_record.
        process_io: of struct gn_process_io_record.
        texts: paths of modules and files, names of communicators, and the file, a newline and the
            name of Python functions ("code"), by (kind, number).
    """

    path: Path
    host: str
    pid: int
    name: str
    program: str
    realtime_ns: int
    ticks: int
    rank: int
    n_ranks: int
    world: tuple[bool, str]
    library: str
    is_closed: bool
    is_finalized: bool
    has_modules: bool
    lost: int
    ticks_hz: float
    up_ticks: int
    cost_ticks_call: int
    cost_ticks_nonblocking: int
    routines: tuple[str, ...]
    sites: NDArray[np.void]
    site_places: NDArray[np.int64]
    sizes: NDArray[np.void]
    messages: NDArray[np.void]
    waiting: NDArray[np.void]
    communicators: NDArray[np.void]
    frames: NDArray[np.void]
    modules: NDArray[np.void]
    files: NDArray[np.void]
    accesses: NDArray[np.void]
    process_io: NDArray[np.void]
    texts: Mapping[tuple[str, int], str]


def read_totals(path: Path) -> TotalsFile:
    """Return what a process left.

    Raises:
        FormatError: the file is something else, truncated or damaged.
        OSError: it cannot be read.
    """
    import numpy as np

    check_regular(path)
    with path.open("rb") as file:
        header, order, head = read_header(path, file, KIND, _HEADER)
        begin, end = _records_at(path, header)
        content = head + file.read(end - _HEADER_BYTES)
    flags, n_routines = int(header["flags"]), int(header["n_routines"])
    if len(content) < end:
        # Room for records is taken before the file has it: there one may be killed.
        if flags & CLOSED or len(content) < begin:
            raise FormatError(path, len(content), f"cut short: its records end at byte {end}")
        end = begin + (len(content) - begin) // RECORD_BYTES * RECORD_BYTES
    columns, places = _columns(path, content[begin:end], begin, order)
    _check_records(path, columns, begin, places, n_routines)
    up, down = int(header["up_ticks"]), int(header["down_ticks"])
    down = down or int(columns["thread"]["last_ticks"].max(initial=0))
    return TotalsFile(
        path=path,
        host=_text(header["host"]),
        pid=int(header["pid"]),
        name=_text(header["name"]),
        program=_text(header["program"]),
        realtime_ns=int(header["realtime_ns"]),
        ticks=int(header["ticks"]),
        rank=int(header["rank"]),
        n_ranks=int(header["n_ranks"]),
        world=(bool(flags & SPAWNED), _text(header["job"])),
        library=_text(header["library"]),
        is_closed=bool(flags & CLOSED),
        is_finalized=bool(flags & FINALIZED),
        has_modules=bool(flags & HAS_MODULES),
        lost=int(header["lost"]),
        ticks_hz=float(header["ticks_hz"]),
        up_ticks=max(down - up, 0) if up and down else 0,
        cost_ticks_call=int(header["cost_ticks_call"]),
        cost_ticks_nonblocking=int(header["cost_ticks_nonblocking"]),
        routines=tuple(
            _text(name)
            for name in np.frombuffer(content, f"S{_NAME_BYTES}", n_routines, int(header["names"]))
        ),
        sites=columns["site"],
        site_places=places["site"],
        sizes=columns["size"],
        messages=columns["messages"],
        waiting=columns["waiting"],
        communicators=columns["communicator"],
        frames=_frames(path, columns["frame"], begin, places["frame"]),
        modules=columns["module"],
        files=columns["file"],
        accesses=columns["access"],
        process_io=columns["process_io"],
        texts=_texts(columns["text"]),
    )


def _records_at(path: Path, header: np.void) -> tuple[int, int]:
    """Return where a file's records begin and end.

    Raises:
        FormatError: its header is damaged.
    """
    if int(header["realtime_ns"]) > _REALTIME_MOST:
        raise FormatError(path, 72, "begun at a time that no clock has")
    begin, end, names = (int(header[name]) for name in ("records", "tail", "names"))
    n_routines = int(header["n_routines"])
    if n_routines > _ROUTINES_MOST or not (
        names >= _HEADER_BYTES and names + n_routines * _NAME_BYTES <= begin <= end
    ):
        raise FormatError(path, 32, "names and records are where they cannot be")
    if end > _BYTES_MOST:
        raise FormatError(path, 56, f"its records end at byte {end}, which no file has")
    if (end - begin) % RECORD_BYTES or begin % 8:
        raise FormatError(path, begin, f"no whole number of records of {RECORD_BYTES} bytes")
    if not _HZ_LEAST <= header["ticks_hz"] <= _HZ_MOST:
        raise FormatError(path, 88, f"{header['ticks_hz']:g} ticks a second are of no clock")
    if header["rank"] < -1:
        raise FormatError(path, 112, f"no process has rank {header['rank']}")
    return begin, end


def _columns(
    path: Path, content: bytes, begin: int, order: str
) -> tuple[dict[str, NDArray[np.void]], dict[str, NDArray[np.int64]]]:
    """Return the records of each kind, and their places among all.

    Raises:
        FormatError: one is of no kind.
    """
    import numpy as np

    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD_BYTES)
    kinds = records[:, :2].copy().view(f"{order}u2")[:, 0]
    unknown = np.flatnonzero(~np.isin(kinds, _NUMBERS))
    if len(unknown):
        raise FormatError(path, begin + RECORD_BYTES * int(unknown[0]), "a record of no kind")
    places = {name: np.flatnonzero(kinds == number) for name, (number, _) in _KINDS.items()}
    columns = {
        name: records[places[name]].view(_record_dtype(fields, order))[:, 0]
        for name, (_, fields) in _KINDS.items()
    }
    return columns, places


def _check_records(
    path: Path, columns: Mapping[str, NDArray[np.void]], begin: int,
    places: Mapping[str, NDArray[np.int64]], n_routines: int,
) -> None:  # fmt: skip
    """Make sure that numbers are of something.

    Raises:
        FormatError: one is not.
    """
    import numpy as np

    for name, field, most, what in (
        ("site", "routine", n_routines - 1, "a routine that has no name"),
        ("size", "routine", n_routines - 1, "a routine that has no name"),
        ("size", "size_class", _SIZE_CLASS_MOST, "sizes of no class"),
        ("module", "build_id_bytes", _BUILD_ID_MOST, "a build id that is too long"),
        ("text", "of", _NUMBERS[-1], "a text of nothing"),
        ("file", "type", _FILE_TYPE_MOST, "a file of no type"),
        ("access", "writes", 1, "neither reads nor writes"),
        ("text", "part", _TEXT_PARTS_MOST - 1, f"a text of more than {_TEXT_PARTS_MOST} parts"),
    ):
        wrong = np.flatnonzero(columns[name][field] > most)
        if len(wrong):
            raise FormatError(path, begin + RECORD_BYTES * int(places[name][wrong[0]]), what)


def _frames(
    path: Path, frames: NDArray[np.void], begin: int, places: NDArray[np.int64]
) -> NDArray[np.void]:
    """Return frames by their numbers: each behind the one that called it.

    Raises:
        FormatError: one is there twice, or was called by one that came later.
    """
    import numpy as np

    order = np.argsort(frames["frame"], kind="stable")
    in_order = frames[order]
    numbers, callers = in_order["frame"], in_order["caller"]
    is_wrong = (callers != NONE) & (callers >= numbers)
    is_wrong[1:] |= numbers[1:] == numbers[:-1]
    wrong = order[is_wrong]
    if len(wrong):
        offset = begin + RECORD_BYTES * int(places[wrong[0]])
        raise FormatError(path, offset, "a frame that is there twice, or before its caller")
    return in_order


def _record_dtype(fields: Iterable[tuple[str, str]], order: str) -> np.dtype[np.void]:
    """Return what a kind of record has, in as many bytes as all have."""
    named = [("kind", "u2"), *fields]
    return record_dtype(
        [*named, ("rest", f"V{RECORD_BYTES - record_dtype(named, order).itemsize}")], order
    )


def _texts(parts: NDArray[np.void]) -> Mapping[tuple[str, int], str]:
    """Return texts of several records as one."""
    kind_of = {number: name for name, (number, _) in _KINDS.items()} | {_CODE_KIND: "code"}
    pieces: dict[tuple[str, int], dict[int, bytes]] = {}
    columns = (parts[name].tolist() for name in ("of", "number", "part", "text"))
    for of, number, part, text in zip(*columns, strict=True):
        pieces.setdefault((kind_of.get(of, ""), number), {})[part] = text
    return {
        key: b"".join(own[number] for number in sorted(own)).decode("utf-8", "replace")
        for key, own in pieces.items()
    }


def _text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "replace")
