"""Reports and runs of many ranks are the same, whoever shares the work: a loop, threads, processes,
the ranks of an MPI job, or the workers of a Dask cluster."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import mpi
import pytest
from commands import GNOMON, gnomon, run

# More than one batch of sets is numbered, and more than one of rows is merged.
RANKS = 520
REGIONS, METRICS, EVENTS = 10, 5, 200
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what 520 ranks left of a run, and a run of a million values."""
    folder = tmp_path_factory.mktemp("job")
    for name, numbers in (("left", (RANKS, REGIONS, METRICS, EVENTS)), ("large", (60, 500, 40, 0))):
        words = (sys.executable, "-m", "benchmarks.large_job", name, *map(str, numbers))
        made = run(*words, cwd=folder, env={"PYTHONPATH": str(ROOT)})
        assert made.returncode == 0, made.stderr
    made = gnomon("repair", "large", cwd=folder)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Dask cluster of two workers."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    dask = str(Path(sys.executable).parent / "dask")
    words = (
        ("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"),
        ("worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"),
    )
    children = []
    try:
        for one in words:
            command = (dask, *one, "--scheduler-file", str(file))
            with (folder / one[0]).open("wb") as said:
                children.append(subprocess.Popen(command, cwd=folder, stdout=said, stderr=said))
            deadline = time.monotonic() + 120
            while not file.exists():
                assert time.monotonic() < deadline, (folder / one[0]).read_text()
                time.sleep(0.1)
        yield json.loads(file.read_text())["address"]
    finally:
        for child in reversed(children):
            child.terminate()
            child.wait()


def report(folder: Path, by: str, *executor: str) -> str:
    done = gnomon("report", "large", "profile", "--by", by, "--json", *executor, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["rows"]) > 1
    return str(done.stdout)


def under_mpi(folder: Path, *words: str) -> str:
    return mpi.launch(mpi.OPEN_MPI, 3, GNOMON, *words, "--executor", "mpi", folder=folder).out


# Two analyses: sums of regions, whose values are added up, and of ranks.
BY = ("region", "rank")


@pytest.mark.parametrize("by", [BY[0], pytest.param(BY[1], marks=pytest.mark.long)])
def test_an_analysis_is_the_same_whoever_does_it(job: Path, by: str) -> None:
    usual = report(job, by)
    assert report(job, by, "--executor", "threads:3") == usual
    assert report(job, by, "--executor", "processes:2") == usual
    assert under_mpi(job, "report", "large", "profile", "--by", by, "--json") == usual


@pytest.mark.long
def test_an_analysis_is_the_same_under_dask(job: Path, scheduler: str) -> None:
    for by in BY:
        assert report(job, by, "--executor", f"dask:{scheduler}") == report(job, by)


def digests(made: Path) -> dict[str, str]:
    """Return a digest of every row of every table, in their order."""
    found = {}
    for file in sorted(made.glob("*.parquet")):
        with duckdb.connect() as connection:
            rows = connection.execute(f"SELECT * FROM read_parquet('{file}')").fetchall()
        found[file.name] = hashlib.sha256(repr(rows).encode()).hexdigest()
    assert "events.parquet" in found
    return found


def merged(job: Path, folder: Path, who: str) -> dict[str, str]:
    """Return digests of the run that one of them makes of what the ranks left."""
    name = who.replace(":", "-").replace("/", "-")
    raw = folder / f"{name}.gnomon.raw"
    subprocess.run(["cp", "-r", job / "left.gnomon.raw", raw], check=True)
    if who == "mpi":
        under_mpi(folder, "repair", name)
    else:
        done = gnomon("repair", name, "--executor", who, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert not raw.exists()
    return digests(folder / f"{name}.gnomon")


def test_a_merge_is_the_same_whoever_does_it(job: Path, tmp_path: Path) -> None:
    once = merged(job, tmp_path, "threads:1")
    for who in ("threads:3", "processes:2", "mpi"):
        assert merged(job, tmp_path, who) == once, who


@pytest.mark.long
def test_a_merge_is_the_same_under_dask(job: Path, scheduler: str, tmp_path: Path) -> None:
    once = merged(job, tmp_path, "threads:1")
    assert merged(job, tmp_path, f"dask:{scheduler}") == once


def test_a_mistake_is_one_line_of_one_rank(job: Path) -> None:
    words = ("report", "nothing", "profile", "--executor", "mpi")
    done = mpi.launch(mpi.OPEN_MPI, 3, GNOMON, *words, folder=job, status=1)
    assert done.err.count("gnomon: nothing.gnomon: no such run") == 1


@pytest.mark.parametrize(
    ("word", "status", "why"),
    [
        ("nobody", 2, "must be threads[:N], processes[:N], mpi or dask:ADDRESS"),
        ("threads:", 2, "must be threads[:N]"),
        ("processes:0", 2, "workers are 1 to 1024"),
        ("threads:many", 2, "workers are 1 to 1024"),
        ("dask:", 2, "must be threads[:N]"),
        ("dask:nowhere", 1, "no scheduler of Dask answers there"),
    ],
)
def test_who_cannot_do_it_is_refused(job: Path, word: str, status: int, why: str) -> None:
    done = gnomon("report", "large", "profile", "--executor", word, cwd=job)
    assert done.returncode == status
    assert f"--executor {word}: " in done.stderr
    assert why in " ".join(done.stderr.split())
