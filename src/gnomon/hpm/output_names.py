"""Names of result files; the rule is in native/hpm/output_names.c.

Source: HPM Toolkit User's Guide 3.2.2, section 2.2, options -o and -u.
"""

from __future__ import annotations

import os
import time

from gnomon import _core
from gnomon.launch.job import job


def unique_name(name: str, *, host: str | None = None, process: int | None = None,
           moment: time.struct_time | None = None, clock: str = "%H.%M.%S") -> str:  # fmt: skip
    """Return a file name with `_host_process_date_time` before its last dot.

    The host is cut at its first dot; the process is the MPI rank where a launcher gives one;
    date and time are local, dd.mm.yyyy and hh.mm.ss, or the time as `clock` has it. A name without
    a dot gets the text at its end; one whose only dot comes first gets it in front, without the
    leading underscore.
    """
    when = moment or time.localtime()
    number = rank() if process is None else process
    return _core.unique_name(name, host or os.uname().nodename, number, when[:6], clock)


def rank() -> int:
    """Return this process's MPI rank where a launcher gives one, else its process number."""
    task = mpi_task()
    return os.getpid() if task is None else task


def mpi_task() -> int | None:
    """Return this process's rank in MPI_COMM_WORLD, None where no launcher gave it one."""
    own = job()
    return None if own is None else own.task
