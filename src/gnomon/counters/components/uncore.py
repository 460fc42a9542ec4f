"""The `uncore` component: counters outside the cores, which belong to no program.

Memory controllers, shared caches, interconnects, PCIe roots and their like have PMUs of their own,
one for each unit (`uncore_imc_0`, `uncore_imc_1`, ...). What they count is the machine's, whoever
caused it. A name without the units' numbers is their sum (`uncore_imc/cas_count_read/`), as with
perf; a pattern or `per=unit` gives one event a unit, `per=socket` one a socket.

Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}; perf-stat(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import _core
from gnomon.counters.component import Availability, Event, EventInfo, OpenResult, Overflow, Target
from gnomon.counters.event_grammar import PmuTerms, modifiers, pmu_terms
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.sysfs_pmu import SYSFS, Encoding, Pmu
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Domain, Scope

if TYPE_CHECKING:
    from gnomon.counters.system_wide import PmuEvent

_PREFIX = "uncore:::"
_UNCORE = "uncore_"
_GLOB = frozenset("*?[")
# uncore_imc_0, amd_umc_11, smmuv3_pmcg_ff88840: decimal, or a longer hexadecimal address
_NUMBERED = r"(.+?)_(?:\d+|(?=[a-f]*\d)[0-9a-f]{3,})"
# RAPL is the power component's; the others write traces and count nothing.
_OTHERS = r"power(_core)?|msr|arm_spe_\d+|hisi_ptt.*|cs_etm|intel_(pt|bts|th).*"
_SLICES = ("unit", "socket")
_STATIC_TYPES = 6


class UncoreComponent:
    """PMUs of the units that the cores share."""

    name = "uncore"
    description = "counters outside the cores: memory controllers, caches, interconnects"
    how_measured = "counted by the PMU of each unit, for the whole machine (perf_event_open)"
    scope = Scope.NODE
    overflow = Overflow.IMPOSSIBLE

    def __init__(self, sysfs: Path | str = SYSFS) -> None:
        self._sysfs = Path(sysfs)

    def availability(self) -> Availability:
        """Return whether an event of some unit opens here."""
        from gnomon.counters.system_wide import NodeSpec, availability, places

        families = self._families()
        if not families:
            return Availability(False, *self._none_here())
        tried = None
        for family, units in families.items():
            encodings = (self._try_encode(units[0], name) for name in units[0].event_names())
            encoding = next((e for e in encodings if e is not None), Encoding(units[0].type, 0))
            spec = NodeSpec(places(units[0], encoding))
            if spec.places:
                info = EventInfo(family, self.name, "", "", Scope.NODE)
                tried = availability(Event(family, info, Domain.ALL, spec), self._sysfs)
                if tried.available:
                    return tried
        return tried or Availability(
            False, "no unit has a CPU that is online", "switch a CPU of each socket on"
        )

    def counters(self) -> int | None:
        """Return None: every unit has counters of its own."""
        return None

    def events(self) -> Iterator[EventInfo]:
        """Yield the kernel's names for the units' events, combined over units of one kind."""
        for family, units in self._families().items():
            for event in units[0].event_names():
                title = units[0].name if len(units) == 1 else family
                yield self._info(f"{title}/{event}/", units, event)

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of `unit/terms/`, combined or one for each unit or socket.

        Raises:
            EventNameError: a unit without that event or parameter, or a modifier.
            EventUnavailableError: no CPU stands for the unit, or units that cannot be added up.
        """
        typed = name.removeprefix(_PREFIX)
        events: tuple[Event, ...] = ()
        if "/" in typed:
            events = self._from_terms(name, typed)
        elif "::" in typed:
            events = self._from_libpfm(name, typed)
        return events or (self._unknown(name) if typed != name else ())

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:  # noqa: ARG002
        """Open events for the whole machine, whatever the target is."""
        from gnomon.counters.system_wide import open_node_wide

        return open_node_wide(events, self._sysfs)

    def _families(self) -> dict[str, list[Pmu]]:
        """Return the units by what their names begin with, in the order of their numbers."""
        from gnomon.counters.system_wide import pmu_names

        families: dict[str, list[Pmu]] = {}
        for name in sorted(pmu_names(self._sysfs), key=_natural):
            pmu = self._unit(name)
            if pmu is not None:
                families.setdefault(_family(name), []).append(pmu)
        return families

    def _unit(self, name: str) -> Pmu | None:
        from gnomon.counters.system_wide import node_pmu

        return None if re.fullmatch(_OTHERS, name) else node_pmu(self._sysfs, name)

    def _units(self, pattern: str) -> tuple[Pmu, ...]:
        """Return the units that a typed PMU means: that one, those of a pattern, or of a kind."""
        from gnomon.counters.system_wide import pmu_names

        names = sorted(pmu_names(self._sysfs), key=_natural)
        if pattern in names:
            chosen = [pattern]
        elif _GLOB & set(pattern):
            wanted = (pattern, _UNCORE + pattern)
            chosen = [n for n in names if any(fnmatchcase(n, p) for p in wanted)]
        else:
            wanted = (pattern, _UNCORE + pattern)
            chosen = [n for n in names if _family(n) in wanted]
        return tuple(pmu for n in chosen if (pmu := self._unit(n)) is not None)

    def _from_terms(self, name: str, typed: str) -> tuple[Event, ...]:
        """Return the events of `unit/terms/`, sliced as it asks; () if it is no unit here."""
        base, mods = modifiers(typed)
        pattern, _, rest = base.partition("/")
        units = self._units(pattern)
        # The grammar of names knows no patterns: the unit's place is held by a word.
        terms = pmu_terms(f"uncore/{rest}") if units and rest.strip("/") else None
        if terms is None:
            if units:
                raise EventNameError(name, "no event of the unit between the slashes")
            return ()
        if mods.exclude:
            raise EventNameError(name, "uncore units count in every mode; omit the modifier")
        own = {key for key in ("per", "socket") if not (units[0].path / "format" / key).exists()}
        asked = {key: value or "" for key, value in terms.terms if key in own}
        rest_terms = PmuTerms(terms.pmu, tuple(t for t in terms.terms if t[0] not in own))
        is_glob = bool(_GLOB & set(pattern))
        per = asked.get("per", "unit" if is_glob else "")
        if per and per not in _SLICES:
            raise EventNameError(name, f"per={per}: events are given per=unit or per=socket")
        if not rest_terms.terms:
            raise EventNameError(name, "no event of the unit between the slashes")
        by_unit = is_glob or per == "unit"
        text = ",".join(k if v is None else f"{k}={v}" for k, v in rest_terms.terms)
        if is_glob:
            units = self._having(name, units, rest_terms)
        events: list[Event] = []
        for part in [[unit] for unit in units] if by_unit else [list(units)]:
            title = part[0].name if by_unit else pattern
            spots = self._places(name, part, rest_terms)
            if "socket" not in asked and per != "socket":
                whole = f"{title}/{text}/" if by_unit else name
                events.append(self._event(whole, part, rest_terms, spots))
                continue
            for number, of_socket in self._on_sockets(name, spots, asked.get("socket")).items():
                slice_name = f"{title}/{text},socket={number}/"
                events.append(self._event(slice_name, part, rest_terms, of_socket))
        return tuple(events)

    def _having(self, name: str, units: Sequence[Pmu], terms: PmuTerms) -> tuple[Pmu, ...]:
        """Return the units of a pattern that have the event. Raises EventNameError if none has."""
        having: list[Pmu] = []
        errors: list[EventNameError] = []
        for unit in units:
            try:
                unit.encode(terms, name)
            except EventNameError as error:
                errors.append(error)
            else:
                having.append(unit)
        if not having:
            raise errors[0]
        return tuple(having)

    def _places(self, name: str, units: Sequence[Pmu], terms: PmuTerms) -> list[PmuEvent]:
        from gnomon.counters.system_wide import places

        all_places: list[PmuEvent] = []
        for unit in units:
            of_unit = places(unit, unit.encode(terms, name))
            if not of_unit:
                raise EventUnavailableError(
                    name,
                    f"no CPU stands for PMU '{unit.name}': its cpumask is empty",
                    "switch a CPU of its socket on (/sys/devices/system/cpu)",
                )
            all_places.extend(of_unit)
        return all_places

    def _on_sockets(
        self, name: str, spots: Sequence[PmuEvent], wanted: str | None
    ) -> dict[int, list[PmuEvent]]:
        from gnomon.counters.system_wide import socket_of

        sockets: dict[int, list[PmuEvent]] = {}
        for place in spots:
            sockets.setdefault(socket_of(self._sysfs, place.cpu) or 0, []).append(place)
        if wanted is None:
            return dict(sorted(sockets.items()))
        chosen = {number: of for number, of in sockets.items() if str(number) == wanted}
        if not chosen:
            there = ", ".join(str(number) for number in sorted(sockets))
            raise EventNameError(name, f"it has no unit on socket '{wanted}', only on {there}")
        return chosen

    def _event(
        self, typed: str, units: Sequence[Pmu], terms: PmuTerms, spots: Sequence[PmuEvent]
    ) -> Event:
        from gnomon.counters.system_wide import NodeSpec, scaling

        names = [key for key, value in terms.terms if value is None and _has_event(units[0], key)]
        named = names[0] if names else ""
        factor, _ = scaling(units[0], named) if named else (1.0, "")
        if any(scaling(unit, named) != scaling(units[0], named) for unit in units if named):
            raise EventUnavailableError(
                typed, "its units count in different steps", "count each: add per=unit"
            )
        title = units[0].name if len(units) == 1 else _family(units[0].name)
        info = self._info(f"{title}/{named}/" if named else typed, units, named)
        return Event(typed, info, Domain.ALL, NodeSpec(tuple(spots)), factor)

    def _info(self, name: str, units: Sequence[Pmu], event: str) -> EventInfo:
        from gnomon.counters.system_wide import scaling

        unit = scaling(units[0], event)[1] if event else ""
        first, last = units[0].name, units[-1].name
        covers = f"unit {first}" if len(units) == 1 else f"{first} to {last}, added up"
        return EventInfo(name, self.name, f"{covers}, on every socket", unit, Scope.NODE)

    def _from_libpfm(self, name: str, base: str) -> tuple[Event, ...]:
        """Return the event of a name such as `skx_unc_imc0::UNC_M_CAS_COUNT:RD`."""
        from gnomon.counters.libpfm import libpfm_pmus
        from gnomon.counters.system_wide import NodeSpec, places

        if ":::" in base or not self._families():
            return ()
        try:
            libpfm_pmus()
            kind, config, config1, config2, exclude, full = _core.pfm_encode(base)
        except (_core.PfmError, ImportError):
            return ()
        known = (unit for units in self._families().values() for unit in units)
        unit = next((u for u in known if u.type == kind and kind >= _STATIC_TYPES), None)
        if unit is None:
            return ()
        info = EventInfo(full, self.name, f"unit {unit.name}, on every socket", "", Scope.NODE)
        encoding = Encoding(kind, config, config1, config2, exclude=exclude)
        return (Event(name, info, Domain.ALL, NodeSpec(places(unit, encoding))),)

    def _try_encode(self, unit: Pmu, event: str) -> Encoding | None:
        try:
            return unit.encode(PmuTerms(unit.name, ((event, None),)), event)
        except EventNameError:
            return None

    def _unknown(self, name: str) -> tuple[Event, ...]:
        known = [_PREFIX + info.name for info in self.events()]
        raise EventNameError(
            name, "component 'uncore' has no such event here", nearest(name, known)
        )

    def _none_here(self) -> tuple[str, str]:
        from gnomon.counters.virtualization import hypervisor

        host = hypervisor(self._sysfs.parent)
        if host is not None:
            return (
                f"no uncore PMU: the hypervisor ({host.name}) gives this virtual machine none",
                "run on the host or on bare metal",
            )
        return (
            "no uncore PMU: the kernel has no driver for this machine's units",
            "as root: modprobe intel_uncore (AMD: amd_uncore; Arm: arm-cmn, arm_dsu_pmu), or use "
            "a newer kernel",
        )


COMPONENT = UncoreComponent()


def _family(name: str) -> str:
    match = re.fullmatch(_NUMBERED, name)
    return match[1] if match else name


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that puts unit 2 before unit 10."""
    parts = re.split(r"(\d{1,18})", name)
    return [(int(part), "") if at % 2 else (0, part) for at, part in enumerate(parts)]


def _has_event(unit: Pmu, key: str) -> bool:
    return "/" not in key and (unit.path / "events" / key).is_file()
