"""Uses every function of gnomon._core, and its errors; test_extension.py runs it."""

from __future__ import annotations

import gc
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from exercise_steps import check_leaks, run

from gnomon import _core
from gnomon.errors import GnomonError

SOFTWARE = 1
TASK_CLOCK, PAGE_FAULTS, DUMMY = 1, 2, 9


def spec(config: int, leader: int = 0) -> tuple[int, int, int, int, int, int, int]:
    return (SOFTWARE, config, 0, 0, 0, 0, leader)


def attempt(call: Callable[..., object], *arguments: object) -> None:
    """Call, whether it refuses or not."""
    with suppress(GnomonError):
        call(*arguments)


def fails(kind: type[BaseException], call: object, *arguments: object) -> None:
    assert callable(call)
    try:
        call(*arguments)
    except kind:
        return
    raise AssertionError(f"{call} took {arguments}")


def groups() -> None:
    made: list[tuple[object, ...]] = []

    def factory(*row: object) -> tuple[object, ...]:
        made.append(row)
        return row

    for flags in (0, _core.USER_READ, _core.INHERIT, _core.PINNED):
        leaders = (0, 1) if flags == _core.INHERIT else (0, 0)
        specs = [spec(TASK_CLOCK, leaders[0]), spec(PAGE_FAULTS, leaders[1])]
        group = _core.Group(specs, 0, -1, flags, ("a", "b"), factory)
        group.start()
        bytearray(1 << 20)
        reading = group.read()
        assert len(reading) == 2
        assert reading[1][0] == "b"
        assert reading[-1] == reading[1]
        assert reading.raw(0) > 0
        assert reading.raw(-2) == reading.raw(0)
        fails(IndexError, reading.__getitem__, 2)
        fails(IndexError, reading.raw, 2)
        fails(TypeError, reading.raw, "0")
        group.reset()
        assert group.read().raw(0) < 10**10
        final = group.stop()
        assert final.counts()[0][1] >= final.counts()[0][2]
        assert isinstance(group.user_readable, bool)
        assert len(set(group.fds)) == 2
        group.close()
        group.close()
        fails(ValueError, group.read)
        assert not list(group.fds)
    assert made


def growing() -> None:
    """Events come and go, at both ends and in the middle, and what was counted stays with each."""
    for flags in (0, _core.INDEPENDENT):
        group = _core.Group([spec(TASK_CLOCK)], 0, -1, flags, ("a",), lambda *row: row)
        leads = [0, 0, 0] if not flags else [1, 2, 1]
        group.add([spec(PAGE_FAULTS, leads[0]), spec(5, leads[1])], ("b", "c"))
        group.start()
        bytearray(1 << 20)
        first, at = group.read_at()
        assert at <= _core.clock_ns()
        taken = group.take()
        assert [row[0] for row in (taken[0], taken[1], taken[2])] == ["a", "b", "c"]
        assert taken.raw(0) > first.raw(0) > 0
        assert group.read()[0][2] > 0
        bytearray(1 << 20)
        final = group.stop()
        group.remove(2)
        assert group.take().counts() == final.counts()[:2]
        assert [row[0] for row in group.read().counts()] == [0, 0]
        group.add([spec(6, leads[2])], ("d",))
        if flags:
            fails(OSError, group.remove, 1)
            group.remove(0)
        group.remove(1)
        assert len(group.read()) == (1 if flags else 2)
        for index in (-1, 3, 2**70):
            fails(IndexError, group.remove, index)
        fails(TypeError, group.remove, "b")
        fails(OSError, group.add, [spec(9999, 0)], ("e",))
        fails(OSError, group.add, [spec(1, 77)], ("e",))
        fails(ValueError, group.add, [spec(1)], ("e", "f"))
        fails(ValueError, group.add, [], ())
        fails(TypeError, group.add, 1, 2)
        group.start()
        assert group.stop().counts()
        group.close()
        fails(ValueError, group.add, [spec(1)], ("e",))
        fails(ValueError, group.take)
        fails(ValueError, group.read_at)


