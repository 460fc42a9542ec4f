"""Counting through perf_event_open(2) for the whole machine: uncore and power PMUs.

Such a PMU belongs to no task. Each of its units is opened once on every CPU of its `cpumask`, one
for each socket (die, cluster) that has the unit, and an event's count is the sum over these places.
It is started and stopped by us: the kernel does not begin it when a program is executed.

Source: perf_event_open(2) (pid -1); Documentation/ABI/testing/sysfs-bus-event_source-devices-*.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from gnomon import _core
from gnomon.counters.component import Availability, Event, OpenResult, RawCount, Refusal, make_value
from gnomon.counters.procfs import entries, read_line, read_number
from gnomon.counters.sysfs_pmu import Encoding, Pmu, cpu_list
from gnomon.errors import UsageError
from gnomon.model.value import Value
from gnomon.named_tuple import NamedTuple

DEVICES = "bus/event_source/devices"

_ROOT = Path("/")
_EVERY_PROCESS = -1
_MOST_TYPE = 1 << 32


class PmuEvent(NamedTuple):
    """Where an event is opened: a unit (PMU), the CPU that stands for it, and the encoding."""

    pmu: str
    cpu: int
    encoding: Encoding


class NodeSpec(NamedTuple):
    """How a node-wide event is opened: its count is the sum over these places."""

    places: tuple[PmuEvent, ...]


def node_pmu(sysfs: Path, name: str) -> Pmu | None:
    """Return the PMU of that name if it counts for the whole machine, else None.

    Such a PMU has a `cpumask` file; a core's has `cpus`, and one that counts tasks has neither.
    """
    path = sysfs / DEVICES / name
    kind = read_number(path / "type")
    if kind is None or kind >= _MOST_TYPE or not (path / "cpumask").exists():
        return None
    pmu = Pmu(name, kind, path)
    return None if pmu.is_core else pmu


def pmu_names(sysfs: Path) -> tuple[str, ...]:
    """Return the name of every PMU of this machine, sorted."""
    return entries(sysfs / DEVICES)


def cpus_of(pmu: Pmu) -> tuple[int, ...]:
    """Return the CPUs to open a node-wide PMU on, sorted; () if its `cpumask` names none."""
    return tuple(sorted(set(cpu_list(read_line(pmu.path / "cpumask")))))


def socket_of(sysfs: Path, cpu: int) -> int | None:
    """Return the number of the socket (physical package) of a CPU, None if it is not told."""
    return read_number(sysfs / f"devices/system/cpu/cpu{cpu}/topology/physical_package_id")


def places(pmu: Pmu, encoding: Encoding) -> tuple[PmuEvent, ...]:
    """Return a place on each CPU that a PMU is opened on."""
    return tuple(PmuEvent(pmu.name, cpu, encoding) for cpu in cpus_of(pmu))


def scaling(pmu: Pmu, event: str) -> tuple[float, str]:
    """Return the factor and the unit that the kernel gives an event; (1, "") for a plain count.

    A unit whose factor cannot be read would make any number of it wrong, so that it is left out.
    """
    unit = read_line(pmu.path / "events" / f"{event}.unit")
    text = read_line(pmu.path / "events" / f"{event}.scale")
    try:
        factor = float(text or 1)
    except ValueError:
        return 1, ""
    if not math.isfinite(factor) or factor <= 0:
        return 1, ""
    return factor, "J" if unit == "Joules" else unit


def open_node_wide(events: Sequence[Event], sysfs: Path = _ROOT / "sys") -> OpenResult:
    """Open events whose spec is a `NodeSpec`; of each that would not open, say why.

    Events of one brace group are put on the PMU together at every place; they must have the same
    places. All others are independent, so that the kernel can multiplex them.

    Raises:
        UsageError: more events in braces than one group of the core holds.
    """
    kept: list[Event] = []
    refused: list[Refusal] = []
    opened: list[list[_core.Group[Value]]] = []
    for bundle in _bundles(events):
        strangers = [e for e in bundle if _where(e) != _where(bundle[0])]
        refused.extend(_stranger(event, bundle[0]) for event in strangers)
        together = [event for event in bundle if event not in strangers]
        while together:
            groups, refusal = _open_bundle(together, sysfs)
            if refusal is None:
                opened.append(groups)
                kept.extend(together)
                break
            # Which of them it was is told; the others are tried without it.
            refused.append(refusal)
            together.remove(refusal.event)
    if not kept:
        return OpenResult(None, (), tuple(refused))
    return OpenResult(NodeSession(opened), tuple(kept), tuple(refused))


def availability(event: Event, sysfs: Path = _ROOT / "sys") -> Availability:
    """Return whether a node-wide event opens here, found by trying."""
    opened = open_node_wide([event], sysfs)
    if opened.counting is not None:
        opened.counting.close()
        return Availability(True)
    refused = opened.refused[0]
    return Availability(False, refused.reason, refused.remedy, refused.errno)


class NodeSession:
    """Node-wide events, each open at all its places; meets `component.CounterSession`.

    `bundles` holds for each brace group (or single event) one kernel group a place.
    """

    def __init__(self, bundles: Iterable[Sequence[_core.Group[Value]]]) -> None:
        self._bundles = tuple(tuple(bundle) for bundle in bundles)

    def start(self, pid: int | None = None) -> None:  # noqa: ARG002
        """Begin at zero, at one place after the other."""
        for group in self._groups():
            group.start()

    def read(self) -> tuple[RawCount, ...]:
        """Return the counts since the start."""
        return self._join(lambda group: group.read())

    def stop(self) -> tuple[RawCount, ...]:
        """Stop and return the final counts."""
        return self._join(lambda group: group.stop())

    def close(self) -> None:
        """Close every descriptor."""
        for group in self._groups():
            group.close()

    def _groups(self) -> Iterator[_core.Group[Value]]:
        for bundle in self._bundles:
            yield from bundle

    def _join(
        self, reading: Callable[[_core.Group[Value]], _core.Reading[Value]]
    ) -> tuple[RawCount, ...]:
        return tuple(
            total(counts)
            for bundle in self._bundles
            for counts in zip(*(reading(group).counts() for group in bundle), strict=True)
        )


def total(counts: Sequence[tuple[int, int, int]]) -> RawCount:
    """Return the sum of (raw, enabled_ns, running_ns) over places.

    Places are started one after the other, so that their times differ a little. Where the kernel
    multiplexed, each place is scaled by its own times, and the sum carries the smallest share of
    time, so that it shows as scaled and scales to the right value.
    """
    enabled = max(count[1] for count in counts)
    if all(count[1] == count[2] for count in counts):
        return RawCount(sum(count[0] for count in counts), enabled, enabled)
    if not all(count[2] for count in counts):
        return RawCount(0, enabled, 0)
    share = min(count[2] / count[1] for count in counts)
    running = max(min(int(enabled * share), enabled - 1), 1)
    scaled = sum(count[0] * (count[1] / count[2]) for count in counts)
    return RawCount(round(scaled * running / enabled), enabled, running)


def explain(number: int, place: PmuEvent, root: Path = _ROOT) -> tuple[str, str, int]:
    """Return why the kernel did not open a node-wide event, the remedy, and the error number."""
    from gnomon.counters import per_cpu, perf_errors
    from gnomon.counters.virtualization import container

    folder = _ROOT / "sys" / DEVICES / place.pmu
    refused = per_cpu.refusal(number, root, lambda: bool(container(root)))
    if refused is not None:
        reason, remedy = refused
        of_pmu = f"{reason}, and PMU '{place.pmu}' counts for the whole machine"
        return of_pmu, f"{remedy}, or count as root", number
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP):
        return (
            f"the kernel has no PMU '{place.pmu}' that counts this on CPU {place.cpu} "
            f"({os.strerror(number)})",
            f"see {folder}: is it there, and is the CPU in its cpumask?",
            number,
        )
    if number == errno.EINVAL:
        return (
            f"PMU '{place.pmu}' does not take this combination of event and parameters, or has no "
            "counter for it",
            f"check the parameters against {folder / 'format'}, and count fewer events together",
            number,
        )
    return (*perf_errors.explain(number, hardware=False, tracepoint=False, root=root), number)


def _bundles(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events, those of one brace group together."""
    bundles: list[list[Event]] = []
    of_group: dict[int, list[Event]] = {}
    for event in events:
        if event.group is None:
            bundles.append([event])
        elif event.group in of_group:
            of_group[event.group].append(event)
        else:
            of_group[event.group] = [event]
            bundles.append(of_group[event.group])
    return bundles


