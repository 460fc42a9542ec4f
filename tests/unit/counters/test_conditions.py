"""PAPI's conditions, each provoked: the exception, PAPI's name of it, and what its message names.

Those that only hardware counters or the C interface can show are provoked in
tests/guest/inside/test_behaviours.py and native/tests/test_sets.c.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from gnomon import _core
from gnomon.counters import EventSet, Target
from gnomon.counters.sysfs_pmu import find
from gnomon.errors import (
    AttachedError,
    ClosedError,
    ComponentNameError,
    ConflictError,
    DescriptorsError,
    DomainError,
    EmptySetError,
    EventNameError,
    EventPermissionError,
    EventSetError,
    EventSystemError,
    EventUnavailableError,
    EventUnsupportedError,
    FeatureError,
    GnomonError,
    KernelError,
    NotInSetError,
    NotPresetError,
    NotRunningError,
    OptionError,
    RunningError,
    WriteError,
    refused,
)

# No PMU counts stores in the instruction TLB.
NOWHERE = "iTLB-stores"
NO_PROCESS = 0x3FFFFFFF


class Row(NamedTuple):
    """A condition: what provokes it, what is raised, and what the message has to name."""

    provoke: Callable[[EventSet], object]
    kind: type[GnomonError]
    papi_name: str
    names: tuple[str, ...]


def emptied() -> EventSet:
    events = EventSet("page-faults")
    events.remove("page-faults")
    return events


def ended_process() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def running(then: Callable[[EventSet], object]) -> Callable[[EventSet], object]:
    def provoke(events: EventSet) -> None:
        events.start()
        then(events)

    return provoke


def closed(then: Callable[[EventSet], object]) -> Callable[[EventSet], object]:
    def provoke(events: EventSet) -> None:
        events.close()
        then(events)

    return provoke


def second_of_a_thread(events: EventSet) -> None:
    events.start()
    other = EventSet("minor-faults")
    try:
        other.start()
    finally:
        other.close()


def attached_twice(events: EventSet) -> None:
    events.attach(os.getppid())
    events.attach(os.getpid())


ROWS = {
    # EINVAL
    "unknown option": Row(
        lambda _: EventSet("page-faults", granularity="socket"),
        OptionError, "PAPI_EINVAL", ("socket", "process-group"),
    ),
    "slice too short": Row(
        lambda e: e.multiplex(slice_ms=9.9), OptionError, "PAPI_EINVAL", ("9.9", "10 to 30000"),
    ),
    "slice too long": Row(
        lambda e: e.multiplex(slice_ms=30001), OptionError, "PAPI_EINVAL", ("30001",),
    ),
    "slice that is no number": Row(
        lambda e: e.multiplex(slice_ms=float("nan")), OptionError, "PAPI_EINVAL", ("nan",),
    ),
    "limit of nothing": Row(
        lambda e: e.multiplex(limit=0), OptionError, "PAPI_EINVAL", ("limit=0",),
    ),
    "unknown way to multiplex": Row(
        lambda _: EventSet("page-faults", multiplex="often"),
        OptionError, "PAPI_EINVAL", ("often", "kernel"),
    ),
    "pinned and multiplexed": Row(
        lambda _: EventSet("page-faults", multiplex=True, pinned=True),
        OptionError, "PAPI_EINVAL", ("pinned", "multiplex"),
    ),
    "a CPU, but none is named": Row(
        lambda _: EventSet("page-faults", granularity="cpu"),
        OptionError, "PAPI_EINVAL", ("cpu", "Target"),
    ),
    "the system, and a CPU": Row(
        lambda _: EventSet("page-faults", granularity="system", target=Target(cpu=0)),
        OptionError, "PAPI_EINVAL", ("system", "cpu=0"),
    ),
    "any process on any CPU": Row(
        lambda _: EventSet("page-faults", target=Target(pid=-1)),
        OptionError, "PAPI_EINVAL", ("pid=-1",),
    ),
    "attached to nothing": Row(
        lambda e: e.attach(), OptionError, "PAPI_EINVAL", ("attach",),
    ),
    "attached to no process": Row(
        lambda e: e.attach(0), OptionError, "PAPI_EINVAL", ("pid=0",),
    ),
    "empty set with a component": Row(
        lambda _: emptied().start(), EmptySetError, "PAPI_EINVAL", ("empty", "add"),
    ),
    "removing what is absent": Row(
        lambda e: e.remove("task-clock"), NotInSetError, "PAPI_EINVAL",
        ("task-clock", "page-faults"),
    ),
    "attaching twice": Row(
        attached_twice, AttachedError, "PAPI_EINVAL", ("page-faults", "detach"),
    ),
    "detaching what is not attached": Row(
        lambda e: e.detach(), AttachedError, "PAPI_EINVAL", ("page-faults",),
    ),
    "accumulating into another set's sums": Row(
        running(lambda e: e.accumulate(())),
        EventSetError, "PAPI_EINVAL", ("accumulate", "page-faults"),
    ),
    # ENOEVNT
    "unknown name": Row(
        lambda e: e.add("page-fault"), EventNameError, "PAPI_ENOEVNT",
        ("page-fault", "did you mean", "page-faults"),
    ),
    "event that nothing here counts": Row(
        lambda e: e.add(NOWHERE), EventUnavailableError, "PAPI_ENOEVNT", (NOWHERE, "ENOENT"),
    ),
    "event not in set": Row(
        lambda e: e.index("task-clock"), NotInSetError, "PAPI_ENOEVNT", ("task-clock",),
    ),
    # ECNFLCT
    "duplicate add": Row(
        lambda e: e.add("page-faults"), ConflictError, "PAPI_ECNFLCT", ("page-faults", "already"),
    ),
    # ENOTRUN
    "stopping a stopped set": Row(
        lambda e: e.stop(), NotRunningError, "PAPI_ENOTRUN", ("start",),
    ),
    "reading what never ran": Row(
        lambda e: e.read(), NotRunningError, "PAPI_ENOTRUN", ("start",),
    ),
    "accumulating what never ran": Row(
        lambda e: e.accumulate(), NotRunningError, "PAPI_ENOTRUN", ("start",),
    ),
    # EISRUN
    "second set on a thread and component": Row(
        second_of_a_thread, RunningError, "PAPI_EISRUN", ("page-faults", "kernel", "stop"),
    ),
    "starting what runs": Row(
        running(lambda e: e.start()), RunningError, "PAPI_EISRUN", ("page-faults", "stop"),
    ),
    "adding while running": Row(
        running(lambda e: e.add("task-clock")), RunningError, "PAPI_EISRUN",
        ("page-faults", "stop"),
    ),
    "removing while running": Row(
        running(lambda e: e.remove("page-faults")), RunningError, "PAPI_EISRUN",
        ("page-faults", "stop"),
    ),
    "clearing while running": Row(
        running(lambda e: e.clear()), RunningError, "PAPI_EISRUN", ("page-faults", "stop"),
    ),
    "attaching while running": Row(
        running(lambda e: e.attach(os.getpid())), RunningError, "PAPI_EISRUN",
        ("page-faults", "stop"),
    ),
    "multiplexing while running": Row(
        running(lambda e: e.multiplex()), RunningError, "PAPI_EISRUN", ("page-faults", "stop"),
    ),
    # ENOEVST
    **{
        f"closed: {name}": Row(
            closed(call), ClosedError, "PAPI_ENOEVST", ("closed",),
        )
        for name, call in {
            "start": lambda e: e.start(),
            "read": lambda e: e.read(),
            "stop": lambda e: e.stop(),
            "reset": lambda e: e.reset(),
            "add": lambda e: e.add("task-clock"),
            "remove": lambda e: e.remove("page-faults"),
            "clear": lambda e: e.clear(),
            "write": lambda e: e.write([1]),
            "attach": lambda e: e.attach(1),
            "multiplex": lambda e: e.multiplex(),
            "with": lambda e: e.__enter__(),
        }.items()
    },
    # ENOCMP
    "unknown component of an event": Row(
        lambda e: e.add("ioo:::read_bytes"), ComponentNameError, "PAPI_ENOCMP",
        ("ioo", "did you mean io:::"),
    ),
    "set that never had an event": Row(
        lambda _: EventSet().start(), EmptySetError, "PAPI_ENOCMP", ("empty", "add"),
    ),
    # ENOSUPP
    "writing a running set": Row(
        running(lambda e: e.write([7])), WriteError, "PAPI_ENOSUPP",
        ("page-faults", "kernel", "reset"),
    ),
    "writing a stopped set": Row(
        lambda e: e.write([7]), WriteError, "PAPI_ENOSUPP", ("page-faults", "kernel", "reset"),
    ),
    # EINVAL_DOM
    "unknown domain": Row(
        lambda _: EventSet("page-faults", domain="supervisor"),
        DomainError, "PAPI_EINVAL_DOM", ("supervisor", "hypervisor"),
    ),
    "domain of what has none": Row(
        lambda _: EventSet("io:::read_bytes", domain="user"),
        DomainError, "PAPI_EINVAL_DOM", ("io:::read_bytes", "'io'", "user"),
    ),
    # ECMP
    "component that lacks an option": Row(
        lambda _: EventSet("io:::read_bytes", pinned=True),
        FeatureError, "PAPI_ECMP", ("io:::read_bytes", "'io'", "pinned"),
    ),
    "component that counts no whole system": Row(
        lambda _: EventSet("io:::read_bytes", granularity="system"),
        FeatureError, "PAPI_ECMP", ("io:::read_bytes", "system"),
    ),
    # ESYS
    "process that has ended": Row(
        lambda e: e.attach(ended_process()), EventSystemError, "PAPI_ESYS",
        ("page-faults", "software", "ESRCH", "ps"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("condition", ROWS)
def test_condition(condition: str) -> None:
    row = ROWS[condition]
    events = EventSet("page-faults")
    with pytest.raises(row.kind) as caught:
        row.provoke(events)
    events.close()
    assert type(caught.value) is row.kind
    assert caught.value.papi_name == row.papi_name  # type: ignore[attr-defined]
    for name in row.names:
        assert name in str(caught.value)


def test_second_set_may_count_elsewhere() -> None:
    """One set a component and thread: another component, or another thread, is free."""
    found: list[int] = []

    def count() -> None:
        with EventSet("page-faults") as events:
            found.append(len(events.read()))

    with EventSet("page-faults"), EventSet("tsc:::cycles"), EventSet("io:::read_bytes"):
        thread = threading.Thread(target=count)
        thread.start()
        thread.join()
    assert found == [1]
    with EventSet("minor-faults") as after:
        assert len(after.read()) == 1


def test_set_that_was_dropped_is_in_nobodys_way() -> None:
    EventSet("page-faults").start()
    with EventSet("page-faults") as events:
        assert len(events.read()) == 1


def test_too_many_events_conflict_and_nothing_else() -> None:
    names = [
        f"{event}:{mode}{place}"
        for event, mode, place in product(
            ("page-faults", "minor-faults", "major-faults", "alignment-faults", "emulation-faults",
             "cpu-clock", "task-clock", "context-switches", "cpu-migrations", "cgroup-switches"),
            ("u", "k", "uk", "ku", "ukh", "uu", "kk", "uku", "kuk"),
            ("", "G", "H"),
        )
    ]  # fmt: skip
    most = _core.EVENTS_MAX
    events = EventSet(",".join(names[:most]))
    with pytest.raises(ConflictError) as caught:
        events.add(names[most])
    assert caught.value.papi_name == "PAPI_ECNFLCT"
    assert str(most) in str(caught.value)
    with events:
        pass
    assert len(events.read()) == most
    events.close()


# --- what the kernel says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kind", "papi_name"),
    [
        (errno.ENOENT, EventUnavailableError, "PAPI_ENOEVNT"),
        (errno.EPERM, EventPermissionError, "PAPI_EPERM"),
        (errno.EACCES, EventPermissionError, "PAPI_EPERM"),
        (errno.ENODEV, EventUnsupportedError, "PAPI_ENOSUPP"),
        (errno.EOPNOTSUPP, EventUnsupportedError, "PAPI_ENOSUPP"),
        (errno.EMFILE, DescriptorsError, "PAPI_ECOUNT"),
        (errno.ENFILE, DescriptorsError, "PAPI_ECOUNT"),
        (errno.EBUSY, ConflictError, "PAPI_ECNFLCT"),
        (errno.ENOSPC, ConflictError, "PAPI_ECNFLCT"),
        (errno.EINVAL, EventSystemError, "PAPI_ESYS"),
        (errno.ESRCH, EventSystemError, "PAPI_ESYS"),
        (errno.EIO, EventSystemError, "PAPI_ESYS"),
    ],
)
def test_errno_of_a_refusal(number: int, kind: type[EventUnavailableError], papi_name: str) -> None:
    error = refused("cycles", "the reason", "the remedy", number, "cpu")
    assert type(error) is kind
    assert error.papi_name == papi_name
    assert (error.errno, error.pmu) == (number, "cpu")
    word = "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode[number]
    assert str(error) == f"event 'cycles' on PMU 'cpu': the reason ({word}); the remedy"


def test_event_that_fits_alone_conflicts() -> None:
    error = refused("cycles", "no room", "elsewhere", errno.EINVAL, "cpu", conflict=True)
    assert type(error) is ConflictError


@pytest.mark.skipif(
    all(pmu.name != "msr" for pmu in find()),
    reason="this machine has no msr PMU: load the msr driver, or run on x86",
)
def test_domain_that_a_pmu_cannot_count() -> None:
    with pytest.raises(DomainError) as caught:
        EventSet("msr/tsc/", domain="user")
    for name in ("msr/tsc/", "PMU 'msr'", "user", "EINVAL"):
        assert name in str(caught.value)
    EventSet("msr/tsc/").close()


def test_name_that_is_no_presets() -> None:
    from gnomon.counters import presets

    with pytest.raises(NotPresetError) as caught:
        presets.preset_of("page-faults")
    assert caught.value.papi_name == "PAPI_ENOTPRESET"
    assert "page-faults" in str(caught.value)


def test_unavailable_preset() -> None:
    from gnomon.counters import presets

    lacking = next(p for p in presets.of_this_machine() if not presets.availability(p).available)
    with pytest.raises(EventUnavailableError) as caught:
        EventSet(lacking.name)
    assert caught.value.papi_name in ("PAPI_ENOEVNT", "PAPI_EPERM")
    assert lacking.name in str(caught.value)
    assert caught.value.remedy


def test_error_of_the_kernel_while_counting_is_ours() -> None:
    """A descriptor that somebody else has closed is not the kernel's every day."""
    events = EventSet("page-faults")
    events.start()
    assert events.group is not None
    os.close(events.group.fds[0])
    with pytest.raises(KernelError) as caught:
        events.read()
    assert caught.value.papi_name == "PAPI_ESYS"
    assert str(errno.EBADF) in str(caught.value)
    with pytest.raises(KernelError):
        events.stop()
    # What closes it next must not close another file of that number.
    os.dup2(0, events.group.fds[0])
    events.close()


