"""What allocation says fits is what the kernel counts at once, for hundreds of sets of events."""

from __future__ import annotations

import errno
import platform
import random
from collections.abc import Sequence

import pytest

from gnomon.counters.allocation import CorePmu, at_hand, fits, groups, opening_order
from gnomon.counters.allocation.kernel_probe import alone, free_counters, verdict
from gnomon.counters.component import Event
from gnomon.counters.event_resolver import resolve
from gnomon.counters.sysfs_pmu import core_pmus
from guest.inside.conftest import FigureOf

SETS = 200
MOST_EVENTS = 10
SOFTWARE = ("page-faults", "task-clock", "context-switches", "cpu-clock")
# The same event under many names: its code with ever more zeros before it.
ARM = (
    "cycles", "cycles:u", "instructions", "instructions:u", "branches",
    *(f"r{'0' * zeros}8" for zeros in range(4)), *(f"r{'0' * zeros}8:u" for zeros in range(4)),
    *(f"r{'0' * zeros}11" for zeros in range(3)), "r11:u",
)  # fmt: skip
# In 64 bits, for which the kernel chains two counters.
ARM_LONG = ("event=0x8,long=1", "event=0x8,long=1,name=b", "event=0x11,long=1")
POWER = (
    "cycles", "instructions", "branches", "cache-misses", "L1-dcache-loads", "r1e", "r2",
    "r10002", "r1001e", "r100fc", "r100f8", "r20002", "r200fd", "r20054", "r2c04e", "r30002",
    "r300fe", "r3001e", "r3e054", "r400f0", "r400f6", "r4d05e", "r500fa", "r0500fa", "r600f4",
    "r200f4", "r400fa",
    # Marked, with two sampling modes; a qualifier of the level 1 caches; a threshold.
    "r10101e0", "r20201e4", "r4010401e0", "r134104", "r1d14c",
    # The bus of the level 2 and 3 caches.
    "r16080", "r26080", "r46080", "r36082", "r46082",
)  # fmt: skip
POWER9_BUS = ("r16080", "r26080", "r36082")  # they want one of their bank on PMC4
IS_ARM = platform.machine() == "aarch64"


def names() -> tuple[str, ...]:
    if not IS_ARM:
        return POWER
    (pmu,) = core_pmus()
    return (*ARM, *(f"{pmu.name}/{terms}/" for terms in ARM_LONG))


@pytest.fixture(scope="module")
def pool() -> list[Event]:
    """Return the events that the kernel takes at all; it may want another one beside them."""
    found = resolve(",".join((*names(), *SOFTWARE))).events
    pmus = at_hand()
    taken = [event for event in found if alone(event).fits or not fits([event], pmus).fits]
    assert len(taken) > 20
    return taken


def kernel_counts(events: list[Event], pmus: Sequence[CorePmu]) -> bool:
    found = verdict([events[at] for at in opening_order(events, pmus)])
    assert found.fits is not None or found.errno == errno.EINVAL, found.why
    return bool(found.fits)


def test_the_pmu_at_hand_has_a_table(figure: FigureOf) -> None:
    (pmu,) = at_hand()
    assert pmu.family.name in ("arm_pmuv3", "power9", "power10")
    assert pmu.notes == ()
    counters = pmu.counter_names(sorted(pmu.available))
    figure(f"counters of {pmu.title}, by the table", ", ".join(counters))


def test_free_counters_are_those_of_the_table() -> None:
    """QEMU's Arm counts no branches, and instructions might have a counter of their own."""
    (pmu,) = at_hand()
    assert free_counters() == (pmu.family.general - 1 if IS_ARM else 1)


def test_what_fits_is_what_the_kernel_counts(pool: list[Event], figure: FigureOf) -> None:
    choose = random.Random(4)
    agreed = {True: 0, False: 0}
    wrong = []
    pmus = at_hand()
    while sum(agreed.values()) < SETS:
        events = choose.sample(pool, choose.randint(1, MOST_EVENTS))
        fit = fits(events, pmus)
        on_bus = pmus[0].family.needs and any(event.name in POWER9_BUS for event in events)
        if on_bus and not fit.fits:
            # The kernel forgets what they need once it exchanges a code; the hardware does not.
            continue
        said = ",".join(event.name for event in events)
        if fit.fits != kernel_counts(events, pmus):
            wrong.append(f"{said}: {fit}")
        agreed[fit.fits] += 1
        if not fit.fits and kernel_counts([events[at] for at in fit.conflict], pmus):
            wrong.append(f"{said}: it counts what is to blame: {fit.why}")
    assert wrong == []
    assert min(agreed.values()) > SETS // 10
    figure(
        f"'fits' against the kernel, {SETS} random sets of 1 to {MOST_EVENTS} events",
        f"the same verdict for all: {agreed[True]} fit, {agreed[False]} do not",
    )


def test_groups_that_are_formed_count(pool: list[Event], figure: FigureOf) -> None:
    choose = random.Random(5)
    number = 0
    wrong = []
    pmus = at_hand()
    for _ in range(SETS // 10):
        events = choose.sample(pool, choose.randint(1, len(pool)))
        for group in groups(events, pmus=pmus):
            members = [events[at] for at in group]
            if len(group) > 1 or fits(members, pmus).fits:
                number += 1
                if not kernel_counts(members, pmus):
                    wrong.append(",".join(event.name for event in members))
    assert wrong == []
    figure("multiplex groups formed by allocation", f"{number}, all of which the kernel counts")


def test_what_would_be_one_group_fewer_is_refused() -> None:
    """Seven events that any counter counts, on six: the kernel takes them, and never counts."""
    if not IS_ARM:
        pytest.skip("POWER's events know their counters: see the random sets")
    events = list(resolve(",".join(f"r{'0' * zeros}8" for zeros in range(7))).events)
    assert [len(group) for group in groups(events)] == [6, 1]
    assert not kernel_counts(events, at_hand())
    assert kernel_counts(events[:6], at_hand())
