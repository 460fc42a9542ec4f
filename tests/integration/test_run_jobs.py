"""`gnomon run` in jobs and over them, with Open MPI and MPICH."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mpi
import pytest
from commands import GNOMON, gnomon, run
from run_programs import (
    EVENTS,
    GETPPID,
    JOB,
    RANKS,
    flags,
    section_values,
)

from gnomon.store import run_directory
from gnomon.view.session import Session


@pytest.mark.parametrize("launcher", mpi.BOTH, ids=str)
def test_inside_and_over_a_launcher_the_sections_are_the_same(
    tmp_path: Path, launcher: mpi.Mpi
) -> None:
    source = tmp_path / "job.c"
    source.write_text(JOB)
    program = mpi.build(launcher, source, tmp_path, *flags())
    inside = mpi.launch(
        launcher, RANKS, GNOMON, "run", "--", program, folder=tmp_path, variables=EVENTS
    )
    (made,) = tmp_path.glob("job.*-20*.gnomon")
    assert sorted(inside.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    assert inside.err.count("gnomon view") == 1
    done = run(
        GNOMON, "run", "--name", "over", "--", launcher.command("mpirun"),
        *(["--oversubscribe"] if launcher is mpi.OPEN_MPI else []), "-n", str(RANKS), program,
        cwd=tmp_path, env=mpi.environment(launcher) | EVENTS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    over = tmp_path / "over.gnomon"
    expected = {
        "outer": [(rank, 7 + 2 * rank, 1, 1) for rank in range(RANKS)],
        "inner": [(rank, 6 + 2 * rank, 6 + 2 * rank, 3 + rank) for rank in range(RANKS)],
    }
    assert section_values(made, GETPPID) == section_values(over, GETPPID) == expected
    for path in (made, over):
        opened = run_directory.find(str(path))
        assert opened.head["ranks"] == RANKS
        processes = opened.query(
            "SELECT rank FROM locations WHERE kind = 'process' AND rank >= 0 ORDER BY rank"
        )
        assert [rank for (rank,) in processes] == list(range(RANKS))
    sums = run_directory.find(str(made)).query(
        "SELECT m.name, SUM(CASE WHEN kind = 'rank' THEN inclusive END), "
        "SUM(CASE WHEN kind = 'command' THEN inclusive END) FROM profile "
        "JOIN metrics m USING (metric) JOIN locations USING (location) "
        "WHERE m.name IN ('task-clock', 'page-faults') GROUP BY 1 ORDER BY 1"
    )
    assert [name for name, _, _ in sums] == ["page-faults", "task-clock"]
    assert all(ranks == whole > 0 for _, ranks, whole in sums)
    # The time of a rank is all of its own, not that of some of its sections.
    told = json.loads(
        gnomon("report", made, "profile", "--by", "rank", "-e", "wall time", "--json").stdout
    )
    assert [one["of"] for one in told["rows"]] == ["rank"] * RANKS
    assert not list(tmp_path.glob("*.raw"))
    for path in (made, over):
        (shown,) = Session().open([str(path)])
        tree = shown.tree("rank")
        names = [tree.text(tree.name, at) for at in range(tree.n)]
        # A rank and its process are one node, and so are the run and its command.
        ranks = [name for name in names if name.startswith("rank ")]
        assert sorted(name.split()[1] for name in ranks) == [str(rank) for rank in range(RANKS)]
        assert not any(name.startswith("command") for name in names)
        assert names.count("inner") == RANKS


@pytest.mark.parametrize("launcher", mpi.BOTH, ids=str)
def test_a_job_whose_rank_fails_leaves_what_there_was(tmp_path: Path, launcher: mpi.Mpi) -> None:
    source = tmp_path / "job.c"
    ends = "if (rank == 1)\n\t\treturn 3;\n\tMPI_Barrier(MPI_COMM_WORLD);\n\tMPI_Finalize"
    source.write_text(JOB.replace("MPI_Finalize", ends))
    program = mpi.build(launcher, source, tmp_path, *flags())
    done = mpi.launch(
        launcher, RANKS, GNOMON, "run", "--name", "j", "--", program,
        folder=tmp_path, variables=EVENTS, status=None,
    )  # fmt: skip
    assert done.status != 0
    # Whoever is the last makes the run, also after the launcher has ended.
    mpi.settled(tmp_path)
    assert (tmp_path / "j.gnomon").exists(), done.said
    assert run_directory.find(str(tmp_path / "j.gnomon")).head["exit_status"] == 3
    assert (1, 9, 1, 1) in section_values(tmp_path / "j.gnomon", GETPPID)["outer"]


@pytest.mark.parametrize("launcher", mpi.BOTH, ids=str)
def test_a_job_of_several_programs_is_one_run(tmp_path: Path, launcher: mpi.Mpi) -> None:
    source = tmp_path / "job.c"
    source.write_text(JOB)
    program = mpi.build(launcher, source, tmp_path, *flags())
    other = program.with_name("other")
    other.write_bytes(program.read_bytes())
    other.chmod(0o755)
    words = [GNOMON, "run", "--"]
    done = mpi.launch(
        launcher, 2, *words, program, ":", "-n", "2", *words, other, "x",
        folder=tmp_path, variables=EVENTS | {"OMPI_MCA_rmaps_base_oversubscribe": "1"},
    )  # fmt: skip
    assert sorted(done.out.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    (made,) = tmp_path.glob("*.gnomon")
    assert made.name.startswith(("job.", "other-"))
    assert done.err.count("gnomon view") == 1
    head = run_directory.find(str(made)).head
    assert (head["ranks"], head["command"]) == (RANKS, [str(program), ":", str(other), "x"])
    assert len(section_values(made, GETPPID)["outer"]) == RANKS
    assert not list(tmp_path.glob("*.raw"))


@pytest.mark.parametrize("launcher", mpi.BOTH, ids=str)
def test_ranks_of_a_python_program_keep_their_own_output(tmp_path: Path, launcher: mpi.Mpi) -> None:
    program = tmp_path / "prog.py"
    program.write_text(
        'import os\nfrom gnomon import hpm\nwith hpm.section("part"):\n    os.getppid()\n'
    )
    folder = tmp_path / "out"
    folder.mkdir()
    variables = EVENTS | {"HPM_CSV_OUTPUT": "yes"}
    done = mpi.launch(launcher, 3, sys.executable, program, folder=folder, variables=variables)
    assert done.err == ""
    assert {path.name for path in folder.iterdir()} == {"prog.csv", "prog_1.csv", "prog_2.csv"}
