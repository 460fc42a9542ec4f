"""Where programs may not be sampled: who asked for it gets one line, all others their run."""

from __future__ import annotations

import errno
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, run
from sampled import opened

Programs = Callable[[str], Path]

MLOCK = Path("/proc/sys/kernel/perf_event_mlock_kb")
ASKED = ((GNOMON, "record"), (GNOMON, "run", "--with", "samples"))
PROGRAM = ("sh", "-c", "echo out; echo err >&2; touch started; exit 3")


def check_refused(folder: Path, *under: str | Path, why: str) -> None:
    """Fail if a program runs for who asked for samples, or if there is more or less than a line."""
    for command in ASKED:
        done = run(*under, *command, "--name", "r", "--", *PROGRAM, cwd=folder)
        assert done.returncode in (1, 2)
        assert (done.stdout, done.stderr.count("\n")) == ("", 1), done.stderr
        assert done.stderr.startswith("gnomon: ")
        assert why in done.stderr
        assert ";" in done.stderr
        assert list(folder.iterdir()) == []


def check_left_out(folder: Path, *under: str | Path, why: str) -> None:
    """Fail if a program notices that a run goes without samples, or if the run does not say it."""
    bare = run(*PROGRAM, cwd=folder)
    (folder / "started").unlink()
    done = run(*under, GNOMON, "run", "--name", "d", "--", *PROGRAM, cwd=folder)
    assert done.returncode == bare.returncode == 3
    assert done.stdout == bare.stdout
    assert done.stderr.startswith(bare.stderr)
    assert (folder / "started").exists()
    told = " ".join(done.stderr.split())
    assert why in told
    assert told.count("samples: ") == 1, done.stderr
    assert opened(folder / "d").head["exit_status"] == 3


@pytest.mark.parametrize(
    ("rights", "number", "why"),
    [
        ((), errno.EPERM, "a seccomp filter forbids perf_event_open"),
        (WITHOUT_RIGHTS, errno.EPERM, "a seccomp filter forbids perf_event_open"),
        ((), errno.EACCES, "a security module or sandbox forbids it"),
        (WITHOUT_RIGHTS, errno.ENOSYS, "answers perf_event_open with ENOSYS"),
    ],
    ids=["root-EPERM", "user-EPERM", "root-EACCES", "user-ENOSYS"],
)
def test_a_filter_of_system_calls(
    rights: tuple[str, ...], number: int, why: str, tmp_path: Path, programs: Programs
) -> None:
    under: tuple[str | Path, ...] = (*rights, programs("without_perf"), str(number))
    check_refused(tmp_path, *under, why=why)
    check_left_out(tmp_path, *under, why=why)


@pytest.mark.parametrize("level", [3, 4])
def test_levels_at_which_nothing_may_be_sampled(
    level: int, paranoid: Callable[[int], None], tmp_path: Path, programs: Programs
) -> None:
    """Debian's and Ubuntu's kernels forbid users all events then, with EACCES.

    Others take 3 and 4 for 2: there a filter gives the same answer in the kernel's stead, and what
    is read of the level is the machine's own.
    """
    paranoid(level)
    why = f"kernel.perf_event_paranoid is {level}"
    under = (*WITHOUT_RIGHTS, programs("without_perf"), str(errno.EACCES))
    check_refused(tmp_path, *under, why=why)
    check_left_out(tmp_path, *under, why=why)


@pytest.fixture
def without_memory(paranoid: Callable[[int], None]) -> Iterator[tuple[str, ...]]:
    """Return words before a command that has no memory for the rings of events."""
    paranoid(2)
    before = MLOCK.read_text()
    MLOCK.write_text("16")
    yield (*WITHOUT_RIGHTS, "sh", "-c", 'ulimit -l 0; exec "$@"', "sh")
    MLOCK.write_text(before)


def test_no_memory_for_rings(without_memory: tuple[str, ...], tmp_path: Path) -> None:
    why = "the kernel grants no memory for the rings of"
    check_refused(tmp_path, *without_memory, why=why)
    check_left_out(tmp_path, *without_memory, why=why)


def test_no_descriptors_for_events(tmp_path: Path) -> None:
    """Those of the counters come first, and are enough for one CPU."""
    why = "samples: not measured: cpu-clock: the limit of open files (16) is reached"
    check_left_out(tmp_path, "prlimit", "--nofile=16:16", why=why)


def test_the_program_keeps_its_limit_of_open_files(tmp_path: Path) -> None:
    """Its own is lower than what the events take, and ours may be raised."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    command = ("--name", "r", "--", "sh", "-c", "ulimit -Sn; ulimit -Hn")
    done = run("prlimit", f"--nofile=32:{hard}", *ASKED[0], *command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"32\n{hard}\n"), done.stderr


def test_a_filter_that_kills_ends_gnomon_and_no_program(tmp_path: Path, programs: Programs) -> None:
    """Nothing can be said then, but nothing is left, either."""
    done = subprocess.run(
        [programs("without_perf"), "0", *ASKED[0], "--", *PROGRAM],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode < 0
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []
