"""Where the programs, libraries and the kernel of a perf.data file are found here, and by what."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from perf_data_files import KERNEL, START, USUAL, Event, PerfData
from perf_data_runs import stacks
from perf_reports import opened

from gnomon.sampling.perf_data.header_features import BuildId, HeaderFeatures
from gnomon.sampling.perf_data.kernel_names import kernel_names, recorded_kernel
from gnomon.sampling.perf_data.module_files import find_file
from gnomon.sampling.perf_data.recorded_events import RecordedEvent, names_of, recorded_command
from gnomon.symbols.elf_file import build_id, loaded_segments

CODE = "int answer(int n) { return 42 * n; } int main(int n, char **w) { return answer(n); }"
BASE = 0x400000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "app.c").write_text(CODE)
    subprocess.run(
        ["gcc", "-O0", "-g", "-Wl,--build-id=sha1", "app.c", "-o", "app"], cwd=folder, check=True
    )
    return folder / "app"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".debug" / ".build-id"


def symbol(program: Path, name: str) -> int:
    text = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in text.splitlines() if line.endswith(f" {name}"))


def recorded(path: Path, program: Path, own_id: bytes = b"") -> Path:
    """Write a file with one sample in `answer`, mapped as its segments say."""
    _, segments = loaded_segments(program)
    address = symbol(program, "answer") + 4
    offset, _, start = next(one for one in segments if one[2] <= address < one[2] + one[1])
    data = PerfData(Event(USUAL))
    data.comm(1, "app")
    data.mmap2(1, BASE, 0x10000, str(program), build_id=own_id, offset=offset & ~4095)
    data.sample(BASE + address - start + (offset & 4095), time=START + 9)
    path.write_bytes(data.file())
    return path


def test_a_file_is_known_by_its_build_id(program: Path, tmp_path: Path, cache: Path) -> None:
    own = build_id(program)
    path = recorded(tmp_path / "perf.data", program, bytes.fromhex(own))
    assert stacks(opened(path)) == {"answer": 1000}
    # Another program has its place now; perf keeps the one that ran.
    moved = tmp_path / "moved"
    shutil.copy(program, moved)
    path = recorded(tmp_path / "perf.data", moved, bytes.fromhex(own))
    shutil.copy("/bin/true", moved)
    run = opened(path)
    assert next(iter(stacks(run))).startswith("moved+0x")
    assert any("not the file that ran" in one["reason"] for one in run.head["unavailable"])
    folder = cache / own[:2] / own[2:]
    folder.mkdir(parents=True)
    shutil.copy(program, folder / "elf")
    run = opened(path)
    assert stacks(run) == {"answer": 1000}
    assert run.query("SELECT name, path, build_id FROM modules") == [("moved", str(moved), own)]


def test_without_a_build_id_a_later_file_is_another_one(program: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copy(program, moved)
    path = recorded(tmp_path / "perf.data", moved)
    assert stacks(opened(path)) == {"answer": 1000}
    ended = path.stat().st_mtime
    os.utime(moved, (ended + 10, ended + 10))
    assert next(iter(stacks(opened(path)))).startswith("moved+0x")
    assert find_file(str(moved), "", ended + 20) is not None
    assert find_file(str(moved), "", ended + 20, inode=moved.stat().st_ino + 1) is None
    assert find_file(str(tmp_path), "", ended) is None
    assert find_file("/made/nowhere", "ab" * 20, ended) is None


def test_code_that_a_process_made_is_named_by_its_map(tmp_path: Path) -> None:
    pid = os.getpid()
    own = Path(f"/tmp/perf-{pid}.map")
    data = PerfData()
    data.comm(pid, "jit")
    data.mmap2(pid, 0x7F0000000000, 0x1000, "//anon")
    for offset in (0x10, 0x50, 0x110):
        data.sample(0x7F0000000000 + offset, pid=pid, time=START + offset)
    path = tmp_path / "perf.data"
    path.write_bytes(data.file(features={3: data.text(os.uname().nodename)}))
    try:
        own.write_text("7f0000000000 20 made_first\n7f0000000040 40 py::solve:/src/app.py\n")
        run = opened(path)
    finally:
        own.unlink()
    assert stacks(run) == {"made_first": 1000, "solve": 1000, "[jit]": 1000}
    assert run.query("SELECT file FROM regions WHERE name = 'solve'") == [("/src/app.py",)]


def test_names_of_another_kernel_are_those_in_perfs_cache(cache: Path) -> None:
    own = "ab" * 20
    features = HeaderFeatures({}, build_ids=(BuildId("[kernel.kallsyms]", own, is_kernel=True),))
    # It was started anew, at another address, since its symbols were kept.
    start = 0xFFFFFFFF81000000
    kernel = recorded_kernel(features, "_text", start + 0x200000, [])
    addresses = np.array([start + 0x200010, start + 0x201010], np.uint64)
    missing = kernel_names(kernel, addresses).missing
    assert missing is not None
    assert "not the one that runs here" in missing.reason
    folder = cache / own[:2] / own[2:]
    folder.mkdir(parents=True)
    (folder / "kallsyms").write_text(
        f"{start:x} T _text\n{start:x} T first\n{start + 0x1000:x} t second\t[module]\n"
    )
    named = kernel_names(kernel, addresses)
    assert named.missing is None
    assert named.names == {start + 0x200010: "_text", start + 0x201010: "second"}


def test_the_kernel_that_runs_is_known_by_its_place_in_memory(tmp_path: Path) -> None:
    symbols = Path("/proc/kallsyms")
    lines = symbols.read_text().splitlines() if symbols.exists() else []
    own = next((line for line in lines if line.endswith(" T schedule")), "0")
    address = int(own.split()[0], 16)
    if not address:
        pytest.fail("/proc/kallsyms has no addresses: run as root, with kernel.kptr_restrict 0")
    data = PerfData()
    data.comm(1, "app")
    data.sample(address + 4, misc=KERNEL)
    path = tmp_path / "perf.data"
    release = {3: data.text(os.uname().nodename), 4: data.text(os.uname().release)}
    path.write_bytes(data.file(features=release))
    assert stacks(opened(path)) == {"[kernel]": 1000}
    text = next(
        int(line.split()[0], 16) for line in lines if line.endswith((" T _text", " t _text"))
    )
    data.mmap(-1, text, 0x2000000, "[kernel.kallsyms]_text", offset=text, misc=KERNEL)
    path.write_bytes(data.file(features=release))
    assert stacks(opened(path)) == {"schedule": 1000}


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("perf record ./app 1 2", ("./app", "1", "2")),
        ("perf record -g -- ./app -x", ("./app", "-x")),
        ("/usr/bin/perf record -F 99 -g --call-graph dwarf -e cycles:u ./app", ("./app",)),
        ("perf record -F99 -ecycles --freq=99 -o out ./app", ("./app",)),
        ("perf record -ag sleep 1", ("sleep", "1")),
        ("perf record -a -p 12", ()),
        ("perf record -z -o - ./app", ("./app",)),
        ("perf", ()),
    ],
)
def test_the_program_in_perfs_command(words: str, command: tuple[str, ...]) -> None:
    assert recorded_command(words.split()) == command


def test_events_without_names() -> None:
    events = [RecordedEvent(kind, config, 1, 0, 0, 0, 0) for kind, config in
              ((0, 0), (0, 1), (1, 2), (2, 77), (4, 0x1B7), (0, 99), (0, 0))]  # fmt: skip
    assert names_of(events, HeaderFeatures({})) == [
        "cycles", "instructions", "page-faults", "tracepoint 0x4d", "type 4 config 0x1b7",
        "type 0 config 0x63", "cycles #2",
    ]  # fmt: skip
