"""`gnomon count --pmu emulated`: exact counts, and programs that do not notice."""

from __future__ import annotations

import json
import os
import platform
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import GNOMON, counted, emulated, gnomon, run, run_bytes, values

from gnomon.counters.emulation.events import DEFAULT

pytestmark = pytest.mark.usefixtures("valgrind")
Programs = Callable[[str], Path]
INSTRUCTIONS = "PAPI_TOT_INS"
on_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the programs are x86-64's")


def test_every_value_is_marked(tmp_path: Path) -> None:
    document = emulated(tmp_path, "--", "true")
    assert [counter["event"] for counter in document["counters"]] == list(DEFAULT)
    for counter in document["counters"]:
        assert counter["how"] == "emulated"
        assert counter["component"] == "emulated"
        assert counter["domain"] == "user"
    assert document["metrics"]
    assert {metric["how"] for metric in document["metrics"]} == {"emulated"}
    assert document["rusage"] == []
    text = gnomon("count", "--pmu", "emulated", "--", "true").stderr
    assert "emulated; exact" in text
    assert "emulated; simulated" in text
    assert "40 to 100 times" in text.splitlines()[0]
    assert "of the emulation" in text
    assert "cpus_utilised" not in text


def both_ways(*command: str | Path) -> tuple[bytes, bytes, int]:
    """Return what a command writes and its status, the same natively and emulated."""
    alone = run_bytes(*command)
    words = [GNOMON, "count", "--pmu", "emulated", "-n", "-o", os.devnull, "--"]
    under = run_bytes(*words, *command)
    assert under.stdout == alone.stdout
    assert under.stderr == alone.stderr
    assert under.returncode == alone.returncode
    return alone.stdout, alone.stderr, alone.returncode


def test_xz_does_not_notice(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"".join(b"%d\n" % (at * at) for at in range(4000)))
    packed, _, status = both_ways("xz", "-0", "-k", "-c", data)
    assert status == 0
    assert subprocess.run(["xz", "-dc"], input=packed, capture_output=True).stdout == (
        data.read_bytes()
    )


def test_python_does_not_notice() -> None:
    script = "import sys; print(sum(range(1000))); print('no', file=sys.stderr); sys.exit(4)"
    assert both_ways(sys.executable, "-IS", "-c", script) == (b"499500\n", b"no\n", 4)


def test_cpp_does_not_notice(compiled: Callable[..., Path]) -> None:
    program = compiled("g++", "sums.cpp", "-std=c++17", "-O1")
    assert both_ways(program, "thrown")[1:] == (b"thrown\n", 7)


def test_fortran_does_not_notice(compiled: Callable[..., Path]) -> None:
    program = compiled("gfortran", "matrix.f90", "-O1")
    assert both_ways(program)[2] == 5


def test_a_pipeline_with_children_does_not_notice() -> None:
    script = "seq 200 | sort -r | (head -3; cat >/dev/null) | tr 1 x; (exit 3) || echo $?; exit 9"
    assert both_ways("sh", "-c", script) == (b"99\n98\n97\n3\n", b"", 9)


def test_64_threads_do_not_notice(programs: Programs) -> None:
    assert both_ways(programs("threads"), "64", "1", "3")[2] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV])
def test_a_deadly_signal_is_the_programs(number: int, tmp_path: Path) -> None:
    script = f"kill -{number} $$"
    document = emulated(tmp_path, "--", "sh", "-c", script, status=-number)
    assert document["signal"] == signal.Signals(number).name
    assert values(document)[INSTRUCTIONS] > 10_000


def test_zombies_and_signals_of_probes_do_not_reach_the_program() -> None:
    """A probe is a child too, but not one that the program can see."""
    script = (
        "import os, signal\n"
        "ended = []\n"
        "signal.signal(signal.SIGCHLD, lambda *_: ended.append(1))\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    grandchild = os.fork()\n"
        "    if not grandchild: os._exit(0)\n"
        "    assert os.wait()[0] == grandchild\n"
        "    try: os.waitpid(-1, os.WNOHANG)\n"
        "    except ChildProcessError: os._exit(5)\n"
        "assert os.waitstatus_to_exitcode(os.wait()[1]) == 5\n"
        "print(len(ended))\n"
    )
    assert both_ways(sys.executable, "-IS", "-c", script)[0] == b"1\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is x86-64's")
