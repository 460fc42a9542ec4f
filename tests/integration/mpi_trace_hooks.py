"""Hooks for a program of mpi4py: the names of mpt.h are there."""

counted: dict[int, int] = {}


def MT_trace_event(id):  # noqa: N802
    counted[id] = counted.get(id, 0) + 1
    return 1


def MT_output_trace(rank):  # noqa: N802
    return rank == 1


def MT_output_text():  # noqa: N802
    results = MT_get_allresults(COUNTS, ALLREDUCE_ID)  # noqa: F821
    rank = MT_get_environment()["mpirank"]  # noqa: F821
    name = MT_get_mpi_name(ALLREDUCE_ID)  # noqa: F821
    with open(f"hooks.{rank}", "w") as file:
        print(counted[ALLREDUCE_ID], name, results["all_result"], file=file)  # noqa: F821
