"""The code of hot functions in a run, for machines that do not have its programs.

`gnomon bundle` packs it as `files/code/functions`:

    offset  bytes  field
         0     32  head (file_head.py), magic "GNOMCODE", version 1
        32      4  CRC-32 of all that follows
        36      4  bytes of the index
        40         the index, JSON: {"modules": [{"name", "path", "build_id", "machine",
                   "functions": [{"name", "address", "size", "samples"}]}]}
                   then the code, one function after the other in the order of the index

`name` of a module is that which regions have; `machine` the instruction set as ELF numbers it; the
address that of the function's first byte in the module's file; `samples` those in its own code.
What is read may be of anybody: all of it is checked, and nothing of it is executed.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import FormatError, GnomonError
from gnomon.named_tuple import NamedTuple
from gnomon.store import file_head, kept_files
from gnomon.store.file_head import HEAD_BYTES, FileKind

if TYPE_CHECKING:
    from gnomon.store.run import Run

NAME = f"{kept_files.CODE}/functions"
"""Below `files/`."""
KIND = FileKind("a file of functions' code", b"GNOMCODE", 1)
_TEXT_MOST = 4096
_ADDRESS_END = 1 << 64
_REMEDY = "; pack the run again: gnomon bundle RUN"


class Function(NamedTuple):
    """A function with its code; `address` is that of its first byte in the module's file."""

    name: str
    address: int
    samples: int
    code: bytes


class ModuleCode(NamedTuple):
    """Functions of a program or library, those with most samples first.

    Attributes:
        name: as regions have it.
        path: where it was.
        build_id: in hexadecimal digits, "" if it has none.
        machine: the instruction set, as ELF numbers it.
        functions: some of its functions.
    """

    name: str
    path: str
    build_id: str
    machine: int
    functions: tuple[Function, ...]


def encoded(modules: Sequence[ModuleCode]) -> bytes:
    """Return the file of some modules' functions."""
    index = json.dumps({"modules": [_entry(module) for module in modules]}).encode()
    code = b"".join(function.code for module in modules for function in module.functions)
    rest = struct.pack("=I", len(index)) + index + code
    return file_head.head_of(KIND) + struct.pack("=I", zlib.crc32(rest)) + rest


def _entry(module: ModuleCode) -> dict[str, Any]:
    functions = [
        {
            "name": function.name,
            "address": function.address,
            "size": len(function.code),
            "samples": function.samples,
        }
        for function in module.functions
    ]
    return {**module._asdict(), "functions": functions}


def decoded(path: Path, content: bytes) -> tuple[ModuleCode, ...]:
    """Return what a file holds.

    Args:
        path: to name it in errors.
        content: of the file.

    Raises:
        FormatError: it is no such file, or damaged.
    """
    order = file_head.byte_order(path, content[:HEAD_BYTES], KIND)
    begin = HEAD_BYTES + 8
    if len(content) < begin:
        raise FormatError(path, len(content), f"it is cut short{_REMEDY}")
    crc, size = struct.unpack_from(f"{order}II", content, HEAD_BYTES)
    if zlib.crc32(content[HEAD_BYTES + 4 :]) != crc:
        raise FormatError(path, HEAD_BYTES, f"it is damaged: its checksum is another one{_REMEDY}")
    if size > len(content) - begin:
        raise FormatError(path, HEAD_BYTES + 4, f"its index is longer than the file{_REMEDY}")
    try:
        index = json.loads(content[begin : begin + size])
        return _modules(index, content[begin + size :])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(path, begin, f"its index makes no sense: {error}{_REMEDY}") from None


def _modules(index: Any, code: bytes) -> tuple[ModuleCode, ...]:  # noqa: ANN401
    modules, offset = [], 0
    for module in index["modules"]:
        functions = []
        for function in module["functions"]:
            size = _number(function["size"], len(code) - offset)
            address = _number(function["address"], _ADDRESS_END - size)
            samples = _number(function["samples"], _ADDRESS_END)
            functions.append(
                Function(_text(function["name"]), address, samples, code[offset : offset + size])
            )
            offset += size
        modules.append(
            ModuleCode(
                _text(module["name"]), _text(module["path"]), _text(module["build_id"]),
                _number(module["machine"], 1 << 16), tuple(functions),
            )
        )  # fmt: skip
    if offset != len(code):
        raise ValueError(f"{len(code) - offset} bytes of code are no function's")
    return tuple(modules)


def _number(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a number is out of its range")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _TEXT_MOST:
        raise ValueError("a name is no text, or too long")
    return value


def of_run(run: Run) -> tuple[ModuleCode, ...]:
    """Return the code that `gnomon bundle` packed into a run; () if it packed none.

    Raises:
        GnomonError: the run has it, and it cannot be read.
    """
    content = _content(run)
    return decoded(_path(run), content) if content else ()


def byte_order(run: Run) -> str:
    """Return the struct module's sign for the byte order of the machine that packed a run's code.

    Raises:
        GnomonError: the run has none, or it cannot be read.
    """
    return file_head.byte_order(_path(run), _content(run)[:HEAD_BYTES], KIND)


def _path(run: Run) -> Path:
    return run.path / kept_files.FOLDER / NAME


def _content(run: Run) -> bytes:
    if NAME not in run.head.get(kept_files.FOLDER, {}):
        return b""
    if run.read_file is not None:
        return run.read_file(NAME)
    return kept_files.content(run.path, run.head, NAME)


def summary(run: Run) -> str:
    """Return how much code a run has, in words; "" for none."""
    try:
        modules = of_run(run)
    except GnomonError as error:
        return f"cannot be read: {error}"
    functions = [function for module in modules for function in module.functions]
    if not functions:
        return ""
    size = sum(len(function.code) for function in functions)
    return f"of {len(functions)} function{'' if len(functions) == 1 else 's'}, {size:,} bytes"
