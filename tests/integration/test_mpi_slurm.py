"""MPI under Slurm, on one node: with a controller, a daemon and keys of the test's own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import GNOMON, run
from mpi import MPICH, OPEN_MPI, Mpi, build, environment
from test_mpi_capability import PROGRAM, SITES

from gnomon.store import run_directory

pytestmark = [pytest.mark.long, pytest.mark.alone]

RANKS = 2
# By what a rank learns of the others: Open MPI by PMIx, MPICH by PMI-2.
LAUNCHERS = pytest.mark.parametrize(
    ("mpi", "plugin"), [(OPEN_MPI, "pmix"), (MPICH, "pmi2")], ids=["openmpi", "mpich"]
)
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
ReturnToService=2
SlurmUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdSpoolDir={folder}/spool
StateSaveLocation={folder}/state
TaskPlugin=task/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
"""


def tool(name: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None:
        pytest.fail(
            f"{name} is not installed: run `make test-long`, which installs slurm-wlm and munge"
        )
    return path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    """The environment in which srun finds the test's own controller."""
    if os.geteuid():
        pytest.fail("Slurm's daemons are started by root: run this test as root")
    # A path that is short enough for sockets, and that nobody else writes to.
    folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True,
                                 check=True).stdout.strip())  # fmt: skip
    folder.chmod(0o755)
    for name in ("spool", "state"):
        (folder / name).mkdir()
    key, configuration = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    configuration.write_text(
        CONFIGURATION.format(
            host=host, folder=folder, cpus=os.cpu_count(), controller=free_port(),
            daemon=free_port(),
        )
    )  # fmt: skip
    variables = {**os.environ, "SLURM_CONF": str(configuration)}
    commands = (
        [tool("munged"), "--foreground", "--force", f"--key-file={key}",
         f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
         f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"],
        [tool("slurmctld"), "-D"],
        [tool("slurmd"), "-D"],
    )  # fmt: skip
    daemons = []
    try:
        for command in commands:
            with (folder / f"{Path(command[0]).name}.out").open("w") as out:
                daemons.append(subprocess.Popen(command, env=variables, stdout=out, stderr=out))
            time.sleep(1)
        for _ in range(60):
            state = run(tool("sinfo"), "-h", "-o", "%t", env=variables)
            if state.stdout.strip() == "idle":
                break
            time.sleep(0.5)
        else:
            said = "".join(path.read_text() for path in sorted(folder.glob("*.out")))
            pytest.fail(f"Slurm has no idle node: {state.stdout}{state.stderr}\n{said}")
        yield variables
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(folder)


def checked(folder: Path, mpi: Mpi, slurm: dict[str, str], *words: str | Path) -> None:
    settings = {**environment(mpi), "SLURM_CONF": slurm["SLURM_CONF"]}
    done = run(*words, cwd=folder, env=settings, timeout=120)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}" for rank in range(RANKS)]
    opened = run_directory.find(str(folder / "r.gnomon"))
    sites = {name: (calls, rows) for name, _, _, calls, rows in opened.query(SITES)}
    assert sites["MPI_Isend"] == (3 * RANKS, RANKS)
    ranks = opened.query("SELECT DISTINCT rank FROM locations WHERE rank >= 0 ORDER BY rank")
    assert [rank for (rank,) in ranks] == list(range(RANKS))


@LAUNCHERS
def test_over_srun(mpi: Mpi, plugin: str, slurm: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "job.c"
    source.write_text(PROGRAM)
    program = build(mpi, source, tmp_path, "-g")
    srun = (tool("srun"), f"--mpi={plugin}", "-n", str(RANKS))
    checked(tmp_path, mpi, slurm, GNOMON, "mpi", "--name", "r", "--", *srun, program)


@LAUNCHERS
def test_inside_srun(mpi: Mpi, plugin: str, slurm: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "job.c"
    source.write_text(PROGRAM)
    program = build(mpi, source, tmp_path, "-g")
    srun = (tool("srun"), f"--mpi={plugin}", "-n", str(RANKS))
    checked(tmp_path, mpi, slurm, *srun, GNOMON, "mpi", "--name", "r", "--", program)
