"""Whether the shipped groups fit on the counters of their CPUs; on a host and in a guest.

libpfm4's package has the tables of one architecture, so that each looks at its own CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from preset_encoding import TABLES

from gnomon.counters import presets
from gnomon.counters.allocation import fit, target_events, target_pmus
from gnomon.counters.component import Event
from gnomon.errors import GnomonError
from gnomon.metrics.groups import Group, find_group, load_groups

GROUPS = load_groups()
# Events that take no counter of a core, or that only the kernel of such a machine can name.
ELSEWHERE = ("task-clock", "context-switches", "cpu-migrations", "page-faults", "major-faults",
             "minor-faults", "sched:", "raw_syscalls:", "cpu/")  # fmt: skip
FLOPS = frozenset({"PAPI_FP_OPS", "PAPI_DP_OPS"})
HYBRID = ("adl_glc", "adl_grt")


def cpus(machine: str) -> tuple[str, ...]:
    """Return libpfm4's names of an architecture's core PMUs that have presets."""
    return tuple(
        pmu
        for family in presets.families()
        if family.name.startswith(TABLES[machine])
        for pmu in family.pmus
    )


def bound(machine: str) -> Iterator[tuple[Group, str]]:
    """Yield each group that is for certain CPUs with each of them, of one architecture."""
    here = cpus(machine)
    for group in GROUPS:
        for cpu in group.cpus:
            if cpu in here:
                yield group, cpu


def misfit(group: Group, cpu: str) -> str:
    """Return why a group does not count on a CPU, "" if it does."""
    events, missing = resolved(cpu, hardware(group))
    if missing:
        return f"{cpu} has no {', '.join(missing)}"
    return fit.fits(events, [target_pmus.named(cpu)]).why


def flops_of_default(cpu: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the presets of operations in a CPU's default group, and those that could be there."""
    core = target_pmus.named(cpu)
    possible = set()
    for name in FLOPS:
        events, missing = resolved(cpu, ["cycles", "instructions", name])
        if not missing and fit.fits(events, [core]).fits:
            possible.add(name)
    counted = FLOPS & set(find_group(GROUPS, 0, [cpu].copy).events)
    return frozenset(counted), frozenset(possible)


def hardware(group: Group) -> list[str]:
    """Return a group's events that take a counter of a core."""
    return [name for name in group.events if ":::" not in name and not name.startswith(ELSEWHERE)]


def resolved(cpu: str, names: list[str]) -> tuple[list[Event], list[str]]:
    """Return the events of names on a CPU, and the names that it has no event for."""
    core = target_pmus.named(cpu)
    events: list[Event] = []
    missing = []
    for name in names:
        try:
            events += target_events.resolve_on(core, name)
        except GnomonError:
            missing.append(name)
    return events, missing