def test_avx512_is_explained(programs: Programs, tmp_path: Path) -> None:
    document = emulated(tmp_path, "--", programs("avx512"), status=-signal.SIGILL)
    assert "AVX-512 in main" in document["notes"][0]
    assert "-mno-avx512f" in document["notes"][0]


def test_report_refuses_what_a_run_has_not(tmp_path: Path) -> None:
    run_it = {"cwd": tmp_path}
    gnomon(
        "count", "--pmu", "emulated", "--name", "t", "-e", "instructions", "--", "true", **run_it
    )
    gnomon("count", "--name", "n", "-e", "task-clock", "--", "true", **run_it)
    for arguments, said in (
        (("t", "--per", "line", "--sort", "cycles"), "it has instructions"),
        (("t", "--per", "line", "--file", "none.c"), "no such source file"),
        (
            ("t", "--sort", "instructions"),
            "--sort does not apply to values; it applies to hotspots",
        ),
        (("t", "--per", "line", "--top", "-1"), "--top -1"),
    ):
        done = gnomon("report", *arguments, **run_it)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    done = gnomon("report", "n", "--per", "line", **run_it)
    assert (done.returncode, done.stderr) == (1, "")
    assert "measure with" in done.stdout
    done = gnomon("report", "t", "--per", "thread", **run_it)
    assert done.returncode == 1
    assert "processes apart, not threads" in " ".join(done.stdout.split())
    assert gnomon("report", "t", "--per", "process", **run_it).returncode == 0


@pytest.mark.long
def test_tables_are_as_wide_as_the_terminal(compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = compiled("g++", "sums.cpp", "-std=c++17", "-O2")
    for columns in ("80", "160"):
        run_it = {"cwd": tmp_path, "env": os.environ | {"COLUMNS": columns}}
        name = f"c{columns}"
        told = gnomon("count", "--pmu", "emulated", "--name", name, "--", program, **run_it).stderr
        table = told[told.index("functions  by") :]
        assert max(map(len, table.splitlines()[1:])) <= int(columns)
        assert "count     %" in table
        for per in ("function", "line"):
            report = gnomon("report", name, "--per", per, "--top", "0", **run_it).stdout
            assert max(map(len, report.splitlines()[1:])) <= int(columns)
        found = gnomon("report", name, "--per", "function", "--json", **run_it).stdout
        rows = [row for row in json.loads(found)["rows"] if row["function"] == "main"]
        assert [Path(row["file"]).name for row in rows] == ["sums.cpp"]
        assert all(row["self"].keys() == set(DEFAULT) for row in rows)
        assert all(isinstance(count, int) for count in rows[0]["self"].values())
    told = (tmp_path / "c80.gnomon" / "text" / "count.txt").read_text()
    assert "L1_DCM" in told  # 100 columns where the report goes to a file


def test_presets_of_parts_and_wholes(tmp_path: Path) -> None:
    names = ["LST_INS", "LD_INS", "SR_INS", "TOT_INS", "L1_TCA", "L1_TCR", "L1_TCW", "L1_TCM",
             "L1_DCM", "L1_ICM", "L1_LDM", "L1_STM", "L3_TCA", "L3_DCA", "L3_ICA", "L3_TCM",
             "L3_DCM", "L3_ICM", "L3_LDM", "L3_STM"]  # fmt: skip
    of = values(emulated(tmp_path, "-e", ",".join(f"PAPI_{n}" for n in names), "--", "true"))
    n = {name: of[f"PAPI_{name}"] for name in names}
    assert n["LST_INS"] == n["LD_INS"] + n["SR_INS"] > 0
    assert n["L1_TCA"] == n["TOT_INS"] + n["LST_INS"] == n["L1_TCR"] + n["L1_TCW"]
    assert n["L1_DCM"] == n["L1_LDM"] + n["L1_STM"]
    assert n["L1_TCM"] == n["L1_DCM"] + n["L1_ICM"] == n["L3_TCA"] == n["L3_DCA"] + n["L3_ICA"] > 0
    assert n["L3_TCM"] == n["L3_DCM"] + n["L3_ICM"]
    assert n["L3_DCM"] == n["L3_LDM"] + n["L3_STM"]


def test_what_cannot_be_emulated_is_said(tmp_path: Path) -> None:
    reasons = {
        "cycles": "has no clock",
        "PAPI_TOT_CYC": "has no clock",
        "PAPI_L2_TCM": "two levels",
        "PAPI_FP_OPS": "floating-point and vector instructions",
        "PAPI_CA_SNP": "none shares its caches",
        "PAPI_TLB_DM": "no TLB",
        "page-faults": "it would count the emulator",
        "instructions:k": "never the kernel's",
    }
    document = emulated(tmp_path, "-e", ",".join(("instructions", *reasons)), "--", "true")
    assert list(values(document)) == ["instructions"]
    assert [missing["event"] for missing in document["unavailable"]] == list(reasons)
    for missing in document["unavailable"]:
        assert reasons[missing["event"]] in missing["reason"]
        assert missing["remedy"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("-e", "intsructions", "--", "true"), 2, "did you mean instructions"),
        (("-p", "1"), 2, "only programs that it starts"),
        (("--per", "thread", "--", "true"), 2, "--per process"),
        (("--cache", "D1=32K", "--", "true"), 2, "D1=32K,8,64"),
        (("--cache", "D1=96K,8,64", "--", "true"), 2, "power of two"),
        (("--", "no-such-program"), 127, "command not found"),
        (("--", "/etc/passwd"), 126, "permission denied"),
        (("--", "/etc"), 126, "is a directory"),
    ],
)
def test_wrong_calls_are_explained(arguments: tuple[str, ...], status: int, said: str) -> None:
    done = gnomon("count", "--pmu", "emulated", *arguments)
    assert done.returncode == status
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_without_valgrind_the_remedy_is_said(tmp_path: Path) -> None:
    done = gnomon("count", "--pmu", "emulated", "--", "/bin/true",
                  env=os.environ | {"PATH": str(tmp_path)})  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "apt-get install valgrind" in done.stderr
    listed = gnomon("components", env=os.environ | {"PATH": str(tmp_path)}).stdout
    assert "Valgrind is not installed" in listed


