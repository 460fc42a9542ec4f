"""The machine code of a function of a run: from the program, or from what a bundle packed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.model.inlining import PYTHON
from gnomon.named_tuple import NamedTuple
from gnomon.store import function_code
from gnomon.symbols import Module, code_of, text_symbols
from gnomon.symbols.disassembly import ARM, PPC, X86, Encoding, encoding_of
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gnomon.store.call_paths import Code
    from gnomon.store.run import Run


class CodePart(NamedTuple):
    """Code of a function that is in one place: compilers move what is rarely run elsewhere."""

    start: int
    code: bytes


class MachineCode(NamedTuple):
    """The machine code of a function.

    Attributes:
        module: the file that it is in, whose addresses it has.
        encoding: of its instructions.
        parts: by ascending address, apart from each other.
    """

    module: Module
    encoding: Encoding
    parts: tuple[CodePart, ...]


def module_of(run: Run, code: Code) -> Module:
    """Return the file that a function was in.

    Raises:
        GnomonError: it is in none, or that is not files.
    """
    name = printable(code.module)
    if code.module == PYTHON or code.file.endswith(".py"):
        raise GnomonError(
            f"{printable(code.function)} is a function of Python: it has no machine code of its "
            "own; see its source: --source"
        )
    ended = float(run.head.get("started") or 0) + float(run.head.get("wall_seconds") or 0)
    files = {
        Module(str(path), str(build_id), ended)
        for module, path, build_id in run.query("SELECT name, path, build_id FROM modules")
        if module == code.module
    }
    if not files:
        raise GnomonError(
            f"{name or 'its program'}: the run does not say where the file was, so its code cannot "
            "be read; record with gnomon record"
        )
    if len(files) > 1:
        raise GnomonError(f"{name}: several modules of the run have this name; their code is apart")
    (module,) = files
    if module.path.startswith(("[", "(")):
        raise GnomonError(f"{name}: no file has its code; annotate functions of the program")
    return module


def machine_code(run: Run, code: Code, addresses: Sequence[int]) -> MachineCode:
    """Return the machine code of a function.

    Args:
        run: the run.
        code: the function.
        addresses: where it was sampled; those of none are looked for by its name.

    Raises:
        GnomonError: the code is nowhere to be read, or is not what ran.
    """
    module = module_of(run, code)
    packed = _packed(run, module, code, addresses)
    if packed is not None:
        return packed
    wanted = list(addresses) or _starts(module.path, code.function)
    answers, failed = code_of({module: wanted})
    if module in failed:
        raise GnomonError(failed[module])
    answer = answers[module]
    numbers = {number for number in answer.function_of if number >= 0}
    parts = _apart(CodePart(*answer.functions[number]) for number in numbers)
    if not parts:
        raise GnomonError(
            f"{printable(code.function)}: {printable(module.path)} does not say where its code "
            "begins and ends, or it has more than 4 MiB; build it with symbols or unwind tables"
        )
    return MachineCode(module, encoding_of(module.path, answer.machine), parts)


def _starts(path: str, name: str) -> list[int]:
    """Return where functions of a name begin.

    Raises:
        GnomonError: the program cannot be read, or has none.
    """
    symbols = text_symbols(path)
    starts = [
        int(symbols.start[at])
        for at, names in enumerate(zip(symbols.names, symbols.titles, strict=True))
        if name in names
    ]
    if not starts:
        raise GnomonError(
            f"{printable(name)}: no sample is in code of its own, and {printable(path)} has no "
            "such symbol; where it was inlined, annotate the functions that call it"
        )
    return starts


def _packed(run: Run, module: Module, code: Code, addresses: Sequence[int]) -> MachineCode | None:
    """Return code that a bundle packed; None where it has not all that is wanted."""
    for packed in function_code.of_run(run):
        if packed[:3] != (code.module, module.path, module.build_id):
            continue
        own = [
            CodePart(function.address, function.code)
            for function in packed.functions
            if any(
                function.address <= at < function.address + len(function.code) for at in addresses
            )
            or (not addresses and function.name == code.function)
        ]
        parts = _apart(own)
        is_whole = all(
            any(part.start <= at < part.start + len(part.code) for part in parts)
            for at in addresses
        )
        if parts and (is_whole or not Path(module.path).is_file()):
            order = function_code.byte_order(run)
            # It does not say how wide addresses are: as most machines of its kind have them.
            is_wide = packed.machine not in (X86, PPC, ARM)
            return MachineCode(module, Encoding(packed.machine, is_wide, order), parts)
    return None


def _apart(parts: Iterable[CodePart]) -> tuple[CodePart, ...]:
    """Return parts by address, without those that begin within another one."""
    apart: list[CodePart] = []
    for part in sorted(parts):
        if not part.code:
            continue
        if apart and part.start < apart[-1].start + len(apart[-1].code):
            continue
        apart.append(part)
    return tuple(apart)
