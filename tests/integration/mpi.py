"""Programs of several ranks, with Open MPI and with MPICH, each by its full name.

Whatever a launcher has to be told (Open MPI: that root may, that there are more ranks than cores)
is told in the environment of that one command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

CPUS = Path("/sys/devices/system/cpu")
# What tells a program of another job, or of other settings.
FOREIGN = ("HPM_", "GNOMON_", "OMPI_", "PMIX_", "PMI_", "MPI_", "MV2_", "SLURM_", "HYDI_", "HYDRA_")
# How long a launcher may take to end its tasks before they are killed.
GRACE_S = 3.0
# More than tasks need that outlive their launcher.
SETTLED_S = 120.0


class Mpi(NamedTuple):
    """One implementation: its name, which ends the names of its commands, and its packages."""

    name: str
    packages: str
    library: str

    def __str__(self) -> str:
        return self.name

    def command(self, name: str) -> str:
        """Return `mpirun`, `mpicc` or `mpifort` by its full name; fail with the remedy."""
        full = f"{name}.{self.name}"
        if shutil.which(full) is None:
            pytest.fail(f"{full} is not installed: run `make setup`, or install {self.packages}")
        return full


OPEN_MPI = Mpi("openmpi", "openmpi-bin and libopenmpi-dev", "libmpi.so.40")
MPICH = Mpi("mpich", "mpich and libmpich-dev", "libmpich.so.12")
BOTH = (OPEN_MPI, MPICH)


class Job(NamedTuple):
    """What came of a job.

    Attributes:
        status: as subprocess gives it for the launcher.
        out: the launcher's standard output: what a user sees of all ranks.
        err: its standard error.
        outs: standard output of each rank, by rank; () unless the ranks were kept apart.
        errs: standard error of each rank, likewise.
        seconds: wall time of the job.
    """

    status: int
    out: str
    err: str
    outs: tuple[str, ...]
    errs: tuple[str, ...]
    seconds: float

    @property
    def said(self) -> str:
        """Everything that was printed, for messages."""
        ranks = [
            f"--- rank {rank} {name}\n{text}"
            for name, texts in (("stdout", self.outs), ("stderr", self.errs))
            for rank, text in enumerate(texts)
            if text
        ]
        return "\n".join([f"--- stdout\n{self.out}", f"--- stderr\n{self.err}", *ranks])


def launch(
    mpi: Mpi,
    ranks: int,
    *command: str | Path,
    folder: Path,
    status: int | None = 0,
    apart: bool = False,
    limit_s: float = 300,
    variables: Mapping[str, str] | None = None,
    tries: int = 3,
) -> Job:
    """Run a command as `ranks` tasks and return what came of it.

    `apart` has the launcher write each rank's output to files of its own, which are returned by
    rank. Status None is any but that of a job that took longer than `limit_s`, which fails.
    """
    words = [mpi.command("mpirun"), *_options(mpi, ranks), "-n", str(ranks), *map(str, command)]
    kept = folder / f"ranks-{mpi}-{time.monotonic_ns()}"
    if apart:
        kept.mkdir()
        words[1:1] = _apart(mpi, kept)
    begun = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment(mpi) | dict(variables or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    late = False
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        late = True
        out, err = _ended(process)
    seconds = time.monotonic() - begun
    outs = tuple(_kept(mpi, kept, rank, "out") for rank in range(ranks)) if apart else ()
    errs = tuple(_kept(mpi, kept, rank, "err") for rank in range(ranks)) if apart else ()
    job = Job(process.returncode, out, err, outs, errs, seconds)
    if late:
        pytest.fail(f"{' '.join(words)} did not end within {limit_s:g} s\n{job.said}")
    if tries > 1 and not out and _never_began(job):
        return launch(mpi, ranks, *command, folder=folder, status=status, apart=apart,
                      limit_s=limit_s, variables=variables, tries=tries - 1)  # fmt: skip
    if status is not None and job.status != status:
        pytest.fail(f"{' '.join(words)}: status {job.status}, not {status}\n{job.said}")
    return job


def _never_began(job: Job) -> bool:
    """Return whether a launcher failed by itself, before any task had said a word.

    MPICH's own may be killed by SIGPIPE while tasks end that never asked it for anything. All of
    Open MPI have their directories in one of the user's, which the last of them removes: one that
    begins at that moment fails.
    """
    return job.status == -signal.SIGPIPE or "orte_session_dir failed" in job.err


def settled(folder: Path) -> list[str]:
    """Return what is in a folder when no process is in it any more.

    What counted a job that a launcher has ended may outlive the launcher.
    """
    until = time.monotonic() + SETTLED_S
    while time.monotonic() < until:
        if not _is_inhabited(folder):
            return sorted(path.name for path in folder.iterdir())
        time.sleep(0.05)
    pytest.fail(f"{folder}: processes are still there after {SETTLED_S:g} s")


def _is_inhabited(folder: Path) -> bool:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                return True
        except OSError:
            continue
    return False


def environment(mpi: Mpi) -> dict[str, str]:
    """Return the environment for a launcher: this process's, without what other jobs left in it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    if mpi is OPEN_MPI and os.geteuid() == 0:
        clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return clean


