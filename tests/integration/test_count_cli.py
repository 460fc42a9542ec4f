"""Options, reports and refusals of `gnomon count` and `hpmcount`."""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, HPMCOUNT, counted, gnomon, run, values
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gnomon.measurement.measurement_json import SCHEMA

EVENTS = ("-e", "task-clock,page-faults")
# t(0.975) for N - 1 degrees of freedom, as printed in the tables of any textbook.
STUDENT = {2: 12.7062, 3: 4.3027, 5: 2.7764}
MOMENT = r"\d\d\.\d\d\.\d{4}_\d\d\.\d\d\.\d\d"


def check_schema(document: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    problems = [error.message for error in Draft202012Validator(schema).iter_errors(document)]
    assert problems == []


# --- the document ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [(), ("-x",), ("-g", "SCHED,PAGEFAULTS"), ("-r", "2"), ("--per", "thread"),
     ("--per", "process", "-r", "2"), ("-e", "cycles,instructions,PAPI_DP_OPS")],
    ids=lambda options: " ".join(options) or "default",
)  # fmt: skip
def test_document_keeps_to_its_schema(options: tuple[str, ...], tmp_path: Path) -> None:
    document = counted(tmp_path, *options, "--", "sh", "-c", "true; exit 3", status=3)
    check_schema(document)
    assert document["command"] == ["sh", "-c", "true; exit 3"]
    assert document["wall_seconds"] > 0
    # Each event asked for is counted or said not to be, and none is both.
    names = [row["event"] for row in document["counters"] + document["unavailable"]]
    assert names
    assert len(names) == len(set(names))
    assert all(row["reason"] and row["remedy"] for row in document["unavailable"])
    assert [row["field"] for row in document["rusage"]][:3] == ["ru_utime", "ru_stime", "ru_maxrss"]


def test_schema_refuses_another_document(tmp_path: Path) -> None:
    document = counted(tmp_path, *EVENTS, "--", "true")
    document["counters"][0]["how"] = "guessed"
    with pytest.raises(AssertionError):
        check_schema(document)


def test_json_goes_to_stderr_whole() -> None:
    done = gnomon("count", "--json", *EVENTS, "--", "echo", "out")
    assert done.stdout == "out\n"
    check_schema(json.loads(done.stderr))


def test_default_set_is_what_this_machine_has(tmp_path: Path) -> None:
    document = counted(tmp_path, "--", "true")
    found = values(document)
    assert found["task-clock"] > 0
    assert found["page-faults"] > 0
    assert all(counter["how"] == "counted" for counter in document["counters"])
    # Nothing is invented: what has no value was not asked of a counter that counted.
    assert all(counter["value"] is not None for counter in document["counters"])


# --- where the report goes ------------------------------------------------------------------------


def test_dash_is_stdout(tmp_path: Path) -> None:
    """The report begins on a line of its own after the program's output."""
    done = gnomon("count", *EVENTS, "-o", "-", "--", "printf", "no newline")
    assert done.stdout.startswith("no newline\ngnomon count: printf 'no newline'  [exit 0]\n")
    assert done.stderr == ""
    done = gnomon("count", "--json", *EVENTS, "-o", "-", "--", "printf", "no newline", cwd=tmp_path)
    assert done.stdout.startswith("no newline\n{\n")
    check_schema(json.loads(done.stdout.partition("\n")[2]))
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_file_whose_name_ends_in_json(tmp_path: Path) -> None:
    """It holds JSON, and the terminal still gets the text."""
    done = gnomon("count", *EVENTS, "-o", "out.json", "--", "true", cwd=tmp_path)
    check_schema(json.loads((tmp_path / "out.json").read_text()))
    assert "\ngnomon count: true  [exit 0]\n" in done.stderr


def test_file_with_text(tmp_path: Path) -> None:
    done = gnomon("count", *EVENTS, "-o", "out", "--", "true", cwd=tmp_path)
    text = (tmp_path / "out").read_text()
    assert text.startswith("gnomon count: true  [exit 0]\n")
    assert done.stderr == "\n" + text
    done = gnomon("count", "--json", *EVENTS, "-o", "out", "--", "true", cwd=tmp_path)
    check_schema(json.loads((tmp_path / "out").read_text()))
    assert done.stderr.startswith("\ngnomon count: true")


