"""What the sampler wrote, read back; and files whose records make no sense."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sample_records
from hypothesis import given
from hypothesis import strategies as st
from sample_records import CLOCK, NONE

from gnomon.errors import FormatError
from gnomon.model.capability_result import rows_of
from gnomon.sampling import sample_tables
from gnomon.sampling.empty_files import may_have_samples
from gnomon.sampling.sample_file import read_samples
from gnomon.sampling.sampled_events import choose
from gnomon.sampling.sampling_observer import SamplingObserver, SamplingOptions
from gnomon.store.record_file import open_records


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = sample_records.write(tmp_path / "n.1.2.samples.gnrec", sample_records.records())
    samples = read_samples(open_records(path))
    assert samples.node_parents.tolist() == [NONE, 0, 1, NONE, 3, 0]
    assert samples.modules[2].build_id == "abcd"
    assert [task.name for task in samples.processes] == ["other"]
    assert [(task.number, task.name) for task in samples.threads] == [(50, "app"), (51, "worker")]
    assert samples.epoch_ns == 1_700_000_000_000_000_000
    assert samples.kernel_names == {2: "do_work"}


def test_the_sampler_has_the_layout_that_is_written_here(tmp_path: Path) -> None:
    events = choose(["cpu-clock:u"], 99, None)
    observer = SamplingObserver(tmp_path, SamplingOptions(events, 8, 8), is_running=True)
    observer.attach(os.getpid())
    observer.finish()
    (file,) = tmp_path.glob("*.samples.gnrec")
    own = sample_records.write(tmp_path / "n.1.2.samples.gnrec", sample_records.records())
    sampler, here = (
        {kind.name: kind.dtype for kind in open_records(path).kinds} for path in (file, own)
    )
    assert sampler == here


def test_tables_hold_each_sample_and_its_path(tmp_path: Path) -> None:
    sample_records.write(tmp_path / "n.1.2.samples.gnrec", sample_records.records())
    collected = sample_tables.collect(tmp_path)
    tables = list(collected.tables)
    regions = {row["region"]: row["name"] for row in rows_of(tables, "regions")}
    paths = {row["path"]: row for row in rows_of(tables, "paths")}

    def stack(path: Any) -> list[Any]:
        row = paths[path]
        above = stack(row["parent"]) if row["parent"] != -1 else []
        return [*above, regions[row["region"]]]

    taken = [
        (row["location"], row["time_ns"], stack(row["path"])[1:])
        for row in rows_of(tables, "samples")
    ]
    (app, worker) = (
        row["location"] for row in rows_of(tables, "locations") if row["kind"] == "thread"
    )
    outer, inner = regions[1], regions[2]
    assert taken == [
        (app, 1_700_000_000_000_001_500, [outer, inner, "do_work"]),
        (worker, 1_700_000_000_000_002_500, ["(truncated)", inner]),
        (worker, 1_700_000_000_000_003_500, [outer, inner]),
        (app, 1_700_000_000_000_004_500, [outer, "[jit]"]),
    ]
    values: dict[Any, Any] = {
        (row["location"], *stack(row["path"])[1:]): (row["inclusive"], row["exclusive"], row["raw"])
        for row in rows_of(tables, "profile")
    }
    us = pytest.approx(1e-6)
    assert values[app, outer] == (pytest.approx(2e-6), 0, 2)
    assert values[app, outer, inner] == (us, 0, 1)
    assert values[app, outer, inner, "do_work"] == (us, us, 1)
    assert values[worker,] == (pytest.approx(2e-6), 0, 2)
    assert collected.facts == {
        "samples": 4, "lost": 3, "throttled": 1, "without_memory": 0, "processes_without": 0,
        "left_out": 3, "stacks": 4, "complete": 3, "beyond_copy": 1, "without_rules": 0,
        "in_bad_memory": 0, "too_deep": 0, "guessed": 1, "shortened": 0, "cpu_us": 7,
        "python_processes_unread": 0,
    }  # fmt: skip
    assert [note.partition(" because")[0] for note in collected.warnings] == [
        "samples: 3 of 7 were lost",
        "samples: the kernel paused sampling 1 times to limit its cost; take fewer (a lower rate)",
        "samples: 25.0 % of the stacks are not complete; these stand below (truncated): "
        "25.0 % go on beyond the part that was copied",
    ]


FAULTS = {**CLOCK, "name": "page-faults", "unit": "", "is_clock": False, "read_with": "cpu-clock"}
LOAD_FROM_L3, FAULT = 0x02 | (0x02 | 0x40) << 5, 0


def test_what_was_read_at_samples_has_rows_and_a_profile(tmp_path: Path) -> None:
    rows = sample_records.records()
    rows["event"].append((1, json.dumps(FAULTS)))
    # The last one's sample was not written any more.
    rows["value"] = [(30, 0, 1), (12, 2, 1), (99, 4, 1)]
    rows["data"] = [(0x7F00, LOAD_FROM_L3, 55, 1), (0xFFFF_8000_0000_0000, FAULT, 0, 3),
                    (1, 1, 1, 9)]  # fmt: skip
    sample_records.write(tmp_path / "n.1.2.samples.gnrec", rows)
    collected = sample_tables.collect(tmp_path)
    tables = list(collected.tables)
    taken = rows_of(tables, "samples")
    assert [(row["metric"], row["weight"]) for row in taken] == [
        (0, pytest.approx(1e-6)), (1, 30), (0, pytest.approx(1e-6)), (0, pytest.approx(1e-6)),
        (1, 12), (0, pytest.approx(1e-6)),
    ]  # fmt: skip
    same = ("location", "path", "time_ns", "address")
    assert [taken[1][name] for name in same] == [taken[0][name] for name in same]
    assert [(row["data_address"], row["data_source"], row["latency"]) for row in taken] == [
        (None, "", None), (None, "", None), (0x7F00, "load, L3 hit", 55), (None, "", None),
        (None, "", None), (-(1 << 47), "", None),
    ]  # fmt: skip
    own: list[Any] = [row["exclusive"] for row in rows_of(tables, "profile") if row["metric"] == 1]
    assert sum(own) == 42
    (faults,) = (row for row in rows_of(tables, "metrics") if row["metric"] == 1)
    assert faults["name"] == "page-faults (sampled)"
    said = str(faults["description"])
    assert said.startswith("page-faults counted up to samples of cpu-clock")
    assert collected.facts["samples"] == 4


def test_a_node_whose_branch_came_last_is_not_there(tmp_path: Path) -> None:
    rows = sample_records.records()
    rows["branch"].append((6, 1))
    path = sample_records.write(tmp_path / "n.1.2.samples.gnrec", rows)
    assert len(read_samples(open_records(path)).node_parents) == 6


@pytest.mark.parametrize(
    ("kind", "row", "why"),
    [
        ("place", (1, 4), "the module of a place is number 4 of 4"),
        ("node", (5,), "the place of a node is number 5 of 5"),
        ("branch", (4, 4), "a node comes before its parent"),
        ("thread", (1, 1, 5, b""), "the process of a thread is number 1 of 1"),
        ("thread", (9, 0, 5, b""), "thread 9 of 3"),
        ("module", (9, 2, 5, 0, b"", 0), "module 4 is malformed"),
        ("module", (4, 4, 5, 0, b"", 0), "module 4 is malformed"),
        ("module", (4, 2, 5, 65, b"", 0), "module 4 is malformed"),
        ("sample", (0, 0, 2, 0, 0, 0, 0, 0), "the thread of a sample is number 2 of 2"),
        ("sample", (0, 0, 0, 6, 0, 0, 0, 0), "the node of a sample is number 6 of 6"),
        ("sample", (0, 0, 0, 0, 0, 1, 0, 0), "the event of a sample is number 1 of 1"),
        ("value", (1, 0, 1), "the event of a value is number 1 of 1"),
        ("jump", (5, 0, 0, 0, 0), "the place of a jump is number 5 of 5"),
        ("jump", (0, 5, 0, 0, 0), "the place of a jump is number 5 of 5"),
        ("event", (1, "no JSON"), "Expecting value"),
        ("event", (1, "[1]"), "event 1 is malformed"),
        ("event", (1, json.dumps({**CLOCK, "name": 3})), "event 1 has no name"),
        ("event", (1, json.dumps({**CLOCK, "factor": float("nan")})), "event 1 has no factor"),
        ("event", (2, json.dumps(CLOCK)), "1"),
    ],
)
def test_numbers_of_nothing_are_refused(
    tmp_path: Path, kind: str, row: tuple[Any, ...], why: str
) -> None:
    rows = sample_records.records()
    rows.setdefault(kind, []).append(row)
    path = sample_records.write(tmp_path / "n.1.2.samples.gnrec", rows)
    with pytest.raises(FormatError) as error:
        read_samples(open_records(path))
    assert f"its records are not those of samples: {why}" in str(error.value)


def test_a_file_that_says_nothing_of_itself_is_refused(tmp_path: Path) -> None:
    rows = {**sample_records.records(), "setup": []}
    sample_records.write(tmp_path / "n.1.2.samples.gnrec", rows)
    collected = sample_tables.collect(tmp_path)
    assert list(collected.tables) == []
    (note,) = collected.warnings
    assert note.startswith("samples: n.1.2.samples.gnrec: ")
    assert "none says how it was sampled" in note


@given(seed=st.integers(0, 1 << 30))
def test_any_numbers_give_tables_or_the_reason(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    rows = sample_records.records() | {
        "event": [(0, json.dumps({**CLOCK, "counts_more": True}))],
        "time": [(9_000_000, 50)],
        "value": [(7, 1, 0), (8, 3, 0)],
        "data": [(5, LOAD_FROM_L3, 7, 2)],
        "jump": list(sample_records.JUMPS),
    }
    for _ in range(random.randrange(1, 4)):
        kind = random.choice(["module", "place", "node", "branch", "process", "thread", "sample",
                              "loss", "setup", "time", "value", "data", "jump"])  # fmt: skip
        layout = sample_records.KINDS[kind][0]
        row = list(random.choice(rows[kind]))
        at = random.randrange(len(row))
        if isinstance(row[at], int):
            bits = {"Q": 64, "I": 32, "i": 31, "H": 16, "B": 8}[
                re.findall(r"(?:\d*)([A-Za-z])", re.sub(r"\d+x", "", layout))[at]
            ]
            row[at] = random.choice([random.randrange(8), (1 << bits) - 1, (1 << bits) // 2,
                                     random.getrandbits(bits)])  # fmt: skip
        rows[kind].insert(random.randrange(len(rows[kind]) + 1), tuple(row))
    folder = tmp_path_factory.mktemp("any")
    sample_records.write(folder / "n.1.2.samples.gnrec", rows)
    tables = list(sample_tables.collect(folder).tables)
    assert all(len(table) for table in tables if table.schema.name in ("regions", "paths"))


def test_a_file_without_samples_is_known_by_its_blocks(tmp_path: Path) -> None:
    path = tmp_path / "n.1.2.samples.gnrec"
    rows = sample_records.records()
    assert may_have_samples(sample_records.write(path, rows))
    assert may_have_samples(sample_records.write(path, {**rows, "loss": []}))
    assert may_have_samples(sample_records.write(path, {**rows, "sample": []}))
    sample_records.write(path, {**rows, "sample": [], "loss": []})
    assert not may_have_samples(path)
    whole = path.read_bytes()
    for size in (*range(0, len(whole), 509), len(whole) - 1):
        path.write_bytes(whole[:size])
        assert may_have_samples(path)
    path.unlink()
    assert may_have_samples(path)


def test_numpy_is_not_imported_for_a_program_too_short_for_samples(tmp_path: Path) -> None:
    rows = {**sample_records.records(), "sample": [], "loss": []}
    sample_records.write(tmp_path / "n.1.2.samples.gnrec", rows)
    script = (
        "import sys, pathlib; from gnomon.capabilities import SAMPLES; "
        f"SAMPLES.collect(pathlib.Path({str(tmp_path)!r})); sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
