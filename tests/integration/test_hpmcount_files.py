"""hpmcount's files: which are written, how they are named, what is in them.

Source: HPM Toolkit User's Guide 3.2.2, section 2.2.
"""

from __future__ import annotations

import calendar
import os
import re
import socket
import time
from pathlib import Path

import pytest
from commands import HPMCOUNT, run
from hpm_files import hpmcount, rows, viz, viz_problems

HOST = re.escape(socket.gethostname().partition(".")[0])
MOMENT = r"\d\d\.\d\d\.\d{4}_\d\d\.\d\d\.\d\d"
EVENTS = ("-e", "task-clock,page-faults")
FORMATS = ("HPM_ASC_OUTPUT", "HPM_VIZ_OUTPUT", "HPM_CSV_OUTPUT")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# --- which files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "written"),
    [
        ({}, ["hpm"]),
        ({"HPM_ASC_OUTPUT": "Y"}, ["hpm"]),
        ({"HPM_VIZ_OUTPUT": "yes"}, ["viz"]),
        ({"HPM_CSV_OUTPUT": "1"}, ["csv"]),
        ({"HPM_VIZ_OUTPUT": "Yes please", "HPM_CSV_OUTPUT": "y"}, ["csv", "viz"]),
        (dict.fromkeys(FORMATS, "1"), ["csv", "hpm", "viz"]),
        ({"HPM_VIZ_OUTPUT": "no"}, []),
        ({"HPM_ASC_OUTPUT": "no", "HPM_VIZ_OUTPUT": "Y"}, ["viz"]),
        ({"HPM_ASC_OUTPUT": "10"}, []),
        ({"HPM_VIZ_OUTPUT": ""}, ["hpm"]),
    ],
    ids=str,
)
def test_variables_say_which_files_are_written(
    variables: dict[str, str], written: list[str], tmp_path: Path
) -> None:
    """None set: ASCII alone. One set: those that say Y..., y... or 1."""
    done = hpmcount("-o", "out", *EVENTS, "true", cwd=tmp_path, **variables)
    assert done.returncode == 0
    assert names(tmp_path) == [f"out.{ending}" for ending in written]
    assert "hpmcount: true" in done.stdout


def test_no_name_no_file(tmp_path: Path) -> None:
    done = hpmcount(*EVENTS, "true", cwd=tmp_path, **dict.fromkeys(FORMATS, "Y"))
    assert done.returncode == 0
    assert "hpmcount: true" in done.stdout
    assert names(tmp_path) == []


def test_output_name_variable_and_option(tmp_path: Path) -> None:
    hpmcount("-n", *EVENTS, "true", cwd=tmp_path, HPM_OUTPUT_NAME="variable")
    assert names(tmp_path) == ["variable.hpm"]
    hpmcount("-n", "-o", "option", *EVENTS, "true", cwd=tmp_path, HPM_OUTPUT_NAME="variable")
    assert names(tmp_path) == ["option.hpm", "variable.hpm"]


@pytest.mark.parametrize("options", [("-n",), ()], ids=["option", "variable"])
def test_silence_only_with_a_file(options: tuple[str, ...], tmp_path: Path) -> None:
    """-n and HPM_STDOUT=no are only active when -o is used: the report is never lost."""
    variables = {} if options else {"HPM_STDOUT": "no"}
    done = hpmcount(*options, *EVENTS, "echo", "out", cwd=tmp_path, **variables)
    assert "hpmcount: echo out" in done.stdout
    done = hpmcount(*options, "-o", "o", *EVENTS, "echo", "out", cwd=tmp_path, **variables)
    assert done.stdout == "out\n"
    assert names(tmp_path) == ["o.hpm"]
    variables["HPM_ASC_OUTPUT"] = "no"
    done = hpmcount(*options, "-o", "p", *EVENTS, "true", cwd=tmp_path, **variables)
    assert "hpmcount: true" in done.stdout
    assert names(tmp_path) == ["o.hpm"]


@pytest.mark.parametrize("value", ["no", "NO", "0", "yes", "YES", "1"])
def test_stdout_variable(value: str, tmp_path: Path) -> None:
    done = hpmcount("-o", "out", *EVENTS, "true", cwd=tmp_path, HPM_STDOUT=value)
    assert bool(done.stdout) == (value in ("yes", "YES", "1"))


