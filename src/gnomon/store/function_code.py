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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import FormatError, GnomonError
from gnomon.named_tuple import NamedTuple
from gnomon.store import file_head, kept_files
from gnomon.store.file_head import HEAD_BYTES, FileKind

if TYPE_CHECKING:
    from gnomon.store.run import Run
    from gnomon.symbols import Module

NAME = f"{kept_files.CODE}/functions"
"""Below `files/`."""
BYTES_MOST = 4 << 20
"""Of all code of a run."""
KIND = FileKind("a file of functions' code", b"GNOMCODE", 1)
_LEAST = 0.001
_FUNCTIONS_MOST = 10_000
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


class PackedCode(NamedTuple):
    """Code of hot functions, and why that of some modules is not there."""

    modules: tuple[ModuleCode, ...]
    missing: tuple[str, ...]


# --- what is hot ----------------------------------------------------------------------------------

_SAMPLES = """
SELECT r.module, s.address, COUNT(*)
FROM samples s JOIN paths USING (path) JOIN regions r USING (region)
WHERE s.address IS NOT NULL AND r.module IN (SELECT name FROM modules)
GROUP BY r.module, s.address ORDER BY r.module, s.address
"""


def hot_code(run: Run) -> PackedCode:
    """Return the code of functions that have at least a thousandth of all samples themselves.

    Raises:
        RunDirectoryError: the tables cannot be read.
    """
    from gnomon.symbols import Module, code_of

    ended = float(run.head["started"]) + float(run.head["wall_seconds"])
    modules: dict[str, set[Module]] = {}
    for name, path, build_id in run.query("SELECT name, path, build_id FROM modules"):
        modules.setdefault(str(name), set()).add(Module(str(path), str(build_id), ended))
    counts: dict[Module, dict[int, int]] = {}
    names: dict[Module, str] = {}
    ambiguous: set[str] = set()
    for name, address, n in run.query(_SAMPLES):
        own = modules[str(name)]
        if len(own) > 1:
            ambiguous.add(str(name))
            continue
        (module,) = own
        names[module] = str(name)
        counts.setdefault(module, {})[int(address) % _ADDRESS_END] = int(n)
    ((total,),) = run.query("SELECT COUNT(*) FROM samples")
    answers, failed = code_of({module: list(by) for module, by in counts.items()})
    hot: list[tuple[int, Module, int, bytes]] = []
    for module, answer in answers.items():
        samples = [0] * len(answer.functions)
        for address, function in zip(sorted(counts[module]), answer.function_of, strict=True):
            if function >= 0:
                samples[function] += counts[module][address]
        hot += [
            (n, module, function.start, function.code)
            for n, function in zip(samples, answer.functions, strict=True)
            if n >= _LEAST * total
        ]
    hot.sort(key=lambda function: (-function[0], function[1], function[2]))
    kept, left = [], BYTES_MOST
    for function in hot[:_FUNCTIONS_MOST]:
        if len(function[3]) <= left:
            left -= len(function[3])
            kept.append(function)
    missing = [*failed.values(), *(f"{name}: several modules have this name" for name in ambiguous)]
    return PackedCode(_named(kept, names, answers), tuple(missing))


def _named(
    hot: Sequence[tuple[int, Module, int, bytes]],
    names: Mapping[Module, str],
    answers: Mapping[Module, Any],
) -> tuple[ModuleCode, ...]:
    """Return functions by module, with the names that their first bytes have."""
    from gnomon.symbols import resolve

    by_module: dict[Module, list[tuple[int, int, bytes]]] = {}
    for n, module, start, code in hot:
        by_module.setdefault(module, []).append((n, start, code))
    frames = resolve(
        {module: [start for _, start, _ in some] for module, some in by_module.items()}
    ).frames
    return tuple(
        ModuleCode(
            names[module], module.path, module.build_id, answers[module].machine,
            tuple(Function(frames[module].at(start)[-1].function if module in frames else "",
                           start, n, code)
                  for n, start, code in some),
        )
        for module, some in by_module.items()
    )  # fmt: skip


# --- the file -------------------------------------------------------------------------------------


def encoded(modules: Sequence[ModuleCode]) -> bytes:
    """Return the file of some modules' functions."""
    index = json.dumps(
        {
            "modules": [
                {
                    **{name: getattr(module, name) for name in ("name", "path", "build_id")},
                    "machine": module.machine,
                    "functions": [
                        {"name": one.name, "address": one.address, "size": len(one.code),
                         "samples": one.samples}
                        for one in module.functions
                    ],
                }
                for module in modules
            ]
        }
    ).encode()  # fmt: skip
    code = b"".join(one.code for module in modules for one in module.functions)
    rest = struct.pack("=I", len(index)) + index + code
    return file_head.head_of(KIND) + struct.pack("=I", zlib.crc32(rest)) + rest


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
    if NAME not in run.head.get(kept_files.FOLDER, {}):
        return ()
    if run.read_file is not None:
        content = run.read_file(NAME)
    else:
        content = kept_files.content(run.path, run.head, NAME)
    return decoded(run.path / kept_files.FOLDER / NAME, content)


def summary(run: Run) -> str:
    """Return how much code a run has, in words; "" for none."""
    try:
        modules = of_run(run)
    except GnomonError as error:
        return f"cannot be read: {error}"
    functions = [one for module in modules for one in module.functions]
    if not functions:
        return ""
    size = sum(len(one.code) for one in functions)
    return f"of {len(functions)} function{'' if len(functions) == 1 else 's'}, {size:,} bytes"
