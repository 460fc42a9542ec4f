"""Translation lookaside buffers: what cpuid or the device tree tells of them.

Source: Intel SDM vol. 2A, CPUID leaf 02H (table of descriptors) and leaf 18H; AMD64 Architecture
Programmer's Manual vol. 3, E.4.4, E.4.5 and E.4.18 (Fn8000_0005, _0006, _0019); Power Architecture
Platform Reference, properties of CPU nodes.
"""

from __future__ import annotations

from pathlib import Path

from gnomon.counters.hardware.cpuid import Answers, bits, parts, vendor
from gnomon.counters.procfs import entries
from gnomon.named_tuple import NamedTuple

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
FULL = 0
"""`Tlb.ways` of a fully associative one."""

_AMD = ("AuthenticAMD", "HygonGenuine")
_LARGE = (2 * MB, 4 * MB)
_ANY = (4 * KB, 2 * MB, 4 * MB)
_OTHER_LEAF = 0xFE
_MOST_ROUNDS = 1
_TREE_LIMIT_BYTES = 64


class Tlb(NamedTuple):
    """One translation lookaside buffer.

    Attributes:
        level: 1 is asked first; None if not told.
        kind: "data", "instruction", "unified", "load" or "store".
        page_bytes: the sizes of pages that it translates; () if not told.
        entries: how many translations it holds.
        ways: associativity, `FULL` for a fully associative one, None if not told.
        shared_by: how many threads may share it at most, None if not told.
        source: what tells it.
    """

    level: int | None
    kind: str
    page_bytes: tuple[int, ...]
    entries: int
    ways: int | None
    shared_by: int | None
    source: str


class Tlbs(NamedTuple):
    """The TLBs of one kind of core; `unknown` says why there are none in the list."""

    cores: str
    tlbs: tuple[Tlb, ...]
    unknown: str = ""


def _one(level: int, kind: str, pages: tuple[int, ...], n: int, ways: int | None) -> Tlb:
    return Tlb(level, kind, pages, n, ways, None, "cpuid leaf 0x2")