def test_emulated_events_need_the_emulated_pmu(tmp_path: Path) -> None:
    document = counted(tmp_path, "-e", "emulated:::instructions,task-clock", "--", "true")
    (missing,) = document["unavailable"]
    assert "--pmu emulated" in missing["remedy"]
    done = gnomon("count", "--cache", "D1=32K,8,64", "--", "true")
    assert done.returncode == 2


def test_environment_is_the_programs_own(tmp_path: Path) -> None:
    """Valgrind itself sets LD_PRELOAD; beside it are the way to our preload and the padding."""
    clean = {"PATH": os.environ["PATH"], "A": "b"}
    done = gnomon("count", "--pmu", "emulated", "-n", "-o", tmp_path / "o", "--", "env", env=clean)
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert seen.keys() - clean.keys() == {
        "GNOMON_STACK_PADDING",
        "LD_PRELOAD",
        "VALGRIND_LIB",
    }
    assert not Path(seen["VALGRIND_LIB"]).exists()


_BUSY = "import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass"


@pytest.mark.parametrize(
    "command",
    [["sleep", "4"], pytest.param([sys.executable, "-c", _BUSY], marks=pytest.mark.long)],
    ids=["waits", "works"],
)
def test_progress_is_shown_on_a_terminal_and_taken_away(command: list[str]) -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    started = subprocess.Popen(
        [GNOMON, "count", "--pmu", "emulated", "-e", "instructions", "--", *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
        env=os.environ | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(slave)
    shown = b""
    until = time.monotonic() + 300
    while time.monotonic() < until and select.select([master], [], [], 300)[0]:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert started.wait() == 0
    assert re.search(rb"\[emulated for \d+ s\]", shown)
    before, _, after = shown.rpartition(b"[emulated for")
    assert b"\x1b7" in before
    # Erased before the report: the cursor goes to the same column and clears from there.
    assert b"G\x1b[K\x1b8" in after
    assert f"gnomon count: {command[0]}".encode() in after


def test_interrupt_leaves_the_counts_so_far(tmp_path: Path, programs: Programs) -> None:
    file = tmp_path / "o.json"
    words = [
        GNOMON,
        "count",
        "--pmu",
        "emulated",
        "-n",
        "-o",
        str(file),
        "--",
        str(programs("await")),
    ]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        os.killpg(started.pid, signal.SIGINT)
    assert started.returncode == -signal.SIGINT
    assert INSTRUCTIONS in file.read_text()
    assert not run("sh", "-c", f"pgrep -s {started.pid}").stdout


@pytest.mark.long
def test_counts_do_not_depend_on_the_size_of_the_environment(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program = compiled("g++", "sums.cpp", "-O1")
    counts = []
    for size in (0, 5, 9000):
        file = tmp_path / "o"
        gnomon(
            "count", "--pmu", "emulated", "-e", "instructions,branch-misses", "--json",
            "-n", "-o", file, "--", program, env=os.environ | {"PADDING": "x" * size},
        )  # fmt: skip
        counts.append(values(json.loads(file.read_text())))
    assert all(one == counts[0] for one in counts), counts


def test_a_run_without_counts_keeps_the_status_and_says_why(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = gnomon("count", "--pmu", "emulated", "--name", tmp_path / "r", "--", script)
    assert "Traceback" not in done.stderr
    assert "not counted" in done.stderr
    assert done.returncode not in (0, 1)
    shown = gnomon("report", tmp_path / "r")
    assert "not counted: PAPI_TOT_INS" in shown.stdout


def test_any_file_name_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    source = folder / "new\nline\x1b[31m.c"
    source.write_text("int main(void) { for (volatile int i = 0; i < 1000; i++) ; return 0; }\n")
    program = tmp_path / "program"
    subprocess.run(["cc", "-g", "-o", program, source], check=True)
    done = gnomon("count", "--pmu", "emulated", "--name", tmp_path / "r", "--", program)
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    assert "cannot be read" not in done.stderr
    lines = json.loads(gnomon("report", tmp_path / "r", "--per", "line", "--json").stdout)
    assert any(row["file"].endswith("new\nline\x1b[31m.c") for row in lines["rows"])


@on_x86_64
def test_repeated_string_instructions_are_pointed_out(tmp_path: Path) -> None:
    source = tmp_path / "copy.c"
    source.write_text(
        "static char from[1 << 20], to[1 << 20];\n"
        "int main(void) { void *d = to, *s = from; unsigned long n = sizeof(to);\n"
        '__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) :: "memory"); return 0; }\n'
    )
    program = tmp_path / "copy"
    subprocess.run(["cc", "-o", program, source], check=True)
    assert "rounds of repeated string instructions" in emulated_text(program)
    assert "rounds of repeated string instructions" not in emulated_text("true")


def emulated_text(*command: str | Path) -> str:
    return " ".join(gnomon("count", "--pmu", "emulated", "--", *command).stderr.split())


def test_what_can_only_fail_fails_before_the_program_runs(tmp_path: Path) -> None:
    left = tmp_path / "left"
    taken = tmp_path / "taken"
    taken.with_suffix(".gnomon").mkdir()
    for words in (["-e", "cycles"], ["-e", "PAPI_FP_OPS"], ["--cache", "D1=64,1,64"],
                  ["--name", taken]):  # fmt: skip
        done = gnomon("count", "--pmu", "emulated", *words, "--", "touch", left)
        assert done.returncode in (1, 2), words
        assert not left.exists(), words
        assert "running on" not in done.stderr


def test_a_modifier_leaves_a_count_exact() -> None:
    text = gnomon("count", "--pmu", "emulated", "-e", "instructions:u", "--", "true").stderr
    assert "emulated; exact" in text


def test_what_was_typed_reaches_the_terminal_printable() -> None:
    done = gnomon("count", "--pmu", "emulated", "-e", "no\x1b[31m", "--", "true")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "no\\x1b[31m" in done.stderr
