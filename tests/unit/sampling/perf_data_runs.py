"""Synthesised perf.data files as runs, and what is asked of these."""

from __future__ import annotations

from pathlib import Path

from perf_data_files import Event, PerfData

from gnomon.store.run import Run

ORDERS = ("<", ">")
BASE = 0x400000
# Addresses as long as the PMU was not in the kernel.
APP = "/made/app"
LIBRARY = "/made/lib.so"


def written(path: Path, data: PerfData) -> Path:
    path.write_bytes(data.file())
    return path


def with_code(*events: Event, order: str = "<") -> PerfData:
    """Return a file with a process that has a program and a library mapped."""
    data = PerfData(*events, order=order)
    data.comm(1, "app")
    data.mmap(1, BASE, 0x10000, APP)
    data.mmap(1, BASE + 0x10000, 0x10000, LIBRARY)
    return data


def stacks(run: Run) -> dict[str, float]:
    """Return the weight of each path, its regions the outermost first."""
    paths = {int(path): (int(parent), str(name)) for path, parent, name in run.query(
        "SELECT path, parent, name FROM paths JOIN regions USING (region)")}  # fmt: skip
    own: dict[str, float] = {}
    for path, weight in run.query("SELECT path, SUM(weight) FROM samples GROUP BY path"):
        names, at = [], int(path)
        while at >= 0:
            at, name = paths[at]
            names.append(name)
        text = ";".join(reversed(names[:-1]))
        own[text] = own.get(text, 0) + float(weight)
    return own


def named(run: Run, kind: str) -> list[tuple[object, ...]]:
    return run.query(f"SELECT pid, tid, name FROM locations WHERE kind = '{kind}' ORDER BY ALL")
