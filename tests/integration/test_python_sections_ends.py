"""What Python programs with sections leave when they exit, fork, or are killed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hpm_programs import CLEAN, GNOMON, rows, run
from python_programs import GETPPID, WANTED, counts, program, python

pytestmark = pytest.mark.usefixtures("tracepoints")


def outputs(folder: Path) -> list[Path]:
    """Return the .csv files, that of the first process in front; all are of the same program."""
    found = sorted(folder.glob("*.csv"), key=lambda file: (len(file.name), file.name))
    assert not list(folder.glob("*.hpmraw"))
    for file in found[1:]:
        (process,) = {row["process"] for row in rows(file)}
        assert file.stem.endswith(f"_{process}")
    return found


# --- one process ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "status"),
    [("pass", 0), ("sys.exit(3)", 3), ("raise SystemExit(4)", 4), ("1 / 0", 1)],
)
def test_every_exit_writes_the_output(tmp_path: Path, end: str, status: int) -> None:
    text = f"""
import atexit
atexit.register(hpm.section("at exit")(os.getppid))
hpm.section("open").__enter__()
with hpm.section("a"):
    os.getppid()
    {end}
"""
    python(tmp_path, text, status=status)
    (file,) = outputs(tmp_path)
    assert counts(rows(file)) == {"a": 1, "open": 2, "at exit": 1}


def test_ctrl_c_writes_the_output(tmp_path: Path) -> None:
    """Python calls no exit handlers of C then: it dies of the signal."""
    text = """
import atexit
atexit.register(hpm.section("at exit")(os.getppid))
with hpm.section("a"):
    os.getppid()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    python(tmp_path, f"import time\n{text}", status=-signal.SIGINT)
    (file,) = outputs(tmp_path)
    assert counts(rows(file)) == {"a": 1, "at exit": 1}
    python(tmp_path, "import time\nraise KeyboardInterrupt\n", status=-signal.SIGINT)
    assert outputs(tmp_path) == [file]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)"])
def test_repair_writes_what_was_complete(tmp_path: Path, end: str) -> None:
    text = f"""
for turn in range(3):
    with hpm.section("whole"):
        for _ in range(10): os.getppid()
with hpm.section("lost"):
    {end}
"""
    python(tmp_path, text, status=-signal.SIGKILL if "kill" in end else 0)
    assert not list(tmp_path.glob("*.csv"))
    run(GNOMON, "repair", "prog.hpmraw", folder=tmp_path)
    assert counts(rows(tmp_path / "prog.csv")) == {"whole": 30}
    assert {row["file"] for row in rows(tmp_path / "prog.csv") if row["section"]} == {
        str(tmp_path / "prog.py")
    }


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    text = """
hpm.init()
print("ready", flush=True)
while True:
    with hpm.section("loop"):
        os.getppid()
"""
    file = program(tmp_path, text)
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, file], cwd=tmp_path, env=CLEAN | WANTED, stdout=subprocess.PIPE
        )
        assert process.stdout
        process.stdout.readline()
        process.kill()
        process.communicate()
        run(GNOMON, "repair", "prog.hpmraw", folder=tmp_path)
        if (tmp_path / "prog.csv").exists():
            for row in rows(tmp_path / "prog.csv"):
                if row["name"] == GETPPID:
                    # The last start may have been without a stop.
                    assert int(row["value"]) == int(row["calls"])
        (tmp_path / "prog.hpmraw").unlink()


def test_what_is_printed_comes_after_what_the_program_printed(tmp_path: Path) -> None:
    text = 'print("mine")\nwith hpm.section("a"): pass\nhpm.terminate()\nprint("then")\n'
    done = run(sys.executable, program(tmp_path, text), folder=tmp_path, HPM_STDOUT="yes",
               GNOMON_EVENTS=GETPPID)  # fmt: skip
    assert done.stdout.startswith("mine\n")
    assert done.stdout.endswith("then\n")
    assert "section 1001  a" in done.stdout


