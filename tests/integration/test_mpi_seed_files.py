"""The files that programs linked with libmpitrace write, in the form of the seed's chapter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from mpi import BOTH, OPEN_MPI, Mpi, build, environment, launch
from mpi_seed import EXAMPLES, linked, make, run_linked

import gnomon

RANKS = 4
RING = EXAMPLES / "mpi_test.c"
SIZES = [1 << exponent for exponent in range(21)]
# Example 4-4: calls and average bytes of each routine.
ROUTINES = {
    "MPI_Comm_size": ("1", "0.0"), "MPI_Comm_rank": ("1", "0.0"), "MPI_Isend": ("21", "99864.3"),
    "MPI_Irecv": ("21", "99864.3"), "MPI_Waitall": ("21", "0.0"), "MPI_Barrier": ("47", "0.0"),
}  # fmt: skip
TOPOLOGY = "size 4 1 1\n0 0 0 0 0\n1 1 0 0 0\n2 2 0 0 0\n3 3 0 0 0\n"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith("mpi_profile")}


def rows(text: str, begin: str, end: str) -> list[list[str]]:
    """Return the words of the lines between two that begin so."""
    return [line.split() for line in text.split(begin, 1)[1].split(end, 1)[0].splitlines() if line]


@pytest.mark.parametrize("is_static", [True, False], ids=["static", "shared"])
@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_the_profile_has_the_form_of_example_4_4(mpi: Mpi, is_static: bool, tmp_path: Path) -> None:
    (tmp_path / "topology").write_text(TOPOLOGY)
    program = linked(mpi, RING, tmp_path, static=is_static)
    out, err = run_linked(
        mpi, RANKS, program, tmp_path, {"GNOMON_MPI_TOPOLOGY": str(tmp_path / "topology")}
    )
    assert (out, err) == ("", "")
    text = (tmp_path / "mpi_profile.0").read_text()
    assert re.match(r"elapsed time from clock-cycles using freq = \d+\.\d MHz\n-{20,}\n", text)
    table = rows(text, "MPI Routine", "total communication")
    assert table[0] == ["#calls", "avg.", "bytes", "time(sec)"]
    assert {row[0]: (row[1], row[2]) for row in table[2:-1]} == ROUTINES
    assert all(re.fullmatch(r"\d+\.\d{3}", row[3]) for row in table[2:-1])
    assert re.search(r"^total communication time = \d+\.\d{3} seconds\.$", text, re.M)
    assert re.search(r"^total elapsed time +(=) \d+\.\d{3} seconds\.$", text, re.M)
    for name in ("MPI_Isend", "MPI_Irecv"):
        sizes = rows(text.split("Message size distributions:", 1)[1], f"\n{name} ", "\n\n")
        assert sizes[0] == ["#calls", "avg.", "bytes", "time(sec)"]
        # The first line is of 1, 2 and 4 bytes.
        assert [row[:2] for row in sizes[1:]] == [
            ["3", "2.3"], *(["1", f"{size}.0"] for size in SIZES[3:])
        ]  # fmt: skip
    check_summary(text)
    check_choice(text, tmp_path)


def check_summary(text: str) -> None:
    """Check what the file of rank 0 has of all tasks."""
    summary = text.split("Communication summary for all tasks:", 1)[1]
    by_rank, by_time = (
        rows(part, "taskid", "\n\n") for part in summary.split("MPI tasks sorted by", 1)
    )
    heads = ["xcoord", "ycoord", "zcoord", "procid", "total_comm(sec)", "avg_hops"]
    assert by_rank[0] == by_time[0] == heads
    # Around the ring it is a hop, and from the last back to the first three.
    assert [[*row[:5], row[6]] for row in by_rank[1:]] == [
        [str(rank), str(rank), "0", "0", "0", "3.00" if rank == RANKS - 1 else "1.00"]
        for rank in range(RANKS)
    ]
    assert sorted(by_time[1:]) == by_rank[1:]
    times = [float(row[5]) for row in by_time[1:]]
    assert times == sorted(times)


def check_choice(text: str, folder: Path) -> None:
    """Check that those ranks have files that the summary names."""
    chosen = re.findall(
        r"(minimum|median|maximum) +communication time = \S+ sec for task (\d)", text
    )
    assert [word for word, _ in chosen] == ["minimum", "median", "maximum"]
    ranks = {"0", *(rank for _, rank in chosen)}
    expected = {f"mpi_profile.{rank}" for rank in ranks}
    assert names(folder) == expected | {f"mpi_profile_{rank}.viz" for rank in ranks}
    for rank in ranks - {"0"}:
        assert "all tasks" not in (folder / f"mpi_profile.{rank}").read_text()


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_examples_4_1_to_4_3_build_and_run(mpi: Mpi, tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLES, folder)
    make(mpi, folder, "mpitrace", "controlled", "statusesf")
    (tmp_path / "own").mkdir()
    run_linked(mpi, RANKS, folder / "mpitrace", tmp_path, {"TRACE_DIR": "own"})
    assert "mpi_profile.0" in names(tmp_path / "own")
    assert not names(tmp_path)
    run_linked(mpi, RANKS, folder / "controlled", tmp_path)
    assert {f"mpi_profile.{rank}" for rank in range(RANKS)} < names(tmp_path)
    _, err = run_linked(mpi, 2, folder / "statusesf", tmp_path)
    assert err.count("trace_start and trace_stop have no effect yet") == 1
    text = (tmp_path / "mpi_profile.0").read_text()
    assert re.search(r"^MPI_Isend +10 +800\.0 ", text, re.M), text


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_the_matrix_has_what_each_rank_sent(mpi: Mpi, tmp_path: Path) -> None:
    program = linked(mpi, RING, tmp_path)
    (tmp_path / "send_bytes.matrix").write_bytes(b"\1" * 4096)
    run_linked(mpi, RANKS, program, tmp_path, {"TRACE_SEND_PATTERN": "yes"})
    matrix = np.fromfile(tmp_path / "send_bytes.matrix").reshape(RANKS, RANKS)
    expected = np.roll(np.eye(RANKS), 1, axis=1) * sum(SIZES)
    assert np.array_equal(matrix, expected)


def test_the_viz_file_is_read_back_with_lines(tmp_path: Path) -> None:
    program = linked(OPEN_MPI, RING, tmp_path)
    run_linked(OPEN_MPI, 2, program, tmp_path)
    done = subprocess.run(
        ["gnomon", "report", "--json", tmp_path / "mpi_profile_0.viz", "regions"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = json.dumps(json.loads(done.stdout))
    assert "MPI_Isend" in text
    assert "mpi_test.c" in text


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_with_gnomon_run_there_are_both_the_files_and_a_run(mpi: Mpi, tmp_path: Path) -> None:
    for is_static in (False, True):
        folder = tmp_path / f"static-{is_static}"
        folder.mkdir()
        program = linked(mpi, RING, folder, static=is_static)
        done = subprocess.run(
            ["gnomon", "mpi", "--name", "ring", "--", mpi.command("mpirun"), "-n", "2", program],
            cwd=folder, env=environment(mpi), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "mpi_profile.0" in names(folder)
        done = subprocess.run(
            ["gnomon", "report", "--json", folder / "ring.gnomon", "mpi"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        calls = {it["name"]: it["calls"] for it in json.loads(done.stdout)["routines"]}
        expected = {name: 2 * int(number) for name, (number, _) in ROUTINES.items()}
        assert {name: calls[name] for name in ROUTINES} == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 0 0 0\n", "line 1: a line \"size X Y Z\" comes before"),
        ("size 2 2\n", "line 1: one line has"),
        ("size 0 2 1\n", "line 1: sizes are from 1"),
        ("size 2 1 1\n0 0 0 0\n0 1 0 0\n", "line 3: this rank has been there before"),
        ("size 2 1 1\n0 2 0 0\n", "line 2: these coordinates are not within the size"),
        ("size 2 1 1\n0 0 0 x\n", "line 2: a line has RANK X Y Z"),
        ("size 2 1 1\n0 0 0 0\n", "has no line for rank 1"),
        ("size 2 1 1 torus 4\n", "\"torus\" ends the line"),
        ("#" * 300, "line 1: the line is too long"),
    ],
)  # fmt: skip
def test_a_topology_that_is_none_is_refused_once(
    content: str, message: str, tmp_path: Path, ring: Path
) -> None:
    (tmp_path / "topology").write_text(content)
    job = launch(OPEN_MPI, 2, ring, folder=tmp_path,
                 variables={"GNOMON_MPI_TOPOLOGY": "topology"})  # fmt: skip
    assert job.err.count("GNOMON_MPI_TOPOLOGY: topology") == 1
    assert message in job.err
    text = (tmp_path / "mpi_profile.0").read_text()
    assert "coordinates and hops are not known" in text


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(OPEN_MPI, RING, tmp_path_factory.mktemp("ring"))


def test_a_torus_is_gone_round_the_shorter_way(tmp_path: Path, ring: Path) -> None:
    (tmp_path / "topology").write_text(TOPOLOGY.replace("size 4 1 1", "size 4 1 1 torus"))
    run_linked(OPEN_MPI, RANKS, ring, tmp_path, {"GNOMON_MPI_TOPOLOGY": "topology"})
    text = (tmp_path / "mpi_profile.0").read_text()
    assert (
        re.findall(r" (\S+)$", text.split("taskid", 2)[1], re.M)[1 : 1 + RANKS] == ["1.00"] * RANKS
    )


def test_what_waits_for_the_tracer_is_named_once(tmp_path: Path, ring: Path) -> None:
    variables = {"TRACE_ALL_EVENTS": "yes", "TRACE_ALL_TASKS": "yes", "TRACE_MAX_RANK": "8",
                 "MAX_TRACE_RANK": "8", "SWAP_BYTES": "no"}  # fmt: skip
    _, err = run_linked(OPEN_MPI, 2, ring, tmp_path, variables)
    assert err == (
        "gnomon: libmpitrace: events are not traced yet, the profile is there; without effect: "
        "TRACE_ALL_EVENTS TRACE_ALL_TASKS TRACE_MAX_RANK MAX_TRACE_RANK SWAP_BYTES\n"
    )
    _, err = run_linked(OPEN_MPI, 2, ring, tmp_path, {"TRACE_ALL_EVENTS": "no"})
    assert err == ""


def test_a_folder_that_is_not_there_costs_a_line_and_nothing_else(
    tmp_path: Path, ring: Path
) -> None:
    out, err = run_linked(OPEN_MPI, 2, ring, tmp_path, {"TRACE_DIR": "nowhere"})
    assert out == ""
    assert "nowhere/mpi_profile.0 is not written: No such file or directory" in err


def test_traceback_level_moves_sites_to_callers(tmp_path: Path) -> None:
    source = tmp_path / "deep.c"
    source.write_text(
        "#include <mpi.h>\n"
        "__attribute__((noinline)) void inner(void) {\n"
        'MPI_Barrier(MPI_COMM_WORLD); __asm__(""); }\n'
        "int main(int argc, char **argv) {\n"
        "MPI_Init(&argc, &argv);\n"
        "inner();\n"
        "inner();\n"
        "return MPI_Finalize(); }\n"
    )
    program = linked(OPEN_MPI, source, tmp_path)
    for level, sites in (("0", 1), ("1", 2)):
        run_linked(OPEN_MPI, 1, program, tmp_path, {"TRACEBACK_LEVEL": level})
        text = (tmp_path / "mpi_profile_0.viz").read_text()
        assert text.count('label="MPI_Barrier"') == sites


def test_a_program_without_libmpitrace_writes_no_files(tmp_path: Path) -> None:
    program = build(OPEN_MPI, RING, tmp_path)
    launch(OPEN_MPI, 2, program, folder=tmp_path)
    assert not names(tmp_path)


def linked_with_archives(folder: Path, text: str) -> Path:
    """Compile a program that calls what libmpitrace is made of, without any MPI."""
    source, program = folder / "ask.c", folder / "ask"
    source.write_text(text)
    package = Path(gnomon.__file__).parent
    archives = [
        package / "lib" / f"libgnomon-{name}.a"
        for name in ("mpitrace", "mpi", "call-sites", "runtime", "core")
    ]
    includes = f"-I{package / 'mpi' / 'include'}"
    subprocess.run(
        ["cc", "-o", program, includes, source, *archives, "-lpthread", "-ldl", "-lm"], check=True
    )
    return program


def test_a_process_with_little_memory_has_sums_all_the_same(tmp_path: Path) -> None:
    program = linked_with_archives(
        tmp_path,
        "#include <sys/resource.h>\n"
        '#include "totals_file.h"\n'
        "int main(void) {\n"
        'static const char *const names[] = {"", "MPI_Send"};\n'
        'static const struct gn_totals_plan plan = {"mpi", names, 2};\n'
        "struct rlimit most = {64 << 20, 64 << 20};\n"
        "uint64_t n;\n"
        "setrlimit(RLIMIT_AS, &most);\n"
        "return gn_totals_open_in_memory(&plan) || !gn_totals_records(&n); }\n",
    )
    assert subprocess.run([program], check=False).returncode == 0


def test_a_matrix_of_too_many_ranks_is_refused(tmp_path: Path) -> None:
    program = linked_with_archives(
        tmp_path,
        '#include "trace/send_matrix.h"\n'
        "int main(void) { return gn_trace_matrix_begin(GN_TRACE_MATRIX_RANKS + 1) == -1 &&\n"
        "!gn_trace_matrix_begin(3) ? 0 : 1; }\n",
    )
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == (
        "gnomon: libmpitrace: send_bytes.matrix is not written: 16385 ranks are more than 16384; "
        "the run has what was sent as a table: gnomon run\n"
    )
    assert (tmp_path / "send_bytes.matrix").stat().st_size == 3 * 3 * 8
