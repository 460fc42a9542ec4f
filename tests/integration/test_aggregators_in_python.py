"""Plug-ins in Python under hpmcount: on real tasks, and those that go wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import HPMCOUNT, run
from hpm_files import hpmcount, rows, viz, viz_problems
from mpi import BOTH, OPEN_MPI, Job, Mpi, launch

PAGE = Path(__file__).parents[2] / "docs" / "hpm" / "write-an-aggregator.md"
EXAMPLE = Path(__file__).parents[2] / "examples" / "aggregator-python" / "slowest.py"
EVENTS = ("-e", "task-clock,page-faults")
both = pytest.mark.parametrize("mpi", BOTH, ids=str)
# Task 0 is the fastest and task 3 the slowest, on a busy machine too.
SLEEPS = (
    "sh",
    "-c",
    "case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) ;; 3) sleep 2 ;; *) sleep 0.8 ;; esac",
)
# As MPICH's launcher tells a task of two.
SECOND = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}


def plugin(folder: Path, text: str, name: str = "own.py") -> str:
    file = folder / name
    file.write_text(f"import os, signal, sys, time\n{text}")
    return str(file)


def job(
    mpi: Mpi, folder: Path, name: str, *words: str, apart: bool = False, **variables: str
) -> Job:
    """Return a job of four tasks under hpmcount."""
    command = [HPMCOUNT, "-a", name, *EVENTS, *words]
    return launch(mpi, 4, *command, folder=folder, variables=variables, apart=apart)


# --- on tasks -------------------------------------------------------------------------------------


@both
def test_the_example_tells_the_slowest_task(mpi: Mpi, tmp_path: Path) -> None:
    done = job(mpi, tmp_path, str(EXAMPLE), *SLEEPS)
    assert done.out.count("hpmcount: ") == 1, done.said
    assert "the slowest of 4 tasks: task 3" in done.out
    (row,) = (line for line in done.out.splitlines() if line.startswith("  page-faults"))
    assert len(re.findall(r"\(\d\)", row)) == 2


@both
def test_the_example_distributes_groups(mpi: Mpi, tmp_path: Path) -> None:
    command = [HPMCOUNT, "-n", "-o", "r", "-a", str(EXAMPLE), "-g", "5", *SLEEPS]
    launch(mpi, 4, *command, folder=tmp_path, variables={"HPM_SLOW_GROUP": "6"})
    # The last task is the slowest, and has the name of its number.
    (report,) = tmp_path.glob("*.hpm")
    assert report.name == "r_3.hpm"
    assert "group 6 PAGEFAULTS" in report.read_text()


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "slowest.py").write_text(text)
    done = job(OPEN_MPI, tmp_path, "./slowest.py", *SLEEPS)
    assert done.out.count("hpmcount: ") == 1, done.said
    assert "[task 3 of 4]" in done.out


@both
def test_what_the_page_shows_in_c_works(mpi: Mpi, tmp_path: Path) -> None:
    from commands import GNOMON

    (text,) = re.findall(r"```c\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "slowest.c").write_text(text)
    flags = run(GNOMON, "config", "--cflags", "--libs", "hpm_plugin").stdout.split()
    made = run("cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", "slowest.so",
               "slowest.c", *flags, cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stderr
    done = job(mpi, tmp_path, "./slowest.so", *SLEEPS)
    assert done.out.count("hpmcount: ") == 1, done.said
    assert "[task 3 of 4]" in done.out


def test_reductions_have_every_task_once(tmp_path: Path) -> None:
    own = plugin(
        tmp_path,
        """
def aggregator(items, ranks):
    total = ranks.allreduce([ranks.task], lambda a, b: sorted(a + b))
    ours = ranks.share(ranks.task if ranks.is_root else None)
    at_root = ranks.reduce(1, lambda a, b: a + b)
    words = f"{ranks.task} {ranks.tasks} {total} {ours} {at_root} {ranks.missing} {ranks.own_gap!r}"
    return [items[0]._replace(description=words)]
