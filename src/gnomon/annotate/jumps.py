"""Basic blocks of instructions, and the arrows of jumps among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.named_tuple import NamedTuple
from gnomon.symbols.disassembly import CALL, JUMP, RETURN, Instruction

if TYPE_CHECKING:
    from gnomon.model.array_types import Ints

ARROWS_MOST = 10_000
"""Of code with more targets none are drawn: nobody could follow them."""


class Arrow(NamedTuple):
    """All jumps to one instruction, as one line with several ends.

    Attributes:
        target: the position of the instruction that they go to.
        sources: the positions of the jumps, ascending.
        lane: the column that it is drawn in, 0 nearest to the instructions.
    """

    target: int
    sources: tuple[int, ...]
    lane: int

    @property
    def first(self) -> int:
        """The position where the line begins."""
        return min(self.target, self.sources[0])

    @property
    def last(self) -> int:
        """The position where the line ends."""
        return max(self.target, self.sources[-1])


def blocks(instructions: Sequence[Instruction]) -> list[int]:
    """Return the number of each instruction's basic block, from 0.

    A block is entered at its first instruction alone, and left at its last. Calls come back.
    """
    targets = {instruction.target for instruction in instructions if instruction.kind == JUMP}
    numbers: list[int] = []
    number, begins, end = 0, False, 0
    for position, instruction in enumerate(instructions):
        # Code in another place is not gone on with.
        if position and (begins or instruction.address in targets or instruction.address != end):
            number += 1
        numbers.append(number)
        begins = instruction.kind in (JUMP, RETURN)
        end = instruction.address + len(instruction.code)
    return numbers


def arrows(instructions: Sequence[Instruction]) -> list[Arrow]:
    """Return the jumps within some code, by their targets; () where there are too many to draw.

    Lines in one lane have no instruction in common, and one that is within another is nearer to
    the instructions, so that lines cross only where jumps do.
    """
    position_of = {one.address: position for position, one in enumerate(instructions)}
    sources: dict[int, list[int]] = {}
    for position, one in enumerate(instructions):
        if one.kind == JUMP and one.target in position_of and one.target is not None:
            sources.setdefault(position_of[one.target], []).append(position)
    if len(sources) > ARROWS_MOST:
        return []
    lines = [Arrow(target, tuple(some), 0) for target, some in sources.items()]
    lines.sort(key=lambda line: (line.last - line.first, line.first))
    return sorted(line._replace(lane=lane) for line, lane in zip(lines, _lanes(lines), strict=True))


def _lanes(lines: Sequence[Arrow]) -> list[int]:
    """Return the lane of each line; the shortest come first."""
    import numpy as np

    n = len(lines)
    first = np.array([line.first for line in lines], np.int32)
    last = np.array([line.last for line in lines], np.int32)
    lanes = np.zeros(n, np.int32)
    for row in range(n):
        touches = (first[:row] <= last[row]) & (last[:row] >= first[row])
        is_inner = touches & (first[:row] >= first[row]) & (last[:row] <= last[row])
        least = int(lanes[:row][is_inner].max(initial=-1)) + 1
        lanes[row] = _free(lanes[:row][touches], least)
    return [int(lane) for lane in lanes]


def _free(taken: Ints, least: int) -> int:
    """Return the lowest lane from the least on that is not taken."""
    used = set(taken.tolist())
    while least in used:
        least += 1
    return least


def leaves(instruction: Instruction, start: int, end: int) -> bool:
    """Return whether a jump or call leads out of code between two addresses."""
    is_branch = instruction.kind in (JUMP, CALL)
    return is_branch and instruction.target is not None and not start <= instruction.target < end