_D, _I, _U = "data", "instruction", "unified"
_DESCRIPTORS: dict[int, tuple[Tlb, ...]] = {
    0x01: (_one(1, _I, (4 * KB,), 32, 4),),
    0x02: (_one(1, _I, (4 * MB,), 2, FULL),),
    0x03: (_one(1, _D, (4 * KB,), 64, 4),),
    0x04: (_one(1, _D, (4 * MB,), 8, 4),),
    0x05: (_one(1, _D, (4 * MB,), 32, 4),),
    0x0B: (_one(1, _I, (4 * MB,), 4, 4),),
    0x4F: (_one(1, _I, (4 * KB,), 32, None),),
    0x50: (_one(1, _I, _ANY, 64, None),),
    0x51: (_one(1, _I, _ANY, 128, None),),
    0x52: (_one(1, _I, _ANY, 256, None),),
    0x55: (_one(1, _I, _LARGE, 7, FULL),),
    0x56: (_one(1, _D, (4 * MB,), 16, 4),),
    0x57: (_one(1, _D, (4 * KB,), 16, 4),),
    0x59: (_one(1, _D, (4 * KB,), 16, FULL),),
    0x5A: (_one(1, _D, _LARGE, 32, 4),),
    0x5B: (_one(1, _D, (4 * KB, 4 * MB), 64, None),),
    0x5C: (_one(1, _D, (4 * KB, 4 * MB), 128, None),),
    0x5D: (_one(1, _D, (4 * KB, 4 * MB), 256, None),),
    0x61: (_one(1, _I, (4 * KB,), 48, FULL),),
    0x63: (_one(1, _D, _LARGE, 32, 4), _one(1, _D, (GB,), 4, 4)),
    0x64: (_one(1, _D, (4 * KB,), 512, 4),),
    0x6A: (_one(1, _D, (4 * KB,), 64, 8),),
    0x6B: (_one(1, _D, (4 * KB,), 256, 8),),
    0x6C: (_one(1, _D, _LARGE, 128, 8),),
    0x6D: (_one(1, _D, (GB,), 16, FULL),),
    0x76: (_one(1, _I, _LARGE, 8, FULL),),
    0xA0: (_one(1, _D, (4 * KB,), 32, FULL),),
    0xB0: (_one(1, _I, (4 * KB,), 128, 4),),
    0xB1: (_one(1, _I, (2 * MB,), 8, 4), _one(1, _I, (4 * MB,), 4, 4)),
    0xB2: (_one(1, _I, (4 * KB,), 64, 4),),
    0xB3: (_one(1, _D, (4 * KB,), 128, 4),),
    0xB4: (_one(2, _D, (4 * KB,), 256, 4),),
    0xB5: (_one(1, _I, (4 * KB,), 64, 8),),
    0xB6: (_one(1, _I, (4 * KB,), 128, 8),),
    0xBA: (_one(2, _D, (4 * KB,), 64, 4),),
    0xC0: (_one(1, _D, (4 * KB, 4 * MB), 8, 4),),
    0xC1: (_one(2, _U, (4 * KB, 2 * MB), 1024, 8),),
    0xC2: (_one(1, _D, (4 * KB, 2 * MB), 16, 4),),
    0xC3: (_one(2, _U, (4 * KB, 2 * MB), 1536, 6), _one(2, _U, (GB,), 16, 4)),
    0xC4: (_one(1, _D, _LARGE, 32, 4),),
    0xCA: (_one(2, _U, (4 * KB,), 512, 4),),
}
_KINDS = {1: _D, 2: _I, 3: _U, 4: "load", 5: "store"}
_PAGE_BITS = ((0, 4 * KB), (1, 2 * MB), (2, 4 * MB), (3, GB))
# AMD64 manual, table of L2 associativity; 9 refers to another leaf.
_AMD_WAYS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 16, 0xA: 32, 0xB: 48, 0xC: 64, 0xD: 96,
             0xE: 128, 0xF: FULL}  # fmt: skip


def from_cpuid(answers: Answers) -> tuple[tuple[Tlb, ...], str]:
    """Return the TLBs that cpuid tells, and why there are none if it tells none."""
    name = vendor(answers)
    if name in _AMD:
        tlbs = _amd(answers)
        missing = "cpuid leaves 0x80000005, 0x80000006 and 0x80000019 tell none"
    elif name:
        tlbs = _intel(answers)
        missing = "cpuid leaves 0x2 and 0x18 tell none"
        if not tlbs and _OTHER_LEAF in _descriptors(answers):
            missing = "cpuid leaf 0x2 refers to leaf 0x18, which tells none"
    else:
        return (), "cpuid did not answer"
    if not tlbs and (1, 0) in answers and answers[1, 0].ecx >> 31:
        missing += " (the hypervisor decides what cpuid says)"
    return tlbs, "" if tlbs else missing


def _intel(known: Answers) -> tuple[Tlb, ...]:
    by_descriptor = [tlb for code in _descriptors(known) for tlb in _DESCRIPTORS.get(code, ())]
    told = parts(known, 0x18)
    last = told[0].eax if told else 0
    by_leaf = [tlb for at, answer in enumerate(told) if at <= last for tlb in _leaf_18(answer)]
    # Leaf 0x18 tells all where it tells any; leaf 0x2 then repeats some of it.
    return tuple(sorted(by_leaf or by_descriptor, key=_order))


def _descriptors(known: Answers) -> list[int]:
    answer = known.get((2, 0))
    if answer is None or bits(answer.eax, 7, 0) != _MOST_ROUNDS:
        return []
    words = (answer.eax & 0xFFFFFF00, answer.ebx, answer.ecx, answer.edx)
    return [byte for word in words if not word >> 31 for byte in word.to_bytes(4, "little") if byte]