def build(mpi: Mpi, source: Path, folder: Path, *flags: str | Path) -> Path:
    """Compile a program of C or Fortran with an MPI's own wrapper and return it."""
    wrapper = mpi.command("mpicc" if source.suffix == ".c" else "mpifort")
    made = folder / f"{source.stem}.{mpi}"
    done = subprocess.run(
        [wrapper, "-g", "-O1", "-o", made, source, *flags],
        env=environment(mpi),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{wrapper} {source.name}: status {done.returncode}\n{done.stderr}")
    return made


def python(mpi: Mpi, folder: Path) -> dict[str, str]:
    """Return the variables by which mpi4py's wheel takes this MPI.

    The wheel asks for MPICH by the name that MPICH itself gives its library, and Debian another.
    """
    if mpi is OPEN_MPI:
        return {"MPI4PY_MPIABI": "openmpi"}
    links = folder / "mpich-by-its-own-name"
    link = links / "libmpi.so.12"
    if not link.is_symlink():
        links.mkdir(exist_ok=True)
        link.symlink_to(_library(mpi))
    return {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(links)}


def _library(mpi: Mpi) -> str:
    listed = subprocess.run(
        ["ldconfig", "-p"],
        env=os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"},
        capture_output=True,
        text=True,
        check=True,
    )
    for line in listed.stdout.splitlines():
        if line.split() and line.split()[0] == mpi.library:
            return line.split()[-1]
    pytest.fail(f"{mpi.library} is not installed: run `make setup`, or install {mpi.packages}")


def cores() -> int:
    """Return the number of cores, which is how many ranks Open MPI starts without being asked."""
    files = [
        CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list" for cpu in os.sched_getaffinity(0)
    ]
    return len({file.read_text() for file in files if file.exists()}) or 1


def _options(mpi: Mpi, ranks: int) -> Sequence[str]:
    return ["--oversubscribe"] if mpi is OPEN_MPI and ranks > cores() else []


def _apart(mpi: Mpi, kept: Path) -> Sequence[str]:
    if mpi is OPEN_MPI:
        return ["--output-filename", f"{kept}:nojobid,nocopy"]
    return ["-outfile-pattern", f"{kept}/%r.out", "-errfile-pattern", f"{kept}/%r.err"]


def _kept(mpi: Mpi, kept: Path, rank: int, stream: str) -> str:
    if mpi is OPEN_MPI:
        # Open MPI pads the rank to the width of the highest.
        found = [
            file
            for file in kept.rglob(f"std{stream}")
            if file.parent.name.startswith("rank.") and int(file.parent.name[5:]) == rank
        ]
    else:
        found = [kept / f"{rank}.{stream}"]
    # A rank that printed nothing may have no file.
    return "".join(file.read_text(errors="replace") for file in found if file.exists())


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a launcher that took too long, with its tasks, and return what was printed."""
    tasks = _descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        return process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        for pid in [process.pid, *tasks, *_descendants(process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return process.communicate()


def _descendants(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(word) for word in text.split()]
    return [*children, *(deeper for child in children for deeper in _descendants(child))]
