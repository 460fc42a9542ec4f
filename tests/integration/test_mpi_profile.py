"""The profile that generated wrappers keep with native/mpi, read back from what each rank left."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mpi import BOTH, Mpi, build, environment, launch
from test_mpi_wrappers import CALLS, INT, PROGRAMS

import gnomon
from gnomon.measurement.totals_file import NONE, SUFFIX, TotalsFile, read_totals
from gnomon.mpi.fortran_source import fortran_source
from gnomon.mpi.header import read_header
from gnomon.mpi.wrapper_source import wrapper_source

NATIVE = Path(__file__).parents[2] / "native"
FOLDERS = ("mpi", "call_sites", "include", "core", "runtime")
ARCHIVES = Path(gnomon.__file__).parent / "lib"
THREADS = 4


@pytest.fixture(scope="module", params=BOTH, ids=str)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wrappers of an MPI, with the profile; the folder has its name."""
    mpi: Mpi = request.param
    folder = tmp_path_factory.mktemp(str(mpi))
    header = read_header(mpi.command("mpicc"))
    source = folder / "wrappers.c"
    source.write_text(wrapper_source(header, fortran_source(header)))
    made = folder / f"lib{mpi}.so"
    done = subprocess.run(
        [mpi.command("mpicc"), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared",
         "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-Wl,-z,nodelete",
         *(f"-I{NATIVE / name}" for name in FOLDERS), "-o", made, source,
         *sorted((NATIVE / "mpi").glob("*.c")), *sorted((NATIVE / "call_sites").glob("*.c")),
         ARCHIVES / "libgnomon-runtime.a",
         ARCHIVES / "libgnomon-core.a"],
        env=environment(mpi), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:4000]
    return made


def mpi_of(library: Path) -> Mpi:
    return next(mpi for mpi in BOTH if library.name == f"lib{mpi}.so")


def profile(
    library: Path,
    folder: Path,
    ranks: int,
    *command: str | Path,
    status: int | None = 0,
    variables: tuple[str, ...] = (),
    says: str | None = None,
) -> list[TotalsFile]:
    """Return what each rank of a job left, by rank; the job `says` so much."""
    staging = folder / "staging"
    staging.mkdir()
    settings = (f"LD_PRELOAD={library}", f"GNOMON_RUN_DIR={staging}", *variables)
    job = launch(
        mpi_of(library), ranks, "env", *settings, *command, folder=folder, status=status, tries=1
    )
    assert says is None or job.out == says, job.said
    files = [read_totals(path) for path in staging.glob(f"*{SUFFIX}")]
    assert sorted(file.rank for file in files) == list(range(ranks)), job.said
    return sorted(files, key=lambda file: file.rank)


def sums(files: list[TotalsFile], column: str) -> dict[str, int]:
    """Return the sum of a column of all sites by routine."""
    found: dict[str, int] = {}
    for file in files:
        for site in file.sites:
            name = file.routines[site["routine"]]
            found[name] = found.get(name, 0) + int(site[column])
    return found


