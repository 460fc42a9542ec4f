"""What the kernel counted of processes that have children, beside what calls moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import GNOMON, run
from counted_io import report

MIB = 1 << 20
WRITES_8 = f"dd if=/dev/zero of=%s bs={MIB} count=8 status=none"


RAW_WRITES = f"""
import ctypes, os
block = ctypes.create_string_buffer({MIB})
call = ctypes.CDLL(None).syscall
call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
def write_8(fd):
    for _ in range(8):
        assert call({{"x86_64": 1}}.get(os.uname().machine, 64), fd, block, {MIB}) == {MIB}
"""
"""A function of Python that writes 8 MiB where no call is seen."""


def coverage(folder: Path, *command: str | Path, options: Sequence[str] = ()) -> dict[str, Any]:
    done = run(GNOMON, "io", "--name", "r", *options, "--", *command, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = report(folder)["coverage"]
    return found


def test_what_a_child_moved_is_counted_once(tmp_path: Path) -> None:
    """The kernel adds it to the parent's, and that to its parent's."""
    script = f"{WRITES_8 % 'a'}; sh -c '{WRITES_8 % 'b'}; {WRITES_8 % 'c'}; true'; true"
    found = coverage(tmp_path, "sh", "-c", script)
    assert found["processes"] == found["counted"] == 5
    assert found["is_complete"]
    for name in ("kernel_read", "kernel_written"):
        assert 24 * MIB <= found[name] < 25 * MIB
    assert found["unseen_written"] == 0
    # Of a page cache in memory it may be nothing.
    assert found["device_written"] < 25 * MIB


def test_what_a_process_moved_before_it_executed_another_program_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(8 * MIB))
    script = "cat data > a; read line < data; exec cat data data > b"
    found = coverage(tmp_path, "sh", "-c", script)
    assert found["processes"] == found["counted"] == 2
    assert found["is_complete"]
    assert 24 * MIB <= found["kernel_written"] < 25 * MIB


def test_a_copy_reads_one_file_and_writes_another(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(8 * MIB))
    script = """
import os
data, copy, sent = os.open("data", 0), os.open("copy", 65), os.open("sent", 65)
while os.copy_file_range(data, copy, (1 << 63) - 1 - (1 << 30)): pass
os.lseek(data, 0, 0)
while os.sendfile(sent, data, None, 1 << 20): pass
"""
    found = coverage(tmp_path, "python3", "-c", script)
    document = report(tmp_path)
    files = {Path(file["path"]).name: file for file in document["files"]}
    moved = {
        name: (files[name]["read"], files[name]["written"]) for name in ("data", "copy", "sent")
    }
    assert moved == {"data": (16 * MIB, 0), "copy": (0, 8 * MIB), "sent": (0, 8 * MIB)}
    assert {size["name"] for size in files["data"]["sizes"]} == {"reads"}
    assert {size["name"] for size in files["copy"]["sizes"]} == {"writes"}
    asked = [one["bytes_asked"] for file in document["files"] for one in file["operations"]]
    assert sum(asked) < 64 * MIB
    assert 16 * MIB <= found["posix_read"] < 17 * MIB
    assert 16 * MIB <= found["posix_written"] < 17 * MIB
    (process,) = report(tmp_path, "--by", "process")["rows"]
    assert process["read"] == found["posix_read"] + found["stdio_read"]
    assert process["written"] == found["posix_written"] + found["stdio_written"]


def test_many_reads_of_streams_hide_nothing(tmp_path: Path) -> None:
    """What a stream may read ahead is a buffer for each that is opened, not for each line."""
    (tmp_path / "lines").write_text("".join(f"{i}\n" for i in range(20000)))
    (tmp_path / "data").write_bytes(bytes(16 * MIB))
    script = "env -i /bin/cat data > copy; sed -n 5p lines > line; true"
    found = coverage(tmp_path, "sh", "-c", script)
    assert found["is_complete"] is False
    assert 15 * MIB < found["unseen_read"] <= 17 * MIB


def test_a_child_that_does_not_load_the_library_is_unseen(tmp_path: Path) -> None:
    """Its parent waits for it, and has what the kernel counted of it."""
    script = f'{WRITES_8 % "a"}; env -i PATH="$PATH" {WRITES_8 % "b"}; true'
    found = coverage(tmp_path, "sh", "-c", script)
    assert found["is_complete"] is False
    assert found["unseen_written"] == 8 * MIB


MANY_CALLS = "import os\nfd = os.open('data', 66)\nfor i in range(90000): os.pwrite(fd, b'x', i)\n"
"""With the trace they leave ten times as much as they write."""


@pytest.mark.parametrize(
    "script",
    [
        'python3 -c "$MANY_CALLS"; true',
        'python3 -c "$MANY_CALLS"; exec python3 -c "$MANY_CALLS"',
        "python3 -c \"$MANY_CALLS\nos.execlp('true', 'true')\"; true",
        'python3 -c "$MANY_CALLS\nos.kill(os.getpid(), 9)"; true',
    ],
    ids=["child", "executes", "child executes", "killed child"],
)
def test_what_the_trace_writes_in_children_is_not_the_programs(tmp_path: Path, script: str) -> None:
    script = script.replace("$MANY_CALLS", MANY_CALLS).replace("\\n", "\n")
    found = coverage(tmp_path, "sh", "-c", script, options=["--trace"])
    calls = 90000 * script.count("range")
    assert found["posix_written"] - calls < 4096
    assert 0 <= found["kernel_written"] - calls < 4096
    assert found["is_complete"]
    assert found["unseen_written"] < 4096


def test_below_a_process_that_was_killed_bytes_are_counted_once(tmp_path: Path) -> None:
    inner = f"{WRITES_8 % 'a'}; kill -9 $$"
    found = coverage(tmp_path, "sh", "-c", f"sh -c '{inner}'; true")
    assert (found["processes"], found["counted"]) == (3, 2)
    assert 8 * MIB <= found["kernel_written"] < 9 * MIB
    assert found["unseen_written"] == 0


def test_what_a_forked_child_moved_before_its_first_call_is_its_own(tmp_path: Path) -> None:
    script = """
fd = os.open("b", 66)
if os.fork():
    os.wait()
else:
    write_8(fd)
    os.write(fd, block)
    os._exit(0)
"""
    found = coverage(tmp_path, "python3", "-c", RAW_WRITES + script)
    assert found["processes"] == found["counted"] == 2
    assert found["unseen_written"] == 8 * MIB


@pytest.mark.parametrize("is_ignored", [False, True], ids=["waits", "ignores"])
def test_what_children_moved_hides_nothing_of_their_parents(
    tmp_path: Path, is_ignored: bool
) -> None:
    """Of children that nobody waits for the parent has no counts."""
    script = f"""
import signal
if {is_ignored}:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.posix_spawnp("dd", ["dd", "if=/dev/zero", "of=a", "bs={MIB}", "count=16", "status=none"],
                        os.environ)
try:
    os.waitpid(child, 0)
except ChildProcessError:
    assert {is_ignored}
write_8(os.open("b", os.O_WRONLY | os.O_CREAT))
"""
    found = coverage(tmp_path, "python3", "-c", RAW_WRITES + script)
    assert found["processes"] == found["counted"] == 2
    assert found["unseen_written"] == 8 * MIB
    assert found["kernel_written"] - 24 * MIB < 4096
