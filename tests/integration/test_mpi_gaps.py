"""Tasks that count other groups, die, fail or never come: the rest is reported, the gap named."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from commands import GNOMON, HPMCOUNT, run
from mpi import BOTH, Job, Mpi, launch
from mpi_reports import CALLS, Known, calls_of, counted, marked, of_event, tables, texts

pytestmark = pytest.mark.usefixtures("tracepoints")
both = pytest.mark.parametrize("mpi", BOTH, ids=str)


def said(job: Job, folder: Path) -> str:
    """Return all that a job told its user: what it printed, and its reports."""
    # Reports are filled to a width; a sentence may have line ends in it.
    return " ".join("\n".join([job.said, *texts(folder)]).split())


def groups(folder: Path) -> dict[str, str]:
    """Return the groups of each report, by the tasks that are in it."""
    found = {}
    for table in tables(folder):
        rows = [row for row in table if row["kind"] == "event"]
        assert {row["tasks"] for row in rows} == {rows[0]["tasks"]}
        found[rows[0]["tasks"]] = rows[0]["group"]
    return found


DISTRIBUTED = {"0,2": "5 SCHED", "1,3": "6 PAGEFAULTS"}


@both
@pytest.mark.parametrize(
    "how",
    [
        {"HPM_EVENT_DISTR": "5,6"},
        {"HPM_EVENT_SET": "SCHED,PAGEFAULTS"},
        {"HPM_EVENT_DISTR": "5,6", "HPM_EVENT_SET": "8"},
    ],
    ids=["DISTR", "SET", "DISTR before SET"],
)
def test_groups_go_round_the_tasks(
    mpi: Mpi, how: dict[str, str], known: Known, tmp_path: Path
) -> None:
    counted(known, mpi, tmp_path, "average", options=(), variables=how)
    assert groups(tmp_path) == DISTRIBUTED


@both
def test_groups_of_the_option_go_round_the_tasks(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    counted(known, mpi, tmp_path, "statistics", options=("-g", "5,6"))
    assert groups(tmp_path) == DISTRIBUTED


@both
def test_groups_go_round_the_tasks_of_sections(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    variables = {"HPM_EVENT_DISTR": "5,6", "GNOMON_EVENTS": ""}
    marked(known, mpi, tmp_path, "average", variables=variables)
    assert groups(tmp_path) == DISTRIBUTED


@both
def test_tasks_of_another_length_have_a_mean_of_their_own(
    mpi: Mpi, known: Known, tmp_path: Path
) -> None:
    # Only the section of task 3 is 3 s longer than those of the others.
    late = {"KNOWN_TASK": "3", "KNOWN_SLEEP": "3"}
    marked(known, mpi, tmp_path, "average", variables=late)
    found = {row["tasks"]: float(row["value"]) for row in calls(tmp_path)}
    assert found == {"0-2": sum(map(calls_of, range(3))) / 3, "3": calls_of(3)}
    for file in tmp_path.glob("r*"):
        file.unlink()
    marked(known, mpi, tmp_path, "statistics", variables=late)
    assert [row["tasks"] for row in calls(tmp_path)] == ["0-3"]


def calls(folder: Path, label: str = "work") -> list[dict[str, str]]:
    return [of_event(table, label=label) for table in tables(folder)]


@both
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["KILL", "SEGV"])
def test_a_task_that_is_killed_under_hpmcount(
    mpi: Mpi, number: signal.Signals, known: Known, tmp_path: Path
) -> None:
    killed = {"KNOWN_TASK": "2", "KNOWN_SIGNAL": str(int(number))}
    job = counted(known, mpi, tmp_path, "average", status=None, variables=killed)
    assert job.status != 0
    assert number.name in said(job, tmp_path)
    # Nobody's counts are lost, whoever was ended with it; on a machine that is so busy that one of
    # them did not get to tell in time, the others say so.
    values = {row["tasks"] or row["task"]: float(row["value"]) for row in calls(tmp_path, "")}
    assert values.get("2") == calls_of(2), said(job, tmp_path)
    missing = {0, 1, 2, 3} - set(all_tasks(values))
    for task in missing:
        assert f"task {task} was not done when the job was ended" in said(job, tmp_path)
    assert len(missing) < 3, said(job, tmp_path)


def all_tasks(names: dict[str, float]) -> list[int]:
    """Return the tasks of lists such as "0-2,4"."""
    found: list[int] = []
    for name in names:
        for part in name.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return found


@both
def test_a_task_that_is_killed_among_sections(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    killed = {"KNOWN_TASK": "2", "KNOWN_SIGNAL": str(int(signal.SIGKILL))}
    job = marked(known, mpi, tmp_path, "average", status=None, variables=killed)
    assert job.status != 0
    # Open MPI gives the others time to report, Hydra kills them as they are; then gnomon repair
    # makes the report of what they had measured.
    found = {row["tasks"]: float(row["value"]) for row in calls(tmp_path)}
    raw = sorted(tmp_path.glob("*.hpmraw"))
    if not found:
        run(GNOMON, "repair", "-a", "average", "-o", tmp_path / "r", *raw,
            env={**os.environ, "HPM_CSV_OUTPUT": "1"})  # fmt: skip
        assert [row["tasks"] for row in calls(tmp_path)] == ["0-3"]
        assert calls(tmp_path)[0]["value"] == "2500"
    else:
        assert found == {"0,1,3": (1000 + 2000 + 4000) / 3}, said(job, tmp_path)
        assert len(raw) == 1


@both
def test_a_status_is_mentioned_and_the_task_counts(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    failed = {"KNOWN_TASK": "1", "KNOWN_STATUS": "3"}
    job = counted(known, mpi, tmp_path, "average", status=3, variables=failed)
    rows = calls(tmp_path, "")
    assert [(row["tasks"], float(row["value"])) for row in rows] == [("0-3", 2500)], job.said
    assert "status 3" in said(job, tmp_path)


@both
@pytest.mark.parametrize("how", ["exit", "late"])
def test_a_task_that_never_gets_to_hpmterminate(
    mpi: Mpi, how: str, known: Known, tmp_path: Path
) -> None:
    lost = {"KNOWN_TASK": "2", "KNOWN_LOST": how, "HPM_AGGREGATE_TIMEOUT": "2"}
    job = marked(known, mpi, tmp_path, "average", variables=lost)
    found = {row["tasks"]: float(row["value"]) for row in calls(tmp_path) if row["tasks"]}
    assert found == {"0,1,3": (1000 + 2000 + 4000) / 3}, said(job, tmp_path)
    assert "task 2" in said(job, tmp_path)


@both
def test_hpmterminate_after_mpi_finalize(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    job = marked(known, mpi, tmp_path, "average", variables={"KNOWN_FINALIZED": "1"})
    rows = calls(tmp_path)
    assert [(row["tasks"], float(row["value"])) for row in rows] == [("0-3", 2500)], job.said


@both
def test_programs_without_mpi_have_one_report_too(mpi: Mpi, tmp_path: Path) -> None:
    command = [HPMCOUNT, "-a", "average", "-e", f"page-faults,{CALLS}", "true"]
    job = launch(mpi, 4, *command, folder=tmp_path)
    assert job.out.count("average over 4 tasks: 0-3") == 1, job.said
    assert job.out.count("resource usage") == 1


@both
def test_nothing_is_left_behind(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    for variables in ({"TMPDIR": str(room)}, {"HPM_AGGREGATE_DIR": str(room)}):
        for job_of in (counted, marked):
            job_of(known, mpi, tmp_path, "average", variables=variables)
            assert [file.name for file in room.iterdir() if "hpm" in file.name] == []
    assert not list(tmp_path.glob(".hpm*"))
