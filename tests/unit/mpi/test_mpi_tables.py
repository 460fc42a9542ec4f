"""Rows of the model from files of known content."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import totals_files
from totals_files import (
    ALLREDUCE,
    CLOSED,
    CODE,
    NONE,
    SEND,
    WAIT,
    frame,
    messages,
    module,
    site,
    size,
    text,
    thread,
    write,
)

from gnomon.model.capability_result import Collected, rows_of
from gnomon.model.tables import Table
from gnomon.mpi import mpi_metrics as names
from gnomon.mpi.mpi_tables import collect

Rows = list[dict[str, Any]]


class Read:
    """What was collected, with the names of what numbers stand for."""

    def __init__(self, folder: Path) -> None:
        collected: Collected = collect(folder)
        self.warnings, self.facts = collected.warnings, collected.facts
        self.tables: Sequence[Table] = tuple(collected.tables)
        self.regions = {row["region"]: row for row in self.rows("regions")}
        self.paths = {row["path"]: row for row in self.rows("paths")}
        self.metrics = {row["metric"]: row["name"] for row in self.rows("metrics")}
        self.places = {row["location"]: row for row in self.rows("locations")}

    def rows(self, name: str) -> Rows:
        return rows_of(self.tables, name)

    def named(self, path: int) -> tuple[str, ...]:
        """Return the names of the regions on a path, the outermost first."""
        row = self.paths[path]
        above = self.named(row["parent"]) if row["parent"] >= 0 else ()
        return (*above, self.regions[row["region"]]["name"])

    def values(self, metric: str, rank: int = 0) -> dict[tuple[str, ...], tuple[Any, ...]]:
        """Return inclusive and exclusive values and calls of a metric by path."""
        return {
            self.named(row["path"]): (row["inclusive"], row["exclusive"], row["calls"])
            for row in self.rows("profile")
            if self.metrics[row["metric"]] == metric
            and self.places[row["location"]]["rank"] == rank
        }


def test_odd_files_cost_a_warning_alone(tmp_path: Path) -> None:
    write(tmp_path, totals_files.usual())
    os.mkfifo(tmp_path / "h.1.2.mpi.totals")
    os.mkfifo(tmp_path / "h.1.2.mpi.unmeasured")
    (tmp_path / "h.3.4.mpi.totals").symlink_to("nowhere")
    read = Read(tmp_path)
    assert read.facts["processes"] == 1
    assert [warning.partition(": cannot")[0] for warning in read.warnings] == [
        "mpi: h.1.2.mpi.totals", "mpi: h.3.4.mpi.totals",
    ]  # fmt: skip


def test_ranks_of_containers_are_several_though_their_processes_have_one_number(
    tmp_path: Path,
) -> None:
    for rank in range(3):
        write(tmp_path, totals_files.usual(), rank=rank, pid=1, moment=rank)
    # What the first one executed before.
    write(tmp_path, totals_files.usual(), rank=-1, pid=1, moment=9)
    read = Read(tmp_path)
    assert sorted(row["rank"] for row in read.rows("locations") if row["kind"] == "process") == [
        0, 1, 2,
    ]  # fmt: skip
    assert read.facts["processes"] == 3


MAIN, SENDS, ADDS = "app+0x100", "app+0x200", "app+0x300"


def test_sites_are_below_the_functions_that_lead_to_them(tmp_path: Path) -> None:
    write(tmp_path, totals_files.usual())
    read = Read(tmp_path)
    assert read.values(names.TIME) == {
        ("",): (1350, 0, None),
        ("", MAIN): (1350, 0, None),
        ("", MAIN, SENDS): (300, 0, None),
        ("", MAIN, SENDS, "MPI_Send"): (300, 300, 3),
        ("", MAIN, ADDS): (1050, 0, None),
        ("", MAIN, ADDS, "MPI_Allreduce"): (1000, 1000, 5),
        ("", MAIN, ADDS, "MPI_Wait"): (50, 50, 1),
    }
    assert read.values(names.SENT)["",] == (64, 0, None)
    assert read.values(names.RECEIVED)["", MAIN, ADDS, "MPI_Allreduce"] == (40, 40, None)
    assert read.values(names.LONGEST) == {
        ("", MAIN, SENDS, "MPI_Send"): (150, 150, None),
        ("", MAIN, ADDS, "MPI_Allreduce"): (400, 400, None),
        ("", MAIN, ADDS, "MPI_Wait"): (50, 50, None),
    }
    assert read.values(names.WAITING)["", MAIN, ADDS, "MPI_Allreduce"] == (700, 700, None)
    assert read.values(names.ELAPSED) == {("",): (8000, 8000, None)}
    assert read.values(names.OVERHEAD) == {}
    (sends,) = [row for row in read.regions.values() if row["name"] == "MPI_Send"
                and row["kind"] == names.CALL]  # fmt: skip
    assert (sends["kind"], sends["module"]) == (names.CALL, "app")
    assert read.facts == {"processes": 1, "calls": 9, "records_lost": 0, "overhead_ns": 0}
    assert read.warnings == ()


def test_sizes_and_communicators_have_roots_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, totals_files.usual())
    read = Read(tmp_path)
    assert read.values(names.TIME_BY_SIZE) == {
        ("MPI_Send",): (300, 0, None),
        ("MPI_Send", "up to 8 bytes"): (300, 300, 3),
        ("MPI_Allreduce",): (1000, 0, None),
        ("MPI_Allreduce", "up to 8 bytes"): (1000, 1000, 5),
    }
    assert read.values(names.BYTES_BY_SIZE)["MPI_Send", "up to 8 bytes"] == (24, 24, None)
    of_two = "communicator of 2 ranks, the first is rank 0"
    assert read.values(names.TIME_BY_COMMUNICATOR) == {
        ("MPI_COMM_WORLD",): (300, 0, None),
        ("MPI_COMM_WORLD", "MPI_Send"): (300, 300, 3),
        (of_two,): (1000, 0, None),
        (of_two, "MPI_Allreduce"): (1000, 1000, 5),
        ("(no communicator)",): (50, 0, None),
        ("(no communicator)", "MPI_Wait"): (50, 50, 1),
    }
    assert read.values(names.BYTES_BY_COMMUNICATOR)[of_two, "MPI_Allreduce"] == (80, 80, None)
    kinds = {read.regions[row["region"]]["kind"] for row in read.paths.values()}
    assert kinds == {"hpm", "cpu", names.CALL, names.SIZE, names.COMMUNICATOR}


def test_messages_are_from_rank_to_rank(tmp_path: Path) -> None:
    write(tmp_path, totals_files.usual())
    write(tmp_path, totals_files.usual(), rank=3, pid=101)
    read = Read(tmp_path)
    processes = [row for row in read.places.values() if row["kind"] == "process"]
    assert [(row["rank"], row["pid"], row["name"]) for row in processes] == [
        (0, 100, "app"),
        (3, 101, "app"),
    ]
    told = [
        (
            read.places[row["sender"]]["rank"],
            read.places[row["receiver"]]["rank"],
            row["messages"],
            row["bytes"],
            read.named(row["path"])[-1],
        )
        for row in read.rows("messages")
    ]
    assert told == [(0, 1, 3, 24, "MPI_Send"), (3, 1, 3, 24, "MPI_Send")]
    ranks = [row for row in read.places.values() if row["kind"] == "rank"]
    assert [(row["rank"], row["host"], row["pid"]) for row in ranks] == [
        (0, "", -1), (1, "", -1), (3, "", -1)
    ]  # fmt: skip


def test_ranks_of_each_world_are_others(tmp_path: Path) -> None:
    ends = totals_files.CLOSED | totals_files.FINALIZED
    write(tmp_path, totals_files.usual(), pid=100, job=b"7")
    write(tmp_path, totals_files.usual(), pid=101, job=b"8", flags=ends | totals_files.SPAWNED)
    write(tmp_path, totals_files.usual(), pid=102, job=b"9", flags=ends | totals_files.SPAWNED)
    read = Read(tmp_path)
    ranks = [(row["rank"], row["name"]) for row in read.places.values() if row["kind"] == "rank"]
    assert ranks == [
        (0, "rank 0"), (1, "rank 1"), (0, "rank 0 of job 2"), (1, "rank 1 of job 2"),
        (0, "rank 0 of job 3"), (1, "rank 1 of job 3"),
    ]  # fmt: skip
    told = [
        (read.places[row["sender"]]["name"], read.places[row["receiver"]]["name"])
        for row in read.rows("messages")
    ]
    assert told == [
        ("rank 0", "rank 1"), ("rank 0 of job 2", "rank 1 of job 2"),
        ("rank 0 of job 3", "rank 1 of job 3"),
    ]  # fmt: skip


def test_threads_and_frames_that_are_not_known_are_added_up(tmp_path: Path) -> None:
    records = [
        frame(5, NONE, NONE, 0x7F0000000000),
        site(SEND, 5, 1, 10, sent=1),
        site(SEND, 5, 2, 20, sent=2, thread=1),
        site(SEND, 6, 4, 40, sent=4),
        messages(1, 1, 1, 1),
        messages(2, 1, 2, 2),
        messages(77, 1, 4, 4),
        messages(1, -1, 1, 8),
        size(SEND, 0, 7, 0, 70),
    ]
    write(tmp_path, records)
    read = Read(tmp_path)
    assert read.values(names.TIME) == {
        ("",): (70, 0, None),
        ("", "MPI_Send"): (40, 40, 4),
        ("", "[jit]"): (30, 0, None),
        ("", "[jit]", "MPI_Send"): (30, 30, 3),
    }
    told = [(row["receiver"] >= 0, row["messages"], row["bytes"], row["path"] is None)
            for row in read.rows("messages")]  # fmt: skip
    assert sorted(told) == [
        (False, 1, 8, False), (True, 3, 3, False), (True, 4, 4, True)
    ]  # fmt: skip


def test_functions_of_python_lead_to_calls_that_have_their_lines(tmp_path: Path) -> None:
    records = [
        *text(10, 0, "/nowhere/a.py\n<module>"),
        *text(10, 1, "/nowhere/a.py\nexchange"),
        module(0, b"\1"),
        *text(7, 0, "/nowhere/MPI.so"),
        frame(0, NONE, CODE | 0, 20),
        frame(1, 0, CODE | 1, 5),
        frame(2, 1, 0, 0x100),
        frame(3, 0, CODE | 1, 6),
        frame(4, 0, CODE | 9, 7),
        site(SEND, 2, 3, 30),
        site(SEND, 3, 4, 40),
        site(WAIT, 4, 5, 50),
    ]
    write(tmp_path, records)
    read = Read(tmp_path)
    time = read.values(names.TIME)
    assert time["", "<module>", "exchange", "MPI.so+0x100", "MPI_Send"] == (30, 30, 3)
    assert time["", "<module>", "exchange", "MPI_Send"] == (40, 40, 4)
    # Of a function without a name no more is known than that it is in no file.
    assert time["", "<module>", "[jit]", "MPI_Wait"] == (50, 50, 5)
    told = {
        (row["name"], row["module"], row["file"], row["line"])
        for row in read.regions.values()
        if row["kind"] == names.CALL
    }
    assert told == {
        ("MPI_Send", "python", "/nowhere/a.py", 5),
        ("MPI_Send", "python", "/nowhere/a.py", 6),
        ("MPI_Wait", "python", "/nowhere/a.py", 20),
    }


def test_two_programs_of_one_process_are_one(tmp_path: Path) -> None:
    write(tmp_path, totals_files.usual(), moment=1)
    write(tmp_path, totals_files.usual(), moment=2)
    read = Read(tmp_path)
    assert [row["kind"] for row in read.places.values()].count("process") == 1
    assert read.values(names.TIME)["", MAIN, SENDS, "MPI_Send"] == (600, 600, 6)
    assert read.values(names.LONGEST)["", MAIN, SENDS, "MPI_Send"][0] == 150
    assert read.values(names.ELAPSED) == {("",): (16000, 16000, None)}
    assert [row["messages"] for row in read.rows("messages")] == [6]


def test_overhead_is_calls_times_their_cost(tmp_path: Path) -> None:
    records = [site(SEND, NONE, 10, 1), site(WAIT, NONE, 5, 1, completion=3)]
    write(tmp_path, records, cost=(30, 100))
    read = Read(tmp_path)
    assert read.values(names.OVERHEAD) == {("",): (950, 950, None)}
    assert read.facts["overhead_ns"] == 950


def test_mpi_is_up_until_the_last_call_of_a_process_that_does_not_finalize(tmp_path: Path) -> None:
    threads = [thread(), thread(1, last_ticks=4000), thread(2, last_ticks=3000)]
    write(tmp_path, [*threads, *totals_files.usual()], flags=0, up=(1000, 0))
    assert Read(tmp_path).values(names.ELAPSED) == {("",): (3000, 3000, None)}


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    for rank in range(6):
        write(tmp_path, totals_files.usual(), rank=rank, pid=100 + rank,
              flags=CLOSED if rank else 0, lost=16 * (rank == 2))  # fmt: skip
    (tmp_path / "node.9.1.mpi.totals").write_bytes(b"nothing")
    # It called MPI, but never had it up.
    write(tmp_path, [site(ALLREDUCE, NONE, 1, 1)], rank=-1, pid=99, flags=CLOSED)
    read = Read(tmp_path)
    assert read.warnings == (
        "mpi: node.9.1.mpi.totals: cannot be read: at byte 0: not a file of totals of Gnomon",
        "mpi: of rank 2 16 records are missing: the disk was full",
        "mpi: ranks 0, 1, 2, 3 and 2 more ended without MPI_Finalize: what was called until "
        "then is here",
    )


def test_files_that_are_not_held_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(3):
        write(tmp_path, totals_files.usual(), rank=rank, pid=100 + rank)
    held = [table.rows for table in collect(tmp_path).tables]
    monkeypatch.setattr("gnomon.measurement.totals_processes._HELD_BYTES", 0)
    assert [table.rows for table in collect(tmp_path).tables] == held


def test_a_folder_without_mpi_has_nothing(tmp_path: Path) -> None:
    assert Read(tmp_path).tables == ()
