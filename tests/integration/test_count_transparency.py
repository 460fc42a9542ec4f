"""A measured program finds the world as it would have found it without us."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import resource
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from commands import GNOMON, counted, run, run_bytes

Programs = Callable[[str], Path]

COUNT = (GNOMON, "count", "-n", "-e", "task-clock", "-o")
# Lines of /proc/PID/status that tell of a single process or moment.
OWN_STATUS = ("Name", "State", "Tgid", "Pid", "PPid", "NStgid", "NSpid", "FDSize", "Vm", "Rss",
              "Hugetlb", "Threads", "SigQ", "voluntary", "nonvoluntary", "Ngid", "CoreDumping",
              "Kthread", "NSpgid", "NSsid", "TracerPid", "THP_enabled", "x86_Thread")  # fmt: skip


def plain_and_counted(
    folder: Path, *command: str | Path, setup: str = "", **options: object
) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """Return what came of a command by itself, and of the same under gnomon, from one shell."""
    words = shlex.join(map(str, command))
    count = shlex.join([*COUNT, str(folder / "report")])
    script = f'{setup}\nif test "$0" = plain; then {words}; else {count} -- {words}; fi'
    plain, seen = (
        run("sh", "-c", script, name, **({"cwd": folder} | options)) for name in ("plain", "seen")
    )
    assert plain.returncode == 0, plain.stderr
    return plain, seen


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


# --- what goes in and comes out -------------------------------------------------------------------


def test_output_keeps_every_byte(tmp_path: Path) -> None:
    """Both streams carry what the program wrote; the report comes after it, on stderr."""
    data = random.Random(1).randbytes(300_000)
    (tmp_path / "data").write_bytes(data)
    script = "cat data; cat data >&2; exit 3"
    seen = run_bytes(GNOMON, "count", "-e", "task-clock", "--", "sh", "-c", script, cwd=tmp_path)
    assert seen.returncode == 3
    assert seen.stdout == data
    assert seen.stderr.startswith(data + b"\ngnomon count: sh -c ")
    assert b"task-clock" in seen.stderr[len(data) :]


def test_report_in_a_file_adds_nothing(tmp_path: Path) -> None:
    plain, seen = plain_and_counted(tmp_path, "sh", "-c", "echo out; echo err >&2")
    assert outcome(seen) == outcome(plain) == (0, "out\n", "err\n")
    assert "task-clock" in (tmp_path / "report").read_text()


def test_input_is_passed_on(tmp_path: Path) -> None:
    data = random.Random(2).randbytes(300_000)
    assert run_bytes(*COUNT, tmp_path / "report", "--", "cat", input=data).stdout == data


def test_input_that_is_not_read_stays(tmp_path: Path) -> None:
    """What the program leaves in its input is there for the next reader."""
    script = f"{shlex.join([*COUNT, str(tmp_path / 'report')])} -- head -c 2; cat"
    seen = run("sh", "-c", script, input="abcdef", stdin=None)
    assert seen.stdout == "abcdef"


def test_arguments_keep_every_byte(tmp_path: Path) -> None:
    odd = [b"a b", b"", b"--", b"-e", b"\xff\xfe", b"new\nline", "ä€".encode(), b"--json", b"$x"]
    seen = run_bytes(*COUNT, tmp_path / "report", "--", "printf", "%s\\0", *odd)
    assert seen.stdout.split(b"\0")[:-1] == odd
    # The report is UTF-8 whatever the arguments were.
    assert "printf" in (tmp_path / "report").read_text(encoding="utf-8")


@pytest.mark.parametrize("separator", [True, False])
def test_options_after_the_program_are_its_own(separator: bool, tmp_path: Path) -> None:
    between = ["--"] * separator
    seen = run(*COUNT, tmp_path / "report", *between, "echo", "-n", "-p", "--", "--json", "-h")
    assert outcome(seen) == (0, "-p -- --json -h", "")


# --- environment ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables",
    [
        [],
        ["LANG=C"],
        ["LC_ALL=C"],
        ["LC_ALL=POSIX"],
        ["LC_CTYPE=C"],
        ["LC_CTYPE=POSIX"],
        ["LC_CTYPE="],
        ["LC_CTYPE=C.UTF-8"],
        ["LC_CTYPE=C.utf8", "LANG=C"],
        ["LANG=en_US.UTF-8", "PYTHONPATH=/nowhere", "PYTHONCOERCECLOCALE=1"],
        ["LIBPFM_ENCODE_INACTIVE=0", "PYTHONUTF8=1"],
    ],
    ids=" ".join,
)
def test_environment_is_the_same(variables: list[str], tmp_path: Path) -> None:
    """Python sets LC_CTYPE by itself (PEP 538); the program must not learn of it."""
    program = ("/usr/bin/env", "-0")
    plain = run("env", "-i", *variables, *program)
    seen = run("env", "-i", *variables, *COUNT, tmp_path / "report", "--", *program)
    assert outcome(seen) == outcome(plain)


def test_odd_environment_is_the_same(tmp_path: Path, programs: Programs) -> None:
    odd, program = programs("odd_environment"), ("/bin/cat", "/proc/self/environ")
    plain = run_bytes(odd, *program)
    assert plain.stdout.count(b"\0") == 7
    assert run_bytes(odd, *COUNT, tmp_path / "report", "--", *program).stdout == plain.stdout


# --- the process itself ---------------------------------------------------------------------------


def status_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if not line.startswith(OWN_STATUS)]


@pytest.mark.parametrize(
    "setup",
    [
        "",
        "trap '' INT QUIT HUP TERM USR1 USR2 TSTP TTOU CHLD",
        "umask 027; ulimit -c 0; ulimit -n 200; ulimit -s 4096",
        "exec 2>&-",
    ],
    ids=["as it is", "signals ignored", "limits", "stderr closed"],
)
def test_signals_limits_and_rights_are_the_same(setup: str, tmp_path: Path) -> None:
    """Among /proc/PID/status: dispositions, mask, umask, capabilities, affinity, seccomp."""
    for file, lines in (("status", 20), ("limits", 15), ("cgroup", 0), ("oom_score_adj", 1),
                        ("timerslack_ns", 0)):  # fmt: skip
        plain, seen = plain_and_counted(tmp_path, "cat", f"/proc/self/{file}", setup=setup)
        assert len(status_lines(plain)) >= lines
        assert status_lines(seen) == status_lines(plain)


def test_ignored_signals_are_seen_at_all(tmp_path: Path) -> None:
    """The comparison above would notice: SIGTERM is bit 14."""
    _, seen = plain_and_counted(tmp_path, "cat", "/proc/self/status", setup="trap '' TERM")
    (ignored,) = (line for line in seen.stdout.splitlines() if line.startswith("SigIgn"))
    # Of the first 31; make leaves those of the C library (32, 33) ignored.
    assert int(ignored.split()[1], 16) & 0x7FFFFFFF == 1 << 14


def test_many_events_leave_the_limit_of_open_files(tmp_path: Path) -> None:
    """Telling threads apart takes a descriptor per event and CPU; the program keeps its limit."""
    events = ",".join(f"task-clock:{modes}" for modes in ("u", "k", "uk", "ukh", "kh"[:1] + "u"))
    events += ",page-faults,minor-faults,major-faults,context-switches,cpu-migrations"
    script = (
        f"ulimit -Sn 16; exec {GNOMON} count -n -o {tmp_path}/report --per thread -e {events} "
        "-- cat /proc/self/limits"
    )
    seen = run("sh", "-c", script)
    (line,) = (line for line in seen.stdout.splitlines() if line.startswith("Max open files"))
    assert line.split()[3] == "16"


@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_open_descriptors_are_the_same(closed: str, tmp_path: Path, programs: Programs) -> None:
    """Those that were open, and nothing of ours: neither counters nor pipes."""
    extra, descriptors = tmp_path / "extra", programs("descriptors")
    extra.write_text("")
    assert run(GNOMON, "count", "--per", "thread", "--", "true").returncode == 0
    count = shlex.join([*COUNT, str(tmp_path / "report"), "--"])
    script = f"exec 7< {extra} 9>> {extra} {closed}; {descriptors} plain; {count} {descriptors} "
    for options in ("seen", f"seen; {GNOMON} count --per thread -- {descriptors} apart"):
        done = run("sh", "-c", script + options, cwd=tmp_path)
        assert done.returncode == 0
    plain = (tmp_path / "plain").read_text()
    assert f"7 0 8000 {extra}\n" in plain
    assert (tmp_path / "seen").read_text() == plain
    # Of the run with --per the pipes are others; everything else is not.
    apart = (tmp_path / "apart").read_text().splitlines()
    assert [line.split()[:3] for line in apart] == [ln.split()[:3] for ln in plain.splitlines()]


def test_place_priority_and_groups_are_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    # Of proc_pid_stat(5): process group, session, terminal, foreground group, priority, nice, ...
    script = (
        "pwd; nice; umask; cut -d' ' -f5-8,18,19 /proc/self/stat; cut -d' ' -f40,41 /proc/self/stat"
    )
    plain, seen = plain_and_counted(
        tmp_path, "sh", "-c", script, setup="umask 031", cwd=folder, preexec_fn=lambda: os.nice(3)
    )
    assert plain.stdout.splitlines()[0] == str(folder)
    assert plain.stdout.splitlines()[2] == "0031"
    first, second = (done.stdout.splitlines() for done in (plain, seen))
    # The two shells are in one group each unless the caller's group is theirs: it is here.
    assert first == second


def test_affinity_is_the_same(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    plain, seen = plain_and_counted(
        tmp_path, "grep", "Cpus_allowed_list", "/proc/self/status",
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )  # fmt: skip
    assert plain.stdout.split() == seen.stdout.split() == ["Cpus_allowed_list:", str(cpu)]


# --- terminals ------------------------------------------------------------------------------------


def on_terminal(script: str, typed: bytes = b"") -> bytes:
    """Return what a shell script writes on a terminal of its own, its process's controlling one."""
    leader, follower = pty.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

    with subprocess.Popen(
        ["sh", "-c", script], stdin=follower, stdout=follower, stderr=follower,
        preexec_fn=own_terminal,
    ) as process:  # fmt: skip
        os.close(follower)
        os.write(leader, typed)
        said = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the last process that had it open is gone
                break
            said += piece
        os.close(leader)
        assert process.wait() == 0
    return said.replace(b"\r\n", b"\n")