""",
    )
    done = job(OPEN_MPI, tmp_path, own, "true", apart=True)
    said = [line for out in done.outs for line in out.splitlines() if re.match(r"\d 4 ", line)]
    assert said == [f"{task} 4 [0, 1, 2, 3] 0 {4 if not task else None} () ''" for task in range(4)]


@both
def test_a_merge_that_fails_is_one_tasks_loss(mpi: Mpi, tmp_path: Path) -> None:
    own = plugin(
        tmp_path,
        "def aggregator(items, ranks):\n    return ranks.allreduce(1, lambda a, b: a / 0)\n",
    )
    done = job(mpi, tmp_path, own, "true", apart=True, HPM_AGGREGATE_TIMEOUT="3")
    assert "the aggregator failed: ZeroDivisionError: division by zero" in "".join(done.errs)
    for out in done.outs:
        assert out.count("hpmcount: true") == 1, done.said
        assert out.count("page-faults") == 1


# What is said where Python did not begin within what a launcher gives the others of a failed task.
TOO_LATE = re.compile("not return in time|was ended: the job was|not done when the job was ended")


@both
def test_a_task_that_is_killed_tells_what_it_counted(mpi: Mpi, tmp_path: Path) -> None:
    program = "if [ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 2 ]; then kill -SEGV $$; fi"
    command = [HPMCOUNT, "-n", "-o", "r", "-a", str(EXAMPLE), *EVENTS, "sh", "-c", program]
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        # On a busy machine Python alone takes seconds to start.
        done = launch(mpi, 4, *command, folder=folder, status=None,
                      variables={"HPM_AGGREGATE_TIMEOUT": "60"})  # fmt: skip
        assert done.status != 0
        own = (folder / "r_2.hpm").read_text()
        assert "killed by SIGSEGV" in own, done.said
        assert "page-faults" in own
        errors = [line for line in done.err.splitlines() if "HPM ERROR" in line]
        assert all(TOO_LATE.search(line) for line in errors), done.said
        others = [text for path in folder.glob("*.hpm") if (text := path.read_text()) != own]
        # The launcher kills the other tasks, too, some before they are added up.
        if not errors and len(others) == 1:
            break
    assert "task 2 by itself: it was killed by SIGSEGV" in own, done.said
    (whole,) = others
    assert "  task 2 was killed by SIGSEGV" in whole


# --- the distributor ------------------------------------------------------------------------------


def test_the_distributor_comes_before_options_and_variables(tmp_path: Path) -> None:
    own = plugin(
        tmp_path,
        """
def distributor(environment, task, tasks):
    told = {name: environment.get(name) for name in ("HPM_EVENT_SET", "HPM_OUTPUT_NAME", "OTHER")}
    print("told", task, tasks, told)
    environment["HPM_EVENT_SET"] = "6"
    environment["OWN"] = "value"
    del environment["OTHER"]
def aggregator(items, ranks):
    return items
