"""Generated wrappers of both MPIs: they compile, and tell exactly what programs do.

They are compiled against a header that takes the place of native/mpi/wrapper.h and writes down what
it is told (tests/programs/mpi_wrappers/wrapper.h), and preloaded into programs whose calls and
bytes are known.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mpi import BOTH, OPEN_MPI, Mpi, build, environment, launch

from gnomon.mpi.fortran_source import fortran_source
from gnomon.mpi.header import read_header
from gnomon.mpi.wrapper_source import unwrapped, wrapper_source, wrappers

PROGRAMS = Path(__file__).parents[1] / "programs" / "mpi_wrappers"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
# (sent, received) in bytes: how many calls of calls.c told so, over its four ranks.
INT, DOUBLE = 4, 8
CALLS: dict[str, dict[tuple[int, int], int]] = {
    # To the next rank, to MPI_PROC_NULL, from rank 0 to 1, and twice three integers.
    "MPI_Send": {(10 * DOUBLE, 0): 4, (0, 0): 4, (4 * INT, 0): 1, (3 * INT, 0): 8},
    # There was room for 20.
    "MPI_Recv": {(0, 10 * DOUBLE): 4},
    "MPI_Mrecv": {(0, 4 * INT): 1},
    "MPI_Sendrecv": {(3 * DOUBLE, 3 * DOUBLE): 4, (5, 5): 4},
    "MPI_Sendrecv_replace": {(INT, INT): 4},
    "MPI_Ssend": {(0, 0): 4},  # it failed
    "MPI_Isend": {(INT, 0): 160, (2 * INT, 0): 4},
    "MPI_Irecv": {(0, 0): 180},
    "MPI_Send_init": {(0, 0): 4},
    "MPI_Start": {(0, 0): 8},
    # At the root, its own part is sent (and at Gather got), too, in place or not.
    "MPI_Bcast": {(7 * INT, 0): 1, (0, 7 * INT): 3, (4 * INT, 0): 1, (0, 0): 1, (0, 4 * INT): 2},
    "MPI_Gather": {(2 * INT, 8 * INT): 2, (2 * INT, 0): 6},
    "MPI_Gatherv": {(1 * INT, 0): 1, (2 * INT, 0): 1, (3 * INT, 10 * INT): 1, (4 * INT, 0): 1},
    "MPI_Scatter": {(12 * INT, 3 * INT): 1, (0, 3 * INT): 3},
    "MPI_Scatterv": {(0, 1 * INT): 1, (0, 2 * INT): 1, (0, 3 * INT): 1, (10 * INT, 4 * INT): 1},
    # The last over an inter-communicator of two and two.
    "MPI_Allgather": {(1 * INT, 4 * INT): 8, (1 * INT, 2 * INT): 4},
    "MPI_Allgatherv": {(n * INT, 10 * INT): 1 for n in (1, 2, 3, 4)},
    "MPI_Alltoall": {(8 * INT, 8 * INT): 8},
    "MPI_Alltoallv": {((4 * r + 6) * INT, (4 * r + 6) * INT): 1 for r in range(4)},
    "MPI_Alltoallw": {((4 * r + 6) * INT, (4 * r + 6) * INT): 1 for r in range(4)},
    "MPI_Reduce": {(6 * INT, 6 * INT): 1, (6 * INT, 0): 3},
    "MPI_Allreduce": {(INT, INT): 4},
    "MPI_Reduce_scatter": {(10 * INT, n * INT): 1 for n in (1, 2, 3, 4)},
    "MPI_Reduce_scatter_block": {(8 * INT, 2 * INT): 4},
    "MPI_Scan": {(3 * INT, 3 * INT): 4},
    "MPI_Exscan": {(3 * INT, 0): 1, (3 * INT, 3 * INT): 3},
    "MPI_Iallreduce": {(8 * INT, 8 * INT): 4},
    "MPI_Barrier": {(0, 0): 12},
    # A ring: two neighbours.
    "MPI_Neighbor_allgather": {(3 * INT, 6 * INT): 4},
    "MPI_Neighbor_alltoall": {(4 * INT, 4 * INT): 4},
    "MPI_Put": {(2 * INT, 0): 4},
    "MPI_Get": {(0, 3 * INT): 4},
    "MPI_Accumulate": {(4 * INT, 0): 4},
    "MPI_Get_accumulate": {(5 * INT, 5 * INT): 4, (0, 6 * INT): 4},
    "MPI_Fetch_and_op": {(INT, INT): 4},
    "MPI_File_write_at": {(4 * INT, 0): 4},
    # Eight were asked for; of the last rank's, four are in the file.
    "MPI_File_read_at": {(0, 8 * INT): 3, (0, 4 * INT): 1},
    "MPI_File_iread_at": {(0, 0): 4},
    "MPI_Init": {(0, 0): 4},
    "MPI_Finalize": {(0, 0): 4},
    "MPI_Pcontrol": {(0, 0): 4},
    "MPI_Comm_free": {(0, 0): 12},
    "MPI_Wait": {(0, 0): 36},
    "MPI_Waitany": {(0, 0): 12},
}


Wrapped = tuple[Mpi, Path]
"""An MPI and the library of its wrappers."""


class Told(list[str]):
    """Lines that the wrappers wrote in all ranks of a job: calls, and requests that they made."""

    def quantities(self) -> dict[str, dict[tuple[int, int], int]]:
        """Return how many calls sent and received how many bytes, by routine."""
        found: dict[str, Counter[tuple[int, int]]] = {}
        for line in self:
            if not line.startswith("request of "):
                name, sent, received, *_ = line.split()
                pair = int(sent.removeprefix("sent=")), int(received.removeprefix("received="))
                found.setdefault(name, Counter())[pair] += 1
        return {name: dict(counts) for name, counts in found.items()}

    def of(self, *parts: str) -> Counter[str]:
        """Return lines that begin with the first part and have the others, with their number."""
        first, *others = parts
        return Counter(it for it in self if it.startswith(first) and all(p in it for p in others))


@pytest.fixture(scope="module", params=BOTH, ids=str)
def wrapped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Wrapped:
    """An MPI with the library of its wrappers."""
    mpi: Mpi = request.param
    return mpi, build_library(mpi, tmp_path_factory.mktemp(f"wrappers-{mpi}"))


def build_library(mpi: Mpi, folder: Path) -> Path:
    compiler = mpi.command("mpicc")
    header = read_header(compiler)
    source, library = folder / "wrappers.c", folder / "libwrappers.so"
    source.write_text(wrapper_source(header, fortran_source(header)))
    options = ["-std=gnu11", "-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", *WARNINGS]
    done = subprocess.run(
        [compiler, *options, "-I", PROGRAMS, "-o", library, source],
        env=environment(mpi),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    return library


def run(wrapped: Wrapped, program: Path, folder: Path, ranks: int, *words: str) -> Told:
    """Run a program, which says "ok", with the wrappers, and return what they were told."""
    mpi, library = wrapped
    notes = folder / "told"
    variables = {"LD_PRELOAD": str(library), "GN_TOLD": str(notes)}
    # In the tasks only: a launcher is no program of MPI's.
    settings = [f"{name}={value}" for name, value in variables.items()]
    job = launch(mpi, ranks, "env", *settings, program, *words, folder=folder)
    assert job.out.split() == ["ok"], job.said
    files = sorted(folder.glob("told.*"))
    assert len(files) == ranks
    return Told(line for file in files for line in file.read_text().splitlines())


def exported(mpi: Mpi, library: Path, stem: str) -> set[str]:
    """Return names that the library of an MPI exports on which `library` depends."""
    loaded = subprocess.run(
        ["ldd", library], env=environment(mpi), capture_output=True, text=True, check=True
    ).stdout
    path = next(line.split()[2] for line in loaded.splitlines() if stem in line)
    names = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].partition("@")[0] for line in names.splitlines()}


def test_calls_and_bytes_are_those_of_the_program(wrapped: Wrapped, tmp_path: Path) -> None:
    mpi, _ = wrapped
    program = build(mpi, PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")

    told = run(wrapped, program, tmp_path, 4, str(tmp_path / "data"))

    quantities = told.quantities()
    assert {name: quantities.get(name) for name in CALLS} == CALLS
    # What a send is to, and on which communicator, of the size that the name says.
    assert told.of("MPI_Sendrecv ", "sent=5", "comm=1", "peer=0").total() == 4
    assert told.of("MPI_Send ", "sent=80", "comm=4", "peer=3").total() == 1
    assert told.of("MPI_Send ", "peer=null").total() == 4
    assert told.of("MPI_Bcast ", "comm=2").total() == 4
    assert told.of("MPI_Comm_free ", "comm=4").total() == 4
    assert not told.of("MPI_Recv ", "peer=0")


def test_requests_are_told_from_start_to_completion(wrapped: Wrapped, tmp_path: Path) -> None:
    mpi, _ = wrapped
    program = build(mpi, PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")

    told = run(wrapped, program, tmp_path, 4, str(tmp_path / "data"))

    assert told.of("request of MPI_Irecv ", " receives").total() == 180
    assert told.of("request of MPI_Isend ", "sent=4").total() == 160
    assert told.of("request of MPI_Send_init ", "sent=20", " persists").total() == 4
    assert told.of("MPI_Request_free ", "freed=request").total() == 4
    assert told.of("MPI_Start ", "started=request").total() == 8
    # The program wants no statuses; of 40 receives, each is one integer.
    waitall = told.of("MPI_Waitall ", "before=80 completed=80 receives=40 bytes=160")
    assert waitall.total() == 4
    assert told.of("MPI_Waitall ", "before=0 completed=0").total() == 4
    assert told.of("MPI_Waitany ", "completed=1 receives=1 bytes=8").total() == 4
    assert told.of("MPI_Waitany ", "completed=1 receives=0").total() == 4
    assert told.of("MPI_Waitany ", "before=0 completed=0").total() == 4
    assert told.of("MPI_Waitsome ", "completed=1 receives=1 bytes=12").total() == 4
    assert told.of("MPI_Test ", "before=1 completed=0").total() == 4
    assert told.of("MPI_Wait ", "before=1 completed=1 receives=1 bytes=12").total() == 4
    assert told.of("MPI_Wait ", "before=1 completed=1 receives=1 bytes=20").total() == 8
    # Of the file.
    assert told.of("MPI_Wait ", "before=1 completed=1 receives=1 bytes=8").total() == 4


def test_large_counts_persistent_and_partitioned_operations(
    wrapped: Wrapped, tmp_path: Path
) -> None:
    mpi, _ = wrapped
    program = build(mpi, PROGRAMS / "large_counts.c", tmp_path)

    told = run(wrapped, program, tmp_path, 1)

    quantities = told.quantities()
    assert quantities["MPI_Bcast"] == {(4 << 30, 0): 1}
    if mpi is OPEN_MPI:
        return  # 4.1 is of MPI-3.1
    assert quantities["MPI_Isend_c"] == {(3 * INT, 0): 1}
    assert quantities["MPI_Recv_c"] == {(0, 3 * INT): 1}
    assert quantities["MPI_Bcast_c"] == {(7 * INT, 0): 1}
    for name in ("MPI_Allgatherv_c", "MPI_Alltoallv_c", "MPI_Alltoallw_c"):
        assert quantities[name] == {(5 * INT, 5 * INT): 1}
    for name in ("MPI_Allreduce_init", "MPI_Psend_init", "MPI_Precv_init"):
        assert quantities[name] == {(0, 0): 1}
    assert told.of("request of MPI_Allreduce_init sent=16 received=16", " persists").total() == 1
    assert told.of("request of MPI_Psend_init sent=24 received=0", " persists").total() == 1
    assert told.of("request of MPI_Precv_init sent=0 received=24", " persists").total() == 1
    assert told.of("MPI_Startall ", "started=request started=request").total() == 1


@pytest.mark.parametrize("interface", ["MPIF_H", "MODULE_MPI", "MODULE_F08"])
def test_calls_from_fortran_are_counted_once(
    wrapped: Wrapped, tmp_path: Path, interface: str
) -> None:
    mpi, _ = wrapped
    options = [f"-D{interface}", "-fallow-argument-mismatch"]
    program = build(mpi, PROGRAMS / "fortran_calls.F90", tmp_path, *options)

    told = run(wrapped, program, tmp_path, 2)

    assert told.quantities() == {
        "MPI_Init": {(0, 0): 2},
        "MPI_Comm_rank": {(0, 0): 2},
        "MPI_Comm_size": {(0, 0): 2},
        "MPI_Get_library_version": {(0, 0): 2},
        "MPI_Send": {(5 * INT, 0): 2, (3 * INT, 0): 2, (4 * INT, 0): 2},
        "MPI_Recv": {(0, 5 * INT): 2},
        "MPI_Get_count": {(0, 0): 1},
        "MPI_Irecv": {(0, 0): 86},
        "MPI_Isend": {(INT, 0): 80},
        "MPI_Waitall": {(0, 0): 2},
        "MPI_Waitany": {(0, 0): 2},
        "MPI_Waitsome": {(0, 0): 2},
        "MPI_Barrier": {(0, 0): 6},
        "MPI_Test": {(0, 0): 2},
        "MPI_Send_init": {(0, 0): 2},
        "MPI_Start": {(0, 0): 2},
        "MPI_Wait": {(0, 0): 4},
        "MPI_Request_free": {(0, 0): 2},
        "MPI_Allreduce": {(INT, INT): 2},
        "MPI_Allgather": {(3 * INT, 6 * INT): 2},
        "MPI_Allgatherv": {(1 * INT, 3 * INT): 1, (2 * INT, 3 * INT): 1},
        "MPI_Bcast": {(7 * INT, 0): 1, (0, 7 * INT): 1},
        "MPI_Wtime": {(0, 0): 2},
        "MPI_Get_processor_name": {(0, 0): 2},
        "MPI_Finalize": {(0, 0): 2},
    }
    assert told.of("MPI_Waitall ", "before=80 completed=80 receives=40 bytes=160").total() == 2
    assert told.of("MPI_Waitany ", "completed=1 receives=1 bytes=12").total() == 2
    assert told.of("MPI_Waitsome ", "completed=1 receives=1 bytes=16").total() == 2
    assert told.of("MPI_Wait ", "completed=1 receives=1 bytes=4").total() == 2
    assert told.of("request of MPI_Send_init ", "sent=4", " persists").total() == 2
    assert told.of("MPI_Send ", "sent=20", "comm=2", "peer=0").total() == 1
    # Not from MPICH's library for Fortran, which lies between.
    assert [line for line in told if " from=program" not in line] == []


def test_what_the_library_exports_is_wrapped_or_listed(wrapped: Wrapped) -> None:
    mpi, library = wrapped
    header = read_header(mpi.command("mpicc"))
    stem = mpi.library.partition(".")[0]
    functions = {
        name.removeprefix("P")
        for name in exported(mpi, library, f"{stem}.")
        if name.startswith(("PMPI_", "PMPIX_"))
    }

    listed = dict(unwrapped(header, functions))

    assert len(functions) > 400
    assert functions <= {wrapper.function.name for wrapper in wrappers(header)} | set(listed)
    if mpi is OPEN_MPI:
        # Debian's mpi.h leaves out what MPI-3 removed.
        assert "does not declare it" in listed["MPI_Type_hvector"]


def test_fortran_names_of_the_library_are_wrapped_but_for_those_that_measure_nothing(
    wrapped: Wrapped, tmp_path: Path
) -> None:
    mpi, library = wrapped
    program = build(mpi, PROGRAMS / "fortran_calls.F90", tmp_path, "-DMODULE_F08")
    stems = ("libmpi_mpifh", "libmpi_usempif08") if mpi is OPEN_MPI else ("libmpichfort",)
    theirs = {name for stem in stems for name in exported(mpi, program, stem)}
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    ours = {line.split()[-1] for line in names.splitlines()}

    missing = {
        name
        for name in theirs - ours
        if name.startswith("mpi_") and name.endswith("_") and not name.endswith("__")
        # Constants, functions whose address is compared, and what the compiler asks for.
        if not name.endswith("_fn_") and "_fortran_" not in name and "sizeof" not in name
    }

    removed = {"address", "errhandler_create", "errhandler_get", "errhandler_set", "type_extent"}
    removed |= {"type_hindexed", "type_hvector", "type_lb", "type_struct", "type_ub"}
    others = {"f_sync_reg", "pcontrol", "conversion_fn_null"}
    mpix = {f"delete_error_{what}" for what in ("class", "code", "string")}
    allowed = {f"mpi_{name}{end}" for name in removed | others | mpix
               for end in ("_", "_f08_", "_f08ts_")}  # fmt: skip
    assert missing - allowed == set()
    assert {"mpi_send_", "mpi_send__", "mpi_send", "MPI_SEND"} <= ours


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_a_program_is_the_same_with_and_without_wrappers(
    wrapped: Wrapped, tmp_path: Path, language: str
) -> None:
    mpi, library = wrapped
    if language == "c":
        program = build(mpi, PROGRAMS / "calls.c", tmp_path, "-Wno-stringop-overflow")
        ranks, words = 4, [str(tmp_path / "data")]
    else:
        program = build(mpi, PROGRAMS / "fortran_calls.F90", tmp_path, "-fallow-argument-mismatch")
        ranks, words = 2, []

    without = launch(mpi, ranks, program, *words, folder=tmp_path)
    preload = f"LD_PRELOAD={library}"
    with_them = launch(mpi, ranks, "env", preload, program, *words, folder=tmp_path)

    assert (without.out, without.err) == (with_them.out, with_them.err)


def test_a_library_of_fortran_that_is_loaded_late(wrapped: Wrapped, tmp_path: Path) -> None:
    mpi, _ = wrapped
    source = tmp_path / "late.f90"
    source.write_text(
        "subroutine late()\n  include 'mpif.h'\n  integer :: n, error\n  n = 7\n"
        "  call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)\nend subroutine late\n"
    )
    library = build(mpi, source, tmp_path, "-shared", "-fPIC")
    main = tmp_path / "main.c"
    main.write_text(
        "#include <dlfcn.h>\n#include <mpi.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv)\n{\n\tvoid (*late)(void);\n\tvoid *library;\n\n"
        "\tMPI_Init(&argc, &argv);\n\tlibrary = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);\n"
        '\tlate = (void (*)(void))dlsym(library, "late_");\n\tlate();\n'
        '\tMPI_Finalize();\n\tputs("ok");\n\treturn 0;\n}\n'
    )
    program = build(mpi, main, tmp_path, "-ldl")

    told = run(wrapped, program, tmp_path, 1, str(library))

    assert told.quantities()["MPI_Bcast"] == {(INT, 0): 1}
    assert told.of("MPI_Bcast ", f" from={library.name}").total() == 1


def test_a_program_of_c_needs_no_library_for_fortran(wrapped: Wrapped, tmp_path: Path) -> None:
    mpi, library = wrapped
    source = tmp_path / "one.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n"
        'int main(void) { MPI_Init(NULL, NULL); MPI_Finalize(); puts("ok"); return 0; }\n'
    )
    program = build(mpi, source, tmp_path)
    clean = environment(mpi) | {"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"}

    done = subprocess.run([program], env=clean, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
