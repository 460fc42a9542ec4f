"""Counts of the emulated PMU: exact where they are said to be, and each process's own."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Document, emulated, gnomon, values
from test_count_cli import check_schema

from gnomon.counters.emulation.cachegrind import read
from gnomon.counters.emulation.events import DEFAULT
from gnomon.store.run_directory import find

pytestmark = pytest.mark.usefixtures("valgrind")
Programs = Callable[[str], Path]
INSTRUCTIONS = "PAPI_TOT_INS"
ALL = "PAPI_TOT_INS,PAPI_LD_INS,PAPI_SR_INS,PAPI_BR_CN,indirect-branches,PAPI_L1_DCM,PAPI_L3_TCM"
SMALL = ("--cache", "D1=32K,8,64", "--cache", "LL=4M,16,64")
ROUNDS = 100_003
x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the programs are x86-64's")


def known_work(compiled: Callable[..., Path], *defines: str) -> Path:
    flags = ("-nostdlib", "-static", "-no-pie", *(f"-D{one}" for one in defines))
    return compiled("cc", "known_work.S", *flags)


@x86_64
def test_counts_of_a_known_loop_are_exact(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = known_work(compiled, "LOOP", f"COUNT={ROUNDS}")
    found = values(emulated(tmp_path, *SMALL, "-e", ALL, "--", program))
    assert found["PAPI_TOT_INS"] == 4 * ROUNDS + 4
    assert found["PAPI_LD_INS"] == found["PAPI_SR_INS"] == ROUNDS
    assert found["PAPI_BR_CN"] == ROUNDS
    assert found["indirect-branches"] == 0
    # One cache line of data, and the code's own: two or three lines at most.
    assert found["PAPI_L1_DCM"] == 1
    assert found["PAPI_L3_TCM"] <= 4


@x86_64
def test_counts_of_calls_and_jumps_are_exact(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = known_work(compiled, "LOOP", "JUMPS", f"COUNT={ROUNDS}")
    found = values(emulated(tmp_path, "-e", f"{ALL},PAPI_BR_MSP", "--", program))
    assert found["PAPI_TOT_INS"] == 7 * ROUNDS + 4
    assert found["PAPI_LD_INS"] == 3 * ROUNDS  # the cell, the target, the return address
    assert found["PAPI_SR_INS"] == 2 * ROUNDS
    assert found["PAPI_BR_CN"] == ROUNDS
    assert found["indirect-branches"] == ROUNDS
    assert found["PAPI_BR_MSP"] < 20  # a loop and one target: only the beginning and the end


@x86_64
def test_not_all_branches_are_counted(compiled: Callable[..., Path], tmp_path: Path) -> None:
    """No name of all branches stands for some; a ratio is of what it says."""
    program = known_work(compiled, "LOOP", "JUMPS", f"COUNT={ROUNDS}")
    names = "PAPI_BR_INS,branches,branch-instructions,PAPI_BR_UCN"
    counted = f"PAPI_TOT_INS,PAPI_BR_CN,indirect-branches,PAPI_BR_MSP,{names}"
    document = emulated(tmp_path, "-e", counted, "--", program)
    refused = {row["event"]: row["reason"] for row in document["unavailable"]}
    assert refused.keys() == set(names.split(","))
    assert all("PAPI_BR_CN and indirect-branches" in reason for reason in refused.values())
    found = values(document)
    ratio = 100 * found["PAPI_BR_MSP"] / (2 * ROUNDS)
    metrics = {row["name"]: row["value"] for row in document["metrics"]}
    assert metrics["predicted_branch_miss_ratio"] == pytest.approx(ratio)
    assert not {"branch_misprediction_ratio", "branch_share"} & metrics.keys()
    listed = gnomon("events", "--component", "emulated").stdout
    assert "emulated:::indirect-branches" in listed
    assert "PAPI_BR_INS" not in listed
    refused_alone = gnomon("count", "--pmu", "emulated", "-e", "PAPI_BR_INS", "--", str(program))
    assert refused_alone.returncode == 2
    assert "this engine counts no direct jumps, calls and returns" in refused_alone.stderr


@x86_64
@pytest.mark.parametrize(
    ("lines", "each_misses"), [(2048, True), (256, False)], ids=["beyond the cache", "within it"]
)
def test_misses_of_a_pointer_chase_are_those_of_its_cache(
    lines: int, each_misses: bool, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """In a circle, and least recently used goes first, all or none of the loads miss."""
    loads = 40 * lines
    program = known_work(compiled, "CHASE", f"LINES={lines}", f"COUNT={loads}")
    events = f"{ALL},L1-dcache-load-misses,LLC-load-misses"
    found = values(emulated(tmp_path, *SMALL, "-e", events, "--", program))
    assert found["PAPI_TOT_INS"] == 3 * loads + 5
    assert found["PAPI_LD_INS"] == found["PAPI_BR_CN"] == loads
    assert found["PAPI_SR_INS"] == 0
    assert found["L1-dcache-load-misses"] == (loads if each_misses else lines)
    assert found["LLC-load-misses"] == lines


@x86_64
def test_totals_are_those_of_cachegrind(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = known_work(compiled, "CHASE", "LINES=777", "COUNT=50001")
    document = emulated(tmp_path, "-e", f"{ALL},PAPI_L1_ICM,PAPI_BR_MSP", "--", program)
    file = tmp_path / "bare"
    options = ["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"]
    subprocess.run(
        ["valgrind", *options, f"--cachegrind-out-file={file}", program],
        check=True, capture_output=True,
    )  # fmt: skip
    bare = read(file)
    own = dict(zip(bare.events, bare.totals, strict=True))
    assert values(document) == {
        "PAPI_TOT_INS": own["Ir"],
        "PAPI_LD_INS": own["Dr"],
        "PAPI_SR_INS": own["Dw"],
        "PAPI_BR_CN": own["Bc"],
        "indirect-branches": own["Bi"],
        "PAPI_L1_DCM": own["D1mr"] + own["D1mw"],
        "PAPI_L3_TCM": own["ILmr"] + own["DLmr"] + own["DLmw"],
        "PAPI_L1_ICM": own["I1mr"],
        "PAPI_BR_MSP": own["Bcm"] + own["Bim"],
    }


@x86_64
def test_results_are_the_same_every_time(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = known_work(compiled, "CHASE", "LINES=777", "COUNT=50001")
    document = emulated(tmp_path, "-r", "3", "-e", ALL, "--", program)
    for spread in document["spread"]:
        if spread["name"] in ALL:
            assert spread["minimum"] == spread["maximum"] == spread["mean"]
            assert spread["how"] == "emulated"


PARENT, CHILD = 400_000, 70_000


def of_generations(programs: Programs, tmp_path: Path, how: str) -> tuple[Document, list[int]]:
    """Return the document, and the instructions of the parent and then of the child."""
    program = programs("generations")
    document = emulated(tmp_path, "--", program, how, str(PARENT), str(CHILD), "3",
                        status=3 if how == "exec" else 0)  # fmt: skip
    rows = document["processes"]
    pids = {row["pid"] for row in rows}  # no order: the kernel begins again at low numbers
    each = sorted(rows, key=lambda row: row["ppid"] in pids)
    return document, [row["values"][INSTRUCTIONS] for row in each]


@pytest.fixture(scope="module")
def measures(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, float]:
    """Return the instructions of one round, and of a process of no rounds."""
    folder = tmp_path_factory.mktemp("measures")
    program = programs("generations")
    counts = [
        values(emulated(folder, "--", program, "child", "0", rounds))[INSTRUCTIONS]
        for rounds in ("0", "1000000")
    ]
    return (counts[1] - counts[0]) / 1_000_000, counts[0]


@pytest.mark.parametrize("how", ["fork", "fail"])
def test_what_a_child_had_from_its_parent_is_taken_off(
    how: str, programs: Programs, measures: tuple[float, float], tmp_path: Path
) -> None:
    per_round, start = measures
    document, (parent, child) = of_generations(programs, tmp_path, how)
    assert parent == pytest.approx(start + per_round * PARENT, abs=12_000)
    assert child == pytest.approx(per_round * CHILD, abs=3000)
    assert values(document)[INSTRUCTIONS] == parent + child
    assert not any("fork" in note for note in document["notes"])


@pytest.mark.parametrize("how", ["vfork", "spawn"])
def test_a_child_that_executes_a_program_counts_for_itself(
    how: str, programs: Programs, measures: tuple[float, float], tmp_path: Path
) -> None:
    per_round, start = measures
    _, (parent, child) = of_generations(programs, tmp_path, how)
    assert parent == pytest.approx(start + per_round * PARENT, abs=12_000)
    assert child == pytest.approx(start + per_round * CHILD, abs=3000)


def test_what_a_process_did_before_it_executed_another_program_counts(
    programs: Programs, measures: tuple[float, float], tmp_path: Path
) -> None:
    per_round, start = measures
    _, (only,) = of_generations(programs, tmp_path, "exec")
    assert only == pytest.approx(2 * start + per_round * (PARENT + CHILD), abs=12_000)


def test_a_killed_child_is_named(programs: Programs, tmp_path: Path) -> None:
    document, counts = of_generations(programs, tmp_path, "kill")
    assert len(counts) == 1
    assert any("left no counts: killed" in note for note in document["notes"])
    # Who reads only the counter learns it, too.
    doubts = {one.get("doubt") for one in (*document["counters"], *document["metrics"])}
    (doubt,) = doubts
    assert doubt.startswith("incomplete, without process ")
    check_schema(document)


def test_a_fork_that_nobody_saw_is_said(programs: Programs, tmp_path: Path) -> None:
    document, (parent, child) = of_generations(programs, tmp_path, "clone")
    assert child > parent
    assert any("counted again" in note for note in document["notes"])
    assert {one["doubt"] for one in document["counters"]} == {
        "too much: a parent's counts again in each fork"
    }


def test_without_doubt_none_is_written(programs: Programs, tmp_path: Path) -> None:
    document, _ = of_generations(programs, tmp_path, "exec")
    assert document["counters"]
    assert not any("doubt" in one for one in (*document["counters"], *document["metrics"]))


def test_lines_add_up_to_the_totals(
    compiled: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = compiled("gfortran", "matrix.f90", "-O0")
    done = gnomon("count", "--pmu", "emulated", "--name", "f", "--", program)
    assert done.returncode == 5
    opened = find("f")
    totals = dict(opened.query(
        "SELECT m.name, inclusive FROM profile JOIN metrics m USING (metric) "
        "JOIN locations USING (location) WHERE kind = 'command' AND component = 'emulated'"
    ))  # fmt: skip
    lines = dict(opened.query(
        "SELECT m.name, SUM(exclusive) FROM profile JOIN metrics m USING (metric) "
        "JOIN paths USING (path) JOIN regions r USING (region) WHERE r.kind = 'cpu' GROUP BY 1"
    ))  # fmt: skip
    assert totals.keys() == set(DEFAULT)
    assert lines == totals
    ours = gnomon("report", "f", "--per", "line", "--file", "matrix.f90").stdout
    assert "a(i, j) = i + 2 * j" in ours
    with_counts = [row.split() for row in ours.splitlines() if "a(i, j) = i + 2 * j" in row]
    assert int(with_counts[0][0]) > 0
    assert "total of matrix.f90" in ours
    assert max(map(len, ours.splitlines()[1:])) <= 100
    by_function = gnomon("report", "f", "--per", "function", "--top", "3").stdout
    assert "MAIN__" in by_function
    assert "more (--top 0 for all)" in by_function
    by_misses = gnomon("report", "f", "--per", "file", "--sort", "PAPI_L1_DCM", "--json").stdout
    assert '"file"' in by_misses
    assert "emulated" in gnomon("report", "f").stdout
