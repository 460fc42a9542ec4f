"""Where the counts of a run are, as tables that fit and as rows that are whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from made_runs import EVENTS, STARTED, Row, made_run

from gnomon.errors import UsageError
from gnomon.store.hotspots import Hotspots, hotspots, whole
from gnomon.store.reports import run_facts
from gnomon.store.reports.hotspot_report import render_hotspots
from gnomon.store.run import Run

LONG = "void std::sort<" + "std::vector<long, std::allocator<long> >, " * 9 + "long>(long*, int)"
HEADER = "/usr/include/c++/12/bits/stl_tree.h"
ROWS: list[Row] = [
    ("app", "main", "/src/m.cpp", 3, (100, 40, 5, 0)),
    ("app", "main", "/src/a/util.h", 7, (200, 0, 0, 9)),
    ("app", "main", HEADER, 1000, (900, 1, 0, 0)),
    ("app", LONG, HEADER, 1001, (600_000, 10, 200, 1)),
    ("app", "helper", "/src/m.cpp", 9, (30, 3, 1, 0)),
    ("app", "helper", "/src/n.cpp", 2, (20, 3, 1, 0)),
    ("app", "other", "/src/b/util.h", 7, (50, 0, 0, 0)),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("run"), ROWS)


def shown(run: Run, found: Hotspots, width: int = 100, **options: object) -> list[str]:
    return render_hotspots(run, found, width=width, **options).splitlines()  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("kind", ["function", "file", "line"])
def test_no_row_is_wider_than_the_terminal(kind: str, width: int, run: Run) -> None:
    lines = shown(run, hotspots(run, kind), width)[1:]
    assert max(map(len, lines)) <= max(width, 78 if kind == "line" else 60)
    assert any("100.0" in line and "total" in line for line in lines)
    assert any("stl_tree.h" in line for line in lines)
    if kind == "function":
        assert any("std::sort<…>" in line for line in lines)


def test_a_function_is_one_row_with_the_file_it_stands_in(run: Run) -> None:
    found = hotspots(run, "function")
    assert [(row.function, row.file, row.values[EVENTS[0]]) for row in found.rows] == [
        (LONG, HEADER, 600_000),
        ("main", "/src/m.cpp", 1200),
        ("other", "/src/b/util.h", 50),
        ("helper", "/src/m.cpp", 30),
        ("helper", "/src/n.cpp", 20),
    ]
    inlined = {(row.file, row.line) for row in hotspots(run, "line").rows if row.function == "main"}
    assert inlined == {("/src/m.cpp", 3), ("/src/a/util.h", 7), (HEADER, 1000)}


def test_programs_are_told_apart(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("ls", "main", "ls.c", 1, (5, 0, 0, 0)), ("cat", "main", "cat.c", 1, (4, 0, 0, 0)),
    ]  # fmt: skip
    both = made_run(tmp_path, rows)
    found = hotspots(both, "function")
    assert [row.program for row in found.rows] == ["ls", "cat"]
    assert any(line.split()[-3:] == ["ls", "main", "ls.c"] for line in shown(both, found))


def test_files_of_one_name_look_different(run: Run) -> None:
    lines = shown(run, hotspots(run, "line"), 160)
    assert any(" a/util.h:7 " in line for line in lines)
    assert any(" b/util.h:7 " in line for line in lines)
    assert not any("/src/m.cpp" in line for line in lines)


@pytest.mark.parametrize("name", ["papi_l1_dcm", "L1_DCM", "PAPI_L1_DCM", " l1_dcm"])
def test_events_are_named_in_any_case_and_without_papi(name: str, run: Run) -> None:
    found = hotspots(run, "function", sort=name)
    assert found.sort == "PAPI_L1_DCM"
    assert shown(run, found)[2].split()[0] == "L1_DCM"
    assert shown(run, found)[2].split()[1] == "TOT_INS"


@pytest.mark.parametrize("kind", ["function", "file", "line"])
def test_an_event_that_is_not_there_is_said_of_what_was_asked(kind: str, run: Run) -> None:
    with pytest.raises(UsageError, match=f"no {kind}s with that event; it has PAPI_TOT_INS, "):
        hotspots(run, kind, sort="cycles")
    with pytest.raises(UsageError, match=f"cycles: this run has no {kind}s with"):
        render_hotspots(run, hotspots(run, kind), width=100, events=["cycles"])


def test_columns_are_those_chosen(run: Run) -> None:
    found = hotspots(run, "function", sort="br_msp")
    head, units, total = shown(run, found, events=["br_msp", "ld_ins"])[2:5]
    assert head.split() == ["BR_MSP", "LD_INS"]
    assert units.split() == ["count", "%", "%", "function", "file"]
    assert total.split() == ["10", "100.0", "100.0", "total"]
    total = shown(run, found, events=["br_msp", "ld_ins"], counts=True)[4]
    assert total.split() == ["10", "100.0", "57", "100.0", "total"]
    narrow = shown(run, found, 60, events=[event.lower() for event in EVENTS])
    assert len(narrow[2].split()) == 4


def test_events_without_room_are_named(run: Run) -> None:
    lines = shown(run, hotspots(run, "line"), 80)
    assert "no room for PAPI_LD_INS, PAPI_L1_DCM, PAPI_BR_MSP" in " ".join(lines)
    assert not any("no room" in line for line in shown(run, hotspots(run, "function"), 160))


def test_an_event_that_never_happened_has_columns(tmp_path: Path) -> None:
    rows: list[Row] = [("app", "main", "m.c", 1, (5, 0, 0, 0))]
    quiet = made_run(tmp_path, rows)
    found = hotspots(quiet, "function", sort="br_msp")
    assert shown(quiet, found)[4].split() == [".", ".", "100.0", ".", ".", "total"]


def test_json_is_whole_whatever_the_table_leaves_out(run: Run) -> None:
    rows = [row.as_dict() for row in hotspots(run, "line").rows]
    assert len(rows) == len(ROWS)
    assert all(tuple(row["self"]) == EVENTS for row in rows)
    assert rows[0]["function"] == LONG
    assert '"PAPI_TOT_INS": 600000,' in json.dumps(rows)
    assert (whole(2.0), whole(2.5), whole(float("nan"))) == (2, 2.5, None)
    values = run_facts.profile(run, "command")
    assert json.dumps(values[0].as_dict()["total"]) == "2500000000"


def test_counts_that_are_not_known_are_none(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("app", "f", "a.c", 1, (None, 2, 0, 0)),
        ("app", "g", "a.c", 2, (4, 0, 0, 0)),
    ]
    found = hotspots(made_run(tmp_path, rows), "function")
    assert found.totals["PAPI_TOT_INS"] == 4


def source(tmp_path: Path, lines: int = 40) -> Path:
    file = tmp_path / "solver.c"
    file.write_text("".join(f"\t\tint line_{at};\n" for at in range(1, lines + 1)))
    os.utime(file, (STARTED - 10, STARTED - 10))
    return file


def solver(tmp_path: Path, *lines: int) -> Run:
    file = str(source(tmp_path))
    rows: list[Row] = [("app", "f", file, at, (10 * at, 0, 1, 0)) for at in lines]
    return made_run(tmp_path, [*rows, ("app", "g", "/no/such.c", 4, (500, 0, 0, 0))])


def test_source_is_annotated_and_gaps_are_folded(tmp_path: Path) -> None:
    run = solver(tmp_path, 10, 12, 30, 41, 0)
    lines = shown(run, hotspots(run, "line", file="solver.c"))
    assert any(line.split()[0] == "1" and "total of the program" in line for line in lines[4:5])
    assert any("930" in line and "total of solver.c" in line for line in lines)
    assert any(line.split() == ["100", "7.0", ".", "20.0", ".", "10", "int", "line_10;"]
               for line in lines)  # fmt: skip
    assert any(line.split() == [".", ".", ".", ".", ".", "11", "int", "line_11;"] for line in lines)
    folded = [line.strip() for line in lines if "-- line" in line]
    assert folded == ["-- lines 1 to 6 --", "-- lines 16 to 26 --", "-- lines 34 to 37 --"]
    assert any("no such line any more" in line for line in lines)
    assert any("no line known" in line for line in lines)


def test_top_lines_of_a_file_are_those_with_most(tmp_path: Path) -> None:
    run = solver(tmp_path, 10, 12, 30)
    lines = shown(run, hotspots(run, "line", file="solver.c", top=1))
    assert any("line_30;" in line and line.split()[0] == "300" for line in lines)
    assert not any("line_10;" in line for line in lines)
    assert "  and 2 more (--top 0 for all)" in lines


def test_a_file_that_cannot_be_read_has_its_numbers(tmp_path: Path) -> None:
    run = solver(tmp_path, 10)
    lines = shown(run, hotspots(run, "line", file="such.c"))
    assert any("cannot be read here" in line for line in lines)
    assert any(line.split()[:1] == ["500"] and line.split()[-1] == "4" for line in lines)


def test_source_keeps_its_indentation_beside_others(tmp_path: Path) -> None:
    file = tmp_path / "m.c"
    file.write_text("\tfor (;;)\n\t\twork();\n" + "\t" + "x" * 200 + "\n")
    rows: list[Row] = [("app", "f", str(file), at, (9 - at, 0, 0, 0)) for at in (1, 2, 3)]
    run = made_run(tmp_path, rows)
    for width in (80, 160):
        lines = shown(run, hotspots(run, "line"), width)
        assert any(line.endswith("f         for (;;)") for line in lines)
        assert any(line.endswith("f             work();") for line in lines)
        (long,) = [line for line in lines if "xxx" in line]
        assert long.count("x") >= 29
        assert long.endswith("…")


def test_source_that_has_changed_since_is_named(tmp_path: Path) -> None:
    run = solver(tmp_path, 10)
    assert not any("changed since" in line for line in shown(run, hotspots(run, "line")))
    os.utime(tmp_path / "solver.c", (STARTED + 1, STARTED + 1))
    for file in ("", "solver.c"):
        said = " ".join(shown(run, hotspots(run, "line", file=file)))
        assert "note: changed since the run (" in said
        assert "): solver.c;" in said


def test_a_file_whose_code_is_all_inlined_has_no_functions(run: Run) -> None:
    with pytest.raises(UsageError, match="no function of that source file"):
        hotspots(run, "function", file="a/util.h")
    with pytest.raises(UsageError, match="no such source file"):
        hotspots(run, "function", file="none.c")


def test_time_of_an_emulation_is_not_the_programs(run: Run, tmp_path: Path) -> None:
    rows = run_facts.profile(run, "command")
    said = run_facts.render_run_facts(
        run, rows, "command", width=80, emulated=run_facts.is_emulated(run)
    )
    assert "2.5 s of emulation, node1" in said
    (wall,) = [line for line in said.splitlines() if "wall time" in line]
    assert wall.endswith("of the emulation, not of the program")
    assert "counted" not in said
    # A command is one line, to be copied.
    assert max(len(line) for line in said.splitlines() if "gnomon report" not in line) <= 80
    native = made_run(tmp_path, [], component="cpu")
    assert not run_facts.is_emulated(native)
    said = run_facts.render_run_facts(native, run_facts.profile(native, "command"), "command")
    assert "of the emulation" not in said
    assert "counted" in said


def test_threads_of_an_emulated_run_have_no_wrong_remedy(run: Run) -> None:
    said = run_facts.render_run_facts(run, (), "thread", width=100, emulated=True)
    assert "tells processes apart, not threads; see --per process" in " ".join(said.split())
    assert "measure with" not in said


def test_names_of_programs_send_nothing_to_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[31mf\n"
    rows: list[Row] = [
        (evil, evil, f"/src/{evil}.c", 1, (5, 0, 0, 0)),
        ("a", evil, "b", 1, (1,) * 4),
    ]
    run = made_run(tmp_path, rows, head={"command": [evil], "warnings": [evil]})
    for kind in ("function", "file", "line"):
        for file in ("", f"{evil}.c"):
            said = render_hotspots(run, hotspots(run, kind, file=file), width=100)
            assert "\x1b" not in said
    said = run_facts.render_run_facts(run, run_facts.profile(run, "command"), "command")
    assert "\x1b" not in said
