"""The metrics of MPI calls, and the kinds of regions that they are of.

Of a call site, a path of kind `mpi` below the function that it is in, there are the first ones. The
same time and bytes once more, divided otherwise, are metrics of their own, so that nothing adds up
to twice of what it is: by the size of what a call moved, and by communicator.
"""

from __future__ import annotations

COMPONENT = "mpi"
CALL, SIZE, COMMUNICATOR = "mpi", "mpi_size", "mpi_communicator"
"""Kinds of regions: `CALL` is a routine, by the line that calls it. Of the others a root is a
routine with sizes below it, or a communicator with routines below it."""

TIME = "MPI time"
"""Nanoseconds in calls; `calls` of its rows are how many these were."""
SENT, RECEIVED = "MPI bytes sent", "MPI bytes received"
LONGEST = "longest MPI call"
"""Nanoseconds."""
COMPLETION = "MPI completion time"
"""Nanoseconds of Wait and Test for what was started here: a part of the `TIME` of those."""
WAITING = "MPI waiting time"
"""Nanoseconds until the last rank had come to a collective operation, where a barrier told."""
ELAPSED = "time between MPI_Init and MPI_Finalize"
"""Nanoseconds, of the program's path; of a process that did not finalize up to its last call."""
OUTSIDE = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")
"""Routines whose time is not between MPI_Init and MPI_Finalize."""
OVERHEAD = "overhead of the MPI profile"
"""Nanoseconds, of the program's path; estimated: calls times the cost that was measured of one."""
TIME_BY_SIZE, BYTES_BY_SIZE = "MPI time by size", "MPI bytes by size"
TIME_BY_COMMUNICATOR = "MPI time by communicator"
BYTES_BY_COMMUNICATOR = "MPI bytes by communicator"
"""What was sent and what was received, together."""
