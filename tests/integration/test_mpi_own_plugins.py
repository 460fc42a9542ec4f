"""Plug-ins of users: the examples, and those that fail, lie or hang."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commands import GNOMON, run
from mpi import BOTH, OPEN_MPI, Mpi
from mpi_reports import Known, calls_of, counted, marked, of_event, tables, texts

pytestmark = pytest.mark.usefixtures("tracepoints")
both = pytest.mark.parametrize("mpi", BOTH, ids=str)
ways = pytest.mark.parametrize("job_of", [counted, marked], ids=["hpmcount", "sections"])

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi"
TASKS = 4


@pytest.fixture(scope="module")
def bad_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plug-in that does what BAD says."""
    made = tmp_path_factory.mktemp("bad") / "bad_plugin.so"
    flags = run(GNOMON, "config", "--cflags", "hpm").stdout.split()
    command = ["cc", "-fPIC", "-shared", "-o", str(made), str(PROGRAMS / "bad_plugin.c"), *flags]
    subprocess.run(command, check=True)
    return made


def own_values(folder: Path, label: str) -> dict[str, float]:
    """Return what each task's own report says of the calls."""
    rows = [of_event(table, label=label) for table in tables(folder)]
    assert {row.get("task_count") or "" for row in rows} <= {""}
    return {row["task"]: float(row["value"]) for row in rows}


ALL = {str(task): float(calls_of(task)) for task in range(TASKS)}


# Among sections test_plugins_that_fail.py has the others.
@pytest.mark.parametrize(
    ("bad", "job_of"),
    [
        pytest.param(
            bad,
            job_of,
            id=f"{bad}-{way}",
            marks=[pytest.mark.long] if way == "sections" and bad not in ("lie", "segv") else [],
        )
        for bad in ("fail", "negative", "lie", "wild", "hang", "spin", "segv", "abort")
        for way, job_of in (("hpmcount", counted), ("sections", marked))
    ],
)
def test_a_plugin_that_goes_wrong_costs_no_data(
    bad: str, job_of: object, bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    assert callable(job_of)
    variables = {"BAD": bad, "HPM_AGGREGATE_TIMEOUT": "2"}
    status = 0 if job_of is counted else None
    job = job_of(known, OPEN_MPI, tmp_path, str(bad_plugin), status=status, variables=variables)
    label = "" if job_of is counted else "work"
    assert own_values(tmp_path, label) == ALL, job.said
    # Everybody says it once.
    assert job.err.count("HPM ERROR - ") == TASKS, job.said
    assert "aggregator" in job.err


@both
@ways
def test_a_plugin_that_goes_wrong_on_one_task(
    mpi: Mpi, job_of: object, bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    assert callable(job_of)
    variables = {"BAD": "segv", "BAD_TASK": "1", "HPM_AGGREGATE_TIMEOUT": "2"}
    status = 0 if job_of is counted else None
    job = job_of(known, mpi, tmp_path, str(bad_plugin), status=status, variables=variables)
    label = "" if job_of is counted else "work"
    assert own_values(tmp_path, label) == ALL, job.said
    assert job.err.count("HPM ERROR - ") == 1, job.said


@ways
def test_a_plugin_that_goes_wrong_leaves_a_file_of_each_task(
    job_of: object, bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    assert callable(job_of)
    variables = {"BAD": "fail", "HPM_UNIQUE_FILE_NAME": "no"}
    status = 0 if job_of is counted else None
    job = job_of(known, OPEN_MPI, tmp_path, str(bad_plugin), status=status, unique=False,
                 variables=variables)  # fmt: skip
    label = "" if job_of is counted else "work"
    assert own_values(tmp_path, label) == ALL, job.said
    names = {f"r{task}.{kind}" for task in ("", "_1", "_2", "_3") for kind in ("csv", "hpm")}
    assert {file.name for file in tmp_path.glob("r*")} >= names


def test_hpmcount_survives_a_plugin_that_exits(
    bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    job = counted(known, OPEN_MPI, tmp_path, str(bad_plugin), variables={"BAD": "exit"})
    assert own_values(tmp_path, "") == ALL, job.said
    assert job.err.count("HPM ERROR - ") == TASKS


@ways
def test_nobody_prints_if_the_plugin_says_so(
    job_of: object, bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    assert callable(job_of)
    job_of(known, OPEN_MPI, tmp_path, str(bad_plugin), variables={"BAD": "print"})
    assert tables(tmp_path) == []


@pytest.mark.parametrize("bad", ["fail", "segv", "hang"])
def test_a_distributor_that_goes_wrong_among_sections(
    bad: str, bad_plugin: Path, known: Known, tmp_path: Path
) -> None:
    variables = {"BAD": f"distribute-{bad}", "HPM_AGGREGATE_TIMEOUT": "2"}
    job = marked(known, OPEN_MPI, tmp_path, str(bad_plugin), status=None, variables=variables)
    assert own_values(tmp_path, "work") == ALL, job.said
    assert job.err.count("HPM ERROR - the distributor") == TASKS, job.said


@both
@ways
@pytest.mark.parametrize("plugin", ["nosuch", "./nosuch.so", "nosuch.py"])
def test_a_plugin_that_is_not_there(
    mpi: Mpi, job_of: object, plugin: str, known: Known, tmp_path: Path
) -> None:
    assert callable(job_of)
    job = job_of(known, mpi, tmp_path, plugin, status=None)
    # A program in C has no Python to run it with, whether it is there or not.
    is_refused = plugin.endswith(".py") and job_of is marked
    complaint = f"HPM_AGGREGATE={plugin} is written in Python" if is_refused else "Dynamic link"
    assert f"HPM ERROR - {complaint}" in job.err, job.said
    if job_of is counted:
        # Before the program runs.
        assert job.status != 0
        assert "is done" not in job.out
        assert tables(tmp_path) == []
    else:
        assert own_values(tmp_path, "work") == ALL


@both
def test_the_example_in_python(mpi: Mpi, known: Known, tmp_path: Path) -> None:
    example = str(EXAMPLES / "aggregator-python" / "slowest.py")
    late = {"KNOWN_TASK": "1", "KNOWN_SLEEP": "1"}
    job = counted(known, mpi, tmp_path, example, variables=late)
    found = tables(tmp_path)
    assert len(found) == 1, job.said
    row = of_event(found[0])
    # Whoever waits for the slowest takes as long, but for the end.
    assert float(row["value"]) == calls_of(int(row["task"]))
    assert (float(row["minimum"]), float(row["maximum"]), row["with_value"]) == (1000, 4000, "4")
    assert f"the slowest of 4 tasks: task {row['task']}" in texts(tmp_path)[0]


@both
@ways
def test_the_example_in_c(mpi: Mpi, job_of: object, known: Known, tmp_path: Path) -> None:
    assert callable(job_of)
    folder = tmp_path / "example"
    folder.mkdir()
    for file in (EXAMPLES / "aggregator-c").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    package = run(GNOMON, "config", "--libdir", "hpm").stdout.strip()
    done = run("make", f"PKG_CONFIG_PATH={package}/pkgconfig", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    made = next(folder.glob("*.so"))
    job = job_of(known, mpi, tmp_path, str(made))
    assert "HPM ERROR" not in job.err, job.said
    assert tables(tmp_path), job.said
