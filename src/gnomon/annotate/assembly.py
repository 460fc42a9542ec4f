"""The instructions of a function with what each took, its source line, and where jumps go."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from gnomon.annotate import jumps
from gnomon.annotate.jumps import Arrow
from gnomon.annotate.machine_code import machine_code
from gnomon.errors import GnomonError
from gnomon.named_tuple import NamedTuple
from gnomon.symbols import resolve
from gnomon.symbols.disassembly import CALL, JUMP, X86, X86_64, Instruction, disassembled
from gnomon.units import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnomon.annotate.function_choice import Function, FunctionPaths
    from gnomon.annotate.machine_code import MachineCode
    from gnomon.model.tables import Cell
    from gnomon.store.path_values import PathValues
    from gnomon.store.run import Run
    from gnomon.symbols import ModuleFrames

_ADDRESS_END = 1 << 64
_VALUES = """
SELECT s.address, SUM(s.weight), COUNT(*)
FROM samples s JOIN wanted_ USING (path)
WHERE s.metric = {metric} AND isfinite(s.weight)
GROUP BY s.address ORDER BY s.address
"""
_LINES = """
SELECT s.address, MIN(r.file), MIN(r.line), MIN(r.name)
FROM samples s JOIN wanted_ USING (path) JOIN paths USING (path) JOIN regions r USING (region)
WHERE s.address IS NOT NULL GROUP BY s.address HAVING COUNT(DISTINCT r.region) = 1
"""


class InstructionValue(NamedTuple):
    """An instruction of a function, of one execution.

    Attributes:
        instruction: what it is.
        own: what was measured at it.
        samples: how many stand behind that, in all executions; None where not known.
        function: that it was written in; another one where it was inlined, "" if not known.
        file, line: of the source; "" and 0 if not known.
        block: the number of its basic block.
        target: where it goes, in words: solve+0x10; "" if nowhere.
    """

    instruction: Instruction
    own: float
    samples: int | None
    function: str
    file: str
    line: int
    block: int
    target: str


class Assembly(NamedTuple):
    """The machine code of a function.

    Attributes:
        module: the path of the file that it is in.
        instructions: by address.
        arrows: of jumps within it.
        parts: a name for each first instruction of a part, by its position.
        elsewhere: what was measured at addresses that are not in it, or are not known.
        why_no_lines: why no instruction has a source line, "" if some have.
        is_x86: it is x86 code, which two syntaxes are in use for.
    """

    module: str
    instructions: tuple[InstructionValue, ...]
    arrows: tuple[Arrow, ...]
    parts: Mapping[int, str]
    elsewhere: float
    why_no_lines: str
    is_x86: bool

    @property
    def own(self) -> float:
        """What all its instructions have together."""
        return sum(one.own for one in self.instructions)


class _Values(NamedTuple):
    """Weights and numbers of samples at addresses; what is at no address."""

    at: dict[int, tuple[float, int]]
    nowhere: float
    n: int


def assembly(
    run: Run, function: Function, chosen: FunctionPaths, metric: Mapping[str, Cell],
    values: PathValues, *, is_intel: bool = False,
) -> Assembly:  # fmt: skip
    """Return the instructions of a function with what each has of a metric.

    Args:
        run: the run.
        function: the function.
        chosen: its paths.
        metric: its row.
        values: what paths have of it.
        is_intel: x86 code in Intel's syntax.

    Raises:
        GnomonError: the code is nowhere to be read, is not what ran or cannot be disassembled.
    """
    hosted = chosen.paths.path[chosen.is_hosted]
    if chosen.is_within.any() and not chosen.is_hosted.any():
        raise GnomonError(
            f"{printable(function.code.function)} has no code of its own: it was inlined into "
            "functions that call it; annotate these"
        )
    arrays = {"wanted_": {"path": hosted}}
    rows = run.query(_VALUES.format(metric=metric["metric"]), threads=1, arrays=arrays)
    weighed = _values(rows)
    n_samples = float(values.own_samples[chosen.is_hosted].sum())
    times = max(int(run.head["repetitions"]), 1)
    code = machine_code(run, function.code, list(weighed.at))
    decoded = [
        instruction
        for part in code.parts
        for instruction in disassembled(part.start, part.code, code.encoding, is_intel=is_intel)
    ]
    weights, counts, elsewhere = _placed(weighed, decoded)
    frames, why = _frames(code, decoded)
    sampled = {} if frames else _sampled_lines(run, arrays)
    is_counted = metric["how"] == "sampled" and weighed.n == n_samples
    numbers = jumps.blocks(decoded)
    instructions = []
    for instruction, own, n, block in zip(decoded, weights, counts, numbers, strict=True):
        name, file, line = _line(frames, sampled, instruction)
        instructions.append(
            InstructionValue(
                instruction, own / times, n if is_counted else None, name, file, line, block,
                _target(frames, code, function.code.function, instruction),
            )
        )  # fmt: skip
    if not why and not any(instruction.line for instruction in instructions):
        why = f"{printable(code.module.path)} has no line numbers; compile it with -g"
    return Assembly(
        code.module.path, tuple(instructions), tuple(jumps.arrows(decoded)),
        _part_names(code, decoded, frames, function.code.function), elsewhere / times,
        "" if any(instruction.line for instruction in instructions) else why,
        code.encoding.machine in (X86, X86_64),
    )  # fmt: skip


def _values(rows: Sequence[tuple[object, ...]]) -> _Values:
    by_address: dict[int, tuple[float, int]] = {}
    nowhere, n = 0.0, 0
    for address, weight, count in rows:
        n += int(str(count))
        if address is None:
            nowhere += float(str(weight))
        else:
            # Addresses are kept as numbers with a sign.
            by_address[int(str(address)) % _ADDRESS_END] = (float(str(weight)), int(str(count)))
    return _Values(by_address, nowhere, n)


def _placed(
    values: _Values, decoded: Sequence[Instruction]
) -> tuple[list[float], list[int], float]:
    """Return what each instruction has, by the addresses of its bytes, and what none has."""
    starts = [one.address for one in decoded]
    weights, counts = [0.0] * len(decoded), [0] * len(decoded)
    elsewhere = values.nowhere
    for address, (weight, n) in values.at.items():
        position = bisect_right(starts, address) - 1
        is_in = position >= 0 and address < starts[position] + len(decoded[position].code)
        if is_in:
            weights[position] += weight
            counts[position] += n
        else:
            elsewhere += weight
    return weights, counts, elsewhere


def _frames(code: MachineCode, decoded: Sequence[Instruction]) -> tuple[ModuleFrames | None, str]:
    """Return functions and lines of instructions and of what they go to, or why there are none."""
    wanted = {one.address for one in decoded}
    wanted |= {part.start for part in code.parts}
    wanted |= {one.target % _ADDRESS_END for one in decoded if one.target is not None}
    resolution = resolve({code.module: sorted(wanted)})
    if code.module in resolution.frames:
        return resolution.frames[code.module], ""
    missing = resolution.unavailable[code.module]
    return None, "; ".join(text for text in (missing.reason, missing.remedy) if text)


def _sampled_lines(
    run: Run, arrays: Mapping[str, Mapping[str, object]]
) -> dict[int, tuple[str, int, str]]:
    rows = run.query(_LINES, threads=1, arrays=arrays)  # type: ignore[arg-type]
    return {
        int(address) % _ADDRESS_END: (str(file), int(line), str(name))
        for address, file, line, name in rows
    }


def _line(
    frames: ModuleFrames | None,
    sampled: Mapping[int, tuple[str, int, str]],
    instruction: Instruction,
) -> tuple[str, str, int]:
    """Return the function, file and line of an instruction, or what samples of it tell."""
    if frames is None:
        file, line, name = sampled.get(instruction.address, ("", 0, ""))
        return name, file, line
    stack = frames.at(instruction.address)
    return (stack[0].function, stack[0].file, stack[0].line) if stack else ("", "", 0)


def _target(
    frames: ModuleFrames | None, code: MachineCode, function: str, instruction: Instruction
) -> str:
    """Return where an instruction goes, in words."""
    if instruction.target is None or instruction.kind not in (JUMP, CALL):
        return ""
    target = instruction.target % _ADDRESS_END
    for number, part in enumerate(code.parts):
        if part.start <= target < part.start + len(part.code):
            name = function if not number else _symbol(frames, part.start) or function
            return _with_offset(name, target - part.start)
    stack = frames.at(target) if frames else ()
    if not stack or not stack[-1].function:
        return f"{target:#x}"
    outermost = stack[-1]
    return _with_offset(outermost.function, target - (outermost.start or target))


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset:#x}" if offset else name


def _symbol(frames: ModuleFrames | None, address: int) -> str:
    stack = frames.at(address) if frames else ()
    return stack[-1].function if stack else ""


def _part_names(
    code: MachineCode, decoded: Sequence[Instruction], frames: ModuleFrames | None, function: str
) -> dict[int, str]:
    """Return what each part of the code is called, by the position of its first instruction."""
    starts = {part.start: number for number, part in enumerate(code.parts)}
    return {
        position: _symbol(frames, one.address) or function
        for position, one in enumerate(decoded)
        if one.address in starts
    }
