"""Registers and stacks of samples as `--keep-stacks` leaves them in a run, in files/samples/.

native/sampling/kept_stacks.h describes the records. A file is taken for hostile: what its records
refer to by number is there, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import FormatError
from gnomon.named_tuple import NamedTuple
from gnomon.store.record_file import open_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.store.record_file import RecordFile

KINDS = ("stack", "bytes", "frame", "mapping", "path")
MACHINES = ("x86_64", "aarch64")
GUESSED, RETURN, SIGNAL, BY_FRAME_POINTER, BY_CODE = 1, 2, 4, 8, 16
"""Flags of frames."""

_STACK_MOST = 1 << 16


class Mapping(NamedTuple):
    """Code that a process had mapped.

    Attributes:
        start: its first address.
        length: in bytes.
        file_offset: of that address in the file.
        path: of the file, "[vdso]", or "" where there is none.
    """

    start: int
    length: int
    file_offset: int
    path: str


class KeptStack(NamedTuple):
    """One sample's registers and stack, and what the unwinder made of them.

    Attributes:
        time_ns: CLOCK_MONOTONIC.
        pid, tid: of its thread.
        machine: of `MACHINES`.
        registers: by DWARF's numbers; the stack pointer is 7, the program counter 16 (x86_64), or
            31 and 32.
        stack: the bytes from the stack pointer on.
        frames: addresses, innermost first: the program counter, then those that calls return to.
        flags: of each frame.
        end: 0 if the last frame is the outermost one (enum gn_unwind_end).
        mappings: the process's code at that time.
    """

    time_ns: int
    pid: int
    tid: int
    machine: str
    registers: tuple[int, ...]
    stack: bytes
    frames: tuple[int, ...]
    flags: tuple[int, ...]
    end: int
    mappings: tuple[Mapping, ...]


def read_kept_stacks(path: Path) -> tuple[KeptStack, ...]:
    """Return the stacks of a file, in the order of their samples.

    Raises:
        FormatError: it is no such file, or its records refer to what is not there.
        OSError: it cannot be read.
    """
    file = open_records(path)
    lacking = set(KINDS) - {kind.name for kind in file.kinds}
    if lacking:
        raise FormatError(path, 0, f"it has no kept stacks: records of {min(lacking)} are missing")
    try:
        return tuple(_stacks(file))
    except (KeyError, IndexError, ValueError) as error:
        raise FormatError(path, 0, f"its records are not those of stacks: {error}") from None


def _stacks(file: RecordFile) -> Iterator[KeptStack]:
    arrays: dict[str, list[NDArray[np.void]]] = {name: [] for name in KINDS}
    paths: dict[int, str] = {}
    for kind, records in file.blocks():
        if isinstance(records, dict):
            paths |= records
        elif kind.name in arrays:
            arrays[kind.name].append(records)
    heads = _all(arrays["stack"])
    pieces, frames = _by_stack(arrays["bytes"]), _by_stack(arrays["frame"])
    spaces: dict[int, list[Mapping]] = {}
    for number, record in enumerate(_all(arrays["mapping"])):
        mapping = Mapping(int(record["start"]), int(record["length"]),
                          int(record["file_offset"]), paths.get(number, ""))  # fmt: skip
        spaces.setdefault(int(record["space"]), []).append(mapping)
    for number, head in enumerate(heads):
        own = frames.get(number, [])
        stack = _joined(pieces.get(number, []), int(head["stack_bytes"]))
        # What was being written when the recorder was killed.
        if stack is None or len(own) != head["n_frames"]:
            continue
        yield KeptStack(
            int(head["time_ns"]),
            int(head["pid"]),
            int(head["tid"]),
            MACHINES[head["machine"]],
            tuple(head["value"].tolist()),
            stack,
            tuple(int(frame["address"]) for frame in own),
            tuple(int(frame["flags"]) for frame in own),
            int(head["end"]),
            tuple(spaces.get(int(head["space"]), ())),
        )


def _all(parts: list[NDArray[np.void]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0)


def _by_stack(parts: list[NDArray[np.void]]) -> dict[int, list[np.void]]:
    by_stack: dict[int, list[np.void]] = {}
    for records in parts:
        for record in records:
            by_stack.setdefault(int(record["stack"]), []).append(record)
    return by_stack


def _joined(pieces: list[np.void], size: int) -> bytes | None:
    """Return the bytes of a stack, None if some are missing."""
    if size > _STACK_MOST:
        raise ValueError(f"a stack of {size} bytes")
    stack = b""
    for piece in pieces:
        if piece["offset"] != len(stack) or piece["n"] > len(piece["data"]):
            raise ValueError(f"bytes {piece['offset']} of a stack come behind {len(stack)}")
        stack += piece["data"][: piece["n"]].tobytes()
    return stack if len(stack) == size else None
