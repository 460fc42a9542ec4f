"""The groups of Gnomon on the counters of Arm's and POWER's CPUs, and the default one counted."""

from __future__ import annotations

import platform

from group_counters import bound, cpus, flops_of_default, misfit

from gnomon.count import command_counters
from gnomon.counters.event_resolver import resolve
from gnomon.measurement import event_selection, measurement_metrics
from guest.inside.conftest import FigureOf

HERE = platform.machine()


def test_groups_for_these_cpus_fit_there(figure: FigureOf) -> None:
    found = {(group.name, cpu): misfit(group, cpu) for group, cpu in bound(HERE)}
    figure("groups for CPUs of this architecture that fit on their counters", str(len(found)))
    assert found
    assert not {where: why for where, why in found.items() if why}


def test_default_groups_have_flops_wherever_they_fit() -> None:
    for cpu in cpus(HERE):
        counted, possible = flops_of_default(cpu)
        assert counted <= possible, cpu
        assert bool(counted) == bool(possible), cpu


def test_the_default_group_gives_its_metrics_here() -> None:
    wanted = resolve(event_selection.events_of_groups(["0"]))
    assert not [one for one in wanted.unavailable if one.event in ("cycles", "instructions")]
    measurement = command_counters.run(["/bin/true"], wanted)
    metrics = {metric.name: metric for metric in measurement_metrics.derive_metrics(measurement)}
    assert {"ipc", "mips"} <= metrics.keys()
    assert metrics["ipc"].value > 0
    assert metrics["ipc"].formula == "instructions / cycles"
