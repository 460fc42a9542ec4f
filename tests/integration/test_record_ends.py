"""Sampling where something is in the way: kills, rights, full disks, options that make no sense."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, gnomon, run
from mpi import BOTH, Mpi, launch
from sampled import CPU_TIME, check_shares, facts, opened, samples_with, stacks
from test_record import SHARES, WITHOUT_FRAME_POINTERS

from gnomon.cli.main import main
from gnomon.sampling.sampled_events import UNSEEN_KERNEL
from gnomon.store.record_file import open_records

Compiled = Callable[..., Path]


@pytest.fixture(scope="module")
def shares(compiled: Compiled) -> Path:
    """Return a program of known shares."""
    return compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS)


def test_a_program_that_is_killed(tmp_path: Path, shares: Path) -> None:
    # The kernel kills it when it has used a second of CPU time.
    script = f"ulimit -t 1; exec {shares} 100000000"
    done = gnomon("record", "--name", "r", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    check_shares(stacks(opened(tmp_path / "r")), SHARES)


def taken(folder: Path) -> int:
    """Return how many samples the recording in a folder has by now."""
    files = list(folder.glob("r.gnomon.raw/*.samples.gnrec"))
    return sum(len(open_records(file).columns("sample")) for file in files)


def test_gnomon_is_killed(tmp_path: Path, shares: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = [GNOMON, "record", "--name", "r", "--", str(shares), "60000"]
    with subprocess.Popen(command, cwd=tmp_path) as recorder:
        while recorder.poll() is None and taken(tmp_path) < 50:
            time.sleep(0.05)
        recorder.kill()
    assert recorder.returncode == -signal.SIGKILL
    assert main(["repair", str(tmp_path / "r")]) == 0
    capfd.readouterr()
    found = opened(tmp_path / "r")
    assert samples_with(stacks(found), "work") > 0
    assert any("gnomon run was killed" in note for note in found.head["warnings"])


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_each_rank_has_its_samples(tmp_path: Path, shares: Path, mpi: Mpi) -> None:
    words = (GNOMON, "run", "--with", "samples", "--name", "job", "--", shares, "6000")
    launch(mpi, 2, *words, folder=tmp_path)
    found = opened(tmp_path / "job")
    check_shares(stacks(found), SHARES, least=60)
    ranks = found.query("SELECT DISTINCT rank FROM samples JOIN locations USING (location)")
    assert sorted(ranks) == [(0,), (1,)]


def test_repetitions_are_kept_apart(tmp_path: Path, shares: Path) -> None:
    words = ("run", "--with", "samples", "-r", "2", "--name", "r", "--", shares, "5000")
    done = gnomon(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = opened(tmp_path / "r")
    assert found.query("SELECT DISTINCT repetition FROM samples ORDER BY 1") == [(0,), (1,)]
    ((taken,),) = found.query(f"SELECT COUNT(*) FROM {CPU_TIME}")
    assert facts(found)["samples"] == taken


def test_at_level_2_the_kernel_is_left_out(
    paranoid: Callable[[int], None],
    tmp_path: Path,
    shares: Path,
) -> None:
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "record", "--name", "r", "--", shares, "8000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = opened(tmp_path / "r")
    check_shares(stacks(found), SHARES, least=100)
    assert found.query("SELECT name FROM regions WHERE module = '[kernel]'") == [(UNSEEN_KERNEL,)]
    assert any(note.startswith("samples: of user code alone") for note in found.head["warnings"])


def test_at_level_2_the_rest_of_cpu_time_is_the_kernels(
    paranoid: Callable[[int], None], tmp_path: Path, programs: Callable[[str], Path]
) -> None:
    """Two thirds of the time are spent in the kernel, by a thread of its own in each of two."""
    paranoid(2)
    words = ("--", programs("kernel_time"), "2", "400")
    done = run(*WITHOUT_RIGHTS, GNOMON, "record", "--name", "r", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert UNSEEN_KERNEL in done.stderr
    found = opened(tmp_path / "r")
    ((whole, samples, taken),) = found.query(
        "SELECT SUM(inclusive), SUM(raw), (SELECT SUM(weight) FROM samples) FROM profile "
        "JOIN metrics m USING (metric) WHERE m.name = 'CPU time' AND path = 0"
    )
    # What the kernel says of the process from its beginning, of which the samples know a part.
    ((used,),) = found.query(
        "SELECT SUM(inclusive) * 1e-9 FROM profile JOIN metrics m USING (metric) "
        "WHERE m.name IN ('user time', 'system time') AND path = 0"
    )
    assert whole == pytest.approx(used, rel=0.1)
    assert samples == facts(found)["samples"]
    rest = found.query(
        "SELECT l.tid, p.exclusive, p.raw FROM profile p JOIN locations l USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) "
        f"WHERE r.name = '{UNSEEN_KERNEL}' ORDER BY p.exclusive DESC"
    )
    assert {n for _, _, n in rest} == {0}
    assert sum(seconds for _, seconds, _ in rest) == pytest.approx(whole - taken)
    # The two that work in the kernel have nearly all of it.
    (_, first, _), (_, second, _), *others = rest
    assert min(first, second) > 5 * sum(seconds for _, seconds, _ in others)
    told = gnomon("report", "r", "tree", cwd=tmp_path).stdout
    assert UNSEEN_KERNEL in told
    told = gnomon("report", "r", "profile", "--by", "function", "--json", cwd=tmp_path).stdout
    rows = {row["function"]: row for row in json.loads(told)["profile"]}
    assert (rows[UNSEEN_KERNEL]["module"], rows[UNSEEN_KERNEL]["samples"]) == ("[kernel]", 0)
    # Who asks for user code alone gets it, and nothing beside it.
    asked = ("record", "--name", "u", "-e", "cpu-clock:u", *words)
    assert run(*WITHOUT_RIGHTS, GNOMON, *asked, cwd=tmp_path).returncode == 0
    alone = opened(tmp_path / "u")
    assert alone.query("SELECT domain FROM metrics WHERE name = 'CPU time'") == [("user",)]
    assert alone.query("SELECT COUNT(*) FROM regions WHERE module = '[kernel]'") == [(0,)]


def test_at_level_2_the_machine_is_refused(
    paranoid: Callable[[int], None],
    tmp_path: Path,
) -> None:
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "record", "-a", "-d", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "samples: cpu-clock: " in done.stderr
    assert "perf_event_paranoid=0; or sample a program" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_users_process_is_refused(
    paranoid: Callable[[int], None],
    tmp_path: Path,
) -> None:
    paranoid(2)
    done = run(*WITHOUT_RIGHTS, GNOMON, "record", "-p", "1", "-d", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system that is soon full."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = run("mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", folder)
    if mounted.returncode:
        pytest.fail(
            f"no file system can be mounted here ({mounted.stderr.strip()}): run `make test` "
            "as root"
        )
    yield folder
    run("umount", folder)


@pytest.mark.parametrize("options", [("record", "-F"), ("run", "--samples-rate")], ids=str)
def test_a_full_disk_ends_sampling_and_not_the_program(
    options: tuple[str, str], small_disk: Path, tmp_path: Path, shares: Path
) -> None:
    marker = tmp_path / "went on"
    words = (*options, "5000", "--name", small_disk / "r")
    done = gnomon(*words, "--", "sh", "-c", f"{shares} 60000; touch '{marker}'; exit 3")
    assert done.returncode == 3
    assert marker.exists()
    assert done.stderr.count("No space left on device") >= 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-F", "0", "--", "true"), "-F 0: must be at least 1"),
        (("-c", str(1 << 64), "--", "true"), f"-c {1 << 64}: the kernel counts to"),
        (("-F", "fast", "--", "true"), "not a whole number"),
        (("-c", "5", "--", "true"), "no sample more often"),
        (("-c", "100000", "-F", "10", "--", "true"), "exclude each other"),
        (("--stack", "64", "--", "true"), "63 KB at most"),
        (("-e", "no-such-event", "--", "true"), "no-such-event"),
        (("-e", "io:::read_bytes", "--", "true"), "cannot be sampled"),
        (("-d", "1", "--", "true"), "timeout S program"),
        (("-a",), "for how long"),
        (("-p", "0"), "must be above 0"),
        (("-a", "-p", "5"), "exclude each other"),
        ((), "no program to run: gnomon record ["),
        (("--force", "--", "true"), "--force goes with --name"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    done = gnomon("record", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert done.stderr.count("\n") <= 2
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_not_there(tmp_path: Path) -> None:
    done = gnomon("record", "-p", str(2**22 - 1), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no such process" in done.stderr


def test_a_rate_above_the_kernels_is_lowered(tmp_path: Path) -> None:
    highest = int(Path("/proc/sys/kernel/perf_event_max_sample_rate").read_text())
    done = gnomon("record", "-F", str(highest + 1), "--name", "r", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"samples: {highest} a second instead of {highest + 1}" in done.stderr


def test_the_emulated_pmu_is_not_sampled(tmp_path: Path) -> None:
    done = gnomon("run", "--with", "samples,emulated", "--", "true", cwd=tmp_path)
    assert done.returncode == 2
    assert "samples would be of the emulator" in done.stderr


def test_the_program_is_as_without_samples(tmp_path: Path) -> None:
    script = (
        "import os, resource, sys; "
        # The record of a Python program's functions has a high one.
        "print(sorted(fd for fd in os.listdir('/proc/self/fd') if int(fd) < 512), "
        "resource.getrlimit(resource.RLIMIT_NOFILE), "
        "[name for name in sorted(os.environ) if name not in OURS]); sys.exit(9)"
    )
    # docs/python-programs.md names them.
    ours = ["GNOMON_PYTHON_SOCKET", "GNOMON_RUN_DIR", "GNOMON_WITHOUT", "LD_PRELOAD"]
    python = ("/usr/bin/python3", "-c", script.replace("OURS", repr(ours).replace('"', "'")))
    bare = run(*python, cwd=tmp_path)
    done = gnomon("record", "--name", "r", "--", *python, cwd=tmp_path)
    assert done.returncode == bare.returncode == 9
    assert done.stdout == bare.stdout
    assert facts(opened(tmp_path / "r"))["samples"] > 0


def test_a_name_that_is_no_utf8(tmp_path: Path, shares: Path) -> None:
    program = tmp_path / os.fsdecode(b"name-\xff\xe9")
    shutil.copy(shares, program)
    done = gnomon("record", "--name", "r", "--", program, "2000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), "work") > 20


def test_the_status_stands_where_nothing_can_be_written(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [GNOMON, "record", "--name", "r", "--", "sh", "-c", "exit 3"]
        done = subprocess.run(command, cwd=tmp_path, stderr=full, check=False)
    assert done.returncode == 3
