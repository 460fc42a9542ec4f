"""`gnomon stat`: intervals, rows, where they go, and what happens to what is watched."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, gnomon, run
from watching import (
    ended,
    first_line,
    lines,
    of_machine,
    of_row,
    the_rest,
    until,
    watched,
    watching,
)

from gnomon.counters.cgroups import hierarchy
from gnomon.errors import GnomonError

pytestmark = pytest.mark.usefixtures("busy_cpu")
Programs = Callable[[str], Path]
CPUS = os.cpu_count() or 1


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """Return the folder of a new cgroup, which a test may remove."""
    try:
        folder = hierarchy() / f"gnomon-stat-{os.getpid()}"
        folder.mkdir()
    except (OSError, GnomonError) as error:
        pytest.fail(f"no cgroup can be made here ({error}): run the tests as root")
    yield folder
    if folder.exists():
        folder.rmdir()


# --- intervals ------------------------------------------------------------------------------------


def test_number_and_length_of_intervals() -> None:
    found = watched("0.2", "3")
    assert [one["interval"] for one in found] == [1, 2, 3]
    assert all(one["end_seconds"] >= 0.2 * one["interval"] for one in found)
    assert sum(one["seconds"] for one in found) == pytest.approx(found[-1]["end_seconds"])
    # What is said once is in the first line.
    assert "unavailable" not in found[1]
    assert len(watched()) == 1


def test_a_stopped_monitor_tells_rates_of_the_true_time(programs: Programs) -> None:
    """As one that was suspended, or starved: the interval is longer, and nothing is made up for."""
    with watching("--json", "-e", "page-faults", "0.1") as ours:
        text = first_line(ours)
        ours.send_signal(signal.SIGSTOP)
        run(programs("pages"), "5000")
        time.sleep(1)
        ours.send_signal(signal.SIGCONT)
        for _ in range(5):
            text += first_line(ours)
        status, out, _ = ended(ours)
    assert status == 0
    found = [one for one in lines(text + out) if "interval" in one]
    late = max(found, key=lambda one: float(one["seconds"]))
    assert late["seconds"] >= 1
    assert of_machine(late)["page-faults"] >= 5000
    # Those that were missed do not follow in a hurry.
    assert len(found) <= found[-1]["end_seconds"] / 0.1 - 8


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["0"], "interval '0': must be 0.01 to 1e+06 seconds"),
        (["nan"], "interval 'nan'"),
        (["1e99"], "interval '1e99'"),
        (["1", "0"], "count '0': must be a whole number"),
        (["1", "-1"], "count '-1'"),
        (["1", "9" * 30], "count '999"),
        (["-p", "x"], "-p 'x': a process id must be above 0"),
        (["-p", "1", "-G", "/"], "-p and -G"),
        (["-p", "1", "-A"], "--per cpu: applies to the whole machine"),
        (["-n"], "-n goes with -o NAME, --openmetrics FILE or --listen PORT"),
        (["-u"], "-u goes with -o NAME"),
        (["-G", ""], "a cgroup name is missing"),
        (["-g", "6", "--turns", "100"], "--turns goes with several groups"),
        (["-g", "5,6", "--turns", "1"], "a turn must be 10 to 30000 ms"),
        (["--token-file", "x"], "--token-file goes with --listen"),
        (["--listen", "x"], "must be [HOST:]PORT"),
        (["--listen", ":1"], "name the host"),
        (["-e", "no-such-event"], "no-such-event"),
        (["-g", "NOSUCH"], "no group 'NOSUCH'"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], says: str) -> None:
    done = gnomon("stat", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_processes_and_cgroups_that_are_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    gone = gnomon("stat", "-p", str(child.pid))
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.startswith(f"gnomon: process {child.pid}: no such process")
    none = gnomon("stat", "-G", "/,no-such-cgroup")
    assert none.returncode == 2
    assert "-G no-such-cgroup: no such cgroup" in none.stderr


# --- the table ------------------------------------------------------------------------------------


def test_the_table_fits_and_its_heading_comes_again() -> None:
    """On a terminal of 12 lines; where there is none, the heading comes once."""
    script = (
        "import os, pty, sys, fcntl, termios, struct\n"
        "pid, fd = pty.fork()\n"
        "if not pid:\n"
        "    os.execv(sys.argv[1], sys.argv[1:])\n"
        "fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 12, 70, 0, 0))\n"
        "try:\n"
        "    while data := os.read(fd, 4096):\n"
        "        os.write(1, data)\n"
        "except OSError:\n"
        "    pass\n"
    )
    environment = {**os.environ, "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    done = run(sys.executable, "-c", script, GNOMON, "stat", "0.1", "25", env=environment)
    shown = [line for line in done.stdout.splitlines() if not line.startswith("gnomon:")]
    heads = [at for at, line in enumerate(shown) if line.startswith("time")]
    assert len(heads) >= 3
    assert max(map(len, shown[heads[0] :])) <= 70
    assert max(b - a for a, b in pairwise(heads)) <= 12
    plain = gnomon("stat", "0.05", "30", env={**environment, "COLUMNS": "70"})
    assert plain.stdout.count("time ") == 1


def test_rows_of_cpus_cores_and_nodes() -> None:
    for option, heading in (("-A", "CPU"), ("--per=core", "core"), ("--per=node", "node")):
        text = gnomon("stat", option, "0.1", "1").stdout
        assert re.search(rf"^time +{heading} ", text, re.MULTILINE), text
        line = watched(option, "-e", "page-faults,cpu-clock", "0.2", "1")[0]
        parts = sum(of_row(line, row["name"])["cpu-clock"] for row in line["rows"])
        assert parts == pytest.approx(of_machine(line)["cpu-clock"])
        # The CPUs' own clocks run as long as they are counted.
        whole = next(one for one in line["counters"] if one["event"] == "cpu-clock")
        assert parts == pytest.approx(whole["enabled_ns"], rel=0.02)
        assert parts >= CPUS * 0.2e9


def test_work_is_seen_on_its_cpu(programs: Programs) -> None:
    cpu = max(os.sched_getaffinity(0))
    with watching("--json", "-A", "-e", "page-faults", "0.2") as ours:
        text = first_line(ours)
        run("taskset", "-c", str(cpu), programs("pages"), "9000")
        _, out, _ = ended(ours)
    summary = lines(text + out)[-1]
    assert of_row(summary, str(cpu))["page-faults"] >= 9000


def test_a_group_has_its_metrics(tmp_path: Path) -> None:
    line = watched("-g", "SCHED", "0.3", "1")[0]
    assert {"context-switches", "sched:sched_switch"} <= set(of_machine(line))
    metrics = {one["metric"]: one for one in line["metrics"]}
    # Per second of the interval, not of whatever CPU time there was.
    switches = of_machine(line)["context-switches"]
    rate = metrics["context_switch_rate"]
    assert (rate["unit"], rate["how"]) == ("/s", "counted")
    assert rate["value"] == pytest.approx(switches / line["seconds"])
    text = gnomon("stat", "-g", "SCHED", "0.2", "1", env={**os.environ, "COLUMNS": "200"}).stdout
    assert "creation" in text
    narrow = gnomon("stat", "-g", "SCHED", "0.2", "1", env={**os.environ, "COLUMNS": "60"})
    assert "no room for" in narrow.stderr
    assert max(map(len, narrow.stdout.splitlines())) <= 60
    assert list(tmp_path.iterdir()) == []


def test_no_pmu_is_said_once_and_the_rest_is_counted() -> None:
    done = gnomon("stat", "0.1", "2")
    hardware = [line for line in done.stderr.splitlines() if "no hardware counters" in line]
    first = watched("0.1", "1")[0]
    missing = {one["event"] for one in first.get("unavailable", ())}
    assert len(hardware) == ("cycles" in missing)
    assert {"context-switches", "page-faults", "proc.runnable", "proc.user_time"} <= set(
        of_machine(first)
    )


def test_what_a_cgroup_or_a_machine_has_not_is_said() -> None:
    done = gnomon("stat", "-G", "/", "-e", "io:::rchar,page-faults", "0.1", "1")
    assert done.returncode == 0
    assert done.stderr.startswith("gnomon: not counted: io:::rchar: the kernel does not tell it")
    nothing = gnomon("stat", "-e", "io:::rchar", "0.1", "1")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr.startswith("gnomon: io:::rchar: it belongs to a process")


def test_without_rights_proc_is_left(paranoid: Callable[[int], None]) -> None:
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "stat", "--json", "0.1", "1")
    assert done.returncode == 0, done.stderr
    line = lines(done.stdout)[0]
    assert of_machine(line)["proc.context_switches"] >= 0
    assert "context-switches" in {one["event"] for one in line["unavailable"]}
    text = run(*WITHOUT_RIGHTS, GNOMON, "stat", "0.1", "1").stderr
    assert "gnomon: not counted: context-switches, cpu-migrations, " in text
    asked = run(*WITHOUT_RIGHTS, GNOMON, "stat", "-e", "page-faults", "0.1", "1")
    assert asked.returncode == 1
    assert "kernel.perf_event_paranoid is 2" in asked.stderr
    assert asked.stdout == ""


# --- processes and cgroups ------------------------------------------------------------------------


def told_to_go(command: str) -> subprocess.Popen[bytes]:
    """Return a shell that runs a command once it is told to by `go`."""
    return subprocess.Popen(["sh", "-c", f"read go; {command}"], stdin=subprocess.PIPE)


def go(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    shell.stdin.write(b"\n")
    shell.stdin.flush()


def test_processes_and_one_that_ends(programs: Programs) -> None:
    """Its last counts are told, its end is said, and the others go on."""
    stays = subprocess.Popen(["sleep", "600"])
    goes = told_to_go(f"{programs('pages')} 4000")
    try:
        with watching("--json", "-p", f"{stays.pid},{goes.pid}", "0.1") as ours:
            text = first_line(ours)
            go(goes)
            goes.communicate()
            while " has ended" not in text:
                text += first_line(ours)
            text += first_line(ours)
            _, out, _ = ended(ours)
    finally:
        stays.kill()
        stays.wait()
    *found, summary = lines(text + out)
    rows = [{row["name"]: row for row in line["rows"]} for line in found]
    last = next(at for at, line in enumerate(rows) if line[str(goes.pid)].get("gap"))
    assert rows[last][str(goes.pid)]["gap"] == "ended"
    assert rows[0][str(goes.pid)]["program"] == "sh"
    faults = sum(of_row(line, str(goes.pid))["page-faults"] for line in found[: last + 1])
    assert faults >= 4000
    assert of_row(summary, str(goes.pid))["page-faults"] == faults
    assert f"process {goes.pid} (sh) has ended and is no longer counted" in found[last]["notes"]
    assert rows[last + 1 :]
    assert all(set(later) == {str(stays.pid)} for later in rows[last + 1 :])


def test_the_last_process_ends_it(programs: Programs) -> None:
    goes = told_to_go(f"{programs('pages')} 3000")
    with watching("-p", str(goes.pid), "0.1") as ours:
        before = first_line(ours)
        go(goes)
        goes.communicate()
        status, out, _ = the_rest(ours)
    assert status == 0
    assert "(ended)" in before + out
    assert "--- " in out  # the summary


def test_children_of_a_process_count(programs: Programs) -> None:
    shell = told_to_go(f"{programs('pages')} 6000; read go")
    with watching("--json", "-p", str(shell.pid), "0.1") as ours:
        text = first_line(ours)
        go(shell)
        while sum(of_row(one, str(shell.pid))["page-faults"] for one in lines(text)) < 6000:
            text += first_line(ours)
        _, out, _ = ended(ours)
    shell.communicate(b"\n")
    assert of_row(lines(text + out)[-1], str(shell.pid))["page-faults"] >= 6000


def test_cgroups_and_one_that_goes(cgroup: Path, programs: Programs) -> None:
    inside = f"echo $$ > {cgroup}/cgroup.procs && exec {programs('pages')} 8000"
    with watching("--json", "-G", f"/,{cgroup.name}", "0.2") as ours:
        text = first_line(ours)
        assert run("sh", "-c", inside).returncode == 0
        text += first_line(ours)
        until(lambda: not (cgroup / "cgroup.procs").read_text())
        cgroup.rmdir()
        # Lines of before may wait in the pipe; what comes after the one that says so has "/" alone.
        while " was removed" not in text:
            text += first_line(ours)
        text += first_line(ours)
        status, out, _ = ended(ours)
    assert status == 0
    *found, summary = lines(text + out)
    assert of_row(summary, cgroup.name)["page-faults"] >= 8000
    notes = [note for line in found for note in line.get("notes", ())]
    assert f"cgroup {cgroup.name} was removed and is no longer counted" in notes
    assert [row["name"] for row in found[-1]["rows"]] == ["/"]


# --- where it goes --------------------------------------------------------------------------------


def test_files_of_each_kind(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv", "a.txt"):
        done = gnomon("stat", "-n", "-o", tmp_path / name, "-A", "0.1", "2")
        assert (done.returncode, done.stdout) == (0, "")
    assert [one["interval"] for one in lines((tmp_path / "a.jsonl").read_text())] == [1, 2]
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    faults = [row for row in rows if row["quantity"] == "page-faults"]
    assert {(row["of"], row["name"]) for row in faults} == {
        ("machine", ""), *(("cpu", str(cpu)) for cpu in range(CPUS))}  # fmt: skip
    assert {row["interval"] for row in faults} == {"1", "2"}
    assert all(float(row["value"]) >= 0 for row in faults)
    assert (tmp_path / "a.txt").read_text().count("\ntime ") == 1


def test_unique_names(tmp_path: Path) -> None:
    done = gnomon("stat", "-n", "-u", "-o", "node.json", "0.05", "1", cwd=tmp_path)
    assert done.returncode == 0
    (name,) = [path.name for path in tmp_path.iterdir()]
    host = os.uname().nodename.partition(".")[0]
    assert re.fullmatch(rf"node_{re.escape(host)}_\d+_[\d.]{{10}}_\d\d\.\d\d\.\d\d\.json", name)


def test_a_closed_pipe_ends_it_quietly() -> None:
    command = f"set -o pipefail; {GNOMON} stat --json 0.05 | head -n 2"
    done = run("bash", "-c", command)
    assert len(lines(done.stdout)) == 2
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_said_once_and_it_goes_on(tmp_path: Path) -> None:
    """What was written before stays whole."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = run("mount", "-t", "tmpfs", "-o", "size=16k", "none", small)
    if mounted.returncode:
        pytest.fail(f"no small disk can be made here ({mounted.stderr.strip()}): run as root")
    try:
        done = gnomon("stat", "--json", "-n", "-o", small / "x.json", "0.02", "40")
        kept = lines((small / "x.json").read_text())
    finally:
        run("umount", small)
    assert done.returncode == 0
    assert done.stderr.count("No space left on device") == 1
    assert 0 < len(kept) < 40