def test_no_terminal(tmp_path: Path) -> None:
    done = gnomon("count", *EVENTS, "-n", "-o", "out", "--", "true", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    assert "task-clock" in (tmp_path / "out").read_text()


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("out", r"out_HOST_\d+_MOMENT"),
        ("out.txt", r"out_HOST_\d+_MOMENT\.txt"),
        ("out.tar.json", r"out\.tar_HOST_\d+_MOMENT\.json"),
        (".hidden", r"HOST_\d+_MOMENT\.hidden"),
        ("a.b/out", r"out_HOST_\d+_MOMENT"),
    ],
)
def test_unique_name(name: str, pattern: str, tmp_path: Path) -> None:
    """HPM Toolkit User's Guide 2.2: `_host_process_date_time` before the last dot."""
    (tmp_path / "a.b").mkdir()
    done = gnomon("count", *EVENTS, "-n", "-u", "-o", name, "--", "true", cwd=tmp_path)
    assert done.returncode == 0
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    host = re.escape(socket.gethostname().partition(".")[0])
    assert re.fullmatch(pattern.replace("HOST", host).replace("MOMENT", MOMENT), file.name)
    assert file.parent == (tmp_path / name).parent


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_unique_name_has_the_rank(variable: str, tmp_path: Path) -> None:
    environment = os.environ | {variable: "7", "SLURM_STEP_NUM_TASKS": "8"}
    gnomon("count", *EVENTS, "-nuo", "r", "--", "true", cwd=tmp_path, env=environment)
    (file,) = tmp_path.iterdir()
    assert file.name.split("_")[2] == "7"


# --- what is counted ------------------------------------------------------------------------------


def test_groups_by_number_and_name(tmp_path: Path) -> None:
    groups = json.loads(gnomon("groups", "--json").stdout)["groups"]
    wanted = {group["name"]: group for group in groups}["PAGEFAULTS"]
    for word in ("PAGEFAULTS", str(wanted["number"]), "pagefaults"):
        document = counted(tmp_path, "-g", word, "--", "true")
        names = [row["event"] for row in document["counters"] + document["unavailable"]]
        assert sorted(names) == sorted(wanted["events"])


def test_groups_and_events_add_up(tmp_path: Path) -> None:
    document = counted(
        tmp_path, "-g", "PAGEFAULTS", "-g", "SCHED", "-e", "minor-faults", "-e", "task-clock:u",
        "--", "true",
    )  # fmt: skip
    names = [row["event"] for row in document["counters"]]
    assert {"minor-faults", "task-clock:u", "page-faults", "context-switches"} <= set(names)
    assert len(names) == len(set(names))


def test_modifiers_count_apart(tmp_path: Path) -> None:
    document = counted(tmp_path, "-e", "page-faults,page-faults:u,page-faults:k", "--", "ls", "/")
    found = values(document)
    assert found["page-faults"] == found["page-faults:u"] + found["page-faults:k"]
    assert found["page-faults:u"] > 0
    domains = {row["event"]: row["domain"] for row in document["counters"]}
    assert domains["page-faults:u"] == "user"
    assert domains["page-faults:k"] == "kernel"


def test_clocks_count_every_mode(tmp_path: Path) -> None:
    """The kernel's clocks cannot leave a mode out, so that none is said to be left out."""
    document = counted(
        tmp_path, "-e", "task-clock,task-clock:u", "--", "dd", "if=/dev/zero", "of=/dev/null",
        "bs=1M", "count=300",
    )  # fmt: skip
    found = values(document)
    assert found["task-clock:u"] == pytest.approx(found["task-clock"], rel=0.1)
    assert {row["domain"] for row in document["counters"]} == {"all"}
    assert any("task-clock:u counts every mode" in note for note in document["notes"])