def rotations() -> None:
    groups = [_core.Group([spec(PAGE_FAULTS)], 0, -1, 0, ("a",), print) for _ in range(4)]
    turns = tuple((group,) for group in groups)
    for prepared in (True, False):
        rotation = _core.Rotation()
        if prepared:
            rotation.prepare()
            rotation.prepare()
        rotation.start(turns, 1_000_000)
        fails(OSError, rotation.start, turns, 1_000_000)
        while rotation.turns < 6:
            bytearray(1 << 20)
        child = os.fork()
        if child == 0:
            quiet = rotation.turns == 0
            rotation.pause()
            rotation.close()
            os._exit(0 if quiet else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        rotation.pause()
        rotation.start((tuple(groups[:2]), tuple(groups[2:])), 1_000_000)
        rotation.close()
        rotation.close()
    for wrong in ((), ((),), (turns[0], ()), ((1,),), (1,)):
        fails(Exception, _core.Rotation().start, wrong, 1_000_000)
    fails(OSError, _core.Rotation().start, turns, 0)
    # Dropped while it rotates, it ends its thread before its groups go.
    rotation = _core.Rotation()
    rotation.start(turns, 1_000_000)
    del rotation
    for group in groups:
        group.close()
    fails(ValueError, _core.Rotation().start, turns, 1_000_000)


def forks() -> None:
    """A child of a counting process must neither crash nor touch its parent's counts."""
    group = _core.Group([spec(TASK_CLOCK)], 0, -1, _core.USER_READ, ("a",), lambda *row: row)
    group.start()
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (group.read, group.stop, group.start, group.reset):
            try:
                call()
            except Exception as error:
                refused += type(error).__name__ == "ForkedError"
        readable = group.user_readable
        group.close()
        os._exit(0 if refused == 4 and not readable else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert group.read().raw(0) > 0
    group.close()


def refusals() -> None:
    descriptors = ("a",)
    fails(ValueError, _core.Group, [], 0, -1, 0, (), print)
    fails(ValueError, _core.Group, [spec(1)] * 300, 0, -1, 0, ("a",) * 300, print)
    fails(ValueError, _core.Group, [spec(1)], 0, -1, 0, ("a", "b"), print)
    fails(TypeError, _core.Group, [1], 0, -1, 0, descriptors, print)
    fails(TypeError, _core.Group, [(1, 2)], 0, -1, 0, descriptors, print)
    fails(TypeError, _core.Group, 7, 0, -1, 0, descriptors, print)
    fails(OSError, _core.Group, [spec(1, 5)], 0, -1, 0, descriptors, print)
    fails(TypeError, type(_core.reading((), print, ())))
    caught = None
    try:
        _core.Group([spec(1), spec(9999)], 0, -1, 0, ("a", "b"), print)
    except _core.OpenError as error:
        caught = (error.index, error.errno)
    assert caught == (1, 2)
    fails(OSError, _core.event_id, 0)
    fails(OSError, _core.event_id, -1)


def readings() -> None:
    reading = _core.reading(("x", "y"), lambda *row: row, ((-5, 7, 8), (2**62, 0, 0)))
    assert reading[0] == ("x", -5, 7, 8)
    assert reading.counts() == ((-5, 7, 8), (2**62, 0, 0))
    ends = ((-(2**63), 0, 2**64 - 1), (2**63 - 1, 2**64 - 1, 0))
    assert _core.reading(("x", "y"), print, ends).counts() == ends
    for count in ((2**63, 0, 0), (-(2**63) - 1, 0, 0), (2**64, 0, 0), (0, -1, 0), (0, 0, 2**64)):
        fails(OverflowError, _core.reading, ("x",), print, (count,))
    fails(TypeError, _core.reading, ("x",), print, ((1.5, 2, 3),))
    fails(ValueError, _core.reading, ("x",), print, ())
    fails(TypeError, _core.reading, ("x",), print, (1,))
    fails(TypeError, _core.reading, ("x",), print, ((1, 2),))
    fails(TypeError, _core.reading, ["x"], print, ((1, 2, 3),))

    def failing(*_row: object) -> object:
        raise KeyError("on purpose")

    fails(KeyError, _core.reading(("x",), failing, ((1, 2, 3),)).__getitem__, 0)


def rings() -> None:
    flags = _core.INHERIT | _core.INHERIT_STAT | _core.TASK_RECORDS | _core.STARTED
    group = _core.Group([spec(DUMMY), spec(PAGE_FAULTS, 1)], 0, 0, flags, ("a", "b"), print)
    fails(ValueError, _core.Ring, group.fds, 3)
    fails(ValueError, _core.Ring, (), 8)
    fails(OSError, _core.Ring, (0,), 8)
    fails(OSError, _core.Ring, (group.fds[0], 0), 8)
    ring = _core.Ring(group.fds, 1)
    os.sched_setaffinity(0, {0})
    # More than the page holds between two looks, and often enough to wrap.
    for _ in range(30):
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        data = ring.drain()
        at = 0
        while at < len(data):
            at += struct.unpack_from("<H", data, at + 6)[0]
        assert at == len(data)
        assert data
    ring.close()
    ring.close()
    fails(ValueError, ring.drain)
    group.close()


def processes() -> None:
    environment = [key + b"=" + value for key, value in os.environb.items()]
    pid, gate = _core.spawn([b"true"], environment, (), -1)
    start_ns, used, schedule = _core.release(pid, gate)
    assert start_ns > 0
    assert len(schedule.split()) in (0, 3)
    assert len(used) == 9
    assert min(used) >= 0
    assert os.waitpid(pid, 0)[1] == 0
    pid, gate = _core.spawn([b"no-such-program"], environment, (13,), 256)
    fails(FileNotFoundError, _core.release, pid, gate)
    fails(ChildProcessError, os.waitpid, pid, 0)
    fails(ValueError, _core.spawn, [], environment, (), -1)
    fails(TypeError, _core.spawn, ["text"], environment, (), -1)
    fails(ValueError, _core.spawn, [b"true"], environment, (1,) * 65, -1)
    fails(TypeError, _core.spawn, [b"true"], environment, ("x",), -1)
    # Whoever dies before the gate opens takes the child along.
    pid, gate = _core.spawn([b"true"], environment, (), -1)
    os.close(gate)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 127


def names() -> None:
    assert _core.pfm_version()[0] >= 4
    pmus = _core.pfm_pmus()
    perf = next(pmu for pmu in pmus if pmu[1] == "perf")
    assert any(name == "PAGE-FAULTS" for name, _, _ in _core.pfm_events(perf[0]))
    assert _core.pfm_encode("perf::PAGE-FAULTS")[:2] == (SOFTWARE, PAGE_FAULTS)
    fails(_core.PfmError, _core.pfm_encode, "no_such_pmu::EVENT")
    fails(_core.PfmError, _core.pfm_events, 100_000)
    fails(TypeError, _core.pfm_events, "x")


def event_names() -> None:
    """Resolve names, right and wrong ones, over and over: nothing may stay behind.

    The interpreter's own free lists and caches take some tries to fill, and grow at random until
    they have; a leak stays, at least a block a round.
    """
    rounds, tries = 20, 40
    growth: list[int] = []
    while len(growth) < tries:
        gc.collect()
        blocks = sys.getallocatedblocks()
        for _ in range(rounds):
            resolve_names()
        gc.collect()
        growth.append(sys.getallocatedblocks() - blocks)
        if growth[-1] < rounds // 2:
            return
    raise AssertionError(f"blocks that stayed after each {rounds} rounds: {growth}")


def resolve_names() -> None:
    for name in ("page-faults:u", "cycles", "msr/tsc/", "\udcff", "a\0b", "cpu/x=1/", "x" * 300):
        for component in range(4):
            attempt(_core.resolve_event, component, name, None, None, None)
        attempt(_core.resolve_preset, name, None, "cpu=icl")
        attempt(_core.modifiers, name)
        attempt(_core.terms, name)
        attempt(_core.pmu_encode, "/sys", "cpu", 4, name, name)
        assert len(_core.nearest(name, ["cycles", name, "\udcfe"])) <= 3
    for component in range(4):
        assert isinstance(_core.list_events(component, None, None), list)
    for pmu, _, _ in _core.pmus("/sys"):
        for event in _core.pmu_events("/sys", pmu):
            assert _core.pmu_unit("/sys", pmu, event)[1] > 0
    assert _core.cores(None, None)
    assert _core.core_encoding("no_such_event", ("icl",)) is None
    assert _core.generic_encoding("cycles")
    assert len(_core.preset_meanings()) > 100 > len(_core.preset_families()) > 10
    row = ("MINE", "", "", ("page-faults",), "", (("N", 0.0), ("number", 2.5), ("*", 0.0)), "",
           "file", ("icl",), 1)  # fmt: skip
    _core.use_presets((("file", (row,)), ("other", ())))
    (found,), _ = _core.resolve_preset("MINE", None, "cpu=icl")
    assert found[-1] == row[5]
    fails(TypeError, _core.use_presets, (("file", (row[:4],)),))
    fails(ValueError, _core.use_presets, (("file", ((*row[:5], (("N", 1.0),), *row[6:]),)),))
    _core.use_presets(())


def clocks() -> None:
    before = _core.clock_ns()
    source, hertz = _core.clock_info()
    assert source in ("tsc", "cntvct", "vdso")
    assert hertz > 0
    assert _core.clock_ns() > before
    assert _core.clock_ticks() > 0
    thread = _core.virtual_ns()
    assert _core.virtual_process_ns() >= thread > 0


def costs() -> None:
    group = _core.Group([spec(PAGE_FAULTS), spec(TASK_CLOCK)], 0, -1, 0, ("a", "b"), print)
    for operation in ("nothing", "start", "stop", "read", "reset", "accumulate"):
        samples = _core.raw_costs(group.fds, operation, 20)
        assert len(samples) == 20 * 8
        assert operation == "nothing" or min(struct.unpack("20Q", samples)) > 0
    fails(ValueError, _core.raw_costs, group.fds, "dance", 20)
    fails(ValueError, _core.raw_costs, (), "read", 20)
    fails(ValueError, _core.raw_costs, group.fds, "read", 0)
    fails(ValueError, _core.raw_costs, group.fds, "read", 1 << 40)
    fails(TypeError, _core.raw_costs, ("x",), "read", 1)
    fails(OverflowError, _core.raw_costs, (1 << 80,), "read", 1)
    leader = group.fds[:1]
    group.close()
    fails(OSError, _core.raw_costs, leader, "reset", 1)
    fails(OSError, _core.raw_costs, (-1,), "read", 1)
    assert len(_core.raw_open_costs([spec(PAGE_FAULTS), spec(TASK_CLOCK)], 10)) == 80
    fails(OSError, _core.raw_open_costs, [spec(PAGE_FAULTS), spec(1 << 40)], 10)
    fails(ValueError, _core.raw_open_costs, [], 10)
    for name in ("real_ns", "virtual_us", "monotonic_coarse", "system_call"):
        assert len(_core.clock_samples(name, 30)) == 240
        assert len(_core.clock_costs(name, 3, 10)) == 24
    fails(ValueError, _core.clock_samples, "sundial", 1)
    fails(ValueError, _core.clock_costs, "real_ns", 0, 1)


def cpu_identity() -> None:
    answer = _core.cpuid(0, 0)
    assert (answer is None) == (os.uname().machine not in ("x86_64", "i686"))
    assert _core.cpuid(0x0FFF_FFFF, 0) is None
    fails(TypeError, _core.cpuid, "x", 0)


def nothing_leaks() -> None:
    def once() -> None:
        groups()
        refusals()
        readings()
        names()
        costs()

    once()
    gc.collect()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    check_leaks(once, 50, __file__)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


if __name__ == "__main__":
    sys.exit(
        run(
            groups, growing, rotations, forks, refusals, readings, rings, processes,
            names, event_names, clocks, costs, cpu_identity, nothing_leaks,
        )
    )  # fmt: skip
