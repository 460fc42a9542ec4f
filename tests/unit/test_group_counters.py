"""The shipped groups on the counters of the CPUs that they are for.

libpfm4's package has the tables of one architecture, so that natives of others cannot be encoded
here; a libpfm4 built with all of them tries them all (docs/testing.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gnomon.counters import presets
from gnomon.counters.allocation import fit, pmus
from gnomon.counters.component import Event
from gnomon.errors import GnomonError
from gnomon.metrics.groups import Group, find_group, load_groups

GROUPS = load_groups()
FAMILIES = {pmu: family for family in presets.families() for pmu in family.pmus}
# Events that take no counter of a core, or that only the kernel of such a machine can name.
ELSEWHERE = ("task-clock", "context-switches", "cpu-migrations", "page-faults", "major-faults",
             "minor-faults", "sched:", "raw_syscalls:", "cpu/")  # fmt: skip
FLOPS = {"PAPI_FP_OPS", "PAPI_DP_OPS"}


def hardware(group: Group) -> list[str]:
    return [name for name in group.events if ":::" not in name and not name.startswith(ELSEWHERE)]


def resolved(pmu: str, names: list[str]) -> tuple[list[Event], list[str]]:
    """Return the events of names on a CPU, and the names that it has no event for."""
    core = pmus.named(pmu)
    events: list[Event] = []
    missing = []
    for name in names:
        try:
            events += pmus.resolve_on(core, name)
        except GnomonError:
            missing.append(name)
    return events, missing


def bound() -> Iterator[tuple[Group, str]]:
    for group in GROUPS:
        for cpu in group.cpus:
            yield group, cpu


@pytest.mark.parametrize(("group", "cpu"), list(bound()), ids=lambda one: getattr(one, "name", one))
def test_a_group_for_a_cpu_fits_there(group: Group, cpu: str) -> None:
    names = hardware(group)
    events, missing = resolved(cpu, names)
    if missing and not pmus_are_known(cpu):
        pytest.skip(f"this machine's libpfm4 does not know {cpu}")
    assert missing == []
    found = fit.fits(events, [pmus.named(cpu)])
    assert found.fits, found.why


def pmus_are_known(cpu: str) -> bool:
    """Whether libpfm4 can encode events of a CPU here."""
    return resolved(cpu, ["PAPI_TOT_INS"])[1] == []


@pytest.mark.parametrize("cpu", FAMILIES)
def test_the_default_group_has_flops_wherever_they_fit(cpu: str) -> None:
    """Mflop/s and % of peak need one preset of operations beside the cycles and instructions."""
    if not pmus_are_known(cpu):
        pytest.skip(f"this machine's libpfm4 does not know {cpu}")
    core = pmus.named(cpu)
    possible = set()
    for name in FLOPS:
        events, missing = resolved(cpu, ["cycles", "instructions", name])
        if not missing and fit.fits(events, [core]).fits:
            possible.add(name)
    counted = FLOPS & set(find_group(GROUPS, 0, lambda: (cpu,)).events)
    if cpu in ("adl_glc", "adl_grt"):  # on hybrid CPUs the small cores count no operations
        assert counted == set()
    else:
        assert counted <= possible
        assert bool(counted) == bool(possible)


@pytest.mark.parametrize("name", ["FLOPS", "FLOPS_DP"])
def test_flops_of_todays_cpus_count_at_once(name: str) -> None:
    for cpu in ("skx", "icx", "spr", "amd64_fam19h_zen3"):
        group = find_group(GROUPS, name, [cpu].copy)
        events, missing = resolved(cpu, hardware(group))
        assert missing in ([], ["PAPI_DP_OPS"])
        assert fit.fits(events, [pmus.named(cpu)]).fits