def test_hpm_file_is_a_copy_of_the_screen(tmp_path: Path) -> None:
    done = hpmcount("-o", "out", "-x", "-g", "6,5", "ls", "/", cwd=tmp_path)
    printed = done.stdout.partition("\nhpmcount: ")
    assert (tmp_path / "out.hpm").read_text() == "hpmcount: " + printed[2]


# --- unique names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("out", rf"out_{HOST}_\d+_{MOMENT}\.hpm"),
        ("out.txt", rf"out_{HOST}_\d+_{MOMENT}\.txt\.hpm"),
        ("a.b.c", rf"a\.b_{HOST}_\d+_{MOMENT}\.c\.hpm"),
        (".hidden", rf"{HOST}_\d+_{MOMENT}\.hidden\.hpm"),
        (".a.b", rf"\.a_{HOST}_\d+_{MOMENT}\.b\.hpm"),
        ("out.", rf"out_{HOST}_\d+_{MOMENT}\.\.hpm"),
        ("f.d/out", rf"out_{HOST}_\d+_{MOMENT}\.hpm"),
        ("f.d/.out", rf"{HOST}_\d+_{MOMENT}\.out\.hpm"),
    ],
)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_unique_names(name: str, pattern: str, by: str, tmp_path: Path) -> None:
    """Before the last dot; appended without one; in front, less its '_', if the only one is first.

    A dot of a folder is none of the file's name.
    """
    (tmp_path / "f.d").mkdir()
    options = ("-u", "-o", name) if by == "option" else ()
    variables = {} if options else {"HPM_UNIQUE_FILE_NAME": "yes", "HPM_OUTPUT_NAME": name}
    assert hpmcount(*options, *EVENTS, "true", cwd=tmp_path, **variables).returncode == 0
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert re.fullmatch(pattern, file.name)
    assert file.parent == (tmp_path / name).parent


def test_unique_is_only_active_with_a_name(tmp_path: Path) -> None:
    done = hpmcount("-u", *EVENTS, "true", cwd=tmp_path)
    assert done.returncode == 0
    assert "hpmcount: true" in done.stdout
    assert names(tmp_path) == []


