"""Processes of perf.data files: what is mapped, forked and executed by the times of records."""

from __future__ import annotations

from pathlib import Path

import pytest
from perf_data_files import COMPRESSED, COMPRESSED2, EXEC, ROUND, START, Event, PerfData
from perf_data_runs import APP, BASE, LIBRARY, named, stacks, with_code, written
from perf_reports import opened

from gnomon.errors import RunDirectoryError


def test_records_are_taken_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Rings are written one after the other: what a library is mapped over comes later."""
    data = with_code()
    data.sample(BASE + 0x10, time=START + 30)
    data.sample(BASE + 0x10, time=START + 10)
    data.add(ROUND)
    data.mmap(1, BASE, 0x100, LIBRARY, START + 20)
    data.comm(1, "other", START + 25)
    data.sample(BASE + 0x200, time=START + 40)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"app+0x10": 1000, "lib.so+0x10": 1000, "app+0x200": 1000}
    assert named(run, "thread") == [(1, 1, "other")]


def test_what_has_no_time_holds_from_its_round_on(tmp_path: Path) -> None:
    data = PerfData(Event(flags=0))
    data.comm(1, "app")
    data.mmap(1, BASE, 0x1000, APP)
    data.sample(BASE, time=START + 10)
    for _ in range(2):
        data.add(ROUND)
    data.mmap(1, BASE, 0x1000, LIBRARY)
    data.sample(BASE, time=START + 20)
    assert stacks(opened(written(tmp_path / "perf.data", data))) == {
        "app+0x0": 1000, "lib.so+0x0": 1000,
    }  # fmt: skip


def test_children_inherit_what_is_mapped(tmp_path: Path) -> None:
    data = with_code()
    data.fork(2, 1, START + 10)
    data.mmap(2, BASE, 0x100, LIBRARY, START + 20)
    data.fork(3, 2, START + 30)
    # Another program has nothing of it.
    data.fork(4, 1, START + 30)
    data.comm(4, "second", START + 31, misc=EXEC)
    # What perf found there at the start has maps of its own.
    data.fork(5, 1, START + 30, misc=EXEC)
    for pid in range(1, 6):
        data.sample(BASE + 0x10, pid=pid, time=START + 50)
        data.sample(BASE + 0x10000, pid=pid, time=START + 50)
    run = opened(written(tmp_path / "perf.data", data))
    rows = run.query(
        "SELECT l.pid, r.module FROM samples JOIN locations l USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) ORDER BY ALL"
    )
    first, second = "app", "lib.so"
    assert rows == [
        (1, first), (1, second), (2, second), (2, second), (3, second), (3, second),
        (4, "[unknown]"), (4, "[unknown]"), (5, "[unknown]"), (5, "[unknown]"),
    ]  # fmt: skip
    assert named(run, "process") == [
        (1, -1, "app"), (2, -1, "app"), (3, -1, "app"), (4, -1, "second"), (5, -1, "app"),
    ]  # fmt: skip


def test_an_exec_begins_another_process_of_the_same_number(tmp_path: Path) -> None:
    data = with_code()
    data.sample(BASE, time=START + 10)
    data.comm(1, "second", START + 20, misc=EXEC)
    data.mmap(1, BASE, 0x1000, LIBRARY, START + 21)
    data.sample(BASE, time=START + 30)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"app+0x0": 1000, "lib.so+0x0": 1000}


@pytest.mark.parametrize("left", [1, 4, 9, 20, 39])
def test_a_file_that_was_cut_short(tmp_path: Path, left: int) -> None:
    data = with_code()
    data.sample(BASE)
    data.sample(BASE + 1, time=START + 2)
    path = tmp_path / "perf.data"
    for is_finished in (False, True):
        path.write_bytes(data.file(features={}, is_finished=is_finished)[:-left])
        run = opened(path)
        assert stacks(run) == {"app+0x0": 1000}
        assert any("the file ends early" in one for one in run.head["warnings"])
        assert run.query("SELECT name FROM metrics") == [("cycles (sampled)",)]


@pytest.mark.parametrize("left", [34, 39, 40])
def test_zeros_behind_what_was_written(tmp_path: Path, left: int) -> None:
    data = with_code()
    data.sample(BASE)
    data.sample(BASE + 1, time=START + 2)
    path = tmp_path / "perf.data"
    # Of the header of the last record its size is missing.
    path.write_bytes(data.file(is_finished=False)[:-left] + bytes(512))
    assert stacks(opened(path)) == {"app+0x0": 1000}


ZSTD = b"\x28\xb5\x2f\xfd\x00\x50"
"""Magic, and a header of a frame with a window of 1 MiB. Source: RFC 8878."""


def block(content: bytes, *, is_last: bool) -> bytes:
    """Return a block of zstd that is not compressed."""
    return (len(content) << 3 | is_last).to_bytes(3, "little") + content


@pytest.mark.parametrize("kind", [COMPRESSED, COMPRESSED2])
def test_records_that_are_compressed(tmp_path: Path, kind: int) -> None:
    """One frame for all: records of the kernel lie in two of perf's, whose times go back."""
    data = with_code()
    data.sample(BASE + 1, time=START + 50)
    inside = PerfData()
    inside.mmap(1, BASE, 0x100, LIBRARY, START + 20)
    inside.sample(BASE + 2, time=START + 10)
    inside.sample(BASE + 3, time=START + 30)
    whole = bytes(inside.data)
    for part in (ZSTD + block(whole[:75], is_last=False), block(whole[75:], is_last=True)):
        content = part
        # The later kind says how much of it there is, and is padded.
        if kind == COMPRESSED2:
            content = data.pack("Q", len(part)) + part + bytes(-len(part) % 8)
        data.data += data.pack("IHH", kind, 0, 8 + len(content)) + content
    assert stacks(opened(written(tmp_path / "perf.data", data))) == {
        "app+0x2": 1000, "lib.so+0x3": 1000, "lib.so+0x1": 1000,
    }  # fmt: skip


def test_damaged_compression_is_refused(tmp_path: Path) -> None:
    data = with_code()
    data.add(COMPRESSED, b"no frame of zstd")
    path = written(tmp_path / "perf.data", data)
    offset = path.read_bytes().index(b"no frame") - 8
    with pytest.raises(RunDirectoryError, match=f"at byte {offset}: its compression is damaged"):
        opened(path)
