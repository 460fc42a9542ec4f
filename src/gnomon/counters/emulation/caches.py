"""The caches that an emulated PMU simulates: this machine's, or as given.

Source: sysfs(5), Documentation/ABI/testing/sysfs-devices-system-cpu (cache/index*); Valgrind
manual, chapter 5.2 (what cachegrind can simulate).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.named_tuple import NamedTuple

_SYSFS = Path("/sys")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_GIVEN = re.compile(r"(?P<level>I1|D1|LL)=(?P<size>\d{1,12})(?P<unit>[KMG]?)(?:i?B)?,"
                    r"(?P<ways>\d{1,6}),(?P<line>\d{1,6})", re.IGNORECASE)  # fmt: skip
_RECORDED = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
_SMALLEST_LINE = 16
_LARGEST_BYTES = 4 << 30


class Cache(NamedTuple):
    """One simulated cache: size and line in bytes, and its ways."""

    size: int
    ways: int
    line: int

    @property
    def sets(self) -> int:
        """Number of sets."""
        return self.size // (self.ways * self.line)

    def __str__(self) -> str:
        units = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))
        unit, factor = next(one for one in units if self.size % one[1] == 0)
        return f"{self.size // factor} {unit} {self.ways}-way, {self.line}-byte lines"


class Caches(NamedTuple):
    """The simulated hierarchy: level 1 instructions and data, and the last level.

    Attributes:
        remarks: where it differs from what this machine has, sentences.
    """

    instructions: Cache
    data: Cache
    last: Cache
    remarks: tuple[str, ...] = ()

    @property
    def levels(self) -> dict[str, Cache]:
        """The caches by the names of their levels."""
        return {"I1": self.instructions, "D1": self.data, "LL": self.last}

    def with_level(self, level: str, cache: Cache) -> Caches:
        """Return the hierarchy with one cache replaced."""
        caches = {**self.levels, level: cache}
        return Caches(caches["I1"], caches["D1"], caches["LL"], self.remarks)


# What to simulate where the machine does not tell: a small core of today.
_USUAL = Caches(Cache(32 << 10, 8, 64), Cache(32 << 10, 8, 64), Cache(8 << 20, 16, 64))


def choose(given: Iterable[str], sysfs: Path = _SYSFS, option: str = "--cache") -> Caches:
    """Return this machine's caches, with those replaced that are given.

    Args:
        given: texts such as "D1=32K,8,64": level, size, ways, line in bytes.
        sysfs: /sys, but for recorded trees.
        option: by which they were given, for messages.

    Raises:
        UsageError: a text that is none, or a cache that cannot be.
    """
    caches = of_machine(sysfs)
    for text in given:
        match = _GIVEN.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{option} {text}: write level=size,ways,line with level I1, D1 or LL: "
                f"D1=32K,8,64; {option} again for another level"
            )
        size = int(match["size"]) * _UNITS[match["unit"].upper()]
        cache = Cache(size, int(match["ways"]), int(match["line"]))
        problem = _problem(cache)
        if problem:
            raise UsageError(f"{option} {text}: {problem}")
        level = match["level"].upper()
        remarks = tuple(r for r in caches.remarks if not r.startswith(level))
        caches = caches.with_level(level, cache)._replace(remarks=remarks)
    for level in ("I1", "D1"):
        if caches.levels[level].size > caches.last.size:
            raise UsageError(
                f"--cache: LL ({caches.last}) is smaller than {level} ({caches.levels[level]}); "
                "the last level has at least the size of the first"
            )
    return caches


def of_machine(sysfs: Path = _SYSFS) -> Caches:
    """Return the caches of the first CPU, as near as they can be simulated."""
    by_level: dict[str, Cache] = {}
    highest = 0
    for index in sorted((sysfs / "devices/system/cpu/cpu0/cache").glob("index*")):
        words = {name: _word(index / name) for name in _RECORDED}
        cache = _recorded(words)
        level = int(words["level"]) if words["level"].isdigit() else 0
        if cache is None or not level:
            continue
        if level == 1 and words["type"] in ("Instruction", "Data"):
            by_level["I1" if words["type"] == "Instruction" else "D1"] = cache
        elif level > max(highest, 1) and words["type"] in ("Unified", "Data"):
            by_level["LL"], highest = cache, level
    caches, remarks = _USUAL, []
    for level_name, usual in _USUAL.levels.items():
        if level_name not in by_level:
            remarks.append(f"{level_name}: not known on this machine; {usual} is simulated")
            continue
        cache = _legal(by_level[level_name])
        caches = caches.with_level(level_name, cache)
        if cache != by_level[level_name]:
            remarks.append(f"{level_name}: {cache} is simulated for {by_level[level_name]}")
    return caches._replace(remarks=tuple(remarks))


def _recorded(words: dict[str, str]) -> Cache | None:
    size = re.fullmatch(r"(\d{1,12})([KMG]?)", words["size"])
    ways, line = words["ways_of_associativity"], words["coherency_line_size"]
    if size is None or not re.fullmatch(r"\d{1,6}", ways) or not re.fullmatch(r"\d{1,6}", line):
        return None
    cache = Cache(int(size[1]) * _UNITS[size[2]], int(ways), int(line))
    # 0 ways is sysfs's way to say fully associative.
    if cache.ways == 0 and cache.line:
        cache = cache._replace(ways=cache.size // cache.line)
    return cache if _problem(_legal(cache)) == "" else None


def _legal(cache: Cache) -> Cache:
    """Return the nearest cache whose number of sets is a power of two, as large if possible."""
    if cache.ways < 1 or cache.line < 1 or cache.sets < 1:
        return cache
    sets = 1 << (cache.sets.bit_length() - 1)
    ways = cache.size // (sets * cache.line)
    return Cache(sets * ways * cache.line, ways, cache.line)


def _problem(cache: Cache) -> str:
    """Return why a cache cannot be simulated, "" if it can."""
    if cache.line < _SMALLEST_LINE or cache.line & (cache.line - 1):
        return f"a line has a power of two bytes, {_SMALLEST_LINE} or more, not {cache.line}"
    if not 0 < cache.size <= _LARGEST_BYTES:
        return f"a cache has 1 byte to {_LARGEST_BYTES >> 30} GiB, not {cache.size} bytes"
    if cache.ways < 1 or cache.size % (cache.ways * cache.line):
        return f"{cache.size} bytes are no whole number of sets of {cache.ways} ways"
    if cache.size == cache.line:
        return "a cache has more than one line"
    if cache.sets & (cache.sets - 1):
        return f"the number of sets must be a power of two, and {cache.sets} is not"
    return ""


def _word(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
