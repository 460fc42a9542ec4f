"""The io component: bytes that a process moves, and what the disks do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.counters.component import RawCount, Target
from gnomon.counters.components.io import IoComponent
from gnomon.errors import EventNameError
from gnomon.model.value import How, Scope

GOLDEN = Path(__file__).parents[2] / "golden"
STORAGE = GOLDEN / "sysfs-storage"
MIB = 1 << 20


def counts(names: Sequence[str], raw: Sequence[RawCount]) -> dict[str, int | None]:
    assert len(names) == len(raw)
    return {n: r.raw if r.running_ns else None for n, r in zip(names, raw, strict=True)}


def recorded(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORAGE, tmp_path / "tree"))


def disks_of(tree: Path) -> IoComponent:
    return IoComponent(tree / "proc", tree / "sys")


def edit(tree: Path, old: str, new: str) -> None:
    path = tree / "proc" / "diskstats"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture
def block_folder(tmp_path: Path) -> Path:
    """Return a folder on a file system that has a disk under it."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    holder = max(
        (m for m in mounts if tmp_path.is_relative_to(m[1])), key=lambda m: len(m[1]), default=None
    )
    if holder is None or not holder[0].startswith("/dev/"):
        pytest.skip(f"{tmp_path} is not on a block device")
    return tmp_path


# --- on this machine ------------------------------------------------------------------------------


def test_known_writes_of_this_process_are_counted(tmp_path: Path) -> None:
    component = IoComponent()
    assert component.availability().available
    names = ["io:::wchar", "io:::syscw", "io:::rchar"]
    opened = component.open([component.resolve(n)[0] for n in names], Target())
    assert opened.counting is not None
    assert opened.refused == ()
    with open(tmp_path / "f", "wb", buffering=0) as file:
        opened.counting.start()
        for _ in range(3):
            file.write(b"x" * 100_000)
        read = counts(names, opened.counting.read())
        file.write(b"x")
        final = counts(names, opened.counting.stop())
    opened.counting.close()
    assert (read["io:::wchar"], read["io:::syscw"]) == (300_000, 3)
    assert (final["io:::wchar"], final["io:::syscw"]) == (300_001, 4)


