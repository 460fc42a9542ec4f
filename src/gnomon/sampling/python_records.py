"""What a process that runs Python recorded of its own stacks (native/python_records.h beside)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import FormatError
from gnomon.sampling.python_lines import LineTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gnomon.store.record_file import RecordFile

KINDS = ("process", "code", "text", "lines", "node", "sample")

# enum gn_python_state
READ, UNKNOWN, REFUSED, NAMED, READ_INSTEAD = range(5)

# enum gn_python_status
COMPLETE, OUTSIDE, UNREADABLE, LATE, CUT = range(5)

_FIELDS: dict[str, dict[str, str]] = {
    "process": {"version": "u4", "state": "u4", "parent": "i4"},
    "code": {"code": "u4", "first_line": "i4", "line_table_bytes": "u4"},
    "lines": {"code": "u4", "offset": "u4", "bytes": "(56,)u1"},
    "node": {"node": "u4", "parent": "u4", "code": "u4", "instruction": "i4", "is_entry": "u4"},
    "sample": {"time_ns": "u8", "tid": "i4", "node": "u4", "status": "u4"},
}

# Lines of a table are recorded in pieces of so many bytes.
_PIECE_BYTES = 56
_LINE_TABLE_MAX = 1 << 20


@dataclass(frozen=True)
class PythonFunction:
    """A Python function.

    Attributes:
        name: its qualified name.
        file: the source file, as the code object names it.
    """

    name: str
    file: str


# Since 3.12: what the interpreter runs between a class that is called and its __init__.
_INIT_CLEANUP = PythonFunction("__init__", "__init__")


@dataclass(frozen=True)
class PythonPaths:
    """Call paths of Python functions: a forest in which each node follows its parent.

    Attributes:
        functions: those that the nodes run; the first is none: an evaluation loop whose function
            has ended, or the interpreter's own code.
        parent: of each node; -1: it is a root.
        function: of each node.
        line: that the node is at; 0: unknown.
        is_entry: whether C called it, in an evaluation loop of its own.
    """

    functions: tuple[PythonFunction, ...]
    parent: NDArray[np.int32]
    function: NDArray[np.int32]
    line: NDArray[np.int32]
    is_entry: NDArray[np.bool_]


@dataclass(frozen=True)
class PythonProcess:
    """What one process recorded.

    Attributes:
        pid: its number.
        version: of its interpreter, as in `3.11.2`.
        state: READ, or why there are no samples.
        parent: the process that it was forked from, 0 if it executed its program itself.
        paths: that its threads were on.
        time_ns: CLOCK_MONOTONIC of each sample, in order.
        tid: the thread of each.
        node: its innermost one in paths, -1: none.
        status: COMPLETE, or what is missing.
    """

    pid: int
    version: str
    state: int
    parent: int
    paths: PythonPaths
    time_ns: NDArray[np.uint64]
    tid: NDArray[np.int32]
    node: NDArray[np.int32]
    status: NDArray[np.uint32]


def read_process(file: RecordFile) -> PythonProcess:
    """Return what a process recorded.

    Raises:
        FormatError: its records are not those of Python, or a parent is not before its child.
    """
    try:
        return _read(file)
    except KeyError as error:
        raise FormatError(file.path, 0, f"it has no records of the kind {error}") from None


def _read(file: RecordFile) -> PythonProcess:
    process = _columns(file, "process")
    samples = _columns(file, "sample")
    samples = samples[np.argsort(samples["time_ns"], kind="stable")]
    paths, indexes = _paths(file)
    numbers = samples["node"]
    node = np.full(len(samples), -1, np.int32)
    if len(indexes):
        within = np.minimum(numbers, len(indexes) - 1)
        node = np.where(numbers < len(indexes), indexes[within], -1).astype(np.int32)
    is_lost = (node < 0) & np.isin(samples["status"], (COMPLETE, CUT))
    return PythonProcess(
        pid=file.pid,
        version=_version(int(process["version"][-1])) if len(process) else "",
        state=int(process["state"][-1]) if len(process) else READ,
        parent=int(process["parent"][0]) if len(process) else 0,
        paths=paths,
        time_ns=samples["time_ns"],
        tid=samples["tid"],
        node=node,
        status=np.where(is_lost, UNREADABLE, samples["status"]).astype(np.uint32),
    )


def _columns(file: RecordFile, kind: str) -> NDArray[np.void]:
    """Return the records of a kind, with the fields that are read, or say that they are others."""
    records, wanted = file.columns(kind), np.dtype(list(_FIELDS[kind].items()))
    has: Mapping[str, Any] = records.dtype.fields or {}
    for name in _FIELDS[kind]:
        if name not in has or has[name][0].newbyteorder("=") != wanted[name]:
            raise FormatError(file.path, 0, f"its records of kind {kind} are not those of Python")
    return records[list(_FIELDS[kind])]


def _version(number: int) -> str:
    return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}"


def _paths(file: RecordFile) -> tuple[PythonPaths, NDArray[np.int32]]:
    """Return the paths, and the index of each node by its number in the file."""
    nodes = _columns(file, "node")
    nodes = nodes[np.unique(nodes["node"], return_index=True)[1]]
    numbers, parents = nodes["node"].astype(np.int64), nodes["parent"].astype(np.int64)
    if (parents >= numbers).any():
        raise FormatError(file.path, 0, "a path node that is not behind its parent")
    top = int(numbers[-1]) if len(numbers) else 0
    if top > _numbers_max(file):
        raise FormatError(file.path, 0, f"a path node has the number {top}")
    indexes = np.full(top + 1, -1, np.int32)
    indexes[numbers] = np.arange(len(numbers), dtype=np.int32)
    parent = indexes[parents] if len(numbers) else np.empty(0, np.int32)
    functions, of_code, tables = _functions(file, set(nodes["code"].tolist()))
    # A node whose parent's record was lost leads nowhere, nor do those below it.
    is_whole = (parents == 0) | (parent >= 0)
    for index in range(len(numbers)):
        if parents[index] and is_whole[index]:
            is_whole[index] = is_whole[parent[index]]
    indexes[numbers[~is_whole]] = -1
    codes, instructions = nodes["code"].tolist(), nodes["instruction"].tolist()
    lines = [
        tables[code].line(instruction) if code in tables else 0
        for code, instruction in zip(codes, instructions, strict=True)
    ]
    paths = PythonPaths(
        functions,
        parent.astype(np.int32),
        np.array([of_code.get(code, 0) for code in codes], np.int32),
        np.array(lines, np.int32),
        nodes["is_entry"] != 0,
    )
    return paths, indexes


def _numbers_max(file: RecordFile) -> int:
    """Return how many nodes a file of its size may have numbered, some of which were lost."""
    return 1 << 24 if file.path.stat().st_size < 1 << 28 else 1 << 30


def _functions(
    file: RecordFile, used: set[int]
) -> tuple[tuple[PythonFunction, ...], dict[int, int], dict[int, LineTable]]:
    """Return the functions, and by the numbers of code objects which it is, and its lines."""
    texts = file.texts("text")
    pieces: dict[int, list[tuple[int, bytes]]] = {}
    for code, offset, data in _columns(file, "lines").tolist():
        pieces.setdefault(code, []).append((offset, bytes(data)))
    functions = {PythonFunction("", ""): 0, _INIT_CLEANUP: 0}
    of_code: dict[int, int] = {}
    tables: dict[int, LineTable] = {}
    for code, first_line, table_bytes in _columns(file, "code").tolist():
        if code not in used:
            continue
        function = PythonFunction(texts.get(2 * code, "(unknown)"), texts.get(2 * code + 1, ""))
        of_code[code] = functions.setdefault(function, len(functions) - 1)
        table = _joined(pieces.get(code, []), table_bytes)
        tables[code] = LineTable(first_line, table)
    return tuple(one for one in functions if one != _INIT_CLEANUP), of_code, tables


def _joined(pieces: list[tuple[int, bytes]], n_bytes: int) -> bytes:
    """Return a table of lines; an empty one where a piece of it is missing."""
    table = bytearray()
    for offset, data in sorted(pieces):
        if offset == len(table):
            table += data
    return bytes(table[:n_bytes]) if len(table) >= min(n_bytes, _LINE_TABLE_MAX) else b""
