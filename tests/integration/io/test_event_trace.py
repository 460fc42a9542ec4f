"""Each call with its time: the same calls as strace sees, whole after a kill, and bounded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from commands import GNOMON
from corpus import C_PROGRAMS, Program
from counted_io import report
from strace_counts import Tally
from traced_calls import event_rows, gnomon_calls, record, strace_calls

from gnomon.io.event_file import WRITE, event_path, read_event_file
from gnomon.measurement.totals_file import read_totals

LIBRARY = Path(sys.modules["gnomon"].__path__[0]) / "io" / "libgnomon_io.so"
KILLS = 30


def events_of(folder: Path, run: str, *command: str | Path) -> list[dict[str, Any]]:
    """Run a command in a new folder and return the events of its run."""
    (folder / "work").mkdir()
    record(command, folder / "work", folder / run)
    return event_rows(folder / f"{run}.gnomon")


@pytest.mark.parametrize("name", ["offsets", "vectors", "many_files"])
def test_events_are_the_calls_that_strace_sees_in_their_order(
    name: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = Program(f"{name}.c").command(compiled)
    (tmp_path / "traced").mkdir()
    wanted = strace_calls(command, tmp_path / "traced", tmp_path / "log")
    rows = events_of(tmp_path, "r", *command)
    assert len(wanted) > 10
    assert gnomon_calls(rows, tmp_path / "work") == wanted


def test_events_of_threads_are_those_that_strace_sees(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    command = Program("thread_storm.c").command(compiled)
    (tmp_path / "traced").mkdir()
    wanted = strace_calls(command, tmp_path / "traced", tmp_path / "log")
    rows = events_of(tmp_path, "r", *command)
    calls = gnomon_calls(rows, tmp_path / "work")
    assert Counter(calls) == Counter(wanted)
    # Each thread writes its own part from the front to the back.
    for part in range(8):
        begin, end = part * 6400, (part + 1) * 6400
        own = [one.offset for one in calls if one.name == "pwrite" and begin <= one.offset < end]
        assert own == sorted(own)
        assert len(own) == 400


def test_forked_and_executed_programs_have_their_own_events(
    compiled: Callable[..., Path], tmp_path: Path
) -> None:
    for name in ("fork_storm", "exec_chain", "vforked", "spawned"):
        folder = tmp_path / name
        folder.mkdir()
        rows = events_of(folder, "r", *Program(f"{name}.c").command(compiled))
        run = folder / "r.gnomon"
        done = subprocess.run(
            [GNOMON, "report", run, "io", "--by", "process", "--json"], capture_output=True,
            check=True,
        )  # fmt: skip
        counted = {row["pid"]: row["calls"] for row in json.loads(done.stdout)["rows"]}
        assert len(counted) > 1 or name in ("exec_chain", "vforked")
        assert Counter(row["pid"] for row in rows) == counted


@pytest.mark.parametrize("program", [*map("{}.c".format, C_PROGRAMS), "python_files.py"])
def test_events_add_up_to_what_was_counted(
    program: str, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    rows = events_of(tmp_path, "r", *Program(program).command(compiled))
    sums: dict[tuple[str, str], Tally] = {}
    for row in rows:
        key = (row["file"] or "(none)", row["region"])
        tally = Tally(1, row["asked"] or 0, row["bytes"] or 0)
        sums[key] = sums.get(key, Tally()).plus(tally)
    counted = {
        (file["path"], own["name"]): Tally(own["calls"], own["bytes_asked"], own["bytes"])
        for file in report(tmp_path)["files"]
        for own in file["operations"]
    }
    assert sums == counted
    assert all(row["duration_ns"] >= 0 and row["start_ns"] >= 0 for row in rows)


def test_open_files_are_told_apart(tmp_path: Path) -> None:
    script = """if True:
        import os, sys
        first = os.open('data', os.O_RDWR | os.O_CREAT)
        second = os.open('data', os.O_RDONLY)
        copy = os.dup(first)
        os.write(copy, b'text')
        os.read(second, 4)
        if len(sys.argv) < 2:
            os.execv(sys.executable, [sys.executable, '-c', open('s').read(), 'again'])
    """
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "s").write_text(script)
    record([sys.executable, "-c", script], tmp_path / "work", tmp_path / "r")
    rows = [row for row in event_rows(tmp_path / "r.gnomon") if row["file"].endswith("/data")]
    of_calls = [(row["region"], row["opening"]) for row in rows]
    openings = [number for name, number in of_calls if name == "open"]
    assert len(set(openings)) == len(openings) == 4
    assert [number for name, number in of_calls if name == "write"] == openings[::2]
    assert [number for name, number in of_calls if name == "read"] == openings[1::2]


def test_a_killed_program_leaves_every_event_that_was_complete(
    tmp_path: Path,
) -> None:
    """Two threads write 8 bytes each, one behind the other: none is missing, none twice."""
    source = r"""
    #include <fcntl.h>
    #include <pthread.h>
    #include <unistd.h>
    static int fd;
    static void *work(void *from)
    {
        for (off_t i = 0;; i++)
            pwrite(fd, "12345678", 8, (off_t)from + 8 * i);
        return 0;
    }
    int main(void)
    {
        pthread_t thread;
        fd = open("/dev/null", O_WRONLY);
        pthread_create(&thread, 0, work, (void *)(1L << 40));
        work(0);
    }
    """
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(source)
    subprocess.run(
        ["cc", "-O1", "-D_GNU_SOURCE", "-pthread", "-o", program, tmp_path / "program.c"],
        check=True,
    )
    random = Random(20)
    lengths = []
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = os.environ | {
            "LD_PRELOAD": str(LIBRARY), "GNOMON_RUN_DIR": str(folder),
            "GNOMON_IO_TRACE": str(1 << 26),
        }  # fmt: skip
        with subprocess.Popen([program], env=environment, cwd=tmp_path) as process:
            sleep(random.uniform(0, 0.06))
            process.send_signal(signal.SIGKILL)
        for path in folder.glob("*.totals"):
            own = event_path(path)
            # Killed between a file and its header.
            if not own.exists() or not any(own.read_bytes()[:8]):
                continue
            file = read_event_file(read_totals(path))
            assert not file.is_closed
            offsets = [
                offset
                for events in file.blocks()
                for offset in events.records["offset"][events.kinds == WRITE].tolist()
            ]
            for first in (0, 1 << 40):
                of_thread = [one for one in offsets if first <= one < first + (1 << 40)]
                assert of_thread == list(range(first, first + 8 * len(of_thread), 8))
                lengths.append(len(of_thread))
    # Some were killed before, some after what a thread has mapped was full.
    assert max(lengths) > 8191


def test_a_killed_program_has_its_events_in_the_run(tmp_path: Path) -> None:
    script = "import os\nopen('out', 'w').write('text')\nos.kill(os.getpid(), 9)\n"
    rows = events_of(tmp_path, "r", sys.executable, "-c", script)
    (written,) = [row for row in rows if row["access"] == "write"]
    assert (written["bytes"], written["asked"], written["file_offset"]) == (4, 4, 0)


def test_a_trace_has_a_limit_which_the_report_tells(tmp_path: Path) -> None:
    script = "import os\nfd = os.open('data', 66)\nfor i in range(60000): os.pwrite(fd, b'x', i)\n"
    (tmp_path / "work").mkdir()
    record([sys.executable, "-c", script], tmp_path / "work", tmp_path / "r", "--trace-mb", "1")
    rows = event_rows(tmp_path / "r.gnomon")
    offsets = [row["file_offset"] for row in rows if row["region"] == "pwrite"]
    assert 20000 < len(offsets) < (1 << 20) // 32
    assert offsets == list(range(len(offsets)))
    told = subprocess.run(
        [GNOMON, "report", "r", "io", "--json"], cwd=tmp_path, capture_output=True, check=True
    )
    sums = {row["name"]: row["value"] for row in json.loads(told.stdout)["rows"]}
    assert sums["events"] == len(rows)
    assert sums["events"] + sums["events missing"] == sums["calls"]
    done = subprocess.run(
        [GNOMON, "report", "r", "io"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lost = f"{int(sums['events missing']):,}".replace(",", " ")
    assert f"{lost} calls are missing" in " ".join(done.stdout.split())


def test_a_limit_of_file_sizes_leaves_what_there_is_room_for(tmp_path: Path) -> None:
    script = "import os\nfd = os.open('data', 66)\nfor i in range(90000): os.pwrite(fd, b'x', i)\n"
    limited = ["bash", "-c", 'ulimit -f 2048; exec "$@"', "bash", sys.executable, "-c", script]
    (tmp_path / "work").mkdir()
    record(limited, tmp_path / "work", tmp_path / "r", "--trace-mb", "100")
    rows = event_rows(tmp_path / "r.gnomon")
    offsets = [row["file_offset"] for row in rows if row["region"] == "pwrite"]
    assert 20000 < len(offsets) < (2 << 20) // 32
    assert offsets == list(range(len(offsets)))
    (warning,) = json.loads((tmp_path / "r.gnomon" / "run.json").read_text())["warnings"]
    assert warning.endswith("missing in the trace: the limit of file sizes (ulimit -f) was reached")


def test_under_a_limit_that_it_does_not_reach_a_trace_is_whole(tmp_path: Path) -> None:
    """Room of a unit is counted whole, beyond what the limit allows, before it is there."""
    for number, kib in enumerate((100, 300, 320, 500, 520, 600)):
        work = tmp_path / str(number)
        work.mkdir()
        limited = ["bash", "-c", f'ulimit -f {kib}; exec "$@"', "bash", "cat", "/etc/passwd"]
        record(limited, work, work / "r")
        warnings = json.loads((work / "r.gnomon" / "run.json").read_text())["warnings"]
        rows = event_rows(work / "r.gnomon")
        is_told = any("ulimit -f" in warning for warning in warnings)
        assert not any("cannot be read" in warning for warning in warnings)
        assert is_told is not any(row["access"] == "read" for row in rows)
        assert is_told is (kib < 300)


def test_threads_share_what_a_trace_may_take(tmp_path: Path) -> None:
    script = """
