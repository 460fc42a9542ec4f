"""hpmcount's options and variables that say what is counted, and the guide's error messages.

Source: HPM Toolkit User's Guide 3.2.2, sections 2.2 to 2.8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import gnomon
from hpm_files import hpmcount, rows, viz

Programs = Callable[[str], Path]

# Two groups of software events, so that both can be measured on any machine.
SCHED, PAGEFAULTS, IO = "5", "6", "8"
BUSY = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
SLICE = {"HPM_SLICE_DURATION": "10"}
FILES = {"HPM_CSV_OUTPUT": "y", "HPM_VIZ_OUTPUT": "y"}


def events(table: list[dict[str, str]], group: str) -> dict[str, str]:
    return {r["name"]: r["value"] for r in table if r["kind"] == "event" and r["group"] == group}


def times(table: list[dict[str, str]], group: str) -> dict[str, float]:
    found = [r for r in table if r["kind"] == "time" and r["group"] == group]
    return {r["name"]: float(r["value"]) for r in found}


# --- one group, and which -------------------------------------------------------------------------


def test_default_group_is_group_0(tmp_path: Path) -> None:
    hpmcount("-n", "-o", "d", "true", cwd=tmp_path, **FILES)
    hpmcount("-n", "-o", "zero", "-g", "0", "true", cwd=tmp_path, **FILES)
    found = [set(events(rows(tmp_path / f"{name}.csv"), "0 DEFAULT")) for name in ("d", "zero")]
    assert found[0] == found[1]
    assert "task-clock" in found[0]


@pytest.mark.parametrize("word", [PAGEFAULTS, "PAGEFAULTS", "pagefaults", " 6 "])
@pytest.mark.parametrize("by", ["option", "variable"])
def test_group_by_number_or_name(word: str, by: str, tmp_path: Path) -> None:
    options = ("-g", word) if by == "option" else ()
    variables = {} if options else {"HPM_EVENT_SET": word}
    hpmcount("-n", "-o", "o", *options, "true", cwd=tmp_path, **variables, **FILES)
    assert "page-faults" in events(rows(tmp_path / "o.csv"), "6 PAGEFAULTS")


def test_option_takes_precedence_over_the_variable(tmp_path: Path) -> None:
    hpmcount("-n", "-o", "o", "-g", PAGEFAULTS, "true", cwd=tmp_path, HPM_EVENT_SET="nonsense",
             **FILES)  # fmt: skip
    assert "page-faults" in events(rows(tmp_path / "o.csv"), "6 PAGEFAULTS")


def test_events_by_name(tmp_path: Path) -> None:
    hpmcount(
        "-n", "-o", "o", "-e", "major-faults", "true", cwd=tmp_path, HPM_EVENT_SET="5", **FILES
    )
    assert list(events(rows(tmp_path / "o.csv"), "")) == ["major-faults"]
    hpmcount("-n", "-o", "v", "true", cwd=tmp_path, GNOMON_EVENTS="minor-faults", **FILES)
    assert list(events(rows(tmp_path / "v.csv"), "")) == ["minor-faults"]
    hpmcount("-n", "-o", "b", "-g", "6", "-e", "task-clock:u", "true", cwd=tmp_path, **FILES)
    assert {"task-clock:u", "page-faults"} <= set(events(rows(tmp_path / "b.csv"), "6 PAGEFAULTS"))


def test_own_presets(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'title = "mine"\nsource = "me"\n\n[preset.MY_FAULTS]\ndescription = "all faults"\n'
        'events = ["minor-faults", "major-faults"]\nmeaning = ["minor", "major"]\n'
    )
    done = hpmcount("--presets", "own.toml", "-e", "MY_FAULTS,page-faults", "true", cwd=tmp_path)
    counts = dict(re.findall(r"^  (MY_FAULTS|page-faults) +(\d+)  counted", done.stdout, re.M))
    assert counts["MY_FAULTS"] == counts["page-faults"] != "0"


@pytest.mark.parametrize("options", [("-x",), ()], ids=["option", "variable"])
def test_formulas(options: tuple[str, ...], tmp_path: Path) -> None:
    plain = hpmcount("-g", PAGEFAULTS, "true", cwd=tmp_path, HPM_PRINT_FORMULA="no")
    variables = {} if options else {"HPM_PRINT_FORMULA": "yes"}
    seen = hpmcount(*options, "-g", PAGEFAULTS, "true", cwd=tmp_path, **variables)
    formula = "= page_faults / (1e-9 * task_clock)"
    assert formula not in plain.stdout
    assert formula in seen.stdout


def test_lists(tmp_path: Path) -> None:
    groups = hpmcount("-l", cwd=tmp_path)
    assert groups.returncode == 0
    assert re.search(r"^  6  PAGEFAULTS\b", groups.stdout, re.M)
    found = hpmcount("-c", cwd=tmp_path, COLUMNS="80")
    assert found.returncode == 0
    counters, _, listed = found.stdout.partition("\nevents\n")
    assert re.search(r"^  cpu  +(\d+ counters|not here: .+)$", counters, re.M)
    assert max(map(len, counters.splitlines())) <= 80
    assert re.search(r"^page-faults ", listed, re.M)
    help_text = hpmcount("-h", cwd=tmp_path)
    assert help_text.returncode == 0
    for option in "ounxgalch":
        assert re.search(rf"^  -{option}\b", help_text.stdout, re.M), option


# --- several groups in turns ----------------------------------------------------------------------


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.parametrize("by", ["option", "variable"])
def test_groups_take_turns(by: str, tmp_path: Path) -> None:
    """Each group has a section with its own times; counts are of its turns, not extrapolated."""
    options = ("-g", "5,6") if by == "option" else ()
    variables = SLICE | FILES | ({} if options else {"HPM_EVENT_SET": "5,6"})
    done = hpmcount("-o", "o", *options, "sh", "-c", BUSY, cwd=tmp_path, **variables)
    table = rows(tmp_path / "o.csv")
    whole = float(viz(tmp_path / "o.viz").find("run").get("wall_seconds"))
    own = [times(table, group)["wall"] for group in ("5 SCHED", "6 PAGEFAULTS")]
    assert min(own) > 0
    assert sum(own) == pytest.approx(whole, rel=1e-6)
    for group in ("5 SCHED", "6 PAGEFAULTS"):
        assert {r["how"] for r in table if r["group"] == group and r["kind"] == "event"} == {
            "counted"
        }
        cpu_ns = float(events(table, group)["task-clock"])
        # CPU time of a group's turns: no more than all CPUs had in them.
        assert cpu_ns > 0
    assert re.search(r"^group 5 SCHED: .*\n  wall time .* turns?, [\d.]+ % of", done.stdout, re.M)
    # Nothing is extrapolated here, and the note does not say so.
    assert "turns of 10 ms: what is joined to counts of the whole run" in done.stdout
    assert [v.get("continues") for v in viz(tmp_path / "o.viz").iter("values")] == ["false", "true"]


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.parametrize("by", ["option", "variable", "so"])
def test_loc_merge_joins_groups(by: str, tmp_path: Path) -> None:
    """Counts are extended in proportion to the whole run and marked so."""
    words = {"option": "loc_merge", "so": "loc_merge.so"}
    options = ("-a", words[by]) if by in words else ()
    variables = SLICE | FILES | ({} if options else {"HPM_AGGREGATE": "loc_merge"})
    hpmcount("-n", "-o", "o", *options, "-g", "5,6", "sh", "-c", BUSY, cwd=tmp_path, **variables)
    table = [r for r in rows(tmp_path / "o.csv") if r["kind"] == "event"]
    assert {r["group"] for r in table} == {""}
    found = {r["name"]: r for r in table}
    assert {"page-faults", "sched:sched_switch", "task-clock"} <= set(found)
    for name in ("page-faults", "sched:sched_switch"):
        assert found[name]["how"] == "scaled"
        enabled, running = (float(found[name][k]) for k in ("enabled_seconds", "running_seconds"))
        assert 0 < running < enabled
    # What both groups count was counted all the time, but for the moments between the turns.
    clock = found["task-clock"]
    assert float(clock["running_seconds"]) > 0.5 * float(clock["enabled_seconds"])


def test_mirror_is_the_default(tmp_path: Path) -> None:
    for at, options in enumerate([(), ("-a", "mirror"), ("-a", "mirror.so")]):
        name = f"o{at}"
        hpmcount("-n", "-o", name, *options, "-g", "6,8", "sh", "-c", BUSY, cwd=tmp_path,
                 HPM_AGGREGATE="loc_merge" if options else "", **FILES)  # fmt: skip
        groups = {r["group"] for r in rows(tmp_path / f"{name}.csv") if r["kind"] == "event"}
        assert groups == {"6 PAGEFAULTS", "8 IO"}


def test_a_run_shorter_than_a_turn_measures_the_first_group(tmp_path: Path) -> None:
    """And the others are not measured, where HPM had zeros."""
    done = hpmcount("-o", "o", "-g", "6,5", "true", cwd=tmp_path, HPM_SLICE_DURATION="30000",
                    **FILES)  # fmt: skip
    table = rows(tmp_path / "o.csv")
    assert int(events(table, "6 PAGEFAULTS")["page-faults"]) > 0
    assert events(table, "5 SCHED") == {}
    assert "not measured: SCHED: their turn did not come" in done.stdout
    alone = hpmcount("-n", "-o", "a", "-g", "6", "true", cwd=tmp_path, **FILES)
    assert alone.returncode == 0


def test_what_needs_no_turn_is_counted_through(tmp_path: Path) -> None:
    """Bytes of files take no counter away: their group has the whole run."""
    hpmcount("-n", "-o", "o", "-g", "6,8", "cat", "/proc/self/stat", cwd=tmp_path, **FILES)
    table = rows(tmp_path / "o.csv")
    assert int(events(table, "8 IO")["io:::rchar"]) > 0
    assert times(table, "8 IO")["wall"] == times(table, "6 PAGEFAULTS")["wall"]


@pytest.mark.usefixtures("tracepoints")
def test_turns_follow_every_process(tmp_path: Path, programs: Programs) -> None:
    """Children begun in a turn of another group count in the turns that follow."""
    hpmcount("-n", "-o", "o", "-a", "loc_merge", "-g", "5,6", programs("forks"), "2000", "0",
             cwd=tmp_path, **SLICE, **FILES)  # fmt: skip
    found = {r["name"]: r for r in rows(tmp_path / "o.csv") if r["kind"] == "event"}
    # Extrapolated from half of a run of 2000 equal children.
    assert 600 < float(found["sched:sched_process_fork"]["value"]) < 5000
    assert float(found["page-faults"]["value"]) > 2000


@pytest.mark.parametrize("value", ["9", "30001", "0", "-10", "x", "1e2", "10.5", "9" * 40])
def test_slices_out_of_range(value: str, tmp_path: Path) -> None:
    done = hpmcount("-g", "5,6", "touch", "ran", cwd=tmp_path, HPM_SLICE_DURATION=value)
    assert done.returncode == 2
    assert re.fullmatch(r"hpmcount: HPM_SLICE_DURATION: .* 10 to 30000 ms .*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_short_slice_gives_more_turns(tmp_path: Path) -> None:
    found = {}
    for value in ("10", "30000"):
        done = hpmcount("-g", "6,5", "sleep", "0.2", cwd=tmp_path, HPM_SLICE_DURATION=value)
        turns = re.search(r"^group 6 .*\n  wall time .* (\d+) turns?, ", done.stdout, re.M)
        assert turns is not None
        found[value] = int(turns[1])
    assert found["30000"] == 1 < found["10"]


# --- each group in executions of its own ----------------------------------------------------------


@pytest.mark.usefixtures("tracepoints")
def test_one_group_an_execution(tmp_path: Path) -> None:
    """-r 1: as many executions as groups, and nothing is extrapolated."""
    script = "echo ran >> log"
    done = hpmcount("-o", "o", "-g", "5,6", "-r", "1", "sh", "-c", script, cwd=tmp_path, **FILES)
    assert (tmp_path / "log").read_text() == "ran\n" * 2
    assert "2 groups × 1 = 2 executions" in done.stdout
    table = rows(tmp_path / "o.csv")
    assert {r["how"] for r in table if r["kind"] == "event" and r["value"]} == {"counted"}
    assert {r["group"] for r in table if r["kind"] == "event"} == {"5 SCHED", "6 PAGEFAULTS"}


def test_repetitions_of_each_group(tmp_path: Path) -> None:
    script = "echo ran >> log"
    done = hpmcount("-o", "o", "-g", "6,8", "-r", "3", "sh", "-c", script, cwd=tmp_path, **FILES)
    assert (tmp_path / "log").read_text() == "ran\n" * 6
    assert re.search(r"^group 6 PAGEFAULTS: .*\n +mean ", done.stdout, re.M)
    table = rows(tmp_path / "o.csv")
    assert {r["repetition"] for r in table} == {"1", "2", "3"}
    root = viz(tmp_path / "o.viz")
    assert [v.get("repetition") for v in root.iter("values")] == ["1", "1", "2", "2", "3", "3"]
    assert len(root.findall("usage")) == 3


def test_repetitions_of_one_group(tmp_path: Path) -> None:
    done = hpmcount("-r", "3", "-g", "6", "sh", "-c", "exit 4", cwd=tmp_path)
    assert done.returncode == 4
    assert "hpmcount: sh -c 'exit 4' × 3" in done.stdout
    done = hpmcount("-r", "0", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "must be at least 1" in done.stderr


# --- gnomon count ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("tracepoints")
def test_gnomon_count_in_turns_and_apart(tmp_path: Path) -> None:
    command = ("--", "sh", "-c", f"echo ran >> log; {BUSY}")
    done = gnomon(
        "count", "-n", "-o", "t.json", "-g", "5,6", "--turns", "10", *command, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "t.json").read_text())
    assert [group["name"] for group in document["groups"]] == ["SCHED", "PAGEFAULTS"]
    assert all(group["turns"] > 0 for group in document["groups"])
    hows = {c["event"]: c["how"] for c in document["counters"]}
    assert hows["page-faults"] == "scaled"
    gnomon("count", "-n", "-o", "r.json", "-g", "5,6", "-r", "2", *command, cwd=tmp_path)
    document = json.loads((tmp_path / "r.json").read_text())
    assert (tmp_path / "log").read_text() == "ran\n" * 5
    assert [group["turns"] for group in document["groups"]] == [0, 0]
    assert {c["how"] for c in document["counters"]} == {"counted"}
    assert len(document["repetitions"]) == 2


@pytest.mark.usefixtures("tracepoints")
def test_groups_apart_by_cpu_and_by_thread(tmp_path: Path) -> None:
    """CPUs are the same in every execution; threads are not, so all groups count at once there."""
    command = ("-g", "5,6", "-r", "1", "--", "sh", "-c", "echo ran >> log")
    gnomon("count", "-n", "-o", "c.json", "-A", *command, cwd=tmp_path)
    document = json.loads((tmp_path / "c.json").read_text())
    assert (tmp_path / "log").read_text() == "ran\n" * 2
    for row in document["places"]:
        found = {counter["event"] for counter in row["counters"]}
        assert {"page-faults", "sched:sched_switch"} <= found
    gnomon("count", "-n", "-o", "t.json", "--per", "process", *command, cwd=tmp_path)
    document = json.loads((tmp_path / "t.json").read_text())
    assert (tmp_path / "log").read_text() == "ran\n" * 3
    assert {"page-faults", "sched:sched_switch"} <= set(document["processes"][0]["values"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-g", "5,6", "--turns", "10", "--per", "thread"), "must not be interrupted"),
        (("-g", "6", "--turns", "10"), "--turns goes with several groups"),
        (("-g", "5,6", "--turns", "5"), "10 to 30000 ms"),
        (("-g", "5,6", "--turns", "10", "-I", "100"), "leave out -p, -a"),
    ],
)
def test_turns_that_make_no_sense(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = gnomon("count", *options, "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- the guide's messages -------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("word", ["999", "nonsense", "6,999", "6,,5", ","])
def test_message_for_a_wrong_group(word: str, by: str, tmp_path: Path) -> None:
    """Section 2.3."""
    options = ("-g", word) if by == "option" else ()
    variables = {} if options else {"HPM_EVENT_SET": word}
    done = hpmcount(*options, "touch", "ran", cwd=tmp_path, **variables)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "hpmcount ERROR - pm_set_program_mygroup:\npm_api : event group ID is invalid\n"
    )
    assert re.fullmatch(r"hpmcount: no group '.*'.*; hpmcount -l lists them\n",
                        "".join(done.stderr.splitlines(keepends=True)[2:]))  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("word", ["not_there.so", "mean.so", "./not_there.so"])
def test_message_for_a_plug_in_that_is_not_there(word: str, by: str, tmp_path: Path) -> None:
    """Section 2.8."""
    options = ("-a", word) if by == "option" else ()
    variables = {} if options else {"HPM_AGGREGATE": word}
    done = hpmcount(*options, "touch", "ran", cwd=tmp_path, **variables)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"HPM ERROR - Dynamic link error at dlopen():\n{word}: cannot open shared object file:\n"
        "No such file or directory\n"
    )
    source = f"-a {word}" if by == "option" else f"HPM_AGGREGATE={word}"
    assert f"hpmcount: {source}: there is no such plug-in; those of" in done.stderr
    assert "mirror, loc_merge" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-g", "-e"])
def test_an_option_that_names_nothing_is_refused(option: str, tmp_path: Path) -> None:
    """A shell's variable that is empty must not count something else in silence."""
    done = hpmcount(option, "", "touch", "ran", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"hpmcount: {option} '': the value is empty; give one, or leave {option} out\n"
    )
    assert not (tmp_path / "ran").exists()