def test_formulas_are_shown_when_asked_for() -> None:
    plain = gnomon("count", "--all", *EVENTS, "--", "true").stderr
    with_formulas = gnomon("count", "--all", "-x", *EVENTS, "--", "true").stderr
    formula = re.compile(r"cpus_utilised .*= .*wall_seconds")
    assert not formula.search(plain)
    assert formula.search(" ".join(with_formulas.split()))
    short = gnomon("count", "-x", *EVENTS, "--", "true").stderr
    assert re.search(r"CPUs utilised .*= .*wall_seconds", " ".join(short.split()))


# --- repetitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", STUDENT)
def test_repetitions(n: int, tmp_path: Path) -> None:
    document = counted(tmp_path, "-r", str(n), *EVENTS, "--", "sh", "-c", f"echo >> {tmp_path}/ran")
    assert (tmp_path / "ran").read_text() == "\n" * n
    check_schema(document)
    assert len(document["repetitions"]) == n
    samples = {
        event: [values(one)[event] for one in document["repetitions"]]
        for event in ("task-clock", "page-faults")
    }
    samples["wall time"] = [one["wall_seconds"] * 1e9 for one in document["repetitions"]]
    samples["peak memory"] = [
        row["value"] * 1024
        for one in document["repetitions"]
        for row in one["rusage"]
        if row["field"] == "ru_maxrss"
    ]
    spreads = {spread["name"]: spread for spread in document["spread"]}
    assert (spreads["peak memory"]["unit"], spreads["peak memory"]["how"]) == ("bytes", "counted")
    for name, sample in samples.items():
        spread = spreads[name]
        assert spread["n"] == n
        assert spread["mean"] == pytest.approx(statistics.fmean(sample))
        deviation = statistics.stdev(sample)
        assert spread["deviation"] == pytest.approx(deviation, abs=1e-6)
        half = STUDENT[n] * deviation / n**0.5
        assert spread["confidence_95"] == pytest.approx(half, rel=1e-4, abs=1e-6)
        assert (spread["minimum"], spread["maximum"]) == pytest.approx((min(sample), max(sample)))
    assert values(document) == values(document["repetitions"][-1])


def test_repetitions_as_text() -> None:
    # Of a program as small as `true` the peak is not always known.
    done = gnomon("count", "-r", "3", *EVENTS, "--", sys.executable, "-c", "bytes(1 << 25)")
    assert " × 3  [exit 0]" in done.stderr
    for word in ("mean", "± 95 %", "std. dev.", "min", "max", "  peak memory  "):
        assert word in done.stderr


def test_repetitions_that_end_differently(tmp_path: Path) -> None:
    script = f"test -e '{tmp_path}/once' && exit 0; touch '{tmp_path}/once'; exit 7"
    done = gnomon("count", "-r", "2", *EVENTS, "--", "sh", "-c", script)
    assert done.returncode == 7
    assert "repetitions ended differently: exit 0, exit 7" in done.stderr