import os, threading
def write(number):
    fd = os.open(f"data{number}", os.O_WRONLY | os.O_CREAT)
    for i in range(100): os.pwrite(fd, b"x", i)
    gate.wait()
gate = threading.Barrier(3)
for number in range(3): threading.Thread(target=write, args=(number,)).start()
"""
    (tmp_path / "work").mkdir()
    record([sys.executable, "-c", script], tmp_path / "work", tmp_path / "r", "--trace-mb", "1")
    rows = event_rows(tmp_path / "r.gnomon")
    assert sum(row["region"] == "pwrite" for row in rows) == 300


def test_the_trace_of_a_program_that_has_the_symbols_of_linkers(tmp_path: Path) -> None:
    """By bash's `_end`, calls of the library seemed not to be its own, and were recorded."""
    (tmp_path / "work").mkdir()
    assert record(["bash", "-c", "echo x > f"], tmp_path / "work", Path("../r")) == 0
    names = {Path(str(row["file"])).name for row in event_rows(tmp_path / "r.gnomon")}
    assert "f" in names
    assert not any(name.endswith(".events") for name in names)


def test_files_of_ours_are_known_behind_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    script = "for f in $(find ../r.gnomon.raw -name '*.totals'); do head -c 8 $f > copy; done"
    assert record(["bash", "-c", script], tmp_path / "work", Path("../link/r")) == 0
    assert (tmp_path / "work" / "copy").stat().st_size == 8
    names = {Path(str(row["file"])).name for row in event_rows(tmp_path / "r.gnomon")}
    assert "copy" in names
    assert not any(name.endswith(".totals") for name in names)


