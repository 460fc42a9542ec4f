"""A picture of which CPUs share which caches and memory, in plain characters.

    +---+---+ +---+---+
    |  0 4  | |  1 5  |
    +-------+ +-------+
    | L1d 48K ...

Each core is a box with the numbers of its CPUs; below it stand the caches, each as wide as what
shares it, and the NUMA node. What is alike is drawn as often as there is room, then counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.counters.hardware import Hardware
from gnomon.counters.sysfs_pmu import cpu_ranges
from gnomon.named_tuple import NamedTuple
from gnomon.units import size

_NODE_RANK = 100
_GAP = 1


class _Item(NamedTuple):
    """Something that CPUs share, its rank (cores 0, caches their level), its label."""

    cpus: frozenset[int]
    rank: int
    label: str
    make: str


class _Box(NamedTuple):
    """An item over the items that are parts of it; `more` instead counts boxes left out."""

    label: str
    make: str
    first: int
    parts: tuple[_Box, ...]
    more: int = 0

    @property
    def shape(self) -> object:
        """What boxes that are alike have in common."""
        return self.make, tuple(part.shape for part in self.parts)


def picture(machine: Hardware, columns: int) -> str:
    """Return the picture at most so many columns wide, "" where nothing is known to be shared."""
    sockets: dict[int, set[int]] = {}
    for cpu in machine.topology.cpus:
        if cpu.is_online:
            sockets.setdefault(cpu.socket if cpu.socket is not None else 0, set()).add(cpu.number)
    items = _items(machine)
    drawn: list[tuple[object, list[int], str]] = []
    for number, cpus in sorted(sockets.items()):
        boxes = _boxes([item for item in items if item.cpus <= cpus])
        shape = tuple(box.shape for box in boxes)
        same = next((entry for entry in drawn if entry[0] == shape), None)
        if same is not None:
            same[1].append(number)
        elif boxes:
            drawn.append((shape, [number], _fitting(boxes, columns)))
    return "\n".join(_titled(numbers, text) for _, numbers, text in drawn if text)


def _titled(numbers: Sequence[int], text: str) -> str:
    title = f"socket {numbers[0]}"
    if len(numbers) > 1:
        title += f" (and alike: {cpu_ranges(numbers[1:])})"
    return f"{title}\n{text}"


def _items(machine: Hardware) -> list[_Item]:
    cores = {
        frozenset(cpu.siblings or (cpu.number,)): cpu.kind
        for cpu in machine.topology.cpus
        if cpu.is_online
    }
    items = [
        _Item(cpus, 0, " ".join(map(str, sorted(cpus))), f"{kind}/{len(cpus)}")
        for cpus, kind in cores.items()
    ]
    for cache in machine.caches:
        if cache.kind == "instruction":
            continue
        letter = "d" if cache.kind == "data" else ""
        label = f"L{cache.level}{letter} {size(cache.size_bytes, 'of unknown size')}"
        items += [_Item(frozenset(group), cache.level, label, label) for group in cache.groups]
    for node in machine.nodes:
        if node.cpus and len(machine.nodes) > 1:
            items.append(_Item(frozenset(node.cpus), _NODE_RANK, f"node {node.number}", "node"))
    return sorted(items, key=lambda item: (len(item.cpus), item.rank, min(item.cpus)))


def _boxes(items: Iterable[_Item]) -> list[_Box]:
    """Return the outermost boxes. An item that cuts through another one is left out."""
    roots: list[tuple[frozenset[int], _Box]] = []
    for item in items:
        inside = [root for root in roots if root[0] <= item.cpus]
        if any(root[0] & item.cpus and not root[0] <= item.cpus for root in roots):
            continue
        inner = tuple(sorted((box for _, box in inside), key=lambda box: box.first))
        box = _Box(item.label, item.make, min(item.cpus), inner)
        roots = [root for root in roots if root not in inside] + [(item.cpus, box)]
    return sorted((box for _, box in roots), key=lambda box: box.first)


def _fitting(boxes: Sequence[_Box], columns: int) -> str:
    """Return the boxes drawn side by side, with as many that are alike as fit; "" if none do."""
    most = max((_breadth(box) for box in boxes), default=1)
    for limit in range(max(most, len(boxes)), 0, -1):
        shown = _shortened(boxes, limit)
        if sum(map(_width, shown)) + _GAP * (len(shown) - 1) <= columns:
            lines = _beside([_closed(_drawn(box, _width(box))) for box in shown])
            return "\n".join(line.rstrip() for line in lines)
    return ""


def _breadth(box: _Box) -> int:
    return max([len(box.parts), *map(_breadth, box.parts)])


def _shortened(boxes: Sequence[_Box], limit: int) -> list[_Box]:
    """Return at most `limit` boxes of each run of boxes that are alike, with the rest counted."""
    shown: list[_Box] = []
    index = 0
    while index < len(boxes):
        run = 1
        while index + run < len(boxes) and boxes[index + run].shape == boxes[index].shape:
            run += 1
        keep = run if run <= limit else limit
        for box in boxes[index : index + keep]:
            shown.append(box._replace(parts=tuple(_shortened(box.parts, limit))))
        if keep < run:
            shown.append(_Box(f"+{run - keep}", "", 0, (), run - keep))
        index += run
    return shown


def _width(box: _Box) -> int:
    if box.more:
        return len(box.label)
    inner = sum(map(_width, box.parts)) + _GAP * (len(box.parts) - 1)
    return max(inner, len(box.label) + 4)


def _drawn(box: _Box, width: int) -> list[str]:
    """Return the lines of a box without its last border."""
    if box.more:
        return ["", box.label]
    border = "+" + "-" * (width - 2) + "+"
    own = "|" + box.label.center(width - 2) + "|"
    if not box.parts:
        return [border, own]
    if len(box.parts) == 1 and not box.parts[0].more:
        return [*_drawn(box.parts[0], width), border, own]
    spare = width - _GAP * (len(box.parts) - 1) - sum(map(_width, box.parts))
    each, rest = divmod(spare, sum(not part.more for part in box.parts))
    widths = []
    for part in box.parts:
        extra = 0 if part.more else each + (1 if rest > 0 else 0)
        rest -= 0 if part.more else 1
        widths.append(_width(part) + extra)
    blocks = [_closed(_drawn(p, w)) for p, w in zip(box.parts, widths, strict=True)]
    return [*_beside(blocks), border, own]


def _closed(lines: list[str]) -> list[str]:
    return lines if not lines[0] else [*lines, lines[-2]]


def _beside(blocks: Sequence[Sequence[str]]) -> list[str]:
    height = max(map(len, blocks))
    widths = [max(map(len, block)) for block in blocks]
    rows = [[*block, *[""] * (height - len(block))] for block in blocks]
    return [
        (" " * _GAP).join(row[at].ljust(width) for row, width in zip(rows, widths, strict=True))
        for at in range(height)
    ]
