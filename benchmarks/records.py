"""A record of a record file: floor is memcpy into memory that is there, peer fwrite."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.build import lines, program
from benchmarks.table import Row, Table

_RECORDS = 4_000_000
_SIZES = (32, 64)


def run(rounds: int) -> Table:
    """Return nanoseconds of CPU time for a record, written from C and read into NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "records.gnrec")
        measured = [
            lines(program("bench_records"), str(_RECORDS), path)[0]
            for _ in range(max(3, rounds // 4))
        ]
        read_ns = median(_read_ns(folder) for _ in range(max(3, rounds // 4)))
    columns = [median(column) for column in zip(*measured, strict=True)]
    rows = []
    for size, at in zip(_SIZES, range(0, len(columns), 4), strict=True):
        copy, stdio, one, two = columns[at : at + 4]
        rows += [
            Row(f"memcpy of {size} bytes", "floor" if at == 0 else "", copy),
            Row(f"fwrite of {size} bytes", "peer" if at == 0 else "", stdio),
            Row(f"gn_record_append of {size} bytes", "", one),
            Row("the same, two threads, each", "", two),
        ]
    rows.append(Row("read into NumPy, with checksums, 32 bytes", "", read_ns))
    return Table("records", "ns", rows, [])


def _read_ns(folder: str) -> float:
    from gnomon.store.record_file import open_records

    path = Path(folder) / "read.gnrec"
    lines(program("bench_records"), "--leave", str(_RECORDS), str(path))
    begin = time.thread_time_ns()
    count = len(open_records(path).columns("small"))
    took = time.thread_time_ns() - begin
    path.unlink()
    return took / count
