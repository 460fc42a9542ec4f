"""`gnomon count` by CPU, of the whole machine, of a cgroup, after a delay and in intervals."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, HPMCOUNT, WITHOUT_RIGHTS, counted, gnomon, perf_program, run, values
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gnomon.counters.cgroups import hierarchy
from gnomon.errors import GnomonError
from gnomon.measurement.intervals import SCHEMA as INTERVAL_SCHEMA
from gnomon.measurement.measurement_json import SCHEMA

Programs = Callable[[str], Path]
FAULTS = ("-e", "page-faults")
CPUS = sorted(os.sched_getaffinity(0))


def check_schema(document: dict[str, Any]) -> None:
    problems = Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(document)
    assert [error.message for error in problems] == []


def told(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the intervals and the document of JSON lines."""
    *intervals, document = (json.loads(line) for line in text.splitlines())
    schema = json.loads(INTERVAL_SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    for one in intervals:
        problems = Draft202012Validator(schema).iter_errors(one)
        assert [error.message for error in problems] == []
    check_schema(document)
    return intervals, document


def total(intervals: list[dict[str, Any]], event: str) -> float:
    return sum(
        float(counter["value"])
        for interval in intervals
        for counter in interval["counters"]
        if counter["event"] == event
    )


# --- intervals ------------------------------------------------------------------------------------


def test_intervals_add_up_to_the_whole(programs: Programs) -> None:
    """Also what they say of when they ended, and the last one, which the program's end cuts."""
    events = "page-faults,task-clock,io:::syscr,context-switches"
    done = gnomon("count", "--json", "-I", "100", "-e", events, "--", programs("phases"),
                  "1000", "250", "500")  # fmt: skip
    intervals, document = told(done.stderr)
    assert len(intervals) >= 3
    found = values(document)
    for event in events.split(","):
        assert total(intervals, event) == found[event], event
    # The first phase may be spread over intervals, but not into the last: the pause is longer.
    assert total(intervals[:-1], "page-faults") >= 1000
    assert [one["interval"] for one in intervals] == list(range(1, len(intervals) + 1))
    ends = [one["end_seconds"] for one in intervals]
    assert ends == sorted(ends)
    assert sum(one["seconds"] for one in intervals) == pytest.approx(ends[-1])


def test_intervals_as_perf_counts_them(programs: Programs, tmp_path: Path) -> None:
    perf = perf_program()
    assert perf is not None
    program = (programs("phases"), "800", "250", "700")
    file = tmp_path / "perf.csv"
    run(perf, "stat", "-I", "100", "-x;", "-o", file, *FAULTS, "--", *program)
    lines = [line.split(";") for line in file.read_text().splitlines() if ";page-faults" in line]
    theirs = [float(f[1]) if f[1][0].isdigit() else 0.0 for f in lines]  # <not counted>: 0
    intervals, _ = told(gnomon("count", "--json", "-I", "100", *FAULTS, "--", *program).stderr)
    ours = [one["counters"][0]["value"] for one in intervals]
    # The phases are apart; the sum is that of the whole program.
    for counts in (ours, theirs):
        assert sum(counts[:-1]) >= 800
        assert sum(counts[1:]) >= 700
    assert sum(ours) == pytest.approx(sum(theirs), abs=16)


def test_so_many_intervals_and_then_only_the_end(programs: Programs) -> None:
    for option in ("--interval-count", "--count"):
        done = gnomon("count", "--json", "-I", "50", option, "2", *FAULTS, "--",
                      programs("phases"), "10", "1000", "900")  # fmt: skip
        intervals, document = told(done.stderr)
        assert len(intervals) == 2
        assert values(document)["page-faults"] >= 900 > total(intervals, "page-faults")


def test_intervals_as_text(programs: Programs, tmp_path: Path) -> None:
    program = (programs("phases"), "100", "250", "1")
    done = gnomon("count", "-I", "100", "-e", "page-faults,cpu-clock:u", "--", *program)
    lines = done.stderr.partition("\n\ngnomon count: ")[0].splitlines()
    assert lines[0].split() == ["#", "seconds", "value", "event"]
    rows = [re.fullmatch(r" +(\d+\.\d{3}) +([\d  ]+|[\d.]+ [µmn]?s)  (\S+)(  .*)?", line)
            for line in lines[1:]]  # fmt: skip
    assert all(rows), lines
    assert {row[3] for row in rows if row} == {"page-faults", "cpu-clock:u"}
    out = gnomon("count", "-o", "-", "-I", "100", *FAULTS, "--", "sleep", "0.15")
    assert re.match(r" *# seconds .*\n +\d\.\d{3} ", out.stdout)
    assert out.stderr == ""
    gnomon("count", "-n", "-o", tmp_path / "i.json", "-I", "100", *FAULTS, "--", "sleep", "0.15")
    intervals, _ = told((tmp_path / "i.json").read_text())
    assert len(intervals) >= 2
    lines_of_json = gnomon("count", "--json", "-o", "-", "-I", "100", *FAULTS, "--", "sleep", "0.1")
    told(lines_of_json.stdout)


def test_intervals_of_a_running_process() -> None:
    with_sleep = gnomon("count", "--json", "-I", "50", "-p", str(os.getpid()), "-e",
                        "task-clock", "--", "sleep", "0.5")  # fmt: skip
    intervals, document = told(with_sleep.stderr)
    assert len(intervals) >= 3
    assert document["attached"] is True
    assert total(intervals, "task-clock") == values(document)["task-clock"]


# --- delay ----------------------------------------------------------------------------------------


def test_delay_leaves_the_beginning_out(programs: Programs, tmp_path: Path) -> None:
    """As perf's -D does: what the program did before is not counted."""
    program = (programs("phases"), "5000", "1000", "300")
    document = counted(tmp_path, *FAULTS, "-D", "500", "--", *program)
    check_schema(document)
    ours = values(document)["page-faults"]
    assert 300 <= ours < 1000
    assert document["delay_seconds"] == 0.5
    assert any("counting began 500 ms after the program" in note for note in document["notes"])
    # The resource usage is of all of it.
    minor = next(r["value"] for r in document["rusage"] if r["field"] == "ru_minflt")
    assert minor >= 5300
    perf = perf_program()
    assert perf is not None
    file = tmp_path / "perf.csv"
    run(perf, "stat", "-D", "500", "-x;", "-o", file, *FAULTS, "--", *program)
    theirs = [line for line in file.read_text().splitlines() if ";page-faults" in line]
    assert ours == pytest.approx(float(theirs[0].split(";")[0]), abs=16)


def test_delay_counts_children_of_before(tmp_path: Path) -> None:
    """Those that began while nothing counted yet count from the delay's end on."""
    script = "sh -c 'sleep 1.5; ls / >&2' & sleep 0.6; wait"
    document = counted(tmp_path, *FAULTS, "-D", "200", "--", "sh", "-c", script)
    assert values(document)["page-faults"] > 50


def test_program_that_ends_within_the_delay(tmp_path: Path) -> None:
    document = counted(tmp_path, *FAULTS, "-D", "60000", "--", "sh", "-c", "exit 4", status=4)
    assert document["counters"] == []
    assert any("nothing was counted" in note for note in document["notes"])


def test_delay_and_intervals(programs: Programs) -> None:
    done = gnomon("count", "--json", "-D", "200", "-I", "100", *FAULTS, "--",
                  programs("phases"), "5000", "1000", "300")  # fmt: skip
    intervals, document = told(done.stderr)
    assert total(intervals, "page-faults") == values(document)["page-faults"] < 5000


# --- by CPU and core ------------------------------------------------------------------------------


def test_cpus_add_up_to_the_program(
    programs: Programs, same_layout: tuple[str, ...], tmp_path: Path
) -> None:
    program = (*same_layout, str(programs("pages")), "3000")
    plain = values(counted(tmp_path, *FAULTS, "--", *program))["page-faults"]
    options: tuple[tuple[str, ...], ...] = (("--per", "cpu"), ("-A",), ("--per", "core"))
    for option in options:
        document = counted(tmp_path, "-e", "page-faults,task-clock", *option, "--", *program)
        check_schema(document)
        places = document["places"]
        assert sorted(cpu for row in places for cpu in row["cpus"]) == CPUS
        for event, whole in values(document).items():
            assert sum(values(row).get(event, 0) for row in places) == whole
        assert values(document)["page-faults"] == pytest.approx(plain, abs=8)
        assert all(c["how"] == "counted" for c in document["counters"])


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU only: a machine with two can tell them apart")
def test_each_cpu_has_its_own(programs: Programs, tmp_path: Path) -> None:
    for at in CPUS[:2]:
        document = counted(tmp_path, *FAULTS, "-A", "--", "taskset", "-c", str(at),
                           programs("pages"), "4000")  # fmt: skip
        found = {row["cpus"][0]: values(row)["page-faults"] for row in document["places"]}
        assert found[at] >= 4000
        assert all(count < 1000 for cpu, count in found.items() if cpu != at)


def test_table_of_cpus() -> None:
    done = gnomon("count", "-A", *FAULTS, "--", "true")
    table = done.stderr.partition("cores and CPUs")[2].splitlines()
    assert table[1].split() == ["socket", "core", "CPU", "page-faults"]
    assert [row.split()[2] for row in table[2 : 2 + len(CPUS)]] == [str(cpu) for cpu in CPUS]


def test_repetitions_by_cpu(tmp_path: Path) -> None:
    document = counted(tmp_path, "-A", "-r", "2", *FAULTS, "--", "true")
    check_schema(document)
    assert all(len(one["places"]) == len(CPUS) for one in document["repetitions"])


def test_run_directory_has_the_cpus(tmp_path: Path) -> None:
    """Both kinds of rows can be read back, and are not counted twice."""
    for per in ("cpu", "core"):
        name = tmp_path / per
        document = counted(tmp_path, "--name", name, "--per", per, *FAULTS, "--", "true")
        told = json.loads(gnomon("report", name, "--per", per, "--json").stdout)
        seen = [row["total"] for row in told["rows"] if row["metric"] == "page-faults"]
        assert seen == [values(row)["page-faults"] for row in document["places"]]
        text = gnomon("report", name, "--per", per).stdout
        assert re.search(r"^socket \d+, core \d+, CPU \d+", text, re.M)
        whole = json.loads(gnomon("report", name, "--json").stdout)
        (one,) = (row["total"] for row in whole["rows"] if row["metric"] == "page-faults")
        assert one == values(document)["page-faults"]


def test_more_descriptors_than_the_limit_allows(tmp_path: Path) -> None:
    """The limit is raised for the counters, and the program finds it as it was."""
    script = (
        f"ulimit -Sn 24; exec {GNOMON} count -n -o out.json -A "
        "-e page-faults,minor-faults,major-faults,task-clock,cpu-clock -- sh -c 'ulimit -Sn'"
    )
    done = run("sh", "-c", script, cwd=tmp_path)
    assert done.stdout == "24\n", done.stderr
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["unavailable"] == []


# --- the whole machine ----------------------------------------------------------------------------


def test_whole_machine_while_a_program_runs(programs: Programs, tmp_path: Path) -> None:
    """Somebody else's work is in it."""
    waits = "until [ -e {} ]; do sleep 0.02; done"
    work = f"{waits.format('begun')}; {programs('pages')} 20000; touch done"
    command = ["sh", "-c", f"touch begun; {waits.format('done')}"]
    with subprocess.Popen(["sh", "-c", work], cwd=tmp_path, stdout=subprocess.DEVNULL) as other:
        try:
            document = counted(tmp_path, "-a", "-e", "page-faults,cpu-clock", "--", *command,
                               cwd=tmp_path)  # fmt: skip
        finally:
            other.kill()
    check_schema(document)
    assert document["covers"] == "the whole machine"
    assert values(document)["page-faults"] >= 20000
    assert {c["scope"] for c in document["counters"]} == {"node"}
    # The CPUs' own clocks never stop. Counting begins before the program, whose wall time it is.
    (clock,) = (c for c in document["counters"] if c["event"] == "cpu-clock")
    assert clock["value"] == pytest.approx(clock["enabled_ns"], rel=0.01)
    assert clock["enabled_ns"] / 1e9 >= 0.99 * len(CPUS) * document["wall_seconds"]
    assert document["command"] == command
    assert document["exit_status"] == 0


def test_whole_machine_by_cpu_and_alone(tmp_path: Path) -> None:
    document = counted(tmp_path, "-a", "-A", "-e", "cpu-clock", "-d", "0.2")
    assert document["command"] == []
    assert len(document["places"]) == len(CPUS)
    whole = values(document)["cpu-clock"]
    assert sum(values(row)["cpu-clock"] for row in document["places"]) == whole
    done = gnomon("count", "-a", "-e", "cpu-clock", "-d", "0.1")
    assert done.stderr.startswith("\ngnomon count: the whole machine\n")
    failed = gnomon("count", "-a", "-e", "cpu-clock", "--", "sh", "-c", "exit 5")
    assert failed.returncode == 5


def test_whole_machine_by_cpu_as_perf_counts_it(programs: Programs, tmp_path: Path) -> None:
    """Work on one CPU is in that CPU's row; the machine's other work is in both tools' counts."""
    perf = perf_program()
    assert perf is not None
    at = CPUS[-1]
    program = ("taskset", "-c", str(at), programs("pages"), "60000")
    document = counted(tmp_path, "-a", "-A", *FAULTS, "--", *program)
    ours = {row["cpus"][0]: values(row)["page-faults"] for row in document["places"]}
    file = tmp_path / "perf.csv"
    run(perf, "stat", "-a", "-A", "-x;", "-o", file, *FAULTS, "--", *program)
    lines = [ln.split(";") for ln in file.read_text().splitlines() if ln.startswith("CPU")]
    theirs = {int(fields[0][3:]): float(fields[1]) for fields in lines}
    assert set(ours) == set(theirs) == set(CPUS)
    for counts in (ours, theirs):
        assert counts[at] >= 60000


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("option", [("-a",), ("-a", "-A"), ("-G", "/")], ids=" ".join)
def test_whole_machine_without_rights(
    option: tuple[str, ...],
    level: int,
    paranoid: Callable[[int], None],
    tmp_path: Path,
) -> None:
    """The reason and the remedy, before the program runs; and the remedy is true."""
    paranoid(level)
    done = run(*WITHOUT_RIGHTS, GNOMON, "count", *option, "-e", "cpu-clock", "--", "touch", "ran",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1
    assert re.fullmatch(
        rf"gnomon: {re.escape(option[0])}( /)?: kernel\.perf_event_paranoid is {level}: .*whole "
        r"CPU.*sysctl kernel\.perf_event_paranoid=0.*\n",
        done.stderr,
    )
    assert list(tmp_path.iterdir()) == []
    paranoid(0)
    done = run(*WITHOUT_RIGHTS, GNOMON, "count", *option, "-e", "cpu-clock", "--", "true")
    assert done.returncode == 0


def test_program_by_cpu_needs_no_rights(
    paranoid: Callable[[int], None],
    programs: Programs,
    tmp_path: Path,
) -> None:
    paranoid(1)
    document = counted(tmp_path, "-A", *FAULTS, "--", programs("pages"), "500",
                       under=WITHOUT_RIGHTS)  # fmt: skip
    assert sum(values(row)["page-faults"] for row in document["places"]) >= 500


# --- cgroups --------------------------------------------------------------------------------------


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """Return the folder of a new cgroup."""
    try:
        folder = hierarchy() / f"gnomon-test-{os.getpid()}"
        folder.mkdir()
    except (OSError, GnomonError) as error:
        pytest.fail(f"no cgroup can be made here ({error}): run the tests as root")
    yield folder
    folder.rmdir()


def inside(cgroup: Path, command: str) -> tuple[str, ...]:
    return ("sh", "-c", f"echo $$ > {cgroup}/cgroup.procs && {command}; exec echo done")


def test_cgroup_counts_its_processes_only(cgroup: Path, programs: Programs, tmp_path: Path) -> None:
    pages = f"{programs('pages')} 7000"
    name = cgroup.name
    document = counted(tmp_path, "-G", name, *FAULTS, "--", *inside(cgroup, pages))
    check_schema(document)
    assert document["covers"] == f"cgroup {name}"
    ours = values(document)["page-faults"]
    assert 7000 <= ours < 9000
    outside = counted(tmp_path, "-G", name, *FAULTS, "--", programs("pages"), "7000")
    assert values(outside)["page-faults"] == 0
    by_cpu = counted(tmp_path, "-G", str(cgroup), "-A", *FAULTS, "--", *inside(cgroup, pages))
    assert sum(values(row)["page-faults"] for row in by_cpu["places"]) >= 7000
    perf = perf_program()
    assert perf is not None
    file = tmp_path / "perf.csv"
    run(perf, "stat", "-a", "-x;", "-o", file, *FAULTS, "-G", name, "--", *inside(cgroup, pages))
    theirs = [line for line in file.read_text().splitlines() if ";page-faults" in line]
    assert ours == pytest.approx(float(theirs[0].split(";")[0]), abs=64)


def test_cgroup_in_intervals_and_alone(cgroup: Path) -> None:
    done = gnomon("count", "--json", "-G", cgroup.name, "-I", "50", "-d", "0.5", *FAULTS)
    intervals, document = told(done.stderr)
    assert len(intervals) >= 3
    assert values(document)["page-faults"] == 0
    text = gnomon("count", "-G", cgroup.name, "-d", "0.1", *FAULTS)
    assert text.stderr.startswith(f"\ngnomon count: cgroup {cgroup.name}\n")


def test_cgroups_that_are_none(tmp_path: Path) -> None:
    mount = hierarchy()
    for name in ("no-such-cgroup", "no/such/cgroup", "cgroup.procs", "a\nb"):
        done = gnomon("count", "-G", name, *FAULTS, "--", "touch", "ran", cwd=tmp_path)
        assert done.returncode == 2
        assert re.fullmatch(r"gnomon: -G .*: no such cgroup; .*\n", done.stderr)
    elsewhere = os.path.relpath(tmp_path, mount)
    done = gnomon("count", "-G", elsewhere, *FAULTS, "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 1
    assert "not a cgroup that the kernel counts by" in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- what the program finds -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool",
    [(GNOMON, "count", "-A", "-I", "20"), (GNOMON, "count", "-a", "-D", "1"),
     (GNOMON, "count", "-g", "5,6", "--turns", "10"), (GNOMON, "count", "-g", "5,6", "-r", "1"),
     (HPMCOUNT, "-g", "5,6"), (HPMCOUNT, "-o", "out", "-r", "1")],
    ids=lambda tool: " ".join(map(str, tool)).rpartition("/")[2],
)  # fmt: skip
def test_program_finds_the_world_as_it_was(
    tool: tuple[str, ...], programs: Programs, tmp_path: Path
) -> None:
    """Descriptors, limits, environment and signals are those without us."""
    watch = "grep -E '^(Sig|Shd)(Blk|Ign|Cgt)' /proc/self/status; ulimit -Sa; env | sort"
    script = f"{programs('descriptors')} fds; {watch}"
    plain = run("sh", "-c", script, cwd=tmp_path)
    fds = [line.split()[:3] for line in (tmp_path / "fds").read_text().splitlines()]
    seen = run(*tool, "sh", "-c", script, cwd=tmp_path)
    assert seen.returncode == 0
    assert seen.stdout.startswith(plain.stdout)
    # The pipes are others.
    assert [line.split()[:3] for line in (tmp_path / "fds").read_text().splitlines()] == fds


# --- options that do not go together --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-I", "5"), "10 to 1000000000 ms"),
        (("-I", "-5"), "10 to 1000000000 ms"),
        (("--interval-count", "2"), "goes with -I"),
        (("-I", "100", "--count", "-2"), "must be at least 1"),
        (("-I", "100", "-r", "2"), "-r and -I"),
        (("-D", "-1"), "a delay must be 0 to"),
        (("-a", "-p", "1"), "-p excludes -a"),
        (("-a", "-G", "x"), "-a and -G"),
        (("-a", "--per", "thread"), "--per cpu"),
        (("-D", "10", "--per", "process"), "--per cpu"),
        (("-I", "100", "--per", "thread"), "--per cpu"),
        (("-A", "--pmu", "emulated"), "leave out -a, -A"),
        (("-I", "100", "--pmu", "emulated"), "leave out -a, -A"),
        (("-d", "1"), "-d goes with -p, -a and -G"),
        (("-a", "-d", "inf"), "at most 1e9 s"),
        (("-G", ""), "a cgroup name is missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refused_before_the_program_runs(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = gnomon("count", *options, *FAULTS, "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"gnomon: .*\n", done.stderr), done.stderr
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