def test_calls_bytes_and_messages_of_a_known_program(library: Path, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")
    files = profile(library, tmp_path, 4, program, str(tmp_path / "data"))
    calls, sent, received = (sums(files, name) for name in ("calls", "sent", "received"))
    for name, quantities in CALLS.items():
        assert calls[name] == sum(quantities.values()), name
        # What came of requests is told of the calls that started them; starts send what they do.
        if name not in ("MPI_Irecv", "MPI_Send_init", "MPI_File_iread_at", "MPI_Recv_init"):
            assert sent[name] == sum(n * one[0] for one, n in quantities.items()), name
            assert received[name] == sum(n * one[1] for one, n in quantities.items()), name
    assert sent["MPI_Send_init"] == 8 * 5 * INT
    assert received["MPI_Irecv"] == 4 * (40 * INT + 2 * INT + 3 * INT + 3 * INT + 2 * 5 * INT)
    for file in files:
        assert file.is_closed
        assert file.is_finalized
        assert file.lost == 0
        assert file.n_ranks == 4
        assert file.up_ticks > 0
        assert file.cost_ticks_call > 0
        assert ("communicator", 0) in file.texts
        assert file.texts["communicator", 0].startswith("MPI_COMM_WORLD")
        place = {int(place): number for number, place in enumerate(file.site_places)}
        for message in file.messages:
            assert int(message["site"]) in place
            assert 0 <= message["peer"] < 4
    of_sizes: dict[str, int] = {}
    for file in files:
        for size in file.sizes:
            name = file.routines[size["routine"]]
            of_sizes[name] = of_sizes.get(name, 0) + int(size["bytes"])
    for name in ("MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv", "MPI_Allreduce"):
        assert of_sizes[name] == sent[name], name
    for name in ("MPI_Recv", "MPI_Irecv"):
        assert of_sizes[name] == received[name], name
    messages = sum(int(message["bytes"]) for file in files for message in file.messages)
    sends = ("MPI_Sendrecv_replace", "MPI_Sendrecv", "MPI_Send", "MPI_Isend", "MPI_Send_init",
                 "MPI_Ssend")  # fmt: skip
    assert messages == sum(sent[name] for name in sends)


def test_sites_are_in_the_program(library: Path, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")
    for file in profile(library, tmp_path, 4, program, str(tmp_path / "data")):
        frames = {int(frame["frame"]): frame for frame in file.frames}
        for site in file.sites:
            assert int(site["frame"]) != NONE
            module = int(frames[int(site["frame"])]["module"])
            assert Path(file.texts["module", module]).name == program.name


@pytest.mark.parametrize("sends", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_threads_lose_no_call(library: Path, sends: int, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "threads.c", tmp_path, "-pthread")
    (file,) = profile(library, tmp_path, 1, program, str(sends))
    calls, received = sums([file], "calls"), sums([file], "received")
    for name in ("MPI_Send", "MPI_Irecv", "MPI_Wait"):
        assert calls[name] == THREADS * sends
    assert received["MPI_Irecv"] == THREADS * sends * INT


def test_a_rank_that_is_killed_leaves_what_it_did(library: Path, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "threads.c", tmp_path, "-pthread")
    files = profile(library, tmp_path, 2, program, "100", "killed", status=None)
    for file in files:
        assert sums([file], "calls")["MPI_Send"] == THREADS * 100
        assert not file.is_finalized
    assert not files[1].is_closed


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_barrier_tells_how_long_collectives_wait_for_the_last(
    library: Path, tmp_path: Path, is_asked: bool
) -> None:
    program = build(mpi_of(library), PROGRAMS / "barriers.c", tmp_path)
    variables = ("GNOMON_MPI_BARRIER=1",) if is_asked else ()
    # Only without barriers rank 0 may be through before rank 1 comes.
    says = "early 0\n" if is_asked else None
    files = profile(
        library, tmp_path, 2, program, tmp_path / "made", variables=variables, says=says
    )
    for file in files:
        expected = {"MPI_Bcast": 1, "MPI_Allreduce": 3, "MPI_Barrier": 1} if is_asked else {}
        assert waited(file) == expected


def waited(file: TotalsFile) -> dict[str, int]:
    """Return how many calls of each routine a barrier came before."""
    sites = dict(zip(file.site_places.tolist(), file.sites, strict=True))
    calls: dict[str, int] = {}
    for waiting in file.waiting:
        site = sites[int(waiting["site"])]
        name = file.routines[site["routine"]]
        calls[name] = calls.get(name, 0) + int(waiting["calls"])
        assert 0 < waiting["ticks"] <= site["ticks"]
    return calls


def test_a_barrier_comes_once_before_a_call_from_fortran(library: Path, tmp_path: Path) -> None:
    options = ("-DMODULE_MPI", "-fallow-argument-mismatch")
    program = build(mpi_of(library), PROGRAMS / "fortran_calls.F90", tmp_path, *options)
    files = profile(library, tmp_path, 2, program, variables=("GNOMON_MPI_BARRIER=1",))
    for file in files:
        calls = waited(file)
        assert calls == {"MPI_Barrier": 3, "MPI_Allreduce": 1, "MPI_Allgather": 1,
                         "MPI_Allgatherv": 1, "MPI_Bcast": 1}  # fmt: skip


def test_a_barrier_changes_no_count(library: Path, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")
    files = profile(library, tmp_path, 4, program, str(tmp_path / "data"),
                    variables=("GNOMON_MPI_BARRIER=1",))  # fmt: skip
    calls, sent = sums(files, "calls"), sums(files, "sent")
    for name, quantities in CALLS.items():
        assert calls[name] == sum(quantities.values()), name
    assert sent["MPI_Allreduce"] == sum(n * one[0] for one, n in CALLS["MPI_Allreduce"].items())


def test_types_whose_handles_come_again_have_their_own_sizes(library: Path, tmp_path: Path) -> None:
    program = build(mpi_of(library), PROGRAMS / "types.c", tmp_path)
    files = profile(library, tmp_path, 1, program)
    sent, received = sums(files, "sent"), sums(files, "received")
    moved = INT * sum(range(1, 21))
    assert sent["MPI_Send"] == sent["MPI_Isend"] == moved
    assert received["MPI_Irecv"] == received["MPI_Recv"] == moved
