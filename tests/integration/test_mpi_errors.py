"""What MPI says of wrong calls is what it says without wrappers, and nothing is counted of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi import BOTH, OPEN_MPI, Mpi, build
from mpi_measured import measured

PROGRAM = Path(__file__).parents[1] / "programs" / "mpi_programs" / "wrong.c"


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_wrong_calls_fail_as_they_do_and_pending_requests_are_not_over(
    mpi: Mpi, tmp_path: Path
) -> None:
    program = build(mpi, PROGRAM, tmp_path)
    job = measured(mpi, 1, program, *(["pending"] if mpi is OPEN_MPI else []), folder=tmp_path)
    assert job.status == 0, job.err
    assert "failed 4" in job.out
    # 20 bytes of the second receive; of the one that failed, what its status says, if anything.
    assert 20 <= job.received["MPI_Irecv"] <= 20 + 32
