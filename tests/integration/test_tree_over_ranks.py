"""The tree of aggregators under real launchers: through MPI, through files, with tasks missing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hpm_programs import PACKAGE
from hpm_programs import run as run_in
from mpi import BOTH, MPICH, Mpi, build, launch

SOURCE = Path(__file__).parents[1] / "native" / "tree_ranks.c"
FLAGS = (
    f"-I{PACKAGE}/include/gnomon", f"-L{PACKAGE}/lib", "-lhpm_plugin",
    f"-Wl,-rpath,{PACKAGE}/lib", "-D_GNU_SOURCE",
)  # fmt: skip
BY_MPI = pytest.mark.parametrize("mpi", BOTH, ids=str)


class Programs(NamedTuple):
    """The program of the tests without MPI, and with each."""

    serial: Path
    parallel: Mapping[Mpi, Path]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Return the programs, which are made once."""
    folder = tmp_path_factory.mktemp("programs")
    shutil.copy(SOURCE, folder)
    source = folder / SOURCE.name
    run_in("cc", source.name, "-o", "serial", *FLAGS, folder=folder)
    made = {mpi: build(mpi, source, folder, "-DWITH_MPI", *FLAGS) for mpi in BOTH}
    return Programs(folder / "serial", made)


def told(mpi: Mpi, tasks: int, program: Path, *actions: str, folder: Path,
         timeout: str = "60", where: str = "") -> dict[int, str]:  # fmt: skip
    """Return what each task says; nothing else is said, and nothing left of the job."""
    job = folder / "job"
    job.mkdir(exist_ok=True)
    variables = {"TMPDIR": str(job), "HPM_AGGREGATE_TIMEOUT": timeout}
    if where:
        variables["HPM_AGGREGATE_DIR"] = where
    done = launch(mpi, tasks, program, *actions, folder=folder, variables=variables, limit_s=300)
    found = dict(re.findall(r"^task (\d+) of \d+:(.*) in [\d.]+ s$", done.out, re.MULTILINE))
    # What was sent to a task that never asks for it may be told by MPICH's UCX.
    lines = [line for line in done.out.splitlines() if "UCX  WARN" not in line]
    assert len(found) == len(lines), done.said
    if not where:
        assert [path for path in job.iterdir() if path.name.startswith("hpm-")] == []
    return {int(task): said for task, said in found.items()}


@pytest.mark.parametrize(
    ("way", "tasks"),
    [
        *((way, tasks) for way in ("files", "mpi", "finalized") for tasks in (2, 4)),
        ("files", 64),
        ("mpi", 20),
        *(pytest.param(way, 64, marks=pytest.mark.long) for way in ("mpi", "finalized")),
    ],
)
@BY_MPI
def test_everybody_comes(
    mpi: Mpi, way: str, tasks: int, programs: Programs, tmp_path: Path
) -> None:
    program = programs.serial if way == "files" else programs.parallel[mpi]
    actions = ["after"] if way == "finalized" else []
    found = told(mpi, tasks, program, *actions, folder=tmp_path)
    total = f" {tasks * (tasks + 1) // 2}" * 2
    assert found == {task: total + (" root" if not task else "") for task in range(tasks)}


@BY_MPI
def test_partials_larger_than_mpi_sends_at_once(
    mpi: Mpi, programs: Programs, tmp_path: Path
) -> None:
    found = told(mpi, 20, programs.parallel[mpi], "large:1000000", folder=tmp_path)
    assert found == {task: " 210 210" + (" root" if not task else "") for task in range(20)}


def without(missing: int, tasks: int, why: str) -> dict[int, str]:
    """Return what tasks say of which one is missing."""
    total = tasks * (tasks + 1) // 2 - missing - 1
    lowest = 0 if missing else 1
    return {
        task: f" {total} {total} | {missing}-{missing} {why}" + (" root" if task == lowest else "")
        for task in range(tasks)
        if task != missing
    }


def rooted(found: Mapping[int, str]) -> tuple[dict[int, str], int]:
    """Return what tasks say but for who is the root, and how many say that they are."""
    roots = sum(said.endswith(" root") for said in found.values())
    return {task: said.removesuffix(" root") for task, said in found.items()}, roots


@pytest.mark.parametrize("missing", [0, 1, 2])
@BY_MPI
def test_a_task_that_ended(mpi: Mpi, missing: int, programs: Programs, tmp_path: Path) -> None:
    found = told(mpi, 20, programs.serial, f"die:{missing}", folder=tmp_path)
    expected = rooted(without(missing, 20, "ended without hpmTerminate"))
    # Of the root's place any task may have taken hold.
    assert rooted(found) == expected


@pytest.mark.parametrize("way", ["files", "mpi"])
@pytest.mark.parametrize("missing", [0, 1, 3])
@BY_MPI
def test_a_task_that_never_comes(
    mpi: Mpi, missing: int, way: str, programs: Programs, tmp_path: Path
) -> None:
    program = programs.serial if way == "files" else programs.parallel[mpi]
    found = told(mpi, 4, program, f"absent:{missing}", folder=tmp_path, timeout="4")
    assert rooted(found) == rooted(without(missing, 4, "did not start within 4 s"))


