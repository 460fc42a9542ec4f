"""What is known of each family of PMUs: their counters, and which events may go where.

One TOML file a family, in `data/`; this module reads and checks them. Format:

    title = "..."                     for people
    source = "..."                    where the facts are from
    pmus = ["skl", "skx"]             libpfm4's names of the core PMUs that it holds for
    kernel = ["skylake"]              the kernel's own words for them (PMU, caps/pmu_name, cpuinfo)
    general = ["PMC0-7"]              the counters that any event may use
    special = ["FIXED0-2"]            the others
    with_smt = 4                      only so many general ones while the core runs two threads
    number = "16-19"                  bits of the code that hold the number of its counter, from 1;
                                      0 is any general one
    watchdog = 0x3c                   what the kernel's NMI watchdog counts
    same = [[0x2, 0x500fa]]           a code, and those that the kernel may take in its place
    [generic]                         what the kernel makes of its generic names: a code, or a code
    cycles = 0x3c                     and config1
    [[rule]]                          the first that matches says where an event goes; if none
    when = {"0-15" = [0x01c0]}        does, its `number`, or any general counter
    counters = ["PMC1"]               the preferred first; none at all: it cannot be counted
    pairs = ["PMC2-5"]                or two neighbours of these (2 and 3, 4 and 5)
    [[shared]]                        a register with room for `registers` values (default 1):
    name = "..."                      events that want more of them do not fit together
    value = "config1:0-63"
    when = {"0-15" = [0x01b7, 0x01bb]}
    registers = 2
    [[needs]]                         events that count only beside another one
    when = {...}
    beside = {...}
    why = "..."

A condition names bits of the code (`config`, or `config1:` before them) and the values that they
may have: a number, "low-high", or a list of these; all its lines must hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from gnomon.errors import ConstraintFileError
from gnomon.named_tuple import NamedTuple

_DATA = Path(__file__).parent / "data"
_COUNTERS_MAX = 64
_FILE_MAX = 1 << 20
_COUNTERS = re.compile(r"([A-Z]{1,16})([0-9]{1,2})(?:-([0-9]{1,2}))?|([A-Z]{1,16})")
_BITS = re.compile(r"(?:(config1?):)?([0-9]{1,2}(?:-[0-9]{1,2})?(?:,[0-9]{1,2}(?:-[0-9]{1,2})?)*)")
_RANGE = re.compile(r"(0x[0-9a-f]{1,16}|[0-9]{1,19})-(0x[0-9a-f]{1,16}|[0-9]{1,19})")
_KEYS = {
    "title", "source", "pmus", "kernel", "general", "special", "with_smt", "number", "watchdog",
    "same", "generic", "rule", "shared", "needs",
}  # fmt: skip


class Bits(NamedTuple):
    """Bits of an event's code, lowest first.

    Attributes:
        is_config1: they are of `config1`, not of `config`.
        positions: which.
    """

    is_config1: bool
    positions: tuple[int, ...]

    def of(self, config: int, config1: int) -> int:
        """Return their value in a code."""
        word = config1 if self.is_config1 else config
        value = 0
        for place, bit in enumerate(self.positions):
            value |= (word >> bit & 1) << place
        return value


class Condition(NamedTuple):
    """Which codes are meant: each of `fields` has a value in one of its ranges (low, high)."""

    fields: tuple[tuple[Bits, tuple[tuple[int, int], ...]], ...]

    def holds(self, config: int, config1: int) -> bool:
        """Return whether a code is meant."""
        for bits, ranges in self.fields:
            value = bits.of(config, config1)
            if not any(low <= value <= high for low, high in ranges):
                return False
        return True


class Rule(NamedTuple):
    """Where events may go: each of `places` is the counter (or two) that one takes."""

    when: Condition
    places: tuple[tuple[int, ...], ...]


class SharedRegisters(NamedTuple):
    """Registers that all events of the condition have to share."""

    name: str
    when: Condition
    value: Bits
    registers: int


class CompanionRule(NamedTuple):
    """Events that count only beside another one."""

    when: Condition
    beside: Condition
    why: str


class PmuConstraints(NamedTuple):
    """The constraints of a family of PMUs; counters are indexes into `counters`.

    Attributes:
        name: of the file.
        title: for people.
        source: where the facts are from.
        pmus: libpfm4's names of the PMUs.
        kernel: the kernel's words for them.
        counters: names, the general ones first.
        general: how many are general.
        with_smt: how many of the general ones there are with two threads on a core.
        number: bits of the code that tell the counter, None where none do.
        watchdog: what the NMI watchdog counts, None where it takes no counter.
        same: for some codes those that the kernel may take in their place.
        generic: (config, config1) of the kernel's generic names.
        rules: the first that matches holds.
        shared: registers.
        needs: what counts only beside another event.
    """

    name: str
    title: str
    source: str
    pmus: tuple[str, ...]
    kernel: tuple[str, ...]
    counters: tuple[str, ...]
    general: int
    with_smt: int
    number: Bits | None
    watchdog: int | None
    same: Mapping[int, tuple[int, ...]]
    generic: Mapping[str, tuple[int, int]]
    rules: tuple[Rule, ...]
    shared: tuple[SharedRegisters, ...]
    needs: tuple[CompanionRule, ...]


def names() -> tuple[str, ...]:
    """Return the names of the families that Gnomon knows, in alphabetic order."""
    return tuple(sorted(_tables()))


@cache
def family(name: str) -> PmuConstraints:
    """Return a family that Gnomon knows by its name."""
    return _Reader(_DATA / f"{name}.toml").family(_tables()[name])


def shipped() -> tuple[PmuConstraints, ...]:
    """Return every family that Gnomon knows, by name."""
    return tuple(family(name) for name in names())


def find(key: str, words: Collection[str]) -> PmuConstraints | None:
    """Return the first family that lists one of the words, None if none does.

    Args:
        key: the list: "pmus" (libpfm4's names) or "kernel" (the kernel's words).
        words: what a PMU is called.
    """
    for name, table in sorted(_tables().items()):
        if any(word in table.get(key, ()) for word in words):
            return family(name)
    return None


def listed(key: str) -> tuple[str, ...]:
    """Return every word that families list under a key, as `find` takes it."""
    return tuple(word for name in names() for word in _tables()[name].get(key, ()))


@cache
def _tables() -> dict[str, dict[str, Any]]:
    # Parsing the files costs 15 ms, what the build made of them one.
    try:
        from gnomon.counters.allocation._shipped import SECTIONS
    except ImportError:
        return {path.stem: _parse(path) for path in _DATA.glob("*.toml")}
    return SECTIONS


def read(path: Path) -> PmuConstraints:
    """Return the family that a file describes.

    Raises:
        ConstraintFileError: it cannot be read, or is not of the format above.
    """
    return _Reader(path).family(_parse(path))


def _parse(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            data = file.read(_FILE_MAX + 1)
        if len(data) > _FILE_MAX:
            raise ConstraintFileError(path, "", f"more than {_FILE_MAX} bytes")
        return tomllib.loads(data.decode())
    except OSError as error:
        raise ConstraintFileError(path, "", f"cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConstraintFileError(path, "", f"not TOML: {error}") from None


class _Reader:
    """Reads PmuConstraints from a table; an error names the place of what it cannot understand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counters: tuple[str, ...] = ()

    def family(self, table: dict[str, Any]) -> PmuConstraints:
        self._known(table, _KEYS, "")
        general = self._names(table.get("general"), "general")
        special = self._names(table.get("special", []), "special")
        self._counters = (*general, *special)
        if not general or len(set(self._counters)) != len(self._counters):
            self._fail("general", "there are no general counters, or two of one name")
        if len(self._counters) > _COUNTERS_MAX:
            self._fail("general", f"more than {_COUNTERS_MAX} counters")
        with_smt = table.get("with_smt", len(general))
        if type(with_smt) is not int or not 0 < with_smt <= len(general):
            self._fail("with_smt", f"'{with_smt}' is not among 1 to {len(general)}")
        return PmuConstraints(
            name=self._path.stem,
            title=self._text(table.get("title"), "title"),
            source=self._text(table.get("source"), "source"),
            pmus=self._texts(table.get("pmus", []), "pmus"),
            kernel=self._texts(table.get("kernel", []), "kernel"),
            counters=self._counters,
            general=len(general),
            with_smt=with_smt,
            number=self._bits(table["number"], "number") if "number" in table else None,
            watchdog=self._code(table["watchdog"], "watchdog") if "watchdog" in table else None,
            same=dict(self._same(codes) for codes in self._list(table.get("same", []), "same")),
            generic={
                name: self._generic(value, f"generic.{name}")
                for name, value in self._table(table.get("generic", {}), "generic").items()
            },
            rules=tuple(self._rule(rule, f"rule {at}") for at, rule in self._tables(table, "rule")),
            shared=tuple(
                self._shared(one, f"shared {at}") for at, one in self._tables(table, "shared")
            ),
            needs=tuple(
                self._needs(one, f"needs {at}") for at, one in self._tables(table, "needs")
            ),
        )

    def _same(self, value: object) -> tuple[int, tuple[int, ...]]:
        codes = [self._code(code, "same") for code in self._list(value, "same")]
        if len(codes) < 2:
            self._fail("same", "a code without another one")
        return codes[0], tuple(codes[1:])

    def _rule(self, table: dict[str, Any], where: str) -> Rule:
        self._known(table, {"when", "counters", "pairs"}, where)
        single = self._indexes(table.get("counters", []), where)
        double = self._indexes(table.get("pairs", []), where)
        if "counters" not in table and "pairs" not in table:
            self._fail(where, "says neither counters nor pairs")
        places = (
            *((one,) for one in single),
            *zip(double[::2], double[1::2], strict=False),
        )
        return Rule(self._condition(table.get("when"), where), places)

    def _indexes(self, value: object, where: str) -> tuple[int, ...]:
        names = self._names(value, where)
        missing = [name for name in names if name not in self._counters]
        if missing:
            self._fail(where, f"there is no counter '{missing[0]}'")
        return tuple(self._counters.index(name) for name in names)

    def _shared(self, table: dict[str, Any], where: str) -> SharedRegisters:
        self._known(table, {"name", "when", "value", "registers"}, where)
        registers = table.get("registers", 1)
        if type(registers) is not int or registers < 1:
            self._fail(where, f"registers = '{registers}' is no number of registers")
        return SharedRegisters(
            self._text(table.get("name"), where),
            self._condition(table.get("when", {}), where),
            self._bits(table.get("value"), where),
            registers,
        )

    def _needs(self, table: dict[str, Any], where: str) -> CompanionRule:
        self._known(table, {"when", "beside", "why"}, where)
        return CompanionRule(
            self._condition(table.get("when"), where),
            self._condition(table.get("beside"), where),
            self._text(table.get("why"), where),
        )

    def _condition(self, value: object, where: str) -> Condition:
        fields = []
        for key, wanted in self._table(value, where).items():
            values = wanted if isinstance(wanted, list) else [wanted]
            if not values:
                self._fail(where, f"'{key}' may have no value at all")
            fields.append((self._bits(key, where), tuple(self._span(v, where) for v in values)))
        return Condition(tuple(fields))

    def _span(self, value: object, where: str) -> tuple[int, int]:
        match = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            code = self._code(value, where)
            return code, code
        low, high = (int(text, 16 if text.startswith("0x") else 10) for text in match.groups())
        if low > high:
            self._fail(where, f"'{value}' runs backwards")
        return low, high

    def _bits(self, value: object, where: str) -> Bits:
        match = _BITS.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            self._fail(where, f"'{value}' names no bits")
        positions: list[int] = []
        for part in match[2].split(","):
            low, _, high = part.partition("-")
            positions.extend(range(int(low), int(high or low) + 1))
        if not positions or max(positions) > 63 or len(set(positions)) != len(positions):
            self._fail(where, f"'{value}' are no bits of a 64-bit code")
        return Bits(match[1] == "config1", tuple(positions))

    def _generic(self, value: object, where: str) -> tuple[int, int]:
        if not isinstance(value, list):
            return self._code(value, where), 0
        if len(value) != 2:
            self._fail(where, "is neither a code nor a code and its config1")
        return self._code(value[0], where), self._code(value[1], where)

    def _code(self, value: object, where: str) -> int:
        if type(value) is not int or not 0 <= value < 1 << 64:
            self._fail(where, f"'{value}' is no code of 64 bits")
        return value

    def _names(self, value: object, where: str) -> tuple[str, ...]:
        names: list[str] = []
        for text in self._texts(value, where):
            match = _COUNTERS.fullmatch(text)
            if match is None:
                self._fail(where, f"'{text}' names no counters")
            if match[4] is not None:
                names.append(text)
                continue
            last = int(match[3] or match[2])
            names.extend(f"{match[1]}{number}" for number in range(int(match[2]), last + 1))
        return tuple(names)

    def _texts(self, value: object, where: str) -> tuple[str, ...]:
        return tuple(self._text(text, where) for text in self._list(value, where))

    def _text(self, value: object, where: str) -> str:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            self._fail(where, f"'{value!r}' is no text")
        return value

    def _list(self, value: object, where: str) -> list[Any]:
        if not isinstance(value, list):
            self._fail(where, "is no list")
        return value

    def _table(self, value: object, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._fail(where, "is no table")
        return value

    def _tables(self, table: dict[str, Any], key: str) -> list[tuple[int, dict[str, Any]]]:
        rows = self._list(table.get(key, []), key)
        return [(at, self._table(row, f"{key} {at}")) for at, row in enumerate(rows, start=1)]

    def _known(self, table: dict[str, Any], keys: set[str], where: str) -> None:
        for key in table:
            if key not in keys:
                self._fail(where or key, f"there is no key '{key}'")

    def _fail(self, where: str, problem: str) -> NoReturn:
        raise ConstraintFileError(self._path, where, problem)
