"""The memory component: faults, resident memory and NUMA placement of real processes."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import CounterSession, EventInfo, RawCount, Target
from gnomon.counters.components.memory import MemoryComponent
from gnomon.errors import EventNameError
from gnomon.model.value import How

NUMA = Path(__file__).parents[2] / "golden" / "sysfs-numa"
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


def open_counting(
    component: MemoryComponent, names: Sequence[str], target: Target
) -> tuple[CounterSession, list[EventInfo]]:
    opened = component.open([component.resolve(n)[0] for n in names], target)
    assert opened.refused == ()
    assert opened.counting is not None
    return opened.counting, [event.info for event in opened.events]


def measured(raw: Sequence[RawCount]) -> list[int | None]:
    return [count.raw if count.running_ns else None for count in raw]


def touch(pages: int) -> mmap.mmap:
    """Touch so many fresh pages of the base size, and return the memory that holds them."""
    memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, pages * PAGE, PAGE):
        memory[at] = 1
    return memory


@pytest.fixture
def block_file(tmp_path: Path) -> Path:
    """Return a file of 2 MiB whose pages have to come from a disk."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    # In a root of its own (chroot) the file system that holds the file may not be listed.
    holders = [m for m in mounts if tmp_path.is_relative_to(m[1])] or [["unknown", "/"]]
    holder = max(holders, key=lambda m: len(m[1]))
    if not holder[0].startswith("/dev/"):
        pytest.skip(f"{tmp_path} is not on a block device")
    path = tmp_path / "f"
    with open(path, "wb") as file:
        file.write(os.urandom(2 * MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


# --- on this machine ------------------------------------------------------------------------------


def test_each_touched_page_is_a_minor_fault() -> None:
    counting, _ = open_counting(MemoryComponent(), ["memory:::minor_faults"], Target())
    counting.start()
    memory = touch(3000)
    (faults,) = measured(counting.stop())
    counting.close()
    memory.close()
    assert faults is not None
    assert 3000 <= faults <= 3000 + 300


def test_a_page_from_the_disk_is_a_major_fault(block_file: Path) -> None:
    counting, _ = open_counting(MemoryComponent(), ["memory:::major_faults"], Target())
    with (
        open(block_file, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory,
    ):
        counting.start()
        assert memory[MIB] >= 0
        (faults,) = measured(counting.stop())
    counting.close()
    assert (faults or 0) >= 1


def test_children_that_were_waited_for_bring_their_faults() -> None:
    script = "import mmap\nm = mmap.mmap(-1, 4096 * 2000)\nm.madvise(mmap.MADV_NOHUGEPAGE)\n"
    script += "for at in range(0, len(m), 4096): m[at] = 1"
    component = MemoryComponent()
    counting, _ = open_counting(component, ["memory:::minor_faults"], Target(None, command=True))
    shell = subprocess.Popen(["/bin/sh", "-c", f"'{sys.executable}' -c '{script}'; true"])
    counting.start(shell.pid)
    os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WNOWAIT)
    (faults,) = measured(counting.stop())
    counting.close()
    assert shell.wait() == 0
    assert (faults or 0) >= 2000 * 4096 // PAGE


def test_resident_memory_and_its_place_follow_what_is_allocated() -> None:
    component = MemoryComponent()
    names = ["memory:::rss", "memory:::peak_rss"]
    placed = [i.name for i in component.events() if i.unit == "pages" and i.gauge]
    counting, infos = open_counting(component, [*names, *placed], Target())
    assert {info.how for info in infos} == {How.COUNTED}
    counting.start()
    before = measured(counting.read())
    memory = touch(64 * MIB // PAGE)
    held = measured(counting.read())
    memory.close()
    after = measured(counting.stop())
    counting.close()
    rss, peak = zip(before[:2], held[:2], strict=True)
    assert None not in (*rss, *peak)
    assert (held[0] or 0) - (before[0] or 0) > 60 * MIB
    assert (held[1] or 0) >= (before[0] or 0) + 60 * MIB
    assert (after[0] or 0) < (held[0] or 0) - 60 * MIB
    assert (after[1] or 0) > (held[1] or 0) - 4 * MIB  # the kernel keeps it approximately
    if placed:
        pages = sum(n or 0 for n in held[2:]) - sum(n or 0 for n in before[2:])
        assert pages > 60 * MIB // PAGE


def test_gauges_of_a_command_are_sampled_and_outlive_it() -> None:
    component = MemoryComponent()
    names = ["memory:::rss", "memory:::peak_rss", "memory:::swap"]
    opened = component.open(
        [component.resolve(n)[0] for n in names], Target(None, inherit=True, command=True)
    )
    assert opened.counting is not None
    assert {event.info.how for event in opened.events} == {How.SAMPLED}
    assert len(opened.notes) == 3
    script = (
        "import sys\nx = bytearray(b'x') * (64 << 20)\nprint(flush=True)\nsys.stdin.readline()\n"
        "del x\nprint(flush=True)\nsys.stdin.readline()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, child.stdin, child.stdout:
        opened.counting.start(child.pid)
        child.stdout.readline()
        high = measured(opened.counting.read())
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        low = measured(opened.counting.read())
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        rss, peak, swap = measured(opened.counting.stop())
    opened.counting.close()
    assert (high[0] or 0) > 64 * MIB
    assert (low[0] or 0) < 64 * MIB
    assert rss is not None
    assert rss <= 64 * MIB
    assert (peak or 0) > 64 * MIB
    assert swap is not None


def test_a_command_is_not_charged_for_the_copy_of_its_parent_that_it_begins_as() -> None:
    """Between fork and exec the child has this process's memory: neither counts for it."""
    ballast = touch(64 * MIB // PAGE)
    component = MemoryComponent()
    names = ["memory:::peak_rss", "memory:::minor_faults"]
    counting, _ = open_counting(component, names, Target(None, inherit=True, command=True))
    theirs, ours = os.pipe()
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for at in range(0, len(ballast), PAGE):
                ballast[at] = 2  # copies every page: as many faults
            os.write(done, b"x")
            os.read(theirs, 1)
            os.dup2(theirs, 0)
            os.close(ours)
            os.execv("/bin/cat", ["cat"])
        finally:
            os._exit(1)
    os.read(ready, 1)
    counting.start(pid)
    os.write(ours, b"x")
    while measured(counting.read())[0] is None:  # until it has been executed
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        assert ended is None, "the program could not be executed"
    os.close(ours)
    for fd in (theirs, ready, done):
        os.close(fd)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    peak, faults = measured(counting.stop())
    counting.close()
    ballast.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert peak is not None
    assert 0 < peak < 32 * MIB
    assert faults is not None
    assert 0 < faults < 64 * MIB // PAGE


def test_pages_that_the_machine_allocates() -> None:
    component = MemoryComponent()
    name = "memory:::numa_hit"
    opened = component.open(component.resolve(name), Target())
    if opened.counting is None:
        pytest.skip(opened.refused[0].reason)
    opened.counting.start()
    memory = touch(4000)
    (pages,) = measured(opened.counting.stop())
    opened.counting.close()
    memory.close()
    assert (pages or 0) >= 3500  # a few come from lists that were filled before


def test_names_resolve_or_suggest() -> None:
    component = MemoryComponent()
    assert component.availability().available
    assert component.resolve("page-faults") == ()
    for info in component.events():
        assert component.resolve(info.name)[0].info == info
    with pytest.raises(EventNameError) as caught:
        component.resolve("memory:::minor_fault")
    assert caught.value.suggestions[0] == "memory:::minor_faults"


def test_an_attached_process_that_ends_leaves_its_gauges_unmeasured() -> None:
    component = MemoryComponent()
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    counting, _ = open_counting(component, ["memory:::rss"], Target(child.pid))
    counting.start()
    assert measured(counting.read()) != [None]
    child.stdin.close()
    child.wait()
    assert measured(counting.stop()) == [None]
    counting.close()


# --- on a recorded tree ---------------------------------------------------------------------------


def test_two_nodes_huge_pages_and_swap(tmp_path: Path) -> None:
    tree = Path(shutil.copytree(NUMA, tmp_path / "tree"))
    component = MemoryComponent(tree / "proc", tree / "sys")
    names = ["rss", "peak_rss", "swap", "node0:pages", "node1:pages", "numa_miss", "node1:numa_hit",
             "minor_faults", "major_faults"]  # fmt: skip
    counting, _ = open_counting(component, [f"memory:::{n}" for n in names], Target(4242))
    counting.start()
    numastat = tree / "sys/devices/system/node/node1/numastat"
    numastat.write_text(numastat.read_text().replace("numa_miss 20", "numa_miss 29"))
    stat = tree / "proc/4242/stat"
    stat.write_text(stat.read_text().replace(" 1500 300 7 2 ", " 1510 305 8 2 "))
    got = dict(zip(names, measured(counting.stop()), strict=True))
    counting.close()
    small = 4096 // PAGE if PAGE <= 4096 else 4096 / PAGE
    assert got == {
        "rss": 8192 * 1024,
        "peak_rss": 12345 * 1024,
        "swap": 512 * 1024,
        "node0:pages": int(20 * small) + int(500 * small) + int(5 * small),
        "node1:pages": int(10 * small) + int(500 * small) + 3 * 2048 * 1024 // PAGE,
        "numa_miss": 9,
        "node1:numa_hit": 0,
        "minor_faults": 15,
        "major_faults": 1,
    }


def test_numa_counts_that_are_switched_off_say_how_to_switch_them_on(tmp_path: Path) -> None:
    tree = Path(shutil.copytree(NUMA, tmp_path / "tree"))
    (tree / "proc/sys/vm/numa_stat").write_text("0\n")
    component = MemoryComponent(tree / "proc", tree / "sys")
    opened = component.open(component.resolve("memory:::numa_hit"), Target())
    assert opened.counting is None
    assert "sysctl vm.numa_stat=1" in opened.refused[0].remedy


@given(st.text(), st.text())
def test_garbage_is_unavailable_but_never_an_error(
    tmp_path_factory: pytest.TempPathFactory, one: str, two: str
) -> None:
    tree = tmp_path_factory.mktemp("garbage")
    node = tree / "devices/system/node/node0"
    node.mkdir(parents=True)
    (node / "numastat").write_text(one, errors="replace")
    (tree / "self").mkdir()
    for name, text in (("stat", f"1 (a) {one}"), ("status", f"VmRSS:{two}"), ("numa_maps", two)):
        (tree / "self" / name).write_text(text, errors="replace")
    component = MemoryComponent(tree, tree)
    events = [component.resolve(info.name)[0] for info in component.events()]
    opened = component.open(events, Target())
    assert len(opened.events) + len(opened.refused) == len(events)
    if opened.counting is not None:
        opened.counting.start()
        opened.counting.stop()
        opened.counting.close()
