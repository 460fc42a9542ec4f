"""Profiles beside the real tools: what `go tool pprof` reads of a run, and Gnomon of Go's files."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from commands import gnomon, run
from sampled_runs import Frame, Stack, write
from stack_values import program_of, stack_values
from turns import made_once

from gnomon.store import exports, run_directory
from gnomon.store.run import Run
from gnomon.store.run_files import READERS

PROGRAMS = Path(__file__).parents[1] / "programs"
PYTHON = """
import hashlib, threading, zlib
def crunch(n):
    return sum(i * i % 7 for i in range(n))
def work():
    crunch(2_000_000)
    for _ in range(300):
        hashlib.sha256(b"x" * 100_000).digest()
    zlib.compress(bytes(range(256)) * 20_000, 9)
thread = threading.Thread(target=work)
thread.start()
work()
thread.join()
"""
Values = dict[str, float]
# The number of a row of -top: flat, its share, the sum of shares, cumulative, its share, name.
_ROW = re.compile(r"\s*(\S+)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%\s+(.*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of Python's threads, its exports, and profiles of a Go program."""
    return made_once(tmp_path_factory.getbasetemp(), "exchanged", measure)


def measure(here: Path) -> None:
    """Record a program, export the run, and run a program of Go that profiles itself."""
    (here / "prog.py").write_text(PYTHON)
    done = gnomon("record", "--name", "py", "--", sys.executable, "prog.py", cwd=here)
    assert done.returncode == 0, done.stderr
    for to, name in (("pprof", "py.pb.gz"), ("collapsed", "py.collapsed")):
        done = gnomon("export", "py", "--to", to, "-o", name, cwd=here)
        assert (done.returncode, done.stderr) == (0, "")
    if shutil.which("go") is None:
        pytest.fail("Go is not installed: run `make setup`")
    shutil.copy(PROGRAMS / "hashes.go", here)
    for command in (("go", "build", "-o", "hashes", "hashes.go"), ("./hashes",)):
        done = run(*command, cwd=here, env=variables(here))
        assert done.returncode == 0, done.stderr


def variables(folder: Path) -> dict[str, str]:
    """Return an environment in which Go keeps what it makes in a folder, and fetches nothing."""
    return os.environ | {
        "HOME": str(folder), "PPROF_TMPDIR": str(folder), "GOCACHE": str(folder / "cache"),
        "GOPATH": str(folder / "path"), "GO111MODULE": "off",
    }  # fmt: skip


