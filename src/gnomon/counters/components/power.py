"""The `power` component: energy, power and temperature of the machine.

Three sources, each under names of its own:

- the `power` PMU (RAPL through perf): `power:::energy-pkg`, of one package `power:::energy-pkg:0`,
  as perf writes it `power/energy-pkg/`. The kernel follows these counters past their ends.
- powercap (RAPL through sysfs): `power:::package_energy`, of one zone `power:::package-0:energy`,
  `power:::package-0:dram:energy`. Root's only since Linux 5.10.
- hwmon: the sensors of boards and chips, `power:::CHIP:SENSOR:power` (energy, temperature).

What covers what: a package's energy holds that of its cores and of its integrated GPU (`uncore`,
`energy-gpu`); memory (`dram`, `energy-ram`) is beside it; the platform (`psys`) holds all of them.
Added up, parts and wholes count twice. All of it is the machine's, not only the program's.

Source: Documentation/ABI/testing/sysfs-class-powercap, arch/x86/events/rapl.c,
Documentation/hwmon/sysfs-interface.rst.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.counters.component import (
    Availability,
    CounterSession,
    Event,
    EventInfo,
    OpenResult,
    Target,
)
from gnomon.counters.composite_counters import JoinedSession
from gnomon.counters.event_grammar import modifiers, pmu_terms
from gnomon.counters.name_suggestions import nearest
from gnomon.counters.procfs import entries, read_errno, read_line, read_number
from gnomon.counters.sensor_component import SensorComponent, event_of
from gnomon.counters.sensors import Sensor
from gnomon.counters.snapshot_component import Problem
from gnomon.errors import EventNameError, EventUnavailableError
from gnomon.model.value import Domain, Scope

if TYPE_CHECKING:
    from gnomon.counters.sysfs_pmu import Pmu

_PREFIX = "power:::"
_PMUS = ("power", "power_core")
_POWERCAP = "class/powercap"
_HWMON = "class/hwmon"
_INTEL = "intel-rapl"
# Patterns that only a name of this component needs: compiled then, not at every start.
_ZONE = r"([\w-]+?)((?::\d+){1,8})"
_HWMON_VALUE = r"(power|energy|temp)(\d{1,4})_(average|input)"
_UNNAMEABLE = r"[^\w.+-]+"
_INTEGER = r"-?[0-9]{1,19}"

# event of the power PMU: what it covers
_PARTS = {
    "energy-pkg": "processor packages: cores, caches, memory controllers, integrated GPU",
    "energy-cores": "all cores; part of energy-pkg",
    "energy-core": "all cores, each by itself; part of energy-pkg",
    "energy-gpu": "integrated GPU; part of energy-pkg",
    "energy-ram": "memory; not part of energy-pkg",
    "energy-psys": "the whole platform; energy-pkg and energy-ram are parts of it",
}
# kind of a powercap zone, as its name begins: what it covers
_ZONES = {
    "package": "processor packages: cores, caches, memory controllers, integrated GPU",
    "core": "all cores; part of package_energy",
    "uncore": "integrated GPU; part of package_energy",
    "dram": "memory; not part of package_energy",
    "psys": "the whole platform; package_energy and dram_energy are parts of it",
}
# of hwmon: field of the event, unit, factor, whether it is a gauge, whether its peak counts
_KINDS = {
    "power": ("power", "W", 1e-6, True, False),
    "energy": ("energy", "J", 1e-6, False, False),
    "temp": ("temperature", "°C", 1e-3, True, True),
}


class PowerComponent(SensorComponent):
    """Energy counters of processors and memory (RAPL), and power sensors of the board."""

    name = "power"
    description = "energy, power and temperature of processors, memory and boards"
    how_measured = "RAPL counters through perf or powercap; sensors through hwmon; whole machine"

    def availability(self) -> Availability:
        """Return whether any energy counter or sensor can be read."""
        from gnomon.counters.system_wide import availability

        works = False
        problems: list[Problem] = []
        first = next(self._perf_infos(), None)
        if first is not None:
            try:
                tried = availability(self._perf_event(first.name, first.name), self.sys)
            except EventNameError as error:
                tried = Availability(False, str(error), "use a newer kernel")
            works = tried.available
            if not works:
                problems.append((tried.reason, tried.remedy, tried.errno))
        fields = [field for sensor in self.sensors() for field in sensor.fields]
        energies = [f for f in dict.fromkeys(fields) if f.startswith(_POWERCAP)]
        refused = [f for f in energies if f not in self.read([f])]
        works |= len(refused) < len(energies)
        problems.extend(self.problem(field) for field in refused[:1])
        others = (f for f in fields if f not in energies)
        works = works or any(self.read([field]) for field in others)
        if not works and not problems:
            problems.append(self._nothing_here())
        reason, remedy, number = problems[0] if problems else ("", "", 0)
        return Availability(works, reason, remedy, number)

    def events(self) -> Iterator[EventInfo]:
        """Yield the events of the power PMU, then the sensors."""
        yield from self._perf_infos()
        yield from super().events()

    def resolve(self, name: str) -> tuple[Event, ...]:
        """Return the event of `power:::...` or `power/.../`.

        Raises:
            EventNameError: a name that begins so, and there is no such event.
            EventUnavailableError: an event that other machines have.
        """
        if not name.startswith(_PREFIX):
            if not name.startswith(tuple(f"{pmu}/" for pmu in _PMUS)):
                return ()
            base, mods = modifiers(name)
            terms = pmu_terms(base)
            if terms is None or self._pmu(terms.pmu) is None:
                return ()
            if mods.exclude:
                raise EventNameError(name, "energy is of every mode; omit the modifier")
            return (self._perf_event(name, base),)
        for info in self._perf_infos(sliced=True):
            if info.name == name:
                return (self._perf_event(name, name),)
        for sensor in self.sensors():
            if sensor.info.name == name:
                return (event_of(name, sensor),)
        known = [info.name for info in self.events()]
        self._refuse_missing(name, known)
        raise EventNameError(name, "component 'power' has no such event here", nearest(name, known))

    def open(self, events: Sequence[Event], target: Target) -> OpenResult:
        """Open events for the whole machine, whatever the target is."""
        from gnomon.counters.system_wide import open_node_wide

        sensors = [event for event in events if isinstance(event.spec, Sensor)]
        rest = [event for event in events if not isinstance(event.spec, Sensor)]
        parts = [self.open_sensors(sensors, target), open_node_wide(rest, self.sys)]
        kept = tuple(event for part in parts for event in part.events)
        refused = tuple(one for part in parts for one in part.refused)
        notes = tuple(note for part in parts for note in part.notes)
        countings: list[CounterSession] = [p.counting for p in parts if p.counting is not None]
        if len(countings) < 2:
            return OpenResult(countings[0] if countings else None, kept, refused, notes)
        n = len(parts[0].events)
        return OpenResult(
            JoinedSession(countings, [range(n), range(n, len(kept))]), kept, refused, notes
        )

    def sensors(self) -> Iterator[Sensor]:
        """Yield the sums over powercap zones, each zone, then the sensors of hwmon."""
        zones = self._zones()
        for kind, covers in _ZONES.items():
            fields = tuple(f for _, _, k, f in zones if k == kind)
            if fields:
                info = self._info(f"{kind}_energy", f"energy of {covers}", "J")
                yield Sensor(info, fields, 1e-6)
        for title, zone, _, field in zones:
            text = f"energy of powercap zone {zone} ({read_line(self._zone(zone) / 'name')})"
            yield Sensor(self._info(f"{title}:energy", text, "J"), (field,), 1e-6)
        yield from self._hwmon()

    def read(self, fields: Sequence[str]) -> Mapping[str, int]:
        """Return the numbers of files under /sys."""
        numbers = {}
        for field in fields:
            text = read_line(self.sys / field)
            if re.fullmatch(_INTEGER, text):
                numbers[field] = int(text)
        return numbers

    def ranges(self, fields: Sequence[str]) -> Mapping[str, int]:
        """Return where the counters of powercap zones start again at 0."""
        ranges_of = {}
        for field in fields:
            if field.startswith(_POWERCAP):
                # The highest number it shows; what it is rounded by does not matter.
                highest = read_number((self.sys / field).parent / "max_energy_range_uj") or 0
                ranges_of[field] = highest + 1 if highest else 0
        return ranges_of

    def problem(self, field: str) -> Problem:
        """Return why a file cannot be read."""
        path = self.sys / field
        number = read_errno(path)
        if number in (errno.EACCES, errno.EPERM) and field.startswith(_POWERCAP):
            return (
                f"{path} is for root only (since Linux 5.10: CVE-2020-8694)",
                "run as root; or count power:::energy-pkg, which needs CAP_PERFMON or "
                "kernel.perf_event_paranoid=0; or, where all users are trusted, as root: "
                f"chmod a+r /sys/{_POWERCAP}/*/energy_uj",
                number,
            )
        if number in (errno.EACCES, errno.EPERM):
            return f"{path} may not be read ({os.strerror(number)})", "run as root", number
        if number:
            return (
                f"{path} cannot be read ({os.strerror(number)})",
                "its driver has no value now, or the device sleeps or is gone: see dmesg",
                number,
            )
        return f"{path} holds no number", "see the documentation of its driver", 0

    def _info(self, name: str, text: str, unit: str, *, gauge: bool = False) -> EventInfo:
        return EventInfo(_PREFIX + name, self.name, text, unit, Scope.NODE, gauge=gauge)

    # --- the power PMU ---

    def _pmu(self, name: str) -> Pmu | None:
        from gnomon.counters.system_wide import node_pmu

        return node_pmu(self.sys, name)

    def _perf_infos(self, *, sliced: bool = False) -> Iterator[EventInfo]:
        """Yield the events of the power PMU, in all and (of several packages, or `sliced`) in each.

        An event without its scale would be a number without a unit, so that it is left out.
        """
        from gnomon.counters.system_wide import cpus_of, scaling, socket_of

        for pmu in (self._pmu(name) for name in _PMUS):
            if pmu is None:
                continue
            sockets = sorted({socket_of(self.sys, cpu) or 0 for cpu in cpus_of(pmu)})
            for event in pmu.event_names():
                unit = scaling(pmu, event)[1]
                if not unit or not sockets:
                    continue
                covers = _PARTS.get(event, f"what the kernel calls {event}")
                yield self._info(event, f"energy of {covers}", unit)
                for socket in sockets if sliced or len(sockets) > 1 else []:
                    text = f"energy of {covers}: socket {socket}"
                    yield self._info(f"{event}:{socket}", text, unit)

    def _perf_event(self, name: str, base: str) -> Event:
        """Return the event of `power:::event[:socket]` or `power/terms/`, which is known."""
        from gnomon.counters.event_grammar import PmuTerms
        from gnomon.counters.system_wide import NodeSpec, places, scaling, socket_of

        event, _, socket = base.removeprefix(_PREFIX).partition(":")
        terms = pmu_terms(base) if "/" in base else None
        pmus = [pmu for pmu in map(self._pmu, _PMUS) if pmu is not None]
        if terms is not None:
            pmu = next(one for one in pmus if one.name == terms.pmu)
            event, socket = terms.terms[0][0], ""
        else:
            pmu = next(one for one in pmus if event in one.event_names())
            terms = PmuTerms(pmu.name, ((event, None),))
        spots = places(pmu, pmu.encode(terms, name))
        if socket:
            spots = tuple(p for p in spots if str(socket_of(self.sys, p.cpu) or 0) == socket)
        if not spots:
            raise EventUnavailableError(
                name, f"no CPU stands for PMU '{pmu.name}'", "switch a CPU of its socket on"
            )
        factor, unit = scaling(pmu, event) if event in pmu.event_names() else (1.0, "")
        covers = _PARTS.get(event, f"what the kernel calls {event}")
        where = f": socket {socket}" if socket else ""
        info = self._info(f"{event}:{socket}" if socket else event, f"energy of {covers}{where}",
                          unit)  # fmt: skip
        return Event(name, info, Domain.ALL, NodeSpec(spots), factor)

    def _refuse_missing(self, name: str, names: Sequence[str]) -> None:
        """Raise EventUnavailableError for a name that means something, only not here."""
        field = name.removeprefix(_PREFIX).partition(":")[0]
        sums = {f"{kind}_energy" for kind in _ZONES}
        if field not in _PARTS and field not in sums:
            return
        others = [one for one in names if one.endswith(("energy", "energy-pkg"))]
        if not names:
            raise EventUnavailableError(name, *self._nothing_here())
        source = "power PMU" if field in _PARTS else "powercap"
        remedy = f"count {others[0]}" if others else "see gnomon events --component power"
        raise EventUnavailableError(name, f"this machine's {source} does not provide it", remedy)

    # --- powercap ---

    def _zone(self, zone: str) -> Path:
        return self.sys / _POWERCAP / zone

    def _zones(self) -> list[tuple[str, str, str, str]]:
        """Return title, zone, kind ("" if not for sums) and field of every zone with energy."""
        zones = []
        titles: dict[str, str] = {}
        for zone in sorted(entries(self.sys / _POWERCAP), key=lambda z: (z.count(":"), z)):
            match = re.fullmatch(_ZONE, zone)
            if match is None:
                continue
            parent = zone.rpartition(":")[0]
            own = read_line(self._zone(zone) / "name")
            title = _slug(own) or zone.replace(":", "-")
            if parent in titles:
                title = f"{titles[parent]}:{title}"
            elif match[1] != _INTEL:
                # The same package again through another interface (intel-rapl-mmio), or another.
                title = f"{match[1].removeprefix(_INTEL + '-')}:{title}"
            if title in titles.values():
                title = f"{title}-{zone.replace(':', '-')}"
            titles[zone] = title
            field = f"{_POWERCAP}/{zone}/energy_uj"
            if (self.sys / field).exists():
                kind = re.split(r"[^a-z]", own, maxsplit=1)[0] if match[1] == _INTEL else ""
                zones.append((title, zone, kind, field))
        return zones

    # --- hwmon ---

    def _hwmon(self) -> Iterator[Sensor]:
        for chip, folder in self._chips().items():
            names = entries(self.sys / _HWMON / folder)
            taken: set[str] = set()
            for file in names:
                match = re.fullmatch(_HWMON_VALUE, file)
                # Where a sensor has both, its present value is the one to sample.
                if match is None or (match[3] == "average" and f"{match[1]}{match[2]}_input"
                                     in names):  # fmt: skip
                    continue
                sensor = f"{match[1]}{match[2]}"
                label = read_line(self.sys / _HWMON / folder / f"{sensor}_label")
                title = _slug(label) or sensor
                field, unit, factor, gauge, peak = _KINDS[match[1]]
                name = f"{chip}:{title}:{field}"
                if name in taken:
                    name = f"{chip}:{title}-{sensor}:{field}"
                taken.add(name)
                text = f"{field} of sensor {label or sensor} of {chip}"
                info = self._info(name, text, unit, gauge=gauge)
                yield Sensor(info, (f"{_HWMON}/{folder}/{file}",), factor, peak)

    def _chips(self) -> dict[str, str]:
        """Return the folder of each chip; chips of one name are told apart by their devices."""
        folders: dict[str, list[str]] = {}
        for folder in entries(self.sys / _HWMON):
            name = _slug(read_line(self.sys / _HWMON / folder / "name")) or folder
            folders.setdefault(name, []).append(folder)
        folder_of = {}
        for name, alike in folders.items():
            for folder in alike:
                device = self.sys / _HWMON / folder / "device"
                which = _slug(device.resolve().name) if device.is_symlink() else folder
                title = name if len(alike) == 1 else f"{name}-{which}"
                folder_of[title if title not in folder_of else f"{title}-{folder}"] = folder
        return folder_of

    def _nothing_here(self) -> Problem:
        from gnomon.counters.virtualization import container, hypervisor

        root = self.sys.parent
        host = hypervisor(root)
        if host is not None:
            return (
                f"no energy counter and no sensor: the hypervisor ({host.name}) gives this virtual "
                "machine none",
                "measure on the host or on bare metal",
                0,
            )
        if any(re.fullmatch(_ZONE, zone) for zone in entries(self.sys / _POWERCAP)) and container(
            root
        ):
            return (
                f"the container masks the energy counters of /sys/{_POWERCAP}",
                "run outside, or with `docker run --security-opt systempaths=unconfined`",
                0,
            )
        return (
            "no energy counter and no sensor: the kernel shows neither the power PMU nor powercap "
            "zones nor hwmon chips",
            "as root: modprobe rapl intel_rapl_msr (processors), acpi_power_meter (boards)",
            0,
        )


COMPONENT = PowerComponent()


def _slug(text: str) -> str:
    """Return text as a part of an event's name: without blanks, colons, commas and braces."""
    return re.sub(_UNNAMEABLE, "_", text).strip("_")