def test_unique_name_has_process_date_and_time(tmp_path: Path) -> None:
    """Date and time are local; the process is hpmcount's own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HPM_")}
    zone = environment | {"TZ": "Etc/GMT-13"}
    before = time.time()
    script = f"echo $$; exec {HPMCOUNT} -n -u -o out -e page-faults true"
    done = run("sh", "-c", script, cwd=tmp_path, env=zone)
    (name,) = names(tmp_path)
    _, _, process, date, moment = name.removesuffix(".hpm").split("_")
    assert process == done.stdout.strip()
    stamp = time.strptime(f"{date} {moment}", "%d.%m.%Y %H.%M.%S")
    # Etc/GMT-13 is 13 hours ahead of UTC.
    utc = calendar.timegm(stamp) - 13 * 3600
    assert int(before) <= utc <= time.time()


def test_files_of_one_run_have_one_name(tmp_path: Path) -> None:
    formats = dict.fromkeys(FORMATS, "Y")
    hpmcount("-n", "-u", "-o", "out", *EVENTS, "true", cwd=tmp_path, **formats)
    assert len({name.rpartition(".")[0] for name in names(tmp_path)}) == 1
    assert len(names(tmp_path)) == 3


@pytest.mark.parametrize(
    "variable",
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"],
)
def test_unique_name_has_the_mpi_task(variable: str, tmp_path: Path) -> None:
    task = {variable: "7", "SLURM_STEP_NUM_TASKS": "8"}
    hpmcount("-nuo", "r", *EVENTS, "true", cwd=tmp_path, HPM_VIZ_OUTPUT="y", **task)
    (name,) = names(tmp_path)
    assert name.split("_")[2] == "7"
    assert viz(tmp_path / name).find("run").get("task") == "7"


@pytest.mark.parametrize("value", ["", "x", "-1", "12345678901"])
def test_a_task_that_is_none(value: str, tmp_path: Path) -> None:
    hpmcount("-nuo", "r", *EVENTS, "true", cwd=tmp_path, PMI_RANK=value)
    (name,) = names(tmp_path)
    assert int(name.split("_")[2]) > 1


# --- what is in them ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [("-g", "6"), ("-g", "5,6,8"), ("-g", "6,5", "-r", "2"), ("-r", "2",), ("-a", "loc_merge",
     "-g", "5,6"), ("-e", "PAPI_DP_OPS,page-faults:u,io:::rchar"), ()],
    ids=" ".join,
)  # fmt: skip
def test_viz_meets_its_schema(options: tuple[str, ...], tmp_path: Path) -> None:
    done = hpmcount("-n", "-o", "o", *options, "sh", "-c", "ls / >&2; exit 3", cwd=tmp_path,
                    HPM_VIZ_OUTPUT="y", HPM_SLICE_DURATION="10")  # fmt: skip
    assert done.returncode == 3
    root = viz(tmp_path / "o.viz")
    assert root.get("producer") == "hpmcount"
    head = root.find("run")
    assert [word.text for word in head] == ["sh", "-c", "ls / >&2; exit 3"]
    assert head.get("exit_status") == "3"
    fields = root.find("usage").findall("field")
    assert len(fields) == 16
    for field in fields:  # a value, or a reason
        assert (field.get("value") is None) == (field.get("reason") is not None)
    for event in root.iter("event"):
        assert (event.get("value") is None) == (event.get("reason") is not None)


def test_schema_refuses_other_files(tmp_path: Path) -> None:
    hpmcount("-n", "-o", "o", *EVENTS, "true", cwd=tmp_path, HPM_VIZ_OUTPUT="y")
    text = (tmp_path / "o.viz").read_text()
    for old, new in (('how="counted"', 'how="guessed"'), ("<run ", "<ran "),
                     ('producer="hpmcount"', "")):  # fmt: skip
        assert old in text
        broken = text.replace(old, new).replace("</run>", "</ran>" if "ran" in new else "</run>")
        (tmp_path / "broken.viz").write_text(broken)
        assert viz_problems(tmp_path / "broken.viz") != []


def test_viz_and_csv_agree_with_each_other(tmp_path: Path) -> None:
    formats = dict.fromkeys(FORMATS, "Y")
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    hpmcount("-n", "-o", "o", "-g", "6,5", "sh", "-c", busy, cwd=tmp_path,
             HPM_SLICE_DURATION="10", **formats)  # fmt: skip
    root, table = viz(tmp_path / "o.viz"), rows(tmp_path / "o.csv")
    for kind, tag in (("event", "event"), ("metric", "metric")):
        in_xml = {
            (values.get("group", ""), one.get("name")): one.get("value", "")
            for values in root.iter("values")
            for one in values.iter(tag)
        }
        in_csv = {(r["group"], r["name"]): r["value"] for r in table if r["kind"] == kind}
        assert in_xml == in_csv
        assert in_xml
    usage = {r["name"]: r["value"] for r in table if r["kind"] == "usage"}
    assert usage == {f.get("name"): f.get("value", "") for f in root.iter("field")}
    assert {r["name"] for r in table if r["kind"] == "time"} >= {"wall", "user", "system"}


def test_columns_of_csv_are_those_of_libhpm(tmp_path: Path) -> None:
    hpmcount("-n", "-o", "o", *EVENTS, "true", cwd=tmp_path, HPM_CSV_OUTPUT="y")
    head = (tmp_path / "o.csv").read_text().splitlines()[0]
    source = (Path(__file__).parents[2] / "native" / "hpm" / "report_csv.c").read_text()
    start = source.index("columns[] =")
    theirs = "".join(re.findall(r'"([^"]*)"', source[start : source.index(";", start)]))
    assert head == theirs.removesuffix(r"\r\n")


@pytest.mark.parametrize("word", ['a,b"c', "<&>", "line\nbreak", "tab\there", "\x1b[31m", "ü"])
def test_odd_arguments_leave_whole_files(word: str, tmp_path: Path) -> None:
    program = tmp_path / word.replace("\n", "_")
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    formats = dict.fromkeys(FORMATS, "Y")
    done = hpmcount("-n", "-o", "o", *EVENTS, program, word, cwd=tmp_path, **formats)
    assert done.returncode == 0
    argument = viz(tmp_path / "o.viz").find("run")[1].text
    assert argument.isprintable()
    assert word in argument or not word.isprintable()
    assert len(rows(tmp_path / "o.csv")) > 16


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    formats = dict.fromkeys(FORMATS, "Y")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HPM_")} | formats
    odd = b"\xff\xfe".decode(errors="surrogateescape")
    done = run(HPMCOUNT, "-n", "-o", "o", *EVENTS, "true", odd,
               cwd=tmp_path, env=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert viz_problems(tmp_path / "o.viz") == []


def test_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Before the program runs, and the others are not left behind."""
    (tmp_path / "o.csv").mkdir()
    formats = dict.fromkeys(FORMATS, "Y")
    done = hpmcount("-o", "o", *EVENTS, "touch", "ran", cwd=tmp_path, **formats)
    assert done.returncode == 1
    assert re.fullmatch(r"hpmcount: o\.csv: cannot be written: .*\n", done.stderr)
    assert names(tmp_path) == []


