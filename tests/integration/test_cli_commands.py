"""The other commands, help, and that no line of arguments ends in a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, HPMCOUNT, gnomon, run
from hypothesis import example, given
from hypothesis import strategies as st
from property_tests import examples

from gnomon.cli.lists.hardware_report import SECTIONS
from gnomon.cli.main import COMMAND_GROUPS, COMMANDS
from gnomon.counters.host_facts import core_pmu_names


def listed(*arguments: str, key: str) -> list[dict[str, Any]]:
    done = gnomon(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert list(document) == [key, *(["unavailable"] if key == "events" else [])]
    rows: list[dict[str, Any]] = document[key]
    return rows


# --- lists ----------------------------------------------------------------------------------------


def test_components() -> None:
    rows = {row["name"]: row for row in listed("components", key="components")}
    assert {"kernel", "cpu", "tsc", "io", "network", "memory"} <= set(rows)
    assert rows["kernel"]["available"]
    for row in rows.values():
        assert row["description"]
        assert row["how_measured"]
        assert row["available"] or (row["reason"] and row["remedy"])
    text = gnomon("components").stdout
    assert all(re.search(rf"^{name} ", text, re.MULTILINE) for name in rows)


def test_components_in_detail() -> None:
    (row,) = listed("components", "memory", key="components")
    assert row["events"] == sum(row["scopes"].values()) == sum(row["units"].values())
    assert row["gauges"] > 0
    assert all(name.startswith("memory:::") for name in row["examples"])
    text = gnomon("components", "memory").stdout
    assert "gnomon events --component memory" in text
    assert text.count("\n") > gnomon("components").stdout.count("\n") / 10
    done = gnomon("components", "memry")
    assert (done.returncode, done.stderr) == (
        2,
        "gnomon: no component 'memry'; did you mean memory?\n",
    )


def test_hardware() -> None:
    done = gnomon("hardware", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    online = [cpu for cpu in found["topology"]["cpus"] if cpu["is_online"]]
    assert len(online) == len(os.sched_getaffinity(0)) or not all(c["is_allowed"] for c in online)
    assert {"processor", "caches", "tlbs", "nodes", "pmus", "hwloc"} <= set(found)
    some = json.loads(gnomon("hardware", "caches", "numa", "--json").stdout)
    assert set(some) == {"caches", "caches_unknown", "nodes"}
    text = gnomon("hardware").stdout
    assert all(re.search(rf"^{name} +\S", text, re.MULTILINE) for name in SECTIONS)
    done = gnomon("hardware", "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean caches?" in done.stderr


def test_clockres() -> None:
    done = gnomon("clockres", "-i", "2000", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["clock"]["backward"] == 0
    timers = {timer["name"]: timer for timer in document["timers"]}
    assert timers["real_ns"]["steps"]["n"] == 1999
    assert timers["real_ns"]["resolution"] >= 1
    assert all(timer["backward"] == 0 for timer in timers.values())
    text = gnomon("clockres", "-i", "100", "--distribution").stdout
    assert re.search(r"^virtual_us +\S+ \S+ ", text, re.MULTILINE)
    assert "real_ns: steps between readings" in text
    for wrong in ("99", "0", "-5", "10000001", "x", ""):
        done = gnomon("clockres", "-i", wrong)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_cost() -> None:
    done = gnomon("cost", "software", "-n", "1,2", "-i", "20", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["iterations"] == 20
    assert document["timer_ns"] > 0
    assert [kind["name"] for kind in document["kinds"]] == ["software"]
    read = next(c for c in document["costs"] if (c["operation"], c["events"]) == ("read", 2))
    assert read["ns"]["n"] == 20
    assert read["times"] == read["ns"]["median"] / read["raw_ns"]["median"]
    done = gnomon("cost", "-e", "page-faults", "-i", "20", "--distribution")
    assert re.search(r"^read +1( +\S+){8}$", done.stdout, re.MULTILINE)
    assert "given: reset, 1 event, nanoseconds" in done.stdout
    for wrong in (["-i", "9"], ["-n", "0"], ["-n", "x"], ["sofware"], ["software", "-e", "dummy"]):
        done = gnomon("cost", *wrong)
        assert (done.returncode, done.stdout) == (2, ""), wrong
        assert done.stderr.startswith("gnomon: ")
    done = gnomon("cost", "software", "-n", "9")
    assert done.returncode == 1
    assert "no set of so many events" in done.stdout


def test_cycles_that_are_not_to_be_had_are_said() -> None:
    done = run(GNOMON, "clockres", "-i", "100", env={**os.environ, "GNOMON_CLOCK": "vdso"})
    assert done.returncode == 0
    assert re.search(r"^not here: real_cycles, virtual_cycles: \w", done.stdout, re.MULTILINE)


def test_events() -> None:
    rows = {row["event"]: row for row in listed("events", key="events")}
    assert rows["page-faults"]["component"] == "kernel"
    assert rows["task-clock"]["unit"] == "ns"
    assert rows["PAPI_TOT_INS"]["component"] == "cpu"
    assert rows["tsc:::cycles"]["scope"] == "node"
    assert {row["how"] for row in rows.values()} <= {"counted", "sampled", "emulated"}
    assert len(rows) > 50


def test_events_are_searched_for() -> None:
    rows = listed("events", "FAULTS", "minor", key="events")
    assert rows
    assert all("minor" in (r["event"] + r["description"]).lower() for r in rows)
    assert {
        row["component"] for row in listed("events", "--component", "tsc,io", key="events")
    } == {
        "tsc",
        "io",
    }
    done = gnomon("events", "no event has this in it")
    assert done.returncode == 1
    assert "not here" not in done.stdout


def test_components_without_events_say_why(tmp_path: Path) -> None:
    missing = [row for row in listed("components", key="components") if not row["available"]]
    for row in missing:
        name = row["name"]
        done = gnomon("events", "--component", name, "no event has this in it")
        assert done.returncode == 1
        said = " ".join(done.stdout.split())
        assert f"not here: events of component {name}: {row['reason']} remedy: " in said
        assert row["remedy"] in said
        document = json.loads(gnomon("events", "--component", name, "--json", "xyz").stdout)
        assert document["events"] == []
        (why,) = document["unavailable"]
        assert (why["component"], why["remedy"]) == (name, row["remedy"])
    # What can be counted although its component is missing needs no excuse.
    mine = tmp_path / "mine.toml"
    mine.write_text('[preset.FAULTS_HERE]\nevents = ["page-faults"]\n')
    done = gnomon("events", "--presets", str(mine), "FAULTS_HERE")
    assert done.returncode == 0
    line = done.stdout.splitlines()[1]
    assert line.split()[:2] == ["FAULTS_HERE", "yes"]


def test_wrong_components_are_refused() -> None:
    assert gnomon("events", "--component", "xyz").returncode == 2


def test_events_are_checked() -> None:
    done = gnomon("events", "--check", "--json", "page-faults,minor-faults:u")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["events"]
    assert [(r["event"], r["available"], r["domain"]) for r in rows] == [
        ("page-faults", True, "all"),
        ("minor-faults:u", True, "user"),
    ]
    done = gnomon("events", "--check", "page-faults", "iTLB-stores")
    assert done.returncode == 1
    assert re.search(r"^page-faults +opens", done.stdout, re.MULTILINE)
    assert re.search(r"^iTLB-stores +does not open: \w", done.stdout, re.MULTILINE)
    assert re.search(r"^ {34}remedy: \w", done.stdout, re.MULTILINE)


def test_groups() -> None:
    rows = listed("groups", key="groups")
    assert [row["number"] for row in rows] == sorted({row["number"] for row in rows})
    assert all(row["events"] and row["description"] for row in rows)
    assert "TOPDOWN2" not in {row["name"] for row in rows} or core_pmu_names()
    text = gnomon("groups").stdout
    assert all(row["name"] in text for row in rows)
    assert gnomon("count", "-l").stdout == text


def test_doctor() -> None:
    rows = {row["name"]: row for row in listed("doctor", key="checks")}
    assert {"perf_event_paranoid", "tracefs", "core PMU", "clock"} <= set(rows)
    for row in rows.values():
        assert row["state"] in ("ok", "limited", "missing")
        assert row["found"]
        assert row["state"] == "ok" or row["consequence"]
    assert "fine" in gnomon("doctor").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell: str, tmp_path: Path) -> None:
    done = gnomon("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(command in done.stdout for command in COMMANDS)
    assert "--formulas" in done.stdout
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        checked = run(shell, "-n", tmp_path / "script")
        assert (checked.returncode, checked.stderr) == (0, "")
    else:
        assert shell != "bash", "bash is not installed"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "gnomon c",
            {
                "callgraph",
                "count",
                "compare",
                "components",
                "completion",
                "clockres",
                "config",
                "cost",
            },
        ),
        ("gnomon hardware t", {"topology", "tlbs"}),
        ("gnomon components n", {"network"}),
        ("gnomon cost m", {"multiplexed"}),
        ("gnomon runs re", {"rebuild"}),
        ("gnomon report first pro", {"profile"}),
        ("gnomon export --to o", {"openmetrics"}),
        ("gnomon export --to v", {"viz"}),
        ("gnomon report relax", {"relax.viz"}),
        ("peekperf --no", {"--no-browser"}),
        ("peekperf relax", {"relax.viz"}),
        ("hpmcount -", None),
        ("hpmstat -", None),
    ],
)
def test_completion_completes(tmp_path: Path, words: str, expected: set[str] | None) -> None:
    """bash itself, asked what may follow `gnomon c`; None for any options."""
    (tmp_path / "script").write_text(gnomon("completion", "bash").stdout)
    (tmp_path / "relax.viz").touch()
    line, name, last = words, words.split()[0], words.split()[-1]
    done = run(
        "bash", "-c",
        f"cd {tmp_path}; . ./script; COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; "
        f"COMP_LINE='{line}'; COMP_POINT={len(line)}; "
        f"$(complete -p {name} | sed 's/.*-F \\([^ ]*\\).*/\\1/') {name} "
        f"{last} {line.split()[-2]}; "
        'echo "${COMPREPLY[@]}"',
    )  # fmt: skip
    found = set(done.stdout.split())
    assert found == expected if expected is not None else "-h" in found and len(found) > 9


# --- help and mistakes ----------------------------------------------------------------------------


def test_help() -> None:
    done = gnomon("-h")
    assert (done.returncode, done.stderr) == (0, "")
    for command, line in COMMANDS.items():
        assert re.search(rf"^  {command} +{re.escape(line)}$", done.stdout, re.MULTILINE)
    paragraphs = done.stdout.split("\n\n")
    for title, commands in COMMAND_GROUPS.items():
        (paragraph,) = (one for one in paragraphs if one.startswith(f"{title}:\n"))
        assert [line.split()[0] for line in paragraph.splitlines()[1:]] == list(commands)
    assert gnomon("--help").stdout == gnomon("help").stdout == done.stdout
    assert gnomon().returncode == 2
    assert re.fullmatch(r"gnomon \d+\.\d+\.\d+\n", gnomon("--version").stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command: str) -> None:
    done = gnomon(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: gnomon {command}")
    assert gnomon("help", command).stdout == done.stdout


def test_unknown_command_gets_the_nearest_one() -> None:
    done = gnomon("cuont", "--", "touch", "ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gnomon: no command 'cuont'; did you mean count?\n"


@pytest.mark.parametrize(
    "command",
    ["events", "count -c", "groups", "doctor", "completion bash", "hardware", "clockres -i 100"],
)
def test_reader_that_has_seen_enough(command: str) -> None:
    done = run("bash", "-c", f'{GNOMON} {command} | head -1; echo "${{PIPESTATUS[@]}}"')
    first, statuses = done.stdout.splitlines()
    assert first
    assert statuses == "0 0"
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["-h", "events"])
def test_full_disk_is_said(command: str) -> None:
    done = run("sh", "-c", f"{GNOMON} {command} > /dev/full")
    assert done.returncode == 1
    assert re.fullmatch(r"gnomon: .*No space left on device\n", done.stderr)


@pytest.mark.parametrize("output", ["-o -", "-o /dev/full", "-o /dev/full -n", "--json -o -"])
def test_full_disk_does_not_change_the_status_of_a_program(output: str) -> None:
    command = f"{GNOMON} count -e task-clock {output} -- sh -c 'exit 3' > /dev/full"
    done = run("sh", "-c", command)
    assert done.returncode == 3
    assert re.search(r"^gnomon: .* cannot be written: No space left", done.stderr, re.MULTILINE)


def test_half_a_report_is_removed(tmp_path: Path) -> None:
    limited = f"ulimit -f 1; trap '' XFSZ; {GNOMON} count -n -o {tmp_path}/a.json -- sh -c 'exit 3'"
    done = run("bash", "-c", limited)
    assert done.returncode == 3
    assert "a.json: cannot be written: File too large" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", ".", "..", "/", ".gnomon"])
def test_names_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    done = gnomon("count", "--name", name, "--", "touch", f"{tmp_path}/ran")
    assert done.returncode == 2
    assert "names no run directory" in done.stderr
    assert gnomon("count", "-o", "", "--", "touch", f"{tmp_path}/ran").returncode == 2
    assert not list(tmp_path.iterdir())


# --- never a traceback ----------------------------------------------------------------------------

# Letters of event lists, of file names, and of no use; no program or system file has such a name.
TEXT = st.text("qz:/{},=*?[]-+.0 \n\tµ\udcff", max_size=6).map(lambda text: text.replace("/", "q/"))
EVENT_PARTS = (
    "page-faults", "task-clock", "cycles", "sched:", "sched:sched_switch", "{", "}", ",", ":u",
    ":k", ":p", "PAPI_", "PAPI_TOT_CYC", "cpu/", "event=1/", "software/", "msr/tsc/", "tsc:::",
    "cycles", "io:::", "net:::", "memory:::rss", "r1a8", "*", "\udcff", "skl::",
    "L1-dcache-loads", "alarmtimer:*", "@", "@cpu", "PAPI_DP_OPS",
)  # fmt: skip
EVENTS = st.lists(st.sampled_from(EVENT_PARTS), max_size=5).map("".join)
OPTIONS = st.one_of(
    st.tuples(st.just("-e"), EVENTS | TEXT),
    st.tuples(st.just("-g"), st.sampled_from(["0", "1", "-1", "CPU", "cache,IO", "", "99"]) | TEXT),
    st.tuples(st.just("-r"), st.sampled_from(["0", "1", "2", "x", "-1", "1e3", ""])),
    st.tuples(st.just("-d"), st.sampled_from(["0", "1", "nan", "inf", "x"])),
    st.tuples(st.just("--per"), st.sampled_from(["thread", "process", "cpu", ""])),
    st.tuples(st.just("-o"), st.sampled_from(["-", "", "f", "f.json", "q/f", "."]) | TEXT),
    st.tuples(st.just("--name"), st.sampled_from(["", "f", "f.gnomon", ".", "q/f"]) | TEXT),
    st.sampled_from([("-x",), ("-n",), ("-u",), ("--json",), ("-nu",), ("--", "--"), ("-z",)]),
)
VECTORS = st.lists(OPTIONS, max_size=4).map(lambda options: [word for o in options for word in o])


@examples(100)
@given(VECTORS, st.sampled_from(["count", "hpmcount"]))
@example(["-e", "iTLB-stores", "--per", "thread", "--name", "f"], "count")
@example(["-e", "\udcff"], "count")
@example(["--name", "\udcff", "-e", "task-clock"], "count")
@example(["-o", "", "-n"], "count")
@example(["-e", ""], "count")
@example(["-e", "task-clock", "--name", ""], "count")
def test_no_arguments_end_in_a_traceback(tmp_path: Path, options: list[str], tool: str) -> None:
    command = [GNOMON, "count"] if tool == "count" else [HPMCOUNT]
    done = run(*command, *options, "--", "true", cwd=tmp_path)
    assert done.returncode in (0, 1, 2, 126, 127), (done.returncode, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0 or done.stderr
    shutil.rmtree(tmp_path / "f.gnomon", ignore_errors=True)


@examples(25)
@given(
    st.sampled_from(["events", "groups", "components", "doctor", "report", "completion", "presets",
                     "hardware", "x"]),
    st.lists(
        st.sampled_from(["--json", "--check", "--component", "cpu", "kernel,", "-o", "-", "--per",
                         "thread", "--presets", "--pmu", "--detail", "--available", "skx",
                         "page-faults", "q", "bash", "", "--", "-h", "\udcff"]),
        max_size=4,
    ),
)  # fmt: skip
def test_no_arguments_of_other_commands_end_in_a_traceback(command: str, words: list[str]) -> None:
    done = gnomon(command, *words)
    assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
    assert "Traceback" not in done.stdout + done.stderr


def test_the_folder_of_headers_has_them() -> None:
    for library, header in (
        ("hpm", "libhpm.h"),
        ("hpm", "f_hpm.h"),
        ("hpm_plugin", "hpm_agg.h"),
        ("gnomon", "gnomon/gnomon.h"),
    ):
        folder = gnomon("config", "--includedir", library).stdout.strip()
        assert (Path(folder) / header).is_file()