def test_stdout_that_is_full_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = gnomon("stat", "0.05", "1", capture_output=False, stdout=full,
                      stderr=subprocess.PIPE)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "gnomon: output: No space left on device"


def test_names_that_cannot_be_written(tmp_path: Path) -> None:
    for option in ("-o", "--openmetrics"):
        done = gnomon("stat", option, tmp_path / "no" / "x.prom", "0.05", "1")
        assert done.returncode == 1
        assert "x.prom: cannot be written: No such file or directory" in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_summary(by: signal.Signals) -> None:
    with watching("0.1") as ours:
        for _ in range(5):
            first_line(ours)
        status, out, _ = ended(ours, by)
    assert status == 0
    assert re.search(r"^--- \d+(\.\d+)? m?s in \d+ intervals? ---$", out, re.MULTILINE)
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["mean", "min", "max"]


def test_it_leaves_nothing_open_over_many_intervals() -> None:
    """Neither descriptors nor memory: a monitor runs for months."""
    with watching("--json", "-A", "0.01") as ours:
        for _ in range(50):
            first_line(ours)
        status = Path(f"/proc/{ours.pid}/status")
        fds = Path(f"/proc/{ours.pid}/fd")

        def held() -> tuple[int, int]:
            found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
            assert found is not None
            # At one moment or another it may have a file open that it reads.
            return min(len(list(fds.iterdir())) for _ in range(100)), int(found[1])

        before = held()
        for _ in range(400):
            first_line(ours)
        after = held()
    assert after[0] == before[0]
    assert after[1] - before[1] < 1024


def test_json_is_json_whatever_the_program_is_called(tmp_path: Path) -> None:
    strange = tmp_path / 'a "b\n\\c'
    strange.symlink_to("/bin/sleep")
    process = subprocess.Popen([strange, "600"])
    try:
        text = gnomon("stat", "-p", str(process.pid), "0.1", "1").stdout
        (line,) = watched("-p", str(process.pid), "0.1", "1")
    finally:
        process.kill()
        process.wait()
    assert line["rows"][0]["program"].startswith('a "b')
    # A heading of two lines, one for the process, one for what is not counted.
    assert len(text.splitlines()) == 4