def _leaf_18(answer: tuple[int, int, int, int]) -> list[Tlb]:
    _, ebx, sets, edx = answer
    kind = _KINDS.get(bits(edx, 4, 0))
    ways = bits(ebx, 31, 16)
    if kind is None or not ways or not sets:
        return []
    pages = tuple(size for bit, size in _PAGE_BITS if ebx >> bit & 1)
    is_full = bool(edx >> 8 & 1)
    return [
        Tlb(
            bits(edx, 7, 5) or None,
            kind,
            pages,
            ways * sets,
            FULL if is_full else ways,
            bits(edx, 25, 14) + 1,
            "cpuid leaf 0x18",
        )
    ]


def _amd(answers: Answers) -> tuple[Tlb, ...]:
    tlbs: list[Tlb] = []
    first = answers.get((0x80000005, 0))
    if first is not None:
        for register, sizes in ((first.eax, _LARGE), (first.ebx, (4 * KB,))):
            for kind, low in ((_D, 16), (_I, 0)):
                n, ways = bits(register, low + 7, low), bits(register, low + 15, low + 8)
                # 0 is reserved, 255 fully associative, all between the number of ways.
                real = {0: None, 0xFF: FULL}.get(ways, ways)
                tlbs += _amd_one(1, kind, sizes, n, real, 0x80000005)
    second, large = answers.get((0x80000006, 0)), answers.get((0x80000019, 0))
    rows: list[tuple[int, int, tuple[int, ...], int]] = []
    if second is not None:
        rows += [(2, second.eax, _LARGE, 0x80000006), (2, second.ebx, (4 * KB,), 0x80000006)]
    if large is not None:
        rows += [(1, large.eax, (GB,), 0x80000019), (2, large.ebx, (GB,), 0x80000019)]
    for level, register, pages, leaf in rows:
        for kind, low in ((_D, 16), (_I, 0)):
            ways = bits(register, low + 15, low + 12)
            if ways:
                n = bits(register, low + 11, low)
                tlbs += _amd_one(level, kind, pages, n, _AMD_WAYS.get(ways), leaf)
    return tuple(sorted(tlbs, key=_order))


def _amd_one(
    level: int, kind: str, pages: tuple[int, ...], n: int, ways: int | None, leaf: int
) -> list[Tlb]:
    # The numbers of large pages are those of 2 MiB; one of 4 MiB takes two entries.
    return [Tlb(level, kind, pages, n, ways, None, f"cpuid leaf {leaf:#x}")] if n else []


def from_device_tree(root: Path) -> tuple[tuple[Tlb, ...], str]:
    """Return the TLBs that the first CPU of a device tree has, and why there are none."""
    folder = root / "proc/device-tree/cpus"
    for node in entries(folder):
        tlbs = []
        for prefix, kind in (("d-", _D), ("i-", _I), ("", _U)):
            n = _cell(folder / node / f"{prefix}tlb-size")
            sets = _cell(folder / node / f"{prefix}tlb-sets")
            if n:
                ways = n // sets if sets and n % sets == 0 else None
                if sets == 1:
                    ways = FULL
                tlbs.append(Tlb(None, kind, (), n, ways, None, "device tree"))
        if tlbs:
            return tuple(tlbs), ""
    return (), "neither cpuid nor a device tree tells them on this architecture"


def _cell(path: Path) -> int:
    """Return a property of one cell (32 bits, most significant byte first), 0 without one."""
    try:
        with path.open("rb") as file:
            raw = file.read(_TREE_LIMIT_BYTES)
    except OSError:
        return 0
    return int.from_bytes(raw, "big") if len(raw) == 4 else 0


def _order(tlb: Tlb) -> tuple[int, str, tuple[int, ...]]:
    return tlb.level or 0, tlb.kind, tlb.page_bytes
