"""Damaged perf.data files: each is read, or refused with one line that names the file."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from perf_data_files import START, USUAL, Event, PerfData
from perf_data_seeds import BASE, profiles

from gnomon.errors import RunDirectoryError
from gnomon.sampling.perf_data.profile import open_perf_data, read_perf_data
from gnomon.store.run_head import problem_of

# Of so many damaged files one is opened as a run, which takes much longer than to read it.
AS_RUNS = 100
SECONDS_MOST = 2
NUMBERS = (0, 1, 7, 8, 9, 127, 128, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1,
           (1 << 64) - 4095, (1 << 64) - 1)  # fmt: skip


def damaged(random: Random, whole: bytes) -> bytes:
    """Return a file of which some bytes or a number are others, or which ends early."""
    content = bytearray(whole)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(content) + 1)
        how = random.randrange(8)
        if how == 0:
            end = min(at + random.choice((1, 4, 30)), len(content))
            content[at:end] = random.randbytes(end - at)
        elif how in (1, 2):
            at &= ~7
            content[at : at + 8] = struct.pack("<Q", random.choice(NUMBERS))
        elif how == 3:
            at &= ~3
            content[at : at + 4] = struct.pack("<I", random.choice(NUMBERS) & 0xFFFFFFFF)
        elif how == 4:
            at &= ~1
            content[at : at + 2] = struct.pack("<H", random.choice(NUMBERS) & 0xFFFF)
        elif how == 5:
            begin = random.randrange(len(content) + 1) & ~7
            content[at:at] = content[begin : begin + random.choice((8, 40, 100))]
        elif how == 6:
            end = min(at + random.choice((1, 8)), len(content))
            content[at:end] = bytes([byte ^ 1 << random.randrange(8) for byte in content[at:end]])
        else:
            del content[random.choice((at, len(content))) :]
    return bytes(content)


def refusal(path: Path) -> str:
    """Return why a damaged file is not read, "" if it is: every number then has its place."""
    try:
        with path.open("rb") as file:
            head, generated = read_perf_data(path, file)
            tables = list(generated)
    except RunDirectoryError as error:
        return str(error)
    assert not problem_of(head)
    by_name = {table.schema.name: table for table in tables}
    of_profile = [table for table in tables if table.schema.name == "profile"]
    for table in tables:
        for column in table.schema.columns:
            if column.refers and len(table):
                numbers = table.numbers(column.name)
                assert -1 <= numbers.min() <= numbers.max() < len(by_name[column.refers])
    for table, name in product(of_profile, ("inclusive", "exclusive")):
        assert np.isfinite(table.numbers(name)).all()
        assert (table.numbers(name) >= 0).all()
    return ""


def outcomes(folder: Path, n: int, seed: int) -> tuple[int, int]:
    """Return how many of n damaged files were read, and how many refused."""
    wholes, random = list(profiles(folder).values()), Random(seed)
    path = folder / "damaged.data"
    n_read = 0
    for number in range(n):
        path.write_bytes(damaged(random, wholes[number % len(wholes)]))
        began = time.process_time()
        reason = refusal(path)
        assert time.process_time() - began < SECONDS_MOST
        assert not reason or (reason.startswith(f"{path}: ") and reason.isprintable())
        n_read += not reason
        if not reason and number % AS_RUNS == 0:
            joined = (
                "SELECT COUNT(*) FROM profile JOIN locations USING (location) "
                "JOIN paths USING (path) JOIN regions USING (region) JOIN metrics USING (metric)"
            )
            run = open_perf_data(path)
            assert run.query(joined) == run.query("SELECT COUNT(*) FROM profile")
    return n_read, n - n_read


def test_whole_files_are_read(tmp_path: Path) -> None:
    for name, content in profiles(tmp_path).items():
        (tmp_path / name).write_bytes(content)
        assert refusal(tmp_path / name) == "", name


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    counted = outcomes(tmp_path, 400, 3)
    # Damage is neither all that there is nor nothing.
    assert min(counted) > 40, counted


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 15))
def test_twenty_thousand_damaged_files(tmp_path: Path, seed: int) -> None:
    assert sum(outcomes(tmp_path, 20_000, seed)) == 20_000


PEAK = """
import re, sys
from pathlib import Path
from gnomon.errors import RunDirectoryError
from gnomon.sampling.perf_data.profile import open_perf_data
try:
    open_perf_data(Path(sys.argv[1]))
except RunDirectoryError as error:
    assert "\\n" not in str(error)
# Not ru_maxrss, which has the peak of who started it.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def peak_bytes(path: Path) -> int:
    command = [sys.executable, "-c", PEAK, str(path)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    return int(done.stdout) << 10


@pytest.mark.parametrize("what", ["forks", "mappings", "short samples", "processes"])
def test_memory_is_bounded_by_the_files_size(what: str, tmp_path: Path) -> None:
    data = PerfData(Event(3 if what == "short samples" else USUAL))
    n = 20_000
    if what == "forks":
        for number in range(n // 2):
            data.mmap2(1, BASE + 0x2000 * number, 0x1000, "/made/app")
        for pid in range(2, n // 2):
            data.fork(pid, pid - 1, START + pid)
            data.mmap2(pid, BASE, 0x800, "/made/app", START + pid)
    elif what == "mappings":
        for number in range(n):
            data.mmap2(1, BASE + 0x2000 * (n - number), 0x1000, f"/made/{number}")
    elif what == "processes":
        for pid in range(n):
            data.sample(BASE, pid=pid, time=START + pid)
    else:
        for _ in range(n):
            data.sample(BASE)
    data.sample(BASE)
    path = tmp_path / "perf.data"
    path.write_bytes(data.file())
    assert peak_bytes(path) < (200 << 20) + 4 * path.stat().st_size