def test_what_the_trace_writes_is_not_the_programs(tmp_path: Path) -> None:
    script = "import os\nfd = os.open('/dev/null', 1)\nfor i in range(60000): os.write(fd, b'x')\n"
    (tmp_path / "work").mkdir()
    record([sys.executable, "-c", script], tmp_path / "work", tmp_path / "r")
    coverage = report(tmp_path)["coverage"]
    assert coverage["is_complete"]
    assert coverage["kernel_written"] == coverage["posix_written"] >= 60000


def test_without_the_option_there_are_no_events(tmp_path: Path) -> None:
    environment = os.environ | {"GNOMON_IO_TRACE": str(1 << 26)}
    subprocess.run(
        [GNOMON, "io", "--name", "r", "--", "cat", "/etc/passwd"], cwd=tmp_path, env=environment,
        capture_output=True, check=True,
    )  # fmt: skip
    assert not (tmp_path / "r.gnomon" / "events.parquet").exists()


def test_a_trace_of_no_size_is_refused(tmp_path: Path) -> None:
    for size in ("0", "-1", "many", "10000000"):
        done = subprocess.run(
            [GNOMON, "io", "--trace-mb", size, "--", "true"], cwd=tmp_path, capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 2
        assert f"--trace-mb {size}" in done.stderr
