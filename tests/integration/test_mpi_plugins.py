"""Every shipped plug-in under both MPIs: with hpmcount, and in programs with sections.

known.c calls getsid(2) 1000, 2000, 3000 and 4000 times on four tasks, so that each aggregate has
one right value.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import stdev

import pytest
from mpi import BOTH, MPICH, OPEN_MPI, Job, Mpi
from mpi_reports import (
    Known,
    Row,
    calls_of,
    counted,
    marked,
    of_event,
    tables,
    texts,
    time_of,
)

pytestmark = pytest.mark.usefixtures("tracepoints")

TASKS = 4
ALL = [calls_of(task) for task in range(TASKS)]
MEAN = sum(ALL) / TASKS
# What each plug-in makes of the calls: the reports, and the value in each.
PER_TASK = {"mirror", "loc_merge"}
VALUES = {
    "single": ALL[0],
    "average": MEAN,
    "minimum": ALL[0],
    "maximum": ALL[-1],
    "statistics": MEAN,
    "histogram": MEAN,
    "history": MEAN,
}
Way = Callable[..., Job]
# Where the program's own counts stand: of the whole program, or of its section.
WAYS: dict[str, tuple[Way, str]] = {"hpmcount": (counted, ""), "sections": (marked, "work")}
# Where the counts come from has no part in what is made of those of all tasks.
LONG = {(plugin, "hpmcount") for plugin in VALUES if plugin not in ("single", "statistics")}

both = pytest.mark.parametrize("mpi", BOTH, ids=str)
either = pytest.mark.parametrize("way", WAYS)
hpmcount_is_long = pytest.mark.parametrize(
    "way", [pytest.param("hpmcount", marks=pytest.mark.long), "sections"]
)


def reported(mpi: Mpi, known: Known, folder: Path, way: str, plugin: str, **options: object) -> Row:
    """Return the row of the calls in the one report that a job leaves."""
    job_of, label = WAYS[way]
    job = job_of(known, mpi, folder, plugin, **options)
    found = tables(folder)
    assert len(found) == 1, f"{len(found)} reports\n{job.said}"
    assert "HPM ERROR" not in job.err
    return of_event(found[0], label=label)


@both
@pytest.mark.parametrize(
    ("plugin", "way"),
    [
        pytest.param(plugin, way, marks=[pytest.mark.long] if (plugin, way) in LONG else [])
        for plugin in VALUES
        for way in WAYS
    ],
)
def test_one_report_with_the_right_value(
    mpi: Mpi, way: str, plugin: str, known: Known, tmp_path: Path
) -> None:
    row = reported(mpi, known, tmp_path, way, plugin)
    assert float(row["value"]) == VALUES[plugin]
    if plugin == "single":
        assert (row["task"], row.get("with_value") or "") == ("0", "")
        return
    assert (row["tasks"], row["task_count"]) == ("0-3", "4")
    if plugin == "history":
        # Its spread is over runs, of which this is the first.
        assert (row["with_value"], float(row["minimum"])) == ("1", MEAN)
        return
    assert row["with_value"] == "4"
    assert (float(row["minimum"]), row["minimum_task"]) == (ALL[0], "0")
    assert (float(row["maximum"]), row["maximum_task"]) == (ALL[-1], "3")
    if plugin == "statistics":
        assert float(row["deviation"]) == pytest.approx(stdev(ALL), rel=1e-12)
    if plugin == "histogram":
        assert row["bins"] == "1 0 0 1 0 0 1 0 0 1"


@both
@either
@pytest.mark.parametrize("plugin", sorted(PER_TASK))
def test_a_report_of_each_task(
    mpi: Mpi, way: str, plugin: str, known: Known, tmp_path: Path
) -> None:
    job_of, label = WAYS[way]
    job = job_of(known, mpi, tmp_path, plugin)
    rows = [of_event(table, label=label) for table in tables(tmp_path)]
    assert {row["task"]: float(row["value"]) for row in rows} == {
        str(task): calls_of(task) for task in range(TASKS)
    }, job.said


@both
@either
@pytest.mark.parametrize("language", ["fortran", "python"])
def test_programs_in_other_languages(
    mpi: Mpi, way: str, language: str, known: Known, tmp_path: Path
) -> None:
    row = reported(mpi, known, tmp_path, way, "average", language=language)
    assert float(row["value"]) == MEAN
    assert (row["tasks"], float(row["minimum"]), float(row["maximum"])) == ("0-3", ALL[0], ALL[-1])


@both
@either
def test_the_mean_is_that_of_the_tasks_own_reports(
    mpi: Mpi, way: str, known: Known, tmp_path: Path
) -> None:
    job_of, label = WAYS[way]
    apart, together = tmp_path / "apart", tmp_path / "together"
    for folder, plugin in ((apart, "mirror"), (together, "statistics")):
        folder.mkdir()
        job_of(known, mpi, folder, plugin)
    own = sorted(float(of_event(table, label=label)["value"]) for table in tables(apart))
    row = of_event(tables(together)[0], label=label)
    assert float(row["value"]) == sum(own) / len(own)
    assert float(row["deviation"]) == pytest.approx(stdev(own), rel=1e-12)
    # Those that differ from run to run are at least between their extremes.
    for name in ("task-clock", "page-faults"):
        row = of_event(tables(together)[0], name, label)
        assert float(row["minimum"]) <= float(row["value"]) <= float(row["maximum"])
    wall = time_of(tables(together)[0], label=label)
    assert 0 < float(wall["minimum"]) <= float(wall["value"]) <= float(wall["maximum"])


@both
@hpmcount_is_long
def test_more_tasks_than_a_node_of_the_tree_has_children(
    mpi: Mpi, way: str, known: Known, tmp_path: Path
) -> None:
    ranks = 20
    row = reported(mpi, known, tmp_path, way, "statistics", ranks=ranks)
    own = [calls_of(task) for task in range(ranks)]
    assert float(row["value"]) == sum(own) / ranks
    assert float(row["deviation"]) == pytest.approx(stdev(own), rel=1e-12)
    assert (row["tasks"], row["maximum_task"]) == ("0-19", "19")


@both
def test_the_report_on_standard_output_is_there_once(
    mpi: Mpi, known: Known, tmp_path: Path
) -> None:
    job = counted(known, mpi, tmp_path, "average", variables={"HPM_STDOUT": "yes"})
    assert job.out.count("average over 4 tasks: 0-3") == 0, "-n"
    assert texts(tmp_path)[0].count("average over 4 tasks: 0-3") == 1


@both
@hpmcount_is_long
def test_history_keeps_runs_and_averages_over_them(
    mpi: Mpi, way: str, known: Known, tmp_path: Path
) -> None:
    kept = {"HPM_HISTORY_FILE": str(tmp_path / "kept.hpmitems")}
    for run in (1, 2):
        for file in tmp_path.glob("r*"):
            file.unlink()
        row = reported(mpi, known, tmp_path, way, "history", variables=kept)
        assert (float(row["value"]), row["with_value"]) == (MEAN, str(run))
    assert (tmp_path / "kept.hpmitems").stat().st_size > 0
    assert "2 runs" in texts(tmp_path)[0]


@pytest.mark.long
@either
def test_both_mpis_give_the_same_report(way: str, known: Known, tmp_path: Path) -> None:
    rows = []
    for mpi in (OPEN_MPI, MPICH):
        folder = tmp_path / mpi.name
        folder.mkdir()
        rows.append(reported(mpi, known, folder, way, "histogram"))
    same = ("value", "minimum", "maximum", "minimum_task", "maximum_task", "bins", "tasks")
    assert [rows[0][name] for name in same] == [rows[1][name] for name in same]


@both
@pytest.mark.parametrize("language", ["c", "fortran", "python"])
def test_sections_need_no_directory_while_mpi_is_up(
    mpi: Mpi, language: str, known: Known, tmp_path: Path
) -> None:
    # Python's MPI is loaded where dlsym(3) does not look by itself.
    nowhere = {"HPM_AGGREGATE_DIR": str(tmp_path / "nowhere")}
    row = reported(mpi, known, tmp_path, "sections", "average", language=language,
                   variables=nowhere)  # fmt: skip
    assert (float(row["value"]), row["tasks"]) == (MEAN, "0-3")