@pytest.mark.parametrize("way", ["files", "mpi"])
@pytest.mark.parametrize("late", [0, 2])
@BY_MPI
def test_a_task_that_comes_late(
    mpi: Mpi, late: int, way: str, programs: Programs, tmp_path: Path
) -> None:
    program = programs.serial if way == "files" else programs.parallel[mpi]
    found = told(mpi, 4, program, f"late:{late}:6000", folder=tmp_path, timeout="2")
    assert f"the other tasks went on without task {late}, which did not come" in found.pop(late)
    assert rooted(found) == rooted(without(late, 4, "did not come to its end within 2 s"))


@BY_MPI
def test_a_directory_that_is_named(mpi: Mpi, programs: Programs, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    found = told(mpi, 4, programs.serial, folder=tmp_path, where=str(shared))
    assert rooted(found) == (dict.fromkeys(range(4), " 10 10"), 1)
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("way", ["files", "mpi"])
@BY_MPI
def test_a_directory_that_cannot_be_used(
    mpi: Mpi, way: str, programs: Programs, tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "not_there")
    if way == "mpi":
        # It is for those who cannot go through MPI.
        found = told(mpi, 4, programs.parallel[mpi], folder=tmp_path, where=nowhere)
        assert rooted(found) == (dict.fromkeys(range(4), " 10 10"), 1)
        return
    done = launch(mpi, 4, programs.serial, folder=tmp_path,
                  variables={"HPM_AGGREGATE_DIR": nowhere})  # fmt: skip
    said = f"the directory {nowhere}/hpm-"
    assert done.out.count(said) == 4
    assert (
        done.out.count("cannot be created: No such file or directory; set HPM_AGGREGATE_DIR") == 4
    )


def nodes(mpi: Mpi, folder: Path) -> dict[str, str]:
    """Return the variables by which a launcher takes this machine for two nodes."""
    hosts = folder / "hosts"
    if mpi is MPICH:
        hosts.write_text("localhost:2\n127.0.0.1:2\n")
        return {"HYDRA_LAUNCHER": "fork", "HYDRA_HOST_FILE": str(hosts)}
    hosts.write_text("one slots=2\ntwo slots=2\n")
    agent = folder / "agent"
    # Daemons of one machine would make the same folder, and the later one fails.
    agent.write_text(
        '#!/bin/sh\nshift\nTMPDIR=$(mktemp -d) && export TMPDIR\nsh -c "$*"\nstatus=$?\n'
        'rm -rf "$TMPDIR"\nexit $status\n'
    )
    agent.chmod(0o755)
    # The two would use the same names for memory that they share.
    return {
        "OMPI_MCA_plm_rsh_agent": str(agent),
        "OMPI_MCA_orte_default_hostfile": str(hosts),
        "OMPI_MCA_btl": "tcp,self",
        # Its daemon maps what it knows of the machine where it hopes for room, and may crash.
        "OMPI_MCA_rtc": "^hwloc",
    }


@pytest.mark.parametrize("way", ["files", "mpi", "finalized"])
@BY_MPI
def test_two_nodes_that_share_the_working_directory(
    mpi: Mpi, way: str, programs: Programs, tmp_path: Path
) -> None:
    program = programs.serial if way == "files" else programs.parallel[mpi]
    actions = ["after"] if way == "finalized" else []
    work = tmp_path / "work"
    work.mkdir()
    done = launch(mpi, 4, program, *actions, folder=work, variables=nodes(mpi, tmp_path))
    assert done.out.count(" of 4: 10 10") == 4, done.said
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("is_shared", [False, True])
def test_two_nodes_that_share_nothing(is_shared: bool, programs: Programs, tmp_path: Path) -> None:
    """Each reports for itself, and says what would help; with that, they are one."""
    here, there, shared = tmp_path / "here", tmp_path / "there", tmp_path / "shared"
    for folder in (here, there, shared):
        folder.mkdir()
    variables = nodes(MPICH, tmp_path) | {"HPM_AGGREGATE_TIMEOUT": "2"}
    if is_shared:
        variables["HPM_AGGREGATE_DIR"] = str(shared)
    program = str(programs.serial)
    done = launch(MPICH, 2, "-wdir", here, program, ":", "-n", "2", "-wdir", there, program,
                  folder=tmp_path, variables=variables)  # fmt: skip
    if is_shared:
        assert done.out.count(" of 4: 10 10") == 4, done.said
    else:
        why = "did not start within 2 s, or is on a node that does not share HPM_AGGREGATE_DIR"
        assert done.out.count(f" of 4: 3 3 | 2-3 {why}") == 2, done.said
        assert done.out.count(f" of 4: 7 7 | 0-1 {why}") == 2, done.said
        assert done.out.count(" root ") == 2
    assert [list(folder.iterdir()) for folder in (here, there, shared)] == [[], [], []]


@BY_MPI
def test_a_full_disk(mpi: Mpi, programs: Programs, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    run_in("mount", "-t", "tmpfs", "-o", "size=256k", "none", small, folder=tmp_path)
    try:
        variables = {"HPM_AGGREGATE_DIR": str(small)}
        done = launch(mpi, 4, programs.serial, "large:200000", folder=tmp_path,
                      variables=variables)  # fmt: skip
    finally:
        run_in("umount", small, folder=tmp_path)
    # Everyone comes to an end, with a total of those who had room or with the reason.
    lines = done.out.splitlines()
    assert len(lines) == 4
    assert "No space left on device" in done.out
    for line in lines:
        assert re.search(r"could not send what it measured|No space left on device|ended before",
                         line)  # fmt: skip
