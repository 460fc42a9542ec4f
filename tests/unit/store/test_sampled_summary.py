"""What the screen of `gnomon run` says of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stack_samples
from stack_samples import Frame, Sample

from gnomon.model.tables import PROFILE, SCHEMAS, Table
from gnomon.store import path_values, run_directory
from gnomon.store.call_paths import CallPaths
from gnomon.store.path_values import PathRows
from gnomon.store.reports.run_summary import render_run_summary
from gnomon.store.run import Run

LONG = "lattice::Solver<double, lattice::Grid<3u> >::relax(lattice::Field<double> const&, int)"
START = (Frame("_start"), Frame("main", "m.cc", 3))
STACKS = [
    *[(*START, Frame(LONG, "s.cc", 20))] * 40,
    *[(*START, Frame("sweep"), Frame(LONG, "s.cc", 21))] * 20,
    *[(*START, Frame("output"), Frame("memcpy", module="libc.so.6"))] * 35,
    *[(Frame("clone3", module="libc.so.6"), Frame("idle"))] * 5,
]  # fmt: skip
FACTS = {"samples": {"samples": 100, "stacks": 100, "complete": 98, "guessed": 0, "lost": 7}}


def summary(path: Path, stacks: list[tuple[Frame, ...]], width: int, **head: Any) -> list[str]:
    whole = {"ranks": 1, "capabilities": [], "warnings": [], **head}
    samples = [Sample(stack) for stack in stacks]
    run = run_directory.find(str(stack_samples.write(path, samples, head=whole)))
    tables = []
    for schema in SCHEMAS:
        columns = ", ".join(column.name for column in schema.columns)
        tables.append(Table(schema, run.query(f"SELECT {columns} FROM {schema.name}")))
    text = render_run_summary(run, tables, width)
    small = [table for table in tables if table.schema is not PROFILE]
    assert render_run_summary(run, small, width) == text
    return text.splitlines()


def test_functions_and_who_calls_the_first(tmp_path: Path) -> None:
    assert summary(tmp_path / "app", STACKS, 80, facts=FACTS)[3:-1] == [
        "  top functions by CPU time: 100 samples, 98.0 % of stacks complete, 7 lost:",
        "       of total   self  total  function                      module",
        "    60.0 ±4.9 %  60 ms  60 ms  lattice::Solver<…>::relax(…)  app",
        "    35.0 ±4.8 %  35 ms  35 ms  memcpy                        libc.so.6",
        "     5.0 ±2.3 %   5 ms   5 ms  idle                          app",
        "  the first is called from:  67 %  main ← _start",
        "                             33 %  sweep ← main ← _start",
    ]


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_line_is_wider_than_the_terminal(width: int, tmp_path: Path) -> None:
    deep = tuple(Frame(LONG.replace("Solver", f"Solver{n}")) for n in range(40))
    lines = summary(tmp_path / "app", [*STACKS, deep, (*deep, START[1])], width)[3:-1]
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("facts", [None, [], {"samples": 3}, {"samples": {"stacks": "x"}}])
def test_facts_that_are_none_are_left_out(facts: object, tmp_path: Path) -> None:
    lines = summary(tmp_path / "app", STACKS, 80, facts=facts)
    assert "  top functions by CPU time: 100 samples:" in lines


def test_a_run_without_stacks_has_no_functions(tmp_path: Path) -> None:
    assert not [line for line in summary(tmp_path / "app", [], 80) if "function" in line]
    assert not [line for line in summary(tmp_path / "b", [()], 80) if "function" in line]


def test_the_profile_of_the_metric_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    rows = path_values.rows

    def noted(run: Run, paths: CallPaths, metric: int, only: str = "") -> PathRows:
        read.append(metric)
        return rows(run, paths, metric, only)

    monkeypatch.setattr(path_values, "rows", noted)
    # Twice: of tables in memory, and of the run's.
    assert summary(tmp_path / "app", STACKS, 80)
    assert len(read) == 2
