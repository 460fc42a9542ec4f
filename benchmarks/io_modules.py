"""Modules of Modular I/O: prefetch of cold files, on two devices, and small writes put together."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.build import lines, program
from benchmarks.table import Grid, Table, verdict

_FILE_BYTES = 256 << 20
_REQUEST_BYTES = 16 << 10
# The distance from a request to the next, or the order; the least that prefetch is to gain with
# the usual read-ahead of 128 KiB.
_PATTERNS = {
    "sequential": 1.3,
    "backward": 3.0,
    "65536": 3.0,
    "262144": 3.0,
    "1052672": 3.0,
}
_WAYS = ("plain", "sequential", "pf")
# What a disk gives varies: by a half of what a sequential reader gets of it.
_SEQUENTIAL_ROUNDS, _OTHER_ROUNDS = 25, 7


def run(rounds: int) -> Table:
    """Return MB/s of cold reads, and nanoseconds of small requests."""
    subjects: dict[str, dict[str, float]] = {}
    limits: list[str] = []
    few = max(3, rounds // 4)
    bench = program("bench_io_modules")
    with tempfile.TemporaryDirectory(dir=Path.cwd() / "build") as folder:
        for device, path in _files(Path(folder)):
            for pattern, least in _PATTERNS.items():
                is_sequential = pattern == "sequential"
                reads = _SEQUENTIAL_ROUNDS if is_sequential else _OTHER_ROUNDS
                rates = _rates(bench, path, pattern, reads)
                subjects[f"{pattern}, {device}, MB/s"] = rates
                gain = rates["pf"] / rates["plain"]
                needed = least if "128" in device else 0.97
                limits.append(_at_least(f"{device}: {pattern}", gain, needed))
        path = Path(folder) / "small"
        plain = _ns(bench, few, "write", path, "plain", 200_000)
        behind = _ns(bench, few, "write", path, "wb", 4_000_000)
        _write_file(path, 1 << 20)
        cached = _ns(bench, few, "hit", path, "pf", 10_000_000)
        for what, module, count in (("write", "wb", 2_000_000), ("read", "pf", 5_000_000)):
            subjects[f"{what} of 16 bytes by any program, ns"] = _any_program(
                Path(folder), few, what, module, count
            )
        path.unlink()
    subjects["write of 16 bytes, ns"] = {"plain": plain, "wb": behind}
    subjects["read of 16 bytes from a page, ns"] = {"pf": cached}
    limits.append(_at_least("writes of 16 bytes", plain / behind, 15))
    limits.append(verdict("a read from a page", cached, 40, "ns"))
    return Grid("io-modules", "", (*_WAYS, "wb"), subjects, limits)


def _any_program(folder: Path, rounds: int, what: str, module: str, count: int) -> dict[str, float]:
    """Return nanoseconds of a request without Gnomon, and with its library, which records, too."""
    import gnomon.io

    library = Path(gnomon.io.__file__).with_name("libgnomon_io.so")
    (folder / "run").mkdir(exist_ok=True)
    preload = ("env", f"LD_PRELOAD={library}", f"GNOMON_RUN_DIR={folder / 'run'}")
    ways = {
        "plain": (),
        module: (*preload, f"MIO_FILES=** [ {module} ]", f"MIO_STATS={folder / 'stats'}"),
    }
    measured: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, words in ways.items():
            n = str(count if words else count // 10)
            command = (*words, program("bench_small_requests"), what, str(folder / "small"), n)
            measured[way].append(lines(*command)[0][0])
    return {way: median(values) for way, values in measured.items()}


def _rates(bench: str, path: Path, pattern: str, rounds: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {way: [] for way in _WAYS}
    for _ in range(rounds):
        for way in _WAYS:
            _drop_caches()
            printed = lines(bench, "read", str(path), way, pattern, str(_REQUEST_BYTES), "cold")
            rates[way].append(printed[0][0])
    return {way: median(values) for way, values in rates.items()}


def _ns(bench: str, rounds: int, what: str, path: Path, way: str, count: int) -> float:
    return median(lines(bench, what, str(path), way, str(count))[0][0] for _ in range(rounds))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a file on the disk, and for root one on a loop device that reads 128 KiB ahead."""
    path = folder / "file"
    _write_file(path, _FILE_BYTES)
    yield "disk", path
    if os.geteuid() == 0:
        with _loop_device(folder) as mount:
            path.rename(folder / "source")
            path = mount / "file"
            _write_file(path, _FILE_BYTES)
            yield "128 KiB ahead", path


@contextmanager
def _loop_device(folder: Path) -> Iterator[Path]:
    image, mount = folder / "image", folder / "mount"
    _write_file(image, _FILE_BYTES + (44 << 20))
    mount.mkdir()
    _quiet("mkfs.ext4", "-q", "-F", str(image))
    device = _quiet("losetup", "--direct-io=on", "--show", "-f", str(image)).strip()
    try:
        _quiet("mount", device, str(mount))
        try:
            setting = Path("/sys/block") / Path(device).name / "queue" / "read_ahead_kb"
            setting.write_text("128")
            yield mount
        finally:
            _quiet("umount", str(mount))
    finally:
        _quiet("losetup", "-d", device)


def _write_file(path: Path, size: int) -> None:
    chunk = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(size // len(chunk)):
            file.write(chunk)
        os.fsync(file.fileno())


def _drop_caches() -> None:
    # The program has the file's pages dropped too; without root that is all.
    if os.geteuid() == 0:
        Path("/proc/sys/vm/drop_caches").write_text("1")


def _quiet(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _at_least(what: str, measured: float, limit: float) -> str:
    met = "met" if measured >= limit else "MISSED"
    return f"{what}: {measured:.2f} × plain, at least {limit:g} ×: {met}"