def test_terminal_is_the_programs(tmp_path: Path) -> None:
    # Terminal, its settings, and whether the program's group is the one in the foreground.
    probe = "tty; stty -a; for n in 0 1 2; do test -t $n && echo yes; done"
    probe += "; cut -d' ' -f5-8 /proc/self/stat; exit 0"
    count = shlex.join([*COUNT, str(tmp_path / "report")])
    said = on_terminal(f"sh -c {shlex.quote(probe)}; echo ===; {count} -- sh -c "
                       f"{shlex.quote(probe)}")  # fmt: skip
    plain, seen = said.split(b"===\n")
    assert plain.startswith(b"/dev/")
    assert plain.count(b"yes\n") == 3
    assert seen == plain


def test_terminal_takes_input(tmp_path: Path) -> None:
    count = shlex.join([*COUNT, str(tmp_path / "report")])
    said = on_terminal(f"{count} -- sh -c 'read line; echo got $line'", b"typed words\n")
    assert b"got typed words\n" in said


@pytest.mark.parametrize(
    ("setting", "styled"), [("TERM=xterm", True), ("TERM=xterm NO_COLOR=1", False),
                            ("TERM=dumb", False)],
)  # fmt: skip
def test_report_is_styled_on_a_terminal_that_likes_it(setting: str, styled: bool) -> None:
    said = on_terminal(f"unset NO_COLOR; {setting} {GNOMON} count -e task-clock -- true")
    assert b"task-clock" in said
    assert (b"\x1b[" in said) is styled