# --- refusals: one line, before the program runs --------------------------------------------------


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("-e", "page-fault"), 2, "page-faults"),
        (("-e", "task_clock"), 2, "task-clock"),
        (("-e", "PAPI_TOT_IN"), 2, "PAPI_TOT_INS"),
        (("-e", "kernal:::x"), 2, "kernel:::"),
        (("-e", "io:::read_byte"), 2, "io:::read_bytes"),
        (("-e", "nocpu/event=1/"), 2, "no PMU 'nocpu'"),
        (("-e", ",,"), 2, "empty name"),
        (("-e", "{page-faults"), 2, "not closed"),
        (("-e", "page-faults:p"), 2, "page-faults"),
        (("-g", "CASHE"), 2, "CACHE"),
        (("-g", "999"), 2, "999"),
        (("-r", "0", *EVENTS), 2, "must be at least 1"),
        (("-n", *EVENTS), 2, "-o NAME"),
        (("-u", *EVENTS), 2, "-o NAME"),
        (("-o", "no/such/folder/out", *EVENTS), 1, "cannot be written"),
        (("-o", ".", *EVENTS), 1, "cannot be written"),
        (("--name", "no/such/folder/run", *EVENTS), 1, "not a directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refused_before_the_program_runs(
    options: tuple[str, ...], status: int, said: str, tmp_path: Path
) -> None:
    done = gnomon("count", *options, "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == ""
    assert re.fullmatch(r"gnomon: .*\n", done.stderr), done.stderr
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("tracepoints")
def test_wrong_tracepoint_gets_the_nearest_right_one(tmp_path: Path) -> None:
    done = gnomon("count", "-e", "sched:sched_swich", "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 2
    assert "sched:sched_switch" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tool", [(GNOMON, "count", *EVENTS, "--"), (HPMCOUNT,)],
                         ids=["gnomon", "hpmcount"])  # fmt: skip
@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("no-such-program-anywhere", 127, "command not found"),
        ("./missing", 127, "command not found"),
        ("./script", 126, "chmod +x ./script"),
        ("./folder", 126, "is a directory"),
        ("./interpreter", 127, "interpreter"),
        ("./script/below", 126, "cannot be executed"),
        ("", 127, "command not found"),
    ],
)
def test_program_that_cannot_be_executed(
    program: str, status: int, said: str, tool: tuple[str, ...], tmp_path: Path
) -> None:
    """The shell's own status, and one line."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "interpreter").write_text("#!/no/such/interpreter\n")
    (tmp_path / "interpreter").chmod(0o755)
    done = run(*tool, program, cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == ""
    assert re.fullmatch(rf"(gnomon|hpmcount): {re.escape(program)}: .*\n", done.stderr)
    assert said in done.stderr


def test_script_without_first_line_runs(tmp_path: Path) -> None:
    """execvp(3) gives it to the shell, as time and env do."""
    (tmp_path / "script").write_text("echo ran $1\n")
    (tmp_path / "script").chmod(0o755)
    done = run(GNOMON, "count", *EVENTS, "--", "./script", "well", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ran well\n")


@pytest.mark.parametrize(
    "tool",
    [(GNOMON, "count"), (GNOMON, "count", "--per", "thread"), (GNOMON, "count", "-r", "2"),
     (HPMCOUNT,)],
    ids=["count", "per", "repeat", "hpmcount"],
)  # fmt: skip
@pytest.mark.cpu
def test_nothing_that_can_be_counted(tool: tuple[str, ...]) -> None:
    """No PMU counts stores in the instruction TLB: the program runs, and the report says so."""
    done = run(*tool, "-e", "iTLB-stores", "sh", "-c", "exit 6")
    report = done.stdout + done.stderr
    assert done.returncode == 6
    assert "Traceback" not in report
    assert "wall time" in report
    assert re.search(r"not counted\n  (cpu_\w+/)?iTLB-stores.*\n    why     \w+.*\n", report)


# --- hpmcount -------------------------------------------------------------------------------------


def test_hpmcount_reports_on_stdout() -> None:
    done = run(HPMCOUNT, "sh", "-c", "echo out; echo err >&2; exit 4")
    assert done.returncode == 4
    assert done.stderr == "err\n"
    assert done.stdout.startswith("out\n\nhpmcount: sh -c ")
    # Every field of getrusage(2), those without a meaning on Linux too.
    assert len(set(re.findall(r"\bru_\w+", done.stdout))) == 16
    assert re.search(r"swaps +n/a +ru_nswap", done.stdout)


def test_hpmcount_writes_name_hpm(tmp_path: Path) -> None:
    done = run(HPMCOUNT, "-n", "-o", "out", "-e", "page-faults", "-x", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["out.hpm"]
    assert "page-faults" in (tmp_path / "out.hpm").read_text()
    run(HPMCOUNT, "-u", "-n", "-o", "out", "-g", "0", "true", cwd=tmp_path)
    assert len([path for path in tmp_path.iterdir() if path.name.endswith(".hpm")]) == 2


def test_hpmcount_lists_and_refuses() -> None:
    assert "PAGEFAULTS" in run(HPMCOUNT, "-l").stdout
    assert "page-faults" in run(HPMCOUNT, "-c").stdout
    assert run(HPMCOUNT, "-h").returncode == 0
    done = run(HPMCOUNT)
    assert done.returncode == 2
    assert re.fullmatch(r"hpmcount: .*\n", done.stderr)
