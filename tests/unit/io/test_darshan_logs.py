"""Logs of Darshan as runs: numbers are those of darshan-parser and darshan-dxt-parser (3.4.7).

The two logs in tests/golden/darshan are of the programs beside them. With Darshan 3.4.7, configured
with --with-jobid-env=NONE and Open MPI, and DARSHAN_LOGPATH and DXT_ENABLE_IO_TRACE=1 set, in an
empty folder:

    gcc -O1 -o serial serial.c
    DARSHAN_ENABLE_NONMPI=1 LD_PRELOAD=libdarshan.so ./serial
    mpicc -o ranks ranks.c
    mpirun -n 4 -x DXT_ENABLE_IO_TRACE=1 -x LD_PRELOAD=libdarshan.so ./ranks
"""

from __future__ import annotations

import json
import os
import platform
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gnomon.errors import RunDirectoryError
from gnomon.io.darshan_log.log_run import open_darshan
from gnomon.io.darshan_log.reader import DarshanReader
from gnomon.store.run_head import problem_of

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="PyDarshan has wheels for x86-64 alone"
)
LOGS = Path(__file__).parents[2] / "golden" / "darshan"
SERIAL, RANKS = LOGS / "serial.darshan", LOGS / "ranks.darshan"
NAMES, DXT, HEADER_BYTES, MAPS_AT = -1, 10, 1328, 32


