"""The metrics of calls on files, and the kinds of regions that they are of.

Of a call site, a path of kind `io` below the function that it is in, there are the first ones. The
same calls once more, divided otherwise, are metrics of their own, so that nothing adds up to twice
of what it is: by file, by size, and by how requests were placed in files.
"""

from __future__ import annotations

COMPONENT = "io"
CALL, FILE, SIZE, ACCESS, FILE_SIZE = "io", "io_file", "io_size", "io_access", "io_file_size"
"""Kinds of regions: `CALL` is a call, by the line that makes it. Of the others a root is a file
with calls below it (`FILE`), with `READS` and `WRITES` (`ACCESS`) or with sizes of these
(`FILE_SIZE`), or a call with sizes below it (`SIZE`)."""
READS, WRITES, BOTH = "reads", "writes", "reads and writes"
"""`BOTH` is of runs of others that do not know of which something was."""

CALLS, CALLS_BY_FILE, CALLS_BY_SIZE = "I/O calls", "I/O calls by file", "I/O calls by size"
COUNTS_BY_FILE_SIZE = "I/O calls by file and size"
"""How many there were, of runs of others that do not know the time of each: Gnomon's own have the
number beside the time."""
TIME = "I/O time"
"""Nanoseconds in calls; `calls` of its rows are how many these were."""
ASKED, DELIVERED = "I/O bytes asked", "I/O bytes"
FAILURES = "I/O failures"
LONGEST = "longest I/O call"
"""Nanoseconds."""
TIME_BY_FILE, FAILURES_BY_FILE = "I/O time by file", "I/O failures by file"
ASKED_BY_FILE, DELIVERED_BY_FILE = "I/O bytes asked by file", "I/O bytes by file"
TIME_BY_SIZE, BYTES_BY_SIZE = "I/O time by size", "I/O bytes by size"
CALLS_BY_FILE_SIZE = "I/O time by file and size"
"""Nanoseconds, too; what counts are the calls."""
FORWARD, FORWARD_BYTES = "seeks forward", "bytes sought forward"
BACKWARD, BACKWARD_BYTES = "seeks backward", "bytes sought backward"
UNALIGNED = "unaligned requests"
END = "end of requests"
"""The offset behind the byte that was furthest."""
OPENS = "opens"
FILE_BYTES = "size of files"
"""When they were first opened."""
FETCHED = "pages fetched"
"""Of mapped files, from storage, when they were touched; of `READS`."""
MPI_IO_FILE = "mpi_io_file"
"""The kind of roots that are files with calls of MPI-IO below them, of logs of others."""
MPI_IO_CALLS, MPI_IO_TIME = "MPI-IO calls by file", "MPI-IO time by file"
MPI_IO_BYTES = "MPI-IO bytes by file"
APPENDED, DIRECT = "opened for appending", "opened for direct I/O"
SYNCHRONOUS, INHERITED = "opened for synchronous writes", "descriptors of another process"
"""1 of files of which a process had such a descriptor."""
KERNEL_READ, KERNEL_WRITTEN = "bytes read, by the kernel", "bytes written, by the kernel"
"""Of the program's path: what system calls moved since the first call was seen (proc(5), rchar and
wchar)."""
DEVICE_READ, DEVICE_WRITTEN = "bytes read from devices", "bytes written to devices"
MAJOR_FAULTS = "major page faults in the process"
