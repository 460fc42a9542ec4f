"""The shipped groups on the counters of x86's CPUs; tests/guest has those of Arm and POWER."""

from __future__ import annotations

import platform
import tomllib
from pathlib import Path

import pytest
from group_counters import HYBRID, bound, cpus, flops_of_default, hardware, misfit

from gnomon.metrics.groups import Group, find_group, load_groups

GROUPS = load_groups()
HERE = platform.machine()
ROOT = Path(__file__).parents[3]
# Of these CPUs libpfm4 4.13 knows no events.
UNKNOWN = tuple(tomllib.loads((ROOT / "packaging" / "libpfm4_unknown.toml").read_text())["pmu"])


@pytest.mark.parametrize(
    ("group", "cpu"), list(bound(HERE)), ids=lambda one: getattr(one, "name", one)
)
def test_a_group_for_a_cpu_fits_there(group: Group, cpu: str) -> None:
    why = misfit(group, cpu)
    assert not why or cpu in UNKNOWN, why


@pytest.mark.parametrize("cpu", [cpu for cpu in cpus(HERE) if cpu not in UNKNOWN])
def test_the_default_group_has_flops_wherever_they_fit(cpu: str) -> None:
    """Mflop/s and % of peak need one preset of operations beside the cycles and instructions."""
    counted, possible = flops_of_default(cpu)
    if cpu in HYBRID:  # the small cores count no operations
        assert counted == frozenset()
    else:
        assert counted <= possible
        assert bool(counted) == bool(possible)


def test_a_group_that_does_not_fit_is_found() -> None:
    branches = ("branches", "branch-misses")
    default = find_group(GROUPS, 0, ["skx"].copy)
    assert "5 native events for 4 counters" in misfit(
        default._replace(events=(*default.events, *branches)), "skx"
    )
    assert "skx has no PM_FLOP_CMPL" in misfit(find_group(GROUPS, 0, ["power9"].copy), "skx")
    assert hardware(default) == ["cycles", "instructions", "PAPI_DP_OPS"]
