"""What the doctor looks at of the core PMUs: counters, turns, user-space reads, names, presets."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

from gnomon.counters.check import Check
from gnomon.counters.host_facts import ROOT, Machine
from gnomon.counters.perf_errors import no_pmu
from gnomon.counters.procfs import read_number
from gnomon.counters.sysfs_pmu import core_pmus

_SLOW = "reading a counter costs a system call"


def counters(facts: Machine, root: Path) -> Iterator[Check]:
    """Yield whether the core PMUs count, with how many counters, and how events take turns."""
    name = "core PMU"
    if not facts.core_pmus:
        reason, remedy = no_pmu(root)
        consequence = "no cycles, instructions, cache misses or branch mispredictions"
        yield Check(name, "missing", reason.removeprefix("no core PMU: "), consequence, remedy)
        return
    finding = ", ".join(facts.core_pmus)
    # What is recorded in a tree cannot be tried here.
    if root == ROOT:
        from gnomon.counters.components import component

        cpu = component("cpu")
        tried = cpu.availability()
        if not tried.available:
            number = errno.errorcode.get(tried.errno, "")
            refusal = f"{finding}, which refuses `instructions`" + (
                f" ({number})" if number else ""
            )
            yield Check(name, "limited", refusal, tried.reason, tried.remedy)
            return
        n = cpu.counters()
        finding += f", {n} counters" if n is not None else ", of how many counters is not known"
    yield Check(name, "ok", finding)
    yield _turns(root)


def _turns(root: Path) -> Check:
    """Return how long the kernel leaves a group of events on a PMU when several take turns."""
    name = "mux interval"
    told = [
        f"{pmu.name} {interval} ms"
        for pmu in core_pmus(root / "sys")
        if (interval := read_number(pmu.path / "perf_event_mux_interval_ms")) is not None
    ]
    if told:
        return Check(name, "ok", f"{', '.join(told)}; other slices by Gnomon's own rotation")
    return Check(
        name,
        "limited",
        "the kernel does not say how long a turn of multiplexed events is",
        "whether a run was long enough for every group of events is not known beforehand",
        "a kernel of version 3.11 or newer",
    )


def reading(facts: Machine, root: Path) -> Iterator[Check]:
    """Yield whether counters can be read in user space, and whether the watchdog holds one."""
    yield _tried(_user_reads(facts)) if root == ROOT else _user_reads(facts)
    yield _nmi_watchdog(facts)


def _user_reads(facts: Machine) -> Check:
    name = "user-space reads"
    if not facts.core_pmus:
        return Check(name, "missing", "no core PMU", _SLOW)
    if facts.user_reads is None:
        return Check(name, "missing", "this kernel or CPU has none", _SLOW)
    if facts.user_reads > 0:
        return Check(name, "ok", f"allowed ({facts.user_reads})")
    if facts.architecture == "aarch64":
        remedy = "as root: sysctl kernel.perf_user_access=1"
    else:
        remedy = f"as root: echo 1 > /sys/bus/event_source/devices/{facts.core_pmus[0]}/rdpmc"
    return Check(name, "limited", "switched off", _SLOW, remedy)


def _tried(before: Check) -> Check:
    """Return that check with the result of reading a counter in user space, where it is allowed."""
    from gnomon.counters.eventset import EventSet
    from gnomon.errors import GnomonError

    if before.state != "ok":
        return before
    try:
        with EventSet("instructions:u") as events:
            works = events.group is not None and events.group.user_readable
    except GnomonError:
        return before
    if works:
        return before._replace(found=f"{before.found}, and they work")
    return Check(
        before.name,
        "limited",
        f"{before.found}, but the kernel offers none for `instructions`",
        _SLOW,
        "none is known: hypervisors and some PMUs do not pass them on",
    )


def _nmi_watchdog(facts: Machine) -> Check:
    name = "NMI watchdog"
    if facts.nmi_watchdog is None:
        return Check(name, "ok", "there is none")
    if not facts.nmi_watchdog or not facts.core_pmus:
        return Check(name, "ok", "on, without a PMU" if facts.nmi_watchdog else "off")
    return Check(
        name,
        "limited",
        "on",
        "it holds one hardware counter, so fewer events count at once",
        "as root: sysctl kernel.nmi_watchdog=0",
    )


def names(facts: Machine) -> Iterator[Check]:
    """Yield whether libpfm4 is there and knows this CPU, and how many presets there are."""
    yield _libpfm(facts)
    yield _presets(facts)


def _libpfm(facts: Machine) -> Check:
    from gnomon import _core
    from gnomon.counters.libpfm import libpfm_pmus

    lost = "CPU events have only the kernel's names, not the manufacturer's"
    try:
        _core.pfm_version()
    except ImportError as error:
        remedy = "as root: apt-get install libpfm4"
        return Check("libpfm4", "missing", str(error), lost, remedy)
    # The library's own number of its version is 4.0 in all of them.
    known = [pmu for pmu in libpfm_pmus() if pmu.is_core]
    version = f"libpfm.so.4, with {len(known)} core PMUs,"
    here = [pmu for pmu in known if pmu.is_present]
    models = ", ".join(f"{pmu.name} ({pmu.description})" for pmu in here)
    if models:
        return Check("libpfm4", "ok", f"{version} knows this CPU: {models}")
    if not facts.core_pmus:
        return Check("libpfm4", "ok", f"{version} has nothing to know here: there is no core PMU")
    remedy = "install a newer libpfm4; until then give events by number (cpu/event=0x3c/)"
    return Check("libpfm4", "limited", f"{version} does not know this CPU", lost, remedy)


def _presets(facts: Machine) -> Check:
    from gnomon.counters import presets
    from gnomon.errors import GnomonError

    try:
        machine_presets = presets.of_this_machine()
    except GnomonError as error:
        return Check(
            "presets",
            "limited",
            str(error),
            "no event is counted: every command refuses the file",
            "correct the file, or remove it from GNOMON_PRESETS",
        )
    defined = [preset for preset in machine_presets if preset.events]
    families = sorted({preset.family for preset in machine_presets})
    finding = f"{len(defined)} of {len(machine_presets)} have a definition ({', '.join(families)})"
    if not facts.core_pmus:
        return Check(
            "presets",
            "missing",
            f"none can be counted without a core PMU; {finding}",
            "PAPI_TOT_CYC and its kin count nothing",
            "gnomon count --pmu emulated",
        )
    usable = sum(presets.availability(preset).available for preset in defined)
    finding = f"{usable} can be counted here; {finding}"
    if usable:
        return Check("presets", "ok", finding)
    return Check("presets", "limited", finding, "", "gnomon presets says why of each")