def _open_bundle(
    events: Sequence[Event], sysfs: Path
) -> tuple[list[_core.Group[Value]], Refusal | None]:
    """Open events together, once at each of their places, or return why one of them did not.

    Raises:
        UsageError: more events than one group of the core holds.
    """
    if len(events) > _core.EVENTS_MAX:
        raise UsageError(
            f"{len(events)} events in braces: at most {_core.EVENTS_MAX} can be counted together"
        )
    groups: list[_core.Group[Value]] = []
    for place_index, place in enumerate(events[0].spec.places):
        specs = []
        for event in events:
            e = event.spec.places[place_index].encoding
            specs.append((e.type, e.config, e.config1, e.config2, e.config3, e.exclude, 0))
        try:
            groups.append(
                _core.Group(specs, _EVERY_PROCESS, place.cpu, 0, tuple(events), make_value)
            )
        except _core.OpenError as error:
            for group in groups:
                group.close()
            event = events[max(error.index, 0)]
            return [], Refusal(event, *explain(error.errno or 0, place, sysfs.parent))
    return groups, None


def _where(event: Event) -> list[tuple[str, int]]:
    return [(place.pmu, place.cpu) for place in event.spec.places]


def _stranger(event: Event, first: Event) -> Refusal:
    return Refusal(
        event,
        f"it counts on other units than {first.name}, so both cannot be on a PMU together",
        "count it outside the braces",
        errno.EINVAL,
    )
