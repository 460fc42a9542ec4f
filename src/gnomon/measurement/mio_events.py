"""What a process did to its files, as MIO's module `trace` left it: native/mio/trace_events.h.

A file is taken for hostile: whatever it holds, reading it gives events or a `FormatError`. That of
a process that was killed has all that was complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store.file_head import FileKind, check_regular, read_header, record_dtype

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

KIND = FileKind("a file of MIO's events", b"\x89GNMIO\n\0", version=1)
OPERATIONS = (
    "", "open", "read", "write", "seek", "fstat", "trunc", "fsync", "fcntl", "close",
)  # fmt: skip
"""Names by the numbers in `operation`."""
NO_OFFSET = -(1 << 63)
"""In the place of an offset: the request had none."""
RECORD_BYTES = 64

_CLOSED = 1
_PATH, _LAYERS = 32, 33
_TEXT_BYTES = 40
_TEXT_PARTS_MOST = 1024
# CAPACITY_BYTES of native/mio/trace_events.c.
_BYTES_MOST = 1 << 32
_HEADER = (
    ("magic", "S8"), ("byte_order", "u4"), ("version", "u4"), ("header_bytes", "u4"),
    ("flags", "u4"), ("features", "u8"), ("records", "u8"), ("tail", "u8"), ("realtime_ns", "u8"),
    ("begin_ns", "u8"), ("lost", "u8"), ("pid", "u4"), ("zero", "u4"), ("host", "S256"),
    ("program", "S1024"),
)  # fmt: skip
_HEADER_BYTES = 1360
_EVENT = (
    ("operation", "u2"), ("zero", "u2"), ("file", "u4"), ("thread", "u4"), ("pad", "u4"),
    ("begin_ns", "i8"), ("end_ns", "i8"), ("offset", "i8"), ("bytes", "u8"), ("result", "i8"),
    ("rest", "u8"),
)  # fmt: skip
_TEXT = (
    ("kind", "u2"), ("length", "u2"), ("file", "u4"), ("part", "u4"), ("pad", "u4"),
    ("text", f"V{_TEXT_BYTES}"), ("rest", "u8"),
)  # fmt: skip


class MioFile(NamedTuple):
    """A file that was opened, as the event file has it.

    Attributes:
        path: as the program named it.
        layers: what the trace stood between, as "program <-> pf".
    """

    path: str
    layers: str


class MioEvents(NamedTuple):
    """The operations of a process.

    Attributes:
        path: the event file.
        host: where the process ran.
        pid: its number there.
        program: the path of what it executed.
        realtime_ns: when the file was made, in nanoseconds since 1970.
        begin_ns: the same on the clock of the events.
        is_closed: the process ended by itself, not by a kill, _exit or exec.
        lost: operations that there was no room for.
        files: those that events are of, by their numbers.
        events: of struct gn_mio_event, in the order of the file.
    """

    path: Path
    host: str
    pid: int
    program: str
    realtime_ns: int
    begin_ns: int
    is_closed: bool
    lost: int
    files: dict[int, MioFile]
    events: NDArray[np.void]


def read_events(path: Path) -> MioEvents:
    """Return what a process recorded.

    Raises:
        FormatError: the file is something else, truncated or damaged.
        OSError: it cannot be read.
    """
    import numpy as np

    check_regular(path)
    with path.open("rb") as file:
        header, order, _ = read_header(path, file, KIND, _HEADER)
        begin, end = _records_at(path, header)
        file.seek(begin)
        content = file.read(end - begin)
    is_closed = bool(int(header["flags"]) & _CLOSED)
    if len(content) < end - begin:
        # Room for records is taken before the file has it: there a process may be killed.
        if is_closed:
            raise FormatError(
                path, begin + len(content), f"cut short: its records end at byte {end}"
            )
        content = content[: len(content) // RECORD_BYTES * RECORD_BYTES]
    events = np.frombuffer(content, record_dtype(_EVENT, order))
    texts = np.frombuffer(content, record_dtype(_TEXT, order))
    kinds = events["operation"]
    is_event = (kinds > 0) & (kinds < len(OPERATIONS))
    is_text = (kinds == _PATH) | (kinds == _LAYERS)
    _refuse_first(path, begin, ~(is_event | is_text | (kinds == 0)), "a record of no kind")
    _refuse_first(path, begin, is_event & (events["end_ns"] < events["begin_ns"]),
                  "an operation that ends before it begins")  # fmt: skip
    _refuse_first(path, begin, is_text & (texts["length"] > _TEXT_BYTES),
                  f"a part of a text with more than {_TEXT_BYTES} bytes")  # fmt: skip
    _refuse_first(path, begin, is_text & (texts["part"] >= _TEXT_PARTS_MOST),
                  f"a text of more than {_TEXT_PARTS_MOST} parts")  # fmt: skip
    files = _files(texts[is_text])
    nameless = is_event & ~np.isin(events["file"], np.array(list(files), "u8"))
    _refuse_first(path, begin, nameless, "an operation on a file that has no name")
    return MioEvents(
        path=path,
        host=_text(header["host"]),
        pid=int(header["pid"]),
        program=_text(header["program"]),
        realtime_ns=int(header["realtime_ns"]),
        begin_ns=int(header["begin_ns"]),
        is_closed=is_closed,
        lost=int(header["lost"]),
        files=files,
        events=events[is_event],
    )


def _records_at(path: Path, header: np.void) -> tuple[int, int]:
    """Return where a file's records begin and end.

    Raises:
        FormatError: its header is damaged.
    """
    begin, end = int(header["records"]), int(header["tail"])
    if not _HEADER_BYTES <= begin <= end or begin % 8:
        raise FormatError(path, 32, "records are where they cannot be")
    if end > _BYTES_MOST + RECORD_BYTES * int(header["lost"]):
        raise FormatError(path, 40, f"its records end at byte {end}, which no file has")
    if (end - begin) % RECORD_BYTES:
        raise FormatError(path, 40, f"no whole number of records of {RECORD_BYTES} bytes")
    return begin, min(end, _BYTES_MOST)


def _refuse_first(path: Path, begin: int, is_wrong: NDArray[np.bool_], why: str) -> None:
    if is_wrong.any():
        raise FormatError(path, begin + RECORD_BYTES * int(is_wrong.argmax()), why)


def _files(parts: NDArray[np.void]) -> dict[int, MioFile]:
    """Return files by their numbers; of one whose process was killed at it, what there is."""
    pieces: dict[tuple[int, int], dict[int, bytes]] = {}
    columns = (parts[name].tolist() for name in ("kind", "file", "part", "length", "text"))
    for kind, number, part, length, text in zip(*columns, strict=True):
        pieces.setdefault((number, kind), {})[part] = bytes(text)[:length]
    whole = {
        key: b"".join(own[part] for part in sorted(own)).decode("utf-8", "replace")
        for key, own in pieces.items()
    }
    return {
        number: MioFile(whole.get((number, _PATH), ""), whole.get((number, _LAYERS), ""))
        for number, _ in whole
    }


def _text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "replace")
