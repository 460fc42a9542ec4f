"""What one report for all tasks adds to a job's end, and many rank files replayed in one process.

The machine has fewer cores than the job has tasks: what waits for a core is in all figures alike.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.cost import cost_of
from benchmarks.mpi_job import output_of_job
from benchmarks.table import Row, Table, interleaved, verdict

_TOOLS = Path(sys.executable).parent
_SOURCE = Path(__file__).parent / "native" / "bench_ranks.c"
_EVENTS = "task-clock,context-switches,page-faults,minor-faults"
_MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}
_TASKS = (4, 64)
# Seconds that aggregation may add to the end of a job of so many tasks
_LIMITS = {64: 1.0}
_FILES = 4096
# A job of 64 tasks on two cores takes seconds.
_ROUNDS = 7


def run(rounds: int) -> Table:
    """Return milliseconds of jobs: without a tool, with a report of each task, and with one."""
    rows: list[Row] = []
    limits: list[str] = []
    rounds = min(rounds, _ROUNDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for mpi, title in _MPIS.items():
            if not all(shutil.which(f"{command}.{mpi}") for command in ("mpirun", "mpicc")):
                limits.append(f"{title}: not measured, as it is not installed: run `make setup`")
                continue
            for tasks in _TASKS:
                _of_commands(folder, mpi, tasks, rounds, rows, limits)
                _of_sections(folder, mpi, tasks, rounds, rows, limits)
        _replayed(folder, rows, limits)
    return Table("ranks", "ms", rows, limits)


def _of_commands(
    folder: Path, mpi: str, tasks: int, rounds: int, rows: list[Row], limits: list[str]
) -> None:
    tool = [str(_TOOLS / "hpmcount"), "-n", "-u", "-o", "r", "-e", _EVENTS]
    program = ["sleep", "0.2"]
    commands = {
        "no tool": program,
        "hpmcount": [*tool, *program],
        "hpmcount -a average": [*tool, "-a", "average", *program],
    }
    found = interleaved(
        rounds,
        {name: _job_seconds(folder, mpi, tasks, command, {}) for name, command in commands.items()},
    )
    where = f"{_MPIS[mpi]}, {tasks} tasks"
    rows += [Row(f"{where}: {name}", "", 1e3 * seconds) for name, seconds in found.items()]
    added = found["hpmcount -a average"] - found["hpmcount"]
    limits.append(_added(f"{where}: hpmcount -a average", added, tasks))


def _of_sections(
    folder: Path, mpi: str, tasks: int, rounds: int, rows: list[Row], limits: list[str]
) -> None:
    program = folder / f"bench_ranks.{mpi}"
    if not program.exists():
        flags = subprocess.run(
            [_TOOLS / "gnomon", "config", "--cflags", "--libs", "hpm"],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        subprocess.run([f"mpicc.{mpi}", "-O2", "-o", program, _SOURCE, *flags], check=True)
    variables = {"GNOMON_EVENTS": _EVENTS, "HPM_UNIQUE_FILE_NAME": "1"}
    aggregated = variables | {"HPM_AGGREGATE": "average"}
    found = interleaved(
        rounds,
        {
            "hpmTerminate": lambda: float(
                output_of_job(folder, mpi, tasks, [str(program)], variables)
            ),
            "hpmTerminate, HPM_AGGREGATE=average": lambda: float(
                output_of_job(folder, mpi, tasks, [str(program)], aggregated)
            ),
        },
    )
    where = f"{_MPIS[mpi]}, {tasks} tasks"
    rows += [Row(f"{where}: {name}", "", 1e3 * seconds) for name, seconds in found.items()]
    plain, average = found.values()
    limits.append(_added(f"{where}: HPM_AGGREGATE=average", average - plain, tasks))


def _added(what: str, seconds: float, tasks: int) -> str:
    if tasks in _LIMITS:
        return verdict(f"{what} adds", seconds, _LIMITS[tasks], "s")
    return f"{what} adds: {seconds:.2f} s"


def _job_seconds(
    folder: Path, mpi: str, tasks: int, command: list[str], variables: Mapping[str, str]
) -> Callable[[], float]:
    def measure() -> float:
        begun = time.perf_counter()
        output_of_job(folder, mpi, tasks, command, variables)
        return time.perf_counter() - begun

    return measure


def _replayed(folder: Path, rows: list[Row], limits: list[str]) -> None:
    files = folder / "files"
    files.mkdir()
    _write_rank_files(files)
    gnomon = _TOOLS / "gnomon"
    cost = cost_of(gnomon, "repair", "-a", "average", *files.iterdir(), folder=folder)
    rows.append(Row(f"gnomon repair -a average, {_FILES} files", "", 1e3 * cost.seconds))
    rows.append(Row("  of which time on a CPU", "", 1e3 * cost.cpu_seconds))
    limits.append(f"gnomon repair, {_FILES} files: {cost.memory:.0f} MB at most")


def _write_rank_files(folder: Path) -> None:
    from gnomon.measurement import item_codec
    from gnomon.measurement.items import EventInfo, Item, RankFile

    for task in range(_FILES):
        events = tuple(
            EventInfo(name, "kernel", value=float(1000 * (task + 1) + place), how=0, modes=7)
            for place, name in enumerate(_EVENTS.split(","))
        )
        times = (1.0 + task / _FILES,) + (0.5,) * 7
        items = tuple(
            Item(events, times, is_rusage=place == 0, mpi_task_id=task, instr_id=place,
                 label=f"section {place}", group="events", process_id=1000 + task)
            for place in range(11)
        )  # fmt: skip
        file = RankFile(items, "bench", "bench", "node", task=task, size=_FILES, exit_status=0)
        (folder / f"{task}.hpmitems").write_bytes(item_codec.encoded(file))