def test_a_command_and_the_children_it_waits_for(block_folder: Path) -> None:
    component = IoComponent()
    names = ["io:::wchar", "io:::write_bytes", "io:::disk_write_bytes"]
    opened = component.open(
        [component.resolve(n)[0] for n in names], Target(None, inherit=True, command=True)
    )
    assert opened.counting is not None
    assert opened.refused == ()
    script = "dd if=/dev/zero of=f bs=1M count=4 conv=fsync status=none; true"
    child = subprocess.Popen(["/bin/sh", "-c", script], cwd=block_folder)
    opened.counting.start(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    got = counts(names, opened.counting.stop())
    opened.counting.close()
    assert child.wait() == 0
    assert got["io:::wchar"] == 4 * MIB
    assert 4 * MIB <= (got["io:::write_bytes"] or 0) < 5 * MIB
    assert (got["io:::disk_write_bytes"] or 0) >= 4 * MIB


def test_reads_from_the_disk_are_told_from_reads_from_the_cache(block_folder: Path) -> None:
    path = block_folder / "f"
    with open(path, "wb") as file:
        file.write(os.urandom(2 * MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    component = IoComponent()
    names = ["io:::read_bytes", "io:::disk_read_bytes"]
    opened = component.open([component.resolve(n)[0] for n in names], Target())
    assert opened.counting is not None
    opened.counting.start()
    path.read_bytes()
    first = counts(names, opened.counting.read())
    path.read_bytes()
    second = counts(names, opened.counting.stop())
    opened.counting.close()
    assert (first["io:::read_bytes"] or 0) >= 2 * MIB
    assert (first["io:::disk_read_bytes"] or 0) >= 2 * MIB
    assert (second["io:::read_bytes"] or 0) < (first["io:::read_bytes"] or 0) + MIB


def test_a_running_process_is_counted_from_the_start_only() -> None:
    component = IoComponent()
    script = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()"
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, child.stdin, child.stdout:

        def echo(line: bytes) -> None:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(line)
            child.stdin.flush()
            assert child.stdout.readline() == line

        echo(b"before\n")
        names = ["io:::wchar", "io:::syscw"]
        opened = component.open([component.resolve(n)[0] for n in names], Target(child.pid))
        assert opened.counting is not None
        opened.counting.start()
        echo(b"x" * 999 + b"\n")
        assert counts(names, opened.counting.stop()) == {
            "io:::wchar": 1000,
            "io:::syscw": 1,
        }
        opened.counting.close()


def test_a_process_that_is_not_there_and_a_cpu_are_refused_with_reasons() -> None:
    component = IoComponent()
    (event,) = component.resolve("io:::rchar")
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    for target in (Target(child.pid), Target(cpu=0)):
        opened = component.open([event], target)
        assert opened.counting is None
        assert opened.events == ()
        (refusal,) = opened.refused
        assert refusal.reason
        assert refusal.remedy


def test_names_resolve_or_suggest() -> None:
    component = IoComponent()
    assert component.resolve("task-clock") == ()
    assert component.resolve("network:::rx_bytes") == ()
    for info in component.events():
        (event,) = component.resolve(info.name)
        assert event.info == info
        assert info.how is How.COUNTED
        assert info.description
    with pytest.raises(EventNameError) as caught:
        component.resolve("io:::read_byte")
    assert caught.value.suggestions[0] == "io:::read_bytes"


# --- on recorded trees ----------------------------------------------------------------------------


def test_a_sum_takes_every_disk_at_the_bottom_once(tmp_path: Path) -> None:
    tree = recorded(tmp_path)
    component = disks_of(tree)
    names = ["io:::disk_reads", "io:::disk_read_bytes", "io:::disk_busy_ns", "io:::md0:reads"]
    opened = component.open([component.resolve(n)[0] for n in names], Target())
    assert opened.counting is not None
    assert opened.refused == ()
    opened.counting.start()
    # Every kind of device gets one read of 8 sectors more and 1 ms of work.
    grown = {
        "sda 1000 50 80000": "sda 1001 50 80008",
        "sda1 990 50 79000": "sda1 991 50 79008",
        "sdb 2000 90 160000": "sdb 2001 90 160008",
        "md0 2500 0 200000": "md0 2501 0 200008",
        "dm-0 2400 0 190000": "dm-0 2401 0 190008",
        "nvme0c0n1 300 0 24000": "nvme0c0n1 301 0 24008",
        "nvme0n1 300 0 24000": "nvme0n1 301 0 24008",
        "zram0 8000 0 64000": "zram0 8001 0 64008",
        "loop0 12 0 300": "loop0 13 0 308",
        "cciss/c0d0 10 0 80": "cciss/c0d0 11 0 88",
        "9000 0 7000": "9000 0 7001",
    }
    for old, new in grown.items():
        edit(tree, old, new)
    got = counts(names, opened.counting.stop())
    # sda, sdb, the path of the NVMe disk and cciss/c0d0; sda1 has the same busy time as nothing.
    assert got["io:::disk_reads"] == 4
    assert got["io:::disk_read_bytes"] == 4 * 8 * 512
    assert got["io:::disk_busy_ns"] == 1_000_000
    assert got["io:::md0:reads"] == 1


def test_what_events_lists(tmp_path: Path) -> None:
    component = disks_of(recorded(tmp_path))
    listed = {name.split(":")[3] for e in component.events() if (name := e.name).count(":") == 4}
    assert listed == {"sda", "sdb", "md0", "dm-0", "nvme0n1", "nvme0c0n1", "zram0", "loop0",
                      "cciss/c0d0"}  # fmt: skip
    (partition,) = component.resolve("io:::sda1:read_bytes")
    assert partition.info.scope is Scope.NODE
    assert component.resolve("io:::loop1:reads")


def test_a_disk_that_vanishes_comes_back_or_appears(tmp_path: Path) -> None:
    tree = recorded(tmp_path)
    component = disks_of(tree)
    names = ["io:::disk_writes", "io:::sdb:writes", "io:::sda:writes"]
    events = [component.resolve(n)[0] for n in names]
    opened = component.open(events, Target())
    assert opened.counting is not None
    before = (tree / "proc/diskstats").read_text()

    opened.counting.start()
    edit(tree, "cciss/c0d0 10", "nothing/else 10")
    assert counts(names, opened.counting.read())["io:::disk_writes"] is None

    (tree / "proc/diskstats").write_text(before)
    opened.counting.start()
    (tree / "sys/block/sdb/diskseq").write_text("77\n")
    edit(tree, "700 10 56000", "900 10 56000")
    got = counts(names, opened.counting.read())
    assert got == {"io:::disk_writes": None, "io:::sdb:writes": None, "io:::sda:writes": 0}

    (tree / "proc/diskstats").write_text(before)
    opened.counting.start()
    new = tree / "sys/block/sdz"
    new.mkdir()
    (new / "diskseq").write_text("99\n")
    path = tree / "proc/diskstats"
    path.write_text(before + "   8   400 sdz 0 0 0 0 5 0 40 0 0 0 0 0 0 0 0 0 0\n")
    assert counts(names, opened.counting.stop())["io:::disk_writes"] == 5


def test_milliseconds_wrap_at_32_bits(tmp_path: Path) -> None:
    tree = recorded(tmp_path)
    edit(tree, " 0 7000 13000 ", f" 0 {2**32 - 10} 13000 ")
    component = disks_of(tree)
    opened = component.open(component.resolve("io:::sda:busy_ns"), Target())
    assert opened.counting is not None
    opened.counting.start()
    edit(tree, f" 0 {2**32 - 10} 13000 ", " 0 15 13000 ")
    (count,) = opened.counting.stop()
    assert count.raw == 25 * 1_000_000
    assert count.running_ns > 0


def test_kernels_with_fewer_columns_lack_only_those(tmp_path: Path) -> None:
    tree = recorded(tmp_path)
    path = tree / "proc/diskstats"
    lines = [line.split()[:14] for line in path.read_text().splitlines()]
    path.write_text("".join(" ".join(line) + "\n" for line in lines))
    component = disks_of(tree)
    opened = component.open(
        [component.resolve(f"io:::disk_{n}")[0] for n in ("reads", "flushes")], Target()
    )
    assert [event.name for event in opened.events] == ["io:::disk_reads"]
    assert [refusal.event.name for refusal in opened.refused] == ["io:::disk_flushes"]
    assert opened.refused[0].reason
    with pytest.raises(EventNameError):
        component.resolve("io:::sda:flushes")


def test_without_proc_and_sys_all_is_refused_with_reasons(tmp_path: Path) -> None:
    component = IoComponent(tmp_path, tmp_path)
    found = component.availability()
    assert not found.available
    assert found.reason
    assert found.remedy
    events = [component.resolve(info.name)[0] for info in component.events()]
    opened = component.open(events, Target(None, command=True))
    assert opened.counting is None
    assert len(opened.refused) == len(events) > 0


def test_a_hidden_account_is_refused_with_the_kernel_option(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text("1 (a) S\n")
    component = IoComponent(tmp_path, tmp_path)
    (refusal,) = component.open(component.resolve("io:::rchar"), Target()).refused
    assert "CONFIG_TASK_IO_ACCOUNTING" in refusal.remedy
    assert refusal.errno != 0


@given(st.text(), st.text())
def test_garbage_is_unavailable_but_never_an_error(
    tmp_path_factory: pytest.TempPathFactory, diskstats: str, account: str
) -> None:
    tree = tmp_path_factory.mktemp("garbage")
    (tree / "self").mkdir()
    (tree / "diskstats").write_text(diskstats, errors="replace")
    (tree / "self" / "io").write_text(account, errors="replace")
    (tree / "self" / "stat").write_text(account, errors="replace")
    component = IoComponent(tree, tree)
    events = [component.resolve(info.name)[0] for info in component.events()]
    opened = component.open(events, Target())
    assert len(opened.events) + len(opened.refused) == len(events)
    if opened.counting is not None:
        opened.counting.start()
        opened.counting.stop()
        opened.counting.close()
