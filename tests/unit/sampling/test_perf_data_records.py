"""Records of perf.data files: synthesised ones, of what cannot be recorded here.

Where perf reads them, it is asked, too.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from perf_data_files import (
    ADDR,
    AUXTRACE,
    BRANCHES,
    CALLCHAIN,
    CONTEXT_DEFERRED,
    CONTEXT_KERNEL,
    CONTEXT_USER,
    CPU,
    DATA_SRC,
    DEFERRED,
    ID,
    IDENTIFIER,
    IP,
    KERNEL,
    KSYMBOL,
    LOST,
    LOST_SAMPLES,
    RAW,
    READ,
    SAMPLE_ID_ALL,
    START,
    STREAM_ID,
    THROTTLE,
    USUAL,
    WEIGHT,
    WEIGHT_STRUCT,
    Event,
    PerfData,
)
from perf_data_runs import APP, BASE, ORDERS, named, stacks, with_code, written
from perf_reports import Share, need_perf, opened, shares_of_gnomon, shares_of_perf, total

from gnomon.errors import RunDirectoryError
from gnomon.sampling.perf_data import header_features, profile
from gnomon.sampling.perf_data.header_features import HeaderFeatures

CALL_STACK = 1 << 11


@pytest.mark.parametrize("order", ORDERS)
def test_either_byte_order(tmp_path: Path, order: str) -> None:
    data = with_code(order=order)
    data.sample(BASE + 0x10, period=30)
    data.sample(BASE + 0x10008, period=12, tid=7)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"app+0x10": 30, "lib.so+0x8": 12}
    assert run.head["command"] == ["./app", "7"]
    assert run.head["hosts"] == [{"name": "elsewhere"}]
    assert named(run, "process") == [(1, -1, "app")]
    assert named(run, "thread") == [(1, 1, "app"), (1, 7, "app")]
    assert run.query("SELECT name, how FROM metrics") == [("cycles (sampled)", "sampled")]


@pytest.mark.parametrize("order", ORDERS)
def test_perf_reads_the_same_in_either_byte_order(tmp_path: Path, order: str) -> None:
    need_perf()
    data = with_code(order=order)
    for number in range(50):
        data.sample(BASE + 0x9000 * (number % 3), period=number, time=START + number)
    path = written(tmp_path / "perf.data", data)
    (of_perf,) = shares_of_perf(path).values()
    run = opened(path)
    ((weight, n),) = run.query("SELECT SUM(weight), COUNT(*) FROM samples")
    assert total(of_perf) == Share(float(str(weight)), int(str(n)))
    modules = dict(run.query(
        "SELECT module, CAST(SUM(weight) AS INTEGER) FROM samples JOIN paths USING (path) "
        "JOIN regions USING (region) GROUP BY module"))  # fmt: skip
    assert modules == {module: one.period for (module, _), one in of_perf.items()}


@pytest.mark.parametrize("order", ORDERS)
def test_frames_of_the_kernel_and_of_users(tmp_path: Path, order: str) -> None:
    data = with_code(Event(USUAL | CALLCHAIN), order=order)
    data.mmap(-1, 0xFFFFFFFF81000000, 0x1000000, "[kernel.kallsyms]_text",
              offset=0xFFFFFFFF81000000, misc=KERNEL)  # fmt: skip
    data.mmap(-1, 0xFFFFFFFFC0000000, 0x1000, "/lib/modules/1/nf-tables.ko.xz", misc=KERNEL)
    inside = 0xFFFFFFFFC0000010
    data.sample(inside, misc=KERNEL, callchain=(
        CONTEXT_KERNEL, inside, 0xFFFFFFFF81000020, CONTEXT_USER, BASE + 0x30, BASE + 0x40,
        0x123))  # fmt: skip
    run = opened(written(tmp_path / "perf.data", data))
    # Of what calls return to, the byte before it is in the call.
    assert stacks(run) == {"[unknown];app+0x3f;app+0x30;[kernel];[nf_tables]": 1000}
    (missing,) = run.head["unavailable"][:1]
    assert missing["event"] == "names of [kernel]"
    assert "which kernel it was" in missing["reason"]


def test_a_precise_sample_takes_the_place_of_the_chains_first_frame(tmp_path: Path) -> None:
    data = with_code(Event(USUAL | CALLCHAIN))
    data.sample(BASE + 0x10, callchain=(CONTEXT_USER, BASE + 0x18, BASE + 0x101))
    data.sample(BASE + 0x10, callchain=())
    # A chain of user code alone, of a sample in the kernel.
    data.sample(1 << 63, misc=KERNEL, callchain=(CONTEXT_USER, BASE + 0x50, BASE + 0x101))
    assert stacks(opened(written(tmp_path / "perf.data", data))) == {
        "app+0x100;app+0x10": 1000, "app+0x10": 1000, "app+0x100;app+0x50;[kernel]": 1000,
    }  # fmt: skip


def test_chains_that_were_written_later(tmp_path: Path) -> None:
    data = with_code(Event(USUAL | CALLCHAIN))
    kernel = (CONTEXT_KERNEL, 1 << 63, CONTEXT_DEFERRED)
    data.sample(1 << 63, misc=KERNEL, callchain=(*kernel, 77))
    data.sample(1 << 63, misc=KERNEL, callchain=(*kernel, 78), time=START + 2)
    words = data.pack("5Q", 77, 3, CONTEXT_USER, BASE + 0x10, BASE + 0x21)
    data.other(DEFERRED, words, START + 9)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"app+0x20;app+0x10;[kernel]": 1000, "[kernel]": 1000}
    assert any("1 samples lack the call chain" in one for one in run.head["warnings"])


@pytest.mark.parametrize("order", ORDERS)
def test_call_stacks_of_branches(tmp_path: Path, order: str) -> None:
    data = with_code(Event(USUAL | CALLCHAIN | BRANCHES, branch_type=CALL_STACK), order=order)
    calls = [
        *data.branch(BASE + 0x200, BASE + 0x100, mispredicted=False, cycles=0),
        *data.branch(BASE + 0x10300, BASE + 0x1F0, mispredicted=False, cycles=0),
    ]
    data.sample(BASE + 0x108, callchain=(CONTEXT_USER, BASE + 0x108), branches=calls)
    data.sample(1 << 63, misc=KERNEL, branches=calls, time=START + 2,
                callchain=(CONTEXT_KERNEL, 1 << 63, CONTEXT_USER, BASE + 0x108))  # fmt: skip
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {
        "lib.so+0x300;app+0x200;app+0x108": 1000,
        "lib.so+0x300;app+0x200;app+0x100;[kernel]": 1000,
    }
    assert "branches" not in {schema.name for schema in run.schemas}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("more", [0, 1 << 17, 1 << 17 | 1 << 19])
def test_branches(tmp_path: Path, order: str, more: int) -> None:
    data = with_code(Event(USUAL | BRANCHES | WEIGHT, branch_type=4 | more), order=order)
    branch = [
        *data.branch(BASE + 8, BASE + 0x10010, mispredicted=True, cycles=5),
        *data.branch(BASE + 8, BASE + 0x10010, mispredicted=False, cycles=7),
        *data.branch(BASE + 16, 0x10, mispredicted=False, cycles=0),
    ]
    # What stands behind the branches is read where it is.
    data.sample(BASE, branches=branch, weight=9)
    run = opened(written(tmp_path / "perf.data", data))
    assert run.query(
        "SELECT from_address, to_address, taken, predictions, mispredicted, timings, cycles "
        "FROM branches ORDER BY from_address"
    ) == [(8, 16, 2, 2, 1, 2, 12), (16, None, 1, 1, 0, 0, None)]
    assert run.query("SELECT latency FROM samples") == [(9,)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [WEIGHT, WEIGHT_STRUCT])
def test_accesses_to_memory(tmp_path: Path, order: str, kind: int) -> None:
    data = with_code(Event(USUAL | ADDR | kind | DATA_SRC), order=order)
    # A load (2) that hit (2) the first level of cache (8).
    data.sample(BASE, addr=0x7F0012345678, weight=7 << 32 | 42 if kind == WEIGHT_STRUCT else 42,
                data_src=2 | (2 | 8) << 5)  # fmt: skip
    data.sample(BASE, time=START + 2)
    run = opened(written(tmp_path / "perf.data", data))
    first, second = run.query(
        "SELECT data_address, latency, data_source FROM samples ORDER BY time_ns"
    )
    assert first[:2] == (0x7F0012345678, 42)
    assert "load" in str(first[2])
    assert "L1" in str(first[2])
    assert second == (None, None, "")


ALL_FIELDS = IDENTIFIER | USUAL | ADDR | ID | STREAM_ID | CPU | RAW | (1 << 17) | (1 << 18)
ALL_FIELDS |= 1 << 19 | 1 << 21 | 1 << 22 | 1 << 23


@pytest.mark.parametrize("order", ORDERS)
def test_all_other_fields_are_passed_over(tmp_path: Path, order: str) -> None:
    data = with_code(
        Event(ALL_FIELDS, ids=(5,)), Event(ALL_FIELDS, ids=(6,), name="faults"), order=order
    )
    data.sample(BASE, addr=3, cpu=1, raw=b"abcdefghijkl", period=17, event=1)
    run = opened(written(tmp_path / "perf.data", data))
    assert run.query("SELECT metric, weight, data_address FROM samples") == [(1, 17.0, 3)]


@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120, 128, 136, 144])
def test_events_as_old_and_new_kernels_describe_them(tmp_path: Path, size: int) -> None:
    data = with_code(Event(size=size))
    data.sample(BASE)
    assert stacks(opened(written(tmp_path / "perf.data", data))) == {"app+0x0": 1000}


@pytest.mark.parametrize("kind", [ID, IDENTIFIER, ID | STREAM_ID | CPU])
@pytest.mark.parametrize("is_pipe", [False, True])
def test_ids_tell_events(tmp_path: Path, kind: int, is_pipe: bool) -> None:
    events = (
        Event(USUAL | kind, ids=(10, 11), name="cycles"),
        Event(USUAL | kind, ids=(20, 21), name="cache-misses", config=3),
    )
    data = with_code(*events)
    data.sample(BASE, event=1, id=21, period=5)
    data.sample(BASE, event=0, id=11, period=3, time=START + 2)
    data.sample(BASE, event=0, id=99, period=3, time=START + 3)
    path = tmp_path / "perf.data"
    path.write_bytes(data.pipe() if is_pipe else data.file())
    run = opened(path)
    assert run.query(
        "SELECT m.name, weight FROM samples JOIN metrics m USING (metric) ORDER BY time_ns"
    ) == [("cache-misses (sampled)", 5.0), ("cycles (sampled)", 3.0)]
    assert "1 samples are of events that the file does not describe" in run.head["warnings"]
    assert run.head["command"] == ["./app", "7"]


def test_events_that_share_their_ids_are_refused(tmp_path: Path) -> None:
    """Every event names all ids of the file: they would be read once for each."""
    n = 2000
    events = [Event(USUAL | ID, ids=tuple(range(n)) if at == 0 else ()) for at in range(n)]
    content = bytearray(with_code(*events).file())
    entry = int.from_bytes(content[16:24], "little")
    for at in range(1, n):
        end = 104 + (at + 1) * entry
        content[end - 16 : end] = content[104 + entry - 16 : 104 + entry]
    path = tmp_path / "perf.data"
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError, match="more ids of events than bytes"):
        opened(path)


ENABLED, RUNNING, WITH_ID, GROUP, WITH_LOST = (1 << bit for bit in range(5))


@pytest.mark.parametrize("times", [0, ENABLED, ENABLED | RUNNING])
@pytest.mark.parametrize("more", [0, WITH_LOST])
@pytest.mark.parametrize("order", ORDERS)
def test_values_read_at_samples(tmp_path: Path, times: int, more: int, order: str) -> None:
    form = WITH_ID | times | more
    kind = USUAL | ID | READ
    events = (Event(kind, read_format=form | GROUP, ids=(1,)),
              Event(kind, read_format=form | GROUP, ids=(2,), period=0, name="faults"))  # fmt: skip
    data = with_code(*events, order=order)
    n_times, lost = times.bit_count(), [0] * bool(more)
    for number, (one, other) in enumerate(((100, 7), (250, 9), (300, 9))):
        values = [2, *[5] * n_times, one, 1, *lost, other, 2, *lost]
        data.sample(BASE, read=values, time=START + number)
    run = opened(written(tmp_path / "perf.data", data))
    rows = run.query("SELECT metric, weight FROM samples ORDER BY metric, time_ns")
    # What was counted since the sample before; nothing is no sample.
    assert rows == [(0, 100.0), (0, 150.0), (0, 50.0), (1, 7.0), (1, 2.0)]
    alone = with_code(Event(kind, read_format=form, ids=(1,)), order=order)
    for number, one in enumerate((100, 250)):
        alone.sample(BASE, read=[one, *[5] * n_times, 1, *lost], time=START + number)
    run = opened(written(tmp_path / "alone.data", alone))
    assert run.query("SELECT weight FROM samples ORDER BY time_ns") == [(100.0,), (150.0,)]


def test_losses_are_told(tmp_path: Path) -> None:
    data = with_code()
    data.sample(BASE)
    data.other(LOST, data.pack("2Q", 1, 5), START + 2)
    data.other(LOST, data.pack("2Q", 1, 1200), START + 3)
    data.other(LOST_SAMPLES, data.pack("Q", 7), START + 3)
    data.other(THROTTLE, data.pack("3Q", START, 1, 1), START + 3)
    data.add(99)
    warnings = opened(written(tmp_path / "perf.data", data)).head["warnings"]
    text = "\n".join(warnings)
    assert "1,205 records were lost" in text
    assert "7 samples were lost" in text
    assert "paused sampling 1 times" in text


@pytest.mark.parametrize("has_samples", [True, False])
def test_what_the_kernel_says_twice_is_told_once(tmp_path: Path, *, has_samples: bool) -> None:
    data = with_code(Event(USUAL))
    if has_samples:
        data.sample(BASE)
    data.other(LOST, data.pack("2Q", 0, 1205), START + 1)
    data.other(LOST_SAMPLES, data.pack("Q", 1205), START + 2)
    path = written(tmp_path / "perf.data", data)
    if has_samples:
        notes = [note for note in opened(path).head["warnings"] if "lost" in note]
        assert [note.split(" were")[0] for note in notes] == ["1,205 samples"]
        return
    with pytest.raises(RunDirectoryError, match="no samples: 1,205 were lost; record with fewer"):
        opened(path)


def test_traces_are_passed_over(tmp_path: Path) -> None:
    data = with_code()
    data.add(AUXTRACE, data.pack("3Q4I", 4096, 0, 0, 0, 0, 0, 0))
    # The trace is no records, whatever it looks like.
    data.data += data.record(9, bytes(100)).ljust(4096, b"\xff")
    data.sample(BASE)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"app+0x0": 1000}
    assert any("Intel PT" in one for one in run.head["warnings"])


def test_functions_that_were_made_in_the_kernel(tmp_path: Path) -> None:
    data = with_code()
    start = 0xFFFFFFFFA0000000
    content = data.pack("QI2H", start, 256, 1, 0) + b"bpf_prog_of_ours\0"
    data.other(KSYMBOL, content, START)
    data.sample(start + 255, misc=KERNEL)
    data.sample(start + 256, misc=KERNEL, time=START + 2)
    assert stacks(opened(written(tmp_path / "perf.data", data))) == {
        "bpf_prog_of_ours": 1000, "[kernel]": 1000,
    }  # fmt: skip


def test_code_that_a_process_made(tmp_path: Path) -> None:
    data = with_code()
    data.mmap2(1, 0x7F0000000000, 0x1000, "//anon")
    data.mmap2(1, 0x7F0000002000, 0x1000, "/made/data", rights=1)
    data.mmap2(1, 0x7F0000004000, 0x1000, APP, build_id=bytes(range(20)), offset=0x2000)
    for number in range(3):
        data.sample(0x7F0000000010 + 0x2000 * number, time=START + number)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"[jit]": 1000, "[unknown]": 1000, "app+0x2010": 1000}
    ids = run.query("SELECT build_id FROM modules WHERE path = '/made/app' ORDER BY 1")
    assert ids[-1] == (bytes(range(20)).hex(),)


def test_samples_need_say_little(tmp_path: Path) -> None:
    data = PerfData(Event(IP, flags=SAMPLE_ID_ALL))
    data.sample(BASE, misc=0)
    data.sample(1 << 63, misc=0)
    run = opened(written(tmp_path / "perf.data", data))
    assert stacks(run) == {"[unknown]": 1000, "[kernel]": 1000}


def test_a_file_that_shrinks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = with_code(Event(USUAL | RAW))
    data.sample(BASE, raw=bytes(60_004))
    # More than is held in memory.
    data.data += data.record(9, data.sample_content(
        BASE, 0, {"raw": bytes(60_004)})) * 700  # fmt: skip
    path = written(tmp_path / "perf.data", data)
    read = header_features.read_features

    def shortened(*arguments: Any) -> HeaderFeatures:
        os.truncate(path, 5000)
        return read(*arguments)

    monkeypatch.setattr(profile, "read_features", shortened)
    with pytest.raises(RunDirectoryError, match="cannot be read any more"):
        opened(path)


@pytest.mark.parametrize("order", ORDERS)
def test_perf_reads_the_same_branches_and_accesses(tmp_path: Path, order: str) -> None:
    need_perf()
    data = with_code(Event(USUAL | ADDR | BRANCHES | WEIGHT, branch_type=4), order=order)
    for number in range(6):
        branch = [
            *data.branch(BASE + 8, BASE + 0x10010, mispredicted=number % 3 == 0, cycles=5),
            *data.branch(BASE + 16, BASE + 32, mispredicted=False, cycles=number),
        ]
        data.sample(BASE, branches=branch, weight=number, addr=77, time=START + number)
    path = written(tmp_path / "perf.data", data)
    said = subprocess.run(
        ["perf", "script", "-i", path, "-F", "addr,weight,brstack"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    taken: dict[tuple[str, str], list[int]] = {}
    for branches in re.findall(r"0x(\w+)/0x(\w+)/([MP])/-/-/(\d+)/", said):
        own = taken.setdefault((branches[0], branches[1]), [0, 0, 0])
        own[0] += 1
        own[1] += branches[2] == "M"
        own[2] += int(branches[3])
    run = opened(path)
    rows = run.query(
        "SELECT from_address, to_address, taken, mispredicted, COALESCE(cycles, 0) FROM branches"
    )
    # Addresses are those in the modules, which perf has where they were mapped.
    ours = sorted((n, wrong, cycles) for _, _, n, wrong, cycles in rows)
    assert ours == sorted(map(tuple, taken.values()))
    assert len(ours) == 2
    weights = [int(words[1]) for words in map(str.split, said.splitlines()) if len(words) > 1]
    told = run.query("SELECT COALESCE(latency, 0), data_address FROM samples ORDER BY time_ns")
    assert told == [(weight, 77) for weight in weights]


@pytest.mark.parametrize("order", ORDERS)
def test_perf_reads_the_same_values(tmp_path: Path, order: str) -> None:
    need_perf()
    kind, form = USUAL | ID | READ, WITH_ID | GROUP
    events = (Event(kind, read_format=form, ids=(1,)),
              Event(kind, read_format=form, ids=(2,), period=0, name="faults"))  # fmt: skip
    data = with_code(*events, order=order)
    for number, (one, other) in enumerate(((100, 7), (250, 9), (300, 9), (300, 9))):
        data.sample(BASE, read=(2, one, 1, other, 2), time=START + number)
    path = written(tmp_path / "perf.data", data)
    theirs = shares_of_perf(path)
    ours = shares_of_gnomon(opened(path))
    assert [total(ours[f"{name} (sampled)"]) for name in theirs] == list(
        map(total, theirs.values())
    )
    assert list(map(total, theirs.values())) == [Share(300, 3), Share(9, 2)]