# --- forks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)"])
def test_forks(tmp_path: Path, end: str) -> None:
    text = f"""
with hpm.section("both"):
    os.getppid()
all = hpm.section("everything", whole_process=True)
with all:
    child = os.fork()
    if not child:
        with hpm.section("both"):
            for _ in range(5): os.getppid()
        with hpm.section("child's"), all:
            os.getppid()
        {end}
    assert os.waitpid(child, 0) == (child, 0)
assert hpm.hpm_error_count == 0
"""
    assert python(tmp_path, text) == ""
    if "_exit" in end:
        (raw,) = tmp_path.glob("*.hpmraw")
        assert re.fullmatch(r"prog_\d+\.hpmraw", raw.name)
        run(GNOMON, "repair", raw.name, folder=tmp_path)
        raw.unlink()
    mine, child = outputs(tmp_path)
    assert counts(rows(mine)) == {"both": 1, "everything": 6}
    # The child was forked in a section of its parent, which is none of its own.
    assert counts(rows(child)) == {"both": 5, "child's": 1, "everything": 1}


START = """
import multiprocessing, threading
def work(n):
    with hpm.section("work"):
        for _ in range(n): os.getppid()
    return n
if __name__ == "__main__":
    method = sys.argv[1]
    context = multiprocessing.get_context(method)
"""


@pytest.mark.parametrize("when", ["before", "after", "never"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path: Path, method: str, when: str) -> None:
    text = f"""{START}
    if sys.argv[2] == "before": work(100)
    processes = [context.Process(target=work, args=(n,)) for n in (1, 20)]
    for process in processes: process.start()
    for process in processes: process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    if sys.argv[2] == "after": work(100)
"""
    assert python(tmp_path, text, method, when) == ""
    found = outputs(tmp_path)
    names = [file.name for file in found]
    assert ("prog.csv" in names) == (when != "never")
    assert len(set(names)) == (2 if when == "never" else 3)
    got = sorted(counts(rows(file))["work"] for file in found)
    assert got == [1, 20, 100][: len(found)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools(tmp_path: Path, method: str) -> None:
    text = f"""{START}
    from concurrent.futures import ProcessPoolExecutor
    hpm.init()
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert sum(pool.map(work, range(10))) == 45
    pool = context.Pool(2)
    assert sum(pool.map(work, range(10))) == 45
    pool.close()
    pool.join()
"""
    assert python(tmp_path, text, method) == ""
    found = [counts(rows(file)) for file in outputs(tmp_path)[1:]]
    # Which process did how much is chance.
    assert sum(one.get("work", 0) for one in found) == 90
    assert 2 <= len(found) <= 4


def test_names_of_processes_that_begin_afresh(tmp_path: Path) -> None:
    text = f"""{START}
    work(1)
    process = context.Process(target=work, args=(3,))
    process.start()
    process.join()
    assert os.environ["HPM_OUTPUT_NAME"] == "given"
"""
    assert python(tmp_path, text, "spawn", HPM_OUTPUT_NAME="given") == ""
    mine, child = outputs(tmp_path)
    assert (mine.name, counts(rows(mine))) == ("given.csv", {"work": 1})
    assert re.fullmatch(r"given_\d+\.csv", child.name)
    assert counts(rows(child)) == {"work": 3}


def test_an_exception_in_a_process_of_multiprocessing(tmp_path: Path) -> None:
    text = f"""{START}
    work(1)
    def fail():
        with hpm.section("fails"):
            os.getppid()
            1 / 0
    process = context.Process(target=fail)
    process.start()
    process.join()
    assert process.exitcode == 1
"""
    assert "ZeroDivisionError" in python(tmp_path, text, "fork")
    _, child = outputs(tmp_path)
    assert counts(rows(child)) == {"fails": 1}


def test_threads_end_before_the_program(tmp_path: Path) -> None:
    text = f"""{START}
    for n in range(1, 51):
        thread = threading.Thread(target=work, args=(n,))
        thread.start()
        thread.join()
    work(7)
"""
    assert python(tmp_path, text, "fork") == ""
    table = [
        row
        for row in rows(tmp_path / "prog.csv")
        if row["name"] == GETPPID and row["exclusive"] == "no"
    ]
    assert [int(row["value"]) for row in table] == [*range(1, 51), 7]
    assert {row["label"] for row in table} == {"work"}