def test_full_disk_costs_a_line_and_the_status_stands(tmp_path: Path) -> None:
    (tmp_path / "o.hpm").symlink_to("/dev/full")
    done = hpmcount("-o", "o", *EVENTS, "sh", "-c", "exit 5", cwd=tmp_path)
    assert done.returncode == 5
    assert "o.hpm: cannot be written: No space left on device" in done.stderr
    assert "hpmcount: sh" in done.stdout


def test_an_earlier_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    """Also while the program runs, and where the new one does not fit."""
    (tmp_path / "o.hpm").write_text("earlier\n")
    (tmp_path / "o.hpm").chmod(0o640)
    hpmcount("-n", "-o", "o", *EVENTS, "sh", "-c", "cp o.hpm seen", cwd=tmp_path)
    assert (tmp_path / "seen").read_text() == "earlier\n"
    assert "hpmcount: sh" in (tmp_path / "o.hpm").read_text()
    assert (tmp_path / "o.hpm").stat().st_mode & 0o777 == 0o640
    (tmp_path / "o.hpm").write_text("earlier\n")
    script = f"ulimit -f 1; exec {HPMCOUNT} -o o -g 5,6,8 sh -c 'exit 6'"
    done = run("sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 6
    assert "o.hpm: cannot be written: File too large" in done.stderr
    assert (tmp_path / "o.hpm").read_text() == "earlier\n"
    assert names(tmp_path) == ["o.hpm", "seen"]


def test_a_file_that_another_process_wrote_meanwhile(tmp_path: Path) -> None:
    """Of libhpm in the program, say, which has the same variable."""
    done = hpmcount("-o", "out", *EVENTS, "sh", "-c", "echo libhpm: >out.hpm", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith(
        "HPM WARNING - out.hpm, written by another process in the meantime"
    )
    assert (tmp_path / "out.hpm").read_text().startswith("hpmcount: sh")
    done = hpmcount("-o", "out", *EVENTS, "true", cwd=tmp_path)
    assert done.stderr == ""


def test_longest_name(tmp_path: Path) -> None:
    name = "n" * 251
    assert hpmcount("-n", "-o", name, *EVENTS, "true", cwd=tmp_path).returncode == 0
    assert names(tmp_path) == [f"{name}.hpm"]
    done = hpmcount("-n", "-o", f"{name}n", *EVENTS, "touch", "ran", cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written: File name too long" in done.stderr


def test_files_that_are_no_files(tmp_path: Path) -> None:
    """A link is followed, and what is no regular file is written in place."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "o.hpm").symlink_to("elsewhere/real")
    (tmp_path / "n.hpm").symlink_to("/dev/null")
    for name in ("o", "n"):
        assert hpmcount("-n", "-o", name, *EVENTS, "true", cwd=tmp_path).returncode == 0
    assert "hpmcount: true" in (tmp_path / "elsewhere/real").read_text()
    assert (tmp_path / "o.hpm").is_symlink()
    assert (tmp_path / "n.hpm").is_symlink()
    assert names(tmp_path) == ["o.hpm", "real"]
