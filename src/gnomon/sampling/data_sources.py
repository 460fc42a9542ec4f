"""How data were accessed and where they were, in words.

Source: union perf_mem_data_src in Linux, include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

_OPERATIONS = ((0x02, "load"), (0x04, "store"), (0x08, "prefetch"), (0x10, "execute"))
_LEVEL_HIT, _LEVEL_MISS = 0x02, 0x04
_LEVELS = ((0x08, "L1"), (0x10, "line fill buffer"), (0x20, "L2"), (0x40, "L3"), (0x80, "RAM"),
           (0x100, "remote RAM (1 hop)"), (0x200, "remote RAM (2 hops)"),
           (0x400, "remote cache (1 hop)"), (0x800, "remote cache (2 hops)"), (0x1000, "I/O"),
           (0x2000, "uncached"))  # fmt: skip
_LEVEL_NUMBERS = {1: "L1", 2: "L2", 3: "L3", 4: "L4", 9: "CXL", 10: "I/O", 11: "a cache",
                  12: "line fill buffer", 13: "RAM", 14: "persistent memory"}  # fmt: skip
_SNOOPS = ((0x04, "snoop hit"), (0x08, "snoop miss"), (0x10, "snoop hit modified"))
_TLB_MISS = 0x04
_TLBS = ((0x08, "L1"), (0x10, "L2"), (0x20, "page walk"), (0x40, "page fault"))


def words(source: int) -> str:
    """Return what a sample's data source says: "load, L3 hit, snoop hit"; "" for nothing."""
    level, number = source >> 5 & 0x3FFF, source >> 33 & 0xF
    said = _named(source & 0x1F, _OPERATIONS)
    places = _named(level, _LEVELS) or (
        [_LEVEL_NUMBERS[number]] if number in _LEVEL_NUMBERS else []
    )
    if places:
        remote = "remote " if source >> 37 & 1 and not level >> 8 & 0xF else ""
        outcome = " miss" if level & _LEVEL_MISS else " hit" if level & _LEVEL_HIT else ""
        said.append(f"{remote}{' or '.join(places)}{outcome}")
    said += _named(source >> 19 & 0x1F, _SNOOPS)
    if source >> 24 & 0x02:
        said.append("locked")
    tlb = source >> 26 & 0x7F
    if tlb & _TLB_MISS:
        said.append(f"TLB miss{''.join(f', {name}' for name in _named(tlb, _TLBS[2:]))}")
    return ", ".join(said)


def _named(bits: int, names: tuple[tuple[int, str], ...]) -> list[str]:
    return [name for bit, name in names if bits & bit]