def test_every_exception_of_an_event_set_has_papis_name() -> None:
    import gnomon.errors

    for kind in vars(gnomon.errors).values():
        if isinstance(kind, type) and issubclass(kind, EventSetError | EventUnavailableError):
            named = getattr(kind, "papi_name", None) or kind in (EmptySetError, NotInSetError)
            assert named, kind


def test_every_process_of_nobody_is_refused() -> None:
    with pytest.raises(EventSystemError):
        EventSet("page-faults", target=Target(pid=NO_PROCESS))


def test_table_of_the_documentation() -> None:
    """It has every condition that this page provokes, with the exceptions that carry its name."""
    import gnomon.errors

    page = Path(__file__).parents[3] / "docs" / "counters" / "index.md"
    table = page.read_text().partition("| `papi_name` |")[2].partition("\n\n")[0]
    papi_name = ""
    listed: dict[str, set[str]] = {}
    for line in table.splitlines()[2:]:
        first, kinds, _ = (cell.strip() for cell in line.strip("|").split("|"))
        papi_name = first.strip("`") or papi_name
        for kind in kinds.split(", "):
            found = getattr(gnomon.errors, kind.strip("`"))
            # Two have PAPI's name from what was asked for.
            assert found in (EmptySetError, NotInSetError) or found.papi_name == papi_name
            listed.setdefault(papi_name, set()).add(found.__name__)
    for row in ROWS.values():
        assert row.kind.__name__ in listed[row.papi_name]