def gnomon(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gnomon", *map(str, words)],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


def report(log: Path, *words: str) -> dict[str, Any]:
    ended = gnomon("report", log, "io", *words, "--json")
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.fixture(scope="module")
def serial() -> dict[str, dict[str, Any]]:
    return {Path(file["path"]).name: file for file in report(SERIAL)["files"]}


@pytest.fixture(scope="module")
def ranks() -> dict[str, dict[str, Any]]:
    return {Path(file["path"]).name: file for file in report(RANKS)["files"]}


def calls(file: dict[str, Any]) -> dict[str, float | None]:
    return {own["name"]: own["calls"] for own in file["operations"]}


def seconds(file: dict[str, Any]) -> dict[str, float | None]:
    return {own["name"]: own["seconds"] for own in file["operations"]}


def test_calls_and_bytes_are_those_of_the_counters(serial: dict[str, dict[str, Any]]) -> None:
    data = serial["data.bin"]
    assert calls(data) == {
        "open": 1, "read": 18, "write": 16, "lseek": 1, "fsync": 1, "fdatasync": 1,
        "write and fsync": None, "other calls": None,
    }  # fmt: skip
    assert (data["read"], data["written"], data["opens"]) == (81536, 65536, 1)
    assert data["file_system"] == "ext4"
    assert calls(serial["strided.bin"]) == {"open": 1, "write": 8, "other calls": None}
    notes = serial["notes.txt"]
    assert calls(notes) == {
        "fopen": 1, "fread": 1, "fwrite": 100, "fseek": 1, "fflush": 1,
        "fwrite and fflush": None, "other stream calls": None,
    }  # fmt: skip
    assert {own["layer"] for own in notes["operations"]} == {"stdio"}
    assert (notes["read"], notes["written"]) == (200, 1000)


def test_times_are_of_the_calls_that_they_are_known_of(serial: dict[str, dict[str, Any]]) -> None:
    data = seconds(serial["data.bin"])
    assert data["read"] == pytest.approx(0.000050, abs=5e-7)
    # Darshan has one time for writes and fsync.
    assert data["write and fsync"] == pytest.approx(0.011247, abs=5e-7)
    assert data["other calls"] == pytest.approx(0.000033, abs=5e-7)
    assert [data[name] for name in ("open", "write", "lseek", "fsync")] == [None] * 4
    assert serial["data.bin"]["seconds"] == pytest.approx(0.011330, abs=15e-7)
    assert seconds(serial["strided.bin"])["write"] == pytest.approx(0.000034, abs=5e-7)
    assert seconds(serial["notes.txt"])["fread"] == pytest.approx(0.000001, abs=5e-7)


def test_what_darshan_does_not_know_is_not_there(serial: dict[str, dict[str, Any]]) -> None:
    for file in serial.values():
        assert file["file_bytes"] is None
        assert {own["bytes_asked"] for own in file["operations"]} == {None}
        assert {own["failures"] for own in file["operations"]} == {None}
        for access in (*file["reads"], *file["writes"]):
            assert access["forward_bytes"] is None
            assert access["backward_bytes"] is None
    # mmap was called, and this Darshan could not count it.
    assert "mmap" not in calls(serial["data.bin"])
    (notes,) = serial["notes.txt"]["reads"]
    assert (notes["forward"], notes["backward"], notes["unaligned"]) == (None, None, None)
    coverage = report(SERIAL)["coverage"]
    assert coverage["is_complete"] is None
    assert coverage["counted"] == 0


def test_how_requests_were_placed(serial: dict[str, dict[str, Any]]) -> None:
    (reads,), (writes,) = serial["data.bin"]["reads"], serial["data.bin"]["writes"]
    # 2 of 18 were sequential and 1 of these consecutive; one of the others may be the first.
    assert (reads["forward"], reads["backward"], reads["end"]) == (1, 15, 65536)
    assert (writes["forward"], writes["backward"], writes["end"]) == (0, None, 65536)
    (strided,) = serial["strided.bin"]["writes"]
    assert (strided["forward"], strided["unaligned"], strided["end"]) == (7, 4, 14848)
    assert serial["strided.bin"]["unaligned"] == 4
    assert serial["data.bin"]["unaligned"] == 0


def test_sizes_are_darshans_classes(serial: dict[str, dict[str, Any]]) -> None:
    assert [(own["name"], own["size"], own["calls"]) for own in serial["data.bin"]["sizes"]] == [
        ("reads", "up to 100 bytes", 1), ("reads", "up to 1 KiB", 16),
        ("reads", "up to 100 KiB", 1), ("writes", "up to 10 KiB", 16),
    ]  # fmt: skip
    assert [(row["name"], row["size"], row["calls"]) for row in report(SERIAL, "--by", "size")[
        "rows"]] == [
        ("read", "up to 100 bytes", 1), ("read", "up to 1 KiB", 16), ("write", "up to 1 KiB", 8),
        ("write", "up to 10 KiB", 16), ("read", "up to 100 KiB", 1),
    ]  # fmt: skip


def test_records_of_all_ranks_are_of_a_location_of_their_own(
    ranks: dict[str, dict[str, Any]],
) -> None:
    shared = ranks["shared.bin"]
    assert (calls(shared)["read"], calls(shared)["write"], calls(shared)["open"]) == (4, 16, 4)
    assert (shared["read"], shared["written"], shared["unaligned"]) == (8192, 32768, 10)
    # 4 of 4 reads were by ranks that may have read there first.
    assert (shared["reads"][0]["forward"], shared["reads"][0]["backward"]) == (3, None)
    for rank in range(4):
        assert calls(ranks[f"rank{rank}.bin"])["write"] == rank + 1
        assert ranks[f"rank{rank}.bin"]["written"] == 1024 * (rank + 1)
    rows = {row["rank"]: row for row in report(RANKS, "--by", "process")["rows"]}
    assert rows.keys() == {-1, 0, 1, 2, 3}
    assert rows[-1]["name"] == "all ranks"
    assert [rows[rank]["written"] for rank in range(4)] == [1024, 2048, 3072, 4096]
    assert report(RANKS)["coverage"]["processes"] == 4


def test_mpi_io_is_beside_the_calls_that_it_makes(ranks: dict[str, dict[str, Any]]) -> None:
    rows = report(RANKS)["mpi_io"]
    assert {Path(row["path"]).name for row in rows} == {"collective.bin"}
    own = {row["name"]: (row["calls"], row["bytes"]) for row in rows}
    assert own == {
        "collective opens": (4, None), "collective writes": (4, 32768), "syncs": (4, None),
        "independent reads": (4, 16384), "writes and syncs": (None, None),
        "opens and other calls": (None, None),
    }  # fmt: skip
    times = {row["name"]: row["seconds"] for row in rows}
    assert times["independent reads"] == pytest.approx(0.000063, abs=5e-7)
    assert times["writes and syncs"] == pytest.approx(0.007819, abs=5e-7)
    assert times["opens and other calls"] == pytest.approx(0.040463, abs=5e-7)
    # No call is there twice.
    assert ranks["collective.bin"]["written"] == 32768
    assert ranks["collective.bin"]["calls"] == 13
    assert "calls of MPI-IO" in gnomon("report", RANKS, "io").stdout


def test_traces_are_events() -> None:
    run = open_darshan(RANKS)
    rows = run.query(
        "SELECT l.rank, f.name, r.name, e.access, e.file_offset, e.bytes, e.start_ns, e.asked, "
        "e.opening, e.duration_ns FROM events e JOIN locations l ON l.location = e.location "
        "JOIN regions r ON r.region = e.region JOIN files f ON f.file = e.file "
        "WHERE f.name LIKE '%shared.bin' AND l.rank = 2 ORDER BY start_ns"
    )
    assert [row[2:6] for row in rows] == [
        ("write", "write", 4096 + 8192 * place, 2048) for place in range(4)
    ] + [("read", "read", 6144, 2048)]
    begin = run.head["started"] * 1e9
    assert all(begin <= row[6] <= begin + run.head["wall_seconds"] * 1e9 for row in rows)
    assert {row[7:9] for row in rows} == {(None, None)}
    assert run.query("SELECT COUNT(*) FROM events e JOIN files USING (file) "
                     "WHERE name LIKE '%/rank3.bin'") == [(4,)]  # fmt: skip
    # A path of an event is one that the profile has, too.
    assert not run.query("SELECT 1 FROM events WHERE path NOT IN (SELECT path FROM profile)")


def test_the_head_has_the_job() -> None:
    run = open_darshan(RANKS)
    assert not problem_of(run.head)
    kinds = {kind.kind: kind for kind in run.region_kinds}
    assert kinds["mpi_io_file"].is_division
    assert (run.head["command"], run.head["ranks"]) == (["./ranks"], 4)
    assert run.head["hosts"] == [{"name": "vm"}]
    assert run.head["darshan"]["format"] == "3.41"
    assert "lib_ver=3.4.7" in run.head["darshan"]["facts"]
    assert ["/", "ext4"] in run.head["darshan"]["mounts"]
    (hows,) = run.query("SELECT list(DISTINCT how ORDER BY how) FROM metrics")
    assert hows == (["counted", "estimated"],)


def test_import_and_reports_say_what_is_not_carried_over(tmp_path: Path) -> None:
    ended = gnomon("import", RANKS, "--name", tmp_path / "ranks")
    assert ended.returncode == 0, ended.stderr
    run = tmp_path / "ranks.gnomon"
    said = gnomon("report", run).stdout
    for text in (said, ended.stderr):
        assert "that are not carried over: DXT_MPIIO, HEATMAP" in " ".join(text.split())
    assert "could not count: POSIX_MMAPS" in " ".join(said.split())
    assert report(run)["files"] == report(RANKS)["files"]


def test_screen_has_calls_in_the_place_of_sites() -> None:
    ended = gnomon("report", SERIAL, "io")
    assert "calls with most time" in ended.stdout
    assert "sites" not in ended.stdout
    assert "no counts of the kernel" in ended.stdout


def test_advice_is_for_runs_of_gnomon() -> None:
    ended = gnomon("io", "--advise", SERIAL)
    assert ended.returncode == 1
    assert "gnomon io --trace" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_missing_package_is_named_with_the_remedy() -> None:
    program = (
        "import sys; sys.modules['darshan'] = None; from gnomon.cli import gnomon_script; "
        "sys.exit(gnomon_script())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "report", SERIAL, "io"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "pip install 'gnomon[darshan]'" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_content_tells_a_log_whatever_its_name(tmp_path: Path) -> None:
    copy = tmp_path / "what"
    copy.write_bytes(SERIAL.read_bytes())
    assert report(copy)["files"]
    reader = DarshanReader()
    assert not reader.sniff(b"")
    assert not reader.sniff(SERIAL.read_bytes()[:15])
    assert not reader.sniff(b"3.41\0\0\0\0" + b"\0" * 8)


# --- damaged logs ---------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    """Return why a log is not read, "" if it is: then it is a run."""
    try:
        run = open_darshan(path)
    except RunDirectoryError as error:
        said = str(error)
        assert str(path) in said
        assert "\n" not in said
        return said
    assert not problem_of(run.head)
    run.query("SELECT SUM(inclusive) FROM profile")
    return ""


def with_region(log: bytes, module: int, content: bytes) -> bytes:
    """Return a log whose region of a module, the last but for others, has other content."""
    place = MAPS_AT + 16 * (module + 1)
    offset = len(log)
    packed = zlib.compress(content)
    return (
        log[:place] + struct.pack("<2Q", offset, len(packed)) + log[place + 16 :] + packed
    )  # fmt: skip


def region(log: bytes, module: int) -> bytes:
    offset, length = struct.unpack_from("<2Q", log, MAPS_AT + 16 * (module + 1))
    return zlib.decompress(log[offset : offset + length])


def damaged(random: Random, whole: bytes) -> bytes:
    content = bytearray(whole)
    for _ in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(len(content))
        content[at] ^= 1 << random.randrange(8)
    ends = (len(content), len(content), random.randrange(len(content)))
    return bytes(content[: random.choice(ends)])


def fuzz(tmp_path: Path, seed: int, n: int) -> None:
    random = Random(seed)
    path = tmp_path / "damaged.darshan"
    refused = 0
    for _ in range(n):
        path.write_bytes(damaged(random, random.choice((SERIAL, RANKS)).read_bytes()))
        refused += bool(refusal(path))
    assert refused > n / 2


def test_damaged_logs_are_refused_or_read(tmp_path: Path) -> None:
    fuzz(tmp_path, 20, 12)


@pytest.mark.long
def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    fuzz(tmp_path, 21, 400)


def test_records_that_are_damaged_behind_their_compression(tmp_path: Path) -> None:
    """What is well packed reaches the library, and what it makes of it Gnomon."""
    random = Random(5)
    path = tmp_path / "damaged.darshan"
    log = RANKS.read_bytes()
    for _ in range(8):
        module = random.choice((1, 2, DXT))
        content = bytearray(region(log, module))
        for _ in range(4):
            at = random.randrange(len(content) // 8) * 8
            value = random.choice((0, 1, -1, 1 << 31, 1 << 59, (1 << 63) - 1, -(1 << 63)))
            content[at : at + 8] = struct.pack("<q", value)
        path.write_bytes(with_region(log, module, bytes(content)))
        refusal(path)


def test_a_log_cut_off_is_told_by_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "cut.darshan"
    path.write_bytes(SERIAL.read_bytes()[:-10])
    assert "at byte 288: HEATMAP: bytes" in refusal(path)
    path.write_bytes(SERIAL.read_bytes()[:100])
    assert "at byte 100: it ends within its header" in refusal(path)


@pytest.mark.parametrize("names", [b"", b"\1" * 5, bytes(1000)])
def test_what_ends_the_library_is_told_in_one_line(tmp_path: Path, names: bytes) -> None:
    """Of names that are cut off PyDarshan 3.5.0 calls abort(3)."""
    path = tmp_path / "abort.darshan"
    log = SERIAL.read_bytes()
    path.write_bytes(with_region(log, NAMES, names))
    said = refusal(path)
    assert f"at byte {len(log)}: the names of files: " in said
    assert "ended by signal 6" in said


def test_a_region_that_unpacks_to_all_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.darshan"
    path.write_bytes(with_region(SERIAL.read_bytes(), NAMES, (b"\1" * 8 + b"x\0") * 5_000_000))
    assert refusal(path)


@pytest.mark.parametrize("count", [1 << 59, (1 << 59) + 1, 1 << 62, -1])
def test_a_trace_of_more_segments_than_it_has(tmp_path: Path, count: int) -> None:
    """The library's own product of these wraps around: what it leaves is not read beyond."""
    path = tmp_path / "trace.darshan"
    log = SERIAL.read_bytes()
    content = bytearray(region(log, DXT))
    struct.pack_into("<q", content, 16 + 8 + 64, count)
    path.write_bytes(with_region(log, DXT, bytes(content)))
    assert "DXT_POSIX" in refusal(path)


def test_a_trace_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.darshan"
    log = SERIAL.read_bytes()
    content = bytearray(region(log, DXT)[:104])
    struct.pack_into("<2q", content, 16 + 8 + 64, (5 << 30) // 32, 0)
    path.write_bytes(with_region(log, DXT, bytes(content)))
    assert refusal(path)


def test_a_rank_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rank.darshan"
    log = SERIAL.read_bytes()
    content = bytearray(region(log, 1))
    struct.pack_into("<q", content, 8, 1 << 40)
    path.write_bytes(with_region(log, 1, bytes(content)))
    assert "a rank that is none of 1" in refusal(path)


def test_a_module_that_is_too_new_names_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "new.darshan"
    log = bytearray(SERIAL.read_bytes())
    versions_at = HEADER_BYTES - 64 * 4
    struct.pack_into("<I", log, versions_at + 4, 99)
    path.write_bytes(log)
    assert "pip install --upgrade darshan" in refusal(path)
    struct.pack_into("<2I", log, versions_at + 4, 4, 0)
    struct.pack_into("<I", log, versions_at + 4 * DXT, 9)
    path.write_bytes(log)
    run = open_darshan(path)
    assert "cannot read DXT_POSIX of version 9" in " ".join(run.head["warnings"])