def pprof(folder: Path, *arguments: str) -> str:
    """Return what `go tool pprof` prints."""
    done = run("go", "tool", "pprof", *arguments, cwd=folder, env=variables(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout


def top(folder: Path, file: str, unit: str, *arguments: str) -> dict[str, tuple[float, float]]:
    """Return the flat and cumulative values that pprof gives functions."""
    said = pprof(folder, "-top", "-nodecount=100000", "-nodefraction=0", f"-unit={unit}",
                 *arguments, file)  # fmt: skip
    rows: dict[str, tuple[float, float]] = {}
    for line in said.partition("cum%\n")[2].splitlines():
        matched = _ROW.fullmatch(line)
        assert matched, line
        flat, cumulative, name = matched.groups()
        numbers = [float(text.removesuffix(unit)) for text in (flat, cumulative)]
        # Code that was inlined is marked; of it and the rest the function is made.
        name = name.removesuffix(" (inline)").removesuffix(" (partial-inline)")
        before = rows.get(name, (0.0, 0.0))
        rows[name] = (before[0] + numbers[0], before[1] + numbers[1])
    return rows


def by_function(run: Run, metric: str, scale: float) -> tuple[Values, Values]:
    """Return what functions have alone and with all that they call, by name."""
    flat: Values = defaultdict(float)
    cumulative: Values = defaultdict(float)
    for (_, stack), values in stack_values(run, metric, by_thread=has_threads(run)).items():
        for name in set(stack):
            cumulative[name] += values.exclusive * scale
        if stack:
            flat[stack[-1]] += values.exclusive * scale
    return flat, cumulative


def has_threads(run: Run) -> bool:
    return ("thread",) in run.query("SELECT DISTINCT kind FROM locations")


def check_same(
    told: dict[str, tuple[float, float]], flat: Values, cumulative: Values,
    *, but: Iterable[str] = (), within: float,
) -> None:  # fmt: skip
    """Fail if pprof gives a function other values, those of one name in several files aside."""
    names = set(told) - set(but)
    assert names == set(cumulative) - set(but)
    for name in names:
        assert told[name][0] == pytest.approx(flat[name], abs=within), name
        assert told[name][1] == pytest.approx(cumulative[name], abs=within), name


def several_files(run: Run) -> set[str]:
    """Return the functions of a name that is in several files, which pprof keeps apart."""
    rows = run.query(
        "SELECT name FROM regions WHERE kind = 'cpu' GROUP BY name HAVING COUNT(DISTINCT file) > 1"
    )
    return {name for (name,) in rows}


def test_pprof_reads_an_exported_run(folder: Path) -> None:
    own = run_directory.find(str(folder / "py.gnomon"))
    told = top(folder, "py.pb.gz", "ns")
    assert told.pop("python3.11" if "python3.11" in told else Path(sys.executable).name)
    flat, cumulative = by_function(own, "CPU time", 1e9)
    # Each value is a whole number of nanoseconds; a function's is the sum of many.
    check_same(told, flat, cumulative, but=several_files(own), within=2000)
    assert cumulative["crunch"] > 1e7


def test_pprof_knows_threads_modules_and_what_ran(folder: Path) -> None:
    own = run_directory.find(str(folder / "py.gnomon"))
    tags = pprof(folder, "-tags", "py.pb.gz")
    for (tid,) in own.query("SELECT tid FROM locations WHERE kind = 'thread'"):
        assert re.search(rf"thread_id:(?:.|\n)* {tid}\n", tags)
    assert pprof(folder, "-top", "py.pb.gz").startswith(f"File: {program_of(own)}\n")
    raw = pprof(folder, "-raw", "py.pb.gz")
    assert "samples/count cpu/nanoseconds[dflt]" in raw
    assert re.search(r"Comment: gnomon \S+: .*prog\.py", raw)
    mappings = raw.partition("Mappings\n")[2]
    used = own.query(
        "SELECT DISTINCT m.path, m.build_id FROM modules m JOIN regions r ON r.module = m.name "
        "JOIN paths t USING (region) WHERE m.build_id <> '' AND NOT COALESCE(r.inlined, FALSE)"
    )
    assert used
    for path, build_id in used:
        assert re.search(rf"{re.escape(path)} {build_id} \[FN\]\[FL\]\[LN\]\[IN\]", mappings)


def test_pprof_tells_ranks_apart(folder: Path, tmp_path: Path) -> None:
    stacks = [Stack((Frame("main"),), 3, 100, 0), Stack((Frame("main"),), 1, 101, 1)]
    job = run_directory.find(str(write(tmp_path / "job.gnomon", stacks)))
    (folder / "job.pb.gz").write_bytes(b"".join(exports.pprof(job)))
    tags = " ".join(pprof(folder, "-tags", "job.pb.gz").split())
    assert "rank: Total 40.0ms 30.0ms (75.00%): 0 10.0ms (25.00%): 1" in tags


@pytest.mark.parametrize(
    ("file", "metric", "name", "scale", "unit"),
    [("cpu.pb.gz", "CPU time", "cpu", 1e3, "ms"),
     ("heap.pb.gz", "alloc_space", "alloc_space", 1, "B"),
     ("heap.pb.gz", "inuse_space", "inuse_space", 1, "B")],
)  # fmt: skip
def test_profiles_of_go_have_the_values_that_pprof_gives(
    file: str, metric: str, name: str, scale: float, unit: str, folder: Path
) -> None:
    own = run_directory.find(str(folder / file), readers=READERS)
    told = top(folder, file, unit, f"-sample_index={name}")
    flat, cumulative = by_function(own, metric, scale)
    shown = {name: values for name, values in told.items() if any(values)}
    cumulative = {name: value for name, value in cumulative.items() if value}
    check_same(shown, flat, cumulative, but=several_files(own), within=0.51)
    if metric == "CPU time":
        assert cumulative["main.hash"] > 0
        assert own.head["warnings"] == ["pprof: labels of samples are left out: phase"]
    else:
        assert cumulative["main.order"] > 1 << 20


def test_exports_of_a_recorded_run_come_back(folder: Path) -> None:
    own = run_directory.find(str(folder / "py.gnomon"))
    back = run_directory.find(str(folder / "py.pb.gz"), readers=READERS)
    assert stack_values(back, "CPU time", digits=6) == stack_values(own, "CPU time", digits=6)
    collapsed = run_directory.find(str(folder / "py.collapsed"), readers=READERS)
    total = sum(value.exclusive for value in stack_values(own, "CPU time").values())
    weights = stack_values(collapsed, "samples", by_thread=False)
    assert sum(value.exclusive for value in weights.values()) == pytest.approx(
        total * 1e6, abs=len(weights)
    )