def test_plug_in_that_is_there(tmp_path: Path) -> None:
    """What is there is not said to be missing."""
    (tmp_path / "mine.so").write_bytes(b"")
    done = hpmcount("-a", "./mine.so", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 2
    assert "./mine.so: file too short\n" in done.stderr
    assert done.stderr.endswith(
        "hpmcount: -a ./mine.so: it cannot be used as a plug-in: see above\n"
    )


# --- numbers for metrics --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("HPM_DIV_WEIGHT", "0"), ("HPM_DIV_WEIGHT", "1.5"), ("HPM_DIV_WEIGHT", "x"),
     ("HPM_L2_LATENCY", "-1"), ("HPM_TLB_LATENCY", "many"), ("HPM_STDOUT", "maybe"),
     ("HPM_PRINT_FORMULA", "x")],
)  # fmt: skip
def test_variables_that_make_no_sense(name: str, value: str, tmp_path: Path) -> None:
    done = hpmcount("touch", "ran", cwd=tmp_path, **{name: value})
    assert done.returncode == 2
    assert re.fullmatch(rf"hpmcount: {name}: .*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


LATENCIES = (
    "HPM_MEM_LATENCY", "HPM_AVG_L3_LATENCY", "HPM_L3_LATENCY", "HPM_L35_LATENCY",
    "HPM_AVG_L2_LATENCY", "HPM_L2_LATENCY", "HPM_L25_LATENCY", "HPM_L275_LATENCY",
    "HPM_TLB_LATENCY", "HPM_DIV_WEIGHT",
)  # fmt: skip


@pytest.mark.parametrize("name", LATENCIES)
def test_numbers_reach_the_metrics(name: str, tmp_path: Path) -> None:
    """A metric of the user's own sees the number, and its value is marked as an estimate."""
    (tmp_path / "own.toml").write_text(
        f'[[metric]]\nname = "stated"\nunit = "cycles"\nformula = "{name} * (task_clock / '
        'task_clock)"\ndescription = "what was stated"\n'
    )
    variables = {"GNOMON_GROUPS": "own.toml", "HPM_CSV_OUTPUT": "y"}
    hpmcount("-n", "-o", "o", "-e", "task-clock", "true", cwd=tmp_path, **variables, **{name: "7"})
    (row,) = (r for r in rows(tmp_path / "o.csv") if r["name"] == "stated")
    assert (row["value"], row["unit"], row["how"]) == ("7", "cycles", "estimated")
    hpmcount("-n", "-o", "none", "-e", "task-clock", "true", cwd=tmp_path, **variables)
    assert not any(r["name"] == "stated" for r in rows(tmp_path / "none.csv"))


# --- who is counted -------------------------------------------------------------------------------


def test_resource_usage_says_what_linux_does_not_have(tmp_path: Path) -> None:
    done = hpmcount("-e", "page-faults", "true", cwd=tmp_path)
    for field in ("ru_ixrss", "ru_idrss", "ru_isrss", "ru_nswap", "ru_msgsnd", "ru_msgrcv",
                  "ru_nsignals"):  # fmt: skip
        assert re.search(rf" n/a  {field}$", done.stdout, re.M), field
    assert re.search(r" \d+  ru_minflt$", done.stdout, re.M)


def test_living_children_are_counted(tmp_path: Path) -> None:
    """The guide counts those that have finished; a daemon counts here up to the program's end."""
    # What it is to outlive would be waited for if it held the pipes that are read here.
    child = f"echo $$ > pid; {BUSY}; exec sleep 60 > /dev/null 2>&1"
    script = f"setsid sh -c '{child}' & sleep 0.5; exit 3"
    try:
        done = hpmcount("-o", "o", "-e", "task-clock", "sh", "-c", script, cwd=tmp_path, **FILES)
    finally:
        run_pid = (tmp_path / "pid").read_text().strip()
        gnomon("count", "-e", "page-faults", "--", "kill", run_pid)
    assert done.returncode == 3
    assert "the program left processes behind" in done.stdout
    table = rows(tmp_path / "o.csv")
    cpu_ns = float(events(table, "")["task-clock"])
    assert cpu_ns > 2e7
    # getrusage knows of children that were waited for only.
    used = {r["name"]: float(r["value"]) for r in table if r["kind"] == "usage" and r["value"]}
    assert cpu_ns > 2e9 * (used["ru_utime"] + used["ru_stime"])


def test_finished_children_leave_no_note(tmp_path: Path) -> None:
    done = hpmcount("-e", "task-clock", "sh", "-c", "sleep 0.01 & wait; true", cwd=tmp_path)
    assert "left processes behind" not in done.stdout