""",
    )
    program = "echo program $OWN ${OTHER-gone} $HPM_EVENT_SET ${HPM_OUTPUT_NAME-none}"
    done = hpmcount("-a", own, "-g", "5", "-o", "r", "sh", "-c", program, cwd=tmp_path,
                    OTHER="x", HPM_EVENT_SET="1", **SECOND)  # fmt: skip
    assert "told 1 2 {'HPM_EVENT_SET': '5', 'HPM_OUTPUT_NAME': 'r', 'OTHER': 'x'}" in done.stderr
    # Its changes are the program's, what options set is not.
    assert "program value gone 6 none" in done.stdout
    assert "group 6 PAGEFAULTS" in done.stdout
    assert (tmp_path / "r_1.hpm").exists()


def test_a_distributor_that_fails_is_told_and_counting_goes_on(tmp_path: Path) -> None:
    own = plugin(
        tmp_path,
        "def distributor(*_):\n    raise ValueError('no')\ndef aggregator(items, _):\n"
        "    return items\n",
    )
    done = hpmcount("-a", own, *EVENTS, "true", cwd=tmp_path)
    assert done.returncode == 0
    assert "HPM ERROR - plug-in" in done.stderr
    assert "the distributor failed: ValueError: no; counting continues without it" in done.stderr
    assert "page-faults" in done.stdout


# --- plug-ins that go wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    raise ValueError('no such thing')", "the aggregator failed: ValueError: no such"),
        ("    return 7", "invalid data: int"),
        ("    return [7]", "invalid data: item 0 is int, not Item"),
        ("    return [items[0]._replace(data=[3])]", "invalid data: item 0: int instead"),
        ("    return [items[0]._replace(times=(1.0,))]", "invalid data: times: an item has"),
        ("    return [items[0]._replace(count='x')]", "invalid data: "),
        ("    return [items[0]._replace(description=5)]", "invalid data: "),
        ("    os.kill(os.getpid(), signal.SIGSEGV)", "the aggregator was killed by SIGSEGV"),
        ("    os._exit(0)", "invalid data: its output: at byte 0: nothing is there"),
        ("    os._exit(4)", "the aggregator failed with status 4"),
        ("    sys.exit(3)", "the aggregator failed"),
        ("    time.sleep(99)", "the aggregator did not return in time, and was killed"),
        ("    os.write(1, b'junk'); raise OSError('x')", "the aggregator failed: OSError: x"),
    ],
    ids=lambda text: text.strip()[:30],
)  # fmt: skip
def test_a_plugin_that_goes_wrong_costs_no_data(body: str, said: str, tmp_path: Path) -> None:
    own = plugin(tmp_path, f"def aggregator(items, ranks):\n{body}\n")
    hangs = "sleep" in body
    done = hpmcount("-a", own, "-o", "r", *EVENTS, "sh", "-c", "exit 3", cwd=tmp_path,
                    HPM_AGGREGATE_TIMEOUT="1" if hangs else "60")  # fmt: skip
    assert done.returncode == 3
    errors = [line for line in done.stderr.splitlines() if line.startswith("HPM ERROR")]
    # On a busy machine Python may take longer than a second to find that there is no distributor.
    (line,) = (line for line in errors if not (hangs and "the distributor did not come" in line))
    assert said in line
    # The report is that of hpmcount without a plug-in.
    assert "resource usage (getrusage)" in done.stdout
    assert (tmp_path / "r.hpm").read_text() in done.stdout


def test_what_a_plugin_prints_is_on_standard_error(tmp_path: Path) -> None:
    own = plugin(
        tmp_path, "def aggregator(items, ranks):\n    print('working')\n    return items\n"
    )
    done = hpmcount("-a", own, *EVENTS, "true", cwd=tmp_path)
    assert done.returncode == 0
    assert "working" in done.stderr
    assert "working" not in done.stdout
    assert "HPM ERROR" not in done.stderr


def test_a_plugin_may_have_nothing_printed(tmp_path: Path) -> None:
    own = plugin(tmp_path, "def aggregator(items, ranks):\n    return None\n")
    words = ("-a", own, "-o", "r", *EVENTS, "true")
    done = hpmcount(*words, cwd=tmp_path, PYTHONDONTWRITEBYTECODE="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("aggregator = 5\n", "it has no function aggregator(items, ranks)"),
        ("def aggregator(:\n", "SyntaxError"),
        ("import nosuchmodule\n", "ModuleNotFoundError"),
    ],
)
def test_what_is_no_plugin_ends_it_before_the_program_runs(
    text: str, said: str, tmp_path: Path
) -> None:
    own = plugin(tmp_path, text)
    done = hpmcount("-a", own, "touch", "ran", cwd=tmp_path)
    assert done.returncode == 2
    assert "HPM ERROR - Dynamic link error at dl" in done.stderr
    assert said in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_launcher_that_ends_the_job_does_not_hide_that_it_is_no_plugin(
    number: str, tmp_path: Path
) -> None:
    """Its signal goes to the whole process group, as soon as another task has found it out."""
    told = (
        f"for pid in os.getppid(), os.getpid():\n    os.kill(pid, signal.{number})\nimport nosuch"
    )
    own = plugin(tmp_path, told)
    done = hpmcount("-n", "-o", "r", "-a", own, *EVENTS, "touch", "ran", cwd=tmp_path)
    assert "Dynamic link error" in done.stderr
    assert done.returncode == 2
    assert not list(tmp_path.glob("r*"))


def test_modules_and_repetitions(tmp_path: Path) -> None:
    plugin(tmp_path, "def aggregator(items, ranks):\n    return items[1:]\n", "mine.py")
    done = hpmcount("-a", "mine:aggregator", *EVENTS, "true", cwd=tmp_path,
                    PYTHONPATH=str(tmp_path))  # fmt: skip
    assert done.returncode == 0
    assert "page-faults" in done.stdout
    assert "resource usage" not in done.stdout
    done = hpmcount("-a", "mine.py", "-r", "2", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "-r and -a mine.py" in done.stderr
    done = hpmcount("-a", "mine.py", "true", cwd=tmp_path, HPM_AGGREGATE_TIMEOUT="soon")
    assert done.returncode == 2
    assert "HPM_AGGREGATE_TIMEOUT: 'soon'" in done.stderr


# --- what covers the node -------------------------------------------------------------------------


@both
def test_what_covers_the_node_is_counted_once(mpi: Mpi, tmp_path: Path) -> None:
    events = "network:::lo:rx_bytes,page-faults"
    command = [HPMCOUNT, "-n", "-o", "r", "-a", "average", "-e", events, "true"]
    launch(mpi, 4, *command, folder=tmp_path, variables={"HPM_CSV_OUTPUT": "1"})
    found = {row["name"]: row for row in rows(tmp_path / "r.csv") if row["kind"] == "event"}
    assert {row["tasks"] for row in found.values()} == {"0-3"}
    assert [found[name]["with_value"] for name in events.split(",")] == ["1", "4"]


# --- the files ------------------------------------------------------------------------------------


def test_files_have_what_is_known_over_tasks(tmp_path: Path) -> None:
    command = [HPMCOUNT, "-n", "-o", "r", "-a", "statistics", *EVENTS, *SLEEPS]
    every = dict.fromkeys(("HPM_ASC_OUTPUT", "HPM_VIZ_OUTPUT", "HPM_CSV_OUTPUT"), "1")
    launch(OPEN_MPI, 4, *command, folder=tmp_path, variables=every)
    assert sorted(path.name for path in tmp_path.glob("r*")) == ["r.csv", "r.hpm", "r.viz"]
    assert viz_problems(tmp_path / "r.viz") == []
    (wall,) = (row for row in rows(tmp_path / "r.csv") if row["name"] == "wall")
    assert (wall["tasks"], wall["task_count"], wall["with_value"]) == ("0-3", "4", "4")
    assert (wall["minimum_task"], wall["maximum_task"]) == ("0", "3")
    mean, low, high = (float(wall[name]) for name in ("value", "minimum", "maximum"))
    assert low < mean < high
    (time,) = (t for t in viz(tmp_path / "r.viz").iter("time") if t.get("name") == "wall")
    assert float(time.get("seconds", "")) == mean
    assert time.get("maximum_task") == "3"
