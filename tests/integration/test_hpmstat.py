"""`hpmstat`: the guide's chapter 4, on real intervals."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from watching import HPMSTAT, ended, first_line, watching

from gnomon.hpm.output_names import unique_name

pytestmark = pytest.mark.usefixtures("busy_cpu")
Programs = Callable[[str], Path]
# What proc(5) and getrusage(2) give no meaning on Linux.
MEANINGLESS = ("ru_ixrss", "ru_idrss", "ru_isrss", "ru_nswap", "ru_msgsnd", "ru_msgrcv",
               "ru_nsignals")  # fmt: skip


def hpmstat(*words: str | Path, **options: object) -> str:
    """Return what hpmstat prints."""
    done = run(HPMSTAT, *words, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def counter(text: str, event: str) -> int:
    found = re.search(rf"^  {re.escape(event)} +([\d ]+?)  ", text, re.MULTILINE)
    assert found is not None, f"no {event} in {text}"
    return int(found[1].replace(" ", ""))


def environment(**variables: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HPM_", "GNOMON_"))}
    return {**kept, **variables}


def test_alone_it_prints_usage_counters_and_metrics() -> None:
    text = hpmstat()
    assert text.startswith("hpmstat: the whole machine\n")
    assert "of the process itself" not in text
    for heading in ("counters", "metrics", "resource usage (getrusage)"):
        assert f"\n{heading}\n" in text
    for field in MEANINGLESS:
        assert re.search(rf" n/a +{field}$", text, re.MULTILINE)
    assert re.search(r"  \d.* ru_utime$", text, re.MULTILINE)
    assert counter(text, "context-switches") > 0
    wall = re.search(r"wall time +\d+(\.\d+)? s$", text, re.MULTILINE)
    assert wall is not None


def test_interval_and_count_are_those_of_vmstat(programs: Programs) -> None:
    text = hpmstat("-e", "page-faults", "0.1", "3")
    assert text.count("hpmstat: the whole machine\n") == 3
    with watching("-e", "page-faults", "0.3", tool=HPMSTAT) as ours:
        first_line(ours)
        run(programs("pages"), "7000")
        time.sleep(0.5)
        status, out, err = ended(ours, signal.SIGINT)
    assert (status, err) == (0, "")
    # The last report is of all intervals.
    assert counter(out.split("hpmstat: the whole machine\n")[-1], "page-faults") >= 7000


def test_groups_and_what_joins_them() -> None:
    apart = hpmstat("-g", "5,6", "0.2", "1")
    assert re.findall(r"^group (\d+) (\w+):", apart, re.MULTILINE) == [
        ("5", "SCHED"), ("6", "PAGEFAULTS")]  # fmt: skip
    assert hpmstat("-a", "mirror", "-g", "5,6", "0.2", "1").count("\ngroup ") == 2
    joined = hpmstat("-a", "loc_merge.so", "-g", "SCHED,PAGEFAULTS", "0.2", "1")
    assert "\ngroup " not in joined
    assert counter(joined, "context-switches") >= 0
    assert counter(joined, "minor-faults") >= 0


def test_formulas() -> None:
    assert "= context_switches /" in hpmstat("-x", "0.1", "1")
    assert "= context_switches /" not in hpmstat("0.1", "1")


def test_output_goes_to_the_file_by_its_own_name(tmp_path: Path) -> None:
    wide = environment(COLUMNS="80")  # as the file
    shown = hpmstat("-o", "node.txt", "0.05", "2", cwd=tmp_path, env=wide)
    assert (tmp_path / "node.txt").read_text() == shown
    assert hpmstat("-n", "-o", "node.txt", "0.05", "1", cwd=tmp_path) == ""
    assert (tmp_path / "node.txt").read_text().count("hpmstat: ") == 1
    # Only active with -o.
    assert "counters" in hpmstat("-n", "-u", "0.05", "1", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["node.txt"]


@pytest.mark.parametrize(
    ("name", "pattern"), [("node.hpm", "node_{}.hpm"), ("node", "node_{}"), (".node", "{}.node")]
)
def test_unique_names_have_colons(name: str, pattern: str, tmp_path: Path) -> None:
    hpmstat("-n", "-u", "-o", name, "0.05", "1", cwd=tmp_path,
            env=environment(OMPI_COMM_WORLD_RANK="3"))  # fmt: skip
    (made,) = [path.name for path in tmp_path.iterdir()]
    host = re.escape(os.uname().nodename.partition(".")[0])
    # The process and not the rank: several may share a node.
    text = rf"{host}_(?!3_)\d+_\d\d\.\d\d\.\d{{4}}_\d\d:\d\d:\d\d"
    assert re.fullmatch(re.escape(pattern).replace(r"\{\}", text), made), made


def test_names_of_hpmcount_stay_without_colons() -> None:
    moment = time.struct_time((2026, 1, 2, 3, 4, 5, 0, 1, 0))
    assert unique_name("a.b", host="h", process=7, moment=moment) == "a_h_7_02.01.2026_03.04.05.b"


def test_variables_of_hpm_and_options_before_them(tmp_path: Path) -> None:
    given = environment(HPM_EVENT_SET="PAGEFAULTS", HPM_OUTPUT_NAME="x.txt", HPM_STDOUT="no",
                        HPM_PRINT_FORMULA="yes")  # fmt: skip
    assert hpmstat("0.05", "1", cwd=tmp_path, env=given) == ""
    text = (tmp_path / "x.txt").read_text()
    assert counter(text, "minor-faults") >= 0
    assert " = " in text
    other = hpmstat("-e", "context-switches", "0.05", "1", env=environment(HPM_EVENT_SET="6"))
    assert "minor-faults" not in other
    assert counter(other, "context-switches") >= 0


def test_lists() -> None:
    assert re.search(r"^ +2  BRANCH: ", hpmstat("-l"), re.MULTILINE)
    assert "page-faults" in hpmstat("-c")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-g", "99999"], "hpmstat ERROR - pm_set_program_mygroup:\n"
         "pm_api : event group ID is invalid\nhpmstat: no group '99999'"),
        (["-g", ""], "hpmstat: -g '': the value is empty"),
        (["x"], "hpmstat: interval 'x'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(words: list[str], says: str) -> None:
    done = run(HPMSTAT, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