# --- pipes and closed streams ---------------------------------------------------------------------


def test_reader_that_goes_away() -> None:
    """`| head -1` ends a program by SIGPIPE, whose disposition is the default."""
    seen = run("sh", "-c", f"{GNOMON} count -e task-clock -- yes | head -1")
    assert seen.stdout == "y\n"
    assert "gnomon count: yes  [killed by SIGPIPE]" in seen.stderr
    assert "Traceback" not in seen.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("where", ["-n -o {0}/report", "", "-o -", "--per thread"])
def test_status_survives_closed_streams(closed: str, where: str, tmp_path: Path) -> None:
    count = f"{GNOMON} count -e task-clock {where.format(tmp_path)} -- sh -c 'exit 5'"
    assert run("sh", "-c", count).returncode == 5
    seen = run("sh", "-c", f"{count} {closed}")
    assert seen.returncode == 5
    assert "Traceback" not in seen.stdout + seen.stderr


def test_python_program_keeps_its_locale(tmp_path: Path) -> None:
    """Python under us makes of its environment what Python alone makes of it."""
    program = (sys.executable, "-c", "import os, sys; print(os.environ.get('LC_CTYPE'), sys.flags)")
    plain = run("env", "-i", "LANG=C", *program)
    seen = run("env", "-i", "LANG=C", *COUNT, tmp_path / "report", "--", *program)
    assert outcome(seen) == outcome(plain)


def test_resource_usage_is_of_the_program_alone(tmp_path: Path) -> None:
    """What a program of no length used is not our own start."""
    document = counted(tmp_path, "-e", "task-clock", "--", "true")
    usage = {row["field"]: row["value"] for row in document["rusage"]}
    assert usage["ru_utime"] + usage["ru_stime"] < 0.5
    assert usage["ru_ixrss"] is None
    assert usage["ru_nsignals"] is None


WITHOUT_PIDFD = """
import errno, os, sys

def refuse(pid, flags=0):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

os.pidfd_open = refuse
from gnomon.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "command", [[GNOMON], [sys.executable, "-c", WITHOUT_PIDFD]], ids=["pidfd", "without"]
)
@pytest.mark.parametrize("repeat", ["1", "2"])
def test_the_end_is_seen_where_its_signal_is_blocked(command: list[str], repeat: str) -> None:
    done = run(
        *command, "count", "-r", repeat, "-e", "task-clock", "--", "sh", "-c", "exit 3",
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD}), timeout=60,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr


def test_a_limit_of_open_files_that_is_too_low_is_named(tmp_path: Path) -> None:
    told = []
    for most in range(12, 26):
        done = run(
            GNOMON, "run", "--force", "--name", "few", "--", "true", cwd=tmp_path,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most)),
        )  # fmt: skip
        assert "Traceback" not in done.stderr, most
        if done.returncode:
            told.append(done.stderr)
    assert told
    assert all("open files" in text for text in told)
    assert any("ulimit -n" in text for text in told)
